package webenv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newDurations(t *testing.T, seed uint64, change func(*DurationsConfig)) *Durations {
	t.Helper()
	cfg := DurationsConfig{}
	cfg.Sites, cfg.Arms = 1000, 4
	if change != nil {
		change(&cfg)
	}
	d, err := NewDurations(cfg, rand.NewPCG(seed, 2))
	require.NoError(t, err)
	return d
}

// Each law has the mean it should have, and the scatter.
func TestDurationLaws(t *testing.T) {
	t.Parallel()
	const gap = 53.6 - 24.7
	for _, c := range []struct {
		noise   DurationNoise
		scatter float64
		sd      [2]float64 // at the perfect arm and at another
	}{
		{ExactDurations, 0, [2]float64{0, 0}},
		{UniformNoise, 0.2, [2]float64{24.7 * 0.2 / math.Sqrt(3), 53.6 * 0.2 / math.Sqrt(3)}},
		{GaussianNoise, 0.2, [2]float64{0.2 * gap, 0.2 * gap}},
		{ExponentialNoise, 0, [2]float64{24.7, 53.6}},
	} {
		d := newDurations(t, 1, func(cfg *DurationsConfig) { cfg.Noise, cfg.Scatter = c.noise, c.scatter })
		for k, mean := range []float64{24.7, 53.6} {
			const n = 20_000
			arm := (d.Perfect(0) + k) % 4
			require.Equal(t, mean, d.Mean(0, arm))
			sum, squares := 0.0, 0.0
			for range n {
				x := d.Access(0, arm) - mean
				sum += x
				squares += x * x
			}
			require.InDelta(t, 0, sum/n, 4*c.sd[k]/math.Sqrt(n)+1e-9)
			// The variance of x² is at most 8·sd⁴ for these laws (the exponential's).
			require.InDelta(t, c.sd[k]*c.sd[k], squares/n, 4*math.Sqrt(8)*c.sd[k]*c.sd[k]/math.Sqrt(n)+1e-9)
		}
	}
	d := newDurations(t, 1, func(cfg *DurationsConfig) { cfg.Noise, cfg.Scatter = GaussianNoise, 10 })
	for range 1000 {
		require.GreaterOrEqual(t, d.Access(0, 0), 0.0)
	}
}

// Durations grow with the share of the sites last accessed from an arm, and fall with its
// resources.
func TestDurationLoad(t *testing.T) {
	t.Parallel()
	d := newDurations(t, 1, func(c *DurationsConfig) {
		c.Arms, c.Sites, c.Congestion, c.Resources = 2, 4, 0.5, []float64{1, 1.5}
	})
	base := func(arm int) float64 { return d.Mean(0, arm) }
	before := base(1)
	for site := range 3 {
		d.Access(site, 1)
	}
	require.Equal(t, []int{0, 3}, d.load)
	fair := 4 * 1.5 / 2.5
	require.InDelta(t, before*(1+0.5*3/fair), base(1), 1e-9)
	d.Access(0, 1)
	require.Equal(t, []int{0, 3}, d.load, "a site counts once")
	d.Access(0, 0)
	require.Equal(t, []int{1, 2}, d.load)
	for site := range 4 {
		for arm := range 2 {
			want := 53.6
			if d.Perfect(site) == arm {
				want = 24.7
			}
			require.InDelta(t, want/[]float64{1, 1.5}[arm]*(1+0.5*float64(d.load[arm])/[]float64{1.6, 2.4}[arm]), d.Mean(site, arm), 1e-9)
		}
	}
}

func TestDurationSwitch(t *testing.T) {
	t.Parallel()
	for _, balanced := range []bool{false, true} {
		for _, all := range []bool{false, true} {
			d := newDurations(t, 1, func(c *DurationsConfig) { c.Every, c.AllSwitch, c.Balanced = 3, all, balanced })
			before := make([]int, 1000)
			for i := range before {
				before[i] = d.Perfect(i)
			}
			require.False(t, d.EndCrawl())
			require.False(t, d.EndCrawl())
			require.Equal(t, before[7], d.Perfect(7))
			require.True(t, d.EndCrawl())
			same, count := 0, [4]int{}
			for i := range before {
				count[d.Perfect(i)]++
				if d.Perfect(i) == before[i] {
					same++
				}
			}
			if balanced {
				require.Equal(t, [4]int{250, 250, 250, 250}, count)
			}
			if all {
				require.Zero(t, same)
			} else { // binomial, or nearly: 250 ± 13.7
				require.InDelta(t, 250, same, 4*math.Sqrt(1000*0.25*0.75))
			}
		}
	}
}

