package linalg

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// twoMatrices is the elimination with the inverse in a matrix of its own.
func twoMatrices(a []float64, n int, least float64) ([]float64, bool) {
	a = slices.Clone(a)
	inv := make([]float64, n*n)
	for i := range n {
		inv[i*n+i] = 1
	}
	for col := range n {
		p := col
		for i := col + 1; i < n; i++ {
			if math.Abs(a[i*n+col]) > math.Abs(a[p*n+col]) {
				p = i
			}
		}
		if math.Abs(a[p*n+col]) < least {
			return nil, false
		}
		for j := range n {
			a[p*n+j], a[col*n+j] = a[col*n+j], a[p*n+j]
			inv[p*n+j], inv[col*n+j] = inv[col*n+j], inv[p*n+j]
		}
		f := 1 / a[col*n+col]
		for j := range n {
			a[col*n+j] *= f
			inv[col*n+j] *= f
		}
		for i := range n {
			if g := a[i*n+col]; i != col && g != 0 {
				for j := range n {
					a[i*n+j] -= g * a[col*n+j]
					inv[i*n+j] -= g * inv[col*n+j]
				}
			}
		}
	}
	return inv, true
}

// TestInvert requires the numbers of the textbook elimination to the bit (but for the
// signs of zeros), and of a well-conditioned matrix that its product with the inverse is
// the unit matrix.
func TestInvert(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		entry := rapid.OneOf(rapid.Just(0.), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{1, -1, 2}))
		a := rapid.SliceOfN(entry, n*n, n*n).Draw(t, "a")
		dominant := rapid.Bool().Draw(t, "dominant")
		if dominant {
			for i := range n {
				a[i*n+(i+1)%n] += 4 * float64(n) // far from singular, and every row is exchanged
			}
		}
		const least = 1e-9
		want, ok := twoMatrices(a, n, least)
		got := slices.Clone(a)
		require.Equal(t, ok, Invert(got, n, least, nil))
		if !ok {
			return
		}
		for i := range got {
			require.True(t, want[i] == got[i], "%v, want %v", got[i], want[i])
		}
		if !dominant {
			return
		}
		for i := range n {
			for j := range n {
				sum := 0.0
				for k := range n {
					sum += a[i*n+k] * got[k*n+j]
				}
				unit := 0.0
				if i == j {
					unit = 1
				}
				require.InDelta(t, unit, sum, 1e-13)
			}
		}
	})
}

func TestSingular(t *testing.T) {
	t.Parallel()
	require.False(t, Invert([]float64{1, 2, 2, 4}, 2, 1e-300, nil))
	require.False(t, Invert([]float64{1e-10}, 1, 1e-9, nil))
	require.True(t, Invert([]float64{1e-10}, 1, 1e-300, nil))
	require.False(t, Invert([]float64{math.NaN()}, 1, 1e-300, nil))
	require.True(t, Invert(nil, 0, 1, nil))
	require.True(t, Invert([]float64{0.25}, 1, 0.25, nil), "a pivot of the least magnitude")
}

// A pivot is charged its own row and those that it changes, and the work ends when it is told to.
func TestSpend(t *testing.T) {
	t.Parallel()
	var spent []int
	a := []float64{4, 1, 0, 1, 4, 0, 0, 0, 4} // two pivots have one other row to change, the last has none
	require.True(t, Invert(a, 3, 1e-9, func(steps int) bool { spent = append(spent, steps); return false }))
	require.Equal(t, []int{6, 6, 3}, spent)
	pivots := 0
	require.False(t, Invert([]float64{4, 1, 1, 4}, 2, 1e-9, func(int) bool { pivots++; return true }))
	require.Equal(t, 1, pivots)
}
