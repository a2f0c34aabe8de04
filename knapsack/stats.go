package knapsack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// Stats are numbers to watch a crawl by. Counts are since the learner was made, saved states
// included; those of a time between are differences.
type Stats struct {
	Pages    int // now
	InFlight int // now
	Failing  int // pages whose last poll got no answer, now

	Polls    uint64 // that Next gave
	Answers  uint64 // to polls, asked for or not
	Changes  uint64 // answers that found a change
	Failures uint64 // polls given back
	// InTurn counts the polls given in turn, because no schedule by rate was expected to do
	// better, and Late those given because a longest interval was over.
	InTurn, Late uint64

	// Expected is the sum of the probabilities with which answers were expected to find a change,
	// just before them, and Found the number of those that did. Answers from before the time scale
	// was known are in neither. Where Found stays well behind Expected, fewer pages change than
	// used to, or changes are missed; where it is well ahead, changes are reported that are none,
	// or pages change together.
	Expected float64
	Found    uint64

	Budget float64 // polls per unit of time, as measured of late; 0 before that is known
	Price  float64 // what one more poll would be worth; see RateFilter.Price
}

// tally holds the counts of Stats.
type tally struct {
	answers, changes, failures, inTurn, late, found uint64
	expected                                        float64
}

// answer counts an answer.
func (t *tally) answer(changed bool) {
	t.answers++
	if changed {
		t.changes++
	}
}

// predict counts an answer that was expected to find a change with some probability.
func (t *tally) predict(chance float64, changed bool) {
	t.expected += chance
	if changed {
		t.found++
	}
}

func (t *tally) counts() []*uint64 {
	return []*uint64{&t.answers, &t.changes, &t.failures, &t.inTurn, &t.late, &t.found}
}

func (t *tally) encode(e *codec.Encoder) {
	for _, n := range t.counts() {
		e.Uint64(*n)
	}
	e.Float64(t.expected)
}

func (t *tally) decode(d *codec.Decoder) {
	for _, n := range t.counts() {
		*n = d.Uint64()
	}
	t.expected = d.NonNegative()
}

// Stats returns numbers to watch. O(1).
func (f *RateFilter) Stats() Stats {
	s := Stats{
		Pages:    f.ids.Len(),
		InFlight: len(f.asked),
		Failing:  f.limits.Failures(),
		Polls:    f.meter.Polls(),
		Answers:  f.tally.answers,
		Changes:  f.tally.changes,
		Failures: f.tally.failures,
		InTurn:   f.tally.inTurn,
		Late:     f.tally.late,
		Expected: f.tally.expected,
		Found:    f.tally.found,
		Price:    f.Price(),
	}
	if f.model.Known() {
		s.Budget = float64(max(1, f.ids.Len())) / f.model.Cycle()
	}
	return s
}

// WhatIf returns what the best schedule would reach with a number of polls per unit of time, at the
// rates at which pages were found to change of late: the mean value of a page, as the Objective
// defines it, such as the share of time in which a copy is current. WhatIf of twice Stats.Budget is
// what twice the budget would give. It takes no account of weights and limits. Rates far above the
// frequency of polls come out too low, as most changes are missed; see TestWhatIf.
//
// It is an error as long as no page has been observed. It takes O(1), about 10 µs.
func (f *RateFilter) WhatIf(o Objective, polls float64) (float64, error) {
	p, err := f.outlook(o)
	if err != nil {
		return 0, err
	}
	return f.reach(p, polls)
}

// PollsFor is the inverse of WhatIf: it returns the number of polls per unit of time with which the
// best schedule would reach a mean value. It is an error if none would.
func (f *RateFilter) PollsFor(o Objective, value float64) (float64, error) {
	p, err := f.outlook(o)
	if err != nil {
		return 0, err
	}
	lo, hi := math.Log(mostInput)*-farBudget, math.Log(mostInput)*farBudget
	top, err := f.reach(p, math.Exp(hi))
	if err != nil {
		return 0, err
	}
	least, err := f.reach(p, math.Exp(lo))
	if err != nil {
		return 0, err
	}
	if !(value > least && value < top-1e-9*math.Abs(top)) { // the shares add up to 1 but for rounding
		return 0, fmt.Errorf("%w: %v %v, where the best schedules reach %v to %v", ErrConfig, o, value, least, top)
	}
	for range 60 {
		mid := (lo + hi) / 2
		if reached, err := f.reach(p, math.Exp(mid)); err != nil {
			return 0, err
		} else if reached < value {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp(hi), nil
}

// outlook returns the problem of the mean page: one page for each cell of rates, whose frequency y
// stands for y/share polls of a page of that cell. The cells are those of the hedge, as pages that
// are predicted alike can't be told apart: the posterior of all pages is wider than their rates,
// and its few fast ones would get all polls. As s·V(λ, y/s) is s^k·V(s·λ, y), with k = 0
// for Detections, 2 for Age and else 1, that is a Problem like others.
func (f *RateFilter) outlook(o Objective) (p Problem, err error) {
	if err := objectiveNames.Check(o); err != nil {
		return p, err
	}
	time, rates := f.census.Hedge.Rates()
	total := 0.0
	for _, t := range time {
		total += t
	}
	if !(total > 0) {
		return p, fmt.Errorf("%w: nothing has been observed", ErrConfig)
	}
	power := slopes[o][Even].power
	p.Objective = o
	for k, rate := range rates {
		share := time[k] / total
		if share < leastShare || rate < leastInput || rate > mostInput {
			continue
		}
		p.Rates = append(p.Rates, rate*share)
		p.Weights = append(p.Weights, math.Pow(share, float64(power)))
	}
	if len(p.Rates) == 0 {
		return p, fmt.Errorf("%w: no change has been found", ErrConfig)
	}
	return p, nil
}

// farBudget bounds the budgets that PollsFor looks at, as a part of the digits of what a Problem
// accepts.
const farBudget = 0.2

// leastShare is the share of page-time that counts in an outlook, far below what is known.
const leastShare = 1e-9

// reach returns the value of the mean page with a number of polls per unit of time of all pages.
func (f *RateFilter) reach(p Problem, polls float64) (float64, error) {
	p.Budget = polls / float64(max(1, f.ids.Len()))
	x, _, err := p.Optimal()
	if err != nil {
		return 0, err
	}
	return p.Value(x)
}
