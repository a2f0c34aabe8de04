package queue

import (
	"math"
	"slices"
)

// A hotPage has been looked at and was above the level: its index at a time.
type hotPage struct {
	slot      uint32
	lot       uint32 // that it stands for, if the pages of that are alike; else None
	index, at float64
	last      float64 // its last answer; +Inf before that is asked for
}

const (
	// mostLooks bounds the pages that one call looks at as they are due; the others wait for the next
	// call, so that no call is long. sample are looked at to find the level.
	mostLooks, sample = 32, 64
	// ahead is how many pages are looked at before they are due if few are hot, so that the level need not
	// fall: all that is due earlier then would come at once.
	ahead = 4
	// mostFalls is how often the level falls in one call at most.
	mostFalls = 6
	// mostSteps bounds how often a call finds that another set is due first.
	mostSteps = 32
	// aim is how much above the level a page is meant to be when it is looked at again, so that it
	// need not wait once more because it is a little below.
	aim = 1.01
	// few pages are all looked at, which takes some three times as long as 100,000.
	few = 100
	// stale is the part of the time since its last answer after which a hot page is looked at
	// again: its index may have grown by twice that. To look only at those that would be the best if
	// their indices grew as the square of that time takes a fifth fewer looks, and finds 40 % less on a
	// recorded history where all pages change at once: multipliers jump there.
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
	left := mostLooks
	seen := q.look(hotPage{slot: None}, now, &left, now, pages)
	if q.fewAreHot() {
		next := min(ahead, left)
		seen = q.look(seen, math.Inf(1), &next, now, pages)
	}
	best := q.top()
	for k := 0; k < mostFalls && left > 0 && best.index < q.level; k++ {
		q.descend(best.index, now, pages)
		seen = q.look(seen, now, &left, now, pages)
		best = q.top()
	}
	if len(q.hot) == 0 {
		q.lookAhead(seen, now, pages)
		best = q.top()
	}
	q.steer(best.index)
	return best.slot, best.index
}

// top returns the best of the hot pages, None if there is none.
func (q *Queue) top() hotPage {
	best := hotPage{slot: None}
	for _, h := range q.hot {
		if best.slot == None || h.index > best.index || h.index == best.index && h.slot < best.slot {
			best = h
		}
	}
	return best
}

// fewAreHot reports whether there are too few hot pages. Of many pages one that stands for a lot is enough,
// as others like it follow: to look for more took 4 looks at each poll of the first cycle, for nothing.
func (q *Queue) fewAreHot() bool {
	if len(q.hot) >= fewHot {
		return false
	}
	return len(q.place) < manyPages || !slices.ContainsFunc(q.hot, func(h hotPage) bool {
		return h.lot != None && q.lots.At(h.lot).root != None
	})
}

// indexOf returns the index of a page.
func indexOf(pages Pages, slot uint32, now float64) float64 { return bounded(pages.Index(slot, now)) }

// bounded returns an index within what there is: weights may make it infinite.
func bounded(index float64) float64 {
	if index > 0 {
		return min(index, math.MaxFloat64)
	}
	return 0
}

// Oldest returns a page that has been without an answer for longest, to a lot. There must be
// one that may be polled.
func (q *Queue) Oldest(now float64, clock Clock) (slot uint32) {
	q.cool(now, clock)
	q.sweep(mostSweep, now, clock)
	steps := mostSteps
	slot, _ = q.first(now, math.Inf(1), &steps, clock)
	return slot
}

// Turn says whether Oldest will be asked, or Best.
func (q *Queue) Turn(on bool) {
	q.lost = q.lost || q.turn && !on
	q.turn = on
}

