package pick

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSumTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		tree, fresh := NewSumTree(n), NewSumTree(n)
		x := make([]float64, n)
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			x[i] = rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 10)).Draw(t, "x")
			tree.Set(i, x[i])
		}
		total := 0.0
		for i, v := range x {
			fresh.Set(i, v)
			total += v
		}
		require.Equal(t, fresh, tree, "the tree depends on its numbers only")
		require.InDelta(t, total, tree.Total(), 1e-12*total)
		src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
		for range 20 {
			i, ok := tree.Draw(src)
			require.Equal(t, total > 0, ok)
			if ok {
				require.Positive(t, x[i])
			}
		}
	})
}
