package packing

import "github.com/recrawl/recrawl/internal/work"

// Conflicts has the items that must not share a bin with each item, in one slice without pointers:
// with a million items their lists would take a garbage collector tens of milliseconds. It is built
// from pairs of items on first use.
type Conflicts struct {
	pairs [][2]int
	start []int32 // of each item's in items, and the end; nil before
	items []int32
}

// NewConflicts takes pairs of items. Nil without any.
func NewConflicts(pairs [][2]int) *Conflicts {
	if len(pairs) == 0 {
		return nil
	}
	return &Conflicts{pairs: pairs}
}

// index prepares Of for n items. It reports whether it came to the end before the watch did.
func (c *Conflicts) index(n int, watch *work.Watch) bool {
	if c == nil || c.start != nil {
		return true
	}
	start := make([]int32, n+1)
	if !watch.Chunks(len(c.pairs), 2, func(from, to int) {
		for _, p := range c.pairs[from:to] {
			start[p[0]]++
			start[p[1]]++
		}
	}) {
		return false
	}
	at := int32(0)
	for i, k := range start {
		at += k
		start[i] = at
	}
	items := make([]int32, 2*len(c.pairs))
	// Invariant: what follows start[i] in an item's part is filled; from the last pair to the first.
	if !watch.Chunks(len(c.pairs), 4, func(from, to int) {
		for k := len(c.pairs) - 1 - from; k >= len(c.pairs)-to; k-- {
			for side, i := range c.pairs[k] {
				start[i]--
				items[start[i]] = int32(c.pairs[k][1-side])
			}
		}
	}) {
		return false
	}
	c.start, c.items = start, items
	return true
}

// Of returns the items in conflict with an item, in the order of the pairs.
func (c *Conflicts) Of(item int32) []int32 {
	if c == nil {
		return nil
	}
	return c.items[c.start[item]:c.start[item+1]]
}
