package binpack

import (
	"fmt"
	"maps"
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
)

// merged is items that share a bin.
type merged struct {
	weight, value int64
	parted        []int       // groups that must not share a bin with it
	holds         map[int]int // how many items it has of each cut with a penalty
}

// leaf checks that no set of groups that fits a bin has more than a bin's share of the value.
func (c *proofChecker) leaf(k int) error {
	n := &c.proof.Nodes[k]
	sum, err := c.total(k)
	if err != nil {
		return err
	}
	if err := c.chargeCells(k, len(c.weights)*(1+len(c.joined))); err != nil {
		return err
	}
	root := c.roots()
	var groups []merged
	at := make(map[int]int)
	for i, w := range c.weights {
		r := root[i]
		g, ok := at[r]
		if !ok {
			g = len(groups)
			at[r] = g
			groups = append(groups, merged{holds: make(map[int]int)})
		}
		groups[g].weight += w
		groups[g].value += n.Value[i]
	}
	for _, g := range groups {
		if g.weight > c.capacity {
			return nil // items that share a bin are too heavy for it
		}
	}
	if err := c.charge(k, len(c.parted)); err != nil {
		return err
	}
	for _, p := range c.parted {
		a, b := at[root[p[0]]], at[root[p[1]]]
		if a == b {
			return nil // two items are together and apart
		}
		groups[a].parted = append(groups[a].parted, b)
		groups[b].parted = append(groups[b].parted, a)
	}
	for cut := range n.Penalty {
		for _, i := range c.proof.Cuts[cut] {
			groups[at[root[i]]].holds[cut]++
		}
	}
	bins := int64(c.proof.Bins)
	share := (sum - 1) / bins
	if (sum-1)%bins < 0 {
		share-- // rounded down: bins·share < sum
	}
	s := leafSearch{groups: groups, capacity: c.capacity, window: c.window, penalty: n.Penalty, limit: share,
		held: make(map[int]int), steps: &c.steps}
	if s.tooLarge() {
		return fmt.Errorf("%w: node %d: a table of %d units for each of %d groups", ErrTooHard, k, c.capacity, len(groups))
	}
	if err := c.chargeCells(k, (len(groups)+1)*int(c.capacity+1)); err != nil {
		return err
	}
	s.prepare()
	switch more := s.more(len(s.order), c.capacity, 0); {
	case more:
		return fmt.Errorf("%w: node %d: a bin can take a value above %d", ErrInvalid, k, share)
	case c.steps < 0:
		return fmt.Errorf("%w: node %d", ErrTooHard, k)
	}
	return nil
}

// total returns the sum of the values minus the penalties. It checks that the sum of any subset of
// them fits 63 bits.
func (c *proofChecker) total(k int) (int64, error) {
	n := &c.proof.Nodes[k]
	if len(n.Value) != len(c.weights) {
		return 0, fmt.Errorf("%w: node %d: %d values for %d items", ErrInvalid, k, len(n.Value), len(c.weights))
	}
	sum, size := int64(0), int64(0)
	for i, u := range n.Value {
		if u > packing.MaxTotal/2-size || u < size-packing.MaxTotal/2 {
			return 0, fmt.Errorf("%w: node %d: item %d: value %d", ErrInvalid, k, i, u)
		}
		size += max(u, -u)
		sum += u
	}
	for _, cut := range slices.Sorted(maps.Keys(n.Penalty)) {
		v := n.Penalty[cut]
		if cut < 0 || cut >= len(c.proof.Cuts) || v < 0 || v > packing.MaxTotal/2-size {
			return 0, fmt.Errorf("%w: node %d: cut %d of %d: penalty %d", ErrInvalid, k, cut, len(c.proof.Cuts), v)
		}
		size += v
		sum -= v
	}
	return sum, nil
}

// roots returns for each item the item of the smallest number that it is joined to, or itself.
func (c *proofChecker) roots() []int {
	root := make([]int, len(c.weights))
	for i := range root {
		root[i] = i
	}
	for _, p := range c.joined {
		a, b := root[p[0]], root[p[1]]
		for i, r := range root {
			if r == max(a, b) {
				root[i] = min(a, b)
			}
		}
	}
	return root
}
