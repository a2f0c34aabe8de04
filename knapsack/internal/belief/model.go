package belief

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Worth is what a poll of a page is worth after a gap τ at a known rate λ.
type Worth struct {
	// Table holds h(v)/v^Power of v = λτ: times τ^Power it is the slope of the
	// objective.
	Table *Table
	Power int
	// Chance says that Table holds the probability of a change instead, whose average
	// over the posterior Slope turns into the slope of the objective.
	Chance bool
	// Plain says that the value is the mean without optimism, which only blurs the pages where
	// the objective is Delay, and that a page that jumps is taken to go where the rates of all
	// pages are: the mean of a flat prior is that of its fastest rates. Both were measured on
	// the delays of four recorded histories.
	Plain bool
	// Many is how many changes in a gap halve the worth, where Plain.
	Many float64
	// Burst is Table for a page that jumps, as far as it is taken for one that bursts, where Plain.
	Burst *Table
	// Slowest sets the grid: the slowest rate is about 1/(Slowest·cycle), the fastest
	// 90,000 times that.
	Slowest float64
}

// A Model is what the beliefs about all pages share. Value and Slope give the worth of a
// poll; Unpack, Learn and Pack are the Bayes step; Begin and Rescale set the unit of time,
// the cycle, before which nothing else may be called. A Model holds no page.
type Model struct {
	worth   Worth
	survive *Table              // e^(−v)
	cycle   float64             // 0 until known
	anchor  float64             // the slowest rate is e^(Step·(anchor+gridMove·moves))
	moves   int                 // of the grid since the cycle was known
	lens    [Hypotheses]float64 // prior to decide by, times class stride
	land    Row                 // probabilities of the rates of all pages, see Focus
}

// NewModel returns a model whose prior to decide by is flat.
func NewModel(worth Worth) Model {
	m := Model{worth: worth, survive: survive()}
	m.Focus(nil, nil)
	return m
}

// Cycle returns the unit of time; 0 before Begin.
func (m *Model) Cycle() float64 { return m.cycle }

// Known reports whether there is a unit of time.
func (m *Model) Known() bool { return m.cycle > 0 }

// leastCycle and mostCycle bound the unit of time, so that all rates of the grid and their inverses
// are finite: these are up to 21,000 times the inverse of a cycle, and down to a 2300th of it.
const leastCycle, mostCycle = 1e-303, 1e303

// Begin sets the unit of time for the first time, within 1e-303 to 1e303.
func (m *Model) Begin(cycle float64) {
	m.cycle = max(leastCycle, min(mostCycle, cycle))
	m.anchor = m.gridStart()
}

// mostOff is how far the grid may be off, in steps.
const mostOff = 0.75 * gridMove

// Rescale changes the unit of time, within the bounds of Begin. The grid follows it when it is
// clearly off; moved is then 1 or −1, and whoever keeps numbers by cell must Slide them by −moved.
func (m *Model) Rescale(cycle float64) (moved int) {
	m.cycle = max(leastCycle, min(mostCycle, cycle))
	off := m.off()
	if math.Abs(off) > mostOff {
		moved = int(math.Copysign(1, off))
		m.moves += moved
	}
	return moved
}

// gridStart is where the grid ought to begin, in steps.
func (m *Model) gridStart() float64 { return -math.Log(m.worth.Slowest*m.cycle) / Step }

// off is how far the grid begins from where it ought to, in steps.
func (m *Model) off() float64 { return m.gridStart() - m.slowestRate() }

// slowestRate is where the grid begins, in steps.
func (m *Model) slowestRate() float64 { return m.anchor + float64(gridMove*m.moves) }

// Rate returns the rate at a place of the grid; cell k is at k.
func (m *Model) Rate(k float64) float64 { return math.Exp(Step * (k + m.slowestRate())) }

// Fresh returns the belief about a page of which nothing is known.
func (m *Model) Fresh() Packed { return Packed{moves: int8(m.moves)} }

// follow brings a belief to the grid as it is now.
func (m *Model) follow(p *Packed) {
	if moved := int8(m.moves) - p.moves; moved != 0 {
		p.shift(-int(moved))
		p.moves = int8(m.moves)
	}
}

// Focus sets the prior to decide by: Value weighs the posterior by it. landing has the
// probabilities of the rates of all pages, to which pages jump for a worth that is Plain, and pages that
// rest for others. nil is flat.
func (m *Model) Focus(prior *Prior, landing *Row) {
	for k := range m.land {
		m.land[k] = 1.0 / Cells
	}
	if landing != nil {
		m.land = *landing
	}
	i := 0
	for c, step := range stride {
		for k := step / 2; k < Cells; k += step {
			m.lens[i] = float64(step)
			if prior != nil {
				m.lens[i] *= prior[c][k]
			}
			i++
		}
	}
}

// Unpack puts a packed belief into b.
func (m *Model) Unpack(p *Packed, b *Belief) {
	m.follow(p)
	p.unpack(b)
}

