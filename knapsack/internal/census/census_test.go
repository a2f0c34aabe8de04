package census

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

func model() belief.Model {
	m := belief.NewModel(belief.Worth{
		Table: belief.NewTable(func(v float64) float64 { return -math.Expm1(-v) }), Chance: true, Slowest: 64,
	})
	m.Begin(1)
	return m
}

// The prior is where the beliefs are: pages that all change once a cycle.
func TestPrior(t *testing.T) {
	t.Parallel()
	m := model()
	c := New(8)
	var b belief.Belief
	p := m.Fresh()
	m.Unpack(&p, &b)
	for k := range 100 {
		m.Learn(&b, 0.7, k%2 == 0)
	}
	fresh := 0
	for range 400 {
		if c.Count(&b, 1, 1, 20) {
			fresh++
		}
	}
	require.Equal(t, 400/period, fresh)
	factor := c.Prior.Factor()
	at := int(math.Round(b.MeanCell()))
	require.Greater(t, factor[belief.Steady][at], 3.0)
	require.Less(t, factor[belief.Steady][at-6], 0.5)
	require.Less(t, factor[belief.Steady][at+5], 0.5)
	share, total := c.Prior.Rates()
	sum, mean := 0.0, 0.0
	for k, s := range share {
		sum += s
		mean += s / total * float64(k)
	}
	require.InEpsilon(t, total, sum, 1e-9)
	require.InDelta(t, b.MeanCell(), mean, 0.5)

	before := *factor
	c.Slide(1)
	require.Equal(t, before[belief.Steady][at], factor[belief.Steady][at+4])
	slid, after := c.Prior.Rates()
	require.InEpsilon(t, total, after, 1e-9)
	require.InEpsilon(t, share[at], slid[at+4], 1e-9)
}

// scored returns the gain after polls of pages of the given rates, one a cycle each, in the
// cells in which they belong.
func scored(rates []float64, polls int) float64 {
	m := model()
	rng := rand.New(rand.NewPCG(1, 2))
	var h Hedge
	for k := range polls {
		rate := rates[k%len(rates)]
		cell := math.Log(rate/m.Rate(0)) / belief.Step
		h.Score(cell, 1, rng.Float64() < -math.Expm1(-rate), 1, len(rates))
		if k%period == period-1 {
			h.estimate(1) // the correction for missed changes needs a rate
		}
	}
	return h.Gain()
}

// The gain is what the best schedule detects beyond polling in turn: n·(1−e^(−mean)) to
// Σ (1−e^(−λ)). Alike pages leave nothing to gain.
func TestHedge(t *testing.T) {
	t.Parallel()
	rates := []float64{0.1, 0.1, 0.1, 3}
	inTurn, mean := 0.0, 0.0
	for _, r := range rates {
		inTurn -= math.Expm1(-r)
		mean += r / 4
	}
	rates = slices.Repeat(rates, 25)
	want := -4*math.Expm1(-mean)/inTurn - 1
	require.InDelta(t, want, scored(rates, 40_000), 0.1*want)
	require.Less(t, scored([]float64{0.4}, 1000), 0.02)
	require.Zero(t, new(Hedge).Gain())
}

// Evidence that is added counts like polls.
func TestHedgeAdd(t *testing.T) {
	t.Parallel()
	var h Hedge
	h.Add(3, 100, 1000)
	h.Add(12, 100, 20)
	h.estimate(1)
	require.InEpsilon(t, 0.1, h.rate[3], 0.02)
	require.Greater(t, h.Gain(), 0.4)
}

// Patience grows while late polls earn nothing, shrinks where they earn more than others,
// and keeps within its bounds.
func TestPatience(t *testing.T) {
	t.Parallel()
	const n = 100
	p := Patience{cycles: FirstPatience}
	for range 1000 {
		p.Earn(1, true, false, n)
		p.Earn(1, false, false, n)
	}
	require.EqualValues(t, FirstPatience, p.Cycles(), "polls that are not late tell what is usual")
	for range 10 {
		p.Earn(1, false, true, n)
	}
	require.InEpsilon(t, FirstPatience*math.Exp(10*patiencePace/float64(n)), p.Cycles(), 1e-9)
	before := p.Cycles()
	p.Earn(0.3, true, true, n)
	require.Equal(t, before, p.Cycles(), "a page that could not have earned as much")
	for range 1000 {
		p.Earn(1, false, true, n)
	}
	require.EqualValues(t, MostPatience, p.Cycles())
	for range 1000 {
		p.Earn(1, true, true, n)
	}
	require.EqualValues(t, leastPatience, p.Cycles())
}

func TestDecode(t *testing.T) {
	t.Parallel()
	load := func(c *Census) (Census, error) {
		e := codec.NewEncoder(nil, "c", 1)
		c.Encode(e)
		b, err := e.Finish()
		require.NoError(t, err)
		d, err := codec.NewDecoder(b, "c", 1)
		require.NoError(t, err)
		var got Census
		got.Decode(d)
		return got, d.Done()
	}
	good := func() *Census {
		m, c := model(), New(8)
		var b belief.Belief
		p := m.Fresh()
		m.Unpack(&p, &b)
		for k := range 20 {
			c.Hedge.Score(float64(k%5), 1, k%3 == 0, 1, 4)
			c.Patience.Earn(1, k%3 == 0, false, 4)
			c.Count(&b, 1, 1, 4)
		}
		return &c
	}
	got, err := load(good())
	require.NoError(t, err)
	require.Equal(t, *good(), got)
	for name, spoil := range map[string]func(c *Census){
		"share":    func(c *Census) { c.Prior.share[0][0] = -1 },
		"factor":   func(c *Census) { c.Prior.factor[1][3] = math.NaN() },
		"time":     func(c *Census) { c.Hedge.time[2] = math.Inf(1) },
		"gain":     func(c *Census) { c.Hedge.gain = math.NaN() },
		"patience": func(c *Census) { c.Patience.cycles = MostPatience + 1 },
		"tried":    func(c *Census) { c.Patience.tried = -1 },
		"earned":   func(c *Census) { c.Patience.earned = math.Inf(1) },
		"until":    func(c *Census) { c.until = 0 },
	} {
		c := good()
		spoil(c)
		_, err := load(c)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}
