package queue

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// A set is the waiting pages of a group.
type set struct {
	*more        // plain until it has one of its own, see own
	list  uint32 // the first page; if flat
	count uint32 // pages in lots or the list
}

// more is what a set does without that is flat and has never been shut.
type more struct {
	lots  []uint32 // by base; unless flat
	ready float64  // time before which no page may be polled
	aside *aside
	best  uint32 // the lot that is due first
	news  uint32 // answers since the lots were brought up to date
	tree  bool   // not flat
	open  bool
}

// plain is that of all sets that do without, and is never written.
var plain = &more{best: None, ready: math.Inf(-1), open: true}

// own returns that of one set alone, to write to.
func (s *set) own() *more {
	if s.more == plain {
		own := *plain
		s.more = &own
	}
	return s.more
}

func (s *set) setReady(ready float64) {
	if ready != s.ready {
		s.own().ready = ready
	}
}

// ordered is a heap of sets.
type ordered struct {
	heap.Slots
	place []uint32 // up to the highest set that was ever in
}

// at returns the place of a set, None if it is not in.
func (o *ordered) at(set uint32) uint32 {
	if int(set) < len(o.place) {
		return o.place[set]
	}
	return None
}

// reach makes room for the place of a set.
func (o *ordered) reach(set uint32) {
	for int(set) >= len(o.place) {
		o.place = append(o.place, None)
	}
}

// set gives a set a key; +Inf takes it out.
func (o *ordered) set(set uint32, key float64) {
	at := o.at(set)
	switch {
	case at == None && key <= math.MaxFloat64:
		o.reach(set)
		o.Push(o.place, set, key)
	case at == None:
	case key > math.MaxFloat64:
		o.Remove(o.place, int(at))
	case o.Key[at] != key:
		o.Move(o.place, int(at), key)
	}
}

// key returns that of a set, +Inf if it is not in.
func (o *ordered) key(set uint32) float64 {
	if at := o.at(set); at != None {
		return o.Key[at]
	}
	return math.Inf(1)
}

// first returns the least key, +Inf if there is none.
func (o *ordered) first() float64 {
	if o.Len() == 0 {
		return math.Inf(1)
	}
	return o.Key[0]
}

func (q *Queue) addSet() {
	q.sets.Add(set{more: plain, list: None})
}

func (q *Queue) setOf(slot uint32) uint32 {
	if q.group == nil {
		return 0
	}
	return q.group[slot] + 1 // None + 1 is 0
}

// groupOf returns the group of a set.
func groupOf(set uint32) uint32 { return set - 1 }

// first returns the time at which a page of a set is due, as it was when last looked at.
func (s *set) first(q *Queue, id uint32) float64 {
	if at := q.due.at(id); at != None {
		return q.due.Key[at]
	}
	return math.Inf(-1) // it is shut: it is looked at when it is open again
}

// settle puts a set where it belongs among the others; its pages are due at time due.
func (q *Queue) settle(s uint32, due float64) {
	set := q.sets.At(s)
	if set.count == 0 || !set.open {
		due = math.Inf(1)
	}
	q.due.set(s, due)
	event, deadline := set.times()
	q.event.set(s, event)
	q.deadline.set(s, deadline)
}

// times returns the time at which something happens to a set, and the first deadline of its pages
// as far as it counts; +Inf for never.
func (s *set) times() (event, deadline float64) {
	event, deadline = math.Inf(1), math.Inf(1)
	if s.aside != nil {
		if s.aside.held.Len() > 0 {
			event = s.aside.held.Key[0]
		}
		if s.aside.deadlines.Len() > 0 && s.open {
			deadline = s.aside.deadlines.Key[0]
		}
	}
	if !s.open {
		if s.count > 0 {
			event = math.Inf(-1)
		}
		event = max(event, s.ready)
	}
	return event, deadline
}

// AddGroup adds a group without pages and returns its number: 0, 1, 2, …
func (q *Queue) AddGroup() int {
	q.addSet()
	return q.sets.Len() - 2
}

// Groups returns the number of groups.
func (q *Queue) Groups() int { return q.sets.Len() - 1 }

// Group returns the group of a slot, None if it is in none.
func (q *Queue) Group(slot uint32) uint32 {
	if q.group == nil {
		return None
	}
	return q.group[slot]
}

// Join puts a page that does not wait into a group, None for none.
func (q *Queue) Join(slot, group uint32) {
	if q.group == nil {
		q.group = slices.Repeat([]uint32{None}, len(q.place))
	}
	q.group[slot] = group
}

