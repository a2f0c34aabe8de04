package packing

// trail remembers how the states of a dynamic programme came about, at 8 bytes a
// state ever improved. It grows by pieces, so that nothing is copied and kept twice.
type trail struct {
	pieces [][]step
	len    int
}

// pieceBits is the logarithm of the number of steps of a piece.
const pieceBits = 16

// A step adds an item to what its parent stands for, or takes it out.
type step struct {
	parent int32 // −1 for the start
	item   int32 // ^item for one taken out
}

func (t *trail) add(parent, item int32) int32 {
	at := t.len
	if at&(1<<pieceBits-1) == 0 {
		t.pieces = append(t.pieces, make([]step, 1<<pieceBits))
	}
	t.pieces[at>>pieceBits][at&(1<<pieceBits-1)] = step{parent, item}
	t.len++
	return int32(at)
}

// apply changes chosen by all steps up to at.
func (t *trail) apply(at int32, chosen []bool) {
	for at >= 0 {
		s := t.pieces[at>>pieceBits][at&(1<<pieceBits-1)]
		if s.item >= 0 {
			chosen[s.item] = true
		} else {
			chosen[^s.item] = false
		}
		at = s.parent
	}
}

// sumsBlock is the number of sums that are looked at from one look at the watch to the next, and sumSteps
// what one takes, in steps of the watch.
const sumsBlock, sumSteps = 1 << 13, 4

// balance is Pisinger's dynamic programme over balanced fillings (1999, "Linear
// time algorithms for knapsack problems with bounded weights"). The break
// solution takes items in order while they fit. Every optimal filling is reached
// from it by adding an item while the sum is at most c and taking one out while
// it is above, so that only the 2r sums in (c−r, c+r] occur, r the largest weight.
//
// For every sum it keeps the largest first[sum] such that the sum can be
// had without taking out any item below first[sum]; more means that more
// items may still be taken out. O(n·r) time, 24·r bytes and the trail, of
// which it makes most steps. It says whether it came to an end. It is long because putting
// items in, taking them out and finding the way back share the tables.
func (s *subset) balance(most int) bool {
	r := s.w[0]
	base := s.c - r + 1 // sum base+k is at index k
	full := int(s.c - base)
	first, old, from := make([]int32, 2*r), make([]int32, 2*r), make([]int32, 2*r)
	start, b := int64(0), 0
	for s.w[b] <= s.c-start {
		start += s.w[b]
		b++
	}
	// Items are numbered from 1 here; 0 means that the sum was not reached.
	for k := full + 1; k < len(first); k++ {
		first[k] = 1
	}
	for k := range from {
		from[k] = -1
	}
	var t trail
	first[start-base] = int32(b + 1)
	for next := b; next < len(s.w) && first[full] == 0 && t.len < most && !s.watch.Over(); next++ {
		copy(old, first)
		w := int(s.w[next])
		for top := full; top >= 0 && t.len < most && !s.watch.Spend(sumSteps*sumsBlock); top -= sumsBlock {
			low := max(0, top-sumsBlock+1)
			for k := top; k >= low && t.len < most; k-- { // downwards, so that nothing new is read
				if first[k] > first[k+w] {
					first[k+w] = first[k]
					from[k+w] = t.add(from[k], int32(next))
				}
			}
		}
		for top := full + w; top > full && t.len < most && !s.watch.Spend(sumSteps*sumsBlock); top -= sumsBlock {
			low := max(full+1, top-sumsBlock+1)
			for k := top; k >= low && t.len < most; k-- {
				for j := old[k]; j < first[k]; j++ {
					if to := k - int(s.w[j-1]); j > first[to] {
						first[to] = j
						from[to] = t.add(from[k], ^(j - 1))
					}
				}
			}
		}
	}
	done := first[full] > 0 || t.len < most && !s.watch.Over()
	for k := full; k >= 0; k-- {
		if first[k] > 0 {
			chosen := make([]bool, len(s.w))
			for i := range b {
				chosen[i] = true
			}
			t.apply(from[k], chosen)
			s.offer(base+int64(k), func(i int) bool { return chosen[i] })
			break
		}
	}
	s.proved = s.proved || done
	return done
}
