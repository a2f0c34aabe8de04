package webenv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

// A page that changes more often than floats tell times apart changes after its poll, not at it.
func TestBurstyChangesAfterThePoll(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{1e15, 1e16, 1e30} {
		env, err := NewBursty([]float64{rate}, BurstyConfig{Quiet: 1}, check.Source(1))
		require.NoError(t, err)
		env.Poll(0, 5)
		_, changed := env.Poll(0, 5)
		require.False(t, changed, "rate %v: no time has passed", rate)
		since, changed := env.Poll(0, 7)
		require.True(t, changed)
		require.Greater(t, since, 5.0)
	}
}

// The ends of what is refused.
func TestBurstyEnds(t *testing.T) {
	t.Parallel()
	rates := []float64{0, 1e30}
	for _, stay := range []float64{1e-308, 1, 1e308} {
		env, err := NewBursty(rates, BurstyConfig{Active: 1, QuietStay: stay, ActiveStay: stay}, rand.NewPCG(1, 2))
		require.NoError(t, err, "%v", stay)
		b := env.(*burstyEnv)
		latest := b.cfg.latest()
		if stay == 1 {
			_, changed := b.Poll(1, latest)
			require.True(t, changed)
		}
		if !math.IsInf(latest, 1) {
			require.Panics(t, func() { b.Poll(0, math.Nextafter(latest, math.Inf(1))) })
		}
	}
	for _, stay := range []float64{-1, math.Inf(1), math.NaN(), 1e-309} {
		_, err := NewBursty(rates, BurstyConfig{QuietStay: stay}, rand.NewPCG(1, 2))
		require.ErrorIs(t, err, ErrConfig)
		_, err = NewBursty(rates, BurstyConfig{ActiveStay: stay}, rand.NewPCG(1, 2))
		require.ErrorIs(t, err, ErrConfig)
	}
}

// A rate of −0 is one of 0.
func TestBurstyMinusZero(t *testing.T) {
	t.Parallel()
	src := &thrifty{check.Source(1), 10}
	b, err := NewBursty([]float64{math.Copysign(0, -1)}, BurstyConfig{}, src)
	require.NoError(t, err)
	_, changed := b.Poll(0, 100)
	require.False(t, changed)
}

// A thrifty source gives only some numbers.
type thrifty struct {
	rand.Source
	left int
}

func (t *thrifty) Uint64() uint64 {
	if t.left--; t.left < 0 {
		panic("too many numbers")
	}
	return t.Source.Uint64()
}

// matrix is a 2×2 matrix over the states quiet and active.
type matrix [2][2]float64

func (a matrix) times(b matrix) (c matrix) {
	for i := range c {
		for j := range c[i] {
			c[i][j] = a[i][0]*b[0][j] + a[i][1]*b[1][j]
		}
	}
	return c
}

func (a matrix) minus(b matrix) matrix {
	for i := range a {
		for j := range a[i] {
			a[i][j] -= b[i][j]
		}
	}
	return a
}

// exp returns e^(a·s), by its series at s/2^20 and 20 squarings.
func (a matrix) exp(s float64) matrix {
	s /= 1 << 20
	a2 := a.times(a)
	var e matrix
	for i := range e {
		for j := range e[i] {
			e[i][j] = a[i][j]*s + a2[i][j]*s*s/2
		}
		e[i][i]++
	}
	for range 20 {
		e = e.times(e)
	}
	return e
}

// from returns start·a·1.
func (a matrix) from(start [2]float64) float64 {
	return start[0]*(a[0][0]+a[0][1]) + start[1]*(a[1][0]+a[1][1])
}

// In equilibrium π a page stays unchanged over g with probability
// π·exp((Q−Λ)g)·1, where Q is the generator of the states and Λ the diagonal of
// the rates. Two polls in a row find (a, b) with probability π·A·B·1, where
// the matrix of "unchanged" is exp((Q−Λ)g) and of "changed" exp(Qg) less it:
// this checks the state that a poll leaves behind, after a change and without.
func TestBurstyLaw(t *testing.T) {
	t.Parallel()
	t.Run("move by move", func(t *testing.T) { testBurstyLaw(t, Simulated.Poll) })
	t.Run("seldom", func(t *testing.T) {
		testBurstyLaw(t, func(env Simulated, page int, now float64) (since float64, changed bool) {
			b := env.(*burstyEnv)
			before := b.last[page]
			b.last[page] = now
			return b.pollSeldom(page, float64(b.rates[page])*max(b.cfg.Quiet, b.cfg.Active), before, now)
		})
	})
}

