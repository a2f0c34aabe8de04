package knapsack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// An IntervalRule is how a production crawler adapts a page's revisit interval I
// to what a poll found:
//
//	changed     I ← (1−Shrink)·I + Shrink·Floor
//	unchanged   I ← (1+Grow)·I
//
// kept within Min and Max. All but Shrink and Grow are in the caller's unit of
// time. Such a rule knows no budget: left alone, each page's interval settles
// where a poll finds a change with probability
// ln(1+Grow)/(ln(1+Grow) − ln(1−Shrink)), for Floor 0.
type IntervalRule struct {
	Shrink float64 // in [0, 1)
	Floor  float64 // ≥ 0: where changes lead in the end
	Grow   float64 // ≥ 0
	Min    float64 // > 0
	Max    float64 // ≥ Min
}

// NutchRule is the rule of Apache Nutch's AdaptiveFetchSchedule at its defaults:
// ×0.8 for a change, ×1.4 for none, between a minute and a year. second is the
// length of a second in the caller's unit of time.
func NutchRule(second float64) IntervalRule {
	return IntervalRule{Shrink: 0.2, Grow: 0.4, Min: 60 * second, Max: 365 * 86400 * second}
}

// StormCrawlerRule is the rule of StormCrawler's adaptive scheduler: halfway to an
// hour for a change, ×1.5 for none, at most 14 days.
func StormCrawlerRule(second float64) IntervalRule {
	return IntervalRule{Shrink: 0.5, Floor: 3600 * second, Grow: 0.5, Min: 3600 * second, Max: 14 * 86400 * second}
}

// NewsCrawlRule is the rule of Common Crawl's news-crawl: a fifth of the way to 90
// minutes for a change, ×1.5 for none, at most 90 days.
func NewsCrawlRule(second float64) IntervalRule {
	return IntervalRule{Shrink: 0.2, Floor: 5400 * second, Grow: 0.5, Min: 5400 * second, Max: 90 * 86400 * second}
}

func (r IntervalRule) check() error {
	switch {
	case !(r.Shrink >= 0 && r.Shrink < 1):
		return fmt.Errorf("%w: shrink %v", ErrConfig, r.Shrink)
	case !(r.Grow >= 0) || math.IsInf(r.Grow, 1):
		return fmt.Errorf("%w: grow %v", ErrConfig, r.Grow)
	case !(r.Floor >= 0) || math.IsInf(r.Floor, 1):
		return fmt.Errorf("%w: floor %v", ErrConfig, r.Floor)
	case !(r.Min > 0 && r.Max >= r.Min) || math.IsInf(r.Max, 1):
		return fmt.Errorf("%w: interval between %v and %v", ErrConfig, r.Min, r.Max)
	}
	return nil
}

// next returns the interval after a poll.
func (r IntervalRule) next(interval float64, changed bool) float64 {
	if changed {
		interval = float64((1-r.Shrink)*interval) + float64(r.Shrink*r.Floor)
	} else {
		interval *= 1 + r.Grow
	}
	return min(max(interval, r.Min), r.Max)
}

// Adaptive is a production crawler's interval rule put under a budget: at each
// ask it polls the page that is most overdue, the one with the greatest
// (now − last)/interval. Good at: pages of few, steady rates; no state but the
// interval. Bad at: it holds a fixed hit rate, whatever the budget could buy, and
// forgets at a fixed speed.
//
// Next and Observe take O(log n) (O(log² n) amortised at worst) and do not
// allocate; 29 bytes a page. A poll given back counts as made and leaves the
// interval as it is.
type Adaptive struct {
	book
	rule   IntervalRule
	start  float64
	roster *overdue // x = 1/interval
}

var _ Learner = (*Adaptive)(nil)

// NewAdaptive returns an Adaptive of n pages 0..n−1 whose intervals begin at
// start, cut off at the rule's Min and Max. It returns ErrConfig for a setting
// out of range.
func NewAdaptive(n int, rule IntervalRule, start float64) (*Adaptive, error) {
	if err := rule.check(); err != nil {
		return nil, err
	}
	if !(start > 0) || math.IsInf(start, 1) {
		return nil, fmt.Errorf("%w: start interval %v", ErrConfig, start)
	}
	a := &Adaptive{book: newBook(n), rule: rule, start: min(max(start, rule.Min), rule.Max), roster: newOverdue(n)}
	for slot := range n {
		a.roster.set(slot, 1/a.start)
	}
	return a, nil
}

// Next implements Scheduler.
func (a *Adaptive) Next(now float64) (page int, err error) {
	if err := a.clock(now); err != nil {
		return 0, err
	}
	slot, ok := a.roster.pick(now)
	if !ok {
		return 0, ErrNoPage
	}
	return a.ask(slot, now), nil
}

// Observe implements Scheduler.
func (a *Adaptive) Observe(page int, now float64, changed bool) error {
	slot, err := a.answer(page, now)
	if err == nil {
		a.roster.put(slot, now)
		a.roster.set(slot, 1/a.rule.next(1/a.roster.frequency(slot), changed))
	}
	return err
}

// GiveBack implements Scheduler.
func (a *Adaptive) GiveBack(page int, now float64) error {
	slot, err := a.answer(page, now)
	if err == nil {
		a.roster.put(slot, now)
	}
	return err
}

// Add implements Learner: the page begins with the start interval.
func (a *Adaptive) Add() (page int) {
	page = a.ids.Add()
	a.roster.put(Slot(page), a.now)
	a.roster.set(Slot(page), 1/a.start)
	return page
}

// Remove implements Learner.
func (a *Adaptive) Remove(page int) error {
	slot, _, err := a.remove(page)
	if err == nil {
		a.roster.drop(slot)
	}
	return err
}

// Interval returns the present interval of a page.
func (a *Adaptive) Interval(page int) (float64, error) {
	slot, err := a.slot(page)
	if err != nil {
		return 0, err
	}
	return 1 / a.roster.frequency(slot), nil
}

const adaptiveMagic = "recrawl/adaptive"

// AppendBinary appends the state.
func (a *Adaptive) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, adaptiveMagic, 1)
	a.book.encode(e)
	for _, v := range []float64{a.rule.Shrink, a.rule.Floor, a.rule.Grow, a.rule.Min, a.rule.Max, a.start} {
		e.Float64(v)
	}
	a.roster.encode(e)
	return e.Finish()
}

// MarshalBinary returns the state.
func (a *Adaptive) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; a may be the zero value.
func (a *Adaptive) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, adaptiveMagic, 1)
	if err != nil {
		return err
	}
	r := Adaptive{book: decodeBook(d)}
	r.rule = IntervalRule{Shrink: d.Float64(), Floor: d.Float64(), Grow: d.Float64(), Min: d.Float64(), Max: d.Float64()}
	r.start = d.Float64()
	if err := r.rule.check(); err != nil || !(r.start > 0) || math.IsInf(r.start, 1) {
		d.Fail("rule %+v, start interval %v", r.rule, r.start)
	}
	r.roster, _ = decodeRoster(d, Even, &r.book).(*overdue)
	if err := d.Done(); err != nil {
		return err
	}
	*a = r
	return nil
}