// Pack stores b in p. dither is any number that differs from poll to poll.
func (m *Model) Pack(b *Belief, p *Packed, dither uint64) {
	p.moves = int8(m.moves)
	b.pack(p, dither)
}

// Learn is the step of the Bayes filter: gap has passed since the last one, and the page has
// changed or not. Where pages change more or less at present than they use to, the gap counts as
// one of another length.
func (m *Model) Learn(b *Belief, gap, counts float64, changed bool) {
	m.LearnEdited(b, gap, counts, 0, changed)
}

// Pass lets a time gap go by, in which rates may have jumped.
func (m *Model) Pass(b *Belief, gap float64) { b.pass(gap / m.cycle) }

// LearnTime is the step for a change at a known moment, a time gap after the last step, which
// counts as one of another length: the density λ·e^(−λ·counts).
func (m *Model) LearnTime(b *Belief, gap, counts float64) {
	m.Learn(b, gap, counts, false)
	var density Row
	for k := range density {
		density[k] = math.Exp(Step * float64(k-Cells/2))
	}
	b.times(&density)
}

// Survival returns the probability that a page does not change within gap, given the probabilities
// of its rates.
func (m *Model) Survival(x *Row, gap float64) (p float64) {
	var stays Row
	m.survive.read(&stays, gridAt(m.slowestRate(), gap))
	for k := range stays {
		p += float64(x[k] * stays[k])
	}
	return p
}

// Mean returns the mean rate under a marginal.
func (m *Model) Mean(x *Row) float64 {
	mean := 0.0
	for k, w := range x {
		mean += float64(w * m.Rate(float64(k)))
	}
	return mean
}

// Quantile returns a quantile of the rate under a marginal, the probability of a cell
// spread over its width.
func (m *Model) Quantile(x *Row, q float64) float64 {
	for k, w := range x {
		if q <= w || k == Cells-1 {
			return m.Rate(float64(k) - 0.5 + min(1, q/max(w, math.SmallestNonzeroFloat64)))
		}
		q -= w
	}
	panic("unreachable")
}

// Slope turns a value into the slope of the objective.
func (m *Model) Slope(value float64) float64 {
	if !m.worth.Chance {
		return value
	}
	return Gain(value)
}

// Gain is p + (1−p)·ln(1−p), the slope of Detections where a page has changed with probability p.
// Over the rate it is that of Freshness.
func Gain(p float64) float64 {
	if p < 0.02 { // lest a difference from 1 lose its digits
		return p * p * (1.0/2 + float64(p*(1.0/6+float64(p*(1.0/12+float64(p/20))))))
	}
	stay := max(1-p, 1e-15)
	return 1 - float64(stay*(1-fast.Log(stay)))
}

// Slide moves numbers by cell along with the grid, which has moved down by so many
// times gridMove cells. What leaves the grid is added to the cell at its end.
func Slide(row *Row, by int) {
	old := *row
	*row = Row{}
	for k := range row {
		row[max(0, min(Cells-1, k+by*gridMove))] += old[k]
	}
}

// Slide is Slide for numbers by hypothesis: what leaves the grid is added to the last cell of its
// class.
func (p *Prior) Slide(by int) {
	old := *p
	*p = Prior{}
	for c, k := range Hypothesis {
		first := stride[c] / 2
		last := Cells - stride[c] + first
		p[c][max(first, min(last, k+by*gridMove))] += old[c][k]
	}
}

// Stretch is Slide for numbers that are not sums: what enters takes the number at the
// end that it enters at.
func Stretch(row *Row, by int) {
	old := *row
	for k := range row {
		row[k] = old[max(0, min(Cells-1, k-by*gridMove))]
	}
}

// Encode writes the unit of time and the place of the grid.
func (m *Model) Encode(e *codec.Encoder) {
	e.Float64(m.cycle)
	e.Float64(m.anchor)
	e.Int(m.moves)
}

// farthest bounds the place of a grid, in steps: at mostCycle that is at −1171, at leastCycle at 1156,
// and the grid may be off by mostOff.
const farthest = 1200

// decodeCycle reads a unit of time, 0 for none.
func decodeCycle(d *codec.Decoder) float64 {
	cycle := d.Float64In(0, mostCycle)
	d.Require(cycle == 0 || cycle >= leastCycle, "a unit of time of %v", cycle)
	return cycle
}

// Decode reads what Encode wrote into a new model. Focus is up to the caller.
func (m *Model) Decode(d *codec.Decoder) {
	m.cycle, m.anchor, m.moves = decodeCycle(d), d.Float64In(-farthest, farthest), d.IntIn(-farthest, farthest)
	if m.Known() {
		d.Require(math.Abs(m.off()) <= gridMove, "a grid at %v for a cycle of %v", m.slowestRate(), m.cycle)
	} else {
		d.Require(m.anchor == 0 && m.moves == 0, "a grid at %v without a cycle", m.slowestRate())
	}
}
