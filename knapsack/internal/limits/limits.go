// Package limits holds what restrains when the rate filter may poll a page, or must.
package limits

import (
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/chunk"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

// Limits holds intervals of pages, pages that are deferred or whose last poll failed, and the
// pace of groups. The zero value has none and takes no memory; 16 bytes a page from the first
// SetInterval on, and about 60 for each page that is deferred or failing. It does not know when
// pages were polled: callers say.
type Limits struct {
	interval []bounds        // per slot
	vetoes   map[uint32]veto // by slot
	failing  int             // of the vetoes, those with a retry
	groups   ids.Registry
	paces    chunk.List[Pace] // per group
}

// bounds of the interval of a page.
type bounds struct{ shortest, longest float64 }

// A veto keeps a page from being polled before two points in time.
type veto struct {
	until float64 // set by Defer; −Inf for none
	retry float64 // set by Fail; −Inf if the last poll was answered
	delay float64 // doubled with each failure in a row, without a bound; 0 if the last poll was answered
}

func (v veto) failing() bool { return !math.IsInf(v.retry, -1) }

var unbounded = bounds{0, math.Inf(1)}

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
	l.lift(slot)
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
	if len(l.vetoes) > 0 {
		if v, ok := l.vetoes[slot]; ok {
			t = max(t, v.until, v.retry)
		}
	}
	return t
}

// SetInterval bounds the interval of one of so many slots.
func (l *Limits) SetInterval(slot uint32, shortest, longest float64, slots int) {
	if l.interval == nil {
		l.interval = slices.Repeat([]bounds{unbounded}, slots)
	}
	l.interval[slot] = bounds{shortest, longest}
}

// Defer keeps a page from being polled before a point in time, whatever was said before.
func (l *Limits) Defer(slot uint32, until float64) {
	v, ok := l.vetoes[slot]
	if !ok {
		v = veto{retry: math.Inf(-1)}
	}
	v.until = until
	l.set(slot, v)
}

// Fail keeps a page from being polled for a time after a poll at time now that got no answer: at
// first for a delay of first, which doubles with each failure in a row up to most, but for the first
// few of them, which are ordinary. Waits from most/4 on are multiplied by spread. What is kept goes on
// doubling beyond most, so that pages that have been failing for long can be told from those that have
// failed for less; see Delay.
func (l *Limits) Fail(slot uint32, now, first, most float64, ordinary int, spread float64) {
	v, ok := l.vetoes[slot]
	if !ok {
		v = veto{until: math.Inf(-1)}
	}
	least := math.Ldexp(first, -ordinary) // doubled with each ordinary failure it comes to first
	if v.failing() {
		v.delay = max(2*v.delay, least)
	} else {
		v.delay = least
	}
	v.delay = min(v.delay, math.MaxFloat64)
	wait := min(max(v.delay, first), most)
	if wait >= most/4 {
		wait *= spread
	}
	v.retry = min(now+wait, math.MaxFloat64)
	l.set(slot, v)
}

// set sets the veto of a page.
func (l *Limits) set(slot uint32, v veto) {
	l.lift(slot)
	if l.vetoes == nil {
		l.vetoes = map[uint32]veto{}
	}
	l.vetoes[slot] = v
	if v.failing() {
		l.failing++
	}
}

// lift removes the veto of a page, if there is one.
func (l *Limits) lift(slot uint32) {
	if v, ok := l.vetoes[slot]; ok {
		if v.failing() {
			l.failing--
		}
		delete(l.vetoes, slot)
	}
}

// Failures returns the number of pages whose last poll got no answer.
func (l *Limits) Failures() int { return l.failing }

// Failing reports whether the last poll of a page got no answer.
func (l *Limits) Failing(slot uint32) bool {
	v, ok := l.vetoes[slot]
	return ok && v.failing()
}

// Delay returns a number that doubles with each failure of a page in a row, 0 if its last poll was
// answered.
func (l *Limits) Delay(slot uint32) float64 {
	if len(l.vetoes) == 0 {
		return 0
	}
	return l.vetoes[slot].delay
}

// Hasten lets a page whose last poll failed be polled from time at on. If that fails, too, the wait
// is as long as it was, counted from then.
func (l *Limits) Hasten(slot uint32, at float64) {
	if v, ok := l.vetoes[slot]; ok && v.retry > at && !math.IsInf(at, -1) {
		v.retry = at
		v.delay /= 2
		l.vetoes[slot] = v
	}
}

// Answered ends the delay after failures of a page that has been answered at time now. It stays
// deferred.
func (l *Limits) Answered(slot uint32, now float64) {
	if len(l.vetoes) == 0 {
		return
	}
	if v, ok := l.vetoes[slot]; ok {
		if v.until <= now {
			l.lift(slot)
			return
		}
		l.set(slot, veto{v.until, math.Inf(-1), 0})
	}
}

// AddPace adds a group and returns its id.
func (l *Limits) AddPace(p Pace) (group int) {
	group = l.groups.Add()
	if slot := ids.Slot(group); slot == l.paces.Len() {
		l.paces.Add(p)
	} else {
		*l.paces.At(uint32(slot)) = p
	}
	return group
}

