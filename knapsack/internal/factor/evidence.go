package factor

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// Evidence holds what the polls of a group of pages found, and what they were expected to find,
// over time. Each poll ends a gap, over which both are spread evenly. Evidence keeps their sums
// as piecewise linear functions of time, with knots that are fewer with age. Beside them it keeps
// what edits of many pages at once did.
//
// Time: O(knots in the gap) for Add, O(log knots) for Since. Memory: 24 bytes a knot, and none
// before the first evidence.
type Evidence struct {
	knots []knot // in order of time, at least width apart
	last  knot   // at the end of the latest gap
}

// A knot has the changes found and expected up to a time, since some time before the first knot.
// The sums are those of a few MostPolls at most, which bounds their errors by rounding.
type knot struct {
	time            float64
	found, expected float32
	edits           float32 // of many pages at once, see Factor.Edit
	polls           float32 // whose gaps have the interval from the knot to the next one
}

// MostPolls is how many polls there may be in a cycle: sums of 8 times as many are rounded by less
// than 1 % of one of them.
const MostPolls = 1 << 14

const (
	// width is the least time between two knots, in cycles.
	width = 1.0 / 24
	// memory is the age in cycles from which on evidence is forgotten.
	memory = 8
	// near is how many knots around a guess a search looks at first. It takes half the time so.
	near = 2
)

// Sums are of what there was from a time on, as far as that is known: Known is that time, or later where
// what was before is forgotten.
type Sums struct {
	Found, Expected float64 // changes
	Edits           float64 // of many pages at once, to be expected
	Known           float64
}

// Since returns the sums from a time on.
func (e *Evidence) Since(from float64) Sums {
	if len(e.knots) == 0 || from >= e.last.time {
		return Sums{Known: from}
	}
	last := &e.last
	if first := &e.knots[0]; from <= first.time {
		return Sums{
			Found:    float64(last.found - first.found),
			Expected: float64(last.expected - first.expected),
			Edits:    float64(last.edits - first.edits),
			Known:    first.time,
		}
	}
	a, b, part := e.around(from)
	return Sums{
		Found:    max(0, float64(last.found-a.found)-float64(part*float64(b.found-a.found))),
		Expected: max(0, float64(last.expected-a.expected)-float64(part*float64(b.expected-a.expected))),
		Edits:    max(0, float64(last.edits-a.edits)-float64(part*float64(b.edits-a.edits))),
		Known:    from,
	}
}

// around returns the knots before and after a time that is after the first one and before the last,
// and at which part of the way between them it is.
func (e *Evidence) around(from float64) (a, b *knot, part float64) {
	i := e.next(from)
	a, b = &e.knots[i-1], e.after(i-1)
	return a, b, (from - a.time) / (b.time - a.time)
}

// next returns the first knot after a time that is not before the first one and before the last, which is
// the number of knots.
func (e *Evidence) next(from float64) int {
	lo, hi := 1, len(e.knots)
	// Most knots are at nearly even distances, by which it is not far from here.
	first := e.knots[0].time
	guess := int(float64(hi) * ((from - first) / (e.last.time - first)))
	if at := guess - near; at >= lo && e.knots[at].time <= from {
		lo = at + 1
	}
	if at := guess + near; at < hi && e.knots[at].time > from {
		hi = at
	}
	for lo < hi { // it is in lo … hi
		if mid := int(uint(lo+hi) / 2); e.knots[mid].time > from {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// Add takes in the evidence of a gap from one time to another, keeping so many knots at most, two
// or more.
func (e *Evidence) Add(from, to, found, expected, cycle float64, most int) {
	if !(to > from) {
		return
	}
	if len(e.knots) == 0 {
		e.begin(from)
	}
	for i := len(e.knots) - 1; i >= 0 && e.knots[i].time > from; i-- {
		k := &e.knots[i]
		part := min(1, (k.time-from)/(to-from))
		k.found += float32(part * found)
		k.expected += float32(part * expected)
	}
	e.last.found += float32(found)
	e.last.expected += float32(expected)
	e.last.time = max(e.last.time, to)
	if e.last.time-e.knots[len(e.knots)-1].time >= width*cycle {
		e.thin(cycle, most)
		if n := len(e.knots); n == cap(e.knots) { // append would make more room than for most
			e.knots = append(make([]knot, 0, max(n+1, min(2*n, most))), e.knots...)
		}
		e.knots = append(e.knots, e.last)
	}
}

// begin makes the first knot.
func (e *Evidence) begin(from float64) {
	e.knots = append(make([]knot, 0, 2), knot{time: from})
	e.last = knot{time: from}
}

// thin drops knots that are too old, or too many for their age, so that there is room for one
// more, and lets the sums begin at the first one that stays.
func (e *Evidence) thin(cycle float64, most int) {
	old := 0
	for len(e.knots)-old > 1 && e.last.time-e.knots[old+1].time > memory*cycle {
		old++
	}
	e.knots = slices.Delete(e.knots, 0, old)
	for len(e.knots) >= max(2, most) {
		drop, least := 1, math.Inf(1)
		for i := 1; i < len(e.knots); i++ {
			before, after := e.knots[i-1].time, e.after(i).time
			if span := (after - before) / (e.last.time - before); span < least {
				drop, least = i, span
			}
		}
		e.join(drop)
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
	k.edits = max(0, k.edits-base.edits)
}

// farthest and mostSum bound times and sums in saved states, so that nothing overflows.
const (
	farthest = math.MaxFloat64 / 4
	mostSum  = math.MaxFloat32 / 4
)

func (e *Evidence) encode(to *codec.Encoder) {
	to.Int(len(e.knots))
	for _, k := range append(e.knots[:len(e.knots):len(e.knots)], e.last) {
		to.Float64(k.time)
		to.Float64(float64(k.found))
		to.Float64(float64(k.expected))
		to.Float64(float64(k.edits))
		to.Float64(float64(k.polls))
	}
}

// single reads a number between two bounds that a float32 holds.
func single(d *codec.Decoder, least, greatest float32) float32 {
	v := d.Float64In(float64(least), float64(greatest))
	d.Require(float64(float32(v)) == v, "%v is no float32", v)
	return float32(v)
}

func (e *Evidence) decode(d *codec.Decoder) {
	n := d.Count(5 * 8)
	var before knot
	for i := 0; i <= n && d.Err() == nil; i++ {
		k := knot{
			time:     d.Float64In(-farthest, farthest),
			found:    single(d, before.found, mostSum),
			expected: single(d, before.expected, mostSum),
			edits:    single(d, before.edits, mostEdits),
			polls:    single(d, 0, mostSum),
		}
		d.Require(i == 0 || k.time > before.time || i == n && k.time == before.time, "evidence of %v after %v", k.time, before.time)
		before = k
		if i < n {
			e.knots = append(e.knots, k)
		} else {
			e.last = k
		}
	}
}
