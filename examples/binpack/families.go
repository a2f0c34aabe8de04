package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
	graph "github.com/recrawl/recrawl/internal/packing/petersen"
)

// family draws instances like those of a benchmark collection.
type family struct {
	name string
	runs int
	long bool // not in a quick run
	draw func(i int, rng *rand.Rand) binpack.Problem[int]
}

func between(rng *rand.Rand, n, low, high, capacity int) binpack.Problem[int] {
	p := binpack.Problem[int]{Capacity: capacity}
	for range n {
		p.Weights = append(p.Weights, low+rng.IntN(high-low+1))
	}
	return p
}

// triplets fill n/3 bins of 1000 exactly, and come in an order that does not tell which.
func triplets(rng *rand.Rand, n int) binpack.Problem[int] {
	p := binpack.Problem[int]{Capacity: 1000}
	for range n / 3 {
		a := 380 + rng.IntN(111)
		b := 250 + rng.IntN((1000-a)/2-250+1)
		p.Weights = append(p.Weights, a, b, 1000-a-b)
	}
	shuffle(rng, p.Weights)
	return p
}

func shuffle(rng *rand.Rand, weights []int) {
	rng.Shuffle(len(weights), func(i, j int) { weights[i], weights[j] = weights[j], weights[i] })
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

// petersen draws 15 weights for 3 full bins that can be packed in fractions but not whole (Caprara,
// Dell'Amico, Díaz, Iori & Rizzi 2015): those of the edges of the Petersen graph are the sums of
// those of their ends, so that its perfect matchings fill a bin, and no three of them are disjoint.
// With split set one edge is in two pieces that let them be packed.
func petersen(rng *rand.Rand, c int, split bool) ([]int, error) {
	for {
		end, w := graph.Edges(rng, c)
		// Other sets may fill a bin as well.
		s, err := binpack.Solve(context.Background(), binpack.Problem[int]{Weights: w, Capacity: c}, binpack.SolveConfig{Nodes: -1})
		if err != nil {
			return nil, err
		}
		if s.Lower == 3 {
			continue
		}
		if split {
			// The spokes fill a bin. Of the outer and of the inner cycle, three edges go to one of the
			// others and cover an end twice, v or u, and two go to the last: the fuller bin has the
			// difference of these ends too much.
			v, u := rng.IntN(5), rng.IntN(5)
			edge, much := 3*v, end[v]-end[u+5]
			if much < 0 {
				edge, much = 3*u+2, -much
			}
			w[edge] -= much
			w = append(w, much)
		}
		return w, nil
	}
}

// augmented draws instances like ANI (Delorme, Iori & Martello 2016), of n items: 15 weights that
// are packed in fractions only, and triples that fill a bin. With split set, like AI, one of the 15
// is two, and all can be packed. The weights of the 15 are multiples of 5. In a triple two leave
// the same rest and the third, more than half a bin, what these lack. A full bin with a third
// weight hence has two of the others or more, and there are just so many: the 15 are on their
// own.
func augmented(rng *rand.Rand, n, c int, split bool) binpack.Problem[int] {
	const rests = 5
	p := binpack.Problem[int]{Capacity: c}
	core, err := petersen(rng, c/rests, split)
	if err != nil {
		return p // Solve refuses it
	}
	for _, w := range core {
		p.Weights = append(p.Weights, rests*w)
	}
	rest := 1 + rng.IntN(rests-1)
	for range (n - 15) / 3 {
		a, b := 0, 0
		for c-a-b < rests || a == 0 {
			b = rests*rng.IntN(c/2/rests) + rest
			d := rests*rng.IntN(c/2/rests) + rest
			if a = c - b - d; a <= c/2 {
				a = 0
			}
		}
		p.Weights = append(p.Weights, a, b, c-a-b)
	}
	shuffle(rng, p.Weights)
	return p
}

// cutting draws instances of the size of those of Gschwind & Irnich 2016: so many weights, of a capacity
// that is too large for a table of all loads, and copies of each.
func cutting(i int, rng *rand.Rand, kinds int) binpack.Problem[int] {
	p := binpack.Problem[int]{Capacity: pick(&i, 500_000, 1_500_000)}
	of := pick(&i, [2]float64{.001, .7}, [2]float64{.02, .5}, [2]float64{.05, .25}, [2]float64{.1, .35})
	low, high := int(of[0]*float64(p.Capacity)), int(of[1]*float64(p.Capacity))
	copies := pick(&i, 1, 10, 50)
	for range kinds {
		w := low + rng.IntN(high-low+1)
		for range 1 + rng.IntN(copies) {
			p.Weights = append(p.Weights, w)
		}
	}
	return p
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
		all = append(all, family{fmt.Sprintf("Falkenauer U, n = %d", n), 20, false,
			func(_ int, rng *rand.Rand) binpack.Problem[int] { return between(rng, n, 20, 100, 150) }})
	}
	for _, n := range []int{60, 120, 249, 501} {
		all = append(all, family{fmt.Sprintf("Falkenauer T, n = %d", n), 20, false,
			func(_ int, rng *rand.Rand) binpack.Problem[int] { return triplets(rng, n) }})
	}
	return append(all,
		family{"Scholl 1", 180, false, func(i int, rng *rand.Rand) binpack.Problem[int] {
			return between(rng, pick(&i, 50, 100, 200, 500), pick(&i, 1, 20, 30), 100, pick(&i, 100, 120, 150))
		}},
		family{"Scholl 2", 144, false, func(i int, rng *rand.Rand) binpack.Problem[int] {
			n, mean, share := pick(&i, 50, 100, 200, 500), 1000/pick(&i, 3., 5., 7., 9.), pick(&i, .2, .5, .9)
			return between(rng, n, int(mean*(1-share))+1, int(mean*(1+share)), 1000)
		}},
		family{"Scholl 3", 4, false, func(_ int, rng *rand.Rand) binpack.Problem[int] {
			return between(rng, 200, 20_000, 35_000, 100_000)
		}},
		family{"Schwerin", 100, false, func(i int, rng *rand.Rand) binpack.Problem[int] {
			return between(rng, pick(&i, 100, 120), 150, 200, 1000)
		}},
		family{"random", 240, false, func(i int, rng *rand.Rand) binpack.Problem[int] {
			n, c := pick(&i, 50, 100, 200, 300, 400, 500, 750, 1000), pick(&i, 50, 75, 100, 120, 200, 500, 1000)
			low, high := pick(&i, .1, .2), pick(&i, .7, .8)
			return between(rng, n, int(low*float64(c)), int(high*float64(c)), c)
		}},
		family{"Gschwind-like, 125 weights", 24, false, func(i int, rng *rand.Rand) binpack.Problem[int] { return cutting(i, rng, 125) }},
		family{"Gschwind-like, 250 weights", 24, true, func(i int, rng *rand.Rand) binpack.Problem[int] { return cutting(i, rng, 250) }},
		family{"Hard28-like", 28, false, func(_ int, rng *rand.Rand) binpack.Problem[int] { return hard(rng) }},
		family{"ANI-like, n = 201", 20, false, func(_ int, rng *rand.Rand) binpack.Problem[int] { return augmented(rng, 201, 2500, false) }},
		family{"AI-like, n = 202", 20, false, func(_ int, rng *rand.Rand) binpack.Problem[int] { return augmented(rng, 201, 2500, true) }},
		family{"ANI-like, n = 402", 10, true, func(_ int, rng *rand.Rand) binpack.Problem[int] { return augmented(rng, 402, 10_000, false) }},
		family{"AI-like, n = 403", 10, true, func(_ int, rng *rand.Rand) binpack.Problem[int] { return augmented(rng, 402, 10_000, true) }},
		family{"ANI-like, n = 600", 5, true, func(_ int, rng *rand.Rand) binpack.Problem[int] { return augmented(rng, 600, 20_000, false) }},
		family{"AI-like, n = 601", 5, true, func(_ int, rng *rand.Rand) binpack.Problem[int] { return augmented(rng, 600, 20_000, true) }},
	)
}