func TestDurationSizes(t *testing.T) {
	t.Parallel()
	d := newDurations(t, 1, func(c *DurationsConfig) { c.Sites, c.Sizes = 20_000, 0.5 })
	sum := 0.0
	for i := range d.Len() {
		sum += d.Mean(i, d.Perfect(i)) / 24.7
	}
	// A log-normal of mean 1 has variance exp(σ²) − 1.
	require.InDelta(t, 1, sum/20_000, 4*math.Sqrt((math.Exp(0.25)-1)/20_000))
}

// The social optimum against every assignment of six sites to three access points.
func TestDurationOptimum(t *testing.T) {
	t.Parallel()
	worst := 0.0
	for seed := range uint64(30) {
		d := newDurations(t, seed, func(c *DurationsConfig) {
			c.Sites, c.Arms, c.Congestion, c.Resources, c.Sizes = 6, 3, 3, []float64{1, 2, 2}, 0.3
		})
		got, assignment := d.Optimum()
		require.InEpsilon(t, totalOf(d, assignment), got, 1e-9)
		least := math.Inf(1)
		all := make([]int, 6)
		for code := range 729 {
			for i := range all {
				all[i] = code % 3
				code /= 3
			}
			least = min(least, totalOf(d, all))
		}
		require.GreaterOrEqual(t, got, least*(1-1e-9))
		worst = max(worst, got/least)
	}
	t.Logf("at most %.4f of the least total", worst)
	require.Less(t, worst, 1.05, "six sites are the hardest case: one is a sixth of the load")

	// Many sites: no single move improves it.
	for seed := range uint64(5) {
		d := newDurations(t, seed, func(c *DurationsConfig) {
			c.Sites, c.Arms, c.Congestion, c.Resources, c.Sizes = 60, 3, 3, []float64{1, 2, 2}, 0.3
		})
		got, assignment := d.Optimum()
		for i, at := range assignment {
			for j := range 3 {
				assignment[i] = j
				require.GreaterOrEqual(t, totalOf(d, assignment), got*(1-1e-6))
			}
			assignment[i] = at
		}
	}

	d := newDurations(t, 1, nil)
	got, assignment := d.Optimum()
	require.InEpsilon(t, 24.7*1000, got, 1e-9)
	for i, j := range assignment {
		require.Equal(t, d.Perfect(i), j)
	}
}

// totalOf is the total mean duration of an assignment, by accessing every site.
func totalOf(d *Durations, assignment []int) (total float64) {
	for i, j := range assignment {
		d.Access(i, j)
	}
	for i, j := range assignment {
		total += d.Mean(i, j)
	}
	return total
}

