package knapsack

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
)

// Stats are numbers to watch a crawl by. Counts include those of the saved states that the learner
// was restored from. For the counts of a period, take differences.
type Stats struct {
	Pages    int // now
	InFlight int // now
	Failing  int // pages whose last poll got no answer, now

	Polls    uint64 // that Next gave
	Answers  uint64 // to polls, asked for or not
	Changes  uint64 // those of the Answers that found a change
	Failures uint64 // polls given back
	// InTurn counts the polls given in turn, because no schedule by rates was expected to do
	// better. Late counts those given because a longest interval was over.
	InTurn, Late uint64

	// Expected is the sum of the probabilities of a change just before each answer, and Found the
	// number of those answers that found one. If Found stays well below Expected, fewer pages
	// change than they did, or changes are missed. If it is well above, changes are reported that
	// are none, or pages change together. Each RecordChanges counts here as one more answer,
	// although not in Answers and Changes. Answers before the time scale is known are in neither.
	// From 131,072 pages on a sample of the answers is judged, and each counts for as many as it
	// stands for.
	Expected float64
	Found    uint64

	// Budget is the number of polls per unit of time as measured of late, or their cost after a
	// SetCost; 0 until it is known.
	Budget float64
	Price  float64 // what one more poll, or cost, would be worth; see RateFilter.Price
}

// tally holds the counts of Stats.
type tally struct {
	answers, changes, failures, inTurn, late, found uint64
	expected                                        float64
	loss                                            float64 // part of polls of pages that answered the time before that fail
	judged                                          uint64  // how many such polls there were
}

// answer counts an answer.
func (t *tally) answer(changed bool) {
	t.answers++
	if changed {
		t.changes++
	}
}

// predict counts an answer that was expected to find a change with some probability, for so many.
func (t *tally) predict(chance float64, changed bool, answers int) {
	t.expected += float64(float64(answers) * chance)
	if changed {
		t.found += uint64(answers)
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
	e.Float64(t.loss)
	e.Uint64(t.judged)
}

func (t *tally) decode(d *codec.Decoder) {
	for _, n := range t.counts() {
		*n = d.Uint64()
	}
	t.expected = d.NonNegative()
	t.loss = d.Float64In(0, 1)
	t.judged = d.Uint64()
}

// Stats returns numbers to watch. O(1).
func (f *RateFilter) Stats() Stats {
	s := Stats{
		Pages:    f.ids.Len(),
		InFlight: f.flying(),
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
		s.Budget = f.paid() / f.model.Cycle()
	}
	return s
}

// WhatIf returns what the best schedule would achieve with a number of polls per unit of time, at
// the change rates found of late: the mean value of a page as the Objective defines it, such as the
// share of time in which a copy is current. WhatIf with twice Stats.Budget is what twice the budget
// would achieve. After a SetCost, polls is the cost of the polls per unit of time. Weights and
// limits are ignored. Rates far above the polling frequency come out too low, because most of their
// changes are missed; see TestWhatIf.
//
// It returns ErrNoChange until polls after the first one of each page have found changes;
// RecordChanges does not count. It returns ErrConfig for a number out of range and for an unknown
// objective. Time: O(1), about 10 µs. With costs it takes those of up to 1000 pages, and up
// to 10 ms.
func (f *RateFilter) WhatIf(o Objective, polls float64) (float64, error) {
	if err := checkBudget(polls); err != nil {
		return 0, err
	}
	page, unit, err := f.outlook(o)
	if err != nil {
		return 0, err
	}
	each := polls / unit
	if err := checkBudget(each); err != nil {
		return 0, err
	}
	return page.Value(each), nil
}

// PollsFor is the inverse of WhatIf: it returns the number of polls per unit of time, or their
// cost, with which the best schedule would achieve a mean value. Errors are those of WhatIf, and
// ErrConfig for a value that no schedule achieves.
func (f *RateFilter) PollsFor(o Objective, value float64) (float64, error) {
	page, unit, err := f.outlook(o)
	if err != nil {
		return 0, err
	}
	each, least, most := page.Polls(value)
	if !(value > least && value < most) {
		return 0, fmt.Errorf("%w: %v %v, where the best schedules reach %v to %v", ErrConfig, o, value, least, most)
	}
	return each * unit, nil
}

// outlook returns the mean page, and what one poll of every page costs. Its cells are those of the
// hedge, as pages that are predicted alike can't be told apart: the posterior of all pages is wider
// than their rates, and its few fast ones would get all polls.
func (f *RateFilter) outlook(o Objective) (page *optimum.Outlook, unit float64, err error) {
	if err := objectiveNames.Check(o); err != nil {
		return nil, 0, err
	}
	time, rates := f.census.Hedge.Rates()
	if f.costs == nil {
		page = optimum.NewOutlook(int(o), time[:], rates[:], nil)
	} else {
		page = f.costly(o, time, rates)
	}
	if page == nil {
		return nil, 0, ErrNoChange
	}
	return page, f.costOfAll(), nil
}

// outlookPages is how many pages are looked at where their costs differ: the mean of 1000 shares of
// time is known to 0.5/√1000 = 0.016, which is less than what is known of the rates. mostOutlookSlots is
// how many slots are looked at for these, as there may be few with a page.
const outlookPages, mostOutlookSlots = 1000, 1 << 17

// costly returns the mean page where pages cost unequal amounts: each of a sample of them has the
// rate of its cell and its own cost, relative to the mean. If there are many, slots are not taken at equal
// distances, as what pages cost may go by turns.
func (f *RateFilter) costly(o Objective, time, rates *belief.Row) *optimum.Outlook {
	var of, costs, share []float64
	total := 0.0
	slots, looked := uint64(len(f.polled)), 0
	all := slots < 2*outlookPages
	for k := uint64(0); k < min(slots, mostOutlookSlots) && (all || looked < outlookPages); k++ {
		slot := int(k)
		if !all {
			slot = int(k * fast.Golden >> 32 * slots >> 32)
		}
		if !f.ids.Live(slot) {
			continue
		}
		looked++
		b := f.belief(slot)
		cell := int(b.MeanCell() + 0.5)
		if !(time[cell] > 0) { // none was polled of late with such a belief
			continue
		}
		of, costs, share = append(of, rates[cell]), append(costs, f.cost(uint32(slot))), append(share, 1)
		total += f.cost(uint32(slot))
	}
	for i := range costs {
		costs[i] = max(optimum.LeastInput, costs[i]/total*float64(len(costs)))
	}
	return optimum.NewOutlook(int(o), share, of, costs)
}
