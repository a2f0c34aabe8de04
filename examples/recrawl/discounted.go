package main

import (
	"math"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// A discountedGamma polls the page with the greatest λ·gap. Its λ is the mean of a Gamma
// law: changes found over time watched, both forgotten exponentially as time goes by. A
// poll that finds a change counts as v/(1 − e^(−v)) of them, the mean number of changes in
// a gap with at least one, v = λ·gap. A page begins as if it changed once in a cycle, the
// time in which the budget pays for a poll of each page.
type discountedGamma struct {
	*paced                 // by λ
	cycle, memory  float64 // memory: the time in which all but 1/e is forgotten
	found, watched []float64
}

// gammaPrior is the weight of the prior in changes, and in cycles, and gammaMemory the
// time constant in cycles. They come from comparing the policy with the rate filter on a
// dozen histories; "-suite -trace … -policies discounted,rate-filter" repeats that.
const gammaPrior, gammaMemory = 0.3, 0.7

// discounted returns a discounted Gamma, with the time constant given in cycles. With one of
// +Inf nothing is forgotten, and pages are polled in proportion to their rates.
func discounted(memory float64) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) {
		p, err := newPaced(j)
		cycle := float64(j.pages) / j.rate
		return &discountedGamma{p, cycle, memory * cycle, make([]float64, j.pages), make([]float64, j.pages)}, err
	}
}

func (g *discountedGamma) Observe(page int, now float64, changed bool) error {
	gap, err := g.polled(page, now, changed)
	if err != nil {
		return err
	}
	keep := math.Exp(-gap / g.memory)
	slot := knapsack.Slot(page)
	g.found[slot] *= keep
	g.watched[slot] = g.watched[slot]*keep + gap
	if v := g.frequency[slot] * gap; changed && v > 0 {
		g.found[slot] += v / -math.Expm1(-v)
	}
	return g.set(page, (gammaPrior+g.found[slot])/(gammaPrior*g.cycle+g.watched[slot]))
}

func (g *discountedGamma) join(id, page int, now float64) error {
	g.found, g.watched = put(g.found, id, 0), put(g.watched, id, 0)
	return g.paced.join(id, page, now)
}
