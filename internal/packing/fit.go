package packing

import (
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// The heuristics for bins of one capacity without constraints. Each takes the items in the given
// order, sets the bin of each and returns the number of bins.

// openNext is Next Fit into bins after those that there are.
func openNext(c int64, order []Ranked, bin []int, bins int) int {
	room := int64(-1)
	for _, x := range order {
		if room < x.Weight {
			bins++
			room = c
		}
		room -= x.Weight
		bin[x.Item] = bins - 1
	}
	return bins
}

// tournament is a tree over bins in which a node holds the most room of the bins below it; node
// 1 is the root, and node size+k is bin k.
type tournament struct {
	size int
	most []int64
}

// newTournament returns a tree of at least n bins of the given room.
func newTournament(n int, room int64) tournament {
	size := 1 << bits.Len(uint(n-1))
	return tournament{size, slices.Repeat([]int64{room}, 2*size)}
}

// first returns the first bin with room w, if there is one.
func (t tournament) first(w int64) int {
	k := 1
	for k < t.size {
		k *= 2
		if t.most[k] < w {
			k++
		}
	}
	return k - t.size
}

// set changes the room of a bin.
func (t tournament) set(bin int, room int64) {
	k := bin + t.size
	t.most[k] = room
	for k >>= 1; k >= 1; k >>= 1 {
		r := max(t.most[2*k], t.most[2*k+1])
		if r == t.most[k] {
			break // nothing changes above
		}
		t.most[k] = r
	}
}

// treeSteps is what an item costs that looks for its bin in a tree of up to so many.
func treeSteps(bins int) int { return 2 * bits.Len(uint(bins)) }

// firstFit finds the bin of each item in a tree, in which bins not opened have their capacity. It is
// not ok if the watch ends.
func firstFit(c int64, order []Ranked, bin []int, watch *work.Watch) (bins int, ok bool) {
	t := newTournament(len(order), c)
	steps := treeSteps(len(order))
	for _, x := range order {
		if watch.Spend(steps) {
			return bins, false
		}
		b := t.first(x.Weight)
		bin[x.Item] = b
		bins = max(bins, b+1)
		t.set(b, t.most[t.size+b]-x.Weight)
	}
	return bins, true
}

// worstFit finds the bin of most room in a tree, in which bins not opened have none. It is not ok if
// the watch ends.
func worstFit(c int64, order []Ranked, bin []int, watch *work.Watch) (bins int, ok bool) {
	t := newTournament(len(order), -1)
	steps := treeSteps(len(order))
	for _, x := range order {
		if watch.Spend(steps) {
			return bins, false
		}
		b, room := bins, c
		if most := t.most[1]; most >= x.Weight {
			b, room = t.first(most), most
		} else {
			bins++
		}
		bin[x.Item] = b
		t.set(b, room-x.Weight)
	}
	return bins, true
}

// openBin is a bin and its room.
type openBin struct {
	room int64
	bin  int
}

// before orders bins by more room first, then by later bin: the one to take first from those
// that wait in bestFitDecreasing, where what comes last ends on top.
func (a openBin) before(b openBin) bool {
	return a.room > b.room || a.room == b.room && a.bin > b.bin
}

// waitingBins are bins without room for the present item.
type waitingBins struct {
	sorted []openBin // the first in order last
	others tournament
}

// pop removes the first in order, if it has room w. In the tree bins have reverse numbers, so that
// the later of equal bins comes first.
func (q *waitingBins) pop(w int64) (b openBin, ok bool) {
	k, most := len(q.sorted)-1, int64(-1)
	if q.others.size > 0 {
		most = q.others.most[1]
	}
	if k >= 0 && q.sorted[k].room >= max(w, most) {
		b, ok = q.sorted[k], true
	}
	if most >= w && (!ok || b.room == most) {
		leaf := q.others.first(most)
		if o := (openBin{most, q.others.size - 1 - leaf}); !ok || o.before(b) {
			q.others.set(leaf, -1)
			return o, true
		}
	}
	if ok {
		q.sorted = q.sorted[:k]
	}
	return b, ok
}

// push adds a bin; n bounds the numbers of bins.
func (q *waitingBins) push(b openBin, n int) {
	if k := len(q.sorted) - 1; k < 0 || b.before(q.sorted[k]) {
		q.sorted = append(q.sorted, b)
		return
	}
	if q.others.size == 0 {
		q.others = newTournament(n, -1)
	}
	q.others.set(q.others.size-1-b.bin, b.room)
}

// bestFitSteps is what an item costs bestFitDecreasing, in steps of a watch.
const bestFitSteps = 8

// bestFitDecreasing needs no search tree. Weights only decrease, so the bins that have room for
// the present item form a stack with the tightest on top: a bin that gains room for the item by
// the item's being smaller has less room than all that had room before, and so has the bin that
// just took one. Invariant: stack ≥ w, decreasing towards its top; all bins that wait have less
// room than w. What is left when the watch ends goes into new bins, by Next Fit.
func bestFitDecreasing(c int64, order []Ranked, bin []int, watch *work.Watch) int {
	var stack []openBin
	var waiting waitingBins
	bins := 0
	for k, x := range order {
		if watch.Spend(bestFitSteps) {
			return openNext(c, order[k:], bin, bins)
		}
		for {
			b, ok := waiting.pop(x.Weight)
			if !ok {
				break
			}
			stack = append(stack, b)
		}
		b := openBin{c, bins}
		if k := len(stack) - 1; k >= 0 {
			b = stack[k]
			stack = stack[:k]
		} else {
			bins++
		}
		bin[x.Item] = b.bin
		b.room -= x.Weight
		if b.room >= x.Weight {
			stack = append(stack, b)
		} else {
			waiting.push(b, len(order))
		}
	}
	return bins
}
