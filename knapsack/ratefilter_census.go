package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// A census is what the rate filter knows of its pages as a whole.
type census struct {
	// share[c][k] is the time, weighted by how recent it is, that pages are
	// believed to have spent under a hypothesis; prior is made of it, relative to
	// the flat one.
	share, prior [rateClasses][rateCells]float64
	// Polls by the posterior mean log rate before them: changes found, bias
	// corrected, and time observed. gain is how much more the best schedule at
	// the rates that follow detects than polling in turn, as a fraction.
	changes, time, rate [rateCells]float64
	gain                float64
	// patience is the gap, in cycles, after which a page is due whatever its index.
	// earned is what all other polls found, by weight, of late; tried their number.
	patience, tried, earned float64
	until                   uint8 // polls until prior and gain are computed anew
}

const (
	worthwhile   = 0.04 // gain from which on pages are not polled in turn
	scoreMemory  = 12   // polls per page
	shareMemory  = 5    // cycles
	censusPeriod = 16   // polls
	scorePrior   = 2    // changes at the mean rate, added in every cell

	firstPatience = 8 // for Detections
	leastPatience = 4
	patiencePace  = 8 // by how much it grows, in nats, while n polls earn nothing
	earnedMemory  = 4 // polls per page
)

func (c *census) reset(o Objective) {
	*c = census{until: censusPeriod, patience: floorCycles}
	if o == Detections {
		c.patience = firstPatience
	}
	for i := range c.prior {
		for k := range c.prior[i] {
			c.prior[i][k] = 1
		}
	}
}

// inform multiplies a belief, made under a prior that is flat, by the prior.
func (c *census) inform(b *belief) {
	for i := range b.w {
		for k := range b.w[i] {
			b.w[i][k] *= c.prior[i][k]
		}
	}
	b.scale()
}

// score takes in the result of a poll after a gap, cell being the posterior mean
// before it.
func (c *census) score(cell, gap float64, changed bool, cycle float64, n int) {
	k := int(cell + 0.5)
	if changed {
		v := gap / cycle
		if c.rate[k] > 0 {
			v = gap * c.rate[k]
		}
		// The mean number of changes, given that there was one.
		c.changes[k] += v / -math.Expm1(-v)
	}
	c.time[k] += gap
	keep := 1 - 1/(scoreMemory*float64(max(n, 4)))
	for k := range c.time {
		c.changes[k] *= keep
		c.time[k] *= keep
	}
}

// earn takes in what a poll found of a page. Late polls are made because patience
// is over, while the index says that there is little to find. At the best schedule
// for constant rates all polls find a change with the same probability; so patience
// stays as it is where late polls earn as much as the others do, and shortens
// where they earn more.
func (c *census) earn(weight float64, changed, late bool, n int) {
	found := 0.0
	if changed {
		found = weight
	}
	if !late {
		keep := 1 - 1/(earnedMemory*float64(max(n, 4)))
		c.tried = float64(c.tried*keep) + 1
		c.earned = min(float64(c.earned*keep)+found, math.MaxFloat64)
		return
	}
	usual := (c.earned + weight) / (c.tried + 2)
	if !(weight > usual && usual > 0) {
		return // it could not have earned as much, or the numbers are too small to tell
	}
	step := max(1-found/usual, -9) * patiencePace / float64(max(n, 32))
	c.patience = max(leastPatience, min(floorCycles, c.patience*math.Exp(step)))
}

// count takes in the posterior of a page observed for a time gap, and says whether
// the prior is a new one.
func (c *census) count(b *belief, gap, cycle float64, n int) bool {
	total := 0.0
	for i := range b.w {
		for k, w := range b.w[i] {
			total += float64(w * c.prior[i][k])
		}
	}
	keep, scale := math.Exp(-gap/(shareMemory*cycle*float64(max(n, 1)))), gap/total
	for i := range b.w {
		for k, w := range b.w[i] {
			c.share[i][k] = float64(c.share[i][k]*keep) + float64(float64(w*c.prior[i][k])*scale)
		}
	}
	if c.until--; c.until > 0 {
		return false
	}
	c.until = censusPeriod
	c.estimate(cycle, n)
	return true
}