func TestDurationsRejects(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 2)
	for name, change := range map[string]func(*DurationsConfig){
		"sites":             func(c *DurationsConfig) { c.Sites = -1 },
		"many sites":        func(c *DurationsConfig) { c.Sites = math.MaxInt },
		"ever so many arms": func(c *DurationsConfig) { c.Arms = math.MaxInt },
		"arms":              func(c *DurationsConfig) { c.Arms = 1 },
		"many arms":         func(c *DurationsConfig) { c.Arms = 1 << 16 },
		"perfect":           func(c *DurationsConfig) { c.Perfect = -1 },
		"perfect NaN":       func(c *DurationsConfig) { c.Perfect = math.NaN() },
		"other":             func(c *DurationsConfig) { c.Perfect, c.Other = 5, 5 },
		"other Inf":         func(c *DurationsConfig) { c.Other = math.Inf(1) },
		"noise":             func(c *DurationsConfig) { c.Noise = 9 },
		"scatter":           func(c *DurationsConfig) { c.Scatter = -1 },
		"uniform scatter":   func(c *DurationsConfig) { c.Noise, c.Scatter = UniformNoise, 1.1 },
		"sizes":             func(c *DurationsConfig) { c.Sizes = math.NaN() },
		"congestion":        func(c *DurationsConfig) { c.Congestion = math.Inf(1) },
		"every":             func(c *DurationsConfig) { c.Every = -1 },
		"resources":         func(c *DurationsConfig) { c.Resources = []float64{1} },
		"resource 0":        func(c *DurationsConfig) { c.Resources = []float64{1, 0, 1} },
		"great congestion":  func(c *DurationsConfig) { c.Congestion = 1e308 },
		"great resources":   func(c *DurationsConfig) { c.Resources = []float64{1e308, 1e308, 1e308} },
		"their sum a site":  func(c *DurationsConfig) { c.Resources = []float64{2e307, 2e307, 2e307} },
		"tiny resources":    func(c *DurationsConfig) { c.Resources = []float64{1e-320, 1e-320, 1e-320} },
		"great durations":   func(c *DurationsConfig) { c.Other = 1e308 },
		"great sizes":       func(c *DurationsConfig) { c.Other, c.Sizes = 1e300, 1 },
		"resources too far": func(c *DurationsConfig) { c.Resources = []float64{1, 1, 3} },
	} {
		cfg := DurationsConfig{}
		cfg.Sites, cfg.Arms = 10, 3
		change(&cfg)
		_, err := NewDurations(cfg, src)
		require.ErrorIs(t, err, ErrConfig, name)
	}
	_, err := NewDurations(DurationsConfig{Perfect: 60}, src)
	require.ErrorContains(t, err, "53.6, not above 60 from the perfect one")
	_, err = NewDurations(DurationsConfig{Resources: []float64{1}}, src)
	require.ErrorContains(t, err, "resources of 1 access points, there are 3")
	_, err = NewDurations(DurationsConfig{Sites: 1, Arms: math.MaxUint16}, src)
	require.NoError(t, err)
	require.Panics(t, func() { _, _ = NewDurations(DurationsConfig{}, nil) })
}

// What is accepted has finite means and totals, however extreme it is.
func TestDurationsExtreme(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		power := func(name string, of float64) float64 {
			return of * math.Pow(10, rapid.SampledFrom([]float64{-323, -305, -100, 0, 0, 0, 100, 300, 305, 307}).Draw(t, name))
		}
		cfg := DurationsConfig{Sites: 4, Arms: 3, Congestion: rapid.SampledFrom([]float64{0, 1}).Draw(t, "congested")}
		cfg.Perfect = power("perfect", 1)
		cfg.Other, cfg.Congestion = 2*cfg.Perfect, power("congestion", cfg.Congestion)
		unit := power("resources", 1)
		cfg.Resources = []float64{unit, 1.5 * unit, unit}
		cfg.Sizes = rapid.SampledFrom([]float64{0, 1}).Draw(t, "sizes")
		d, err := NewDurations(cfg, rand.NewPCG(1, 2))
		if err != nil {
			require.ErrorIs(t, err, ErrConfig)
			return
		}
		accepted++
		total, assignment := d.Optimum()
		require.False(t, math.IsNaN(total) || math.IsInf(total, 0))
		require.Len(t, assignment, 4)
		for site := range 4 {
			d.Access(site, 0)
		}
		for site := range 4 {
			for arm := range 3 {
				mean := d.Mean(site, arm)
				require.False(t, math.IsNaN(mean) || math.IsInf(mean, 0))
			}
		}
	})
	require.Positive(t, accepted)
}

func TestDurationsSameSeedSameRun(t *testing.T) {
	t.Parallel()
	run := func() (got []float64) {
		d := newDurations(t, 5, func(c *DurationsConfig) { c.Noise, c.Scatter, c.Every = GaussianNoise, 0.3, 1 })
		for i := range 100 {
			got = append(got, d.Access(i, i%4))
			d.EndCrawl()
		}
		return got
	}
	require.Equal(t, run(), run())
}
