package binpack

import (
	"fmt"
	"maps"
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
)

// CheckProof verifies a proof and returns the number of bins that it proves to be necessary,
// Bins + 1. It shares no code with the solver and computes in whole numbers only. Conflicts and
// pins of the problem are ignored; of different capacities the largest counts.
//
// [ErrInvalid] if the proof does not hold, with the node at fault; [ErrTooHard] if that takes too
// long.
//
// # Cost
//
// Time and memory: O(n·C) a leaf, where C is the capacity in units, for a table that bounds a
// search. The search takes some steps per item for proofs by [Solve], and at most 10⁸.
func CheckProof[W Weight](p Problem[W], proof Proof) (int, error) {
	in, err := inUnits(p)
	if err != nil {
		return 0, err
	}
	c := proofChecker{weights: in.Weights, proof: proof, steps: proofSteps}
	capacities := in.Capacities
	if in.Low != nil {
		c.weights, capacities = in.Low, in.High
	}
	c.capacity = slices.Max(capacities)
	if err := c.prepare(); err != nil {
		return 0, err
	}
	if c.window < 0 {
		return proof.Bins + 1, nil // the weights alone are too much
	}
	if err := c.node(0); err != nil {
		return 0, err
	}
	if k := slices.Index(c.seen, false); k >= 0 {
		return 0, fmt.Errorf("%w: node %d is not in the tree", ErrInvalid, k)
	}
	return proof.Bins + 1, nil
}

const (
	// proofSteps is the most steps of the searches below all leaves, some seconds.
	proofSteps = 1e8
	// proofTable is the most entries of a table, of 8 bytes: 512 MiB.
	proofTable = 1 << 26
	// noValue is less than any value, also with the sum of all values added.
	noValue = -packing.MaxTotal
)

// proofChecker walks through a proof. joined and parted are the decisions above the present node.
type proofChecker struct {
	weights  []int64
	capacity int64
	window   int64 // the waste of all bins
	proof    Proof
	seen     []bool
	joined   [][2]int
	parted   [][2]int
	steps    int
}

// prepare checks what does not depend on the place in the tree.
func (c *proofChecker) prepare() error {
	n, bins := len(c.weights), int64(c.proof.Bins)
	if c.proof.Bins <= 0 || len(c.proof.Nodes) == 0 {
		return fmt.Errorf("%w: %d bins, %d nodes", ErrInvalid, c.proof.Bins, len(c.proof.Nodes))
	}
	if c.capacity > packing.MaxTotal/bins {
		return fmt.Errorf("%w: %d bins of %d units", ErrTooHard, bins, c.capacity)
	}
	c.window = bins * c.capacity
	for _, w := range c.weights {
		c.window -= w
	}
	for k, t := range c.proof.Cuts {
		if slices.Min(t[:]) < 0 || slices.Max(t[:]) >= n || t[0] == t[1] || t[0] == t[2] || t[1] == t[2] {
			return fmt.Errorf("%w: cut %d: items %v of %d", ErrInvalid, k, t, n)
		}
	}
	c.seen = make([]bool, len(c.proof.Nodes))
	return nil
}

// node checks the subtree of a node. Children come after their parents, so that it ends.
func (c *proofChecker) node(k int) error {
	if c.seen[k] {
		return fmt.Errorf("%w: node %d has two parents", ErrInvalid, k)
	}
	c.seen[k] = true
	n := &c.proof.Nodes[k]
	if n.Value != nil {
		return c.leaf(k)
	}
	a, b := n.Pair[0], n.Pair[1]
	if min(a, b) < 0 || max(a, b) >= len(c.weights) || a == b {
		return fmt.Errorf("%w: node %d: items %d and %d of %d", ErrInvalid, k, a, b, len(c.weights))
	}
	for _, child := range [2]int{n.Together, n.Apart} {
		if child <= k || child >= len(c.seen) {
			return fmt.Errorf("%w: node %d: child %d", ErrInvalid, k, child)
		}
	}
	c.joined = append(c.joined, n.Pair)
	if err := c.node(n.Together); err != nil {
		return err
	}
	c.joined = c.joined[:len(c.joined)-1]
	before := len(c.parted)
	for _, i := range c.alike(a) {
		for _, j := range c.alike(b) {
			if i != j {
				c.parted = append(c.parted, [2]int{i, j})
			}
		}
	}
	if err := c.node(n.Apart); err != nil {
		return err
	}
	c.parted = c.parted[:before]
	return nil
}

