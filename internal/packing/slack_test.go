package packing

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
)

// A step of Minimum Bin Slack passes over an item that is in conflict with the bin at once, however many
// conflicts the item has and however many items are in the bin.
func TestSlackPassesOverConflicts(t *testing.T) {
	t.Parallel()
	const apart, items = 300, 600
	w := make([]int64, items)
	var pairs [][2]int
	for i := range w {
		w[i] = int64(1 + i%3)
		for j := range min(i, apart) {
			if i < apart {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	in := plain(1000, w)
	in.Conflicts = NewConflicts(pairs)
	watch := work.NewWatch(context.Background())
	packed, left := in.minimumSlack(false, slackNodes, watch)
	require.Negative(t, left)
	require.Equal(t, apart, packed.Bins)
	require.Less(t, watch.Spent, apart*(2*items+2*slackSteps*slackNodes))
}
