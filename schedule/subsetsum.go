package schedule

import (
	"math/bits"
	"slices"
)

// sums is the set of all sums of subsets of some amounts up to a limit, as a
// bit set.
type sums struct{ bit []uint64 }

// reachable returns the subset sums of amounts up to limit in O(n·limit/64).
func reachable(amounts []int64, limit int64) *sums {
	s := &sums{make([]uint64, limit/64+1)}
	s.bit[0] = 1
	for _, w := range amounts {
		s.add(w)
	}
	return s
}

// add takes one more amount into account.
func (s *sums) add(w int64) {
	words, shift := int(w/64), uint(w%64)
	for k := len(s.bit) - 1; k >= words; k-- {
		x := s.bit[k-words] << shift
		if shift > 0 && k > words {
			x |= s.bit[k-words-1] >> (64 - shift)
		}
		s.bit[k] |= x
	}
}

// atLeast returns the smallest sum of at least v, or −1.
func (s *sums) atLeast(v int64) int64 {
	for k := v / 64; k < int64(len(s.bit)); k++ {
		word := s.bit[k]
		if k == v/64 {
			word &= ^uint64(0) << (v % 64)
		}
		if word != 0 {
			return k*64 + int64(bits.TrailingZeros64(word))
		}
	}
	return -1
}

// atMost returns the largest sum of at most v.
func (s *sums) atMost(v int64) int64 {
	v = min(v, int64(len(s.bit))*64-1)
	for k := v / 64; ; k-- { // the empty sum 0 is always there
		word := s.bit[k]
		if k == v/64 {
			word &= ^uint64(0) >> (63 - v%64)
		}
		if word != 0 {
			return k*64 + 63 - int64(bits.LeadingZeros64(word))
		}
	}
}

// meetLimit is the largest number of amounts that a meeting in the middle takes
// on: two lists of 2¹⁸ sums.
const meetLimit = 36

// A subset looks for the subset of amounts with the largest sum up to a
// limit; it keeps its memory from call to call.
type subset struct {
	left, right, spare []sumMask
}

type sumMask struct {
	sum  int64
	mask uint32
}

// largest returns the largest sum of at most limit that a subset of up to
// meetLimit amounts has, and the subset as a mask, by meeting in the middle
// (Horowitz and Sahni 1974) in O(2^(n/2)).
func (s *subset) largest(amounts []int64, limit int64) (int64, uint64) {
	half := len(amounts) / 2
	s.left = s.list(s.left, amounts[:half])
	s.right = s.list(s.right, amounts[half:])
	best, mask := int64(-1), uint64(0)
	// Invariant: no element of left before l goes with one of right after r.
	r := len(s.right) - 1
	for _, l := range s.left {
		for r >= 0 && l.sum+s.right[r].sum > limit {
			r--
		}
		if r < 0 {
			break
		}
		if sum := l.sum + s.right[r].sum; sum > best {
			best, mask = sum, uint64(l.mask)|uint64(s.right[r].mask)<<half
			if sum == limit {
				break
			}
		}
	}
	return best, mask
}

// list returns all subset sums of amounts in ascending order, merging the list
// without an amount with the list with it.
func (s *subset) list(to []sumMask, amounts []int64) []sumMask {
	to = append(to[:0], sumMask{})
	for k, w := range amounts {
		s.spare = s.spare[:0]
		a, b := 0, 0 // next of to, without and with w
		for b < len(to) {
			if a < len(to) && to[a].sum <= to[b].sum+w {
				s.spare = append(s.spare, to[a])
				a++
			} else {
				s.spare = append(s.spare, sumMask{to[b].sum + w, to[b].mask | 1<<k})
				b++
			}
		}
		to, s.spare = s.spare, to
	}
	return to
}

// largestByTable is largest for any number of amounts and a small limit: it
// notes for each sum the amount that reached it first, and takes
// O(n·limit/64 + limit). chosen gets the positions of the subset.
func largestByTable(amounts []int64, limit int64, chosen []int) (int64, []int) {
	bit := make([]uint64, limit/64+1)
	via := make([]int32, limit+1)
	fresh := make([]uint64, len(bit))
	bit[0] = 1
	for i, w := range amounts {
		words, shift := int(w/64), uint(w%64)
		for k := words; k < len(bit); k++ {
			x := bit[k-words] << shift
			if shift > 0 && k > words {
				x |= bit[k-words-1] >> (64 - shift)
			}
			fresh[k] = x &^ bit[k]
		}
		for k := words; k < len(bit); k++ {
			for x := fresh[k]; x != 0; x &= x - 1 {
				if sum := int64(k)*64 + int64(bits.TrailingZeros64(x)); sum <= limit {
					via[sum] = int32(i)
				}
			}
			bit[k] |= fresh[k]
		}
		if bit[limit/64]>>(limit%64)&1 == 1 {
			break
		}
	}
	best := (&sums{bit}).atMost(limit)
	chosen = chosen[:0]
	// Invariant: sum was first reached by an amount before those chosen.
	for sum := best; sum > 0; sum -= amounts[via[sum]] {
		chosen = append(chosen, int(via[sum]))
	}
	slices.Reverse(chosen)
	return best, chosen
}
