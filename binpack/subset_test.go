package binpack

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func bruteSubset(w []int64, c int64) int64 {
	best := int64(0)
	for set := range 1 << len(w) {
		sum := int64(0)
		for i := range w {
			if set>>i&1 == 1 {
				sum += w[i]
			}
		}
		if sum <= c {
			best = max(best, sum)
		}
	}
	return best
}

func checkSubset[W Weight](t require.TestingT, weights []W, c W, s Subset[W]) {
	require.True(t, slices.IsSorted(s.Items))
	require.Len(t, slices.Compact(slices.Clone(s.Items)), len(s.Items))
	var kept []W
	for _, w := range weights {
		if w <= c {
			kept = append(kept, w)
		}
	}
	require.False(t, exceeds(read(kept, []W{c}), weights, s.Items, c))
	var sum W
	for _, i := range s.Items {
		sum += weights[i]
	}
	require.Equal(t, sum, s.Sum)
}

func subsetProperty(t *rapid.T) {
	size := rapid.SampledFrom([]int64{3, 30, 1000, 1 << 40}).Draw(t, "size")
	w := rapid.SliceOfN(rapid.Int64Range(0, size), 0, 12).Draw(t, "w")
	c := rapid.Int64Range(1, max(size, 1)*5).Draw(t, "c")
	want := bruteSubset(w, c)
	got, err := MaxSubset(context.Background(), w, c)
	require.NoError(t, err)
	checkSubset(t, w, c, got)
	require.True(t, got.Proved)
	require.Equal(t, want, got.Sum)

	for _, epsilon := range []float64{.5, .1, .02} {
		a, err := ApproxSubset(w, c, epsilon)
		require.NoError(t, err)
		checkSubset(t, w, c, a)
		require.GreaterOrEqual(t, float64(a.Sum), (1-epsilon)*float64(want))
		if a.Proved {
			require.Equal(t, want, a.Sum)
		}
	}
}

func TestSubsetProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, subsetProperty)
}

func FuzzSubset(f *testing.F) { f.Fuzz(rapid.MakeFuzz(subsetProperty)) }

func TestSubsetBadInput(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, w := range []float64{math.NaN(), math.Inf(1), -1} {
		_, err := MaxSubset(ctx, []float64{1, w}, 1)
		requireConfig(t, err, "weight")
	}
	for _, c := range []float64{math.NaN(), math.Inf(1), -1, 0} {
		_, err := MaxSubset(ctx, []float64{1}, c)
		requireConfig(t, err, "capacity")
	}
	for _, epsilon := range []float64{0, -1, 1, math.NaN(), 1e-9} {
		_, err := ApproxSubset([]int{1}, 1, epsilon)
		require.ErrorIs(t, err, ErrConfig)
	}
	s, err := MaxSubset(ctx, nil, 1)
	require.NoError(t, err)
	require.Empty(t, s.Items)
	near, err := MaxSubset(ctx, []float64{1 + 0x1p-24, .3}, 1)
	require.NoError(t, err)
	require.Equal(t, []int{1}, near.Items, "what is just above the capacity, and no decimal, does not fit")
	s, err = MaxSubset(ctx, []int{5, 9}, 4)
	require.NoError(t, err)
	require.Empty(t, s.Items)
	require.True(t, s.Proved)
}

// More than 44 numbers that need the dynamic programme: none but a multiple of 3
// plus the odd ones out, and no core hits a capacity that cannot be filled.
func TestSubsetNotFillable(t *testing.T) {
	t.Parallel()
	w := slices.Repeat([]int{300}, 60)
	w = append(w, 301)
	got, err := MaxSubset(context.Background(), w, 1000)
	require.NoError(t, err)
	require.True(t, got.Proved)
	require.Equal(t, 901, got.Sum)
}

// What cannot be proved says so, and its gap holds.
func TestSubsetUnproved(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("searches cores of 44 items")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	w := make([]int64, 46)
	for i := range w {
		w[i] = 3 * rng.Int64N(1<<55)
	}
	w[0]++ // so that there is no common divisor
	got, err := MaxSubset(context.Background(), w, 3<<58+2)
	require.NoError(t, err)
	checkSubset(t, w, 3<<58+2, got)
	require.False(t, got.Proved)
	require.Equal(t, float64(3<<58+2-got.Sum), got.Gap)
	require.Less(t, got.Gap, 1e-9*float64(int64(3<<58)))
}

func TestSubsetDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := slices.Repeat([]int{300}, 60)
	w = append(w, 301)
	got, err := MaxSubset(ctx, w, 1000)
	require.NoError(t, err)
	checkSubset(t, w, 1000, got)
	require.GreaterOrEqual(t, got.Sum, 900)
}

