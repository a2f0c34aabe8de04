package queue

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// aside is what few sets have.
type aside struct {
	held      heap.Slots // by the time until which they are
	deadlines heap.Slots // by the time from which on they go before all others
}

// Hold puts a page, which may wait or not, aside until a point in time.
func (q *Queue) Hold(slot uint32, until float64) {
	s := q.setOf(slot)
	set := q.asideOf(s)
	if until = min(until, math.MaxFloat64); q.Held(slot) {
		set.aside.held.Move(q.place, int(q.place[slot]&^tagMask), until)
	} else {
		q.take(slot)
		set.aside.held.Push(q.place, slot, until)
	}
	q.settle(s, set.first(q, s))
}

func (q *Queue) asideOf(s uint32) *set {
	set := q.sets.At(s)
	if set.aside == nil {
		set.own().aside = &aside{held: heap.Slots{Tag: inHeld}}
	}
	return set
}

// HeldOf returns the pages of a group, None for none, that are held, in the order of a heap. They are the
// queue's own, until the next call.
func (q *Queue) HeldOf(group uint32) []uint32 {
	if a := q.sets.At(group + 1).aside; a != nil {
		return a.held.Slot
	}
	return nil
}

// SetDeadline sets the time from which on a page goes before all others that are neither held nor
// of a set that is shut; +Inf for none. It must not be before a time until which it is held.
func (q *Queue) SetDeadline(slot uint32, at float64) {
	if q.must == nil {
		if at > math.MaxFloat64 {
			return
		}
		q.must = slices.Repeat([]uint32{None}, len(q.place))
	}
	if at > math.MaxFloat64 && q.must[slot] == None {
		return
	}
	s := q.setOf(slot)
	set := q.asideOf(s)
	d := &set.aside.deadlines
	switch i := q.must[slot]; {
	case at > math.MaxFloat64:
		d.Remove(q.must, int(i))
	case i == None:
		d.Push(q.must, slot, at)
	default:
		d.Move(q.must, int(i), at)
	}
	q.settle(s, set.first(q, s))
}

// Deadlines returns the number of pages with a deadline.
func (q *Queue) Deadlines() (n int) {
	for s := range uint32(q.sets.Len()) {
		if a := q.sets.At(s).aside; a != nil {
			n += a.deadlines.Len()
		}
	}
	return n
}

// Overdue returns a page whose deadline is over, that which has been so for longest.
func (q *Queue) Overdue(now float64) (slot uint32, ok bool) {
	if q.deadline.first() > now {
		return 0, false
	}
	return q.sets.At(q.deadline.Slot[0]).aside.deadlines.Slot[0], true
}

// Ready returns the earliest time at which a page may be polled, not before now; +Inf if there is
// none. O(1).
func (q *Queue) Ready(now float64) float64 {
	if q.due.Len() > 0 || len(q.hot) > 0 {
		return now
	}
	return max(now, q.event.first())
}

// mostEvents bounds the sets and pages that one call brings back.
const mostEvents = 64

// Advance opens the sets and brings back the pages whose time has come, some of them if there are
// many. Afterwards a page may be polled if Ready says so.
func (q *Queue) Advance(now float64, clock Clock) {
	for k := 0; q.event.first() <= now && (k < mostEvents || q.Ready(now) > now); k++ {
		s := q.event.Slot[0]
		set := q.sets.At(s)
		if !set.open {
			set.open = true
			q.settle(s, math.Inf(-1))
			continue
		}
		slot := set.aside.held.Slot[0]
		set.aside.held.Remove(q.place, 0)
		q.settle(s, set.first(q, s))
		q.Put(slot, now, now, clock)
	}
}
