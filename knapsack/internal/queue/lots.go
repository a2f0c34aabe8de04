package queue

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/chunk"
)

// A lot is the pages of a set that were last answered at base or somewhat later. Times of its
// pages are after base.
type lot struct {
	base float64
	last float64 // the latest answer of its pages; not before base, which may be ahead of the present
	m    float64 // the greater multiplier of base and last when the lot was brought up to date
	due  float64 // of the first page, then
	root uint32
	// Of pages that are all alike, as nothing is known of them, one stands for all, which is looked
	// at from the time last on: while it is hot, which is shown, the others wait.
	alike, shown bool
	shelves      uint16 // that its pages are on, counted from 1; 0 if they are one tree
}

const (
	// lotsInCycle is how many lots are begun in a cycle: as fine as multipliers are. With less than
	// manyPages none is begun for more than pollsOfLot polls: multipliers of hot pages, polled every
	// few hundred polls, move while a longer lot is filled. With 100,000 pages what Next picks under
	// Detections is worth .975 of the best so, and .960 with lots of 200 polls that are brought up to
	// date at every fifth (six runs, the pages of TestRateFilterIsNearlyExact).
	lotsInCycle, pollsOfLot = 500, 24
	// A group has a lot for pagesPerLot pages at most, so that lots take 6 bytes a page where there are many,
	// but leastLots, and never more than mostLots; the pages of no group have one for alonePerLot. If there are
	// more, those are merged that are least apart for their age. In groups of 60, whose multipliers surge by
	// factors of 3, choices are worth .998 of the best with 12 or 15 lots, and .944 with 7 (TestBestWithGroups).
	pagesPerLot, alonePerLot, leastLots, mostLots = 8, 4, 12, 128
)

// putLot puts a page into its lot.
func (q *Queue) putLot(s, slot uint32, due, now float64, clock Clock) {
	base := clock.Last(slot)
	m := q.multiplier(s, base, clock)
	at := q.lotFor(s, base, m, clock)
	l := q.lots.At(at)
	// A multiplier out of date would scale the time passed, but not what is left.
	if l.last = max(l.last, base); l.last > l.base {
		q.follow(s, at, now, clock)
	} else {
		l.m = m
	}
	left, passed := 0.0, 0.0
	now = max(now, l.base) // it is before all time until the first Next, and due may be, too
	if due != now {
		left = float64((min(due, math.MaxFloat64) - now) * m)
	}
	if !math.IsInf(l.base, -1) {
		passed = float64((now - l.base) * l.m)
		if base > l.base {
			soon := min(1, slackSoon*left/max(passed, math.SmallestNonzeroFloat64))
			left = max(left/2, left-float64(slack*soon*(base-l.base)*l.m))
		}
	}
	q.insert(s, at, slot, passed+left)
}

// slack is how much the multiplier of a lot may fall before pages that were answered after its base
// are due too late: the time from base to then is taken to pass by so much less. As it is an average
// over the time passed, it may fall by less in the time left, if that is less than a part 1/slackSoon
// of it.
const slack, slackSoon = 0.2, 4

// insert puts a page into a lot that is due when so much time has passed for that.
func (q *Queue) insert(s, at, slot uint32, passed float64) {
	x := q.span(passed)
	q.furnish(s, q.lots.At(at), x)
	q.plant(slot, x)
	q.add(at, slot, shelfOf(q.nodes[slot].x))
	q.sets.At(s).count++
	q.retime(at)
	q.better(s, at)
}

// putBack has a page that was looked at wait to be looked at again at time due, with its lot if it
// stands for one.
func (q *Queue) putBack(slot, lot uint32, due, now float64, clock Clock) {
	q.take(slot)
	if lot != None {
		q.putOff(slot, lot, due, now)
	} else {
		q.Put(slot, due, now, clock)
	}
}

// putOff puts a page back into its lot, all pages of which are due at time due, or looked at before
// as one look is enough for all.
func (q *Queue) putOff(slot, at uint32, due, now float64) {
	s, l := q.setOf(slot), q.lots.At(at)
	looks := max(leastLooksAtAlike, min(mostLooksAtAlike, q.sets.At(s).count/8))
	l.last = max(l.base, min(due, now+(now-l.base)/float64(looks)))
	q.insert(s, at, slot, (now-l.base)*l.m)
}

// A lot of pages that are alike is looked at once for each 8 pages of its set, within these bounds, or
// more often, while its age doubles: a look stands for all of them, and they go up and down with what
// polls tell of all pages. With 16 in place of 512 many of 200,000 pages that never were polled wait
// above the level. Two cycles of these find 7 and 17 % less in the bursty web of the tests so, at .05
// and .2 polls a page and day, and .7 % more to as much in webs of constant rates (two seeds). With 512
// for each of 3750 groups of 40 pages a poll takes three times as many looks, and 3 % less is found;
// with 512 for few pages .2 to .4 % less where rates are constant.
const leastLooksAtAlike, mostLooksAtAlike = 16, 512

