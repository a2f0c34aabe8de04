package census

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

func model() belief.Model {
	m := belief.NewModel(belief.Worth{
		Table: belief.NewTable(func(v float64) float64 { return -math.Expm1(-v) }), Chance: true, Slowest: 64,
	})
	m.Begin(1)
	return m
}

// The prior is where the votes are: of pages that all change once a cycle. A page that comes and
// goes leaves nothing behind.
func TestPrior(t *testing.T) {
	t.Parallel()
	const n = 20
	m := model()
	c := New(n, false)
	for _, f := range c.Prior.Factor()[belief.Steady] {
		require.InEpsilon(t, 1, f, 1e-12, "flat to begin with")
	}
	var flat, b belief.Belief
	p := m.Fresh()
	m.Unpack(&p, &flat)
	b = flat
	for k := range 100 {
		m.Learn(&b, 0.7, 0.7, k%2 == 0)
	}
	computed := 0
	for range n {
		if c.Count(&flat, &b, 1, 1) {
			computed++
		}
	}
	require.Equal(t, n/period, computed)
	c.Prior.estimate()
	factor := *c.Prior.Factor()
	at := int(math.Round(b.MeanCell()))
	require.Greater(t, factor[belief.Steady][at], 2.0)
	require.InDelta(t, flatVotes/(1.0+flatVotes), factor[belief.Steady][at-6], 0.05, "votes without evidence stay")
	sum, mean := 0.0, 0.0
	for k, s := range c.Prior.Rates() {
		sum += s
		mean += s * float64(k)
	}
	require.InEpsilon(t, 1, sum, 1e-9)
	require.InDelta(t, b.MeanCell(), mean, 0.05)
	sum = 0
	for _, l := range *c.Prior.Landing() {
		sum += l
	}
	require.InEpsilon(t, 1, sum, 1e-9)

	var none belief.Belief
	before := c.Prior.total
	c.Prior.Vote(&none, &flat, 1)
	c.Prior.estimate()
	require.InEpsilon(t, before+1, c.Prior.total, 1e-3)
	c.Prior.Vote(&flat, &none, 1)
	c.Prior.estimate()
	require.InEpsilon(t, factor[belief.Steady][at], c.Prior.factor[belief.Steady][at], 1e-3)

	c.Slide(1)
	require.InEpsilon(t, factor[belief.Steady][at], c.Prior.factor[belief.Steady][at+4], 1e-3)
}

// A Calibration finds out that probabilities are too high for pages that did not change at the
// poll before, too low for the others, and off by a power. What is said of changes then is right
// to a tenth; with fade 0 nothing is corrected.
func TestCalibration(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	truth := func(said float64, last bool) float64 {
		v := 0.6 * math.Pow(-math.Log1p(-said), 0.8)
		if last {
			v *= 2
		}
		return -math.Expm1(-v)
	}
	c := newCalibration()
	const n = 20_000
	for range 5 * n {
		said, last := rng.Float64(), rng.IntN(3) == 0
		c.Learn(said, 1, last, rng.Float64() < truth(said, last), 1, n, 1)
	}
	for _, said := range []float64{0.1, 0.3, 0.6, 0.9} {
		for _, last := range []bool{false, true} {
			require.InEpsilon(t, truth(said, last), c.Correct(said, 1, last, 1, 0, Opinion{}), 0.12, "%v %v", said, last)
			require.InEpsilon(t, said, c.Correct(said, 1, last, 0, 0, Opinion{}), 1e-9)
		}
	}
	for _, said := range []float64{0, 1} {
		require.InDelta(t, said, c.Correct(said, 1, false, 1, 0, Opinion{}), 1e-3)
	}
	require.Less(t, math.Abs((&feature{1e9}).shift(1, 1, false, 1)), mostCorrection+1e-9)
}

// Where pages are judged rightly, little is corrected.
func TestCalibrationOfTheRight(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 2))
	c := newCalibration()
	const n = 2000
	for range 10 * n {
		said := rng.Float64()
		c.Learn(said, 1, rng.IntN(2) == 0, rng.Float64() < said, 1, n, 1)
	}
	require.InDelta(t, 0.3, c.Correct(0.3, 1, true, 1, 0, Opinion{}), 0.03)
	require.InDelta(t, 0.3, c.Correct(0.3, 1, false, 1, 0, Opinion{}), 0.03)
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

