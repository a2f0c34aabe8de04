package work_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/internal/worktest"
)

// A watch asks its context once in an interval, and not again after the end.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx := worktest.NewCountdown(2)
	w := work.NewWatch(ctx)
	for i, want := range []bool{false, false, false, false, false, true, true} {
		require.Equal(t, want, w.Spend(work.Interval/2+i%2), fmt.Sprint(i))
		require.Equal(t, want, w.Over())
	}
	require.Equal(t, 1, ctx.After)
	require.Equal(t, work.Interval/2, w.Late)
	require.False(t, (*work.Watch)(nil).Spend(1<<40))
	require.False(t, (*work.Watch)(nil).Over())
}

// Chunks does all the work, in order, or leaves it when the watch ends.
func TestChunks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1 << 14, 100_000} {
		for _, looks := range []int{0, 2, 1000} {
			watch, next := work.NewWatch(worktest.NewCountdown(looks)), 0
			done := watch.Chunks(n, 7, func(from, to int) {
				require.Equal(t, next, from)
				require.Greater(t, to, from)
				next = to
			})
			require.Equal(t, done, next == n)
			require.Equal(t, done, 7*n <= (1+looks)*work.Interval, "%d items, %d looks", n, looks)
		}
	}
}

// Sorted is a stable sort, tells the watch its comparisons, and loses nothing when that ends.
func TestSorted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	lengths := []int{0, 1, 2, 1000, 1024, 1025, 5000, 65_536, 100_000}
	if testing.Short() {
		lengths = lengths[:7]
	}
	for _, n := range lengths {
		x := make([][2]int, n)
		for i := range x {
			x[i] = [2]int{rng.IntN(n/2 + 1), i}
		}
		byFirst := func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }
		want := slices.Clone(x)
		slices.SortStableFunc(want, byFirst)
		watch := work.NewWatch(context.Background())
		got, ok := work.Sorted(slices.Clone(x), byFirst, watch)
		require.True(t, ok)
		require.Equal(t, want, got)
		if n > 1024 {
			require.GreaterOrEqual(t, watch.Spent, work.Comparison*n*11)
		}
		for looks := range 30 {
			watch := work.NewWatch(worktest.NewCountdown(looks))
			got, ok := work.Sorted(slices.Clone(x), byFirst, watch)
			require.Equal(t, !watch.Over(), ok)
			require.Zero(t, watch.Late)
			if ok {
				break
			}
			slices.SortFunc(got, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
			require.Equal(t, x, got)
		}
	}
}
