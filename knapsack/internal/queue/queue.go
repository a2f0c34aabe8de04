// Package queue keeps the waiting pages of the rate filter by the time at which they are
// due, and lets those of a group stand behind one another. What it asks about the time that
// passes for them is a Clock.
package queue

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/heap"
)

// Where a page is: the two top bits of its place.
const (
	inMain   uint32 = iota << 30 // waits for its turn
	inHeld                       // may not be polled before a point in time
	inGroup                      // another page of its group goes first
	heapMask = uint32(3) << 30

	// MaxSlots is the most slots that a queue holds.
	MaxSlots = 1 << 30
	// None stands for no slot and no group.
	None = heap.None
)

// A Queue is a priority queue of slots. A slot is either out of the queue (in flight,
// removed), or in its main part with a key, or held until a point in time, or behind
// another of its group. The key is the time at which it is due; the queue compares keys and
// knows nothing of time otherwise.
//
// Of the waiting pages of a group only one, the most urgent, is in the main part or held for
// the group: the front. Pages that are held for themselves are apart. It stands for the group,
// so that pages that may not be polled never crowd the main part. When a front leaves, the next
// one comes forward, due when its group is ready at the earliest. The others are in a heap of
// their own; what their keys mean concerns only the comparison of pages of one group and the
// moment when one comes forward.
//
// Time: O(log n) for each change. Memory: 16 bytes a page, 20 with groups.
type Queue struct {
	place      []uint32 // per slot
	main, held heap.Slots
	group      []uint32 // per slot: index into groups, or None; nil before the first Join
	groups     []group
}

type group struct {
	ready float64 // time before which no page comes forward
	front uint32
	rest  heap.Slots
}

// New returns a queue in which n pages wait, due before all time.
func New(n int) Queue {
	q := Queue{place: make([]uint32, n), main: heap.Slots{Tag: inMain}, held: heap.Slots{Tag: inHeld}}
	q.main.Key, q.main.Slot = make([]float64, n), make([]uint32, n)
	for i := range q.place {
		q.place[i] = inMain | uint32(i)
		q.main.Key[i], q.main.Slot[i] = math.Inf(-1), uint32(i)
	}
	return q
}

// Grow adds a slot, which does not wait.
func (q *Queue) Grow() {
	q.place = append(q.place, None)
	if q.group != nil {
		q.group = append(q.group, None)
	}
}

// Bytes returns the memory that grows with the number of pages.
func (q *Queue) Bytes() int {
	return 4*cap(q.place) + 4*cap(q.group) + 8*cap(q.main.Key) + 4*cap(q.main.Slot) + 8*cap(q.held.Key) + 4*cap(q.held.Slot)
}

// Waits reports whether a page is in the queue, held or not.
func (q *Queue) Waits(slot uint32) bool { return q.place[slot] != None }

// Held reports whether a page is held.
func (q *Queue) Held(slot uint32) bool {
	return q.place[slot] != None && q.place[slot]&heapMask == inHeld
}

// Key returns the key of a waiting page; that of a held one is when it is released.
func (q *Queue) Key(slot uint32) float64 {
	h, at := q.find(slot)
	return h.Key[at]
}

// Len returns the number of pages in the main part.
func (q *Queue) Len() int { return q.main.Len() }

// At returns the page at a position of the main part: a heap, the first one at 0, the
// children of i at 4i+1 to 4i+4.
func (q *Queue) At(i int) (slot uint32) { return q.main.Slot[i] }

// find returns the heap that a waiting page is in, and its position.
func (q *Queue) find(slot uint32) (*heap.Slots, int) {
	at := int(q.place[slot] &^ heapMask)
	switch q.place[slot] & heapMask {
	case inMain:
		return &q.main, at
	case inHeld:
		return &q.held, at
	default:
		return &q.groups[q.group[slot]].rest, at
	}
}

// Put brings in a page that does not wait.
func (q *Queue) Put(slot uint32, key float64) {
	if g := q.groupOf(slot); g != nil {
		if g.front != None {
			front, at := q.find(g.front)
			if front.Key[at] <= key {
				g.rest.Push(q.place, slot, key)
				return
			}
			behind := front.Key[at]
			front.Remove(q.place, at)
			g.rest.Push(q.place, g.front, behind)
		}
		g.front = slot
	}
	q.main.Push(q.place, slot, key)
}

