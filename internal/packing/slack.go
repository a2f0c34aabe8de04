package packing

import (
	"cmp"
	"sort"

	"github.com/recrawl/recrawl/internal/work"
)

// slackNodes is the number of steps after which Minimum Bin Slack takes the best
// subset found for a bin.
const slackNodes = 20000

// slackSteps is what one of these costs, in steps of a watch.
const slackSteps = 4

// minimumSlack fills one bin at a time with the subset of the items left that
// leaves the least room, found by a depth-first search in order of decreasing
// weight (Gupta & Ho 1999). With prime the largest item left is in every subset
// (Fleszar & Hindi 2002). A bin has so many nodes. If the watch ends, it leaves an item over.
func (in *Problem) minimumSlack(prime bool, nodes int, watch *work.Watch) (packed Packing, item int) {
	t := in.newTable()
	var left, light []int // items to pack, by decreasing weight, and those without weight
	order, ok := decreasing(in.Weights, watch)
	if !ok {
		return Packing{}, 0
	}
	for _, x := range order {
		switch i := int(x.Item); {
		case t.bin[i] >= 0:
		case x.Weight > 0:
			left = append(left, i)
		default:
			light = append(light, i)
		}
	}
	bins := make([]int, len(t.room))
	for b := range bins {
		bins[b] = b
	}
	// Bins that already hold pinned items first, then large ones.
	bins, ok = work.Sorted(bins, func(a, b int) int {
		switch {
		case t.open[a] == t.open[b]:
			return cmp.Compare(t.room[b], t.room[a])
		case t.open[a]:
			return -1
		}
		return 1
	}, watch)
	if !ok {
		return Packing{}, 0
	}
	var near []int32
	if in.Conflicts != nil {
		near = make([]int32, len(in.Weights))
	}
	for _, b := range bins {
		if len(left) == 0 {
			break
		}
		s := slackSearch{t: t, items: left, nodes: nodes, best: -1, watch: watch, near: near}
		s.run(b, prime)
		if watch.Spend(len(left) + slackSteps*(nodes-s.nodes)) {
			return Packing{}, left[0]
		}
		for _, k := range s.chosen {
			t.put(left[k], b)
		}
		kept := left[:0]
		for _, i := range left {
			if t.bin[i] < 0 {
				kept = append(kept, i)
			}
		}
		left = kept
	}
	if len(left) > 0 {
		return Packing{}, left[0]
	}
	for _, i := range light {
		t.mark(i)
		b := 0
		for b < len(t.room) && !t.fits(i, b) {
			b++
		}
		if watch.Spend(b + t.enemies(i)) {
			return Packing{}, i
		}
		if b == len(t.room) {
			return Packing{}, i
		}
		t.put(i, b)
	}
	return newPacking(t.bin, len(t.room)), -1
}

// slackSearch looks for the subset of items that leaves the least room.
type slackSearch struct {
	t      *table
	items  []int
	suffix []int64 // suffix[k] is the weight of items[k:]
	path   []int   // positions taken
	chosen []int   // positions of the best subset
	best   int64   // its weight, −1 for none
	nodes  int
	watch  *work.Watch
	// near[i] is how many enemies of item i are in the bin or on the path, and 0 between two bins. It is
	// nil without conflicts.
	near []int32
}

func (s *slackSearch) run(bin int, prime bool) {
	w := s.t.in.Weights
	s.suffix = make([]int64, len(s.items)+1)
	for k := len(s.items) - 1; k >= 0; k-- {
		s.suffix[k] = s.suffix[k+1] + w[s.items[k]]
	}
	if s.near != nil && s.t.open[bin] {
		s.countPinned(bin, 1)
		defer s.countPinned(bin, -1)
	}
	if prime {
		// The first that may go here is taken, if it is not kept out by an enemy
		// already there.
		for k, i := range s.items {
			if s.watch.Spend(1 + s.t.enemies(i)) {
				return
			}
			s.t.mark(i)
			if s.t.fits(i, bin) {
				s.path = append(s.path, k)
				s.best, s.chosen = w[i], append(s.chosen, k)
				s.count(i, 1)
				s.extend(k+1, bin, s.t.room[bin]-w[i], w[i])
				s.count(i, -1)
				return
			}
		}
		return
	}
	s.extend(0, bin, s.t.room[bin], 0)
}

// extend tries every item from position k on as the next of the subset.
func (s *slackSearch) extend(k, bin int, room, sum int64) {
	w := s.t.in.Weights
	if sum > s.best {
		s.best, s.chosen = sum, append(s.chosen[:0], s.path...)
	}
	for ; k < len(s.items); k++ {
		// No room left to improve on, or not enough items to improve with.
		if s.best == sum+room || sum+s.suffix[k] <= s.best {
			return
		}
		i := s.items[k]
		if w[i] > room {
			// Jump to the first that fits.
			k += sort.Search(len(s.items)-k, func(d int) bool { return w[s.items[k+d]] <= room }) - 1
			continue
		}
		if s.nodes--; s.nodes < 0 {
			return
		}
		if s.near != nil && s.near[i] > 0 {
			continue
		}
		s.path = append(s.path, k)
		s.count(i, 1)
		s.extend(k+1, bin, room-w[i], sum+w[i])
		s.count(i, -1)
		s.path = s.path[:len(s.path)-1]
		// An item of equal weight would lead to the same sums.
		if s.t.in.Conflicts == nil {
			for k+1 < len(s.items) && w[s.items[k+1]] == w[i] {
				k++
			}
		}
	}
}

// countPinned counts the items that are in the bin from the start.
func (s *slackSearch) countPinned(bin int, by int32) {
	s.watch.Spend(len(s.t.bin))
	for i, b := range s.t.bin {
		if b == bin {
			s.count(i, by)
		}
	}
}

// count adds to near that an item is in the bin or on the path (by 1), or takes that back (by −1).
func (s *slackSearch) count(i int, by int32) {
	enemies := s.t.in.Conflicts.Of(int32(i))
	if s.watch.Spend(len(enemies)) {
		s.nodes = 0 // the search ends
	}
	for _, j := range enemies {
		s.near[j] += by
	}
}
