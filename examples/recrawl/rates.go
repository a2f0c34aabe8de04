package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// A rateGrid has the rates per second that pages of a log may have, in even steps of their
// logarithms. The first one stands for never.
type rateGrid []float64

// rateStep is the step of a grid, in the natural logarithm. What is drawn is spread over a
// step.
const rateStep = 0.2

// newRateGrid reaches from rates at which the whole log would hardly show a change to those
// at which even a policy that spends all polls on one page would hardly find more.
func newRateGrid(l *crawlLog) (g rateGrid) {
	first, last := l.span()
	const rare, often = 0.01, 3
	low := rare / (last - first)
	high := often * float64(l.repeats()) / (last - first)
	for k := range 2 + int(math.Log(high/low)/rateStep) {
		g = append(g, low*math.Exp(float64(k)*rateStep))
	}
	return g
}

// likelihoods returns how likely each rate makes what the polls of a page found, over that
// of the likeliest.
func (g rateGrid) likelihoods(polls []logged) []float64 {
	quiet := 0.0
	var gaps []float64 // at whose ends changes were found
	for k, p := range polls[1:] {
		if gap := p.time - polls[k].time; p.changed {
			gaps = append(gaps, gap)
		} else {
			quiet += gap
		}
	}
	values := make([]float64, len(g))
	for k, rate := range g {
		values[k] = -rate * quiet
		for _, gap := range gaps {
			values[k] += math.Log(-math.Expm1(-rate * gap))
		}
	}
	most := slices.Max(values)
	for k := range values {
		values[k] = math.Exp(values[k] - most)
	}
	return values
}

// draw draws a rate from the posterior.
func (g rateGrid) draw(p *prior, likelihoods []float64, rng *rand.Rand) float64 {
	left := rng.Float64() * dot(p.of, likelihoods)
	k := 0
	for ; k < len(g)-1; k++ {
		if left -= p.of[k] * likelihoods[k]; left < 0 {
			break
		}
	}
	return g[k] * math.Exp(rateStep*(rng.Float64()-0.5))
}

// priorPages bounds the pages that a prior is fitted to. The others would hardly change it.
const priorPages = 2000

// drawRates draws the rates of all pages for each draw: each page's from the posterior of
// what its polls found, under a prior that is fitted to all pages. Each draw has a prior of
// its own, fitted to the pages with random weights (the Bayesian bootstrap, Rubin 1981), as
// the pages do not tell the prior exactly.
func (l *crawlLog) drawRates(draws int, seed uint64) [][]float64 {
	grid := newRateGrid(l)
	order := rand.New(rand.NewPCG(seed, math.MaxUint64)).Perm(len(l.polls))
	var sample [][]float64
	for _, page := range order[:min(priorPages, len(order))] {
		sample = append(sample, grid.likelihoods(l.polls[page]))
	}
	priors, rngs, rates := make([]*prior, draws), make([]*rand.Rand, draws), make([][]float64, draws)
	_ = report.Parallel("", draws, func(draw int) error {
		rngs[draw] = rand.New(rand.NewPCG(^seed, uint64(draw)))
		weights := make([]float64, len(sample))
		for page := range weights {
			weights[page] = rngs[draw].ExpFloat64()
		}
		priors[draw], rates[draw] = fitPrior(sample, weights), make([]float64, len(l.polls))
		return nil
	})
	for page, polls := range l.polls {
		likelihoods := grid.likelihoods(polls)
		for draw, p := range priors {
			rates[draw][page] = grid.draw(p, likelihoods, rngs[draw])
		}
	}
	return rates
}