// Take takes a page out, if it waits, and lets the next of its group come forward.
func (q *Queue) Take(slot uint32) {
	if !q.Waits(slot) {
		return
	}
	h, at := q.find(slot)
	h.Remove(q.place, at)
	if g := q.groupOf(slot); g != nil && g.front == slot {
		g.front = None
		q.promote(g)
	}
}

func (q *Queue) promote(g *group) {
	if g.front == None && g.rest.Len() > 0 {
		g.front = g.rest.Slot[0]
		key := g.rest.Key[0]
		g.rest.Remove(q.place, 0)
		q.main.Push(q.place, g.front, max(key, g.ready))
	}
}

// Lead makes a waiting page the front of its group, held until a point in time.
func (q *Queue) Lead(slot uint32, until float64) {
	g := q.groupOf(slot)
	if front := g.front; front != slot {
		h, at := q.find(slot)
		h.Remove(q.place, at)
		h, at = q.find(front)
		key := h.Key[at]
		h.Remove(q.place, at)
		g.rest.Push(q.place, front, key)
		g.front = slot
		q.held.Push(q.place, slot, until)
	}
}

// Rekey changes the key of a waiting page that is not held.
func (q *Queue) Rekey(slot uint32, key float64) {
	if q.groupOf(slot) == nil {
		h, at := q.find(slot)
		h.Move(q.place, at, key)
		return
	}
	q.Take(slot)
	q.Put(slot, key)
}

// Hold puts a page of the main part aside until a point in time, or changes that of a held
// page. It stays the front of its group.
func (q *Queue) Hold(slot uint32, until float64) {
	h, at := q.find(slot)
	if h == &q.held {
		h.Move(q.place, at, until)
		return
	}
	h.Remove(q.place, at)
	q.held.Push(q.place, slot, until)
}

// Release takes out a held page whose time has come. Resume brings it back.
func (q *Queue) Release(now float64) (slot uint32, ok bool) {
	if q.held.Len() == 0 || q.held.Key[0] > now {
		return 0, false
	}
	slot = q.held.Slot[0]
	q.held.Remove(q.place, 0)
	return slot, true
}

// Resume brings a page back that Release took out: into the main part if it has stayed the
// front of its group.
func (q *Queue) Resume(slot uint32, key float64) {
	if g := q.groupOf(slot); g != nil && g.front != slot {
		q.Put(slot, key)
		return
	}
	q.main.Push(q.place, slot, key)
}

// Park holds a waiting page that may not be polled before a point in time itself, so that it does
// not stand for its group: others go first.
func (q *Queue) Park(slot uint32, until float64) {
	q.Take(slot)
	q.held.Push(q.place, slot, until)
}

// Earliest returns the least of what free returns for the pages, but at least now. The key of a
// held page must not be after its free time. It looks at no more pages than it must.
func (q *Queue) Earliest(now float64, free func(slot uint32) float64) float64 {
	at := math.Inf(1)
	for _, slot := range q.main.Slot {
		if at = min(at, free(slot)); at <= now {
			return now
		}
	}
	return max(now, q.earliestHeld(0, at, free))
}

// earliestHeld returns the least free time in a subtree of the held pages, or at if that is less.
func (q *Queue) earliestHeld(node int, at float64, free func(slot uint32) float64) float64 {
	if node >= q.held.Len() || q.held.Key[node] >= at {
		return at
	}
	at = min(at, free(q.held.Slot[node]))
	for child := 4*node + 1; child <= 4*node+4; child++ {
		at = q.earliestHeld(child, at, free)
	}
	return at
}

// AddGroup adds a group without pages and returns its number: 0, 1, 2, …
func (q *Queue) AddGroup() int {
	q.groups = append(q.groups, group{ready: math.Inf(-1), front: None, rest: heap.Slots{Tag: inGroup}})
	return len(q.groups) - 1
}

// Groups returns the number of groups.
func (q *Queue) Groups() int { return len(q.groups) }

// Group returns the group of a slot, None if it is in none.
func (q *Queue) Group(slot uint32) uint32 {
	if q.group == nil {
		return None
	}
	return q.group[slot]
}

// Grouped reports whether a page was ever in a group.
func (q *Queue) Grouped() bool { return q.group != nil }

func (q *Queue) groupOf(slot uint32) *group {
	if g := q.Group(slot); g != None {
		return &q.groups[g]
	}
	return nil
}

// Join puts a page that does not wait into a group, None for none.
func (q *Queue) Join(slot, group uint32) {
	if q.group == nil {
		q.group = slices.Repeat([]uint32{None}, len(q.place))
	}
	q.group[slot] = group
}

