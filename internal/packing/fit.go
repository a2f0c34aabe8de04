package packing

import "math/bits"

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

// before orders bins by more room first, then by later bin: the one to take first
// from the heap of bestFitDecreasing, where what comes last ends on top.
func (a openBin) before(b openBin) bool {
	return a.room > b.room || a.room == b.room && a.bin > b.bin
}

// roomiest is a binary heap with the bin of most room on top.
type roomiest []openBin

func (h *roomiest) push(x openBin) {
	*h = append(*h, x)
	s := *h
	k := len(s) - 1
	for k > 0 {
		up := (k - 1) / 2
		if !x.before(s[up]) {
			break
		}
		s[k] = s[up]
		k = up
	}
	s[k] = x
}

func (h *roomiest) pop() openBin {
	s := *h
	top := s[0]
	x := s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) > 0 {
		k := 0
		for {
			down := 2*k + 1
			if down >= len(s) {
				break
			}
			if down+1 < len(s) && s[down+1].before(s[down]) {
				down++
			}
			if !s[down].before(x) {
				break
			}
			s[k] = s[down]
			k = down
		}
		s[k] = x
	}
	return top
}

// bestFitDecreasing needs no search tree. Weights only decrease, so the bins that
// have room for the present item form a stack with the tightest on top: a bin
// that gains room for the item by the item's being smaller has less room than all
// that had room before, and so has the bin that just took one. Invariant:
// stack ≥ w, decreasing towards its top; all bins in waiting (sorted, increasing)
// and in heap have less room than w.
func bestFitDecreasing(c int64, order []Ranked, bin []int) int {
	var stack, waiting []openBin
	var heap roomiest
	bins := int32(0)
	for _, x := range order {
		for {
			k := len(waiting) - 1
			if k >= 0 && waiting[k].room >= x.Weight && (len(heap) == 0 || waiting[k].before(heap[0])) {
				stack = append(stack, waiting[k])
				waiting = waiting[:k]
			} else if len(heap) > 0 && heap[0].room >= x.Weight {
				stack = append(stack, heap.pop())
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
		case k < 0 || b.before(waiting[k]):
			waiting = append(waiting, b)
		default:
			heap.push(b)
		}
	}
	return int(bins)
}

// worstFit keeps the bins in a heap by their room.
func worstFit(c int64, order []Ranked, bin []int) int {
	var heap roomiest
	bins := int32(0)
	for _, x := range order {
		var b openBin
		if len(heap) > 0 && heap[0].room >= x.Weight {
			b = heap.pop()
			b.bin = -b.bin // see below
		} else {
			b = openBin{c, bins}
			bins++
		}
		bin[x.Item] = int(b.bin)
		// The negative number makes the heap prefer the earlier of equal bins.
		heap.push(openBin{b.room - x.Weight, -b.bin})
	}
	return int(bins)
}
