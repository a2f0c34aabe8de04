package queue

import "math"

// A hotPage has been looked at and was above the level: its index at a time.
type hotPage struct {
	slot      uint32
	lot       uint32 // that it stands for, if the pages of that are alike; else None
	index, at float64
}

const (
	// mostLooks bounds the pages that one call looks at, and sample are looked at to find the level.
	mostLooks, sample = 48, 64
	// ahead is how many pages are looked at before they are due if none is hot.
	ahead = 4
	// aim is how much above the level a page is meant to be when it is looked at again, so that it
	// need not wait once more because it is a little below.
	aim = 1.006
	// few pages are all looked at, which takes some three times as long as 100,000.
	few = 100
	// stale is the part of the time since its last answer after which a hot page is looked at
	// again: its index may have grown by twice that.
	stale = 0.002
)

// Best returns the page with the greatest index, and that. There must be one that may be polled.
func (q *Queue) Best(now float64, pages Pages) (slot uint32, index float64) {
	if q.Few() {
		return q.bestOfFew(now, pages)
	}
	if q.lost {
		q.find(now, pages)
	}
	q.sweep(mostSweep, now, pages)
	q.reheat(now, pages)
	q.look(now, pages)
	if len(q.hot) == 0 {
		q.descend(now, pages)
	} else {
		q.steer()
	}
	best := 0
	for i := range q.hot {
		if h, b := &q.hot[i], &q.hot[best]; h.index > b.index || h.index == b.index && h.slot < b.slot {
			best = i
		}
	}
	return q.hot[best].slot, q.hot[best].index
}

// indexOf returns the index of a page: weights may make it infinite.
func indexOf(pages Pages, slot uint32, now float64) float64 {
	if x := pages.Index(slot, now); x > 0 {
		return min(x, math.MaxFloat64)
	}
	return 0
}

// Oldest returns a page that has been without an answer for longest, to a lot. There must be
// one that may be polled.
func (q *Queue) Oldest(now float64, clock Clock) (slot uint32) {
	q.cool(now, clock)
	q.sweep(mostSweep, now, clock)
	steps := mostLooks
	slot, _ = q.first(now, math.Inf(1), &steps, clock)
	return slot
}

// Turn says whether Oldest will be asked, or Best.
func (q *Queue) Turn(on bool) {
	q.lost = q.lost || q.turn && !on
	q.turn = on
}

// look looks at the pages that are due: those above the level become hot.
func (q *Queue) look(now float64, pages Pages) {
	steps := mostLooks
	for range mostLooks {
		if len(q.hot) == mostHot {
			if q.raise(now, pages); len(q.hot) == mostHot {
				return
			}
		}
		slot, lot := q.first(now, now, &steps, pages)
		if slot == None {
			return
		}
		index := indexOf(pages, slot, now)
		due := now
		if index < q.level {
			due = pages.When(slot, now, index, aim*q.level)
		}
		switch {
		case !(due > now):
			q.heat(slot, lot, index, now)
		case lot != None:
			q.putOff(slot, lot, due, now)
		default:
			q.Put(slot, due, now, pages)
		}
	}
}

// lookAhead makes the pages that are due next hot, although they have not reached the level.
func (q *Queue) lookAhead(now float64, pages Pages) {
	steps := mostLooks
	for range ahead {
		slot, lot := q.first(now, math.Inf(1), &steps, pages)
		if slot == None {
			return
		}
		q.heat(slot, lot, indexOf(pages, slot, now), now)
	}
}

// Few reports whether there are so few pages that Best goes through all, whenever they are due.
func (q *Queue) Few() bool { return len(q.place) <= few }

// bestOfFew is Best for few pages.
func (q *Queue) bestOfFew(now float64, pages Pages) (best uint32, index float64) {
	best, index = None, -1
	for slot := range uint32(len(q.place)) {
		if q.Open(slot) {
			if x := indexOf(pages, slot, now); x > index {
				best, index = slot, x
			}
		}
	}
	q.setLevel(index)
	return best, index
}

// heat makes a page that does not wait hot, which stands for a lot or, if that is None, not.
func (q *Queue) heat(slot, lot uint32, index, now float64) {
	q.place[slot] = inHot | uint32(len(q.hot))
	q.hot = append(q.hot, hotPage{slot, lot, index, now})
	if lot != None {
		l := &q.lots[lot]
		l.shown, l.last = true, now
		l.due = q.lotDue(l)
		q.better(q.setOf(slot), lot)
	}
}

// reheat looks at hot pages again.
func (q *Queue) reheat(now float64, pages Pages) {
	for i := range q.hot {
		if h := &q.hot[i]; now-h.at > stale*(now-pages.Last(h.slot)) {
			h.index, h.at = indexOf(pages, h.slot, now), now
		}
	}
}

// cool makes all hot pages wait.
func (q *Queue) cool(now float64, clock Clock) {
	for len(q.hot) > 0 {
		slot := q.hot[len(q.hot)-1].slot
		q.take(slot)
		q.Put(slot, now, now, clock)
	}
}

// first takes out the page that is due first and not later than a limit, None if there is none,
// with its lot if the pages of that are alike. steps bounds the sets that are brought up to date.
func (q *Queue) first(now, limit float64, steps *int, clock Clock) (slot, lot uint32) {
	for q.due.Len() > 0 && q.due.Key[0] <= limit {
		s, key := q.due.Slot[0], q.due.Key[0]
		set := &q.sets[s]
		var due float64
		if lot = None; set.tree {
			l := &q.lots[set.best]
			q.follow(s, l, now, clock)
			if slot, due = l.root, l.due; l.alike {
				lot = set.best
			}
		} else {
			slot, due = q.gothrough(s, clock)
		}
		if due > key && *steps > 0 {
			*steps--
			if set.tree {
				due = q.firstLot(s)
			}
			q.settle(s, due)
			continue
		}
		q.take(slot)
		return slot, lot
	}
	return None, None
}
