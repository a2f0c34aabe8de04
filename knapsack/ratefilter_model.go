package knapsack

import (
	"math"
	"sync"
)

// The rate filter's picture of one page: it changes as a Poisson process whose
// rate is one of a logarithmic grid, and the rate itself jumps to one drawn anew
// from the whole grid after an exponentially distributed time, whose mean is one
// of rateClasses. A poll multiplies the weight of each hypothesis by the likelihood
// of what it found.
//
// A rate that is soon left can't be known well, and so the classes that jump
// more often make do with every second or fourth rate of the grid.
const (
	rateCells   = 20
	rateClasses = 3
	rateStep    = 0.6             // between neighbouring rates, in nats
	steady      = rateClasses - 1 // the class whose rates stay almost for ever
	hypotheses  = rateCells/4 + rateCells/2 + rateCells
	gridMove    = 4 // cells by which the grid moves at a time

	// Weights are kept relative to the greatest, as 8-bit logarithms.
	weightStep = 1.0 / 20 // nats
)

// stride gives for each class the distance between its rates, in cells; the first
// is at half of it.
var stride = [rateClasses]int{4, 2, 1}

// slowest sets the grid: the slowest rate is about 1/(slowest·cycle), the fastest
// 90,000 times that. A poll of a page slower than 1/64 per cycle earns next to no
// detections, and a flat prior spends the less on such pages the fewer rates it
// has for them; copies of such pages stay fresh without polls.
var slowest = [objectives]float64{64, 150, 150, 150}

// switching is the mean time between jumps for each class, in cycles (a cycle
// is the time in which the budget pays for one poll of every page).
var switching = [rateClasses]float64{0.7, 7, 150}

// weightOf is the weight that an 8-bit logarithm stands for.
var weightOf = func() (w [256]float64) {
	for q := range w {
		w[q] = math.Exp(-weightStep * float64(q))
	}
	return w
}()

// A belief is the posterior of one page, unpacked. Weights of cells that a class
// does without are 0.
type belief struct {
	w    [rateClasses][rateCells]float64
	mass [rateClasses]float64 // sums of the rows of w
}

// scale divides all weights by their total.
func (b *belief) scale() {
	total := 0.0
	for c, step := range stride {
		mass := 0.0
		for k := step / 2; k < rateCells; k += step {
			mass += b.w[c][k]
		}
		b.mass[c] = mass
		total += mass
	}
	scale := 1 / total
	for c, step := range stride {
		for k := step / 2; k < rateCells; k += step {
			b.w[c][k] *= scale
		}
		b.mass[c] *= scale
	}
}

// marginal returns the probability of each rate a time gap (in cycles) later.
func (b *belief) marginal(gap float64) (x [rateCells]float64) {
	for c, step := range stride {
		stay := math.Exp(-gap / switching[c])
		fresh := b.mass[c] * (1 - stay) * float64(step) / rateCells
		for k := step / 2; k < rateCells; k += step {
			x[k] += float64(b.w[c][k]*stay) + fresh
		}
	}
	return x
}

// pass lets a time gap (in cycles) go by: rates may have jumped.
func (b *belief) pass(gap float64) {
	for c, step := range stride {
		stay := math.Exp(-gap / switching[c])
		fresh := b.mass[c] * (1 - stay) * float64(step) / rateCells
		for k := step / 2; k < rateCells; k += step {
			b.w[c][k] = float64(b.w[c][k]*stay) + fresh
		}
	}
}

// times multiplies the weights by a likelihood per rate.
func (b *belief) times(likelihood *[rateCells]float64) {
	for c := range b.w {
		for k := range b.w[c] {
			b.w[c][k] *= likelihood[k]
		}
	}
	b.scale()
}

// meanCell returns the posterior mean of the cell, that is of the log rate.
func (b *belief) meanCell() float64 {
	mean := 0.0
	for c := range b.w {
		for k, w := range b.w[c] {
			mean += float64(float64(k) * w)
		}
	}
	return mean
}

// packed is a belief in 35 bytes: the logarithms of the weights per cell, below
// the greatest. Its zero value is the flat prior: the classes are equally
// likely, and so are all rates.
type packed [hypotheses]uint8

