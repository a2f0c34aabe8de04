// Package factor learns by how much pages that belong together change more, or less, at
// present than each of them alone would make one expect.
//
// A Factor holds the evidence of one group. What the group has in common is unknown to
// begin with, and may be nothing: how strongly the evidence counts is learnt.
package factor

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// A pull κ is how many expected changes it takes until the evidence of a group counts as
// much as what its pages had been expected to do. The first one is infinite: nothing in
// common. Chosen by factors of 4, not swept.
var pulls = [...]float64{0, 8, 2, 0.5} // 0 stands for +Inf

// Pulls is the number of strengths.
const Pulls = len(pulls)

// A Mix holds a number for each strength.
type Mix [Pulls]float64

// Even is the mix in which all strengths are equally likely.
var Even = Mix{1.0 / float64(Pulls), 1.0 / float64(Pulls), 1.0 / float64(Pulls), 1.0 / float64(Pulls)}

const (
	// mostDoubt bounds the log of the ratio of two likelihoods that are remembered, so that what
	// was true for years can be unlearnt in weeks.
	mostDoubt = 12
	// memory is the age, in cycles, at which evidence is forgotten: no page waits longer.
	memory = 80
	// width is the least time between two knots, in cycles. Half and double of it were found
	// to make no difference.
	width = 1.0 / 24
)

// A Factor learns the factor of one group. The zero value knows nothing.
//
// A poll that ends a gap tells whether a change was found in it, and how likely one was: the
// changes found and the changes expected, both spread evenly over the gap. A Factor
// keeps their sums over time as piecewise linear functions, with knots that
// get fewer with age.
//
// Time: O(knots) for Add, O(log knots) for Mean. Memory: 24 bytes a knot.
type Factor struct {
	knots []knot // sums of evidence, by time
	last  knot   // at the end of the latest gap
	doubt Mix    // log likelihood of each strength, below the greatest
	weigh Mix    // how likely the strengths are
}

type knot struct{ time, found, expected float64 }

// since returns the changes found and those expected from a point in time on.
func (f *Factor) since(t float64) (found, expected float64) {
	if t >= f.last.time || len(f.knots) == 0 {
		return 0, 0
	}
	lo, hi := 0, len(f.knots) // the first knot after t is in lo … hi
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); f.knots[mid].time > t {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == 0 {
		return f.last.found, f.last.expected
	}
	a, b := &f.knots[lo-1], &f.last
	if lo < len(f.knots) {
		b = &f.knots[lo]
	}
	part := (t - a.time) / (b.time - a.time)
	found = f.last.found - a.found - float64(part*(b.found-a.found))
	expected = f.last.expected - a.expected - float64(part*(b.expected-a.expected))
	return max(0, found), max(0, expected)
}

// Each returns for each strength the factor of the time since t, where it is base
// without the evidence.
func (f *Factor) Each(t, base float64) (each Mix) {
	found, expected := f.since(t)
	each[0] = base
	for k := 1; k < Pulls; k++ {
		each[k] = (float64(pulls[k]*base) + found) / (pulls[k] + expected)
	}
	return each
}

// Mean returns the factor of the time since t, averaged over the strengths.
func (f *Factor) Mean(t, base float64) float64 {
	if len(f.knots) == 0 {
		return base
	}
	each := f.Each(t, base)
	return f.Average(&each)
}

// Average returns the average over the strengths.
func (f *Factor) Average(each *Mix) (mean float64) {
	for k, x := range each {
		mean += float64(f.weigh[k] * x)
	}
	return mean
}

// Poll takes in what a poll found at the end of a gap, and returns the factor that it was
// expected to have. base is the factor without the evidence, stay the probability of no change at
// a factor, and own that at the factor 1. prior is how likely the strengths are otherwise,
// and most how many knots are kept.
func (f *Factor) Poll(from, to, base, cycle float64, changed bool, stay func(factor float64) float64, own float64, prior *Mix, most int) (mean float64) {
	each := f.Each(from, base)
	if mean = base; len(f.knots) > 0 {
		mean = f.Average(&each)
	}
	found := 0.0
	if changed {
		found = 1
	}
	var likelihood Mix
	for k, x := range each {
		p := own
		if x != 1 {
			p = stay(x)
		}
		if changed {
			p = 1 - p
		}
		likelihood[k] = p
	}
	f.Learn(&likelihood, prior)
	f.Add(from, to, found, 1-own, cycle, most)
	return mean
}

