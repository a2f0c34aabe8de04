package queue

import "math"

// enlist puts a page at the front of a flat set.
func (q *Queue) enlist(s, slot uint32) {
	set := &q.sets[s]
	n := &q.nodes[slot]
	n.left, n.right = None, set.list
	if set.list != None {
		q.nodes[set.list].left = slot
	}
	set.list = slot
	q.place[slot] = inLot
	set.count++
}

// delist takes a page out of a flat set.
func (q *Queue) delist(s, slot uint32) {
	n := &q.nodes[slot]
	if n.left != None {
		q.nodes[n.left].right = n.right
	} else {
		q.sets[s].list = n.right
	}
	if n.right != None {
		q.nodes[n.right].left = n.left
	}
	q.place[slot] = None
}

// putFlat brings a page into a flat set, and makes lots of that if there are too many pages then.
func (q *Queue) putFlat(s, slot uint32, due, now float64, clock Clock) {
	base := clock.Last(slot)
	passed := 0.0
	if !math.IsInf(base, -1) {
		passed = (min(due, math.MaxFloat64) - base) * q.multiplier(s, base, clock)
	}
	q.nodes[slot].x = q.span(passed)
	if q.turn || q.unit == 0 {
		due = base
	}
	set := &q.sets[s]
	if q.enlist(s, slot); set.count > 1 {
		due = min(due, set.first(q, s))
	}
	if set.count > flatMost {
		q.unfold(s, now, clock)
		due = q.firstLot(s)
	}
	q.settle(s, min(due, math.MaxFloat64))
}

// unfold makes lots of a flat set.
func (q *Queue) unfold(s uint32, now float64, clock Clock) {
	set := &q.sets[s]
	list := set.list
	set.list, set.tree, set.count = None, true, 0
	for slot := list; slot != None; {
		next, base := q.nodes[slot].right, clock.Last(slot)
		q.putLot(s, slot, q.after(base, q.nodes[slot].x, q.multiplier(s, base, clock)), now, clock)
		slot = next
	}
}

// gothrough returns the page of a flat set that is due first, and when.
func (q *Queue) gothrough(s uint32, clock Clock) (first uint32, due float64) {
	first = None
	var x float32
	for slot := q.sets[s].list; slot != None; slot = q.nodes[slot].right {
		base := clock.Last(slot)
		n := &q.nodes[slot]
		at := base
		if !q.turn {
			at = q.after(base, n.x, q.multiplier(s, base, clock))
		}
		if first == None || at < due || at == due && (n.x < x || n.x == x && slot < first) {
			first, due, x = slot, at, n.x
		}
	}
	return first, due
}
