package binpack

import "github.com/recrawl/recrawl/internal/packing"

// A SlotReport counts what happened in a slot of a [Scheme].
type SlotReport struct {
	Polls      int // answers told
	Changed    int // of these, changed
	Overloaded int // bins above the capacity before relief
	Decreased  int // bins relieved by decreasing frequencies
	Excluded   int // bins relieved by putting sites out
	Moved      int // sites that changed their bin
	Bins       int // bins with sites at the end
}

// Rebalance ends the slot: it relieves overloaded bins, packs again what was put out, and
// reports what happened in the slot. Called again before Next, it relieves what is still
// overloaded, and reports only what happened since.
func (s *Scheme) Rebalance() SlotReport {
	load := make([]int64, len(s.alarm))
	for i, b := range s.bin {
		load[b] += s.weight[i]
	}
	sites := s.byBin()
	var out []int // sites put out
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

// exclude keeps the sites of a bin of the largest total that fits and appends the rest to
// out.
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
			// Of the bins with room the fullest; empty ones, which have the most
			// room, come last.
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