// Ready returns the time before which no page of a slot's group comes forward.
func (q *Queue) Ready(slot uint32) float64 {
	if g := q.groupOf(slot); g != nil {
		return g.ready
	}
	return math.Inf(-1)
}

// Front returns the page that stands for a group, None if none of its pages waits.
func (q *Queue) Front(group uint32) uint32 { return q.groups[group].front }

// SetReady sets the time before which no page of a group comes forward, and reports whether it
// was another. It does not concern the present front.
func (q *Queue) SetReady(group uint32, ready float64) (changed bool) {
	g := &q.groups[group]
	changed = g.ready != ready
	g.ready = ready
	return changed
}

// Encode writes the queue. The order within the heaps is kept: among equals it decides.
func (q *Queue) Encode(e *codec.Encoder) {
	encodeHeap(e, &q.main)
	encodeHeap(e, &q.held)
	e.Uint32s(q.group)
	e.Int(len(q.groups))
	for i := range q.groups {
		g := &q.groups[i]
		e.Float64(g.ready)
		e.Uint32(g.front)
		encodeHeap(e, &g.rest)
	}
}

func encodeHeap(e *codec.Encoder, h *heap.Slots) {
	e.Uint32s(h.Slot)
	e.Float64s(h.Key)
}

// Decode reads what Encode wrote: a queue of so many slots, in which exactly those wait
// of which waits reports true.
func Decode(d *codec.Decoder, slots int, waits func(slot int) bool) Queue {
	if d.Err() != nil {
		return Queue{} // slots may be anything
	}
	q := Queue{place: slices.Repeat([]uint32{None}, slots)}
	q.main = q.decodeHeap(d, inMain)
	q.held = q.decodeHeap(d, inHeld)
	q.group = d.Uint32s()
	d.Require(len(q.group) == 0 || len(q.group) == slots, "groups of %d of %d slots", len(q.group), slots)
	for range d.Count(8 + 4 + 2*8) {
		g := group{ready: d.Float64In(math.Inf(-1), math.MaxFloat64), front: d.Uint32()}
		g.rest = q.decodeHeap(d, inGroup)
		q.groups = append(q.groups, g)
	}
	if d.Err() == nil {
		d.Check(q.check(waits))
	}
	return q
}

// decodeHeap reads a heap of slots that are in no other.
func (q *Queue) decodeHeap(d *codec.Decoder, tag uint32) heap.Slots {
	h := heap.Slots{Tag: tag, Slot: d.Uint32s()}
	h.Key = d.Float64sIn(len(h.Slot), math.Inf(-1), math.MaxFloat64)
	d.Require(h.Ordered(), "the queue is out of order")
	for i, slot := range h.Slot {
		if int(slot) >= len(q.place) || q.place[slot] != None {
			d.Fail("slot %d is queued at %d", slot, i)
			return heap.Slots{}
		}
		q.place[slot] = tag | uint32(i)
	}
	return h
}

// check returns an error unless every slot waits that should, and each group with waiting
// pages has one of them in front and the others behind.
func (q *Queue) check(waits func(slot int) bool) error {
	for i := range q.place {
		if q.Waits(uint32(i)) != waits(i) {
			return fmt.Errorf("slot %d is out of place", i)
		}
	}
	for i, g := range q.group {
		if g != None && int(g) >= len(q.groups) {
			return fmt.Errorf("slot %d is in group %d", i, g)
		}
	}
	for i := range q.groups {
		if err := q.checkGroup(uint32(i)); err != nil {
			return err
		}
	}
	for i, g := range q.group {
		if g != None && q.Waits(uint32(i)) && q.place[i]&heapMask == inMain && q.groups[g].front != uint32(i) {
			return fmt.Errorf("slot %d does not wait behind slot %d", i, q.groups[g].front)
		}
	}
	return nil
}

// checkGroup returns an error unless a page of the group that waits stands for it, if
// any does.
func (q *Queue) checkGroup(group uint32) error {
	g := &q.groups[group]
	for _, slot := range g.rest.Slot {
		if q.Group(slot) != group {
			return fmt.Errorf("slot %d waits in group %d", slot, group)
		}
	}
	switch {
	case g.front == None && g.rest.Len() > 0:
		return fmt.Errorf("nobody stands for group %d", group)
	case g.front == None:
		return nil
	case int(g.front) >= len(q.place) || q.Group(g.front) != group || !q.Waits(g.front) || q.place[g.front]&heapMask == inGroup:
		return fmt.Errorf("slot %d stands for group %d", g.front, group)
	}
	return nil
}
