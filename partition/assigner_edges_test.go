package partition

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Zeros, and durations at the ends of the range, do no harm.
func TestAssignerExtremes(t *testing.T) {
	t.Parallel()
	for _, d := range [][]float64{{0}, {longest}, {0, longest}, {1e-300, 1}, {math.SmallestNonzeroFloat64}, {0, 0, 0, 1}} {
		a := newAssigner(t, 3, 4, AssignerConfig{}, 1)
		for n := range 3000 {
			_, err := a.Next(n % 4)
			require.NoError(t, err)
			require.NoError(t, a.Observe(n%4, d[n/7%len(d)]))
		}
		b, err := a.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, new(Assigner).UnmarshalBinary(b), "all state finite for %v", d)
	}
}

// The unit of the durations makes no difference, down to 1e-18 and up to 1e15.
func TestAssignerDurationsHaveNoUnit(t *testing.T) {
	t.Parallel()
	for _, noise := range []float64{.01, .1, .8} {
		choices := func(exponent int) (arms []int) {
			a := newAssigner(t, 8, 40, AssignerConfig{}, 1)
			rng := rand.New(rand.NewPCG(3, 4))
			for n := range 60 * 40 {
				arm, err := a.Next(n % 40)
				require.NoError(t, err)
				arms = append(arms, arm)
				d := 2.
				if arm == n%8 {
					d = 1
				}
				d *= max(0, 1+float64(noise*rng.NormFloat64()))
				require.NoError(t, a.Observe(n%40, math.Ldexp(d, exponent)))
			}
			return arms
		}
		want := choices(0)
		for _, exponent := range []int{-59, -20, 20, 46} {
			require.Equal(t, want, choices(exponent), "durations times 2^%d", exponent)
		}
	}
}

func TestAssignerRejects(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 2)
	inf := math.Inf(1)
	for _, c := range []struct {
		arms, sites int
		cfg         AssignerConfig
	}{
		{0, 1, AssignerConfig{}}, {nowhere, 1, AssignerConfig{}}, {2, -1, AssignerConfig{}},
		{2, 1, AssignerConfig{Threshold: math.NaN()}}, {2, 1, AssignerConfig{Explore: -1}}, {2, 1, AssignerConfig{Threshold: 1, Explore: 2}},
		{2, 1, AssignerConfig{Threshold: 1, Capacity: []float64{1}}}, {2, 1, AssignerConfig{Threshold: 1, Capacity: []float64{inf, 0}}},
	} {
		_, err := NewAssigner(c.arms, c.sites, c.cfg, src)
		require.ErrorIs(t, err, ErrConfig, "%+v", c)
	}
	require.Panics(t, func() { _, _ = NewAssigner(2, 1, AssignerConfig{}, nil) })
	a := newAssigner(t, 2, 1, AssignerConfig{}, 1)
	require.Equal(t, AssignerConfig{Threshold: 7}, a.cfg, "the defaults")
	_, _, err := a.Expected(1, 0)
	require.ErrorIs(t, err, ErrUnknown)
	_, _, err = a.Expected(0, 2)
	require.ErrorIs(t, err, ErrUnknown)
	for _, bad := range []float64{0, -1, math.NaN()} {
		require.ErrorIs(t, a.SetCapacity(0, bad), ErrConfig)
		_, err = a.AddArm(bad)
		require.ErrorIs(t, err, ErrConfig)
	}
	require.Equal(t, inf, a.arm[0].capacity)
	a.arm[0].price = 3
	require.NoError(t, a.SetCapacity(0, 5))
	require.Equal(t, 3.0, a.arm[0].price, "of another limit it begins where it was")
	require.NoError(t, a.SetCapacity(0, inf))
	require.Zero(t, a.arm[0].price, "what has no limit has no price")
	require.NoError(t, a.RemoveArm(0))
	require.ErrorIs(t, a.RemoveArm(1), ErrConfig, "the last")
	a = newAssigner(t, nowhere-2, 1, AssignerConfig{}, 1)
	_, err = a.AddArm(1)
	require.NoError(t, err)
	_, err = a.AddArm(1)
	require.ErrorIs(t, err, ErrConfig, "no more arms than a site can say")
}