// SetReady sets the time before which no page of a group may be polled.
func (q *Queue) SetReady(group uint32, ready, now float64, clock Clock) {
	s := group + 1
	set := q.sets.At(s)
	set.setReady(min(ready, math.MaxFloat64))
	open := !(ready > now)
	if set.open && !open {
		for i := len(q.hot) - 1; i >= 0; i-- {
			if h := q.hot[i]; q.setOf(h.slot) == s {
				q.putBack(h.slot, h.lot, now, now, clock)
			}
		}
	}
	if open != set.open {
		set.own().open = open
		q.settle(s, math.Inf(-1))
		return
	}
	q.settle(s, set.first(q, s))
}

// ReadyGroup returns the time before which no page of a group may be polled.
func (q *Queue) ReadyGroup(group uint32) float64 { return q.sets.At(group + 1).ready }

// News tells that the multipliers of a group, None for none, may have changed.
func (q *Queue) News(group uint32, now float64, clock Clock) {
	s := group + 1
	set := q.sets.At(s)
	if set.tree {
		if group != None && set.open {
			q.lookAtAlike(s, now)
		}
		if set.news++; set.news < set.count/newsRounds {
			q.freshen(s, now, clock)
			return
		}
		set.news = 0
	}
	for i := range q.hot {
		if h := &q.hot[i]; q.setOf(h.slot) == s {
			h.at = math.Inf(-1)
		}
	}
	if set.count == 0 || !set.open {
		return
	}
	if !set.tree {
		_, due, _ := q.gothrough(s, true, clock)
		q.settle(s, due)
		return
	}
	for _, at := range set.lots {
		q.follow(s, at, now, clock)
	}
	q.settle(s, q.firstLot(s))
}

// youngSteps is how often the youngest lots of manyPages or more are brought up to date in the time in
// which one is begun. Of fewer pages they are at each poll: the index of a page in a burst of changes
// grows with the power 4 to 8 of the multiplier, and the multiplier of a lot that is 300 polls old
// may move by some hundredths with a poll.
const youngSteps, manyPages = 16, 1 << 17

// freshen brings some lots of a set up to date: the multiplier of one moves by a part of itself while its
// age grows by one, so that the i-th from the end comes every i-th time, or twice as often. Takes O(log
// lots) multipliers.
func (q *Queue) freshen(s uint32, now float64, clock Clock) {
	set := q.sets.At(s)
	every := uint32(1)
	if len(q.place) >= manyPages {
		every += set.count / (lotsInCycle * youngSteps)
	}
	if set.news%every != 0 || !set.open {
		return
	}
	turn := int(set.news / every)
	for span := 1; span <= len(set.lots); span *= 2 {
		i := len(set.lots) - span - turn%span
		if i < 0 {
			return
		}
		q.follow(s, set.lots[i], now, clock)
		q.better(s, set.lots[i])
	}
}

const (
	// sweepCalls is how many calls it takes to bring all sets up to date, or 1/sweepRounds of the
	// number of pages if that is more, if there are not more than mostSweep to do for each; news
	// of an n/newsRounds-th of a set's pages is told to all lots.
	sweepCalls, sweepRounds, mostSweep, farSweep, newsRounds = 8, 96, 32, 24, 48
)

// sweep brings some of the sets up to date.
func (q *Queue) sweep(most int, now float64, clock Clock) {
	some := q.lots.Len() + q.sets.Len()
	if most == mostSweep {
		calls := max(sweepCalls, len(q.place)/sweepRounds)
		if len(q.place) >= manyPages && q.sets.Len() == 1 && q.sets.At(0).news%uint32(max(1, calls/some)) != 0 {
			return // there are fewer lots than calls
		}
		some = 1 + some/calls
	}
	for range min(most, some) {
		if int(q.sweepSet) >= q.sets.Len() {
			q.sweepSet = 0
		}
		s := q.sweepSet
		set := q.sets.At(s)
		if set.tree && int(q.sweepLot) < len(set.lots) {
			at := set.lots[q.sweepLot]
			q.follow(s, at, now, clock)
			q.better(s, at)
			q.sweepLot++
			if int(q.sweepLot) < len(set.lots) {
				continue
			}
		}
		q.sweepLot = 0
		q.sweepSet++
		if set.count > 0 && set.open {
			due := 0.0
			if set.tree {
				due = q.firstLot(s)
			} else {
				_, due, _ = q.gothrough(s, true, clock)
			}
			q.settle(s, due)
		}
	}
}