// lookAtAlike has the pages of a set that are alike looked at at once: what is known of them is what
// answers tell of the set. They are its first lot.
func (q *Queue) lookAtAlike(s uint32, now float64) {
	lots := q.sets.At(s).lots
	if len(lots) == 0 {
		return
	}
	if l := q.lots.At(lots[0]); l.alike && l.root != None && l.last > max(now, l.base) {
		l.last = max(now, l.base)
		q.retime(lots[0])
		q.better(s, lots[0])
	}
}

// better follows that a lot has got another first page, or that is due at another time.
func (q *Queue) better(s, at uint32) {
	set := q.sets.At(s)
	if set.best != at {
		if l := q.lots.At(at); l.root == None || set.best != None && q.lots.At(set.best).due <= l.due {
			return
		}
		set.best = at
		q.settle(s, q.lots.At(at).due)
		return
	}
	q.settle(s, q.firstLot(s))
}

// follow brings a lot up to date. Where multipliers may differ within it, its pages are rather due
// too early, which a look puts right, than too late.
func (q *Queue) follow(s, at uint32, now float64, clock Clock) {
	q.update(s, q.lots.At(at), now, clock)
	q.retime(at)
}

// update brings the multiplier of a lot up to date.
func (q *Queue) update(s uint32, l *lot, now float64, clock Clock) {
	l.m = q.multiplier(s, l.base, clock)
	if !l.alike && l.last-l.base > narrow*(now-l.base) {
		l.m = max(l.m, q.multiplier(s, l.last, clock))
	}
}

// narrow is how long a lot may have lasted, as a part of the time since, for one multiplier to
// be that of all its pages.
const narrow = 0.05

// retime notes when the first page of a lot is due.
func (q *Queue) retime(at uint32) { q.setDue(at, q.lotDue(q.lots.At(at))) }

// setDue notes when the first page of a lot is due, and whether the lot leads its chunk by that.
func (q *Queue) setDue(at uint32, due float64) {
	l := q.lots.At(at)
	before := l.due
	l.due = due
	k := int(at / chunk.Size)
	if k >= len(q.leaders) {
		return
	}
	switch leader := q.leaders[k]; leader {
	case unknown:
	case at:
		if due > before {
			q.leaders[k] = unknown
		}
	case None:
		if due <= math.MaxFloat64 {
			q.leaders[k] = at
		}
	default:
		if first := q.lots.At(leader); due < first.due || due == first.due && l.ahead(first) {
			q.leaders[k] = at
		}
	}
}

// lotDue returns when the first page of a lot is due, +Inf if there is none.
func (q *Queue) lotDue(l *lot) float64 {
	switch {
	case l.root == None:
		return math.Inf(1)
	case q.turn:
		return l.base
	case l.shown:
		return math.MaxFloat64
	case l.alike:
		return l.last
	}
	return q.after(l.base, q.nodes[l.root].x, l.m)
}

// hasten follows a change of the pace, without a look at the first page.
func (l *lot) hasten(by float64) {
	if !l.alike && !l.shown && l.due <= math.MaxFloat64 && !math.IsInf(l.base, -1) {
		l.due = min(math.MaxFloat64, l.base+float64((l.due-l.base)*by))
	}
}

// firstLot finds the lot that is due first, and returns when it is. Empty ones are never due.
func (q *Queue) firstLot(s uint32) float64 {
	set := q.sets.At(s)
	best, first := uint32(None), math.Inf(1)
	if q.sets.Len() == 1 {
		best, first = q.firstOfAll()
	} else {
		for _, at := range set.lots {
			if due := q.lots.At(at).due; due < first {
				best, first = at, due
			}
		}
	}
	set.own().best = best
	return first
}

// unknown stands for the leader of a chunk that is to be found.
const unknown = None - 1

// firstOfAll is firstLot where there is one set. It goes through the lots as they lie in memory, chunk by
// chunk, and only through chunks in which one is due at another time since; lots not in use are never due.
func (q *Queue) firstOfAll() (best uint32, first float64) {
	for len(q.leaders) < q.lots.Chunks() {
		q.leaders = append(q.leaders, unknown)
	}
	best, first = None, math.Inf(1)
	var leader *lot
	for k, at := range q.leaders {
		if at == unknown {
			at = q.firstOf(k)
			q.leaders[k] = at
		}
		if at == None {
			continue
		}
		if l := q.lots.At(at); leader == nil || l.due < first || l.due == first && l.ahead(leader) {
			best, first, leader = at, l.due, l
		}
	}
	return best, first
}

