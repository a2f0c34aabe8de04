// Package plan has the state of a knapsack.Planner: what was found of each page, its weight, and
// the price of the budget at which pages get their frequencies. It knows pages by their slots.
package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
	"github.com/recrawl/recrawl/knapsack/internal/rates"
)

// A Plan is the frequencies of pages for the estimates of their rates. Its exported fields are the
// settings.
type Plan struct {
	Budget    float64 // polls per unit of time, or their cost
	Floor     float64 // share of the budget that all pages have in common
	Objective int
	Random    bool // spacing
	Evidence  rates.Evidence

	last    []float64 // time of the last poll, or of Reset; −Inf at first
	weights []float64
	costs   []float64 // nil before the first SetCost
	cost    float64   // of a poll in the mean, at the latest Solve; 1 before it

	at      optimum.Price
	answers int     // since the frequencies were solved
	changes float64 // found in all
	time    float64 // observed in all, page-time
}

// leastReplan is the least number of answers between two plans. It keeps a planner of a few pages
// from solving at every answer, and is not tuned.
const leastReplan = 16

// Grow appends a slot of weight 1 whose page was never polled.
func (p *Plan) Grow() {
	p.Evidence.Add()
	p.last = append(p.last, math.Inf(-1))
	p.weights = append(p.weights, 1)
	if p.costs != nil {
		p.costs = append(p.costs, 1)
	}
}

// Slots returns the number of slots.
func (p *Plan) Slots() int { return len(p.last) }

// Reset begins a page anew, as one that is current at time now.
func (p *Plan) Reset(slot int, now float64) {
	p.Evidence.Reset(slot)
	p.last[slot], p.weights[slot] = now, 1
	if p.costs != nil {
		p.costs[slot] = 1
	}
}

// prior is the mean rate of all pages. Half a change is lent to the start, and half the time in which the
// budget pays for a poll: the first answers may come within next to no time, and some estimates never leave
// the rate that they begin with.
func (p *Plan) prior() float64 {
	if p.time == 0 {
		return 1
	}
	return rates.Within((p.changes + 0.5) / (p.time + float64(0.5*p.mean()/p.Budget)))
}

// Observe takes in the answer to a poll of one of n pages, all current at time start, and reports
// whether it is time for Solve.
func (p *Plan) Observe(slot int, start, now float64, changed bool, n int) (due bool) {
	if gap := now - max(p.last[slot], start); gap > 0 {
		p.time += gap
		if changed {
			p.changes++
		}
		p.Evidence.Observe(slot, gap, changed, p.prior())
		p.last[slot] = now
	}
	p.answers++
	return p.answers >= max(n, leastReplan)
}

// Rate returns the estimate for a page.
func (p *Plan) Rate(slot int) float64 { return p.Evidence.Rate(slot, p.prior()) }

// rate is the estimate as a Problem takes it.
func (p *Plan) rate(slot int, prior float64) float64 {
	rate := p.Evidence.Rate(slot, prior)
	if math.IsNaN(rate) { // from a saved state that somebody altered
		rate = 1
	}
	return optimum.Clamp(rate)
}

// SetWeight changes the weight of a page.
func (p *Plan) SetWeight(slot int, w float64) { p.weights[slot] = w }

// SetCost changes what a poll of a page costs.
func (p *Plan) SetCost(slot int, cost float64) {
	if p.costs == nil {
		p.costs = slices.Repeat([]float64{1}, len(p.last))
	}
	p.costs[slot] = cost
}

func (p *Plan) costOf(slot int) float64 {
	if p.costs == nil {
		return 1
	}
	return p.costs[slot]
}

// mean returns what a poll costs in the mean.
func (p *Plan) mean() float64 {
	if p.cost == 0 {
		return 1
	}
	return p.cost
}

// Price returns what one more poll is worth, 0 before the first Solve.
func (p *Plan) Price() float64 { return p.at.Mu() }

// Solved reports whether there was a Solve.
func (p *Plan) Solved() bool { return p.at.Set() }

// floor is the least frequency of one of n pages.
func (p *Plan) floor(n int) float64 { return p.Floor * p.Budget / p.mean() / float64(n) }

