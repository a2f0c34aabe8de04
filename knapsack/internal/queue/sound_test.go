package queue

import (
	"math"

	"github.com/stretchr/testify/require"
)

// sound fails unless each waiting page is in one place that knows of it, trees and heaps are in order,
// and no set is due later than the first of its pages was when last looked at.
func sound(t require.TestingT, q *Queue) {
	require.Equal(t, more{best: None, ready: math.Inf(-1), open: true}, *plain, "nobody writes to what sets share")
	require.True(t, q.must == nil || len(q.must) == len(q.place))
	seen := make([]bool, len(q.place))
	visit := func(slot, s uint32) {
		require.False(t, seen[slot], "slot %d is in two places", slot)
		seen[slot] = true
		require.Equal(t, s, q.setOf(slot))
	}
	lots := make([]bool, q.lots.Len())
	for _, at := range q.free {
		require.False(t, lots[at], "lot %d is free twice", at)
		require.Equal(t, math.Inf(1), q.lots.At(at).due)
		lots[at] = true
	}
	if q.sets.Len() == 1 {
		best, first := uint32(None), math.Inf(1)
		for _, at := range q.sets.At(0).lots {
			if due := q.lots.At(at).due; due < first {
				best, first = at, due
			}
		}
		got, due := q.firstOfAll()
		require.Equal(t, best, got, "of equals the one that comes first in the set")
		require.Equal(t, first, due)
	}
	for s := range uint32(q.sets.Len()) {
		set := q.sets.At(s)
		count := uint32(0)
		require.True(t, set.list == None || !set.tree)
		for slot := set.list; slot != None; slot = q.nodes[slot].right {
			require.Positive(t, math.Float32frombits(q.nodes[slot].left))
			require.Equal(t, inLot, q.place[slot])
			visit(slot, s)
			count++
		}
		for i, at := range set.lots {
			require.False(t, lots[at], "lot %d is in two places", at)
			lots[at] = true
			l := q.lots.At(at)
			require.GreaterOrEqual(t, l.last, l.base)
			require.True(t, i == 0 || q.lots.At(set.lots[i-1]).base <= l.base)
			if l.root == None {
				require.Equal(t, math.Inf(1), l.due)
				continue
			}
			require.Equal(t, inLot|at, q.place[l.root])
			require.True(t, l.shown || !l.alike || l.due < math.MaxFloat64, "lot %d is hidden by no page", i)
			first := uint32(None)
			for tree, k := range q.trees(l) {
				require.Equal(t, inLot|at, q.place[tree])
				if first == None || q.before(tree, first) {
					first = tree
				}
				q.walk(tree, func(slot uint32) {
					visit(slot, s)
					if k >= 0 {
						require.Equal(t, k, shelfOf(q.nodes[slot].x))
					}
					count++
					for _, child := range [...]uint32{q.nodes[slot].left, q.nodes[slot].right} {
						if child != None {
							require.Equal(t, inTree|slot, q.place[child])
							require.True(t, q.before(slot, child))
						}
					}
				})
			}
			require.Equal(t, first, l.root)
			if set.open {
				require.LessOrEqual(t, q.due.key(s), l.due, "lot %d of set %d", i, s)
			}
		}
		require.Equal(t, count, set.count)
		if set.aside != nil {
			require.True(t, set.aside.held.Ordered() && set.aside.deadlines.Ordered())
			for i, slot := range set.aside.held.Slot {
				require.Equal(t, inHeld|uint32(i), q.place[slot])
				visit(slot, s)
			}
			for i, slot := range set.aside.deadlines.Slot {
				require.Equal(t, uint32(i), q.must[slot])
			}
		}
	}
	require.NotContains(t, lots, false, "a lot is lost")
	for i, h := range q.hot {
		require.Equal(t, inHot|uint32(i), q.place[h.slot])
		visit(h.slot, q.setOf(h.slot))
	}
	for slot := range uint32(len(q.place)) {
		require.Equal(t, seen[slot], q.Waits(slot), "slot %d", slot)
	}
	require.NoError(t, q.check(q.place))
}
