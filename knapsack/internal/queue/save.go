package queue

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/heap"
)

// listed stands, in saved state, for the lot of the pages of a flat set.
const listed = ^tagMask

// inSet reports whether a saved place is in a lot or a list.
func inSet(where uint32) bool { return where&tagMask == 0 }

// Encode writes the queue. The order within heaps is kept, as among equals it decides; that of
// trees and lists is not, as nothing may depend on it.
func (q *Queue) Encode(e *codec.Encoder) {
	where := slices.Clone(q.place)
	number, numbers := uint32(0), slices.Repeat([]uint32{None}, q.lots.Len())
	for s := range uint32(q.sets.Len()) {
		set := q.sets.At(s)
		for slot := set.list; slot != None; slot = q.nodes[slot].right {
			where[slot] = listed
		}
		for _, at := range set.lots {
			for tree := range q.trees(q.lots.At(at)) {
				q.walk(tree, func(slot uint32) { where[slot] = number })
			}
			numbers[at] = number
			number++
		}
	}
	x := make([]float32, len(where))
	var m []float32 // of those in lists, in order
	for slot := range where {
		if inSet(where[slot]) {
			x[slot] = q.nodes[slot].x
		}
		if where[slot] == listed {
			m = append(m, math.Float32frombits(q.nodes[slot].left))
		}
	}
	e.Uint32s(where)
	e.Float32s(x)
	e.Float32s(m)
	e.Uint32s(q.group)
	for _, x := range [...]float64{q.level, q.unit, q.origin, q.width, q.fall} {
		e.Float64(x)
	}
	e.Bool(q.turn)
	e.Bool(q.lost)
	e.Uint32(q.early)
	e.Int(q.sets.Len())
	for s := range uint32(q.sets.Len()) {
		q.encodeSet(e, q.sets.At(s))
	}
	e.Int(len(q.hot))
	for _, h := range q.hot {
		e.Uint32(h.slot)
		lot := h.lot
		if lot != None {
			lot = numbers[lot]
		}
		e.Uint32(lot)
		e.Float64(h.index)
		e.Float64(h.at)
	}
	for _, o := range [...]*ordered{&q.due, &q.event, &q.deadline} {
		encodeHeap(e, &o.Slots)
	}
	e.Uint32(q.sweepSet)
	e.Uint32(q.sweepLot)
	e.Int(len(q.free)) // how far a sweep goes depends on them
}

func (q *Queue) encodeSet(e *codec.Encoder, set *set) {
	e.Float64(set.ready)
	e.Uint32(set.news)
	e.Bool(set.tree)
	e.Bool(set.open)
	e.Int(len(set.lots))
	best := uint32(None)
	for i, at := range set.lots {
		l := q.lots.At(at)
		e.Float64(l.base)
		e.Float64(l.m)
		e.Float64(l.due)
		e.Float64(l.last)
		e.Bool(l.alike)
		e.Bool(l.shown)
		if at == set.best {
			best = uint32(i)
		}
	}
	e.Uint32(best)
	e.Bool(set.aside != nil)
	if set.aside != nil {
		encodeHeap(e, &set.aside.held)
		encodeHeap(e, &set.aside.deadlines)
	}
}

func encodeHeap(e *codec.Encoder, h *heap.Slots) {
	e.Uint32s(h.Slot)
	e.Float64s(h.Key)
}

