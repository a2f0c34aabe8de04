package binpack

import (
	"fmt"
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
)

// CheckProof verifies a proof and returns the number of bins that it proves to be necessary, Bins +
// 1. It shares no code with the solver and computes in whole numbers only. It ignores the conflicts
// and pins of the problem. If capacities differ, it takes the largest for all bins.
//
// The error is [ErrInvalid] if the proof does not hold, with the node at fault, and [ErrTooHard] if
// the check takes too long.
//
// # Cost
//
// Time: O(n·C) a leaf, where C is the capacity in units, for a table that bounds a search. The
// search takes some steps per item for proofs by [Solve], and at most 10⁸. Each pair of items that
// are apart takes O(1) at every leaf below its decision, at most 2²⁶ in all. Each decision takes O(n) at
// every leaf below it. Tables and decisions together take at most 2³⁴ steps, a minute or two.
//
// Memory: O(n·C), for the table. The check gives up on a leaf with more than 2¹⁶ items, or below more
// than 2¹⁶ decisions.
func CheckProof[W Weight](p Problem[W], proof Proof) (int, error) {
	in, err := inUnits(p)
	if err != nil {
		return 0, err
	}
	c := proofChecker{weights: in.Weights, proof: proof, steps: proofSteps, pairs: proofPairs, cells: proofCells}
	capacities := in.Capacities
	if in.Low != nil {
		c.weights, capacities = in.Low, in.High
	}
	c.capacity = slices.Max(capacities)
	if err := c.prepare(); err != nil {
		return 0, err
	}
	if c.window < 0 {
		return proof.Bins + 1, nil // the sum of the weights is too large for the bins
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
	// proofParted is the most pairs of items that may be apart at once: some 200 MB. proofPairs is
	// the most pairs that all leaves together may list: some seconds. Proofs by Solve have few
	// pairs, because they are for items of many different weights. A forged proof may repeat a
	// decision for many items of one weight.
	proofParted, proofPairs = 1 << 22, 1 << 26
	// proofTable is the most entries of a table. An entry has 8 bytes, so that is 512 MiB.
	proofTable = 1 << 26
	// proofDepth is the most decisions above a leaf and the most groups of items in a leaf, because the
	// check recurs once for each. A forged proof with millions of them would overflow the stack. Proofs
	// by Solve are for up to 1100 items.
	proofDepth = 1 << 16
	// proofCells is the most entries of the tables of all leaves, and of items looked at for decisions.
	proofCells = 1 << 34
	// noValue is less than any value, even after the sum of all values is added to it.
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
	depth    int // of the present node
	steps    int
	pairs    int
	cells    int
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

// node checks the subtree of a node. Children come after their parents, so the recursion ends.
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
	if c.depth == proofDepth {
		return fmt.Errorf("%w: node %d: more than %d decisions above a node", ErrTooHard, k, proofDepth)
	}
	c.depth++
	c.joined = append(c.joined, n.Pair)
	if err := c.node(n.Together); err != nil {
		return err
	}
	c.joined = c.joined[:len(c.joined)-1]
	if err := c.chargeCells(k, 2*(len(c.weights)+len(c.joined))); err != nil {
		return err
	}
	before, first, second := len(c.parted), c.alike(a), c.alike(b)
	if len(first)*len(second) > proofParted-before {
		return fmt.Errorf("%w: node %d: more than %d pairs apart", ErrTooHard, k, proofParted)
	}
	if err := c.charge(k, len(first)*len(second)); err != nil {
		return err
	}
	for _, i := range first {
		for _, j := range second {
			if i != j {
				c.parted = append(c.parted, [2]int{i, j})
			}
		}
	}
	if err := c.node(n.Apart); err != nil {
		return err
	}
	c.parted = c.parted[:before]
	c.depth--
	return nil
}

// charge counts pairs of items that are apart: each once where it is listed, and once at every leaf
// below.
func (c *proofChecker) charge(k, pairs int) error {
	if c.pairs -= pairs; c.pairs < 0 {
		return fmt.Errorf("%w: node %d: pairs apart", ErrTooHard, k)
	}
	return nil
}

// chargeCells counts entries of tables, and items looked at for decisions.
func (c *proofChecker) chargeCells(k, cells int) error {
	if c.cells -= cells; c.cells < 0 {
		return fmt.Errorf("%w: node %d: tables and decisions", ErrTooHard, k)
	}
	return nil
}

// alike returns all items of the same weight as the given one that no decision joins to another. If
// the given item is joined, it returns only that item. Every decision is the same for all the items
// returned.
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
