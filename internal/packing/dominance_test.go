package packing

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Dropping what is dominated leaves the most value as it is.
func TestDominate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Int64Range(1, 60).Draw(t, "capacity")
		m := rapid.IntRange(1, 8).Draw(t, "kinds")
		k := knapsack{nodes: 1 << 20}
		for range m {
			w := rapid.Int64Range(1, c).Draw(t, "weight")
			k.w = append(k.w, w)
			k.value = append(k.value, rapid.Int64Range(1, 9).Draw(t, "value"))
			k.count = append(k.count, min(rapid.Int64Range(1, 4).Draw(t, "count"), c/w))
		}
		want := k.dense(c)
		k.dominate(c)
		require.Equal(t, want, k.dense(c))
	})
}

// Certificates of the bounds are checked for 50,000 items of different weight, most above half a bin.
func TestManyItemsChecked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	w := make([]int64, 50_000)
	for i := range w {
		w[i] = 1<<38 + rng.Int64N(3<<38)
	}
	in := &Problem{Weights: w, Capacities: []int64{9 << 37}, Uniform: true}
	b := in.Bounds()
	require.Greater(t, b.L2, b.L1)
	most, ok := in.MostValue(b.Value, b.Max)
	require.True(t, ok)
	require.Equal(t, b.Max, most)
}