// Decode reads what Encode wrote: a queue of so many slots, in which exactly those wait of which
// waits reports true. It is long because it goes through the fields in the order of Encode.
func Decode(d *codec.Decoder, slots int, waits func(slot int) bool) Queue {
	where := d.Uint32s()
	if d.Require(len(where) == slots, "%d places of %d slots", len(where), slots); d.Err() != nil {
		return Queue{}
	}
	q := Queue{place: slices.Repeat([]uint32{None}, slots), nodes: make([]node, slots)}
	for slot, x := range d.Float32sIn(slots, 0, math.MaxFloat32) {
		d.Require((where[slot] != None) == waits(slot), "slot %d is out of place", slot)
		d.Require(math.Float32bits(x) == 0 || inSet(where[slot]), "slot %d has a frequency of %v and is in no set", slot, x)
		q.nodes[slot].x = x
	}
	q.decodeListed(d, where)
	q.group = d.Uint32s()
	d.Require(len(q.group) == 0 || len(q.group) == slots, "groups of %d of %d slots", len(q.group), slots)
	q.level, q.unit, q.origin, q.width = d.NonNegative(), d.NonNegative(), d.NonNegative(), d.NonNegative()
	q.fall = d.Float64In(0, farthestFall)
	d.Require((q.unit > 0) == (q.origin > 0) && (q.unit > 0) == (q.level > 0), "level %v of %v", q.level, q.origin)
	q.setPace()
	q.turn, q.lost, q.early = d.Bool(), d.Bool(), d.Uint32()
	sets := d.Count(8 + 4 + 2 + 8 + 4 + 1)
	d.Require(sets > 0, "there is no set")
	for s := 0; s < sets && d.Err() == nil; s++ {
		q.addSet()
		q.decodeSet(d, uint32(s))
	}
	if d.Err() != nil {
		return Queue{}
	}
	for slot, g := range q.group {
		d.Require(int(g+1) < sets, "slot %d is in group %d", slot, g)
	}
	for slot := len(where) - 1; slot >= 0; slot-- {
		if d.Err() == nil && inSet(where[slot]) {
			d.Check(q.restore(uint32(slot), where[slot]))
		}
	}
	for i := range uint32(d.Count(2*4 + 2*8)) {
		h := hotPage{d.Uint32(), d.Uint32(), d.NonNegative(), d.Float64In(math.Inf(-1), math.MaxFloat64), math.Inf(1)}
		good := int(h.slot) < slots && i < mostHot && q.unit > 0 && where[h.slot] == inHot|i &&
			(h.lot == None || int(h.lot) < q.lots.Len())
		if d.Require(good, "slot %d is hot", h.slot); d.Err() != nil {
			return Queue{}
		}
		q.place[h.slot] = inHot | i
		q.hot = append(q.hot, h)
	}
	for _, o := range [...]*ordered{&q.due, &q.event, &q.deadline} {
		o.reach(uint32(sets - 1))
		if o.Slots = decodeHeap(d, 0, o.place); o.Len() == 0 {
			o.place = nil
		}
	}
	q.sweepSet, q.sweepLot = d.Uint32(), d.Uint32()
	for range d.IntIn(0, slots/alonePerLot+leastLots*sets) {
		q.free = append(q.free, q.lots.Add(lot{root: None, due: math.Inf(1)}))
	}
	if d.Err() == nil {
		d.Check(q.check(where))
	}
	return q
}

// decodeListed reads the multipliers of the pages in lists.
func (q *Queue) decodeListed(d *codec.Decoder, where []uint32) {
	var slots []int
	for slot := range where {
		if where[slot] == listed {
			slots = append(slots, slot)
		}
	}
	for i, m := range d.Float32sIn(len(slots), math.SmallestNonzeroFloat32, math.MaxFloat32) {
		q.nodes[slots[i]].left = math.Float32bits(m)
	}
}

func (q *Queue) decodeSet(d *codec.Decoder, s uint32) {
	set := q.sets.At(s)
	set.setReady(d.Float64In(math.Inf(-1), math.MaxFloat64))
	news, tree, open := d.Uint32(), d.Bool(), d.Bool()
	d.Require(tree || news == 0, "news of %d answers of a list", news)
	if tree || !open {
		own := set.own()
		own.news, own.tree, own.open = news, tree, open
	}
	before := math.Inf(-1)
	for range d.Count(4*8 + 2) {
		l := lot{base: d.Float64In(before, math.MaxFloat64), root: None}
		d.Require(set.tree, "a lot at %v after one at %v", l.base, before)
		l.m = d.Float64In(math.SmallestNonzeroFloat64, math.MaxFloat64)
		l.due = d.Float64In(math.Inf(-1), math.Inf(1))
		l.last = d.Float64In(l.base, math.MaxFloat64)
		l.alike, l.shown = d.Bool(), d.Bool()
		before = l.base
		own := set.own()
		own.lots = append(own.lots, q.lots.Add(l))
	}
	if best := d.Uint32(); best != None {
		if d.Require(int(best) < len(set.lots), "lot %d is first", best); d.Err() == nil {
			set.best = set.lots[best]
		}
	}
	if !d.Bool() {
		return
	}
	set.own().aside = new(aside)
	set.aside.held = decodeHeap(d, inHeld, q.place)
	if q.must == nil {
		q.must = slices.Repeat([]uint32{None}, len(q.place))
	}
	set.aside.deadlines = decodeHeap(d, 0, q.must)
}

