// Package packing solves bin packing and subset sum problems in whole units: by
// heuristics, bounds with certificates, and an exact search. It checks no input: the
// packages that use it do, and turn their own weights into units.
//
// Sources are named with each algorithm.
package packing

import (
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// MaxTotal bounds the sum of the weights of a problem and of the values of a
// certificate, so that no sum overflows.
const MaxTotal = 1 << 62

// A Problem is a set of items to pack into few bins.
//
// Weights are at least 0 and at most the largest capacity, and their sum is at most
// [MaxTotal]. Capacities are positive.
type Problem struct {
	Weights    []int64
	Capacities []int64 // of each bin; with Uniform only one, of any number of bins
	Uniform    bool
	// Low and High are set where units are rounded, weights up and capacities down: they
	// are rounded the other way, for bounds that hold for the numbers before rounding.
	Low, High []int64
	// Holds reports whether a packing of the weights rounded down, into capacities rounded up, holds
	// for the numbers before rounding. It may say no once the watch ends. Set where units are rounded.
	Holds     func(p Packing, watch *work.Watch) bool
	Conflicts *Conflicts // nil without any
	Pins      []int      // the bin of each item that is pinned, −1 for the others, if there are any
}

// exact reports whether nothing was rounded.
func (in *Problem) exact() bool { return in.Low == nil }

// low returns the weights for bounds.
func (in *Problem) low() []int64 {
	if in.exact() {
		return in.Weights
	}
	return in.Low
}

// high returns the capacities for bounds.
func (in *Problem) high() []int64 {
	if in.exact() {
		return in.Capacities
	}
	return in.High
}

// Loose returns a rounded problem as it is when rounded the other way. Every packing of the numbers
// given is a packing of the loose problem, but not the reverse.
func (in *Problem) Loose() *Problem {
	other := *in
	other.Weights, other.Capacities, other.Low, other.High, other.Holds = in.Low, in.High, nil, nil, nil
	return &other
}

// Plain reports whether there are as many bins as needed of one capacity, and neither
// conflicts nor pins.
func (in *Problem) Plain() bool { return in.Uniform && in.Conflicts == nil && in.Pins == nil }

// reading is what it took to read the problem in, in steps of a watch.
func (in *Problem) reading() int {
	numbers := len(in.Weights) + len(in.Capacities)
	if in.Conflicts != nil {
		numbers += len(in.Conflicts.pairs)
	}
	return 2 * numbers
}

// Bins returns the most bins that a packing can use.
func (in *Problem) Bins() int {
	if in.Uniform {
		return len(in.Weights)
	}
	return len(in.Capacities)
}

// Capacity returns the capacity of a bin.
func (in *Problem) Capacity(bin int) int64 {
	if in.Uniform {
		return in.Capacities[0]
	}
	return in.Capacities[bin]
}

// A Packing is the bin of each item. Bin is nil where there is none.
type Packing struct {
	Bin  []int
	Bins int // that hold an item
}

// newPacking counts the bins used.
func newPacking(bin []int, bins int) Packing {
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

// MostValue returns the most value that fits the largest bin, of items with the given
// values: exactly, or ok is false because that would take more than about denseLimit
// steps. It does not search below the value known, and returns that if there is nothing
// better.
func (in *Problem) MostValue(value []int64, known int64) (most int64, ok bool) {
	return in.mostValue(value, slices.Max(in.high()), known, nil)
}

// mostValue is MostValue for a capacity, until the watch ends.
func (in *Problem) mostValue(value []int64, c, known int64, watch *work.Watch) (most int64, ok bool) {
	w, v, count := group(in.low(), value, watch)
	if watch.Over() {
		return known, false
	}
	return bestKnapsack(w, v, count, c, known, denseLimit, watch)
}

// groupSteps is what an item costs group, in steps of a watch.
const groupSteps = 16

// group joins items of equal weight and value, until the watch ends.
func group(w, value []int64, watch *work.Watch) (gw, gv []int64, count []int) {
	at := make(map[[2]int64]int)
	for i := range w {
		if watch.Spend(groupSteps) {
			break
		}
		k := [2]int64{w[i], value[i]}
		j, ok := at[k]
		if !ok {
			j = len(gw)
			at[k] = j
			gw, gv, count = append(gw, w[i]), append(gv, value[i]), append(count, 0)
		}
		count[j]++
	}
	return gw, gv, count
}

func ceilDiv(a, b int64) int {
	q := a / b
	if a%b > 0 {
		q++
	}
	return int(q)
}
