// Package queue finds the page with the greatest index among all that wait, without looking at
// all. What it asks about the time that passes for pages is a Clock, and about their indices
// Pages.
//
// A page that is below the present level of the indices that are polled waits for the time at
// which it will reach that level, as far as can be told; when that has come it is looked at
// again, and either waits once more or becomes one of the few hot pages, of which the best
// one is polled. The level follows, so that there are some hot pages at all times. As long as no
// page reaches the level before its time, and one is hot, the page polled is the best of all.
//
// The index of a page depends on its elapsed time, which is scaled by a multiplier that changes for
// many pages at once. These pages are of one group, and were last answered at about one time: a
// lot. Within a lot the order does not change, so that only the time of its first page has to
// follow. The pages of a small group are a list, which is gone through. What is kept of a page is
// the time that has to pass at the level, multiplier times elapsed time; when that is depends on
// nothing but the present multiplier and level, so that times do not drift when these go to and
// fro.
//
// Groups also may be shut for a time, and pages held; of both the queue knows when that is over.
// Pages may have a deadline, after which they go before all others unless they are held or their
// group is shut.
package queue

import (
	"math"
	"unsafe"

	"github.com/recrawl/recrawl/internal/chunk"
	"github.com/recrawl/recrawl/internal/heap"
)

// Where a page is: the two top bits of its place.
const (
	inTree  uint32 = iota << 30 // below a page of its lot
	inLot                       // the first of a lot, or in the list of a flat set
	inHeld                      // may not be polled before a point in time
	inHot                       // looked at and above the level; None if none of these
	tagMask = uint32(3) << 30

	// MaxSlots is the most slots that a queue holds.
	MaxSlots = 1 << 30
	// None stands for no slot and no group.
	None = heap.None
)

// flatMost is up to how many pages of a set are a list.
const flatMost = 32

// A Queue holds the waiting pages, by slot. Every change takes O(log n) on average.
// Memory: 16 bytes a page, 20 with groups, and one more at most in large sets; 12 more for pages that
// are held, 4 for all and 12 for each page with a deadline.
type Queue struct {
	place []uint32 // per slot
	nodes []node   // per slot
	group []uint32 // per slot; nil before the first Join
	must  []uint32 // per slot: place in the deadlines of its set; nil before the first one

	sets chunk.List[set] // first that of pages in no group
	lots chunk.List[lot]
	free []uint32 // lots not in use
	// Where there is one set: the lot that is due first of each chunk of lots, None if none is due; unknown,
	// also for the chunks beyond, if it is to be found.
	leaders []uint32

	shelves []*shelves
	bare    []uint16 // shelves not in use, counted from 1
	crowd   int      // pages for shelves, for tests; pagesPerShelves if 0

	// Sets by the first times of their pages: of those that are open when a page is due; when
	// one is held no longer, or the set is open; the first deadline of those that are open.
	due, event, deadline ordered

	hot   []hotPage
	level float64 // from which on pages are hot
	unit  float64 // of time, in which a page put before there was one has reached the level origin
	// The time that one is for the numbers in nodes: unit at origin, and more at higher levels.
	origin, pace       float64
	width              float64 // of a lot
	fall               float64 // of the level at the latest call, as no page reached it
	lost               bool    // the level is out of date
	turn               bool    // the page longest without an answer goes first
	early              uint32  // pages put before there is a unit
	coin               uint32
	sweepSet, sweepLot uint32 // next to be brought up to date
}

// New returns a queue in which n pages wait, due before all time.
func New(n int) Queue {
	q := Queue{place: make([]uint32, n), nodes: make([]node, n)}
	q.addSet()
	if n > flatMost {
		q.sets.At(0).own().tree = true
		q.insertLot(0, 0, math.Inf(-1), 1)
		root := q.sets.At(0).lots[0]
		q.lots.At(root).root = 0
		// A tree with one page below each other one: they leave in O(1), in the order of memory.
		for i := range q.nodes {
			q.nodes[i] = node{uint32(i + 1), None, 1}
			q.place[i] = inTree | uint32(i-1)
		}
		q.nodes[n-1].left = None
		q.place[0] = inLot | root
		q.sets.At(0).count, q.sets.At(0).best = uint32(n), root
		q.lots.At(root).due = math.Inf(-1)
	} else {
		for i := n - 1; i >= 0; i-- {
			q.nodes[i].x = 1
			q.enlist(0, uint32(i), 1)
		}
	}
	q.settle(0, math.Inf(-1))
	return q
}

// Grow adds a slot, which does not wait.
func (q *Queue) Grow() {
	q.place = append(q.place, None)
	q.nodes = append(q.nodes, node{})
	if q.group != nil {
		q.group = append(q.group, None)
	}
	if q.must != nil {
		q.must = append(q.must, None)
	}
}

// Begin tells what a cycle is, for the first time, from which index on pages are hot, and since
// when pages wait. Pages that have been put before have this index a time unit after their last
// answers; they are alike or not, but for those answered before the start.
func (q *Queue) Begin(cycle, unit, level, start float64, alike bool) {
	q.unit, q.origin = unit, level
	q.setLevel(level)
	q.Follow(cycle)
	q.leaders = q.leaders[:0]
	for s := range uint32(q.sets.Len()) {
		early := uint32(None)
		for _, at := range q.sets.At(s).lots {
			l := q.lots.At(at)
			switch {
			case math.IsInf(l.base, -1):
				l.alike, l.base, l.last = alike, start, start
			case l.base >= start:
				l.alike = alike
			case early == None: // answers before the start count as of then
				early, l.base, l.last = at, start, max(l.last, start)
			default:
				q.lots.At(early).last = max(q.lots.At(early).last, l.last)
				q.pour(at, early)
				l.base, l.last = start, start
			}
		}
	}
}