func testBurstyLaw(t *testing.T, poll func(env Simulated, page int, now float64) (since float64, changed bool)) {
	t.Parallel()
	const pages = 150_000
	const rate, gap = 0.5, 2.0
	burst := BurstyConfig{Quiet: 0.2, Active: 6, QuietStay: 4, ActiveStay: 1.5}
	rates := make([]float64, pages)
	for i := range rates {
		rates[i] = rate
	}
	env, err := NewBursty(rates, burst, check.Source(1))
	require.NoError(t, err)

	var pairs [2][2]check.Sample
	var fresh check.Sample
	for i := range pages {
		since, first := poll(env, i, gap)
		_, second := poll(env, i, 2*gap)
		for a := range 2 {
			for b := range 2 {
				pairs[a][b].AddBool(first == (a == 1) && second == (b == 1))
			}
		}
		if !first {
			since = gap
		}
		fresh.Add(since)
	}

	q := matrix{{-1 / burst.QuietStay, 1 / burst.QuietStay}, {1 / burst.ActiveStay, -1 / burst.ActiveStay}}
	silent := q.minus(matrix{{rate * burst.Quiet, 0}, {0, rate * burst.Active}})
	share := burst.activeShare()
	require.InDelta(t, 1.5/5.5, share, 1e-15)
	equilibrium := [2]float64{1 - share, share}
	found := [2]matrix{silent.exp(gap), q.exp(gap).minus(silent.exp(gap))}
	for a := range 2 {
		for b := range 2 {
			pairs[a][b].RequireMean(t, found[a].times(found[b]).from(equilibrium), "polls %d, %d", a, b)
		}
	}
	// The mean time to the first change, at most gap, is the integral of the
	// probability of no change: Simpson's rule.
	const steps = 200
	integral := 0.0
	for i := 0; i <= steps; i++ {
		w := 4 - 2*float64(1-i%2)
		if i == 0 || i == steps {
			w = 1
		}
		integral += w * silent.exp(gap*float64(i)/steps).from(equilibrium) * gap / steps / 3
	}
	fresh.RequireMean(t, integral)
}

// A page that hardly changes is polled at once after as many moves between its states as there can be.
func TestBurstySeldom(t *testing.T) {
	t.Parallel()
	for _, cfg := range []BurstyConfig{{}, {QuietStay: 1e-9, ActiveStay: 2e-9}, {Quiet: 3, Active: 0.5}} {
		env, err := NewBursty([]float64{0, 1e-300, 1e-30}, cfg, check.Source(4))
		require.NoError(t, err)
		for i := range 3 {
			_, changed := env.Poll(i, env.(*burstyEnv).cfg.latest())
			require.False(t, changed)
		}
	}
	// One poll after another, of a page that changes once in 10,000 stays.
	const pages, gap = 20_000, 5000.0
	rates := make([]float64, pages)
	for i := range rates {
		rates[i] = 1e-4
	}
	env, err := NewBursty(rates, BurstyConfig{QuietStay: 0.9, ActiveStay: 0.1}, check.Source(5))
	require.NoError(t, err)
	var first, second check.Sample
	for i := range pages {
		_, changed := env.Poll(i, gap)
		first.AddBool(changed)
		_, changed = env.Poll(i, 3*gap)
		second.AddBool(changed)
	}
	first.RequireMean(t, -math.Expm1(-0.5), "bursts are too short to tell")
	second.RequireMean(t, -math.Expm1(-1))
}

