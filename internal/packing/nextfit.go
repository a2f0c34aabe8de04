package packing

import (
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// turns packs items by Next Fit into bins of any kind, in which items are pinned already: no bin is
// looked at again after the next one, so that there need not be a table of all.
type turns struct {
	in     *Problem
	at     []int   // the bin of each item; of those not packed −1, if there are pins or conflicts
	pinned []int64 // weight pinned to each bin, −1 where none is; without the bins after the last
	foes   []int32 // foes[b] == i+1: an enemy of item i is pinned to bin b; nil without conflicts or pins
	bin    int
	room   int64 // in bin
	fresh  bool  // nothing is in bin
	bins   int   // that hold an item
}

func (in *Problem) newTurns() *turns {
	t := &turns{in: in, bin: -1, room: -1}
	if in.Pins == nil {
		t.at = make([]int, len(in.Weights))
		if in.Conflicts != nil {
			for i := range t.at {
				t.at[i] = -1
			}
		}
		return t
	}
	t.at = slices.Clone(in.Pins)
	t.pinned = slices.Repeat([]int64{-1}, slices.Max(in.Pins)+1)
	for i, b := range in.Pins {
		if b < 0 {
			continue
		}
		if t.pinned[b] < 0 {
			t.pinned[b] = 0
			t.bins++
		}
		t.pinned[b] += in.Weights[i]
	}
	return t
}

// turn goes on to the next bin, if there is one.
func (t *turns) turn() bool {
	if t.bin++; t.bin >= t.in.Bins() {
		return false
	}
	t.room, t.fresh = t.in.Capacity(t.bin), true
	if t.bin < len(t.pinned) && t.pinned[t.bin] >= 0 {
		t.room -= t.pinned[t.bin]
		t.fresh = false
	}
	return true
}

// turnTo goes on to the next bin with room for an item and no enemy of it, if there is one.
func (t *turns) turnTo(item int) bool {
	if t.foes != nil {
		for _, j := range t.in.Conflicts.Of(int32(item)) {
			if b := t.in.Pins[j]; b >= 0 {
				t.foes[b] = int32(item + 1)
			}
		}
	}
	for t.turn() {
		if t.room >= t.in.Weights[item] && (t.bin >= len(t.foes) || t.foes[t.bin] != int32(item+1)) {
			return true
		}
	}
	return false
}

func (t *turns) put(item int) {
	t.at[item] = t.bin
	t.room -= t.in.Weights[item]
	if t.fresh {
		t.bins++
		t.fresh = false
	}
}

// nextFit is Next Fit in the given order or, if that is nil, the items' own. If an item is left over,
// as one is if the watch ends, the packing is empty, and left is that item, else −1.
func (in *Problem) nextFit(order []Ranked, watch *work.Watch) (packed Packing, left int) {
	in.Conflicts.index(len(in.Weights), nil)
	t := in.newTurns()
	if in.Conflicts != nil && in.Pins != nil {
		t.foes = make([]int32, len(t.pinned))
	}
	for i := range in.Weights {
		if order != nil {
			i = int(order[i].Item)
		}
		if in.Pins != nil && in.Pins[i] >= 0 {
			continue
		}
		if watch.Spend(2 + 2*len(in.Conflicts.Of(int32(i)))) {
			return Packing{}, i
		}
		if (t.room < in.Weights[i] || in.clash(t.at, i, t.bin)) && !t.turnTo(i) {
			return Packing{}, i
		}
		t.put(i)
	}
	return Packing{t.at, t.bins}, -1
}

// hasty packs by Next Fit without the conflicts, and then puts one of two enemies in a bin into one of
// its own: that needs only the pairs, where an index of them takes longer than all the rest. ok
// is false if the given bins do not suffice; without given bins it is true.
func (in *Problem) hasty() (packed Packing, ok bool) {
	t := in.newTurns()
	for i, w := range in.Weights {
		if in.Pins != nil && in.Pins[i] >= 0 {
			continue
		}
		if t.room < w && !t.turnTo(i) {
			return Packing{}, false
		}
		t.put(i)
	}
	if in.Conflicts != nil {
		for _, p := range in.Conflicts.pairs {
			if t.at[p[0]] != t.at[p[1]] {
				continue
			}
			i := p[1]
			if in.Pins != nil && in.Pins[i] >= 0 {
				i = p[0]
			}
			for t.fresh = false; !t.fresh; {
				if !t.turnTo(i) {
					return Packing{}, false
				}
			}
			t.put(i)
		}
	}
	return Packing{t.at, t.bins}, true
}

// rough answers a problem without sorting it: by Next Fit, and the bound of the sum. O(n + bins + conflicts).
// Bin is nil if not all items find room that way.
func (in *Problem) rough() Solution {
	var s Solution
	var ok bool
	if s.Packing, ok = in.hasty(); !ok {
		s.Packing, _ = in.nextFit(nil, nil)
	}
	s.Certificate = in.bySum()
	s.Lower = in.Needs(s.Certificate)
	s.Proved = s.Lower == s.Bins
	return s
}

// bySum is the certificate of the sum of the weights.
func (in *Problem) bySum() Certificate {
	c := Certificate{Value: in.low(), Max: slices.Max(in.high())}
	if slices.Max(c.Value) == 0 { // all fit, and one bin is needed for them
		c = Certificate{Value: slices.Repeat([]int64{1}, len(in.Weights)), Max: int64(len(in.Weights))}
	}
	return c
}
