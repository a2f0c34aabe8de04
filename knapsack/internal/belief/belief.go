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
var stride = [Classes]int{4, 2, 1}

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
	w    [Classes]Row
	mass [Classes]float64 // sums of the rows of w
}

// Weight returns the probability of a class and a rate.
func (b *Belief) Weight(class, cell int) float64 { return b.w[class][cell] }

// Inform multiplies the weights by a prior and makes them sum to 1.
func (b *Belief) Inform(prior *Prior) {
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			b.w[c][k] *= prior[c][k]
		}
	}
	b.scale()
}

// scale divides all weights by their total.
func (b *Belief) scale() {
	total := 0.0
	for c, step := range stride {
		mass := 0.0
		for k := step / 2; k < Cells; k += step {
			mass += b.w[c][k]
		}
		b.mass[c] = mass
		total += mass
	}
	scale := 1 / total
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			b.w[c][k] *= scale
		}
		b.mass[c] *= scale
	}
}

// Marginal returns the probability of each rate a time gap (in cycles) later.
func (b *Belief) Marginal(gap float64) (x Row) {
	stays := staying(gap)
	for c, step := range stride {
		stay := stays[c]
		fresh := b.mass[c] * (1 - stay) * float64(step) / Cells
		for k := step / 2; k < Cells; k += step {
			x[k] += float64(b.w[c][k]*stay) + fresh
		}
	}
	return x
}

// pass lets a time gap (in cycles) go by: rates may have jumped.
func (b *Belief) pass(gap float64) {
	stays := staying(gap)
	for c, step := range stride {
		stay := stays[c]
		fresh := b.mass[c] * (1 - stay) * float64(step) / Cells
		for k := step / 2; k < Cells; k += step {
			b.w[c][k] = float64(b.w[c][k]*stay) + fresh
		}
	}
}

// times multiplies the weights by a likelihood per rate.
func (b *Belief) times(likelihood *Row) {
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			b.w[c][k] *= likelihood[k]
		}
	}
	b.scale()
}

// MeanCell returns the posterior mean of the cell, that is of the log rate.
func (b *Belief) MeanCell() float64 {
	mean := 0.0
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			mean += float64(float64(k) * b.w[c][k])
		}
	}
	return mean
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
func (p *Packed) Blank() bool { return p.w == [Hypotheses]uint8{} }

func (p *Packed) unpack(b *Belief) {
	i := 0
	for c, step := range stride {
		clear(b.w[c][:])
		for k := step / 2; k < Cells; k += step {
			b.w[c][k] = weightOf[p.w[i]] * float64(step)
			i++
		}
	}
	b.scale()
}

// pack rounds the logarithms of the weights down or up at random with the right
// mean, so that evidence too small for one step adds up all the same. dither is
// any number that differs from poll to poll.
func (b *Belief) pack(p *Packed, dither uint64) {
	// Products with the inverse of a stride are exact.
	top := 0.0
	for c, step := range stride {
		scale := 1 / float64(step)
		for k := step / 2; k < Cells; k += step {
			if w := b.w[c][k] * scale; w > top {
				top = w
			}
		}
	}
	const golden = 0x9e3779b97f4a7c15
	u := mix64(dither)
	base := fastLog(top)
	i := 0
	for c, step := range stride {
		scale := 1 / float64(step)
		for k := step / 2; k < Cells; k += step {
			below := base - fastLog(b.w[c][k]*scale)
			q := float64(below/weightStep) + float64(u>>11)*0x1p-53
			p.w[i] = uint8(max(0, min(255, int(q))))
			i++
			u += golden // equidistributed over the weights of one page
		}
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

var mantissaLog = func() (t [1 << 10]float64) {
	for i := range t {
		t[i] = math.Log1p((float64(i) + 0.5) / (1 << 10))
	}
	return t
}()

// fastLog is ln x to within 5e-4, for x ≥ 0; about −709 for 0.
func fastLog(x float64) float64 {
	bits := math.Float64bits(x)
	return float64(float64(int(bits>>52)-1023)*math.Ln2) + mantissaLog[bits>>42&(1<<10-1)]
}
