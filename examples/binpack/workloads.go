package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/binpack"
)

// workload is a fleet whose sites and nodes change.
type workload struct {
	steps    int
	weights  []float64 // of each site, −1 once it is gone
	capacity []float64 // of each node, 0 once it failed
	drained  []bool    // nodes that are to be emptied
	// next changes the fleet for the given step.
	next func(step int) error
}

// A size is that of a fleet at first. Half as many nodes again, and some, are spare.
type size struct {
	sites, nodes int
}

const fleetFill = .9

var (
	small = size{1000, 20}
	// As many sites on a node as in the small one, and as many nodes.
	manyNodes = size{100_000, 2000}
	manySites = size{100_000, 20}
)

// lognormal draws the weights of a fleet, for nodes of capacity 1. A site never needs
// more than a node.
func (z size) lognormal(rng *rand.Rand) []float64 {
	w := make([]float64, z.sites)
	sum := 0.0
	for i := range w {
		w[i] = math.Exp(rng.NormFloat64())
		sum += w[i]
	}
	for i := range w {
		w[i] = min(w[i]*fleetFill*float64(z.nodes)/sum, 1)
	}
	return w
}

// fleet returns a workload in which nothing changes yet.
func (z size) fleet(rng *rand.Rand, steps int) *workload {
	w := &workload{steps: steps, weights: z.lognormal(rng)}
	for range z.nodes + max(z.nodes/2, 40) {
		w.capacity = append(w.capacity, 1)
	}
	w.drained = make([]bool, len(w.capacity))
	return w
}

// a draw makes a workload of a size for a seed.
type draw func(z size, seed uint64) (*workload, error)

// drift multiplies every weight by a log-normal factor in each step. With a bound
// the factor's median is 1, and weights are reflected where they are
// bound times more or less than at first; without one its mean is 1, and sizes spread.
func drift(sigma, bound float64) draw {
	return func(z size, seed uint64) (*workload, error) {
		rng := rand.New(rand.NewPCG(seed, 3))
		load := z.fleet(rng, 200)
		w := load.weights
		first := slices.Clone(w)
		load.next = func(int) error {
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
		}
		return load, nil
	}
}

// daily lets every site follow the day of one of three regions, by half its
// weight up and down, in hours over ten days.
func daily(z size, seed uint64) (*workload, error) {
	rng := rand.New(rand.NewPCG(seed, 3))
	load := z.fleet(rng, 240)
	w := load.weights
	first := slices.Clone(w)
	region := make([]float64, len(w))
	for i := range region {
		region[i] = float64(rng.IntN(3)) / 3
	}
	load.next = func(step int) error {
		for i := range w {
			wave := math.Sin(2 * math.Pi * (float64(step)/24 + region[i]))
			w[i] = min(first[i]*(1+.5*wave)*math.Exp(.02*rng.NormFloat64()), 1)
		}
		return nil
	}
	return load, nil
}

// flash makes one site in a thousand 20 times as heavy for 6 steps, new ones every 10, on top of a
// drift of 2 %.
func flash(z size, seed uint64) (*workload, error) {
	rng := rand.New(rand.NewPCG(seed, 3))
	quiet, err := drift(.02, 2)(z, seed)
	if err != nil {
		return nil, err
	}
	load := *quiet
	w := slices.Clone(quiet.weights)
	load.weights = w
	crowded := make([]int, max(z.sites/1000, 1))
	load.next = func(step int) error {
		if err := quiet.next(step); err != nil {
			return err
		}
		copy(w, quiet.weights)
		for k := range crowded {
			if step%10 == 0 {
				crowded[k] = rng.IntN(len(w))
			}
			if i := crowded[k]; step%10 < 6 {
				w[i] = min(20*w[i], 1)
			}
		}
		return nil
	}
	return &load, nil
}

// dynamic has the weights that the page walks learn in the dynamic test of Yazidi 2006, with the
// probabilities moving to the next page every 2000 slots. Unlike there, packing is the policy's.
func dynamic(_ size, seed uint64) (*workload, error) {
	t := dynamicTest
	// The scheme only learns the weights, in one large bin; packing is the policy's.
	scheme, err := newCrawl(binpack.SchemeConfig{Capacity: 1e4, States: t.states}, seed)
	if err != nil {
		return nil, err
	}
	w := scheme.Weights(nil)
	return &workload{steps: 6000, weights: w, capacity: slices.Repeat([]float64{t.capacity}, 40), drained: make([]bool, 40),
		next: func(step int) error {
			if _, err := scheme.play(step + 1); err != nil {
				return err
			}
			scheme.Weights(w[:0])
			return nil
		}}, nil
}

