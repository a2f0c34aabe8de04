package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// patience is the time for an instance.
const patience = 10 * time.Second

// family draws instances like those of a benchmark collection.
type family struct {
	name string
	runs int
	draw func(i int, rng *rand.Rand) binpack.Problem[int]
}

func between(rng *rand.Rand, n, low, high, capacity int) binpack.Problem[int] {
	p := binpack.Problem[int]{Capacity: capacity}
	for range n {
		p.Weights = append(p.Weights, low+rng.IntN(high-low+1))
	}
	return p
}

// triplets fill n/3 bins of 1000 exactly.
func triplets(rng *rand.Rand, n int) binpack.Problem[int] {
	p := binpack.Problem[int]{Capacity: 1000}
	for range n / 3 {
		a := 380 + rng.IntN(111)
		b := 250 + rng.IntN((1000-a)/2-250+1)
		p.Weights = append(p.Weights, a, b, 1000-a-b)
	}
	return p
}

// hard draws weights as in Hard28 until neither the heuristics nor the linear
// programme alone decide whether the last bin can be saved.
func hard(rng *rand.Rand) binpack.Problem[int] {
	for {
		p := between(rng, 160+20*rng.IntN(3), 1, 800, 1000)
		sum := 0
		for _, w := range p.Weights {
			sum += w
		}
		if -sum%1000+1000 > 100 {
			continue // too much waste to be hard
		}
		if s, err := binpack.Solve(context.Background(), p, binpack.SolveConfig{Nodes: 1}); err == nil && !s.Proved {
			return p
		}
	}
}

// pick takes the options of a grid in turn.
func pick[T any](i *int, options ...T) T {
	o := options[*i%len(options)]
	*i /= len(options)
	return o
}

func benchmark() []family {
	var all []family
	for _, n := range []int{120, 250, 500, 1000} {
		all = append(all, family{fmt.Sprintf("Falkenauer U, n = %d", n), 20,
			func(_ int, rng *rand.Rand) binpack.Problem[int] { return between(rng, n, 20, 100, 150) }})
	}
	for _, n := range []int{60, 120, 249, 501} {
		all = append(all, family{fmt.Sprintf("Falkenauer T, n = %d", n), 20,
			func(_ int, rng *rand.Rand) binpack.Problem[int] { return triplets(rng, n) }})
	}
	return append(all,
		family{"Scholl 1", 180, func(i int, rng *rand.Rand) binpack.Problem[int] {
			return between(rng, pick(&i, 50, 100, 200, 500), pick(&i, 1, 20, 30), 100, pick(&i, 100, 120, 150))
		}},
		family{"Scholl 2", 144, func(i int, rng *rand.Rand) binpack.Problem[int] {
			n, mean, share := pick(&i, 50, 100, 200, 500), 1000/pick(&i, 3., 5., 7., 9.), pick(&i, .2, .5, .9)
			return between(rng, n, int(mean*(1-share))+1, int(mean*(1+share)), 1000)
		}},
		family{"Scholl 3", 4, func(_ int, rng *rand.Rand) binpack.Problem[int] {
			return between(rng, 200, 20_000, 35_000, 100_000)
		}},
		family{"Schwerin", 100, func(i int, rng *rand.Rand) binpack.Problem[int] {
			return between(rng, pick(&i, 100, 120), 150, 200, 1000)
		}},
		family{"random", 240, func(i int, rng *rand.Rand) binpack.Problem[int] {
			n, c := pick(&i, 50, 100, 200, 300, 400, 500, 750, 1000), pick(&i, 50, 75, 100, 120, 200, 500, 1000)
			low, high := pick(&i, .1, .2), pick(&i, .7, .8)
			return between(rng, n, int(low*float64(c)), int(high*float64(c)), c)
		}},
		family{"Hard28-like", 28, func(_ int, rng *rand.Rand) binpack.Problem[int] { return hard(rng) }},
	)
}

// families solves all of them, with as many at a time as there are processors.
func families(prog *report.Program) ([]report.Row, *report.Page, error) {
	var rows []report.Row
	for _, f := range benchmark() {
		runs := f.runs
		if prog.Quick {
			runs = max(runs/20, 1)
		}
		proved, seconds := make([]float64, runs), make([]float64, runs)
		err := report.Parallel(f.name, runs, func(i int) error {
			p := f.draw(i, rand.New(rand.NewPCG(prog.Seed, uint64(i))))
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			start := time.Now()
			s, err := binpack.Solve(ctx, p, binpack.SolveConfig{})
			if err != nil {
				return err
			}
			seconds[i] = time.Since(start).Seconds()
			// Nothing is taken on trust.
			if err := binpack.CheckPacking(p, s.Packing); err != nil {
				return err
			}
			if bound, err := binpack.CheckBound(p, s.Certificate); err != nil || bound > s.Lower {
				return fmt.Errorf("%s %d: certificate of %d bins, bound %d: %w", f.name, i, bound, s.Lower, err)
			}
			if s.Proved {
				proved[i] = 100
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows,
			report.Row{Source: "recrawl", Item: f.name, Quantity: "packed optimally with proof within 10 s", Unit: "%"}.Sample(proved),
			report.Row{Source: "recrawl", Item: f.name, Quantity: fmt.Sprintf("time, %d at once", runtime.GOMAXPROCS(0)), Unit: "s"}.Sample(seconds))
	}
	return rows, nil, nil
}
