package main

import "math"

// A prior is a law of the rates of all pages of a log: some pages never change, and the
// rates of the others are log-normal. Where polls tell nothing, as of rates at which every
// poll finds a change, it goes on as that law does: so a single page that changes at every
// poll is not taken for one that changes all the time. Mean and sigma are those of the
// logarithm, in steps of a grid whose first rate stands for never.
type prior struct {
	never, mean, sigma float64
	of                 []float64 // the probabilities of the rates of the grid
}

// narrowest is the least sigma. Narrower laws would fall between the rates of a grid.
const narrowest = 0.5

// spread sets the probabilities of the rates of the grid.
func (p *prior) spread() {
	sum := 0.0
	for k := range p.of {
		d := (float64(k) - p.mean) / p.sigma
		p.of[k] = math.Exp(-d * d / 2)
		if k > 0 {
			sum += p.of[k]
		}
	}
	for k := range p.of {
		p.of[k] *= (1 - p.never) / sum
	}
	p.of[0] = p.never
}

// fitPrior returns the prior that makes what was found likeliest. likelihoods has a row for
// each page with that of each rate, and weights say what the pages count. That pages differ
// in their rates, and that some never change, must be shown: with few polls of each page,
// most priors with the same mean make what was found about as likely, and the one of equal
// pages is taken.
func fitPrior(likelihoods [][]float64, weights []float64) (best *prior) {
	most := math.Inf(-1)
	for parameters := range 3 {
		p, value := fitSome(likelihoods, weights, parameters+1)
		if value -= shown * float64(parameters); value > most {
			best, most = p, value
		}
	}
	return best
}

// shown is by how much the log-likelihood must gain for each parameter: in a test of the
// likelihood ratio that is significant at 5 %.
const shown = 1.92

// priorSteps and priorEnough end a fit: a number of steps, or one by which the
// log-likelihood gains less for each page.
const priorSteps, priorEnough = 1000, 1e-7

// fitSome fits some of mean, sigma and never, in this order, by the EM algorithm, and
// returns the log-likelihood.
func fitSome(likelihoods [][]float64, weights []float64, parameters int) (p *prior, value float64) {
	rates := len(likelihoods[0])
	p = &prior{mean: float64(rates) / 2, sigma: float64(rates) / 4, of: make([]float64, rates)}
	if parameters == 1 {
		p.mean, p.sigma = likeliest(likelihoods, weights), narrowest
	}
	if parameters > 2 {
		p.never = 0.1
	}
	expected := make([]float64, rates) // how many pages have each rate
	last := math.Inf(-1)
	for range priorSteps {
		p.spread()
		clear(expected)
		pages := 0.0
		value = 0
		for page, row := range likelihoods {
			sum := dot(p.of, row)
			value += weights[page] * math.Log(sum)
			for k, l := range row {
				expected[k] += weights[page] / sum * p.of[k] * l
			}
			pages += weights[page]
		}
		if parameters == 1 || value-last < priorEnough*pages {
			break
		}
		last = value
		p.learn(expected, pages, parameters)
	}
	return p, value
}

// likeliest returns the rate of equal pages, in steps of the grid. Steps of the EM algorithm
// would be tiny under so narrow a law.
func likeliest(likelihoods [][]float64, weights []float64) float64 {
	values := make([]float64, len(likelihoods[0]))
	for page, row := range likelihoods {
		for k, l := range row {
			values[k] += weights[page] * math.Log(max(l, math.SmallestNonzeroFloat64))
		}
	}
	best := 1
	for k, v := range values[:len(values)-1] {
		if k > best && v > values[best] {
			best = k
		}
	}
	// The top of the parabola through it and its neighbours.
	below, above := values[best]-values[best-1], values[best]-values[best+1]
	if !(below+above > 0) {
		return float64(best)
	}
	return float64(best) + (below-above)/(below+above)/2
}

// learn takes over the moments of what is expected.
func (p *prior) learn(expected []float64, pages float64, parameters int) {
	sum, squares := 0.0, 0.0
	for k, n := range expected {
		if k > 0 {
			sum += n * float64(k)
			squares += n * float64(k) * float64(k)
		}
	}
	change := pages - expected[0] // those that change
	if !(change > 0) {
		return
	}
	p.mean = sum / change
	p.sigma = max(math.Sqrt(max(squares/change-p.mean*p.mean, 0)), narrowest)
	if parameters > 2 {
		p.never = expected[0] / pages
	}
}

func dot(a, b []float64) (sum float64) {
	for k, v := range a {
		sum += v * b[k]
	}
	return sum
}
