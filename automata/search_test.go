package automata

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSPLRule(t *testing.T) {
	t.Parallel()
	a := must(NewSPL(4))
	require.Equal(t, 0.5, a.Point())
	for _, x := range []float64{0.75, 1, 1} {
		a.Learn(true)
		require.Equal(t, x, a.Point())
	}
	for _, x := range []float64{0.75, 0.5, 0.25, 0, 0} {
		a.Learn(false)
		require.Equal(t, x, a.Point())
	}
	for _, bad := range [][2]float64{{-0.1, 0.8}, {1.1, 0.8}, {math.NaN(), 0.8}, {0.5, 0}, {0.5, 1}, {0.5, math.NaN()}} {
		_, err := a.Stationary(bad[0], bad[1])
		require.ErrorIs(t, err, ErrConfig)
	}
}

func TestSPLWithoutResolution(t *testing.T) {
	t.Parallel()
	_, err := NewSPL(0)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "resolution 0 ")
}

// A search that stands at an end is restored there.
func TestSearchRestoredAtItsEnds(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, maxStates} {
		for _, right := range []bool{false, true} {
			a, b := must(NewSPL(n)), new(SPL)
			a.state = 0
			if right {
				a.state = n
			}
			require.NoError(t, b.UnmarshalBinary(must(a.MarshalBinary())))
			require.Equal(t, a, b)
		}
	}
}

// TestSPLStationary compares the closed form with the chain of Learn itself, and
// checks that the mean tends to the target as N grows.
func TestSPLStationary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "N")
		target := rapid.Float64Range(0, 1).Draw(t, "target")
		correct := rapid.Float64Range(0.1, 0.9).Draw(t, "correct")
		a := must(NewSPL(n))
		chain := make([][]float64, n+1)
		for s := range chain {
			chain[s] = make([]float64, n+1)
			for _, right := range []bool{false, true} {
				a.state = s
				q := 1 - correct
				if right == (a.Point() < target) {
					q = correct
				}
				a.Learn(right)
				chain[s][a.state] += q
			}
		}
		require.InDeltaSlice(t, stationaryOf(chain), must(a.Stationary(target, correct)), 1e-9)
	})
	for _, n := range []int{10, 100, 1000} {
		a := must(NewSPL(n))
		mean := 0.0
		for s, p := range must(a.Stationary(0.3137, 0.7)) {
			mean += p * float64(s) / float64(n)
		}
		// The mass is symmetric about the middle of the two points around the
		// target, which is at most half a step from it, but for the ends.
		require.InDelta(t, 0.3137, mean, 0.55/float64(n))
	}
}

func TestHSSLRule(t *testing.T) {
	t.Parallel()
	a := must(NewHSSL(2))
	points := func() [3]float64 { l, m, r := a.Points(); return [3]float64{l, m, r} }
	const R, L = true, false
	for _, step := range []struct {
		answers [3]bool
		want    [3]float64
	}{
		{[3]bool{L, L, L}, [3]float64{0, 0.5, 1}},        // the root is its own parent
		{[3]bool{R, R, L}, [3]float64{0.5, 0.75, 1}},     // right child
		{[3]bool{R, L, R}, [3]float64{0.5, 0.625, 0.75}}, // left child
		{[3]bool{R, L, L}, [3]float64{0.5, 0.625, 0.75}}, // a leaf is its own child
		{[3]bool{L, R, L}, [3]float64{0.5, 0.625, 0.75}}, // either
		{[3]bool{R, R, R}, [3]float64{0.5, 0.75, 1}},     // parent
		{[3]bool{L, R, L}, [3]float64{0.75, 0.875, 1}},   // right child
		{[3]bool{L, L, R}, [3]float64{0.5, 0.75, 1}},     // parent
		{[3]bool{L, R, R}, [3]float64{0, 0.5, 1}},        // parent
		{[3]bool{R, L, R}, [3]float64{0, 0.25, 0.5}},     // left child
		{[3]bool{R, R, L}, [3]float64{0.25, 0.375, 0.5}}, // right child
		{[3]bool{L, L, L}, [3]float64{0, 0.25, 0.5}},     // parent
	} {
		a.Learn(step.answers[0], step.answers[1], step.answers[2])
		require.Equal(t, step.want, points())
		require.Equal(t, step.want[1], a.Point())
	}
}

// hsslChain is the Markov chain of the tree of the given depth.
func hsslChain(depth int, target, correct float64) [][]float64 {
	a := must(NewHSSL(depth))
	n := 1<<(depth+1) - 1
	chain := make([][]float64, n)
	for s := range chain {
		chain[s] = make([]float64, n)
		for bits := range 8 {
			a.node = uint64(s + 1)
			l, m, r := a.Points()
			q := 1.0
			var right [3]bool
			for k, x := range []float64{l, m, r} {
				right[k] = bits>>k&1 == 1
				if right[k] == (x < target) {
					q *= correct
				} else {
					q *= 1 - correct
				}
			}
			a.Learn(right[0], right[1], right[2])
			chain[s][a.node-1] += q
		}
	}
	return chain
}

// TestHSSLSettles checks the threshold of the golden ratio: above it, deeper trees
// bring the share of time in the leaf of the target, or next to it, not to nought;
// below it they do. The ratio of neighbouring levels on the path is p²/(1−p).
func TestHSSLSettles(t *testing.T) {
	t.Parallel()
	const target = 0.3137
	leafShare := func(depth int, correct float64) float64 {
		pi := stationaryOf(hsslChain(depth, target, correct))
		leaf := 1<<depth - 1 + int(target*float64(int(1)<<depth))
		return pi[leaf]
	}
	require.Greater(t, leafShare(6, 0.75), 0.4)
	require.Greater(t, leafShare(6, 0.75), 0.95*leafShare(4, 0.75))
	require.Less(t, leafShare(6, 0.55), 0.7*leafShare(4, 0.55))

	pi := stationaryOf(hsslChain(6, target, 0.7))
	node := 1 << 6
	node += int(target * float64(node))
	for k := node; k > 1; k /= 2 {
		require.InDelta(t, 0.7*0.7/0.3, pi[k-1]/pi[k/2-1], 1e-9, "node %d", k)
	}
}

// Searches that were not made by their functions panic with a message.
func TestSearchesOfZero(t *testing.T) {
	t.Parallel()
	const spl, hssl = "automata: an SPL that is a zero value: make it with NewSPL", "automata: an HSSL that is a zero value: make it with NewHSSL"
	require.PanicsWithValue(t, spl, func() { new(SPL).Point() })
	require.PanicsWithValue(t, spl, func() { new(SPL).Learn(true) })
	require.PanicsWithValue(t, spl, func() { _, _ = new(SPL).Stationary(0.5, 0.8) })
	require.PanicsWithValue(t, hssl, func() { new(HSSL).Point() })
	require.PanicsWithValue(t, hssl, func() { new(HSSL).Learn(true, true, true) })
}
