// Package belief is what the rate filter thinks of one page: a posterior over the
// rates at which it may change, in 36 bytes, the Bayes step that a poll makes, and what
// a poll would be worth.
//
// A page changes as a Poisson process whose rate is one of a logarithmic grid. The
// rate itself jumps to one drawn anew from the whole grid after an exponentially
// distributed time, whose mean is one of three (the class of the page). A Belief holds
// the weights of all pairs of class and rate, a Packed the same in bytes, and a Model
// what all pages share: the unit of time, the place of the grid, the objective.
//
// Start with Model.
package belief

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// The grid has Cells rates, each e^Step times the one before. Class c uses every
// stride[c]-th of them: a rate that is soon left cannot be known well, so that the classes
// that jump more often make do with fewer.
//
// When the filter was built, 12 rates by factors of e for every class (36 bytes) were
// found to detect 1 to 4 % less, and weights of 8 bytes instead of 1 to gain nothing.
// TestRateFilterInZipf and TestRateFilterOnBurstyPages measure the detections.
const (
	Cells      = 20
	Classes    = 3
	Step       = 0.6         // nats between neighbouring rates
	Steady     = Classes - 1 // the class whose rates stay almost for ever
	Hypotheses = Cells/4 + Cells/2 + Cells

	gridMove = 4 // cells by which the grid moves at a time: a multiple of every stride
	// weightStep is the resolution of packed log weights, in nats. 255 steps reach down
	// to e^(−12.75) of the greatest weight.
	weightStep = 1.0 / 20
)

// stride gives for each class the distance between its rates, in cells; the first
// is at half of it.
var stride = [Classes]int{quickStride, middleStride, 1}

const (
	quickStride, middleStride = 4, 2
	// Of a packed belief the weights of the quick class come first.
	firstMiddle = Cells / quickStride
	firstSlow   = firstMiddle + Cells/middleStride
)

// switching is the mean time between jumps for each class, in cycles (a cycle is the
// time in which the budget pays for one poll of every page): from less than a cycle to
// longer than most crawls, by factors of 10 to 20. Chosen, not swept.
var switching = [Classes]float64{0.7, 7, 150}

// staying returns for each class the probability that a rate stays for a time gap (in cycles).
func staying(gap float64) [Classes]float64 {
	quick, middle, slow := stayings(gap)
	return [Classes]float64{quick, middle, slow}
}

// stayings is staying in variables, which are faster than an array.
func stayings(gap float64) (quick, middle, slow float64) {
	slow, middle = fast.Exp(-gap/switching[2]), fast.Exp(-gap/switching[1])
	square := middle * middle
	fourth := square * square
	return fourth * fourth * square, middle, slow // switching[1] is 10 times switching[0]
}

// weightOf is the weight that an 8-bit logarithm stands for.
var weightOf = func() (w [256]float64) {
	for q := range w {
		w[q] = math.Exp(-weightStep * float64(q))
	}
	return w
}()

// A Row holds a number for each rate of the grid.
type Row = [Cells]float64

// A Prior holds a number for each class and rate.
type Prior [Classes]Row

// Hypothesis yields all pairs of class and cell that there are.
func Hypothesis(yield func(class, cell int) bool) {
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			if !yield(c, k) {
				return
			}
		}
	}
}

// FlatWeight is the weight of each cell of a class under the flat prior.
func FlatWeight(class int) float64 { return float64(stride[class]) / (Classes * Cells) }

// A Belief is the posterior of one page, unpacked. Its weights sum to 1; those of cells
// that a class does without are 0.
type Belief struct {
	w    Prior
	mass [Classes]float64 // sums of the rows of w
}

// Weight returns the probability of a class and a rate.
func (b *Belief) Weight(class, cell int) float64 { return b.w[class][cell] }

// Inform multiplies the weights by a prior and makes them sum to 1.
func (b *Belief) Inform(prior *Prior) { b.Take(b, prior) }

// Take makes b another belief whose weights are multiplied by a prior.
func (b *Belief) Take(from *Belief, prior *Prior) {
	for k := 0; k < Cells; k += 4 {
		x, w, y := b.w.four(k), from.w.four(k), prior.four(k)
		x.quick[2] = w.quick[2] * y.quick[2]
		x.middle[1], x.middle[3] = w.middle[1]*y.middle[1], w.middle[3]*y.middle[3]
		x.slow[0], x.slow[1] = w.slow[0]*y.slow[0], w.slow[1]*y.slow[1]
		x.slow[2], x.slow[3] = w.slow[2]*y.slow[2], w.slow[3]*y.slow[3]
	}
	b.scale()
}

// A four has the numbers of four neighbouring cells by class, of which quick ones have the third
// and middle ones the second and the last. Loops over fours take half the time of those over
// Hypothesis.
type four struct{ quick, middle, slow *[4]float64 }

// They rest on these strides, and on a number of cells that is a multiple of them.
var _ = [1]struct{}{}[Cells%4+(quickStride-4)+(middleStride-2)]