// churn replaces a share of the sites by new ones in each step, while weights drift by sigma.
func churn(share, sigma float64) draw {
	return func(z size, seed uint64) (*workload, error) {
		rng := rand.New(rand.NewPCG(seed, 3))
		load := z.fleet(rng, 200)
		pool := slices.Clone(load.weights)
		live := make([]int, z.sites)
		for i := range live {
			live[i] = i
		}
		load.next = func(int) error {
			for _, i := range live {
				if sigma > 0 {
					load.weights[i] = min(load.weights[i]*math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2), 1)
				}
			}
			for range int(share * float64(z.sites)) {
				k := rng.IntN(len(live))
				load.weights[live[k]] = -1
				live[k] = len(load.weights)
				load.weights = append(load.weights, pool[rng.IntN(len(pool))])
			}
			return nil
		}
		return load, nil
	}
}

// unequal draws nodes of capacity .5, 1 and 2, and drifts by 5 %.
func unequal(z size, seed uint64) (*workload, error) {
	load, err := drift(.05, 2)(z, seed)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 4))
	for n := range load.capacity {
		load.capacity[n] = []float64{.5, 1, 2}[rng.IntN(3)]
	}
	for i, w := range load.weights { // such that all fit the smallest
		load.weights[i] = min(w, .5)
	}
	return load, nil
}

// failures lets a node in fifty fail every 20 steps, and be replaced 10 steps later, and drains
// another one, while weights drift by 2 %.
func failures(z size, seed uint64) (*workload, error) {
	load, err := drift(.02, 2)(z, seed)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 5))
	next := load.next
	some := max(z.nodes/50, 1)
	load.next = func(step int) error {
		for range some {
			n := rng.IntN(len(load.capacity))
			switch step % 20 {
			case 5:
				load.capacity[n] = 0
			case 10:
				load.drained[n] = true
			case 15:
				load.capacity, load.drained = append(load.capacity, 1, 1), append(load.drained, false, false)
			}
		}
		return next(step)
	}
	return load, nil
}

// shrinking lets every node lose a quarter of its capacity at step 50, and drifts by 2 %.
func shrinking(z size, seed uint64) (*workload, error) {
	load, err := drift(.02, 2)(z, seed)
	if err != nil {
		return nil, err
	}
	for i, w := range load.weights {
		load.weights[i] = min(w, .7)
	}
	next := load.next
	load.next = func(step int) error {
		if step == 50 {
			for n := range load.capacity {
				load.capacity[n] *= .75
			}
		}
		if err := next(step); err != nil {
			return err
		}
		for i, w := range load.weights {
			load.weights[i] = min(w, .7)
		}
		return nil
	}
	return load, nil
}

// leaving lets a share of the sites leave at step 20, and nothing else change, or weights drift by
// sigma.
func leaving(share, sigma float64) draw {
	return func(z size, seed uint64) (*workload, error) {
		load, err := drift(sigma, 2)(z, seed)
		if err != nil {
			return nil, err
		}
		rng := rand.New(rand.NewPCG(seed, 6))
		next := load.next
		load.steps = 400
		gone := make([]bool, z.sites)
		load.next = func(step int) error {
			if sigma > 0 {
				if err := next(step); err != nil {
					return err
				}
			}
			if step == 20 {
				for i := range gone {
					gone[i] = rng.Float64() < share
				}
			}
			for i, g := range gone {
				if g {
					load.weights[i] = -1
				}
			}
			return nil
		}
		return load, nil
	}
}

// bound returns the fewest nodes that could hold the sum of the weights.
func (w *workload) bound() float64 {
	sum := 0.
	for _, x := range w.weights {
		sum += max(x, 0)
	}
	var room []float64
	for n, c := range w.capacity {
		if !w.drained[n] {
			room = append(room, c)
		}
	}
	slices.SortFunc(room, func(a, b float64) int { return cmp.Compare(b, a) })
	k := 0
	for ; sum > 1e-9 && k < len(room); k++ {
		sum -= room[k]
	}
	return float64(k)
}

// named is a workload of the suite at a size.
type named struct {
	name string
	size size
	draw draw
}

// workloads of the suite: those that the tables show, of a size.
func workloads(z size) []named {
	var all []named
	add := func(name string, draw draw) {
		if z != small {
			name = fmt.Sprintf("%s, %d sites on %d nodes", name, z.sites, z.nodes)
		}
		all = append(all, named{name, z, draw})
	}
	if z == small {
		add("weights of learning pages", dynamic)
	}
	add("drift 2 %", drift(.02, 2))
	add("drift 10 %", drift(.1, 2))
	add("drift 10 %, unbounded", drift(.1, 0))
	add("daily cycle", daily)
	add("flash crowds", flash)
	add("churn 1 %", churn(.01, 0))
	add("churn 1 %, drift 2 %", churn(.01, .02))
	add("unequal nodes", unequal)
	add("failures and drains", failures)
	add("shrinking capacity", shrinking)
	add("half leaves", leaving(.5, 0))
	add("90 % leave, drift 2 %", leaving(.9, .02))
	return all
}
