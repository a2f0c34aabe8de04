package solver

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Few sites to a client: bin packing finds the optimum that all plans have.
func TestPackBinsMatchesBruteForce(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(2, 3).Draw(t, "clients")
		sizes := rapid.SliceOfN(rapid.Float64Range(1, 1000), m+1, 8).Draw(t, "sizes")
		for z := range sizes {
			sizes[z] = float64(int(sizes[z]))
		}
		p := build(t, false, sizes, slices.Repeat([]float64{1}, m), nil)
		want := optimum(p)
		x := newTestSearch(outer, p)
		x.offer(LPT(p))
		x.raise(elementary(p))
		x.packBins(unlimited, nil)
		require.Equal(t, want, x.value)
		require.Equal(t, want, x.lower)
	})
}

// Two or three sites to a client on 30 to 80 clients are proved in less than the default steps.
func TestFewSitesPerClient(t *testing.T) {
	t.Parallel()
	count := 6
	if testing.Short() {
		count = 2
	}
	for i := range count {
		rng := rand.New(rand.NewPCG(uint64(i), 61))
		m := []int{30, 50, 80}[i%3]
		var sizes []float64
		for range m*2 + rng.IntN(m+1) {
			sizes = append(sizes, float64(1+rng.IntN(1000)))
		}
		p := build(t, false, sizes, slices.Repeat([]float64{1}, m), nil)
		o := Solve(context.Background(), p, rng, Config{Steps: 100_000_000})
		require.Equal(t, GapClosed, o.End, "%d sites on %d clients: %v to %v", p.N, m, o.Lower, p.Makespan(o.Plan))
	}
}

// 49 large sites of like size and a small one on 5 clients: some client has ten of the large ones.
// Neither the sum nor the number of sites says so, but the sizes of four times ten do.
func TestCrowdBound(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		sizes := []float64{100}
		for range 49 {
			sizes = append(sizes, float64(9000+rng.IntN(1000)))
		}
		p := build(t, false, sizes, slices.Repeat([]float64{1}, 5), nil)
		o := Solve(context.Background(), p, rng, Config{Steps: 1_000_000})
		require.Equal(t, GapClosed, o.End)
		b := newBounder(p)
		require.Greater(t, b.bound(elementary(p)), leastTime(leastTime(elementary(p), b.areaExcludes), b.countExcludes))
	}
}