// Learn takes in that something happened that had the given likelihood under each strength;
// prior is how likely the strengths are otherwise.
func (f *Factor) Learn(likelihood, prior *Mix) {
	top := math.Inf(-1)
	for k := range f.doubt {
		f.doubt[k] += math.Log(max(likelihood[k], 1e-6))
		top = max(top, f.doubt[k])
	}
	total := 0.0
	for k := range f.doubt {
		f.doubt[k] = max(-mostDoubt, f.doubt[k]-top)
		f.weigh[k] = prior[k] * math.Exp(f.doubt[k])
		total += f.weigh[k]
	}
	for k := range f.weigh {
		f.weigh[k] /= total
	}
}

// Add takes in the evidence of a gap from one time to another, keeping so many knots at
// most.
func (f *Factor) Add(from, to, found, expected, cycle float64, most int) {
	if !(to > from) {
		return
	}
	if len(f.knots) == 0 {
		f.knots = append(f.knots, knot{time: from})
		f.last = knot{time: from}
	}
	for i := len(f.knots) - 1; i >= 0 && f.knots[i].time > from; i-- {
		k := &f.knots[i]
		part := min(1, (k.time-from)/(to-from))
		k.found += float64(part * found)
		k.expected += float64(part * expected)
	}
	f.last.found += found
	f.last.expected += expected
	f.last.time = max(f.last.time, to)
	if f.last.time-f.knots[len(f.knots)-1].time >= width*cycle {
		f.knots = append(f.knots, f.last)
		f.thin(cycle, most)
	}
}

// thin drops knots that are too old, or too many for their age.
func (f *Factor) thin(cycle float64, most int) {
	for len(f.knots) > 2 && f.last.time-f.knots[1].time > memory*cycle {
		f.knots = slices.Delete(f.knots, 0, 1)
	}
	for len(f.knots) > most {
		drop, least := 1, math.Inf(1)
		for i := 1; i < len(f.knots)-1; i++ {
			before := f.knots[i-1].time
			if span := (f.knots[i+1].time - before) / (f.last.time - before); span < least {
				drop, least = i, span
			}
		}
		f.knots = slices.Delete(f.knots, drop, drop+1)
	}
	if base := f.knots[0]; base.expected > 0 { // sums need only be right from there on
		for i := range f.knots {
			f.knots[i].found = max(0, f.knots[i].found-base.found)
			f.knots[i].expected = max(0, f.knots[i].expected-base.expected)
		}
		f.last.found = max(0, f.last.found-base.found)
		f.last.expected = max(0, f.last.expected-base.expected)
	}
}

// Encode writes the factor.
func (f *Factor) Encode(e *codec.Encoder) {
	e.Int(len(f.knots))
	for _, k := range append(f.knots[:len(f.knots):len(f.knots)], f.last) {
		e.Float64(k.time)
		e.Float64(k.found)
		e.Float64(k.expected)
	}
	e.Float64s(f.doubt[:])
	e.Float64s(f.weigh[:])
}

// Decode reads what Encode wrote.
func (f *Factor) Decode(d *codec.Decoder) {
	n := d.Count(3 * 8)
	before := math.Inf(-1)
	for i := 0; i <= n && d.Err() == nil; i++ {
		k := knot{time: d.Finite(), found: d.NonNegative(), expected: d.NonNegative()}
		d.Require(k.time > before || i == n && (n == 0 || k.time >= before), "evidence of %v after %v", k.time, before)
		before = k.time
		if i < n {
			f.knots = append(f.knots, k)
		} else {
			f.last = k
		}
	}
	copy(f.doubt[:], d.Float64sIn(Pulls, -mostDoubt, 0))
	copy(f.weigh[:], d.Float64sIn(Pulls, 0, 1))
}