// Follow tells how long a cycle is now.
func (q *Queue) Follow(cycle float64) { q.width = cycle / q.lotsPerCycle() }

// lotsPerCycle returns how many lots are begun in a cycle.
func (q *Queue) lotsPerCycle() float64 {
	if n := len(q.place); n < manyPages {
		return max(lotsInCycle, float64(n)/pollsOfLot)
	}
	return lotsInCycle
}

// Waits reports whether a page is in the queue, held or not.
func (q *Queue) Waits(slot uint32) bool { return q.place[slot] != None }

// Held reports whether a page is held.
func (q *Queue) Held(slot uint32) bool { return q.Waits(slot) && q.place[slot]&tagMask == inHeld }

// Hot reports whether a page is hot.
func (q *Queue) Hot(slot uint32) bool { return q.Waits(slot) && q.place[slot]&tagMask == inHot }

// Rekey has a waiting page that is not held looked at again at time due.
func (q *Queue) Rekey(slot uint32, due, now float64, clock Clock) {
	q.take(slot)
	q.Put(slot, due, now, clock)
}

// Due returns when a page is looked at again that waits and is neither held nor hot, about; +Inf for
// pages that are alike, of which one is looked at for all.
func (q *Queue) Due(slot uint32, clock Clock) float64 {
	s, base := q.setOf(slot), clock.Last(slot)
	set := q.sets.At(s)
	if !set.tree {
		return q.listedDue(&q.nodes[slot], base)
	}
	i, found := q.searchLot(set, base)
	if !found {
		i = max(0, i-1)
	}
	l := q.lots.At(set.lots[i])
	if l.alike {
		return math.Inf(1)
	}
	return q.after(l.base, q.nodes[slot].x, l.m)
}

// Listed reports whether the set of a page is a list.
func (q *Queue) Listed(slot uint32) bool { return !q.sets.At(q.setOf(slot)).tree }

// Open reports whether a page waits and neither it is held nor its set shut.
func (q *Queue) Open(slot uint32) bool {
	return q.Waits(slot) && !q.Held(slot) && q.sets.At(q.setOf(slot)).open
}

// Put brings in a page that does not wait, to be looked at again at time due.
func (q *Queue) Put(slot uint32, due, now float64, clock Clock) {
	if q.unit == 0 {
		q.early++
	}
	if s := q.setOf(slot); q.sets.At(s).tree {
		q.putLot(s, slot, due, now, clock)
	} else {
		q.putFlat(s, slot, due, now, clock)
	}
}

// multiplier returns that of the pages of a set.
func (q *Queue) multiplier(s uint32, last float64, clock Clock) float64 {
	if math.IsInf(last, -1) {
		return 1
	}
	return clock.Multiplier(groupOf(s), last)
}

// after returns when so much time as a node says by x has passed since base, for pages whose
// multiplier is m.
func (q *Queue) after(base float64, x float32, m float64) float64 {
	if math.IsInf(base, -1) {
		return base
	}
	return min(base+float64(float64(x)*q.pace)/m, math.MaxFloat64)
}

// span is the inverse of after: what a node says of the time that has to pass. Before there is a
// unit the order is that in which pages are put.
func (q *Queue) span(passed float64) float32 {
	if q.unit == 0 {
		return 1 + float32(min(q.early, 1<<20))/(1<<20)
	}
	return float32(max(0, min(math.MaxFloat32, passed/q.pace)))
}

// Take takes a page out, if it waits.
func (q *Queue) Take(slot uint32) {
	q.take(slot)
	q.SetDeadline(slot, math.Inf(1))
}

// take is Take but for the deadline.
func (q *Queue) take(slot uint32) {
	if !q.Waits(slot) {
		return
	}
	s := q.setOf(slot)
	set := q.sets.At(s)
	switch q.place[slot] & tagMask {
	case inHeld:
		set.aside.held.Remove(q.place, int(q.place[slot]&^tagMask))
		q.settle(s, set.first(q, s))
	case inHot:
		i := q.place[slot] &^ tagMask
		last := len(q.hot) - 1
		lotOf := q.hot[i].lot
		q.hot[i] = q.hot[last]
		q.place[q.hot[i].slot] = inHot | i
		q.hot = q.hot[:last]
		q.place[slot] = None
		if lotOf != None {
			if l := q.lots.At(lotOf); l.shown {
				l.shown = false
				q.retime(lotOf)
				q.settle(s, q.firstLot(s))
			}
		}
	default:
		set.count--
		if !set.tree {
			q.delist(s, slot)
			q.settle(s, set.first(q, s))
		} else if at, first := q.uproot(slot); first {
			q.retime(at)
			q.better(s, at)
		}
	}
}

// Bytes returns the memory that grows with the number of pages.
func (q *Queue) Bytes() int {
	const lotBytes = int(unsafe.Sizeof(lot{}))
	bytes := 4*cap(q.place) + 12*cap(q.nodes) + 4*cap(q.group) + 4*cap(q.must) + lotBytes*q.lots.Cap() + 4*cap(q.free) + 4*cap(q.leaders)
	bytes += len(q.shelves) * int(unsafe.Sizeof(shelves{}))
	for s := range uint32(q.sets.Len()) {
		bytes += 4 * cap(q.sets.At(s).lots)
		if a := q.sets.At(s).aside; a != nil {
			bytes += 12 * (cap(a.held.Slot) + cap(a.deadlines.Slot))
		}
	}
	return bytes
}
