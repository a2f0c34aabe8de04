package main

import (
	"slices"

	"github.com/recrawl/recrawl/knapsack"
)

// A paced policy sets a frequency for each page, and changes it as it learns. It polls the
// page that is most overdue, by the frequency times the weight over the cost. Pages that are
// said to have changed come first.
type paced struct {
	*knapsack.Fixed
	frequency []float64
	last      []float64 // time of the last poll
	first     float64   // frequency of a page at its beginning
	factors   []float64 // weight over cost; nil if they are equal
}

// newPaced begins with the same frequency for every page, that of the budget.
func newPaced(j job) (*paced, error) {
	first := j.rate / float64(j.pages)
	p := &paced{nil, slices.Repeat([]float64{first}, j.pages), slices.Repeat([]float64{j.start}, j.pages), first, j.factors()}
	x := slices.Clone(p.frequency)
	for page, f := range p.factors {
		x[page] *= f
	}
	var err error
	p.Fixed, err = knapsack.NewFixed(x, knapsack.Even, nil)
	return p, err
}

// factors returns how much more a poll of a page is worth for its weight and its cost.
func (j job) factors() []float64 {
	if j.costs == nil {
		return j.weights
	}
	factors := slices.Repeat([]float64{1}, j.pages)
	for page, c := range j.costs {
		factors[page] /= c
		if j.weights != nil {
			factors[page] *= j.weights[page]
		}
	}
	return factors
}

// join takes in a page that was added. It goes without weights and costs.
func (p *paced) join(id, _ int, now float64) error {
	p.frequency, p.last = put(p.frequency, id, p.first), put(p.last, id, now)
	return p.set(id, p.first)
}

// put returns values with one of a page, whose slot may be the next one.
func put[T any](values []T, id int, v T) []T {
	slot := knapsack.Slot(id)
	if slot == len(values) {
		return append(values, v)
	}
	values[slot] = v
	return values
}

// polled notes a poll, and returns the time since the one before.
func (p *paced) polled(page int, now float64, changed bool) (gap float64, err error) {
	slot := knapsack.Slot(page)
	gap = now - p.last[slot]
	p.last[slot] = now
	return gap, p.Fixed.Observe(page, now, changed)
}

// set changes the frequency of a page.
func (p *paced) set(page int, x float64) error {
	slot := knapsack.Slot(page)
	p.frequency[slot] = x
	if p.factors != nil {
		x *= p.factors[slot]
	}
	return p.SetFrequency(page, x)
}

// urgent is how many times as often a page is polled that is said to have changed. That
// makes it the next one, and ends with the poll.
const urgent = 1e9

// Signal says that a page changed. Only source 0 is believed.
func (p *paced) Signal(page, source int, at float64) error {
	if source > 0 || at <= p.last[page] {
		return nil
	}
	return p.SetFrequency(page, urgent*p.frequency[page])
}
