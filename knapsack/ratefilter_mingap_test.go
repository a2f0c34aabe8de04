package knapsack

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Where most pages are overdue at all times, groups are polled no sooner than their MinGap allows, Next
// gives the page that has been overdue for longest of those that may be polled, and the error of a vain
// Next says when the first of them may. All times are multiples of 1/4, so that sums are exact.
func TestMinGapWithOverduePages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{4, 30, 130}).Draw(t, "n")
		gaps := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 1, 4}), 1, 3).Draw(t, "gaps")
		f := must(NewRateFilter(n, RateFilterConfig{}))
		for _, gap := range gaps {
			must(f.AddGroup(GroupConfig{MinGap: gap}))
		}
		group, longest := make([]int, n), make([]float64, n)
		for p := range n {
			group[p] = rapid.IntRange(0, len(gaps)-1).Draw(t, "group")
			longest[p] = rapid.SampledFrom([]float64{0.25, 2, 20, math.Inf(1)}).Draw(t, "longest")
			require.NoError(t, f.SetGroup(p, group[p]))
			require.NoError(t, f.SetInterval(p, 0, longest[p]))
		}
		free := slices.Repeat([]float64{math.Inf(-1)}, len(gaps)) // when groups may be polled
		last := slices.Repeat([]float64{math.Inf(-1)}, n)         // answers
		flying := map[int]bool{}
		now := 0.0
		for range 6 * n {
			now += rapid.SampledFrom([]float64{0, 0.25, 0.5}).Draw(t, "dt")
			earliest, overdue := math.Inf(1), math.Inf(1)
			for p := range n {
				if flying[p] {
					continue
				}
				earliest = min(earliest, max(now, free[group[p]]))
				if due := last[p] + longest[p]; free[group[p]] <= now && due <= now && !math.IsInf(last[p], -1) {
					overdue = min(overdue, due)
				}
			}
			page, err := f.Next(now)
			if earliest > now {
				var none *NoPageError
				require.ErrorAs(t, err, &none)
				require.Equal(t, earliest, none.At)
			} else {
				require.NoError(t, err)
				require.False(t, flying[page])
				require.LessOrEqual(t, free[group[page]], now)
				if overdue <= now && !math.IsInf(last[page], -1) { // else it waits since the first Next
					require.Equal(t, overdue, last[page]+longest[page])
				}
				free[group[page]] = now + gaps[group[page]]
				flying[page] = true
			}
			if len(flying) > rapid.IntRange(0, 3).Draw(t, "in flight") {
				p := slices.Min(slices.Collect(maps.Keys(flying)))
				delete(flying, p)
				require.NoError(t, f.Observe(p, now, p%3 == 0))
				last[p] = now
			}
		}
	})
}
