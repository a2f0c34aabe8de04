package main

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/binpack"
)

// workload is a fleet whose weights change.
type workload struct {
	name     string
	steps    int
	sites    int
	capacity float64
	weights  []float64
	// next changes the weights for the given step.
	next func(step int) error
}

const (
	fleetSites = 1000
	fleetNodes = 20
	fleetFill  = .9
)

// lognormal draws the weights of a fleet, for nodes of capacity 1. A site never needs
// more than a node.
func lognormal(rng *rand.Rand) []float64 {
	w := make([]float64, fleetSites)
	sum := 0.0
	for i := range w {
		w[i] = math.Exp(rng.NormFloat64())
		sum += w[i]
	}
	for i := range w {
		w[i] = min(w[i]*fleetFill*fleetNodes/sum, 1)
	}
	return w
}

// drift multiplies every weight by a log-normal factor in each step. With a bound
// the factor's median is 1, and weights are reflected where they are
// bound times more or less than at first; without one its mean is 1, and sizes spread.
func drift(name string, sigma, bound float64) func(uint64) (*workload, error) {
	return func(seed uint64) (*workload, error) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w := lognormal(rng)
		first := append([]float64(nil), w...)
		return &workload{name: name, steps: 200, sites: fleetSites, capacity: 1, weights: w, next: func(int) error {
			for i := range w {
				step := sigma * rng.NormFloat64()
				if bound == 0 {
					w[i] = min(w[i]*math.Exp(step-sigma*sigma/2), 1)
					continue
				}
				far := math.Log(w[i]/first[i]) + step
				if limit := math.Log(bound); far > limit {
					far = 2*limit - far
				} else if far < -limit {
					far = -2*limit - far
				}
				w[i] = min(first[i]*math.Exp(far), 1)
			}
			return nil
		}}, nil
	}
}

// daily lets every site follow the day of one of three regions, by half its
// weight up and down, in hours over ten days.
func daily(seed uint64) (*workload, error) {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := lognormal(rng)
	first := append([]float64(nil), w...)
	region := make([]float64, len(w))
	for i := range region {
		region[i] = float64(rng.IntN(3)) / 3
	}
	return &workload{name: "daily cycle", steps: 240, sites: fleetSites, capacity: 1, weights: w, next: func(step int) error {
		for i := range w {
			wave := math.Sin(2 * math.Pi * (float64(step)/24 + region[i]))
			w[i] = min(first[i]*(1+.5*wave)*math.Exp(.02*rng.NormFloat64()), 1)
		}
		return nil
	}}, nil
}

// flash makes a site 20 times as heavy for 6 steps, a new one every 10, on top of a
// drift of 2 %.
func flash(seed uint64) (*workload, error) {
	rng := rand.New(rand.NewPCG(seed, 3))
	quiet, err := drift("", .02, 2)(seed)
	if err != nil {
		return nil, err
	}
	w := make([]float64, fleetSites)
	copy(w, quiet.weights)
	crowded := 0
	return &workload{name: "flash crowds", steps: 200, sites: fleetSites, capacity: 1, weights: w, next: func(step int) error {
		if err := quiet.next(step); err != nil {
			return err
		}
		copy(w, quiet.weights)
		if step%10 == 0 {
			crowded = rng.IntN(fleetSites)
		}
		if step%10 < 6 {
			w[crowded] = min(20*w[crowded], 1)
		}
		return nil
	}}, nil
}

// dynamic has the weights that the page walks learn in the dynamic test of Yazidi 2006, with the
// probabilities moving to the next page every 2000 slots. Unlike there, packing is the policy's.
func dynamic(seed uint64) (*workload, error) {
	t := dynamicTest
	// The scheme only learns the weights, in one large bin; packing is the policy's.
	scheme, err := newCrawl(binpack.SchemeConfig{Capacity: 1e4, States: t.states}, seed)
	if err != nil {
		return nil, err
	}
	w := scheme.Weights(nil)
	return &workload{name: "weights of learning pages", steps: 6000, sites: len(w), capacity: t.capacity, weights: w, next: func(step int) error {
		if _, err := scheme.play(step + 1); err != nil {
			return err
		}
		scheme.Weights(w[:0])
		return nil
	}}, nil
}