// decodeHeap reads a heap of what is in no other.
func decodeHeap(d *codec.Decoder, tag uint32, place []uint32) heap.Slots {
	h := heap.Slots{Tag: tag, Slot: d.Uint32s()}
	h.Key = d.Float64sIn(len(h.Slot), math.Inf(-1), math.MaxFloat64)
	d.Require(h.Ordered(), "the queue is out of order")
	for i, slot := range h.Slot {
		if int(slot) >= len(place) || place[slot] != None {
			d.Fail("slot %d is queued at %d", slot, i)
			return heap.Slots{Tag: tag}
		}
		place[slot] = tag | uint32(i)
	}
	return h
}

// restore brings back a page of a lot or a list.
func (q *Queue) restore(slot, lot uint32) error {
	s := q.setOf(slot)
	set := q.sets.At(s)
	switch {
	case q.place[slot] != None:
		return fmt.Errorf("slot %d waits twice", slot)
	case !set.tree && lot == listed:
		q.enlist(s, slot, float64(math.Float32frombits(q.nodes[slot].left)))
		return nil
	case len(set.lots) == 0 || lot < set.lots[0] || lot > set.lots[len(set.lots)-1]: // in order
		return fmt.Errorf("slot %d is in lot %d", slot, lot)
	}
	set.count++
	q.nodes[slot].left, q.nodes[slot].right = None, None
	q.furnish(s, q.lots.At(lot), q.nodes[slot].x)
	q.add(lot, slot, shelfOf(q.nodes[slot].x))
	return nil
}

// check returns an error unless all pages are where they are said to be, and all sets where they
// belong. Each of its branches is one thing that a forged state can get wrong.
func (q *Queue) check(where []uint32) error {
	for slot := range uint32(len(where)) {
		if q.Waits(slot) != (where[slot] != None) || q.Held(slot) && q.place[slot] != where[slot] ||
			q.must != nil && q.must[slot] != None && !q.Waits(slot) {
			return fmt.Errorf("slot %d is out of place", slot)
		}
	}
	for _, h := range q.hot {
		if !q.sets.At(q.setOf(h.slot)).open {
			return fmt.Errorf("slot %d is hot and may not be polled", h.slot)
		}
	}
	for s := range uint32(q.sets.Len()) {
		set := q.sets.At(s)
		if (q.due.at(s) != None) != (set.open && set.count > 0) {
			return fmt.Errorf("set %d is out of place", s)
		}
		if set.tree && set.count > 0 && (set.best == None || q.lots.At(set.best).root == None) {
			return fmt.Errorf("set %d has no first page", s)
		}
		for _, at := range set.lots {
			if l := q.lots.At(at); (l.root == None) != (l.due > math.MaxFloat64) {
				return fmt.Errorf("set %d has a lot due at %v, page %d first", s, l.due, l.root)
			}
		}
		if set.aside != nil {
			for _, slot := range slices.Concat(set.aside.held.Slot, set.aside.deadlines.Slot) {
				if q.setOf(slot) != s {
					return fmt.Errorf("slot %d is not of set %d", slot, s)
				}
			}
		}
		event, deadline := set.times()
		if q.event.key(s) != event || q.deadline.key(s) != deadline {
			return fmt.Errorf("set %d is out of place", s)
		}
	}
	return nil
}
