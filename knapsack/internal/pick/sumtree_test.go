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
		require.Equal(t, fresh, SumTreeOf(x, n))
		for i, v := range x {
			require.Equal(t, v, tree.Get(i))
		}
		size := 1
		for size < n {
			size *= 2
		}
		require.Equal(t, SumTreeOf(x, 2*size), SumTreeOf(x, size).Doubled())
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

// fixed is a source of one number.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }

// Draw returns the number under a point of the total.
func TestDraw(t *testing.T) {
	t.Parallel()
	at := func(u float64) fixed { return fixed(uint64(u*(1<<53)) << 11) }
	tree := NewSumTree(4)
	_, ok := tree.Draw(at(0))
	require.False(t, ok)
	for i, x := range []float64{1, 0, 2, 5} {
		tree.Set(i, x)
	}
	for u, want := range map[float64]int{0: 0, 0.12: 0, 0.125: 2, 0.3: 2, 0.374: 2, 0.375: 3, 0.999: 3, 1 - 0x1p-53: 3} {
		require.InDelta(t, u, Float64(at(u)), 1e-15)
		i, ok := tree.Draw(at(u))
		require.True(t, ok)
		require.Equal(t, want, i, "at %v", u)
	}
	require.Equal(t, 1-0x1p-53, Float64(fixed(1<<64-1)))
	tree.Set(0, 0)
	tree.Set(3, 0)
	for _, u := range []float64{0, 0.5, 1 - 0x1p-53} { // what is 0 is not drawn, at no end
		i, ok := tree.Draw(at(u))
		require.True(t, ok)
		require.Equal(t, 2, i)
	}
}
