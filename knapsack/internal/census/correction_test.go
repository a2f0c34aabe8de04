package census

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// drawn returns a calibration whose covariance is that of a correction: what it began with, and some polls.
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
		slope := trust * (found(h) - found(-h)) / (2 * h)
		second := func(f func(float64) float64) float64 { return (f(h) - 2*f(0) + f(-h)) / (h * h) }
		none := math.Exp(-v)
		information := -trust * (none*second(remain) + (1-none)*second(unlikely))

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
		long.forget(1-1/(correctionMemory*float64(max(4, n))), usual)
		for a := range short.theta {
			require.InDelta(t, long.theta[a], short.theta[a], 1e-9)
			require.InDeltaSlice(t, long.covariance[a][:], short.covariance[a][:], 1e-9)
		}
	})
}

// What is learnt is applied at every poll where pages are few, and in blocks where they are many.
func TestCalibrationIsAppliedInBlocks(t *testing.T) {
	t.Parallel()
	for pages, block := range map[int]int{blocks - 1: 1, blocks: 2, 10 * blocks: 11} {
		c := newCalibration()
		require.True(t, c.Learn(0.5, 1, false, true, 1, pages, 1))
		for k := 1; k < 5*block; k++ {
			before := c.Correct(0.5, 1, false, 1, 0, Opinion{})
			applied := c.Learn(0.5, 1, false, true, 1, pages, 1)
			require.Equal(t, k%block == 0, applied, "poll %d", k)
			require.Equal(t, applied, before != c.Correct(0.5, 1, false, 1, 0, Opinion{}))
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
		got.decode(d, usual)
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
		c.forget(keep, usual)
		for a := range c.theta {
			require.InDelta(t, keep*before.theta[a], c.theta[a], 1e-12)
			for b := range c.theta {
				want := keep * keep * before.covariance[a][b]
				if a == b {
					want += (1 - keep*keep) * firstVariance
				}
				require.InDelta(t, want, c.covariance[a][b], 1e-12)
			}
		}
		for range features { // as a forged state may have it
			a, b := rapid.IntRange(0, features-1).Draw(t, "a"), rapid.IntRange(0, features-1).Draw(t, "b")
			c.covariance[a][b] = rapid.Float64Range(-mostTheta, mostTheta).Draw(t, "forged")
		}
		c.forget(keep, usual)
		for a := range c.theta {
			require.GreaterOrEqual(t, c.covariance[a][a], 0.0)
			require.LessOrEqual(t, c.covariance[a][a], firstVariance)
			for b := range a { // the square of a tiny variance is nothing
				most := math.Sqrt(c.covariance[a][a] * c.covariance[b][b])
				require.LessOrEqual(t, math.Abs(c.covariance[a][b]), most*(1+1e-12))
				require.LessOrEqual(t, math.Abs(c.covariance[b][a]), most*(1+1e-12))
			}
		}
	})
}

// A feature that polls tell nothing of any more leaves the corrections bounded, and the state such
// that it can be restored. What a page's polls tell of it changes now and then.
func TestCalibrationBounded(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, busy := range []float64{0, 0.02, 1} {
		c := newCalibration()
		for k := range 200_000 {
			last := k < 20 || rng.Float64() < busy
			c.Learn(0.999, 1, last, k%100 > 0, 1, 20, 1)
		}
		for a := range features {
			require.Less(t, math.Abs(c.theta[a]), 100.)
			for b := range features {
				require.LessOrEqual(t, math.Abs(c.covariance[a][b]), firstVariance*(1+1e-9), "busy %v", busy)
			}
		}
	}
}
