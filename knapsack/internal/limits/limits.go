// Package limits holds what restrains when the rate filter may poll a page, or must.
package limits

import (
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/heap"
)

// Limits holds intervals of pages, pages whose last poll failed, and the pace of groups.
// The zero value has none and takes no memory; 24 bytes a page from the first SetInterval
// on. It does not know when pages were polled: callers say.
type Limits struct {
	interval []bounds           // per slot
	retry    map[uint32]float64 // slot → time before which it is not polled
	// deadlines holds pages with a longest interval by the time at which it was
	// over when they were entered. Entries whose key is not the page's are void.
	deadlines heap.Slots
	paces     []Pace // per group
}

// bounds of the interval of a page. entry is the key of its entry in Limits.deadlines;
// +Inf if it has none.
type bounds struct{ shortest, longest, entry float64 }

var unbounded = bounds{0, math.Inf(1), math.Inf(1)}

// On reports whether anything may keep a page from being polled, the pace of groups apart.
func (l *Limits) On() bool { return l.interval != nil || len(l.retry) > 0 }

// Grow makes room for one more slot.
func (l *Limits) Grow() {
	if l.interval != nil {
		l.interval = append(l.interval, unbounded)
	}
}

// Forget frees a slot.
func (l *Limits) Forget(slot uint32) {
	if l.interval != nil {
		l.interval[slot] = unbounded
	}
	delete(l.retry, slot)
}

// Longest returns the longest interval of a page, +Inf if it has none.
func (l *Limits) Longest(slot uint32) float64 {
	if l.interval == nil {
		return math.Inf(1)
	}
	return l.interval[slot].longest
}

// Earliest returns the time before which a page last polled at polled may not be polled.
func (l *Limits) Earliest(slot uint32, polled float64) float64 {
	t := math.Inf(-1)
	if l.interval != nil {
		if b := l.interval[slot]; b.shortest > 0 {
			t = polled + b.shortest
		}
	}
	if len(l.retry) > 0 {
		if r, ok := l.retry[slot]; ok {
			t = max(t, r)
		}
	}
	return t
}

// SetInterval bounds the interval of one of so many slots, last polled at polled.
func (l *Limits) SetInterval(slot uint32, shortest, longest, polled float64, slots int) {
	if l.interval == nil {
		l.interval = slices.Repeat([]bounds{unbounded}, slots)
	}
	b := &l.interval[slot]
	b.shortest, b.longest = shortest, longest
	if polled+longest < b.entry {
		b.entry = math.Inf(1) // the entry is void; one that is too early is seen to in its time
	}
	l.Enter(slot, polled)
}

// Enter gives a page that was last polled at polled, −Inf if never, its deadline if it has
// a longest interval.
func (l *Limits) Enter(slot uint32, polled float64) {
	if l.interval == nil {
		return
	}
	b := &l.interval[slot]
	if !math.IsInf(b.longest, 1) && !math.IsInf(polled, -1) && math.IsInf(b.entry, 1) {
		l.Postpone(slot, polled+b.longest)
	}
}

// Postpone gives a page without a deadline one at a given time.
func (l *Limits) Postpone(slot uint32, until float64) {
	l.interval[slot].entry = until
	l.deadlines.Push(nil, slot, until)
}

// Deadlines returns the number of entries, those included that are void.
func (l *Limits) Deadlines() int { return l.deadlines.Len() }

// Expired takes out a page whose deadline is over; the page has none then. It may have
// been polled meanwhile: the caller gives it a new one by Enter or Postpone.
func (l *Limits) Expired(now float64) (slot uint32, ok bool) {
	d := &l.deadlines
	for d.Len() > 0 && d.Key[0] <= now {
		key, slot := d.Key[0], d.Slot[0]
		d.Remove(nil, 0)
		if b := &l.interval[slot]; key == b.entry {
			b.entry = math.Inf(1)
			return slot, true
		}
	}
	return 0, false
}

