package queue

import (
	"math"
	"slices"
)

// In a flat set the pages are a list, and each has a multiplier of its own, as of when it was brought up to
// date: right of a node is the next page, and left has the bits of the multiplier.

// enlist puts a page at the front of a flat set.
func (q *Queue) enlist(s, slot uint32, m float64) {
	set := q.sets.At(s)
	q.nodes[slot].right, set.list = set.list, slot
	q.nodes[slot].scale(m)
	q.place[slot] = inLot
	set.count++
}

// delist takes a page out of a flat set.
func (q *Queue) delist(s, slot uint32) {
	at := &q.sets.At(s).list
	for *at != slot {
		at = &q.nodes[*at].right
	}
	*at = q.nodes[slot].right
	q.place[slot] = None
}

// scale sets the multiplier of a page of a list.
func (n *node) scale(m float64) {
	n.left = math.Float32bits(float32(max(math.SmallestNonzeroFloat32, min(math.MaxFloat32, m))))
}

// listedDue returns when a page of a list that was last answered at base is due, by its multiplier.
func (q *Queue) listedDue(n *node, base float64) float64 {
	if q.turn {
		return base
	}
	return q.after(base, n.x, float64(math.Float32frombits(n.left)))
}

// putFlat brings a page into a flat set, and makes lots of that if there are too many pages then.
func (q *Queue) putFlat(s, slot uint32, due, now float64, clock Clock) {
	base := clock.Last(slot)
	passed, m := 0.0, q.multiplier(s, base, clock)
	if !math.IsInf(base, -1) {
		passed = (min(due, math.MaxFloat64) - base) * m
	}
	q.nodes[slot].x = q.span(passed)
	if q.turn || q.unit == 0 {
		due = base
	}
	set := q.sets.At(s)
	if q.enlist(s, slot, m); set.count > 1 {
		due = min(due, set.first(q, s))
	}
	if set.count > flatMost {
		q.unfold(s, now, clock)
		due = q.firstLot(s)
	}
	q.settle(s, min(due, math.MaxFloat64))
}

// unfold makes lots of a flat set. It takes the pages by slot, as the order of the list is not saved.
func (q *Queue) unfold(s uint32, now float64, clock Clock) {
	set := q.sets.At(s)
	var room [flatMost + 1]uint32
	pages := room[:0]
	for slot := set.list; slot != None; slot = q.nodes[slot].right {
		pages = append(pages, slot)
	}
	slices.Sort(pages)
	set.list, set.own().tree, set.count = None, true, 0
	for _, slot := range pages {
		base := clock.Last(slot)
		q.putLot(s, slot, q.after(base, q.nodes[slot].x, q.multiplier(s, base, clock)), now, clock)
	}
}

// gothrough returns the page of a flat set that is due first, when, and when the next one is, by multipliers anew or
// those that are known.
func (q *Queue) gothrough(s uint32, anew bool, clock Clock) (first uint32, due, next float64) {
	first, due, next = None, math.Inf(1), math.Inf(1)
	var x float32
	since, m := math.Inf(-1), 1.0 // the multiplier of the page before: many have one last answer to begin with
	for slot := q.sets.At(s).list; slot != None; slot = q.nodes[slot].right {
		n, base := &q.nodes[slot], clock.Last(slot)
		if anew {
			if base != since {
				since, m = base, q.multiplier(s, base, clock)
			}
			n.scale(m)
		}
		at := q.listedDue(n, base)
		if at < due || at == due && (n.x < x || n.x == x && slot < first) {
			first, due, next, x = slot, at, due, n.x
		} else {
			next = min(next, at)
		}
	}
	return first, due, next
}

// firstListed is gothrough that brings no multiplier up to date but that of the first page.
func (q *Queue) firstListed(s uint32, clock Clock) (first uint32, due, next float64) {
	first, _, next = q.gothrough(s, false, clock)
	n, base := &q.nodes[first], clock.Last(first)
	n.scale(q.multiplier(s, base, clock))
	return first, q.listedDue(n, base), next
}