// Move adds to p, times times, by how much more likely one belief takes each hypothesis than
// another does, and keeps the sum from being less than least.
func (p *Prior) Move(from, to *Belief, times, least float64) {
	for k := 0; k < Cells; k += 4 {
		x, a, b := p.four(k), from.w.four(k), to.w.four(k)
		x.quick[2] = atLeast(least, x.quick[2]+float64(times*b.quick[2])-float64(times*a.quick[2]))
		for i := 1; i < 4; i += 2 {
			to, from := float64(times*b.middle[i]), float64(times*a.middle[i])
			x.middle[i] = atLeast(least, x.middle[i]+to-from)
		}
		for i := range x.slow {
			x.slow[i] = atLeast(least, x.slow[i]+float64(times*b.slow[i])-float64(times*a.slow[i]))
		}
	}
}

// atLeast is max for numbers that are not NaN, in less time.
func atLeast(least, x float64) float64 {
	if x < least {
		return least
	}
	return x
}

// four returns the numbers of cells k to k+3.
func (p *Prior) four(k int) four {
	return four{(*[4]float64)(p[0][k:]), (*[4]float64)(p[1][k:]), (*[4]float64)(p[2][k:])}
}

// scale divides all weights by their total.
func (b *Belief) scale() {
	// In sums of their own no number waits for the one before.
	var quick, middle1, middle3, slow0, slow1, slow2, slow3 float64
	for k := 0; k < Cells; k += 4 {
		x := b.w.four(k)
		quick += x.quick[2]
		middle1 += x.middle[1]
		middle3 += x.middle[3]
		slow0 += x.slow[0]
		slow1 += x.slow[1]
		slow2 += x.slow[2]
		slow3 += x.slow[3]
	}
	middle, slow := middle1+middle3, (slow0+slow1)+(slow2+slow3)
	one := 1 / (quick + middle + slow)
	b.mass = [Classes]float64{quick * one, middle * one, slow * one}
	for k := 0; k < Cells; k += 4 {
		x := b.w.four(k)
		x.quick[2] *= one
		x.middle[1] *= one
		x.middle[3] *= one
		x.slow[0] *= one
		x.slow[1] *= one
		x.slow[2] *= one
		x.slow[3] *= one
	}
}

// A drift is how likely the rates of each class stay for a time, and what each of them gets of
// those that do not.
type drift struct{ quick, middle, slow, toQuick, toMiddle, toSlow float64 }

// drift returns that of a time gap (in cycles).
func (b *Belief) drift(gap float64) (d drift) {
	d.quick, d.middle, d.slow = stayings(gap)
	d.toQuick = b.mass[0] * (1 - d.quick) * quickStride / Cells
	d.toMiddle = b.mass[1] * (1 - d.middle) * middleStride / Cells
	d.toSlow = b.mass[2] * (1 - d.slow) / Cells
	return d
}

// Marginal returns the probability of each rate a time gap (in cycles) later.
func (b *Belief) Marginal(gap float64) (x Row) {
	d := b.drift(gap)
	for k := 0; k < Cells; k += 4 {
		w, to := b.w.four(k), (*[4]float64)(x[k:])
		to[0] = float64(w.slow[0]*d.slow) + d.toSlow
		to[1] = (float64(w.middle[1]*d.middle) + d.toMiddle) + (float64(w.slow[1]*d.slow) + d.toSlow)
		to[2] = (float64(w.quick[2]*d.quick) + d.toQuick) + (float64(w.slow[2]*d.slow) + d.toSlow)
		to[3] = (float64(w.middle[3]*d.middle) + d.toMiddle) + (float64(w.slow[3]*d.slow) + d.toSlow)
	}
	return x
}

// pass lets a time gap (in cycles) go by: rates may have jumped.
func (b *Belief) pass(gap float64) {
	d := b.drift(gap)
	for k := 0; k < Cells; k += 4 {
		x := b.w.four(k)
		x.quick[2] = float64(x.quick[2]*d.quick) + d.toQuick
		x.middle[1] = float64(x.middle[1]*d.middle) + d.toMiddle
		x.middle[3] = float64(x.middle[3]*d.middle) + d.toMiddle
		for i := range x.slow {
			x.slow[i] = float64(x.slow[i]*d.slow) + d.toSlow
		}
	}
}

// times multiplies the weights by a likelihood per rate.
func (b *Belief) times(likelihood *Row) {
	for k := 0; k < Cells; k += 4 {
		x, l := b.w.four(k), (*[4]float64)(likelihood[k:])
		x.quick[2] *= l[2]
		x.middle[1] *= l[1]
		x.middle[3] *= l[3]
		for i := range x.slow {
			x.slow[i] *= l[i]
		}
	}
	b.scale()
}

// MeanCell returns the posterior mean of the cell, that is of the log rate.
func (b *Belief) MeanCell() float64 {
	var quick, middle, slow float64
	for k := 0; k < Cells; k += 4 {
		x, at := b.w.four(k), float64(k)
		quick += float64((at + 2) * x.quick[2])
		middle += float64((at + 1) * x.middle[1])
		middle += float64((at + 3) * x.middle[3])
		slow += float64(at * x.slow[0])
		slow += float64((at + 1) * x.slow[1])
		slow += float64((at + 2) * x.slow[2])
		slow += float64((at + 3) * x.slow[3])
	}
	return quick + middle + slow
}

