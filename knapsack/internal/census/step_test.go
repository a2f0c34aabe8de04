package census

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// drawn returns a calibration whose covariance is one: a mixture of what it began with and of polls.
func drawn(t *rapid.T) Calibration {
	c := newCalibration()
	for range rapid.IntRange(0, 20).Draw(t, "polls") {
		c.Learn(rapid.Float64Range(0.01, 0.99).Draw(t, "said"), rapid.Float64Range(0.1, 20).Draw(t, "gap"),
			rapid.Bool().Draw(t, "last"), rapid.Bool().Draw(t, "changed"), 1, 100, 1)
	}
	return c
}

// A poll is one step of an extended Kalman filter. The reference takes the derivatives of the log
// likelihood by differences, and the identities P' = P − i·P'xxᵀP and θ' = θ + slope·P'x of the step,
// θ of pages that wait not below 0. Among very many pages a poll makes nothing be forgotten.
func TestCalibrationStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := drawn(t)
		said, gap := rapid.Float64Range(0.01, 0.99).Draw(t, "said"), rapid.Float64Range(0.1, 20).Draw(t, "gap")
		last, changed := rapid.Bool().Draw(t, "last"), rapid.Bool().Draw(t, "changed")
		fade := rapid.Float64Range(0, 1).Draw(t, "fade")
		after := before
		after.Learn(said, gap, last, changed, fade, 1<<50, 1)

		v := -math.Log1p(-said)
		x := featuresOf(v, gap, last)
		v *= math.Exp(before.theta.shift(v, gap, last, fade))
		unlikely := func(s float64) float64 { return math.Log(-math.Expm1(-v * math.Exp(s))) }
		remain := func(s float64) float64 { return -v * math.Exp(s) }
		found := remain
		if changed {
			found = unlikely
		}
		const h = 1e-4
		slope := calibrationTrust * (found(h) - found(-h)) / (2 * h)
		second := func(f func(float64) float64) float64 { return (f(h) - 2*f(0) + f(-h)) / (h * h) }
		none := math.Exp(-v)
		information := -calibrationTrust * (none*second(remain) + (1-none)*second(unlikely))

		var px, sx feature // P·x before and after
		for a := range px {
			for b := range px {
				px[a] += before.covariance[a][b] * x[b]
				sx[a] += after.covariance[a][b] * x[b]
			}
		}
		for a := range px {
			want := before.theta[a] + slope*sx[a]
			if a == awake {
				want = max(0, want)
			}
			require.InDelta(t, want, after.theta[a], 1e-4*(1+math.Abs(slope)))
			for b := range px {
				require.InDelta(t, before.covariance[a][b]-information*sx[a]*px[b], after.covariance[a][b], 1e-4*(1+information))
			}
		}
	})
}

// Each poll makes a part of what was learnt be forgotten: about a third of it in as many polls as there
// are pages, or in four.
func TestCalibrationMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		short := drawn(t)
		long := short
		n := rapid.IntRange(1, 50).Draw(t, "n")
		said, changed := rapid.Float64Range(0.01, 0.99).Draw(t, "said"), rapid.Bool().Draw(t, "changed")
		short.Learn(said, 2, true, changed, 1, n, 1)
		long.Learn(said, 2, true, changed, 1, 1<<50, 1)
		long.forget(1 - 1/(calibrationMemory*float64(max(4, n))))
		for a := range short.theta {
			require.InDelta(t, long.theta[a], short.theta[a], 1e-9)
			require.InDeltaSlice(t, long.covariance[a][:], short.covariance[a][:], 1e-9)
		}
	})
}