// families solves those whose name has the given part, one after the other, each for so much
// processor time.
func families(prog *report.Program, part string, patience time.Duration) ([]report.Row, *report.Page, error) {
	all := slices.DeleteFunc(benchmark(), func(f family) bool { return prog.Quick && f.long })
	var names []string
	for _, f := range all {
		names = append(names, f.name)
	}
	if err := report.Known("only", part, names); err != nil {
		return nil, nil, err
	}
	var rows []report.Row
	for _, f := range all {
		if !strings.Contains(f.name, part) {
			continue
		}
		runs := f.runs
		if prog.Quick {
			runs = max(runs/20, 1)
		}
		proved, searched, seconds := make([]float64, runs), make([]float64, runs), make([]float64, runs)
		progress := report.NewProgress(f.name, runs)
		for i := range runs {
			p := f.draw(i, rand.New(rand.NewPCG(prog.Seed, uint64(i))))
			ctx, cancel := report.WithProcessorTime(context.Background(), patience)
			start := report.ProcessorTime()
			s, err := binpack.Solve(ctx, p, binpack.SolveConfig{Nodes: -1})
			cancel()
			if err != nil {
				return nil, nil, err
			}
			seconds[i] = (report.ProcessorTime() - start).Seconds()
			// Nothing is taken on trust.
			if err := binpack.CheckPacking(p, s.Packing); err != nil {
				return nil, nil, err
			}
			if bound, err := binpack.CheckBound(p, s.Certificate); err != nil || bound > s.Lower {
				return nil, nil, fmt.Errorf("%s %d: certificate of %d bins, bound %d: %w", f.name, i, bound, s.Lower, err)
			}
			if s.Proof != nil {
				if bound, err := binpack.CheckProof(p, *s.Proof); err != nil || bound != s.Lower {
					return nil, nil, fmt.Errorf("%s %d: proof of %d bins, bound %d: %w", f.name, i, bound, s.Lower, err)
				}
				searched[i] = 100
			}
			if s.Proved {
				proved[i] = 100
			}
			progress.Add(1)
		}
		progress.Done()
		rows = append(rows,
			report.Row{Source: "recrawl", Item: f.name, Quantity: fmt.Sprintf("packed optimally with proof within %v", patience), Unit: "%"}.Sample(proved),
			report.Row{Source: "recrawl", Item: f.name, Quantity: "whose last bin takes a proof by search, which is checked", Unit: "%"}.Sample(searched),
			report.Row{Source: "recrawl", Item: f.name, Quantity: "processor time", Unit: "s"}.Sample(seconds),
			report.Row{Source: "recrawl", Item: f.name, Quantity: "the most of it", Unit: "s"}.Sample([]float64{slices.Max(seconds)}))
	}
	return rows, nil, nil
}