// estimate computes prior, rates and gain.
func (c *census) estimate(cycle float64, n int) {
	total := 0.0
	for i := range c.share {
		for _, s := range c.share[i] {
			total += s
		}
	}
	// As if every page had been seen for a cycle under the flat prior. The
	// posterior of a class that jumps has the prior of rates in it at every jump,
	// and that is flat; so it is for the steady class only that rates are learnt.
	flat := cycle * float64(n)
	for i := range c.prior {
		mass := 0.0
		for _, s := range c.share[i] {
			mass += s
		}
		for k := range c.prior[i] {
			s := mass * rateClasses
			if i == steady {
				s = c.share[i][k] * rateClasses * rateCells
			}
			c.prior[i][k] = (s + flat) / (total + flat)
		}
	}

	time, changes := 0.0, 0.0
	for k := range c.time {
		time += c.time[k]
		changes += c.changes[k]
	}
	if !(changes > 0) {
		return
	}
	mean := changes / time
	inTurn := 0.0
	for k := range c.time {
		c.rate[k] = (c.changes[k] + scorePrior) / (c.time[k] + scorePrior/mean)
		inTurn -= c.time[k] / time * math.Expm1(-c.rate[k]*cycle)
	}
	c.gain = -math.Expm1(-mean*cycle)/inTurn - 1
}

// shift follows a move of the grid, like packed.shift.
func (c *census) shift(by int) {
	by *= gridMove
	slide := func(row *[rateCells]float64, edge bool) {
		old := *row
		if !edge {
			*row = [rateCells]float64{}
		}
		for k := range row {
			if edge {
				row[k] = old[max(0, min(rateCells-1, k-by))]
			} else {
				row[max(0, min(rateCells-1, k+by))] += old[k]
			}
		}
	}
	for i := range c.share {
		slide(&c.share[i], false)
		slide(&c.prior[i], true)
	}
	slide(&c.changes, false)
	slide(&c.time, false)
	slide(&c.rate, true)
}

func (c *census) encode(e *codec.Encoder) {
	for i := range c.share {
		e.Float64s(c.share[i][:])
		e.Float64s(c.prior[i][:])
	}
	e.Float64s(c.changes[:])
	e.Float64s(c.time[:])
	e.Float64s(c.rate[:])
	e.Float64(c.gain)
	e.Float64(c.patience)
	e.Float64(c.tried)
	e.Float64(c.earned)
	e.Byte(c.until)
}

func (c *census) decode(d *codec.Decoder) {
	row := func(to *[rateCells]float64) {
		from := d.Float64s()
		if len(from) != rateCells {
			d.Fail("%d rates, want %d", len(from), rateCells)
			return
		}
		for k, x := range from {
			if !(x >= 0) || math.IsInf(x, 1) {
				d.Fail("census holds %v", x)
			}
			to[k] = x
		}
	}
	for i := range c.share {
		row(&c.share[i])
		row(&c.prior[i])
	}
	row(&c.changes)
	row(&c.time)
	row(&c.rate)
	if c.gain = d.Float64(); math.IsNaN(c.gain) {
		d.Fail("gain is %v", c.gain)
	}
	if c.patience = d.Float64(); !(c.patience >= leastPatience && c.patience <= floorCycles) {
		d.Fail("patience of %v cycles", c.patience)
	}
	for _, to := range []*float64{&c.tried, &c.earned} {
		if *to = d.Float64(); !(*to >= 0) || math.IsInf(*to, 1) {
			d.Fail("%v polls or changes", *to)
		}
	}
	if c.until = d.Byte(); c.until < 1 || c.until > censusPeriod {
		d.Fail("next census in %d polls", c.until)
	}
}
