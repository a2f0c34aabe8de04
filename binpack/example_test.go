package binpack_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/binpack"
)

func ExamplePack() {
	p := binpack.Problem[int]{Weights: []int{6, 5, 4, 3, 2}, Capacity: 10}
	packing, err := binpack.Pack(p, binpack.BestFitDecreasing)
	if err != nil {
		panic(err)
	}
	fmt.Println(packing.Bins, packing.Items(), binpack.Loads(packing, p.Weights))
	// Output: 2 [[0 2] [1 3 4]] [10 10]
}

// Nodes differ, two sites must not share one, and one site has its place.
func ExamplePack_constraints() {
	p := binpack.Problem[float64]{
		Weights:    []float64{5, 4, 3, 3},
		Capacities: []float64{6, 10, 8},
		Conflicts:  [][2]int{{0, 1}},
		Pins:       []binpack.Pin{{Item: 3, Bin: 2}},
	}
	packing, err := binpack.Pack(p, binpack.BestFitDecreasing)
	if err != nil {
		panic(err)
	}
	fmt.Println(packing.Bin, binpack.CheckPacking(p, packing))
	// Output: [2 0 1 2] <nil>
}

func ExampleLowerBounds() {
	// Two of these do not fit together, which the sum alone does not see.
	p := binpack.Problem[int]{Weights: []int{6, 6, 6}, Capacity: 10}
	b, err := binpack.LowerBounds(p)
	if err != nil {
		panic(err)
	}
	fmt.Println(b.L1, b.L2)
	fmt.Println(binpack.CheckBound(p, b.Certificate))
	// Output:
	// 2 3
	// 3 <nil>
}

func ExampleSolve() {
	// Best Fit Decreasing needs three bins.
	p := binpack.Problem[int]{Weights: []int{4, 4, 3, 3, 3, 3}, Capacity: 10}
	s, err := binpack.Solve(context.Background(), p, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Bins, s.Lower, s.Proved)
	// Output: 2 2 true
}

func ExampleMaxSubset() {
	s, err := binpack.MaxSubset(context.Background(), []int{80, 70, 50, 44}, 125)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Items, s.Sum, s.Proved)
	// Output: [0 3] 124 true
}

func ExampleApproxSubset() {
	s, err := binpack.ApproxSubset([]float64{.6, .5, .3, .1}, 1.05, .1)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Sum > .9)
	// Output: true
}

func ExamplePacker() {
	p, err := binpack.NewPacker(binpack.DefaultPacker)
	if err != nil {
		panic(err)
	}
	for range 3 {
		if _, err := p.AddNode(10); err != nil {
			panic(err)
		}
	}
	var sites []int
	for _, weight := range []float64{1, 2, 2, 4, 9} {
		site, _, err := p.AddSite(weight)
		if err != nil {
			panic(err)
		}
		sites = append(sites, site)
	}
	// The first site grows, the last one shrinks.
	_ = p.SetWeight(sites[0], 3)
	_ = p.SetWeight(sites[4], 3)
	moves, err := p.Rebalance(binpack.Limit{Moves: 2})
	if err != nil {
		panic(err)
	}
	for _, m := range moves {
		fmt.Println("site", m.Site, "from node", m.From, "to", m.To, m.Why)
	}
	// Output: site 3 from node 0 to 1 overload
}

func ExampleScheme() {
	cfg := binpack.DefaultScheme
	cfg.Capacity = 60
	s, err := binpack.NewScheme([]int{100, 50, 80}, cfg, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	for range 200 {
		for _, page := range s.Begin() {
			changed := page%3 == 0 // what the crawler found
			if err := s.Observe(page, changed); err != nil {
				panic(err)
			}
		}
		s.End()
	}
	fmt.Println("a page that changes always:", s.Frequency(0), "never:", s.Frequency(1))
	// Output: a page that changes always: 1 never: 0.125
}

func ExampleSchemeConfig_MeanFrequency() {
	cfg := binpack.DefaultScheme
	for _, cfg.States = range []int{8, 64} {
		for _, cfg.Walk = range []binpack.PageWalk{binpack.AsDescribed, binpack.LessBiased, binpack.Unbiased} {
			x, err := cfg.MeanFrequency(.3)
			if err != nil {
				panic(err)
			}
			fmt.Printf(" %.4f", x)
		}
	}
	// Output: 0.3719 0.2735 0.3253 0.4203 0.2931 0.3000
}