// Paces returns the number of groups that there have been at one time.
func (l *Limits) Paces() int { return l.paces.Len() }

// Pace returns the pace of the group in a slot.
func (l *Limits) Pace(group uint32) *Pace { return l.paces.At(group) }

// Pages returns the number of pages in the group in a slot, 0 if it has been removed.
func (l *Limits) Pages(group uint32) int {
	if p := l.paces.At(group); !p.removed() {
		return int(p.pages)
	}
	return 0
}

// Removed reports whether the group in a slot has been removed.
func (l *Limits) Removed(group uint32) bool { return l.paces.At(group).removed() }

// Group returns the slot of a group that has not been removed.
func (l *Limits) Group(group int) (slot uint32, ok bool) {
	at, ok := l.groups.Slot(group)
	return uint32(at), ok && !l.paces.At(uint32(at)).removed()
}

// RemoveGroup removes the group in a slot. Its pages stay in it, unrestrained, and the slot is
// used again when the last one has left.
func (l *Limits) RemoveGroup(group uint32) {
	p := l.paces.At(group)
	*p = Pace{limit: gone, last: math.Inf(-1), pages: p.pages, flying: p.flying}
	l.free(group)
}

// free frees the slot of a group that has been removed, once no page is in it.
func (l *Limits) free(group uint32) {
	if p := l.paces.At(group); p.removed() && p.pages == 0 {
		l.groups.Remove(l.groups.ID(int(group)))
	}
}

// Join takes note that a page joins a group, in flight or not.
func (l *Limits) Join(group uint32, flying bool) { l.paces.At(group).count(1, flying) }

// Leave is the inverse of Join.
func (l *Limits) Leave(group uint32, flying bool) {
	l.paces.At(group).count(-1, flying)
	l.free(group)
}

// Encode writes the limits.
func (l *Limits) Encode(e *codec.Encoder) {
	e.Int(len(l.interval))
	for _, b := range l.interval {
		e.Float64(b.shortest)
		e.Float64(b.longest)
	}
	e.Int(len(l.vetoes))
	for _, slot := range slices.Sorted(maps.Keys(l.vetoes)) {
		e.Uint32(slot)
		v := l.vetoes[slot]
		e.Float64(v.until)
		e.Float64(v.retry)
		e.Float64(v.delay)
	}
	l.groups.Encode(e)
	for slot := range uint32(l.paces.Len()) {
		p := l.paces.At(slot)
		by := p.limits()
		e.Float64(by.gap)
		e.Float64(by.share)
		e.Int(by.flying)
		e.Float64(by.turn)
		e.Float64(p.last)
		e.Float64(by.until)
		e.Bool(p.removed())
	}
}

// Decode reads what Encode wrote, of so many slots. The caller counts the pages of the groups, by
// Join, and calls Counted.
func (l *Limits) Decode(d *codec.Decoder, slots int) {
	n := d.Count(2 * 8)
	d.Require(n == 0 || n == slots, "intervals of %d of %d slots", n, slots)
	for range n {
		shortest := d.NonNegative()
		longest := d.Float64In(max(shortest, math.SmallestNonzeroFloat64), math.Inf(1))
		l.interval = append(l.interval, bounds{shortest, longest})
	}
	next := 0 // the least slot that may follow
	for range d.Count(4 + 3*8) {
		slot := d.Uint32()
		v := veto{d.Float64In(math.Inf(-1), math.MaxFloat64), d.Float64In(math.Inf(-1), math.MaxFloat64), d.NonNegative()}
		d.Require(int(slot) >= next && int(slot) < slots, "slot %d is not polled before %v", slot, v.until)
		d.Require(v.failing() || v.delay == 0, "slot %d has not failed and waits for %v", slot, v.delay)
		l.set(slot, v)
		next = int(slot) + 1
	}
	l.groups = ids.Decode(d)
	for range l.groups.Slots() {
		by := limit{gap: d.Float64(), share: d.Float64(), flying: d.Int(), turn: d.Float64In(math.Inf(-1), math.MaxFloat64)}
		p := Pace{last: d.Float64In(math.Inf(-1), math.MaxFloat64)}
		by.until = d.Float64In(math.Inf(-1), math.MaxFloat64)
		p.restrain(by)
		d.Require(p.limit != nil || !math.Signbit(by.gap) && !math.Signbit(by.share), "a group that −0 restrains")
		if d.Bool() {
			d.Require(p.limit == nil, "a group that has been removed is restrained")
			p.limit = gone
		}
		if d.Require(p.Valid(), "a group has a gap of %v and a share of %v", by.gap, by.share); d.Err() != nil {
			return
		}
		l.paces.Add(p)
	}
}

// Counted ends Decode: the pages of a group are in one that there is.
func (l *Limits) Counted(d *codec.Decoder) {
	for slot := range l.paces.Len() {
		p := l.paces.At(uint32(slot))
		ok := p.pages == 0
		if l.groups.Live(slot) {
			ok = p.pages > 0 || !p.removed()
		}
		d.Require(ok, "group %d has %d pages", slot, p.pages)
	}
}
