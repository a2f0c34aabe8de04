package census

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Of pages that wait for long and change more often than one expects, more is expected. Where they
// change less, they are left as they are. It does not matter by how much what is expected of all pages
// is wrong.
func TestWaking(t *testing.T) {
	t.Parallel()
	const n, wait, said = 2000, 6.0, 0.2
	for _, off := range []float64{1, 0.4} { // what all pages change, over what is expected
		for _, times := range []float64{0.2, 2.5} { // what those that wait change, over what others do
			rng := rand.New(rand.NewPCG(5, 2))
			w := newWaking()
			learn := func(gap, times float64) {
				w.Learn(said, gap, rng.Float64() < -math.Expm1(off*times*math.Log1p(-said)), n, 1)
			}
			for range 5 * n {
				learn(wait, times)
				learn(0.1, 1)
			}
			require.InEpsilon(t, max(1, times), w.Times(wait, 0), 0.25, "%v %v", off, times)
			require.InDelta(t, 1, w.Times(0.1, 0), 0.02)
			require.InEpsilon(t, -math.Expm1(w.Times(wait, 0)*math.Log1p(-said)), w.Correct(said, wait, 0), 1e-3)
			require.InEpsilon(t, math.Sqrt(w.Times(wait, 0)), w.Times(wait, 0.5), 1e-6)
			require.InEpsilon(t, 1, w.Times(wait, 1), 1e-6)
			for range n / 10 { // however long they have been quiet
				learn(wait, 5)
			}
			require.Greater(t, w.Times(wait, 0), 1.5, "%v %v", off, times)
		}
	}
}

// The longer a page has waited the more is expected of it, up to e² times as much, whatever has been
// learnt; of one that has waited for less than a cycle less than twice as much.
func TestWakingIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWaking()
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		for range 100 {
			gap := math.Pow(10, rapid.Float64Range(-2, 3).Draw(t, "log gap"))
			w.Learn(rapid.Float64Range(0.01, 0.99).Draw(t, "said"), gap, rapid.Bool().Draw(t, "changed"), n,
				rapid.Float64Range(0, 1).Draw(t, "part"))
			require.GreaterOrEqual(t, w.theta[awake], 0.)
			require.GreaterOrEqual(t, w.applied[awake], 0.)
		}
		if rapid.Bool().Draw(t, "forge") {
			w.applied[awake] = rapid.Float64Range(-mostTheta, mostTheta).Draw(t, "applied")
		} else {
			require.Less(t, w.Times(1, 0), 2.)
		}
		short := math.Pow(10, rapid.Float64Range(-100, 100).Draw(t, "log gap"))
		less, more := w.Times(short, 0), w.Times(short*rapid.Float64Range(1, 100).Draw(t, "longer"), 0)
		require.GreaterOrEqual(t, less, 1.)
		require.LessOrEqual(t, less, more*(1+1e-9))
		require.LessOrEqual(t, more, math.Exp(2)*(1+1e-9))
	})
}

// A single poll is chance, and not applied. More of the kind are.
func TestWakingDoubts(t *testing.T) {
	t.Parallel()
	w := newWaking()
	w.Learn(0.3, 4, true, 100, 1)
	require.Positive(t, w.theta[awake])
	require.Equal(t, 1., w.Times(4, 0))
	for range 5 {
		w.Learn(0.3, 4, true, 100, 1)
	}
	require.Greater(t, w.Times(4, 0), 1.1)
}

// Polls after little more than a cycle find more than one expects by far, as in the second cycle of many
// webs: they would be explained by any power, and the one that is applied is bounded.
func TestWakingPower(t *testing.T) {
	t.Parallel()
	w := newWaking()
	for k := range 400 {
		w.Learn(0.02, 0.1, k%50 == 0, 100, 1)
		w.Learn(0.02, 1.5, true, 100, 1)
	}
	require.Greater(t, w.theta[awake], 2.)
	require.InEpsilon(t, math.Pow(1+1.5*1.5, 1.5/2), w.Times(1.5, 0), 1e-6)
}

// What is learnt is applied at the end of a block, by a part of the distance. What is near certain
// is kept apart from it as far as one poll can tell.
func TestWakingIsAppliedInBlocks(t *testing.T) {
	t.Parallel()
	w := newWaking()
	for range 20 {
		w.Learn(0.1, 5, true, 20, 1)
	}
	const pages, block = 10 * blocks, 11
	for k := range 3 * block {
		before := w.applied[awake]
		w.Learn(0.1, 5, true, pages, 0.25)
		target := min(mostPower, w.theta[awake]-doubt*math.Sqrt(w.covariance[awake][awake]))
		if k%block > 0 {
			target = before
		}
		require.InDelta(t, before+(target-before)/4, w.applied[awake], 1e-12)
	}
	certain, nearly := newWaking(), newWaking()
	certain.Learn(1, 5, false, pages, 1)
	nearly.Learn(1-1e-6, 5, false, pages, 1)
	require.Equal(t, nearly, certain)
}

// A wait of longer than 55 cycles teaches no more than one of 55.
func TestLongestWait(t *testing.T) {
	t.Parallel()
	long, longest := newWaking(), newWaking()
	long.Learn(0.1, 55, true, 100, 1)
	longest.Learn(0.1, 1e300, true, 100, 1)
	require.Equal(t, long, longest)
	shorter := newWaking()
	shorter.Learn(0.1, 50, true, 100, 1)
	require.NotEqual(t, shorter, longest)
}