// A gain is a ratio: it does not depend on the unit of time. A census computes it by itself, every so
// many polls.
func TestGainHasNoUnit(t *testing.T) {
	t.Parallel()
	gain := func(unit float64) float64 {
		m, c := model(), New(50)
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

// What is learnt is applied at every poll where pages are few, and in blocks where they are many.
func TestCalibrationIsAppliedInBlocks(t *testing.T) {
	t.Parallel()
	for pages, block := range map[int]int{blocks - 1: 1, blocks: 2, 10 * blocks: 11} {
		c := newCalibration()
		require.True(t, c.Learn(0.5, 1, false, true, 1, pages, 1))
		for k := 1; k < 5*block; k++ {
			before := c.Correct(0.5, 1, false, 1)
			applied := c.Learn(0.5, 1, false, true, 1, pages, 1)
			require.Equal(t, k%block == 0, applied, "poll %d", k)
			require.Equal(t, applied, before != c.Correct(0.5, 1, false, 1))
		}
	}
}

// A block ends when it should, also one that was begun by more pages, or forged.
func TestCalibrationBlockEnds(t *testing.T) {
	t.Parallel()
	c := newCalibration()
	c.left = math.MaxUint32
	polls := 1
	for !c.Learn(0.5, 1, false, true, 1, 3*blocks, 1) && polls < 100 {
		polls++
	}
	require.Equal(t, 4, polls)
}

// What has been loaded can be saved and loaded again, however often it has learnt and whatever it was.
func TestForgedCalibration(t *testing.T) {
	t.Parallel()
	load := func(t *rapid.T, c *Calibration) (got Calibration, err error) {
		d := codectest.Decoder(t, c.encode)
		got.decode(d)
		return got, d.Done()
	}
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		for a := range features {
			c.theta[a] = rapid.Float64Range(-mostTheta, mostTheta).Draw(t, "θ")
			c.applied[a] = rapid.Float64Range(-mostTheta, mostTheta).Draw(t, "applied")
			for b := range features {
				if rapid.IntRange(0, 9).Draw(t, "forge") == 0 {
					c.covariance[a][b] = rapid.SampledFrom([]float64{-mostTheta, -1, 0, 0.1, mostTheta}).Draw(t, "covariance")
				}
			}
		}
		got, err := load(t, &c)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrCorrupt)
			return
		}
		require.Equal(t, c, got)
		for range 20 {
			got.Learn(rapid.Float64Range(0, 1).Draw(t, "said"), rapid.Float64Range(0.1, 20).Draw(t, "gap"),
				rapid.Bool().Draw(t, "last"), rapid.Bool().Draw(t, "changed"), rapid.Float64Range(0, 1).Draw(t, "fade"),
				rapid.IntRange(1, 1000).Draw(t, "n"), rapid.Float64Range(0, 1).Draw(t, "part"))
		}
		again, err := load(t, &got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

// A part of what is learnt is applied at each block, of what is left: after a steady θ all of it.
func TestCalibrationIsAppliedInParts(t *testing.T) {
	t.Parallel()
	whole, part := newCalibration(), newCalibration()
	var before feature
	for range 100 {
		whole.Learn(0.5, 1, false, true, 1, 20, 1)
		part.Learn(0.5, 1, false, true, 1, 20, 0.25)
		require.Equal(t, whole.theta, part.theta)
		require.Equal(t, whole.theta, whole.applied)
		for a := range before {
			require.InDelta(t, before[a]+(part.theta[a]-before[a])/4, part.applied[a], 1e-12)
		}
		before = part.applied
	}
	require.InEpsilon(t, whole.applied[0], part.applied[0], 0.1)
}

// To forget is to drift to 0 and to the variance of the beginning, with covariances that stay valid
// whatever they were.
func TestCalibrationForgets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		before := c
		keep := rapid.Float64Range(0, 1).Draw(t, "keep")
		c.forget(keep)
		for a := range c.theta {
			require.InDelta(t, keep*before.theta[a], c.theta[a], 1e-12)
			for b := range c.theta {
				want := keep * keep * before.covariance[a][b]
				if a == b {
					want += (1 - keep*keep) * calibrationVariance
				}
				require.InDelta(t, want, c.covariance[a][b], 1e-12)
			}
		}
		for range features { // as a forged state may have it
			a, b := rapid.IntRange(0, features-1).Draw(t, "a"), rapid.IntRange(0, features-1).Draw(t, "b")
			c.covariance[a][b] = rapid.Float64Range(-mostTheta, mostTheta).Draw(t, "forged")
		}
		c.forget(keep)
		for a := range c.theta {
			require.GreaterOrEqual(t, c.covariance[a][a], 0.0)
			require.LessOrEqual(t, c.covariance[a][a], calibrationVariance)
			for b := range a { // the square of a tiny variance is nothing
				most := math.Sqrt(c.covariance[a][a] * c.covariance[b][b])
				require.LessOrEqual(t, math.Abs(c.covariance[a][b]), most*(1+1e-12))
				require.LessOrEqual(t, math.Abs(c.covariance[b][a]), most*(1+1e-12))
			}
		}
	})
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
	m, c := model(), New(50)
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
	loaded.Decode(d)
	require.NoError(t, d.Done())
	for _, prior := range []*Prior{&c.Prior, &loaded.Prior} {
		gotMean, gotVariance := prior.Moments()
		require.InEpsilon(t, mean, gotMean, 1e-9)
		require.InEpsilon(t, variance, gotVariance, 1e-9)
	}
}
