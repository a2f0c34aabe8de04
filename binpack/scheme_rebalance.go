package binpack

import "github.com/recrawl/recrawl/internal/packing"

// A SlotReport counts what happened in a slot of a [Scheme].
type SlotReport struct {
	Polls      int // answers observed
	Changed    int // answers that found a change
	Overloaded int // bins above the capacity before relief
	Decreased  int // bins relieved by decreasing frequencies
	Excluded   int // bins relieved by excluding sites
	Moved      int // sites that changed their bin
	Bins       int // bins with sites at the end
}

// Rebalance ends the slot: it relieves overloaded bins, packs the excluded sites again, and reports
// what happened in the slot. A second call before Next relieves bins that are still overloaded, and
// reports only what happened since the first.
func (s *Scheme) Rebalance() SlotReport {
	load := make([]int64, len(s.alarm))
	for i, b := range s.bin {
		load[b] += s.weight[i]
	}
	sites := s.byBin()
	var out []int // excluded sites
	for b := range s.alarm {
		overloaded := load[b] > s.c
		if overloaded {
			s.slot.Overloaded++
			if s.overload.Select(s.alarm[b], s.src) {
				s.slot.Excluded++
				out = s.exclude(sites[b], out)
			} else {
				s.slot.Decreased++
				s.decrease(sites[b], load[b])
			}
		}
		s.alarm[b] = s.overload.Step(s.alarm[b], overloaded)
	}
	s.repack(out)
	report := s.slot
	s.slot = SlotReport{}
	return report
}

// byBin returns the sites of each bin, in order.
func (s *Scheme) byBin() [][]int {
	count := make([]int, len(s.alarm))
	for _, b := range s.bin {
		count[b]++
	}
	left, sites := make([]int, len(s.bin)), make([][]int, len(s.alarm))
	for b, n := range count {
		sites[b], left = left[:0:n], left[n:]
	}
	for i, b := range s.bin {
		sites[b] = append(sites[b], i)
	}
	return sites
}

// exclude keeps the subset of a bin's sites with the largest total that fits, and appends the other
// sites to out.
func (s *Scheme) exclude(sites, out []int) []int {
	w := make([]int64, len(sites))
	for k, i := range sites {
		w[k] = s.weight[i]
	}
	for _, k := range leftOut(w, s.c) {
		out = append(out, sites[k])
	}
	return out
}

// repack packs sites into the bins by Best Fit Decreasing. A site heavier than a
// bin is decreased first.
func (s *Scheme) repack(out []int) {
	for _, i := range out {
		if s.weight[i] > s.c {
			s.decrease([]int{i}, s.weight[i])
		}
	}
	room := make([]int64, len(s.alarm))
	for b := range room {
		room[b] = s.c
	}
	used := make([]bool, len(s.alarm))
	from := make([]int, len(out))
	w := make([]int64, len(out))
	for k, i := range out {
		from[k], s.bin[i] = s.bin[i], -1
		w[k] = s.weight[i]
	}
	for i, b := range s.bin {
		if b >= 0 {
			room[b] -= s.weight[i]
			used[b] = true
		}
	}
	for _, x := range packing.Decreasing(w) {
		i, best := out[x.Item], -1
		for b := range room {
			// Take the fullest bin with room. Empty bins have the most room, so they come last.
			if room[b] >= x.Weight && (best < 0 || room[b] < room[best] || room[b] == room[best] && used[b] && !used[best]) {
				best = b
			}
		}
		if best < 0 {
			best = len(room)
			room, used = append(room, s.c), append(used, false)
			s.alarm = append(s.alarm, s.cfg.Threshold)
		}
		s.bin[i] = best
		room[best] -= x.Weight
		used[best] = true
		if best != from[x.Item] {
			s.slot.Moved++
		}
	}
	for b, u := range used {
		if u {
			s.slot.Bins++
		} else {
			s.alarm[b] = s.cfg.Threshold
		}
	}
}
