package packing

import (
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// table is the state of packing into bins of any kind.
type table struct {
	in      *Problem
	room    []int64
	open    []bool  // holds an item
	stamp   []int32 // stamp[b] == i+1: bin b holds an enemy of item i; nil without conflicts
	bin     []int   // −1 for items not packed
	started int     // bins below were open once; the search stops here in a uniform problem
}

func (in *Problem) newTable() *table {
	in.Conflicts.index(len(in.Weights), nil)
	bins := in.Bins()
	t := &table{in: in, open: make([]bool, bins), bin: slices.Repeat([]int{-1}, len(in.Weights))}
	if in.Uniform {
		t.room = slices.Repeat(in.Capacities, bins)
	} else {
		t.room = slices.Clone(in.Capacities)
	}
	if in.Conflicts != nil {
		t.stamp = make([]int32, bins)
	}
	for i, b := range in.Pins {
		if b >= 0 {
			t.put(i, b)
		}
	}
	return t
}

func (t *table) put(item, bin int) {
	t.bin[item] = bin
	t.room[bin] -= t.in.Weights[item]
	t.open[bin] = true
	t.started = max(t.started, bin+1)
}

// enemies returns the number of an item's conflicts.
func (t *table) enemies(item int) int { return len(t.in.Conflicts.Of(int32(item))) }

// mark prepares the answers of fits for an item.
func (t *table) mark(item int) {
	for _, j := range t.in.Conflicts.Of(int32(item)) {
		if b := t.bin[j]; b >= 0 {
			t.stamp[b] = int32(item + 1)
		}
	}
}

// fits reports whether the marked item may go to the bin.
func (t *table) fits(item, bin int) bool {
	return t.room[bin] >= t.in.Weights[item] && (t.stamp == nil || t.stamp[bin] != int32(item+1))
}

// clash reports whether an enemy of the item is in the bin.
func (t *table) clash(item, bin int) bool { return t.in.clash(t.bin, item, bin) }

// clash reports whether an enemy of the item is in the bin, where at has the bin of each.
func (in *Problem) clash(at []int, item, bin int) bool {
	for _, j := range in.Conflicts.Of(int32(item)) {
		if at[j] == bin {
			return true
		}
	}
	return false
}

// scan scans all bins for every item, in the given order or, if that is nil, their own. If the watch
// ends, it leaves an item over. Conflicts need this; without them place is faster.
func (in *Problem) scan(order []Ranked, h Heuristic, watch *work.Watch) (packed Packing, left int) {
	t := in.newTable()
	for i := range in.Weights {
		if order != nil {
			i = int(order[i].Item)
		}
		if t.bin[i] >= 0 {
			continue
		}
		// A uniform problem has at most one bin beyond those started that could
		// be any different from them.
		end := min(t.started+1, len(t.room))
		if !in.Uniform {
			end = len(t.room)
		}
		t.mark(i)
		if watch.Spend(2*end + t.enemies(i)) {
			return Packing{}, i
		}
		best := -1
		for b := range end {
			if t.fits(i, b) && (best < 0 || t.better(h, b, best)) {
				best = b
			}
		}
		if best < 0 {
			return Packing{}, i
		}
		t.put(i, best)
	}
	return newPacking(t.bin, len(t.room)), -1
}

// better reports whether bin a, the later one, suits the h better than b. Bins
// that hold something come before empty ones, except under FirstFit.
func (t *table) better(h Heuristic, a, b int) bool {
	switch {
	case h == FirstFit:
		return false
	case t.open[a] != t.open[b]:
		return t.open[a]
	case h == BestFit:
		return t.room[a] < t.room[b]
	default:
		return t.room[a] > t.room[b]
	}
}