// The number of detections in a window is burstier than without states by just
// as much as the covariances π·A·exp(Qg)^(k−1)·A·1 − p² say; its mean for short
// gaps is that of the changes.
func TestBurstyDispersion(t *testing.T) {
	t.Parallel()
	const windows, polls = 4000, 50
	const gap = 0.2
	burst := BurstyConfig{Quiet: 0, Active: 3, QuietStay: 5, ActiveStay: 2.5}
	require.Equal(t, burst, BurstyConfig{QuietStay: 5, ActiveStay: 2.5}.resolve(), "its mean is 1")
	rates := make([]float64, windows)
	for i := range rates {
		rates[i] = 1
	}
	env, err := NewBursty(rates, burst, check.Source(2))
	require.NoError(t, err)
	var count, square check.Sample
	counts := make([]float64, windows)
	for i := range windows {
		for k := 1; k <= polls; k++ {
			if _, changed := env.Poll(i, float64(k)*gap); changed {
				counts[i]++
			}
		}
		count.Add(counts[i])
	}

	q := matrix{{-1 / burst.QuietStay, 1 / burst.QuietStay}, {1 / burst.ActiveStay, -1 / burst.ActiveStay}}
	step := q.exp(gap)
	found := step.minus(q.minus(matrix{{0, 0}, {0, burst.Active}}).exp(gap))
	equilibrium := [2]float64{1 - burst.activeShare(), burst.activeShare()}
	p := found.from(equilibrium)
	want := polls * p * (1 - p)
	between := matrix{{1, 0}, {0, 1}}
	for k := 1; k < polls; k++ {
		want += 2 * float64(polls-k) * (found.times(between).times(found).from(equilibrium) - p*p)
		between = between.times(step)
	}
	count.RequireMean(t, polls*p)
	for _, c := range counts {
		square.Add((c - polls*p) * (c - polls*p))
	}
	square.RequireMean(t, want)
	require.Greater(t, want, 3*polls*p*(1-p), "the case is a bursty one")
}

func TestBurstyRate(t *testing.T) {
	t.Parallel()
	burst := BurstyConfig{Quiet: 0.5, Active: 4, QuietStay: 10, ActiveStay: 3}
	rates := make([]float64, 1000)
	for i := range rates {
		rates[i] = 2
	}
	env, err := NewBursty(rates, burst, check.Source(3))
	require.NoError(t, err)
	for i := range rates {
		want := 1.0
		if env.(*burstyEnv).active[i] {
			want = 8
		}
		require.InDelta(t, want, env.Rate(i, 0), 1e-12, "the state is known at the last poll")
		require.InDelta(t, 2*(0.5*10+4*3)/13, env.Rate(i, 1e6), 1e-12, "and forgotten long after")
	}
}

func TestBurstyErrors(t *testing.T) {
	t.Parallel()
	good := BurstyConfig{Quiet: 0.1, Active: 5, QuietStay: 10, ActiveStay: 1}
	for _, change := range []func(*BurstyConfig){
		func(b *BurstyConfig) { b.Quiet = -1 },
		func(b *BurstyConfig) { b.Active = math.NaN() },
		func(b *BurstyConfig) { b.Quiet, b.Active = 20, 0 },
		func(b *BurstyConfig) { b.Active = math.Inf(1) },
		func(b *BurstyConfig) { b.QuietStay = -1 },
		func(b *BurstyConfig) { b.QuietStay = math.Inf(1) },
		func(b *BurstyConfig) { b.QuietStay = math.Inf(-1) },
		func(b *BurstyConfig) { b.ActiveStay = -2 },
		func(b *BurstyConfig) { b.ActiveStay = math.Inf(-1) },
		func(b *BurstyConfig) { b.ActiveStay = 1e-320 },
	} {
		b := good
		change(&b)
		_, err := NewBursty([]float64{1}, b, check.Source(1))
		require.ErrorIs(t, err, ErrConfig, "%+v", b)
	}
	_, err := NewBursty([]float64{1}, BurstyConfig{Quiet: 2}, check.Source(1))
	require.EqualError(t, err, ErrConfig.Error()+": quiet rate 2 is more than the page's own, as pages are quiet for 0.9 of the time")
	_, err = NewBursty([]float64{1}, BurstyConfig{Quiet: 2, ActiveStay: -1}, check.Source(1))
	require.ErrorContains(t, err, "active stay -1")
	_, err = NewBursty([]float64{1}, BurstyConfig{ActiveStay: math.NaN()}, check.Source(1))
	require.ErrorContains(t, err, "active stay NaN")
	_, err = NewBursty([]float64{1}, BurstyConfig{QuietStay: math.Inf(1)}, check.Source(1))
	require.ErrorContains(t, err, "quiet stay +Inf")
	_, err = NewBursty([]float64{1}, BurstyConfig{Quiet: 2, Active: -8}, check.Source(1))
	require.ErrorContains(t, err, "active rate -8")
	_, err = NewBursty([]float64{1, 1e39}, good, check.Source(1))
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewBursty(nil, good, check.Source(1))
	require.ErrorIs(t, err, ErrNoPages)
}