// subsetCases are the sizes that are promised to be quick.
func subsetCases() map[string]struct {
	w []int64
	c int64
} {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, f func() int64) (w []int64, total int64) {
		for range n {
			w = append(w, f())
			total += w[len(w)-1]
		}
		return w, total
	}
	type c = struct {
		w []int64
		c int64
	}
	cases := map[string]c{}
	w, total := draw(10_000, func() int64 { return 1 + rng.Int64N(1_000_000) })
	cases["n=10000,w<1e6,half"] = c{w, total / 2}
	cases["n=10000,w<1e6,c=1e7"] = c{w, 10_000_000}
	w, total = draw(60, func() int64 { return 1 + rng.Int64N(1<<40) })
	cases["n=60,40bit"] = c{w, total / 2}
	// Site weights as they occur: pages·x in sixteenths, lognormal numbers of pages.
	w, total = draw(500, func() int64 { return 1 + int64(16*100*.25*math.Exp(rng.NormFloat64())) })
	cases["n=500,sites"] = c{w, total / 10 * 9}
	w, total = draw(500, func() int64 { return int64(1e10 * math.Exp(rng.NormFloat64())) })
	cases["n=500,lognormal reals"] = c{w, total / 10 * 9}
	w, total = draw(60, func() int64 { return 2 * (1 + rng.Int64N(10_000)) })
	w[0] = 20_001
	cases["n=60,never filled"] = c{w, total/4*2 + 1}
	return cases
}

func TestSubsetCases(t *testing.T) {
	t.Parallel()
	for name, c := range subsetCases() {
		if testing.Short() && name == "n=60,40bit" {
			continue
		}
		got, err := MaxSubset(context.Background(), c.w, c.c)
		require.NoError(t, err)
		checkSubset(t, c.w, c.c, got)
		require.True(t, got.Proved, name)
	}
}

func BenchmarkSubset(b *testing.B) {
	for name, c := range subsetCases() {
		b.Run(name, func(b *testing.B) {
			var s Subset[int64]
			for b.Loop() {
				s, _ = MaxSubset(context.Background(), c.w, c.c)
			}
			b.ReportMetric(s.Gap, "gap")
		})
	}
	for _, n := range []int{1000, 10_000} {
		rng := rand.New(rand.NewPCG(3, 4))
		w := make([]float64, n)
		for i := range w {
			w[i] = rng.ExpFloat64()
		}
		b.Run(fmt.Sprintf("approx/n=%d,1%%", n), func(b *testing.B) {
			for b.Loop() {
				_, _ = ApproxSubset(w, float64(n)/2, .01)
			}
		})
	}
}

// A few floats of like size are not rounded, so that what is promised holds for their exact sums.
func TestSubsetOfFloats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		divisor := rapid.SampledFrom([]float64{3, 7, 11}).Draw(t, "divisor")
		var w []float64
		for _, k := range rapid.SliceOfN(rapid.IntRange(1, 9), 1, 8).Draw(t, "k") {
			w = append(w, float64(k)/divisor)
		}
		c := float64(rapid.IntRange(1, 20).Draw(t, "c")) / divisor
		one := []float64{c}
		var want *big.Float
		for set := range 1 << len(w) {
			sum := new(big.Float).SetPrec(2200)
			var items []int
			for i := range w {
				if set>>i&1 == 1 {
					items = append(items, i)
					sum.Add(sum, big.NewFloat(w[i]))
				}
			}
			if !exceeds(read(w, one), w, items, c) && (want == nil || sum.Cmp(want) > 0) {
				want = sum
			}
		}
		most, _ := want.Float64()
		got, err := MaxSubset(context.Background(), w, c)
		require.NoError(t, err)
		require.True(t, got.Proved)
		require.InDelta(t, most, got.Sum, 1e-14*most)
		a, err := ApproxSubset(w, c, .01)
		require.NoError(t, err)
		require.GreaterOrEqual(t, a.Sum, .99*most)
	})
}

// A sum is the largest if the next multiple of all weights' common divisor does not fit: a subset that the
// scheme for a given ε finds, too.
func TestSubsetOfMultiples(t *testing.T) {
	t.Parallel()
	for capacity, want := range map[int]int{15: 12, 12: 12, 11: 8} {
		s, err := ApproxSubset([]int{4, 4, 4, 8}, capacity, .5)
		require.NoError(t, err)
		require.Equal(t, want, s.Sum)
		require.True(t, s.Proved)
		require.Zero(t, s.Gap)
	}
	s, err := ApproxSubset([]int{4, 4, 4, 9}, 15, .5)
	require.NoError(t, err)
	require.False(t, s.Proved, "%v", s)
}