// Moments returns the posterior mean and variance of the cell, that is of the log rate.
func (b *Belief) Moments() (mean, variance float64) {
	var x Row
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			x[k] += b.w[c][k]
		}
	}
	return Moments(&x)
}

// Moments returns the mean and the variance of the cell under probabilities that sum to 1.
func Moments(x *Row) (mean, variance float64) {
	square := 0.0
	for k, p := range x {
		mean += float64(float64(k) * p)
		square += float64(float64(k*k) * p)
	}
	return mean, max(0, square-float64(mean*mean))
}

// A Packed is a belief in 36 bytes: the logarithms of its weights relative to the flat
// prior, below the greatest, and where the grid was when it was packed. Its zero value
// is the flat prior: the classes are equally likely, and so are all rates.
type Packed struct {
	moves int8 // of the grid, modulo 256
	w     [Hypotheses]uint8
}

// Touch reads the belief, all of which is in the cache then.
func (p *Packed) Touch() uint8 { return p.w[0] ^ p.w[Hypotheses-1] }

// Blank reports whether nothing has been learnt of the page.
func (p *Packed) Blank() bool {
	// The first and the last weight tell most that are not from those that are.
	return p.w[0]|p.w[Hypotheses-1] == 0 && p.w == [Hypotheses]uint8{}
}

func (p *Packed) unpack(b *Belief) {
	clear(b.w[0][:])
	clear(b.w[1][:])
	for j := range Cells / 4 {
		x := b.w.four(4 * j)
		x.quick[2] = weightOf[p.w[j]] * quickStride
		middle, slow := (*[2]uint8)(p.w[firstMiddle+2*j:]), (*[4]uint8)(p.w[firstSlow+4*j:])
		x.middle[1], x.middle[3] = weightOf[middle[0]]*middleStride, weightOf[middle[1]]*middleStride
		x.slow[0], x.slow[1] = weightOf[slow[0]], weightOf[slow[1]]
		x.slow[2], x.slow[3] = weightOf[slow[2]], weightOf[slow[3]]
	}
	b.scale()
}

// pack rounds the logarithms of the weights down or up at random with the right
// mean, so that evidence too small for one step adds up all the same. dither is
// any number that differs from poll to poll.
func (b *Belief) pack(p *Packed, dither uint64) {
	var w [Hypotheses]float64
	for j := range Cells / 4 {
		// Products with the inverse of a stride are exact.
		x := b.w.four(4 * j)
		w[j] = x.quick[2] * (1.0 / quickStride)
		middle := (*[2]float64)(w[firstMiddle+2*j:])
		middle[0], middle[1] = x.middle[1]*(1.0/middleStride), x.middle[3]*(1.0/middleStride)
		*(*[4]float64)(w[firstSlow+4*j:]) = *x.slow
	}
	// Numbers that are not negative are in the order of their bits.
	top := uint64(0)
	for _, w := range w {
		top = max(top, math.Float64bits(w))
	}
	u := mix64(dither)
	base := stepsOf(math.Float64frombits(top))
	for i, w := range w {
		q := (base - stepsOf(w) + int64(u>>(64-logFraction))) >> logFraction // never below 0
		p.w[i] = uint8(min(255, q))
		u += fast.Golden // equidistributed over the weights of one page
	}
}

// shift follows the grid that has moved down by so many times gridMove cells.
// What leaves the grid is forgotten, what enters takes the weight of the end that
// it enters at: there the likelihood is flat.
func (p *Packed) shift(by int) {
	old := p.w
	first := 0
	for _, step := range stride {
		n := Cells / step
		for k := range n {
			p.w[first+k] = old[first+max(0, min(n-1, k-by*gridMove/step))]
		}
		first += n
	}
}

// Encode writes the belief.
func (p *Packed) Encode(e *codec.Encoder) {
	e.Byte(byte(p.moves))
	for _, w := range p.w {
		e.Byte(w)
	}
}

// Decode reads what Encode wrote; any bytes are a belief.
func (p *Packed) Decode(d *codec.Decoder) {
	p.moves = int8(d.Byte())
	for k := range p.w {
		p.w[k] = d.Byte()
	}
}

// mix64 is the finaliser of SplitMix64.
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// logFraction is how many binary places logarithms in weightSteps have. Whole numbers add up in
// half the time of floating ones, which would have to be turned into them.
const logFraction = 40

// doubling is ln 2 in weightSteps.
var doubling = int64(math.Round(math.Ln2 / weightStep * (1 << logFraction)))

var mantissaSteps = func() (t [1 << 10]int64) {
	for i := range t {
		steps := math.Log1p((float64(i)+0.5)/(1<<10)) / weightStep
		t[i] = int64(math.Round(steps * (1 << logFraction)))
	}
	return t
}()

// stepsOf is ln x in weightSteps, to within 5e-4 nats, for x ≥ 0; that of about e^−709 for 0.
func stepsOf(x float64) int64 {
	bits := math.Float64bits(x)
	return int64(bits>>52-1023)*doubling + mantissaSteps[bits>>42&(1<<10-1)]
}
