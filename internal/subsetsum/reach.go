// Package subsetsum has the exact methods for sums of subsets that the solvers share, and
// the steps of the knapsack tables. Amounts and limits are never negative. Which to take:
//
//   - [Reach]: which sums there are, for small limits;
//   - [Largest] and [Halves.Largest]: the largest sum up to a limit, and a subset that
//     has it, for few amounts of any size, by meeting in the middle. Largest takes as
//     many as memory allows, as it keeps 8 bytes a sum; Halves keeps its memory from call
//     to call and returns a mask, for thousands of small calls;
//   - [LargestByTable]: the same for many amounts and a small limit;
//   - [AddItem], [AddItemMarked] and [AddCopies]: knapsacks with values, an item at a time.
package subsetsum

import (
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// A Reach is the set of all sums of subsets of some amounts, up to a limit, as a bit set.
type Reach struct{ bit []uint64 }

// Reachable returns the subset sums of amounts up to limit (and some above it).
// O(n·limit/64) time, limit/8 bytes.
func Reachable(amounts []int64, limit int64) *Reach {
	r := newReach(limit)
	for _, w := range amounts {
		r.Add(w)
	}
	return r
}

// newReach returns the sums of no amounts.
func newReach(limit int64) *Reach {
	r := &Reach{make([]uint64, limit/64+1)}
	r.bit[0] = 1
	return r
}

// Clone returns a copy, to which more amounts can be added.
func (r *Reach) Clone() *Reach { return &Reach{slices.Clone(r.bit)} }

// Add takes one more amount into account, in O(limit/64).
func (r *Reach) Add(w int64) {
	words, shift, ok := r.shift(w)
	if !ok {
		return
	}
	for k := len(r.bit) - 1; k >= words; k-- {
		r.bit[k] |= r.shifted(k, words, shift)
	}
}

// shift returns by how many words and bits an amount moves the sums; not ok if out of the
// set.
func (r *Reach) shift(w int64) (words int, shift uint, ok bool) {
	if w/64 >= int64(len(r.bit)) {
		return 0, 0, false
	}
	return int(w / 64), uint(w % 64), true
}

// shifted returns word k ≥ words of the set moved up.
func (r *Reach) shifted(k, words int, shift uint) uint64 {
	x := r.bit[k-words] << shift
	if shift > 0 && k > words {
		x |= r.bit[k-words-1] >> (64 - shift)
	}
	return x
}

// AtLeast returns the smallest sum of at least v, or −1 if there is none in the set.
func (r *Reach) AtLeast(v int64) int64 {
	for k := v / 64; k < int64(len(r.bit)); k++ {
		word := r.bit[k]
		if k == v/64 {
			word &= ^uint64(0) << (v % 64)
		}
		if word != 0 {
			return k*64 + int64(bits.TrailingZeros64(word))
		}
	}
	return -1
}

// AtMost returns the largest sum of at most v.
func (r *Reach) AtMost(v int64) int64 {
	v = min(v, int64(len(r.bit))*64-1)
	for k := v / 64; ; k-- { // the empty sum 0 is always there
		word := r.bit[k]
		if k == v/64 {
			word &= ^uint64(0) >> (63 - v%64)
		}
		if word != 0 {
			return k*64 + 63 - int64(bits.LeadingZeros64(word))
		}
	}
}

// LargestByTable returns the largest sum of at most limit that a subset of positive
// amounts has, and the positions of such a subset, increasing, in the memory of chosen.
// It notes for each sum the amount that reached it first. O(n·limit/64 + limit) time, 4
// bytes for each unit of limit. If the watch ends it is not ok.
func LargestByTable(amounts []int64, limit int64, chosen []int, watch *work.Watch) (sum int64, positions []int, ok bool) {
	r := newReach(limit)
	via := make([]int32, limit+1)
	for i, w := range amounts {
		words, shift, ok := r.shift(w)
		if !ok {
			continue
		}
		if watch.Spend(len(r.bit)) {
			return 0, nil, false
		}
		for k := len(r.bit) - 1; k >= words; k-- { // downwards, so that nothing new is read
			fresh := r.shifted(k, words, shift) &^ r.bit[k]
			r.bit[k] |= fresh
			for ; fresh != 0; fresh &= fresh - 1 {
				if sum := int64(k)*64 + int64(bits.TrailingZeros64(fresh)); sum <= limit {
					via[sum] = int32(i)
				}
			}
		}
		if r.bit[limit/64]>>(limit%64)&1 == 1 {
			break
		}
	}
	best := r.AtMost(limit)
	chosen = chosen[:0]
	// Invariant: sum was first reached by an amount before those chosen.
	for sum := best; sum > 0; sum -= amounts[via[sum]] {
		chosen = append(chosen, int(via[sum]))
	}
	slices.Reverse(chosen)
	return best, chosen, true
}