// Saved states whose parts are in range but contradict each other are refused.
func TestAssignerContradictions(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Assigner){
		"number of sites in an arm": func(a *Assigner) { a.arm[0].sites++ },
		"site in a missing arm":     func(a *Assigner) { a.site.at[0] = 2 },
		"asked from nowhere":        func(a *Assigner) { a.leave(0); a.site.asked[0] = true },
		"site in a removed arm":     func(a *Assigner) { a.arms.Remove(int(a.site.at[0])) },
		"removed site in an arm":    func(a *Assigner) { a.sites.Remove(0) },
		"no arms":                   func(a *Assigner) { a.leave(0); a.arms.Remove(0); a.arms.Remove(1) },
		"too few weights":           func(a *Assigner) { a.site.weight = []float32{1} },
		"first durations too long":  func(a *Assigner) { a.relative.level = 21 * longest },
		"the least forecast":        func(a *Assigner) { a.arm[0].forecast, a.arm[0].measured = 0.99/mostSlowness, 1 },
		"no noise":                  func(a *Assigner) { a.relative.means = 0 },
		"mean without a duration":   func(a *Assigner) { a.site.base[0] = 1 },
		"duration in a removed arm": func(a *Assigner) {
			for site := range 3 {
				a.leave(site)
			}
			a.arms.Remove(0)
			a.site.count[0] = 1
		},
		"duration in no arm": func(a *Assigner) {
			_, err := a.AddArm(math.Inf(1))
			require.NoError(t, err)
			a.site.count[a.width-1] = 1
		},
		"duration of a removed site": func(a *Assigner) {
			a.leave(0)
			a.sites.Remove(0)
			a.site.count[0] = 1
		},
		"work below 0": func(a *Assigner) { a.arm[0].work = -1 },
	} {
		a := newAssigner(t, 2, 3, AssignerConfig{}, 1)
		for site := range a.All() {
			_, err := a.Next(site)
			require.NoError(t, err)
		}
		spoil(a)
		data, err := a.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, new(Assigner).UnmarshalBinary(data), ErrCorrupt, name)
	}
}

// No number of a saved state may be NaN or infinite: the assigner that read it would save it, and
// refuse it then.
func TestAssignerSavedNumbers(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]func(*Assigner, float64){
		"held":            func(a *Assigner, x float64) { a.site.held[0] = float32(x) },
		"up":              func(a *Assigner, x float64) { a.site.up[0] = float32(x) },
		"down":            func(a *Assigner, x float64) { a.site.down[0] = float32(x) },
		"squares":         func(a *Assigner, x float64) { a.site.squares[0] = float32(x) },
		"base":            func(a *Assigner, x float64) { a.site.base[0] = float32(x) },
		"work":            func(a *Assigner, x float64) { a.arm[0].work = x },
		"measured":        func(a *Assigner, x float64) { a.arm[0].measured = x },
		"forecast":        func(a *Assigner, x float64) { a.arm[0].forecast = x },
		"latest":          func(a *Assigner, x float64) { a.arm[0].latest = x },
		"latest forecast": func(a *Assigner, x float64) { a.arm[0].latestForecast = x },
		"usual":           func(a *Assigner, x float64) { a.arm[0].usual = x },
		"price":           func(a *Assigner, x float64) { a.arm[0].price = x },
		"price step":      func(a *Assigner, x float64) { a.arm[0].priceStep = x },
		"excess":          func(a *Assigner, x float64) { a.arm[0].excess = x },
		"denied":          func(a *Assigner, x float64) { a.arm[0].denied = x },
		"noise":           func(a *Assigner, x float64) { a.relative.squares = x },
		"means":           func(a *Assigner, x float64) { a.relative.means = x },
		"repeats":         func(a *Assigner, x float64) { a.relative.n = x },
		"level":           func(a *Assigner, x float64) { a.relative.level = x },
		"firsts":          func(a *Assigner, x float64) { a.relative.firsts = x },
	} {
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			a := newAssigner(t, 2, 3, AssignerConfig{}, 1)
			for range 4 {
				for site := range a.All() {
					_, err := a.Next(site)
					require.NoError(t, err)
					require.NoError(t, a.Observe(site, 2))
				}
			}
			number(a, x)
			data, err := a.MarshalBinary()
			require.NoError(t, err)
			require.ErrorIs(t, new(Assigner).UnmarshalBinary(data), ErrCorrupt, "%s %v", name, x)
		}
	}
}

// TestExactAmongSkewed has a site whose durations are exact, and 0 from one arm, among
// sites whose noise is large: its standard deviation is 0, which must not become NaN.
func TestExactAmongSkewed(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	a, err := NewAssigner(3, 20, AssignerConfig{Explore: .5}, rand.NewPCG(3, 4))
	require.NoError(t, err)
	for range 2000 {
		for site := range a.Len() {
			arm, err := a.Next(site)
			require.NoError(t, err)
			duration := rng.ExpFloat64()
			if site == 0 {
				duration = float64(arm)
			}
			require.NoError(t, a.Observe(site, duration))
		}
	}
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, new(Assigner).UnmarshalBinary(data))
}