func (p *packed) unpack(b *belief) {
	i := 0
	for c, step := range stride {
		clear(b.w[c][:])
		for k := step / 2; k < rateCells; k += step {
			b.w[c][k] = weightOf[p[i]] * float64(step)
			i++
		}
	}
	b.scale()
}

// pack rounds the logarithms of the weights down or up at random with the right
// mean, so that evidence too small for one step adds up all the same. dither is
// any number that differs from poll to poll.
func (b *belief) pack(p *packed, dither uint64) {
	top := 0.0
	for c, step := range stride {
		for _, w := range b.w[c] {
			top = max(top, w/float64(step))
		}
	}
	const golden = 0x9e3779b97f4a7c15
	u := mix64(dither)
	base := fastLog(top)
	i := 0
	for c, step := range stride {
		for k := step / 2; k < rateCells; k += step {
			below := base - fastLog(b.w[c][k]/float64(step))
			q := float64(below/weightStep) + float64(u>>11)*0x1p-53
			p[i] = uint8(max(0, min(255, q)))
			i++
			u += golden // equidistributed over the weights of one page
		}
	}
}

// shift follows the grid that has moved down by so many times gridMove cells.
// What leaves the grid is forgotten, what enters takes the weight of the end that
// it enters at: there the likelihood is flat.
func (p *packed) shift(by int) {
	old := *p
	first := 0
	for _, step := range stride {
		n := rateCells / step
		for k := range n {
			p[first+k] = old[first+max(0, min(n-1, k-by*gridMove/step))]
		}
		first += n
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

// A gridTable holds a function of v = λτ at the points of the rate grid and
// gridFine points between any two, so that its values for all rates at a given τ
// lie side by side.
type gridTable [gridFine + 1][gridPoints]float64

const (
	gridFine   = 8
	gridOrigin = 36                           // index of v = 1
	gridPoints = gridOrigin + 16 + rateCells  // v from 4e-10 on
	gridTop    = gridPoints - rateCells - 0.5 // greatest position of the slowest rate
)

func newGridTable(fn func(v float64) float64) *gridTable {
	t := new(gridTable)
	for s := range t {
		for i := range t[s] {
			t[s][i] = fn(math.Exp(rateStep * (float64(i-gridOrigin) + float64(s)/gridFine)))
		}
	}
	return t
}

// A gridPoint is a place in a gridTable.
type gridPoint struct {
	row, at int
	rest    float64
}

// gridAt returns the place of the slowest rate e^(rateStep·slowest) times tau > 0.
func gridAt(slowest, tau float64) gridPoint {
	pos := math.Log(tau)/rateStep + slowest + gridOrigin
	pos = max(0, min(gridTop, pos))
	at := int(pos)
	fine := (pos - float64(at)) * gridFine
	row := int(fine)
	return gridPoint{row, at, fine - float64(row)}
}

// read returns the function's values at all rates.
func (t *gridTable) read(g gridPoint) (v [rateCells]float64) {
	lo := (*[rateCells]float64)(t[g.row][g.at:])
	hi := (*[rateCells]float64)(t[g.row+1][g.at:])
	for k := range v {
		v[k] = lo[k] + float64(g.rest*(hi[k]-lo[k]))
	}
	return v
}

// survive is e^(−v).
var survive = sync.OnceValue(func() *gridTable {
	return newGridTable(func(v float64) float64 { return math.Exp(-v) })
})

// values holds for each objective the value of a poll after a gap of v at known
// rate, h(v)/v^power: times gap^power it is the slope of V, see Objective. For
// Detections it is the probability of a change, of which the slope is a
// monotonic function.
var values = [objectives]func() *gridTable{
	Detections: sync.OnceValue(func() *gridTable {
		return newGridTable(func(v float64) float64 { return -math.Expm1(-v) })
	}),
	Freshness: valueTable(Freshness),
	Age:       valueTable(Age),
	Harmonic:  valueTable(Harmonic),
}

func valueTable(o Objective) func() *gridTable {
	return sync.OnceValue(func() *gridTable {
		s := slopes[o][Even]
		return newGridTable(func(v float64) float64 { return s.h(v) / math.Pow(v, float64(s.power)) })
	})
}
