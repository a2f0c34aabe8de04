package packing

import "github.com/recrawl/recrawl/internal/work"

// place packs into bins of any kind without conflicts, with the choices of scan but by trees over the
// bins: O((n + bins)·log bins). If the watch ends, it leaves an item over.
func (in *Problem) place(order []Ranked, h Heuristic, watch *work.Watch) (packed Packing, left int) {
	t := in.newTable()
	bins := len(t.room)
	steps := treeSteps(bins)
	if h == BestFit {
		steps *= 2
	}
	open, closed := newPlaces(h, bins), newPlaces(h, bins)
	for b, room := range t.room {
		if watch.Spend(steps) {
			return Packing{}, 0
		}
		if t.open[b] || h == FirstFit { // to which it makes no difference
			open.add(b, room)
		} else {
			closed.add(b, room)
		}
	}
	for i, w := range in.Weights {
		if order != nil {
			i, w = int(order[i].Item), order[i].Weight
		}
		if t.bin[i] >= 0 {
			continue
		}
		if watch.Spend(2 * steps) {
			return Packing{}, i
		}
		b := open.find(w)
		if b >= 0 {
			open.remove(b)
		} else if b = closed.find(w); b >= 0 {
			closed.remove(b)
		} else {
			return Packing{}, i
		}
		t.put(i, b)
		open.add(b, t.room[b])
	}
	return newPacking(t.bin, bins), -1
}

// places finds the bin that a heuristic takes among some. BestFit has them in a treap, the others in a
// tournament.
type places struct {
	h Heuristic
	treap
	tournament
}

func newPlaces(h Heuristic, bins int) *places {
	p := &places{h: h}
	if h == BestFit {
		p.room, p.left, p.right = make([]int64, bins), make([]int32, bins), make([]int32, bins)
	} else {
		p.tournament = newTournament(bins, -1)
	}
	return p
}

func (p *places) add(bin int, room int64) {
	if p.h == BestFit {
		p.room[bin] = room
		p.insert(int32(bin))
	} else {
		p.set(bin, room)
	}
}

func (p *places) remove(bin int) {
	if p.h == BestFit {
		p.treap.remove(int32(bin))
	} else {
		p.set(bin, -1)
	}
}

// find returns the bin for a weight, −1 if it fits none.
func (p *places) find(w int64) int {
	switch {
	case p.h == BestFit:
		return int(p.ceiling(w))
	case p.most[1] < w:
		return -1
	case p.h == WorstFit:
		w = p.most[1]
	}
	return p.first(w)
}
