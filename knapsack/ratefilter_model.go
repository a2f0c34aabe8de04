package knapsack

import (
	"math"
	"sync"
)

// The rate filter's picture of one page: it changes as a Poisson process whose
// rate is one of rateCells on a logarithmic grid, and the rate itself jumps to
// one drawn anew from the whole grid after an exponentially distributed time,
// whose mean is one of rateClasses. A poll multiplies the weight of each
// hypothesis by the likelihood of what it found.
const (
	rateCells   = 12
	rateClasses = 3
	steady      = rateClasses - 1 // the class whose rates stay almost for ever
	rateStep    = 1.125           // between neighbouring rates, in nats: a factor of 3.08

	// Weights are kept relative to the greatest, as 8-bit logarithms.
	weightStep = 1.0 / 20 // nats
)

// slowest sets the grid: the slowest rate is about 1/(slowest·cycle), the fastest
// 60,000 times that. A poll of a page slower than 1/64 per cycle earns next to no
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

// A belief is the posterior of one page, unpacked.
type belief struct {
	w    [rateClasses][rateCells]float64
	mass [rateClasses]float64 // sums of the rows of w
}

// scale divides all weights by their total.
func (b *belief) scale() {
	total := 0.0
	for c := range b.w {
		b.mass[c] = 0
		for _, w := range b.w[c] {
			b.mass[c] += w
		}
		total += b.mass[c]
	}
	for c := range b.w {
		for k := range b.w[c] {
			b.w[c][k] /= total
		}
		b.mass[c] /= total
	}
}

// marginal returns the probability of each rate a time gap (in cycles) later.
func (b *belief) marginal(gap float64) (x [rateCells]float64) {
	fresh := 0.0 // probability of a jump
	for c := range b.w {
		stay := math.Exp(-gap / switching[c])
		fresh += b.mass[c] * (1 - stay)
		for k, w := range b.w[c] {
			x[k] += float64(w * stay)
		}
	}
	for k := range x {
		x[k] += fresh / rateCells
	}
	return x
}

// pass lets a time gap (in cycles) go by: rates may have jumped.
func (b *belief) pass(gap float64) {
	for c := range b.w {
		stay := math.Exp(-gap / switching[c])
		fresh := b.mass[c] * (1 - stay) / rateCells
		for k, w := range b.w[c] {
			b.w[c][k] = float64(w*stay) + fresh
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

// packed is a belief in 36 bytes.
type packed [rateClasses * rateCells]uint8

func (p *packed) unpack(b *belief) {
	for c := range b.w {
		for k := range b.w[c] {
			b.w[c][k] = weightOf[p[c*rateCells+k]]
		}
	}
	b.scale()
}

// pack rounds the logarithms of the weights down or up at random with the right
// mean, so that evidence too small for one step adds up all the same. dither is
// any number that differs from poll to poll.
func (b *belief) pack(p *packed, dither uint64) {
	top := 0.0
	for c := range b.w {
		for _, w := range b.w[c] {
			top = max(top, w)
		}
	}
	const golden = 0x9e3779b97f4a7c15
	u := mix64(dither)
	base := fastLog(top)
	for c := range b.w {
		for k, w := range b.w[c] {
			q := float64((base-fastLog(w))/weightStep) + float64(u>>11)*0x1p-53
			p[c*rateCells+k] = uint8(max(0, min(255, q)))
			u += golden // equidistributed over the weights of one page
		}
	}
}

// shift moves a packed belief by cells of the grid towards higher indices, where
// the grid itself has moved down. What leaves the grid is forgotten, what enters
// takes the weight of the end that it enters at: there the likelihood is flat.
func (p *packed) shift(by int) {
	old := *p
	for c := range rateClasses {
		row := old[c*rateCells : (c+1)*rateCells]
		for k := range row {
			p[c*rateCells+k] = row[max(0, min(rateCells-1, k-by))]
		}
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
	gridFine   = 16
	gridOrigin = 20                           // index of v = 1
	gridPoints = gridOrigin + 9 + rateCells   // v from 2e-10 on
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

// gridAt returns the place of the slowest rate e^(rateStep·cell) times tau > 0.
func gridAt(cell int, tau float64) gridPoint {
	pos := math.Log(tau)/rateStep + float64(cell+gridOrigin)
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
