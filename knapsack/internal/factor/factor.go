// Package factor learns by how much pages that belong together change more, or less, at present
// than each of them alone would make one expect.
//
// A Factor holds the Evidence of one group of pages, and a Level what the groups of a kind have in
// common: how strongly such evidence should count. What a group has in common is unknown to begin
// with, and may be nothing.
package factor

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// mostPulls is the most strengths that a Level has.
const mostPulls = 4

// A Mix holds a number for each strength of a Level.
type Mix [mostPulls]float64

// A Level is a kind of groups, with the strengths of evidence that may be true of them.
//
// A pull κ is how many expected changes it takes until the evidence of a group counts as much as
// what its pages had been expected to do: with F changes found where E were expected, the pages
// change (κ·base + F/usual)/(κ + E) times as fast as they use to, where usual times as many are found in
// all groups as are expected: see Usual. The first pull is infinite: nothing in common.
type Level struct {
	pulls []float64
	prior Mix // how likely the strengths are in a group of which nothing is known
	// edited is how likely it is that edits of many pages are to be believed in, in such a group.
	edited float64
}

const (
	// forget is by how much the log likelihoods of strengths shrink with each poll of a group.
	forget = 0.98
	// learn is by how much the prior of a level follows the strengths of the group polled.
	learn = 0.0005
	// leastLikelihood bounds what one poll can tell of strengths.
	leastLikelihood = 1e-6
	// mostOdds is how far from 0 log likelihoods come by that.
	mostOdds = 13.9 / (1 - forget)
	// leastPrior lets a strength that no group has shown for long come back.
	leastPrior = 1e-12
)

// NewLevel returns a level with the given finite pulls, at most three.
func NewLevel(pulls ...float64) (l Level) {
	l.pulls = append([]float64{math.Inf(1)}, pulls...)
	for k := range l.pulls {
		l.prior[k] = 1 / float64(len(l.pulls))
	}
	l.edited = 0.5
	return l
}

// A Factor learns the factor of one group. See New.
type Factor struct {
	Evidence
	doubt, weigh [mostPulls]float32 // log likelihood of each strength, discounted; how likely it is
	odds, edited float32            // the same for edits of many pages, beside none
}

// New returns the factor of a group of which nothing is known.
func New(l *Level) (f Factor) {
	for k, p := range l.prior {
		f.weigh[k] = float32(p)
	}
	f.edited = float32(l.edited)
	return f
}

// Known reports whether the factor is not the zero one.
func (f *Factor) Known() bool { return f.weigh != [mostPulls]float32{} }

// Each returns for each strength the factor of the time from a moment to the present, where it is base
// without the evidence, and how many edits of many pages are to be expected in that time. Where evidence is
// forgotten the factor is that of base. For usual see Level.
func (f *Factor) Each(l *Level, from, base, usual float64) (each Mix, edits float64) {
	since := f.Since(from)
	since.Found /= usual
	part := f.known(&since, from)
	each[0] = base
	for k := 1; k < len(l.pulls); k++ {
		each[k] = since.factor(l.pulls[k], base, part)
	}
	return each, since.Edits
}

// known returns the part of the time from a moment to the latest evidence of which there is some.
func (f *Factor) known(since *Sums, from float64) float64 {
	if since.Known > from {
		return (f.last.time - since.Known) / (f.last.time - from)
	}
	return 1
}

// factor returns that of Each for one strength.
func (s *Sums) factor(pull, base, part float64) float64 {
	x := (float64(pull*base) + s.Found) / (pull + s.Expected)
	return base + float64(part*(x-base))
}

// Mean is Each with the average over the strengths, in one go: most of the time of polls with groups goes here.
func (f *Factor) Mean(l *Level, from, base, usual float64) (m, edits float64) {
	if len(f.knots) == 0 {
		return base, 0
	}
	if from >= f.last.time { // the factor of each strength is base
		for k := range l.pulls {
			m += float64(float64(f.weigh[k]) * base)
		}
		return m, 0
	}
	since := f.Since(from)
	since.Found /= usual
	return f.mean(l, &since, base, f.known(&since, from)), since.Edits
}

// mean is Mean of given sums, of which there is evidence for a part of the time.
func (f *Factor) mean(l *Level, since *Sums, base, part float64) (m float64) {
	m = float64(float64(f.weigh[0]) * base)
	for k := 1; k < len(l.pulls); k++ {
		m += float64(float64(f.weigh[k]) * since.factor(l.pulls[k], base, part))
	}
	return m
}

// Average returns the average over the strengths.
func (f *Factor) Average(l *Level, each *Mix) (mean float64) {
	for k := range l.pulls {
		mean += float64(float64(f.weigh[k]) * each[k])
	}
	return mean
}

// Learn takes in that something happened that had the given likelihood under each strength.
func (f *Factor) Learn(l *Level, likelihood *Mix) {
	var posterior Mix
	top := math.Inf(-1)
	for k := range l.pulls {
		// A likelihood of 1, and the logarithm of it, may be rounded up.
		doubt := min(0, float64(float64(f.doubt[k])*forget)+fast.Log(max(likelihood[k], leastLikelihood)))
		f.doubt[k] = float32(doubt)
		posterior[k] = doubt + fast.Log(l.prior[k]+leastPrior)
		top = max(top, posterior[k])
	}
	total := 0.0
	for k := range l.pulls {
		posterior[k] = fast.Exp(posterior[k] - top)
		total += posterior[k]
	}
	for k := range l.pulls {
		share := posterior[k] / total
		f.weigh[k] = float32(share)
		l.prior[k] += float64(learn * (share - l.prior[k]))
	}
}

// Encode writes what the level has learnt.
func (l *Level) Encode(e *codec.Encoder) {
	e.Float64s(l.prior[:])
	e.Float64(l.edited)
}

// Decode reads what Encode wrote, into a level with the same pulls.
func (l *Level) Decode(d *codec.Decoder) {
	copy(l.prior[:], d.Float64sIn(mostPulls, 0, 1))
	l.edited = d.Float64In(leastEdited, 1-leastEdited)
}

// Encode writes the factor.
func (f *Factor) Encode(e *codec.Encoder) {
	f.Evidence.encode(e)
	e.Float32s(f.doubt[:])
	e.Float32s(f.weigh[:])
	e.Float64(float64(f.odds))
	e.Float64(float64(f.edited))
}

// Decode reads what Encode wrote.
func (f *Factor) Decode(d *codec.Decoder) {
	f.Evidence.decode(d)
	copy(f.doubt[:], d.Float32sIn(mostPulls, -mostOdds, 0))
	copy(f.weigh[:], d.Float32sIn(mostPulls, 0, 1))
	f.odds, f.edited = single(d, -mostOdds, mostOdds), single(d, 0, 1)
	d.Require(f.Known(), "a factor of no strength is likely")
}
