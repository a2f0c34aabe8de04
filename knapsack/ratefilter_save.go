package knapsack

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

const rateFilterMagic = "recrawl/ratefilter"

// AppendBinary appends the state: about 70 bytes a page.
func (f *RateFilter) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, rateFilterMagic, 1)
	f.book.encode(e)
	e.Byte(byte(f.objective))
	e.Float64(f.start)
	e.Uint64(f.polls)
	e.Uint64(f.answers)
	e.Float64(f.cycle)
	e.Float64(f.anchor)
	e.Int(f.moves)
	e.Float64(f.block)
	e.Uint64(f.blockPolls)
	e.Float64(f.threshold)
	e.Uint32(f.sweep)
	for i := range f.pages {
		e.Float64(f.pages[i].polled)
		e.Byte(byte(f.pages[i].moves))
		for _, w := range f.pages[i].belief {
			e.Byte(w)
		}
	}
	f.census.encode(e)
	f.limits.encode(e)
	e.Uint64s(f.signals.pending)
	for _, c := range f.signals.counts {
		e.Float64(c[0])
		e.Float64(c[1])
	}
	f.main.encode(e)
	f.timed.encode(e)
	return e.Finish()
}

// MarshalBinary returns the state.
func (f *RateFilter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; f may be the zero value.
func (f *RateFilter) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, rateFilterMagic, 1)
	if err != nil {
		return err
	}
	r := &RateFilter{book: decodeBook(d), objective: Objective(d.Byte())}
	if r.objective >= objectives {
		d.Fail("objective %d", r.objective)
	}
	r.start, r.polls, r.answers = d.Float64(), d.Uint64(), d.Uint64()
	r.cycle, r.anchor, r.moves = d.Float64(), d.Float64(), d.Int()
	r.block, r.blockPolls = d.Float64(), d.Uint64()
	r.threshold, r.sweep = d.Float64(), d.Uint32()
	slots := r.ids.Slots()
	begun := !math.IsInf(r.start, -1)
	switch {
	case math.IsNaN(r.start) || math.IsNaN(r.block) || r.start > r.block || r.block > r.now || begun != (r.polls > 0):
		d.Fail("%d polls since %v", r.polls, r.start)
	case !(r.cycle >= 0) || math.IsInf(r.cycle, 1) || !(math.Abs(r.anchor) < 1000) || r.moves < -1000 || r.moves > 1000 || r.blockPolls > r.polls:
		d.Fail("a cycle of %v", r.cycle)
	case !(r.threshold >= 0) || math.IsInf(r.threshold, 1):
		d.Fail("threshold %v", r.threshold)
	case int(r.sweep) > slots || slots > maxRatePages:
		d.Fail("slot %d of %d is next", r.sweep, slots)
	}
	for range slots {
		if d.Err() != nil {
			return d.Err()
		}
		p := ratePage{polled: d.Float64(), pos: none}
		if math.IsNaN(p.polled) || math.IsInf(p.polled, 1) {
			d.Fail("slot %d was polled at %v", len(r.pages), p.polled)
		}
		p.moves = int8(d.Byte())
		for k := range p.belief {
			p.belief[k] = d.Byte()
		}
		r.pages = append(r.pages, p)
	}
	r.census.decode(d)
	r.limits.decode(d, r)
	r.signals.pending = d.Uint64s()
	if s := len(r.signals.pending); s > 0 && s*64 < slots {
		d.Fail("signals for %d of %d slots", s*64, slots)
	}
	for i := range r.signals.counts {
		for c := range r.signals.counts[i] {
			r.signals.counts[i][c] = d.Float64()
			if x := r.signals.counts[i][c]; !(x >= 0) || math.IsInf(x, 1) {
				d.Fail("%v signals", x)
			}
		}
	}
	r.main.decode(d, r, inMain)
	r.timed.decode(d, r, inTimed)
	if d.Err() == nil {
		if err := r.checkPlaces(); err != nil {
			d.Fail("%v", err)
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	r.table = values[r.objective]()
	r.focus()
	*f = *r
	return nil
}

// checkPlaces says whether every page is in a heap, or in flight, or removed;
// and whether each group with waiting pages has one in front.
func (f *RateFilter) checkPlaces() error {
	for i := range f.pages {
		waits := f.ids.Live(i) && !f.inFlight(i)
		if (f.pages[i].pos != none) != waits {
			return fmt.Errorf("slot %d is out of place", i)
		}
	}
	for i := range f.limits.groups {
		g := &f.limits.groups[i]
		if g.front == none {
			if len(g.rest.slot) > 0 {
				return fmt.Errorf("nobody stands for group %d", i)
			}
			continue
		}
		if int(g.front) >= len(f.pages) || f.limits.group == nil || f.limits.group[g.front] != uint32(i) ||
			f.pages[g.front].pos == none || f.pages[g.front].pos&placeMask == inGroup {
			return fmt.Errorf("slot %d stands for group %d", g.front, i)
		}
	}
	for i, g := range f.limits.group {
		if g != none && f.pages[i].pos != none && f.pages[i].pos&placeMask != inGroup && f.limits.groups[g].front != uint32(i) {
			return fmt.Errorf("slot %d does not wait behind slot %d", i, f.limits.groups[g].front)
		}
	}
	return nil
}

func (h *pageHeap) encode(e *codec.Encoder) {
	e.Uint32s(h.slot)
	e.Float64s(h.key)
}

// decode reads a heap of pages of f that are in no other; of any slots if f is nil.
func (h *pageHeap) decode(d *codec.Decoder, f *RateFilter, place uint32) {
	h.place, h.slot, h.key = place, d.Uint32s(), d.Float64s()
	if len(h.slot) != len(h.key) {
		d.Fail("%d keys for %d pages", len(h.key), len(h.slot))
		return
	}
	for i, slot := range h.slot {
		if math.IsNaN(h.key[i]) || math.IsInf(h.key[i], 1) || h.key[max(i-1, 0)/4] > h.key[i] ||
			f != nil && (int(slot) >= len(f.pages) || f.pages[slot].pos != none) {
			d.Fail("slot %d is queued at %d", slot, i)
			return
		}
		if f != nil {
			f.pages[slot].pos = place | uint32(i)
		}
	}
}

func (l *limits) encode(e *codec.Encoder) {
	e.Float64s(l.weights)
	e.Int(len(l.interval))
	for _, b := range l.interval {
		e.Float64(b.min)
		e.Float64(b.max)
		e.Float64(b.entry)
	}
	e.Uint32s(l.group)
	e.Int(len(l.retry))
	for _, slot := range slices.Sorted(maps.Keys(l.retry)) {
		e.Uint32(slot)
		e.Float64(l.retry[slot])
	}
	l.deadlines.encode(e)
	e.Int(len(l.groups))
	for i := range l.groups {
		g := &l.groups[i]
		e.Float64(g.MinGap)
		e.Float64(g.MaxShare)
		e.Float64(g.ready)
		e.Float64(g.turn)
		e.Uint32(g.front)
		g.rest.encode(e)
	}
}

func (l *limits) decode(d *codec.Decoder, f *RateFilter) {
	slots := len(f.pages)
	fits := func(n int) {
		if n != 0 && n != slots {
			d.Fail("limits of %d of %d pages", n, slots)
		}
	}
	l.weights = d.Float64s()
	fits(len(l.weights))
	for i, w := range l.weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			d.Fail("slot %d has weight %v", i, w)
		}
	}
	n := d.Int()
	fits(n)
	for i := 0; i < n && d.Err() == nil; i++ {
		b := intervalBounds{d.Float64(), d.Float64(), d.Float64()}
		if !(b.min >= 0 && b.max > 0 && b.min <= b.max) || math.IsInf(b.min, 1) || math.IsNaN(b.entry) {
			d.Fail("slot %d has an interval from %v to %v", i, b.min, b.max)
		}
		l.interval = append(l.interval, b)
	}
	l.group = d.Uint32s()
	fits(len(l.group))
	for n := d.Int(); n > 0 && d.Err() == nil; n-- {
		slot, until := d.Uint32(), d.Float64()
		if _, twice := l.retry[slot]; twice || int(slot) >= slots || math.IsNaN(until) || math.IsInf(until, 0) {
			d.Fail("slot %d is not polled before %v", slot, until)
		}
		if l.retry == nil {
			l.retry = map[uint32]float64{}
		}
		l.retry[slot] = until
	}
	l.deadlines.decode(d, nil, 0)
	for _, slot := range l.deadlines.slot {
		if int(slot) >= len(l.interval) {
			d.Fail("slot %d has a deadline", slot)
		}
	}
	n = d.Int()
	for i := 0; i < n && d.Err() == nil; i++ {
		g := pageGroup{GroupLimit: GroupLimit{d.Float64(), d.Float64()}, ready: d.Float64(), turn: d.Float64(), front: d.Uint32()}
		if err := g.check(); err != nil || math.IsNaN(g.ready) || math.IsNaN(g.turn) || math.IsInf(g.ready, 1) || math.IsInf(g.turn, 1) {
			d.Fail("group %d: %v, ready at %v and %v", i, err, g.ready, g.turn)
		}
		g.rest.decode(d, f, inGroup)
		for _, slot := range g.rest.slot {
			if d.Err() == nil && (int(slot) >= len(l.group) || l.group[slot] != uint32(i)) {
				d.Fail("slot %d waits in group %d", slot, i)
			}
		}
		l.groups = append(l.groups, g)
	}
	for i, g := range l.group {
		if g != none && int(g) >= len(l.groups) {
			d.Fail("slot %d is in group %d", i, g)
		}
	}
}
