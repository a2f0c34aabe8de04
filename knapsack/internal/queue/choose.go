package queue

import (
	"math"
)

// A hotPage has been looked at and was above the level: its index at a time.
type hotPage struct {
	slot      uint32
	lot       uint32 // that it stands for, if the pages of that are alike; else None
	index, at float64
}

const (
	// When there are mostHot hot pages the worse half waits again. While there are fewer than fewHot
	// the level falls, and while there are more than manyHot it rises, by about as much as makes
	// one page more or less hot. If there is none it falls until there is one, but not by more than
	// farthestFall at a time.
	mostHot, manyHot, fewHot = 24, 16, 8
	farthestFall             = 0.4
	// mostLooks bounds the pages that one call looks at, and sample are looked at to find the level.
	mostLooks, sample = 48, 64
	// few pages are all looked at, which takes some three times as long as 100,000.
	few = 100
	// stale is the part of the time since its last answer after which a hot page is looked at
	// again: its index may have grown by twice that.
	stale = 0.002
	// pagesPerNat is how many pages, as a part of all, are within a nat of the index of the best,
	// about; mostMove bounds how far the level moves for that.
	pagesPerNat, mostMove = 0.77, 0.05
	// sweepCalls is how many calls it takes to bring all sets up to date, if there are not more
	// than mostSweep to do for each, farSweep after a move of the level; news of an n/newsRounds-th
	// of a set's pages is told to all lots.
	sweepCalls, mostSweep, farSweep, newsRounds = 32, 32, 256, 48
	// wide is how long a lot may have lasted, as a part of the time since, for its pages to be put
	// off when their multiplier falls or the level rises.
	wide = 0.3
)

