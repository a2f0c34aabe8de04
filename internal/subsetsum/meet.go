package subsetsum

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// Meeting in the middle (Horowitz & Sahni 1974): the sums of either half of the amounts
// are sorted, and for each one of the left half the best partner in the right half moves
// down as the left sum moves up. The two forms differ in what they keep with a sum, and
// so in which of several equal subsets they find.

// Largest returns the largest sum of at most c that a subset of w has, and sets taken to
// such a subset, unless the watch ends; it is not ok then. O(2^(n/2)) time and memory, or O(n·c) if
// that is less. It keeps the sums of both halves but not which amounts they are of: the halves are
// solved again for their own sum.
func Largest(w []int64, c int64, taken []bool, watch *work.Watch) (best int64, ok bool) {
	switch n := len(w); n {
	case 0:
		return 0, true
	case 1:
		taken[0] = w[0] <= c
		if taken[0] {
			best = w[0]
		}
		return best, true
	default:
		a, ok := sums(w[:n/2], c, watch)
		if !ok {
			return 0, false
		}
		b, ok := sums(w[n/2:], c, watch)
		if !ok {
			return 0, false
		}
		best, left := int64(-1), int64(0)
		// Invariant: no pair with b[j+1:] or with a[:i] is better than best.
		j := len(b) - 1
		for i := 0; i < len(a) && best < c; i++ {
			for j >= 0 && a[i]+b[j] > c {
				j--
			}
			if j < 0 {
				break
			}
			if a[i]+b[j] > best {
				best, left = a[i]+b[j], a[i]
			}
		}
		if _, ok := Largest(w[:n/2], left, taken[:n/2], watch); !ok {
			return 0, false
		}
		_, ok = Largest(w[n/2:], best-left, taken[n/2:], watch)
		return best, ok
	}
}

// sums returns the different subset sums of w that are at most c, sorted, unless the watch ends.
func sums(w []int64, c int64, watch *work.Watch) (list []int64, ok bool) {
	most := min(int64(1)<<len(w), min(c, math.MaxInt32-1)+1)
	list, next := make([]int64, 1, most), make([]int64, 0, most)
	for _, x := range w {
		// Merge list with list + x, which runs behind it.
		next = next[:0]
		i := 0
		for block := range slices.Chunk(list, mergeBlock) {
			if watch.Spend(2 * mergeSteps * len(block)) {
				return nil, false
			}
			for _, s := range block {
				if s > c-x {
					break
				}
				s += x
				for i < len(list) && list[i] < s {
					next = append(next, list[i])
					i++
				}
				if i == len(list) || list[i] > s {
					next = append(next, s)
				}
			}
		}
		next = append(next, list[i:]...)
		list, next = next, list
	}
	return list, true
}

// MaxHalves is the largest number of amounts that Halves takes: two lists of 2¹⁸ sums, 8
// MB in all.
const MaxHalves = 36

// A Halves finds largest sums and keeps its memory from call to call. The zero value is
// ready.
type Halves struct {
	left, right, spare []sumMask
}

// sumMask is a sum, and the positions of the amounts in it.
type sumMask struct {
	sum  int64
	mask uint32
}

// mergeSteps is what a sum costs in the lists, in steps of a watch, and mergeBlock how many of a list are merged, with
// about as many of another, from one look at it to the next.
const mergeSteps, mergeBlock = 4, 1 << 13

// Largest returns the largest sum of at most limit that a subset of up to [MaxHalves]
// amounts has, and the subset as a mask of positions; −1 if limit is negative. O(2^(n/2))
// time, unless the watch ends; it is not ok then.
func (h *Halves) Largest(amounts []int64, limit int64, watch *work.Watch) (sum int64, mask uint64, ok bool) {
	half := len(amounts) / 2
	if h.left, ok = h.list(h.left, amounts[:half], watch); !ok {
		return 0, 0, false
	}
	if h.right, ok = h.list(h.right, amounts[half:], watch); !ok {
		return 0, 0, false
	}
	sum = -1
	// Invariant: no element of left before l goes with one of right after r.
	r := len(h.right) - 1
	for _, l := range h.left {
		for r >= 0 && l.sum+h.right[r].sum > limit {
			r--
		}
		if r < 0 {
			break
		}
		if s := l.sum + h.right[r].sum; s > sum {
			sum, mask = s, uint64(l.mask)|uint64(h.right[r].mask)<<half
			if s == limit {
				break
			}
		}
	}
	return sum, mask, true
}

// list returns all subset sums of amounts in ascending order, merging the list without an
// amount with the list with it, until the watch ends.
func (h *Halves) list(to []sumMask, amounts []int64, watch *work.Watch) (list []sumMask, ok bool) {
	to = append(to[:0], sumMask{})
	for k, w := range amounts {
		h.spare = h.spare[:0]
		a, b := 0, 0 // next of to, without and with w
		for b < len(to) {
			end := min(b+mergeBlock, len(to))
			if watch.Spend(2 * mergeSteps * (end - b)) {
				return to, false
			}
			for b < end {
				if a < len(to) && to[a].sum <= to[b].sum+w {
					h.spare = append(h.spare, to[a])
					a++
				} else {
					h.spare = append(h.spare, sumMask{to[b].sum + w, to[b].mask | 1<<k})
					b++
				}
			}
		}
		to, h.spare = h.spare, to
	}
	return to, true
}
