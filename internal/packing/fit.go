package packing

import (
	"math/bits"

	"github.com/recrawl/recrawl/internal/heap"
)

// The rules for bins of one capacity without constraints. Each takes the items in
// the given order, sets the bin of each and returns the number of bins.

func nextFit(c int64, order []Ranked, bin []int) int {
	bins, room := 0, int64(-1)
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

// firstFit keeps a tournament tree over the bins: a node holds the most room of
// the bins below it, and the first bin with room w is found from the root.
func firstFit(c int64, order []Ranked, bin []int) int {
	size := 1 << bits.Len(uint(len(order)-1))
	room := make([]int64, 2*size) // unopened bins count with their capacity
	for k := range room {
		room[k] = c
	}
	bins := 0
	for _, x := range order {
		k := 1
		for k < size {
			k *= 2
			if room[k] < x.Weight {
				k++
			}
		}
		bin[x.Item] = k - size
		bins = max(bins, bin[x.Item]+1)
		room[k] -= x.Weight
		for k >>= 1; k >= 1; k >>= 1 {
			r := max(room[2*k], room[2*k+1])
			if r == room[k] {
				break // nothing changes above
			}
			room[k] = r
		}
	}
	return bins
}

// openBin is a bin and its room.
type openBin struct {
	room int64
	bin  int32
}

// Before orders bins by more room first, then by later bin: the one to take first
// from the heap of bestFitDecreasing, where what comes last ends on top.
func (a openBin) Before(b openBin) bool {
	return a.room > b.room || a.room == b.room && a.bin > b.bin
}

// bestFitDecreasing needs no search tree. Weights only decrease, so the bins that
// have room for the present item form a stack with the tightest on top: a bin
// that gains room for the item by the item's being smaller has less room than all
// that had room before, and so has the bin that just took one. Invariant:
// stack ≥ w, decreasing towards its top; all bins in waiting (sorted, increasing)
// and in heap have less room than w.
func bestFitDecreasing(c int64, order []Ranked, bin []int) int {
	var stack, waiting []openBin
	var full heap.Heap[openBin]
	bins := int32(0)
	for _, x := range order {
		for {
			k := len(waiting) - 1
			if k >= 0 && waiting[k].room >= x.Weight && (len(full) == 0 || waiting[k].Before(full[0])) {
				stack = append(stack, waiting[k])
				waiting = waiting[:k]
			} else if len(full) > 0 && full[0].room >= x.Weight {
				stack = append(stack, full.Pop())
			} else {
				break
			}
		}
		var b openBin
		if k := len(stack) - 1; k >= 0 {
			b = stack[k]
			stack = stack[:k]
		} else {
			b = openBin{c, bins}
			bins++
		}
		bin[x.Item] = int(b.bin)
		b.room -= x.Weight
		switch k := len(waiting) - 1; {
		case b.room >= x.Weight:
			stack = append(stack, b)
		case k < 0 || b.Before(waiting[k]):
			waiting = append(waiting, b)
		default:
			full.Push(b)
		}
	}
	return int(bins)
}

// worstFit keeps the bins in a heap by their room.
func worstFit(c int64, order []Ranked, bin []int) int {
	var full heap.Heap[openBin]
	bins := int32(0)
	for _, x := range order {
		var b openBin
		if len(full) > 0 && full[0].room >= x.Weight {
			b = full.Pop()
			b.bin = -b.bin // see below
		} else {
			b = openBin{c, bins}
			bins++
		}
		bin[x.Item] = int(b.bin)
		// The negative number makes the heap prefer the earlier of equal bins.
		full.Push(openBin{b.room - x.Weight, -b.bin})
	}
	return int(bins)
}
