package packing

// Conflicts has the items that must not share a bin with each item, in one slice without pointers:
// with a million items their lists would take a garbage collector tens of milliseconds.
type Conflicts struct {
	start []int32 // of each item's in items, and the end
	items []int32
}

// NewConflicts takes pairs of n items. Nil without any.
func NewConflicts(pairs [][2]int, n int) *Conflicts {
	if len(pairs) == 0 {
		return nil
	}
	c := &Conflicts{make([]int32, n+1), make([]int32, 2*len(pairs))}
	for _, p := range pairs {
		c.start[p[0]]++
		c.start[p[1]]++
	}
	at := int32(0)
	for i, k := range c.start {
		at += k
		c.start[i] = at
	}
	// Invariant: what follows start[i] in an item's part is filled; from the last pair to the first.
	for k := len(pairs) - 1; k >= 0; k-- {
		for side, i := range pairs[k] {
			c.start[i]--
			c.items[c.start[i]] = int32(pairs[k][1-side])
		}
	}
	return c
}

// Of returns the items in conflict with an item, in the order of the pairs.
func (c *Conflicts) Of(item int32) []int32 {
	if c == nil {
		return nil
	}
	return c.items[c.start[item]:c.start[item+1]]
}