// look looks at pages that are due by some time, *left of them at most, which it counts down; of those
// due later than now only as long as few are hot. Pages above the level become hot, and the others
// wait. It returns the best of those that wait and of seen, which was looked at before.
func (q *Queue) look(seen hotPage, by float64, left *int, now float64, pages Pages) hotPage {
	steps := mostSteps
	for *left > 0 && (by == now || q.fewAreHot()) {
		if len(q.hot) == mostHot {
			if *left -= q.raise(now, pages); len(q.hot) == mostHot {
				return seen
			}
		}
		slot, lot := q.first(now, by, &steps, pages)
		if slot == None {
			return seen
		}
		*left--
		index, due := pages.Look(slot, now, aim*q.level)
		if index = bounded(index); index >= q.level || !(due > now) {
			q.heat(slot, lot, index, now)
			continue
		}
		if seen.slot == None || index > seen.index {
			seen = hotPage{slot: slot, lot: lot, index: index, at: now}
		}
		q.putBack(slot, lot, due, now, pages)
	}
	return seen
}

// lookAhead makes pages hot that have not reached the level: those that are due next, and the best of
// those that were looked at.
func (q *Queue) lookAhead(seen hotPage, now float64, pages Pages) {
	if seen.slot != None {
		q.take(seen.slot)
		q.heat(seen.slot, seen.lot, seen.index, now)
	}
	steps := mostSteps
	for range ahead {
		slot, lot := q.first(now, math.Inf(1), &steps, pages)
		if slot == None {
			return
		}
		q.heat(slot, lot, indexOf(pages, slot, now), now)
	}
}

// HasAlike reports whether pages in no group wait that are alike, as nothing is known of them.
func (q *Queue) HasAlike() bool {
	set := q.sets.At(0)
	if len(set.lots) == 0 {
		return false
	}
	oldest := q.lots.At(set.lots[0])
	return oldest.alike && oldest.root != None
}

// Few reports whether there are so few pages that Best goes through all, whenever they are due.
func (q *Queue) Few() bool { return len(q.place) <= few }

// bestOfFew is Best for few pages.
func (q *Queue) bestOfFew(now float64, pages Pages) (best uint32, index float64) {
	best, index = None, -1
	for slot := range uint32(len(q.place)) {
		if q.Open(slot) {
			x := indexOf(pages, slot, now)
			// Of pages that are worth nothing, or more than a number holds, the first one would get all polls.
			beyond := x == 0 || x == math.MaxFloat64
			if x > index || x == index && beyond && pages.Last(slot) < pages.Last(best) {
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
	q.hot = append(q.hot, hotPage{slot, lot, index, now, math.Inf(1)})
	if lot != None {
		l := q.lots.At(lot)
		l.shown, l.last = true, max(now, l.base)
		q.retime(lot)
		q.better(q.setOf(slot), lot)
	}
}

// reheat looks at hot pages again.
func (q *Queue) reheat(now float64, pages Pages) {
	for i := range q.hot {
		h := &q.hot[i]
		if h.last > h.at {
			h.last = pages.Last(h.slot)
		}
		if now-h.at > stale*(now-h.last) {
			h.index, h.at = indexOf(pages, h.slot, now), now
		}
	}
}

// cool makes all hot pages wait.
func (q *Queue) cool(now float64, clock Clock) {
	for len(q.hot) > 0 {
		h := q.hot[len(q.hot)-1]
		q.putBack(h.slot, h.lot, now, now, clock)
	}
}

// first takes out the page that is due first and not later than a limit, None if there is none,
// with its lot if the pages of that are alike. steps bounds the sets that are brought up to date.
func (q *Queue) first(now, limit float64, steps *int, clock Clock) (slot, lot uint32) {
	for q.due.Len() > 0 && q.due.Key[0] <= limit {
		s, key := q.due.Slot[0], q.due.Key[0]
		set := q.sets.At(s)
		var due, next float64 // when the first page is due, and the one after it
		if lot = None; set.tree {
			l := q.lots.At(set.best)
			q.follow(s, set.best, now, clock)
			if slot, due = l.root, l.due; l.alike {
				lot = set.best
			}
		} else {
			slot, due, next = q.firstListed(s, clock)
		}
		late := due > key && *steps > 0
		if late {
			*steps--
			next = min(due, next)
		} else {
			clock.Touch(slot)
			q.take(slot)
		}
		switch {
		case !set.tree:
			q.settle(s, next)
		case late:
			q.settle(s, q.firstLot(s))
		}
		if !late {
			return slot, lot
		}
	}
	return None, None
}
