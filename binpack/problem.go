package binpack

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
	"golang.org/x/exp/constraints"
)

// A Weight is the type of weights and capacities: any integer or float.
//
// The package computes with whole units, so that a sum does not depend on its order. Integers
// are units of 1. Floats that stand for short decimals are packed exactly as these: {.8, .1, .1}
// fills 1, and so do ten times .1 and 3*.1, though as binary fractions they are more. They do if
// every weight and capacity of the problem is at most two units in the last place off the nearest
// float to a decimal, all with the same number of digits after the point, at most 22, and the
// largest capacity with at most 12 digits in all; a float32 may be off with at most 5 digits, and
// must be the nearest one with 6. Other floats are counted in a quantum, a power of two: the
// largest one of which all weights and capacities are multiples, if n times the largest capacity,
// both rounded up to powers of two, is at most 2^61 of it. So some dozens of numbers of like size are
// counted to their last bits. Otherwise the quantum is 2^−40 of the largest capacity (rounded up to
// a power of two), and larger with more than two million items; weights are rounded up and
// capacities down.
//
// Hence no bin is ever overfilled, not even by the last bit of an exact sum. The cost, where
// something is rounded, is that a bin of k items may be refused k+1 quanta before it is full.
// Bounds round the other way, so that they hold for the numbers given. Items that fit the bin that
// they are pinned to are never refused.
type Weight interface {
	constraints.Integer | constraints.Float
}

// A Problem is a set of items to pack into few bins.
//
// With Capacities nil there are as many bins as needed, all of Capacity. With Capacities set
// there are just these bins, and Capacity is not used.
type Problem[W Weight] struct {
	Weights    []W
	Capacity   W
	Capacities []W
	Conflicts  [][2]int // pairs of items that must not share a bin
	// Pins gives the bins of items that must be in a given one. Without Capacities the bins
	// are numbered 0 to len(Weights)−1.
	Pins map[int]int
}

// A Packing is the bin of each item.
type Packing struct {
	Bin  []int // Bin[i] is the bin of item i
	Bins int   // number of bins that hold an item
}

// Items returns the items of each bin, from bin 0 to the last used one. O(n).
func (p Packing) Items() [][]int {
	last := -1
	for _, b := range p.Bin {
		last = max(last, b)
	}
	items := make([][]int, last+1)
	for i, b := range p.Bin {
		items[b] = append(items[b], i)
	}
	return items
}

// inUnits checks a problem and returns it in units.
func inUnits[W Weight](p Problem[W]) (*packing.Problem, error) {
	in := &packing.Problem{Uniform: p.Capacities == nil}
	if len(p.Weights) == 0 {
		return nil, fmt.Errorf("%w: no items", ErrProblem)
	}
	caps := p.Capacities
	if in.Uniform {
		caps = []W{p.Capacity}
	} else if len(caps) == 0 {
		return nil, fmt.Errorf("%w: no bins", ErrCapacity)
	}
	u, err := toUnits(p.Weights, caps, true)
	if err != nil {
		return nil, err
	}
	in.Weights, in.Capacities = u.w, u.c
	if !u.exact {
		in.Low, in.High = u.low, u.high
		fitPinned(in, p)
	}
	top := slices.Max(u.c)
	for i, w := range u.w {
		if w > top {
			return nil, fmt.Errorf("%w: item %d: weight %v", ErrNoRoom, i, p.Weights[i])
		}
	}
	if err := constrain(in, p.Conflicts, p.Pins); err != nil {
		return nil, err
	}
	return in, nil
}

// fitPinned makes items that fit the bin that they are pinned to by their exact sum fit it in units. It
// is full then, so that nothing but weights of 0 fits beside them.
func fitPinned[W Weight](in *packing.Problem, p Problem[W]) {
	if len(p.Pins) == 0 {
		return
	}
	in.Weights = slices.Clone(in.Weights) // where capacities only were rounded they are Low, too
	pinned := make(map[int][]int)
	for item, b := range p.Pins {
		if item >= 0 && item < len(p.Weights) && b >= 0 && b < in.Bins() { // else constrain says so
			pinned[b] = append(pinned[b], item)
		}
	}
	for b, items := range pinned {
		over := -in.Capacity(b)
		for _, i := range items {
			over += in.Weights[i]
		}
		c := p.Capacity
		if !in.Uniform {
			c = p.Capacities[b]
		}
		if over <= 0 || exceeds(reading{float: true}, p.Weights, items, c) {
			continue
		}
		slices.Sort(items)
		for _, i := range items {
			less := min(over, in.Weights[i])
			in.Weights[i] -= less
			over -= less
		}
	}
}

// loose returns a problem that was rounded as it is rounded the other way: every packing of the
// numbers given is a packing of it, but not the reverse.
func loose(in *packing.Problem) *packing.Problem {
	other := *in
	other.Weights, other.Capacities, other.Low, other.High = in.Low, in.High, nil, nil
	return &other
}

// holds reports whether no bin of a packing is overfilled by the exact sum of floats, unless the
// context ends before that is known.
func holds[W Weight](ctx context.Context, p Problem[W], packed Packing) bool {
	for b, items := range packed.Items() {
		c := p.Capacity
		if p.Capacities != nil {
			c = p.Capacities[b]
		}
		if ctx.Err() != nil || exceeds(reading{float: true}, p.Weights, items, c) {
			return false
		}
	}
	return true
}

// constrain checks the conflicts and pins and takes them over.
func constrain(in *packing.Problem, conflicts [][2]int, pins map[int]int) error {
	n, bins := len(in.Weights), in.Bins()
	for k, c := range conflicts {
		if c[0] < 0 || c[1] < 0 || c[0] >= n || c[1] >= n || c[0] == c[1] {
			return fmt.Errorf("%w: conflict %d: items %d and %d of %d", ErrProblem, k, c[0], c[1], n)
		}
	}
	in.Conflicts = packing.NewConflicts(conflicts)
	if len(pins) == 0 {
		return nil
	}
	in.Pins = slices.Repeat([]int{-1}, n)
	last := 0
	for _, b := range pins {
		last = max(last, min(b, bins-1))
	}
	pin := func(items iter.Seq2[int, int]) error {
		used := make([]int64, last+1)
		for item, b := range items {
			if item < 0 || item >= n || b < 0 || b >= bins {
				return fmt.Errorf("%w: pin of item %d of %d to bin %d of %d", ErrProblem, item, n, b, bins)
			}
			if used[b] += in.Weights[item]; used[b] > in.Capacity(b) {
				return fmt.Errorf("%w: pin of item %d: the items pinned to bin %d overfill it", ErrProblem, item, b)
			}
			in.Pins[item] = b
		}
		return nil
	}
	if pin(maps.All(pins)) != nil { // once more, to name the first
		return pin(func(yield func(int, int) bool) {
			for _, item := range slices.Sorted(maps.Keys(pins)) {
				if !yield(item, pins[item]) {
					return
				}
			}
		})
	}
	for k, c := range conflicts {
		if a := in.Pins[c[0]]; a >= 0 && a == in.Pins[c[1]] {
			return fmt.Errorf("%w: conflict %d: items %d and %d are pinned to the same bin %d", ErrProblem, k, c[0], c[1], a)
		}
	}
	return nil
}