// alike returns the items that no decision joins and that have the weight of the given one, or that
// one alone if it is joined. All decisions are the same for them.
func (c *proofChecker) alike(item int) []int {
	alone := make([]bool, len(c.weights))
	for i := range alone {
		alone[i] = true
	}
	for _, p := range c.joined {
		alone[p[0]], alone[p[1]] = false, false
	}
	if !alone[item] {
		return []int{item}
	}
	var items []int
	for i, w := range c.weights {
		if alone[i] && w == c.weights[item] {
			items = append(items, i)
		}
	}
	return items
}

// merged is items that share a bin.
type merged struct {
	weight, value int64
	parted        []int       // groups that must not be with it
	holds         map[int]int // how many items it has of each cut with a penalty
}

// leaf checks a leaf: that no set of groups has more than its share of the value.
func (c *proofChecker) leaf(k int) error {
	n := &c.proof.Nodes[k]
	sum, err := c.total(k)
	if err != nil {
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
	if !s.prepare() {
		return fmt.Errorf("%w: node %d: a table of %d units for each of %d groups", ErrTooHard, k, c.capacity, len(groups))
	}
	switch more := s.more(len(s.order), c.capacity, 0); {
	case more:
		return fmt.Errorf("%w: node %d: a bin can take a value above %d", ErrInvalid, k, share)
	case c.steps < 0:
		return fmt.Errorf("%w: node %d", ErrTooHard, k)
	}
	return nil
}

// total returns the sum of the values less the penalties. All sums of some of them fit 63 bits.
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

// roots returns for each item the smallest item that it is together with.
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

// leafSearch looks for a set of groups with more value than a limit and a load in the window. A
// table that ignores penalties and parted groups says what is out of reach.
type leafSearch struct {
	groups           []merged
	capacity, window int64
	penalty          map[int]int64
	limit            int64
	order            []int // simple groups first: the search begins at the end
	most             []int64
	held             map[int]int // items of each cut
	barred           []int       // parted groups taken
	steps            *int
}

// prepare fills the table: most[k·(C+1)+room] is the most value of the first k groups of the order
// that leaves at most the window of the room. It reports false if that is too large.
func (s *leafSearch) prepare() bool {
	if s.capacity >= proofTable/int64(len(s.groups)+1) {
		return false
	}
	s.barred = make([]int, len(s.groups))
	for _, simple := range [2]bool{true, false} {
		for g, x := range s.groups {
			if (len(x.parted) == 0 && len(x.holds) == 0) == simple {
				s.order = append(s.order, g)
			}
		}
	}
	width := s.capacity + 1
	s.most = make([]int64, int64(len(s.order)+1)*width)
	for room := s.window + 1; room < width; room++ {
		s.most[room] = noValue
	}
	for k, g := range s.order {
		x := &s.groups[g]
		before, after := s.most[int64(k)*width:int64(k+1)*width], s.most[int64(k+1)*width:int64(k+2)*width]
		for room := range after {
			after[room] = before[room]
			if rest := int64(room) - x.weight; rest >= 0 {
				after[room] = max(after[room], before[rest]+x.value)
			}
		}
	}
	return true
}

// more reports whether some of the first k groups of the order complete what was taken to more than
// the limit.
func (s *leafSearch) more(k int, room, value int64) bool {
	for ; k > 0; k-- {
		if value+s.most[int64(k)*(s.capacity+1)+room] <= s.limit {
			return false
		}
		g := s.order[k-1]
		x := &s.groups[g]
		if x.weight > room || s.barred[g] > 0 {
			continue
		}
		if *s.steps--; *s.steps < 0 {
			return false
		}
		gain := x.value
		for cut, n := range x.holds {
			if s.held[cut] < 2 && s.held[cut]+n >= 2 {
				gain -= s.penalty[cut]
			}
			s.held[cut] += n
		}
		for _, o := range x.parted {
			s.barred[o]++
		}
		found := s.more(k-1, room-x.weight, value+gain)
		for cut, n := range x.holds {
			s.held[cut] -= n
		}
		for _, o := range x.parted {
			s.barred[o]--
		}
		if found {
			return true
		}
	}
	return room <= s.window && value > s.limit
}
