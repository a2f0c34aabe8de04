package binpack

import (
	"errors"
	"fmt"

	"golang.org/x/exp/constraints"
)

// A Weight is the type of weights and capacities: any integer or float.
type Weight interface {
	constraints.Integer | constraints.Float
}

// Errors of this package, which wrap them with the index and the value.
var (
	// ErrNoItems reports a problem without items.
	ErrNoItems = errors.New("binpack: no items")
	// ErrWeight reports a weight that is negative, NaN, infinite or too large to add up.
	ErrWeight = errors.New("binpack: bad weight")
	// ErrCapacity reports a capacity that is not positive and finite.
	ErrCapacity = errors.New("binpack: bad capacity")
	// ErrTooLarge reports an item larger than every bin.
	ErrTooLarge = errors.New("binpack: item larger than every bin")
	// ErrConstraint reports a conflict or a pin that does not make sense.
	ErrConstraint = errors.New("binpack: bad conflict or pin")
	// ErrNoRoom reports that an item was left over: the bins were full, or the
	// conflicts and pins left no place (which, except from Solve with Proved set,
	// does not mean that there is none).
	ErrNoRoom = errors.New("binpack: no room")
	// ErrInvalid reports a packing or certificate that does not hold.
	ErrInvalid = errors.New("binpack: does not hold")
	// ErrLimit reports a check that was given up because it takes too long.
	ErrLimit = errors.New("binpack: too much work")
	// ErrParameter reports a parameter outside its range.
	ErrParameter = errors.New("binpack: bad parameter")
)

// A Problem is a set of items to pack into few bins.
//
// With Capacities nil there are as many bins as needed, all of Capacity. With
// Capacities set there are just these bins, and Capacity is not used.
type Problem[W Weight] struct {
	Weights    []W
	Capacity   W
	Capacities []W
	Conflicts  [][2]int // pairs of items that must not share a bin
	Pins       []Pin    // items that must be in a given bin
}

// A Pin says that an item must be in a bin. Without Capacities the bins are
// numbered 0 to len(Weights)−1.
type Pin struct{ Item, Bin int }

// A Packing says where each item is.
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

// Loads returns the sum of the weights in each bin, from bin 0 to the last used
// one, added in the order of the items. O(n).
func Loads[W Weight](p Packing, weights []W) []W {
	last := -1
	for _, b := range p.Bin {
		last = max(last, b)
	}
	loads := make([]W, last+1)
	for i, b := range p.Bin {
		loads[b] += weights[i]
	}
	return loads
}

// instance is a Problem in units, checked.
type instance struct {
	units
	n        int
	uniform  bool      // any number of bins of capacity c[0]
	plain    bool      // uniform, without conflicts and pins
	conflict [][]int32 // neighbours of each item; nil without conflicts
	pin      []int     // bin of each pinned item, −1 for the others; nil without pins
}

// bins returns the most bins that a packing can use.
func (in *instance) bins() int {
	if in.uniform {
		return in.n
	}
	return len(in.c)
}

// capacity returns the capacity of a bin.
func (in *instance) capacity(bin int) int64 {
	if in.uniform {
		return in.c[0]
	}
	return in.c[bin]
}

// largest returns the largest capacity.
func (u *units) largest() (c, high int64) {
	for i := range u.c {
		c, high = max(c, u.c[i]), max(high, u.high[i])
	}
	return c, high
}

func newInstance[W Weight](p Problem[W]) (*instance, error) {
	in := &instance{n: len(p.Weights), uniform: p.Capacities == nil}
	if in.n == 0 {
		return nil, ErrNoItems
	}
	caps := p.Capacities
	if in.uniform {
		caps = []W{p.Capacity}
	} else if len(caps) == 0 {
		return nil, fmt.Errorf("%w: no bins", ErrCapacity)
	}
	var err error
	if in.units, err = toUnits(p.Weights, caps); err != nil {
		return nil, err
	}
	top, _ := in.largest()
	for i, w := range in.w {
		if w > top {
			return nil, fmt.Errorf("%w: item %d: weight %v", ErrTooLarge, i, p.Weights[i])
		}
	}
	if err := in.constrain(p.Conflicts, p.Pins); err != nil {
		return nil, err
	}
	in.plain = in.uniform && in.conflict == nil && in.pin == nil
	return in, nil
}

// constrain checks the conflicts and pins and takes them over.
func (in *instance) constrain(conflicts [][2]int, pins []Pin) error {
	for k, c := range conflicts {
		if c[0] < 0 || c[1] < 0 || c[0] >= in.n || c[1] >= in.n || c[0] == c[1] {
			return fmt.Errorf("%w: conflict %d: items %d and %d of %d", ErrConstraint, k, c[0], c[1], in.n)
		}
		if in.conflict == nil {
			in.conflict = make([][]int32, in.n)
		}
		in.conflict[c[0]] = append(in.conflict[c[0]], int32(c[1]))
		in.conflict[c[1]] = append(in.conflict[c[1]], int32(c[0]))
	}
	if len(pins) == 0 {
		return nil
	}
	in.pin = make([]int, in.n)
	for i := range in.pin {
		in.pin[i] = -1
	}
	free := make(map[int]int64)
	for k, p := range pins {
		if p.Item < 0 || p.Item >= in.n || p.Bin < 0 || p.Bin >= in.bins() {
			return fmt.Errorf("%w: pin %d: item %d of %d to bin %d of %d", ErrConstraint, k, p.Item, in.n, p.Bin, in.bins())
		}
		if old := in.pin[p.Item]; old >= 0 {
			return fmt.Errorf("%w: pin %d: item %d is pinned twice, to bins %d and %d", ErrConstraint, k, p.Item, old, p.Bin)
		}
		if _, ok := free[p.Bin]; !ok {
			free[p.Bin] = in.capacity(p.Bin)
		}
		if free[p.Bin] -= in.w[p.Item]; free[p.Bin] < 0 {
			return fmt.Errorf("%w: pin %d: the items pinned to bin %d overfill it", ErrConstraint, k, p.Bin)
		}
		in.pin[p.Item] = p.Bin
	}
	for k, c := range conflicts {
		if a := in.pin[c[0]]; a >= 0 && a == in.pin[c[1]] {
			return fmt.Errorf("%w: conflict %d: items %d and %d are pinned to the same bin %d", ErrConstraint, k, c[0], c[1], a)
		}
	}
	return nil
}

// packing counts the bins used.
func packing(bin []int, bins int) Packing {
	used := make([]bool, bins)
	n := 0
	for _, b := range bin {
		if !used[b] {
			used[b] = true
			n++
		}
	}
	return Packing{Bin: bin, Bins: n}
}