// Delay keeps a page from being polled before a point in time.
func (l *Limits) Delay(slot uint32, until float64) {
	if l.retry == nil {
		l.retry = map[uint32]float64{}
	}
	l.retry[slot] = until
}

// Clear ends the delay of a page.
func (l *Limits) Clear(slot uint32) { delete(l.retry, slot) }

// AddPace adds the pace of the next group.
func (l *Limits) AddPace(p Pace) { l.paces = append(l.paces, p) }

// Paces returns the number of groups.
func (l *Limits) Paces() int { return len(l.paces) }

// Pace returns the pace of a group.
func (l *Limits) Pace(group uint32) *Pace { return &l.paces[group] }

// A Pace restrains the polls of a group: two are MinGap apart at least, and MaxShare of all
// polls are the group's at most; 0 is no bound.
type Pace struct {
	MinGap, MaxShare float64
	turn             float64 // time at which the share allows the next poll
}

// NewPace returns the pace of a group that has not been polled.
func NewPace(minGap, maxShare float64) Pace { return Pace{minGap, maxShare, math.Inf(-1)} }

// Valid reports whether the bounds can be kept.
func (p *Pace) Valid() bool {
	return p.MinGap >= 0 && !math.IsInf(p.MinGap, 1) && p.MaxShare >= 0 && p.MaxShare <= 1
}

// Spend takes note of a poll of the group, where the budget pays for one poll in every
// period, and returns the time before which the next one may not be. The share is a leaky
// bucket: what is not used lasts for one period.
func (p *Pace) Spend(now, period float64) (ready float64) {
	ready = min(now+p.MinGap, math.MaxFloat64)
	if p.MaxShare > 0 {
		p.turn = min(max(p.turn, now-period)+period/p.MaxShare, math.MaxFloat64)
		ready = max(ready, p.turn)
	}
	return ready
}

// Encode writes the limits.
func (l *Limits) Encode(e *codec.Encoder) {
	e.Int(len(l.interval))
	for _, b := range l.interval {
		e.Float64(b.shortest)
		e.Float64(b.longest)
		e.Float64(b.entry)
	}
	e.Int(len(l.retry))
	for _, slot := range slices.Sorted(maps.Keys(l.retry)) {
		e.Uint32(slot)
		e.Float64(l.retry[slot])
	}
	e.Uint32s(l.deadlines.Slot)
	e.Float64s(l.deadlines.Key)
	e.Int(len(l.paces))
	for _, p := range l.paces {
		e.Float64(p.MinGap)
		e.Float64(p.MaxShare)
		e.Float64(p.turn)
	}
}

// Decode reads what Encode wrote, of so many slots.
func (l *Limits) Decode(d *codec.Decoder, slots int) {
	n := d.Count(3 * 8)
	d.Require(n == 0 || n == slots, "intervals of %d of %d slots", n, slots)
	for range n {
		shortest := d.NonNegative()
		longest := d.Float64In(max(shortest, math.SmallestNonzeroFloat64), math.Inf(1))
		l.interval = append(l.interval, bounds{shortest, longest, d.Float64In(math.Inf(-1), math.Inf(1))})
	}
	for range d.Count(4 + 8) {
		slot, until := d.Uint32(), d.Finite()
		_, twice := l.retry[slot]
		d.Require(!twice && int(slot) < slots, "slot %d is not polled before %v", slot, until)
		l.Delay(slot, until)
	}
	l.deadlines.Slot = d.Uint32sIn(codec.AnyLen, uint32(max(0, n-1)))
	l.deadlines.Key = d.Float64sIn(len(l.deadlines.Slot), math.Inf(-1), math.MaxFloat64)
	d.Require(l.deadlines.Ordered() && (n > 0 || l.deadlines.Len() == 0), "deadlines are out of order")
	for range d.Count(3 * 8) {
		p := Pace{d.Float64(), d.Float64(), d.Float64In(math.Inf(-1), math.MaxFloat64)}
		d.Require(p.Valid(), "a group has a gap of %v and a share of %v", p.MinGap, p.MaxShare)
		l.paces = append(l.paces, p)
	}
}
