package limits

import "math"

// A Pace restrains the polls of a group: two are a gap apart at least, a share of all polls are the group's at
// most, and so many of its pages are in flight; 0 is no bound. 24 bytes, and 48 more of groups that
// something restrains.
type Pace struct {
	limit  *limit  // nil if nothing restrains the group, gone if it has been removed
	last   float64 // time of the last poll
	pages  int32
	flying int32 // of the pages
}

type limit struct {
	gap, share float64
	flying     int
	turn       float64 // time at which the share allows the next poll
	until      float64 // time until which the group is deferred
}

var unlimited = limit{turn: math.Inf(-1), until: math.Inf(-1)}

// gone is what restrains groups that have been removed: nothing. It is never written.
var gone = &limit{turn: math.Inf(-1), until: math.Inf(-1)}

func (p *Pace) removed() bool { return p.limit == gone }

// NewPace returns the pace of a group without pages that has not been polled.
func NewPace(minGap, maxShare float64, maxInFlight int) Pace {
	p := Pace{last: math.Inf(-1)}
	l := unlimited
	l.gap, l.share, l.flying = minGap, maxShare, maxInFlight
	p.restrain(l)
	return p
}

// limits returns what restrains the group.
func (p *Pace) limits() limit {
	if p.limit == nil {
		return unlimited
	}
	return *p.limit
}

// restrain sets what restrains the group.
func (p *Pace) restrain(l limit) {
	if p.limit = nil; l != unlimited {
		p.limit = new(limit)
		*p.limit = l
	}
}

// Valid reports whether the bounds can be kept.
func (p *Pace) Valid() bool {
	l := p.limits()
	return l.gap >= 0 && !math.IsInf(l.gap, 1) && l.share >= 0 && l.share <= 1 && l.flying >= 0
}

// Limit changes the bounds to those of another pace. What is left to wait since the last poll is as much as if
// the share had been the new one.
func (p *Pace) Limit(to Pace) {
	l, next := p.limits(), to.limits()
	switch {
	case l.share == 0 || next.share == 0:
		l.turn = math.Inf(-1)
	case l.share != next.share && l.turn > p.last && p.last > math.Inf(-1):
		l.turn = min(p.last+float64((l.turn-p.last)*(l.share/next.share)), math.MaxFloat64)
	}
	l.gap, l.share, l.flying = next.gap, next.share, next.flying
	p.restrain(l)
}

// Defer sets the time before which the group is not polled, whatever was said before.
func (p *Pace) Defer(until float64) {
	l := p.limits()
	l.until = until
	p.restrain(l)
}

// Ready returns the time before which the group may not be polled; Full if that depends on an
// answer.
func (p *Pace) Ready() float64 {
	l := p.limit
	if l == nil {
		return math.Inf(-1)
	}
	if l.flying > 0 && int(p.flying) >= l.flying {
		return Full
	}
	ready := max(l.turn, l.until)
	if l.gap > 0 {
		ready = max(ready, min(p.last+l.gap, math.MaxFloat64))
	}
	return ready
}

// Turn returns the time at which the share allows the next poll, −Inf if it does at any time.
func (p *Pace) Turn() float64 { return p.limits().turn }

// Full is later than all times.
const Full = math.MaxFloat64

// Spend takes note of a poll of the group, where the budget pays for one poll in every period.
// The share is a leaky bucket: what is not used lasts for one period.
func (p *Pace) Spend(now, period float64) {
	p.last = now
	p.flying++
	if l := p.limit; l != nil && l.share > 0 {
		period = min(period, math.MaxFloat64/2) // it goes with the cost of the poll, and −∞ + ∞ is no time
		l.turn = min(max(l.turn, now-period)+period/l.share, math.MaxFloat64)
	}
}

// Land takes note that a flight of the group has ended.
func (p *Pace) Land() { p.flying-- }

func (p *Pace) count(by int32, flying bool) {
	p.pages += by
	if flying {
		p.flying += by
	}
}