// Frequency returns that of one of n pages at the present price, or false before the first Solve.
func (p *Plan) Frequency(slot, n int) (x float64, ok bool) {
	if !p.at.Set() {
		return 0, false
	}
	cost, least := p.costOf(slot), p.floor(n)
	return p.at.Frequency(p.rate(slot, p.prior()), p.weights[slot]/cost, least, max(least, p.Budget/cost)), true
}

// Solve solves for the frequencies of n pages, those in the slots that are live, and hands them to
// set.
func (p *Plan) Solve(n int, live func(slot int) bool, set func(slot int, x float64)) {
	p.answers = 0
	problem := optimum.Problem{Budget: p.Budget, Objective: p.Objective, Random: p.Random,
		Rates: make([]float64, 0, n), Weights: make([]float64, 0, n), Lower: make([]float64, n)}
	for slot := range p.last {
		if live(slot) {
			problem.Weights = append(problem.Weights, p.weights[slot])
			if p.costs != nil {
				problem.Costs = append(problem.Costs, p.costs[slot])
			}
		}
	}
	if problem.Costs != nil {
		var total optimum.Sum
		for _, cost := range problem.Costs {
			total.Add(cost)
		}
		p.cost = optimum.Clamp(total.Value() / float64(n)) // rounding may lead out of the range of costs
	}
	prior := p.prior() // now that the mean cost is known
	for slot := range p.last {
		if live(slot) {
			problem.Rates = append(problem.Rates, p.rate(slot, prior))
		}
	}
	for i := range problem.Lower {
		problem.Lower[i] = p.floor(n) * (1 - 1e-9) // n of them must not exceed the budget by rounding
	}
	x, at, err := problem.Solve()
	if err != nil {
		panic(fmt.Sprintf("knapsack: rates, weights and costs are checked, yet %v", err))
	}
	p.at = at
	i := 0
	for slot := range p.last {
		if live(slot) {
			set(slot, x[i])
			i++
		}
	}
}

// EncodePage writes what is known of a page, for DecodePage to read of the same method.
func (p *Plan) EncodePage(slot int, e *codec.Encoder) {
	e.Float64(p.last[slot])
	p.Evidence.Page(slot).Encode(e)
}

// DecodePage reads what is known of a page into evidence of the method. What it returns puts it
// into a slot.
func (p *Plan) DecodePage(d *codec.Decoder, page rates.Evidence) (set func(slot int)) {
	last := d.Float64In(math.Inf(-1), math.MaxFloat64)
	page.Decode(d, 1)
	return func(slot int) {
		p.last[slot] = last
		p.Evidence.SetPage(slot, page)
	}
}

// Encode writes the state, without the settings.
func (p *Plan) Encode(e *codec.Encoder) {
	p.Evidence.Encode(e)
	e.Float64s(p.last)
	e.Float64s(p.weights)
	e.Float64s(p.costs)
	e.Float64(p.cost)
	e.Bool(p.at.Set())
	e.Float64(p.at.Top)
	e.Float64(p.at.LogZ)
	e.Int(p.answers)
	e.Float64(p.changes)
	e.Float64(p.time)
}

// Decode reads what Encode wrote of so many slots.
func (p *Plan) Decode(d *codec.Decoder, slots int) {
	p.Evidence.Decode(d, slots)
	p.last = d.Float64sIn(slots, math.Inf(-1), math.MaxFloat64)
	p.weights = d.Float64sIn(slots, 0, optimum.MostInput)
	for slot, w := range p.weights {
		d.Require(optimum.InRange(w), "slot %d has weight %v", slot, w)
	}
	p.costs = d.Float64sIn(codec.AnyLen, optimum.LeastInput, optimum.MostInput)
	d.Require(p.costs == nil || len(p.costs) == slots, "costs of %d of %d slots", len(p.costs), slots)
	p.cost = d.Float64In(0, optimum.MostInput)
	d.Require(p.cost == 0 || p.costs != nil && p.cost >= optimum.LeastInput, "a mean cost of %v", p.cost)
	planned, top, logZ := d.Bool(), d.NonNegative(), d.Float64In(math.Inf(-1), math.MaxFloat64)
	if planned {
		p.at = optimum.Of(p.Objective, p.Random).Price(top, logZ)
	}
	d.Require(planned || top == 0 && logZ == 0, "a price of %v and %v before there is one", top, logZ)
	p.answers, p.changes, p.time = d.IntIn(0, codec.MostCount), d.NonNegative(), d.NonNegative()
}