// Pages that wait for long and are found changed more often than one expects are judged by that, also
// when everything else has faded out. Where they change less they are left as they are.
func TestCalibrationOfPagesThatWake(t *testing.T) {
	t.Parallel()
	const n, wait, said = 2000, 6.0, 0.2
	for _, truth := range []float64{0.05, 0.6} {
		rng := rand.New(rand.NewPCG(5, 2))
		c := newCalibration()
		for range 5 * n {
			c.Learn(said, wait, false, rng.Float64() < truth, 0, n, 1)
			c.Learn(said, 0.3, false, rng.Float64() < said, 0, n, 1)
		}
		require.InDelta(t, max(said, truth), c.Correct(said, wait, false, 0, 0, Opinion{}), 0.06)
		require.InDelta(t, said, c.Correct(said, 0.3, false, 0, 0, Opinion{}), 1e-9)
		for range n / 20 { // however long they have been quiet
			c.Learn(said, wait, false, rng.Float64() < 0.6, 0, n, 1)
		}
		require.Greater(t, c.Correct(said, wait, false, 0, 0, Opinion{}), 0.35)
	}
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

// Changes that were found long ago are forgotten until next to nothing is left of them, and what follows is a
// number all the same.
func TestHedgeForgets(t *testing.T) {
	t.Parallel()
	var h Hedge
	for k := range 60_000 {
		h.Score(float64(k%4), 1, k < 4, 1, 4)
		h.estimate(1)
		require.False(t, math.IsNaN(h.Gain()), "poll %d", k)
	}
}

// Where nearly every poll finds a change rates are hardly to be told, so that what polls in turn find is
// counted: of pages that were recorded to change 8 times in a cycle, one half has become slow.
func TestHedgeCountsWhereMostPollsFindChanges(t *testing.T) {
	t.Parallel()
	const n, cycle = 400, 1e-5
	rng := rand.New(rand.NewPCG(1, 2))
	changes := func(cycles float64) bool { return rng.Float64() < -math.Expm1(-cycles) }
	var h Hedge
	h.Add(9, 12*8*n, 12*n*cycle)
	h.estimate(cycle)
	require.Less(t, h.Gain(), 0.001)
	for k := range 2 * n {
		h.Score(9, cycle, changes([]float64{1, 16}[k%2]), cycle, n)
	}
	h.estimate(cycle)
	inTurn := 1 - math.Exp(-1)/2
	require.InEpsilon(t, 1/inTurn-1, h.Gain(), 0.15)
	// A poll after another gap tells what one after a cycle would have found, also of pages of which no
	// rate is known yet, as there it is taken to be one change in a cycle.
	for _, known := range []bool{true, false} {
		for _, gap := range []float64{0.2, 2} {
			var h Hedge
			rate := 1.0
			if known {
				rate = 4
				h.Add(9, 12*rate*n, 12*n*cycle)
				h.estimate(cycle)
			}
			for range 20 * n {
				h.Score(9, gap*cycle, changes(rate*gap), cycle, n)
			}
			require.InDelta(t, -math.Expm1(-rate), h.inTurn/h.span, 0.02, "gap %v", gap)
		}
	}
}

// A gap that is next to nothing counts as one change, if there was one.
func TestHedgeOfNoGap(t *testing.T) {
	t.Parallel()
	var h Hedge
	h.Score(3, 1e-300, true, 1e100, 1<<40)
	require.InDelta(t, 1, h.changes[3], 1e-9)
}

// What a poll counts as is a number, also where rate and gap are as far apart as numbers go: states with others
// are refused.
func TestHedgeOfGapsFarApart(t *testing.T) {
	t.Parallel()
	var h Hedge
	for range 1000 {
		h.Score(3, 1e298, true, 1e-300, 4)
	}
	h.estimate(1e-300)
	require.LessOrEqual(t, h.changes[3], math.MaxFloat64)
	require.False(t, math.IsNaN(h.Gain()))
}

// Nothing is gained where a cycle is so short beside the time between changes that none is expected in it.
func TestHedgeOfShortCycles(t *testing.T) {
	t.Parallel()
	var h Hedge
	h.Add(3, 100, 1e90)
	h.estimate(1e-300)
	require.Zero(t, h.Gain())
}

// Evidence that is added counts like polls.
func TestHedgeAdd(t *testing.T) {
	t.Parallel()
	var h Hedge
	h.Add(3, 100, 1000)
	h.Add(12, 100, 20)
	h.estimate(1)
	const mean = 200.0 / 1020
	require.InEpsilon(t, (100+scorePrior)/(1000+scorePrior/mean), h.rate[3], 1e-12)
	require.Greater(t, h.Gain(), 0.4)
}

// A poll counts in the cell that is nearest to the mean.
func TestHedgeCells(t *testing.T) {
	t.Parallel()
	for mean, cell := range map[float64]int{0: 0, 2.4: 2, 2.6: 3} {
		var h Hedge
		h.Score(mean, 1, true, 1, 100)
		for k, time := range h.time {
			require.Equal(t, k == cell, time > 0, "cell %d of %v", k, mean)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	load := func(c *Census) (Census, error) {
		d := codectest.Decoder(t, c.Encode)
		var got Census
		got.Decode(d, false)
		return got, d.Done()
	}
	good := func() *Census {
		m, c := model(), New(4, false)
		var b belief.Belief
		p := m.Fresh()
		m.Unpack(&p, &b)
		for k := range 20 {
			c.Hedge.Score(float64(k%5), 1, k%3 == 0, 1, 4)
			c.Calibration.Learn(0.3, 1, k%2 == 0, k%3 == 0, 1, 4, 1)
			c.Untouched.Learn(0.3, k%2 == 0, k%3 == 0, 4, 1)
			c.Waking.Learn(0.3, 2, k%3 == 0, 4, 1)
			c.Count(&b, &b, 1, 1)
		}
		return &c
	}
	got, err := load(good())
	require.NoError(t, err)
	require.Equal(t, *good(), got)
	for name, spoil := range map[string]func(c *Census){
		"votes":      func(c *Census) { c.Prior.votes[0][2] = -1 },
		"factor":     func(c *Census) { c.Prior.factor[1][3] = math.NaN() },
		"no factor":  func(c *Census) { c.Prior.factor[1][3] = 0 },
		"total":      func(c *Census) { c.Prior.total = 0 },
		"time":       func(c *Census) { c.Hedge.time[2] = math.Inf(1) },
		"in turn":    func(c *Census) { c.Hedge.inTurn = math.NaN() },
		"span":       func(c *Census) { c.Hedge.span = -1 },
		"much span":  func(c *Census) { c.Hedge.span = math.MaxFloat64 },
		"much found": func(c *Census) { c.Hedge.inTurn = 2.1 * c.Hedge.span },
		"gain":       func(c *Census) { c.Hedge.gain = math.NaN() },
		"theta":      func(c *Census) { c.Calibration.theta[1] = math.NaN() },
		"untouched":  func(c *Census) { c.Untouched.theta[touched] = math.Inf(1) },
		"waking":     func(c *Census) { c.Waking.applied[awake] = math.NaN() },
		"covariance": func(c *Census) { c.Calibration.covariance[1][0] = math.Inf(1) },
		"until":      func(c *Census) { c.until = 0 },
	} {
		c := good()
		spoil(c)
		_, err := load(c)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}

// What is certain is corrected like what is nearly so.
func TestCertainChancesAreCorrected(t *testing.T) {
	t.Parallel()
	var c Calibration
	c.applied[0] = -3
	require.InEpsilon(t, 1-math.Pow(leastChance, math.Exp(-mostCorrection)), c.Correct(1, 1, false, 1, 0, Opinion{}), 1e-6)
	require.Equal(t, c.Correct(1-1e-9, 1, false, 1, 0, Opinion{}), c.Correct(1, 1, false, 1, 0, Opinion{}))
	require.Positive(t, c.Correct(0, 1, false, 1, 0, Opinion{}))
	require.Equal(t, c.Correct(1e-9, 1, false, 1, 0, Opinion{}), c.Correct(0, 1, false, 1, 0, Opinion{}))
}

// A gain is a ratio: it does not depend on the unit of time. A census computes it by itself, every so
// many polls.
func TestGainHasNoUnit(t *testing.T) {
	t.Parallel()
	gain := func(unit float64) float64 {
		m, c := model(), New(50, false)
		var flat belief.Belief
		p := m.Fresh()
		m.Unpack(&p, &flat)
		c.Hedge.Add(3, 100, 1000*unit)
		c.Hedge.Add(15, 100, 20*unit)
		for range period {
			require.Zero(t, c.Hedge.Gain())
			c.Count(&flat, &flat, 1, unit)
		}
		return c.Hedge.Gain()
	}
	require.Greater(t, gain(1), 0.1)
	require.InEpsilon(t, gain(1), gain(7), 1e-9)
}

// The evidence of the hedge moves with the grid, and the rates that it found are those of the same
// pages still.
func TestHedgeSlides(t *testing.T) {
	t.Parallel()
	var h Hedge
	h.Add(3, 100, 1000)
	h.Add(5, 100, 20)
	h.estimate(1)
	gain, slow, busy := h.Gain(), h.rate[3], h.rate[5]
	h.slide(1)
	moved := 0
	for k, time := range h.time {
		switch time {
		case 1000:
			moved = k - 3
			require.Equal(t, []float64{100, slow}, []float64{h.changes[k], h.rate[k]})
		case 20:
			require.Equal(t, moved, k-5)
			require.Equal(t, []float64{100, busy}, []float64{h.changes[k], h.rate[k]})
		default:
			require.Zero(t, time)
			require.Zero(t, h.changes[k])
		}
	}
	require.Positive(t, moved)
	h.estimate(1)
	require.InEpsilon(t, gain, h.Gain(), 1e-12)
}

// Mean and variance are those of the votes, and after loading, too, to the rounding of what is saved.
func TestPriorMoments(t *testing.T) {
	t.Parallel()
	m, c := model(), New(50, false)
	var flat, b belief.Belief
	p := m.Fresh()
	m.Unpack(&p, &flat)
	b = flat
	for k := range 30 {
		m.Learn(&b, 0.7, 0.7, k%3 == 0)
	}
	for range 2 * period {
		c.Count(&flat, &b, 1, 1)
	}
	rates := c.Prior.Rates()
	mean, variance := belief.Moments(&rates)
	d := codectest.Decoder(t, c.Encode)
	var loaded Census
	loaded.Decode(d, false)
	require.NoError(t, d.Done())
	for _, prior := range []*Prior{&c.Prior, &loaded.Prior} {
		gotMean, gotVariance := prior.Moments()
		require.InEpsilon(t, mean, gotMean, 1e-9)
		require.InEpsilon(t, variance, gotVariance, 1e-9)
	}
}
