package binpack

import "math/bits"

// decrease steps down the frequencies of the pages of the sites, whose total weight is load, until
// the total is at most the capacity. It takes the page with the most penalties in its register
// first, then the next, and starts again when all were stepped down. It succeeds if all pages fit
// in state 1; if they do not, they all end in state 1. O(pages · rounds).
func (s *Scheme) decrease(sites []int, load int64) {
	// Counting sort by penalties, most first.
	var buckets [65][]int32
	mask := uint64(1)<<(s.cfg.Register-1)<<1 - 1
	for _, i := range sites {
		for p := s.first[i]; p < s.first[i+1]; p++ {
			if s.state[p] > 1 {
				n := bits.OnesCount64(s.register[p] & mask)
				buckets[n] = append(buckets[n], int32(p))
			}
		}
	}
	for stepped := true; stepped && load > s.c; {
		stepped = false
		for n := s.cfg.Register; n >= 0; n-- {
			for _, p := range buckets[n] {
				state := int(s.state[p])
				to := max(state-s.cfg.DecreaseStep, 1)
				if to == state {
					continue
				}
				load -= s.amount[state-1] - s.amount[to-1]
				s.move(int(p), to)
				if stepped = true; load <= s.c {
					return
				}
			}
		}
	}
}
