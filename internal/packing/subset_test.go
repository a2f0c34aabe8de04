package packing

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/subsetsum"
)

// The dynamic programme by itself, the approximation and the whole against the bit set of all sums.
func TestSubset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int64{3, 30, 1000}).Draw(t, "size")
		w := rapid.SliceOfN(rapid.Int64Range(0, size), 0, 12).Draw(t, "w")
		c := rapid.Int64Range(1, size*5).Draw(t, "c")
		want := subsetsum.Reachable(w, c).AtMost(c)
		sum := func(s Subset) (sum int64) {
			require.True(t, slices.IsSorted(s.Items))
			require.Len(t, slices.Compact(slices.Clone(s.Items)), len(s.Items))
			for _, i := range s.Items {
				sum += w[i]
			}
			require.LessOrEqual(t, sum, c)
			require.LessOrEqual(t, want, sum+s.Gap)
			require.Equal(t, s.Proved, s.Gap == 0)
			return sum
		}
		require.Equal(t, want, sum(MaxSubset(context.Background(), w, c)))
		s := newSubset(w, c)
		if !s.proved {
			require.True(t, s.balance(context.Background()))
			require.Equal(t, want, sum(s.result()))
		}
		require.GreaterOrEqual(t, float64(sum(ApproxSubset(w, c, .1))), .9*float64(want))
	})
}
