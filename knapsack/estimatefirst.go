package knapsack

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// Estimator is the estimating policy of Granmo et al. 2006, section III.C: it
// polls all pages at the same frequency for a number of polls, estimates their
// change rates, and from then on polls in proportion to the estimates. It shows
// what estimating first costs. Good at: nothing that the learners are not better
// at. Bad at: it learns nothing before the phase is over and nothing after, and a
// page without a change seen by then is never polled again.
//
// The estimate from k polls of a page of which m found a change is
//
//	λ̂ = −ln((k − m + ½)/(k + ½)) / (mean gap between the polls)
//
// the bias-reduced one of Cho and Garcia-Molina 2003, 0 for m = 0. If no page
// changed, it stays with the uniform policy. A page added later is polled at the
// mean frequency of the others. It takes 24 bytes a page more than Fixed.
type Estimator struct {
	fixed   Fixed
	left    int       // answers that the phase still waits for
	polls   []uint32  // answers per slot
	changes []uint32  // of those, with a change
	since   []float64 // time from which on the slot is observed; −Inf: from the first Next
	until   []float64 // time of the last answer
}

var _ Learner = (*Estimator)(nil)

// NewEstimator returns an Estimator of n pages 0..n−1 whose phase takes the given
// number of answers, at least 1. src is used for Random spacing only.
func NewEstimator(n, phase int, spacing Spacing, src rand.Source) (*Estimator, error) {
	if phase < 1 {
		return nil, fmt.Errorf("%w: a phase of %d polls", ErrConfig, phase)
	}
	x := make([]float64, n)
	since := make([]float64, n)
	for i := range x {
		x[i], since[i] = 1, math.Inf(-1)
	}
	f, err := NewFixed(x, spacing, src)
	if err != nil {
		return nil, err
	}
	return &Estimator{fixed: *f, left: phase, polls: make([]uint32, n), changes: make([]uint32, n),
		since: since, until: make([]float64, n)}, nil
}

// Next implements Scheduler.
func (e *Estimator) Next(now float64) (page int, err error) {
	first := math.IsInf(e.fixed.now, -1)
	page, err = e.fixed.Next(now)
	if first && err == nil {
		for slot := range e.since {
			e.since[slot] = now
		}
	}
	return page, err
}

// Observe implements Scheduler. Answers after the phase change nothing but the
// schedule.
func (e *Estimator) Observe(page int, now float64, changed bool) error {
	if err := e.fixed.Observe(page, now, changed); err != nil || e.left == 0 {
		return err
	}
	slot := Slot(page)
	e.polls[slot]++
	if changed {
		e.changes[slot]++
	}
	e.until[slot] = now
	if e.left--; e.left == 0 {
		e.settle()
	}
	return nil
}

// settle gives all pages the frequencies of their estimates.
func (e *Estimator) settle() {
	var total float64
	for slot := range e.polls {
		total += e.estimate(slot)
	}
	if total == 0 {
		return
	}
	for slot := range e.polls {
		if e.fixed.ids.Live(slot) {
			e.fixed.roster.set(slot, e.estimate(slot))
		}
	}
}

func (e *Estimator) estimate(slot int) float64 {
	k, m := float64(e.polls[slot]), float64(e.changes[slot])
	span := e.until[slot] - e.since[slot]
	if m == 0 || !(span > 0) || !e.fixed.ids.Live(slot) {
		return 0
	}
	return -math.Log((k-m+0.5)/(k+0.5)) * k / span
}

// GiveBack implements Scheduler.
func (e *Estimator) GiveBack(page int, now float64) error { return e.fixed.GiveBack(page, now) }

// Add implements Learner, in O(n) once the phase is over.
func (e *Estimator) Add() (page int) {
	x := 1.0
	if n := e.fixed.ids.Len(); e.left == 0 && n > 0 {
		x = 0
		for slot := range e.polls {
			x += e.fixed.roster.frequency(slot) / float64(n)
		}
	}
	page = e.fixed.Add()
	slot := Slot(page)
	if slot == len(e.polls) {
		e.polls, e.changes = append(e.polls, 0), append(e.changes, 0)
		e.since, e.until = append(e.since, 0), append(e.until, 0)
	}
	e.polls[slot], e.changes[slot], e.since[slot], e.until[slot] = 0, 0, e.fixed.now, 0
	e.fixed.roster.set(slot, x)
	return page
}

// Remove implements Learner.
func (e *Estimator) Remove(page int) error { return e.fixed.Remove(page) }

// Len returns the number of pages.
func (e *Estimator) Len() int { return e.fixed.Len() }

// All returns the ids of all pages, in the order of their slots.
func (e *Estimator) All() iter.Seq[int] { return e.fixed.All() }

// Frequency returns the present frequency of a page, up to a factor common to
// all.
func (e *Estimator) Frequency(page int) (float64, error) { return e.fixed.Frequency(page) }

const estimatorMagic = "recrawl/estimator"

// AppendBinary appends the state, source included.
func (e *Estimator) AppendBinary(b []byte) ([]byte, error) {
	inner, err := e.fixed.MarshalBinary()
	if err != nil {
		return nil, err
	}
	enc := codec.NewEncoder(b, estimatorMagic, 1)
	enc.Bytes(inner)
	enc.Int(e.left)
	enc.Uint32s(e.polls)
	enc.Uint32s(e.changes)
	enc.Float64s(e.since)
	enc.Float64s(e.until)
	return enc.Finish()
}

// MarshalBinary returns the state, source included.
func (e *Estimator) MarshalBinary() ([]byte, error) { return e.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; e may be the zero value.
func (e *Estimator) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, estimatorMagic, 1)
	if err != nil {
		return err
	}
	inner := d.Bytes()
	r := Estimator{left: d.Int(), polls: d.Uint32s(), changes: d.Uint32s(), since: d.Float64s(), until: d.Float64s()}
	if err := d.Done(); err != nil {
		return err
	}
	if err := r.fixed.UnmarshalBinary(inner); err != nil {
		return err
	}
	n := r.fixed.ids.Slots()
	if r.left < 0 || len(r.polls) != n || len(r.changes) != n || len(r.since) != n || len(r.until) != n {
		return fmt.Errorf("%w: the arrays of an estimator of %d slots differ in length", ErrCorrupt, n)
	}
	*e = r
	return nil
}
