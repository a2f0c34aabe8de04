package factor

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// Evidence holds what the polls of a group of pages found, and what they were expected to find,
// over time. Each poll ends a gap, over which both are spread evenly. Evidence keeps their sums
// as piecewise linear functions of time, with knots that are fewer with age.
//
// Time: O(knots in the gap) for Add, O(log knots) for Since. Memory: 24 bytes a knot.
type Evidence struct {
	knots []knot // in order of time, at least width apart
	last  knot   // at the end of the latest gap
}

// A knot has the changes found and expected up to a time, since some time before the first knot.
type knot struct{ time, found, expected float64 }

const (
	// width is the least time between two knots, in cycles.
	width = 1.0 / 24
	// memory is the age in cycles from which on evidence is forgotten.
	memory = 8
)

// Since returns the changes found and those expected from a time on, and the time from which on
// they are known: from itself, or later where that is forgotten.
func (e *Evidence) Since(from float64) (found, expected, known float64) {
	if len(e.knots) == 0 || from >= e.last.time {
		return 0, 0, from
	}
	if first := &e.knots[0]; from <= first.time {
		return e.last.found - first.found, e.last.expected - first.expected, first.time
	}
	lo, hi := 1, len(e.knots)
	for lo < hi { // the first knot after from is in lo … hi, last for len(knots)
		if mid := int(uint(lo+hi) / 2); e.knots[mid].time > from {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	a, b := &e.knots[lo-1], &e.last
	if lo < len(e.knots) {
		b = &e.knots[lo]
	}
	part := (from - a.time) / (b.time - a.time)
	found = e.last.found - a.found - float64(part*(b.found-a.found))
	expected = e.last.expected - a.expected - float64(part*(b.expected-a.expected))
	return max(0, found), max(0, expected), from
}

// Add takes in the evidence of a gap from one time to another, keeping so many knots at most.
func (e *Evidence) Add(from, to, found, expected, cycle float64, most int) {
	if !(to > from) {
		return
	}
	if len(e.knots) == 0 {
		e.knots = append(e.knots, knot{time: from})
		e.last = knot{time: from}
	}
	for i := len(e.knots) - 1; i >= 0 && e.knots[i].time > from; i-- {
		k := &e.knots[i]
		part := min(1, (k.time-from)/(to-from))
		k.found += float64(part * found)
		k.expected += float64(part * expected)
	}
	e.last.found += found
	e.last.expected += expected
	e.last.time = max(e.last.time, to)
	if e.last.time-e.knots[len(e.knots)-1].time >= width*cycle {
		e.knots = append(e.knots, e.last)
		e.thin(cycle, most)
	}
}

// thin drops knots that are too old, or too many for their age, and lets the sums begin at the
// first one that stays.
func (e *Evidence) thin(cycle float64, most int) {
	old := 0
	for len(e.knots)-old > 2 && e.last.time-e.knots[old+1].time > memory*cycle {
		old++
	}
	e.knots = slices.Delete(e.knots, 0, old)
	for len(e.knots) > most {
		drop, least := 1, math.Inf(1)
		for i := 1; i < len(e.knots)-1; i++ {
			before := e.knots[i-1].time
			if span := (e.knots[i+1].time - before) / (e.last.time - before); span < least {
				drop, least = i, span
			}
		}
		e.knots = slices.Delete(e.knots, drop, drop+1)
	}
	base := e.knots[0]
	for i := range e.knots {
		e.knots[i].drop(base)
	}
	e.last.drop(base)
}

func (k *knot) drop(base knot) {
	k.found = max(0, k.found-base.found)
	k.expected = max(0, k.expected-base.expected)
}

// far bounds times and sums in saved states, so that nothing overflows.
const far = math.MaxFloat64 / 4

func (e *Evidence) encode(to *codec.Encoder) {
	to.Int(len(e.knots))
	for _, k := range append(e.knots[:len(e.knots):len(e.knots)], e.last) {
		to.Float64(k.time)
		to.Float64(k.found)
		to.Float64(k.expected)
	}
}

func (e *Evidence) decode(d *codec.Decoder) {
	n := d.Count(3 * 8)
	var before knot
	for i := 0; i <= n && d.Err() == nil; i++ {
		k := knot{d.Float64In(-far, far), d.Float64In(before.found, far), d.Float64In(before.expected, far)}
		d.Require(i == 0 || k.time > before.time || i == n && k.time == before.time, "evidence of %v after %v", k.time, before.time)
		before = k
		if i < n {
			e.knots = append(e.knots, k)
		} else {
			e.last = k
		}
	}
}