// TestEmptyArm has sites of very different durations come and go: what rounding leaves of
// their sum is not the time of an arm without sites.
func TestEmptyArm(t *testing.T) {
	t.Parallel()
	a, err := NewAssigner(1, 3, AssignerConfig{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for site, duration := range []float64{.1, 1e15, .3} {
		_, err = a.Next(site)
		require.NoError(t, err)
		require.NoError(t, a.Observe(site, duration))
	}
	for site := range 3 {
		require.NoError(t, a.Remove(site))
	}
	sites, time, err := a.Load(0)
	require.NoError(t, err)
	require.Zero(t, sites)
	require.Zero(t, time)
}

// TestLeastCapacity has rounding leave less than nothing in an arm of the least capacity that there
// is, which counts as nothing.
func TestLeastCapacity(t *testing.T) {
	t.Parallel()
	cfg := AssignerConfig{Capacity: []float64{math.SmallestNonzeroFloat64}}
	a, err := NewAssigner(1, 3, cfg, rand.NewPCG(1, 2))
	require.NoError(t, err)
	access := func(site int, duration float64) {
		_, err := a.Next(site)
		require.NoError(t, err)
		require.NoError(t, a.Observe(site, duration))
	}
	for site, duration := range []float64{1e15, .06, .06} {
		access(site, duration)
	}
	require.NoError(t, a.Remove(0))
	require.NoError(t, a.Remove(1))
	_, time, err := a.Load(0)
	require.NoError(t, err)
	require.Zero(t, time)
	access(2, .06)
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, new(Assigner).UnmarshalBinary(data))
}

// TestLoadAddsUp compares the time of an arm with the sum of those of its sites, whose means are of
// single precision.
func TestLoadAddsUp(t *testing.T) {
	t.Parallel()
	a := newAssigner(t, 1, 20, AssignerConfig{Threshold: -1}, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		site := rng.IntN(20)
		_, err := a.Next(site)
		require.NoError(t, err)
		require.NoError(t, a.Observe(site, math.Exp(2*rng.NormFloat64())))
	}
	sum := 0.
	for site := range 20 {
		sum += float64(a.site.held[site])
	}
	require.InEpsilon(t, sum, a.arm[0].work, 1e-12)
}

// However many times as slow as before an arm becomes, or as another one, what an assigner becomes
// can be loaded.
func TestAssignerArmsFarApart(t *testing.T) {
	t.Parallel()
	for _, d := range [][]float64{{1, 0}, {longest, 0}, {1, math.SmallestNonzeroFloat64}, {longest, 1e-30}, {1, 1e-12, 1}, {1, 0, 0}, {0, 0, longest}} {
		for _, before := range []float64{0, 1, 1e-9, longest} {
			a := newAssigner(t, len(d), 4, AssignerConfig{}, 1)
			for n := range 10_000 {
				arm, err := a.Next(n % 4)
				require.NoError(t, err)
				now := d[arm]
				if n < 3000 {
					now = before
				}
				require.NoError(t, a.Observe(n%4, now))
				if n%100 == 0 {
					b, err := a.MarshalBinary()
					require.NoError(t, err)
					require.NoError(t, new(Assigner).UnmarshalBinary(b), "after %d answers of %v, %v before", n, d, before)
				}
			}
		}
	}
}

// Means of durations may fall until they are hardly more than 0.
func TestAssignerSavesTheLeastDurations(t *testing.T) {
	t.Parallel()
	a := newAssigner(t, 2, 3, AssignerConfig{Threshold: -1}, 1)
	for crawl := range 200 {
		for i := range 3 {
			_, err := a.Next(i)
			require.NoError(t, err)
			require.NoError(t, a.Observe(i, 1e-40*float64(1+crawl%3)))
		}
	}
	require.Greater(t, a.arm[0].forecast, 0.)
	require.Less(t, a.arm[0].forecast, 1/mostOf)
	restores(t, a, new(Assigner))
}

// Sites and arms can be added only to what New has made.
func TestAddToZero(t *testing.T) {
	t.Parallel()
	const assigner = "partition: an Assigner that is a zero value: make it with NewAssigner"
	require.PanicsWithValue(t, assigner, func() { new(Assigner).Add() })
	require.PanicsWithValue(t, assigner, func() { _, _ = new(Assigner).AddArm(1) })
	require.PanicsWithValue(t, "partition: a TWOMA that is a zero value: make it with NewTWOMA", func() { new(TWOMA).Add() })
}

// Where noise is skewed, a long duration is as surprising as under a Gamma law: of exponential durations
// one in 148 takes five means, which under a normal law has 2.47 standard deviations and not 4.
func TestLongDurationsUnderSkewedNoise(t *testing.T) {
	t.Parallel()
	a := newAssigner(t, 2, 1, AssignerConfig{}, 1)
	require.False(t, a.relative.skewed())
	require.Equal(t, 4., a.standardised(4, 1, 1))
	a.relative.squares = a.relative.means
	require.True(t, a.relative.skewed())
	for _, c := range []struct{ residual, sigma, want float64 }{
		{4, 1, 2.471}, {2, 1, 1.647}, {1.53, .5, 2.346}, // exponential twice, a Gamma law of shape 4
		{.1, 1, .1}, {-.5, 1, -.5}, {0, 0, 0},
	} {
		require.InDelta(t, c.want, a.standardised(10*c.residual, 10, 10*c.sigma), .02, "%+v", c)
	}
}

// An arm that has become slower has room for less.
func TestRoomOfASlowArm(t *testing.T) {
	t.Parallel()
	m := newArmState(10)
	m.work = 3
	require.True(t, m.hasRoom(7, 1))
	require.False(t, m.hasRoom(7.1, 1))
	require.False(t, m.hasRoom(7, .9))
	m.measured, m.forecast = 2, 1
	require.True(t, m.hasRoom(2, 1))
	require.False(t, m.hasRoom(2.1, 1))
}