// Best returns the page with the greatest index, and that. There must be one that may be polled.
func (q *Queue) Best(now float64, pages Pages) (slot uint32, index float64) {
	if q.Few() {
		return q.bestOfFew(now, pages)
	}
	if q.lost {
		q.find(now, pages)
	}
	q.sweep(now, pages)
	q.reheat(now, pages)
	spare := q.look(now, pages)
	for fall := leastFall; len(q.hot) == 0 && fall < farthestFall; fall *= 2 {
		q.setLevel(q.level * (1 - 1.01*fall))
		q.sweep(now, pages)
		spare = q.look(now, pages)
	}
	switch {
	case len(q.hot) == 0:
		q.rescue(spare, now, pages)
	case len(q.hot) > manyHot:
		q.setLevel(q.level * (1 + q.step()))
	case len(q.hot) < fewHot:
		q.setLevel(q.level * (1 - q.step()))
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
	q.sweep(now, clock)
	steps := mostLooks
	slot, _ = q.first(now, math.Inf(1), &steps, clock)
	return slot
}

// Turn says whether Oldest will be asked, or Best.
func (q *Queue) Turn(on bool) {
	q.lost = q.lost || q.turn && !on
	q.turn = on
}

// look looks at the pages that are due, and returns the best of those that are not hot, None for
// none.
func (q *Queue) look(now float64, pages Pages) (spare uint32) {
	spare = None
	spareIndex, steps := -1.0, mostLooks
	for range mostLooks {
		if len(q.hot) == mostHot {
			if q.raise(now, pages); len(q.hot) == mostHot {
				break
			}
		}
		slot, at := q.first(now, now, &steps, pages)
		if slot == None {
			break
		}
		index := indexOf(pages, slot, now)
		due := now
		if index < q.level {
			due = pages.When(slot, now, index, q.level)
		}
		switch {
		case !(due > now):
			q.heat(slot, at, index, now)
		case at != None:
			q.putOff(slot, at, due)
		default:
			if q.Put(slot, due, pages); index > spareIndex {
				spare, spareIndex = slot, index
			}
		}
	}
	return spare
}

// rescue makes a page hot although none has reached the level: the best one that was looked at, or
// that which is due next.
func (q *Queue) rescue(spare uint32, now float64, pages Pages) {
	lot, steps := uint32(None), mostLooks
	if spare == None {
		spare, lot = q.first(now, math.Inf(1), &steps, pages)
	} else {
		q.take(spare)
	}
	q.heat(spare, lot, indexOf(pages, spare, now), now)
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

// find sets the level to where, by a sample of the pages, there would be fewHot hot ones.
func (q *Queue) find(now float64, pages Pages) {
	var index [sample]float64
	for i := range index {
		if slot := uint32(i * len(q.place) / sample); q.Open(slot) {
			index[i] = indexOf(pages, slot, now)
		}
	}
	sortFew(index[:])
	q.setLevel(index[sample-1-fewHot*sample/len(q.place)])
	q.lost = false
}

// heat makes a page that does not wait hot, which stands for a lot or, if that is None, not.
func (q *Queue) heat(slot, lot uint32, index, now float64) {
	q.place[slot] = inHot | uint32(len(q.hot))
	q.hot = append(q.hot, hotPage{slot, lot, index, now})
	if lot != None {
		l := &q.lots[lot]
		l.shown = true
		l.due = q.lotDue(l)
		q.better(q.setOf(slot), lot)
	}
}

// putOff puts a page back into its lot, all pages of which are due at time due.
func (q *Queue) putOff(slot, lot uint32, due float64) {
	l := &q.lots[lot]
	x := q.nodes[slot].x
	l.rate = max((due-l.base)/float64(x), q.unit*leastRate)
	q.insert(q.setOf(slot), lot, slot, l.base+float64(x)*l.rate)
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
		q.Put(slot, now, clock)
	}
}

// raise sets the level to the index of half of the hot pages; the others wait again.
func (q *Queue) raise(now float64, pages Pages) {
	var index [mostHot]float64
	for i := range q.hot {
		index[i] = q.hot[i].index
	}
	sortFew(index[:])
	median := index[mostHot/2]
	if !(median > q.level) {
		return
	}
	q.setLevel(median)
	for i := len(q.hot) - 1; i >= 0; i-- {
		if h := q.hot[i]; h.index < median {
			if due := pages.When(h.slot, now, h.index, median); due > now {
				q.take(h.slot)
				q.Put(h.slot, due, pages)
			}
		}
	}
}

// sortFew sorts by insertion.
func sortFew(x []float64) {
	for i := range x {
		for k := i; k > 0 && x[k] < x[k-1]; k-- {
			x[k], x[k-1] = x[k-1], x[k]
		}
	}
}

// step is by how much of itself the level moves in one call.
func (q *Queue) step() float64 { return min(mostMove, 1/(pagesPerNat*float64(len(q.place)))) }

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

// gothrough returns the page of a flat set that is due first, and when.
func (q *Queue) gothrough(s uint32, clock Clock) (first uint32, due float64) {
	first = None
	q.keepUp(&q.sets[s])
	var x float32
	for slot := q.sets[s].list; slot != None; slot = q.nodes[slot].right {
		base := clock.Last(slot)
		n := &q.nodes[slot]
		at := q.after(base, n.x, q.sets[s].rate/q.multiplier(s, base, clock))
		if first == None || at < due || at == due && (n.x < x || n.x == x && slot < first) {
			first, due, x = slot, at, n.x
		}
	}
	return first, due
}

// follow brings a lot up to date: its multiplier, and the level, have changed. Where the multiplier
// has fallen the pages of a lot that is wide for its age would be due too late.
func (q *Queue) follow(s uint32, l *lot, now float64, clock Clock) {
	l.follow(q, now)
	m, mLast := q.multiplier(s, l.base, clock), q.multiplier(s, l.last, clock)
	grown := max(m/l.m, mLast/l.mLast)
	if grown > 1 || l.narrow(now) {
		l.rate = max(l.rate/grown, q.unit*leastRate)
	}
	l.m, l.mLast = m, mLast
	l.due = q.lotDue(l)
}

// narrow reports whether the times of a lot may be stretched: pages that were answered long after
// base would be due too late.
func (l *lot) narrow(now float64) bool { return l.last-l.base <= wide*(now-l.last) }

// follow is keepUp where that is not too late for any page.
func (l *lot) follow(q *Queue, now float64) {
	if q.drift > l.drift && !l.narrow(now) {
		l.drift = q.drift
	}
	l.keepUp(q)
}

// News tells that the multipliers of a group, None for none, may have changed.
func (q *Queue) News(group uint32, now float64, clock Clock) {
	s := group + 1
	set := &q.sets[s]
	set.news++
	if set.tree && set.news < set.count/newsRounds {
		return
	}
	set.news = 0
	for i := range q.hot {
		if h := &q.hot[i]; q.setOf(h.slot) == s {
			h.at = math.Inf(-1)
		}
	}
	if set.count == 0 || !set.open {
		return
	}
	if !set.tree {
		_, due := q.gothrough(s, clock)
		q.settle(s, due)
		return
	}
	for _, at := range set.lots {
		q.follow(s, &q.lots[at], now, clock)
	}
	q.settle(s, q.firstLot(s))
}

// sweep brings some of the sets up to date.
func (q *Queue) sweep(now float64, clock Clock) {
	all := len(q.lots) + len(q.sets)
	some := min(mostSweep, 1+all/sweepCalls)
	if q.moved {
		some, q.moved = min(farSweep, all), false
	}
	for range some {
		if int(q.sweepSet) >= len(q.sets) {
			q.sweepSet = 0
		}
		s := q.sweepSet
		set := &q.sets[s]
		if set.tree && int(q.sweepLot) < len(set.lots) {
			q.follow(s, &q.lots[set.lots[q.sweepLot]], now, clock)
			q.sweepLot++
			if int(q.sweepLot) < len(set.lots) {
				continue
			}
		}
		if set.count > 0 && set.open {
			var due float64
			if set.tree {
				due = q.firstLot(s)
			} else {
				_, due = q.gothrough(s, clock)
			}
			q.settle(s, due)
		}
		q.sweepLot = 0
		q.sweepSet++
	}
}
