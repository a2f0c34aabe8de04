package knapsack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// An edit that hardly seems one moves no due time of pages in no group, and of those in groups by what it is.
func TestPassingEdits(t *testing.T) {
	t.Parallel()
	const n = 60
	f := must(NewRateFilter(n, RateFilterConfig{}))
	group := must(f.AddGroup(GroupConfig{}))
	for page := range n / 2 {
		require.NoError(t, f.SetGroup(page, group))
	}
	seen, moved := map[uint32]int{}, map[uint32]int{}
	for k := range 40 * n {
		now := float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, k/n%6 == 0)) // all change in every sixth cycle
		if k < 3*n {
			continue
		}
		for _, g := range []uint32{queue.None, uint32(Slot(group))} {
			last := now - n/2
			m, edited := f.pulse(g, last)
			if !(edited > 0 && edited < passing) {
				continue
			}
			seen[g]++
			if (forQueue{f}).Multiplier(g, last) != m {
				moved[g]++
			}
		}
	}
	require.Positive(t, seen[queue.None])
	require.Zero(t, moved[queue.None])
	require.Equal(t, seen[uint32(Slot(group))], moved[uint32(Slot(group))])
	require.NotEmpty(t, moved)
}