// firstOf finds the lot of a chunk that is due first, None if none is due.
func (q *Queue) firstOf(k int) (best uint32) {
	best, first := None, math.Inf(1)
	var leader *lot
	for i, lots := 0, q.lots.Chunk(k); i < len(lots); i++ {
		l := &lots[i]
		if l.due < first || l.due == first && leader != nil && l.ahead(leader) {
			best, first, leader = uint32(k*chunk.Size+i), l.due, l
		}
	}
	return best
}

// ahead reports whether a lot is before another one in a set.
func (l *lot) ahead(of *lot) bool {
	return l.base < of.base || l.base == of.base && l.alike && !of.alike
}

// lotFor returns the lot for a page last answered at some time, since when its multiplier is m.
func (q *Queue) lotFor(s uint32, last, m float64, clock Clock) uint32 {
	per := uint32(pagesPerLot)
	if s == 0 {
		per = alonePerLot
	}
	for full := false; ; full = true {
		set := q.sets.At(s)
		i, found := q.searchLot(set, last)
		if found && q.lots.At(set.lots[i]).alike {
			i++
			found = i < len(set.lots) && q.lots.At(set.lots[i]).base == last
		}
		switch {
		case found:
			return set.lots[i]
		case i > 0 && !q.lots.At(set.lots[i-1]).alike && (i < len(set.lots) || last-q.lots.At(set.lots[i-1]).base <= q.width):
			return set.lots[i-1]
		case full || len(set.lots) < max(leastLots, min(mostLots, int(set.count/per))):
			return q.insertLot(s, i, last, m)
		}
		q.fewer(s, last, clock)
	}
}

// searchLot returns the place in a set of the first lot whose base is not before a time, and whether
// that is its base.
func (q *Queue) searchLot(set *set, base float64) (i int, found bool) {
	lo, hi := 0, len(set.lots) // the first one is in lo … hi
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); q.lots.At(set.lots[mid]).base < base {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(set.lots) && q.lots.At(set.lots[lo]).base == base
}

// insertLot makes a lot.
func (q *Queue) insertLot(s uint32, i int, base, m float64) (at uint32) {
	if k := len(q.free); k > 0 {
		at, q.free = q.free[k-1], q.free[:k-1]
	} else {
		at = q.lots.Add(lot{})
	}
	*q.lots.At(at) = lot{base: base, last: base, m: m, due: math.Inf(1), root: None}
	set := q.sets.At(s).own()
	if n := len(set.lots); n == cap(set.lots) { // append would make more room
		set.lots = append(make([]uint32, 0, n+leastLots), set.lots...)
	}
	set.lots = slices.Insert(set.lots, i, at)
	return at
}

// fewer drops the lots of a set that are empty, or merges the two that are least apart for their
// age.
func (q *Queue) fewer(s uint32, now float64, clock Clock) {
	set := q.sets.At(s)
	before := len(set.lots)
	set.lots = slices.DeleteFunc(set.lots, func(at uint32) bool {
		if q.lots.At(at).root != None {
			return false
		}
		q.strip(q.lots.At(at))
		q.free = append(q.free, at)
		for i := range q.hot {
			if h := &q.hot[i]; h.lot == at {
				h.lot = None // of a page that stands for no lot any more
			}
		}
		return true
	})
	if len(set.lots) < before || len(set.lots) < 2 {
		return
	}
	i, least := 0, math.Inf(1)
	for k := range len(set.lots) - 1 {
		a, b := q.lots.At(set.lots[k]), q.lots.At(set.lots[k+1])
		if a.alike || b.alike {
			continue
		}
		if wide := (b.last - a.base) / (now - a.base); wide < least {
			i, least = k, wide
		}
	}
	if math.IsInf(least, 1) {
		return
	}
	into, from := set.lots[i], set.lots[i+1]
	a, b := q.lots.At(into), q.lots.At(from)
	// More time has passed for the older lot: the pages of the other one are now due somewhat
	// too early, which a look puts right.
	a.last = b.last
	q.furnish(s, a, q.nodes[b.root].x)
	q.pour(from, into)
	q.follow(s, into, now, clock)
	set.lots = slices.Delete(set.lots, i+1, i+2)
	q.free = append(q.free, from)
	q.settle(s, q.firstLot(s))
}

// pour puts the pages of a lot into another one.
func (q *Queue) pour(from, into uint32) {
	l := q.lots.At(from)
	for tree, k := range q.trees(l) {
		q.add(into, tree, k)
	}
	l.root = None
	q.strip(l)
	q.retime(from)
	q.retime(into)
}
