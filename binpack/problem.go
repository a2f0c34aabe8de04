package binpack

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
	"github.com/recrawl/recrawl/internal/work"
	"golang.org/x/exp/constraints"
)

// A Weight is the type of weights and capacities: any integer or float.
//
// The package computes with whole units, so that a sum does not depend on its order. A unit depends
// on the type and on the numbers:
//
//   - Integers are counted in units of 1.
//   - Floats that stand for short decimals are counted as these decimals. So {.8, .1, .1} and ten
//     items of .1 fill 1 exactly, and 3*.1 counts as .3, although as binary fractions they are
//     more.
//   - Other floats are counted in a quantum, which is a power of two.
//
// # Guarantees
//
// No bin is ever overfilled, not even by the last bit of an exact sum. Where a quantum rounds,
// weights are rounded up and capacities down. A bin of k items may then be refused up to k+1 quanta
// before it is full. Bounds round the other way, so that they hold for the numbers given. Items
// that fit the bin that they are pinned to are never refused.
//
// # How it works
//
// The numbers of a problem stand for short decimals if all of these are true:
//
//   - Every weight and capacity is at most two units in the last place away from the float nearest
//     to a decimal.
//   - All these decimals have the same number of digits after the point, at most 22.
//   - The largest capacity has at most 12 digits in all: counted in units of the last digit, it is at
//     most 2^40, and less with more than two million items. For float32 the limit is 5 digits, or 6
//     if every number is the float32 nearest to its decimal.
//
// For other floats, the quantum is the largest power of two of which all weights and capacities are
// multiples, if the sums have room for it: n times the largest capacity, both rounded up to powers
// of two, must be at most 2^61 quanta. So some dozens of numbers of similar size are counted to
// their last bits. If there is no room, the quantum is 2^−40 of the largest capacity (rounded up to
// a power of two), and larger with more than two million items.
type Weight interface {
	constraints.Integer | constraints.Float
}

// A Problem is a set of items to pack into few bins.
//
// If Capacities is nil, there are as many bins as needed, each with the capacity Capacity. If
// Capacities is set, there are only these bins, and Capacity is not used.
type Problem[W Weight] struct {
	Weights    []W
	Capacity   W
	Capacities []W
	Conflicts  [][2]int // pairs of items that must not share a bin
	// Pins maps items that must be in a given bin to that bin. Without Capacities the bins are
	// numbered 0 to len(Weights)−1.
	Pins map[int]int
}

// capacity returns the capacity of a bin.
func (p *Problem[W]) capacity(bin int) W {
	if p.Capacities == nil {
		return p.Capacity
	}
	return p.Capacities[bin]
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
		return nil, fmt.Errorf("%w: no bins", ErrProblem)
	}
	u, err := toUnits(p.Weights, caps, true)
	if err != nil {
		return nil, err
	}
	in.Weights, in.Capacities = u.w, u.c
	if !u.exact {
		in.Low, in.High = u.low, u.high
		in.Holds = func(packed packing.Packing, watch *work.Watch) bool { return holds(p, Packing(packed), watch) }
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

// fitPinned looks at bins whose pinned items fit by their exact sum but not in units, and makes
// them fit in units. Such a bin is then full: only weights of 0 fit beside the pinned items.
func fitPinned[W Weight](in *packing.Problem, p Problem[W]) {
	if len(p.Pins) == 0 {
		return
	}
	in.Weights = slices.Clone(in.Weights) // if only capacities were rounded, Low is the same slice
	pinned := make(map[int][]int)
	for item, b := range p.Pins {
		if item >= 0 && item < len(p.Weights) && b >= 0 && b < in.Bins() { // constrain reports the others
			pinned[b] = append(pinned[b], item)
		}
	}
	for b, items := range pinned {
		over := -in.Capacity(b)
		for _, i := range items {
			over += in.Weights[i]
		}
		if over <= 0 || exceeds(reading{float: true}, p.Weights, items, p.capacity(b)) {
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

// exactSteps is what an item of an exact sum costs, in steps of a watch.
const exactSteps = 64

// holds reports whether no bin of a packing is overfilled by the exact sum of floats, unless the
// watch ends before that is known.
func holds[W Weight](p Problem[W], packed Packing, watch *work.Watch) bool {
	for b, items := range packed.Items() {
		if watch.Spend(exactSteps*len(items)) || exceeds(reading{float: true}, p.Weights, items, p.capacity(b)) {
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
