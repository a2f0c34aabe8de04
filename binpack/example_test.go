package binpack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/binpack"
)

func ExamplePack() {
	p := binpack.Problem[int]{Weights: []int{6, 5, 4, 3, 2}, Capacity: 10}
	packing, err := binpack.Pack(p, binpack.BestFitDecreasing)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(packing.Bins, "bins:", packing.Items())
	// Output: 2 bins: [[0 2] [1 3 4]]
}

// Nodes differ, two sites must not share one, and one site has its place.
func ExamplePack_constraints() {
	p := binpack.Problem[float64]{
		Weights:    []float64{5, 4, 3, 3},
		Capacities: []float64{6, 10, 8},
		Conflicts:  [][2]int{{0, 1}},
		Pins:       map[int]int{3: 2},
	}
	packing, err := binpack.Pack(p, binpack.BestFitDecreasing)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(packing.Bin, binpack.CheckPacking(p, packing))
	// Output: [2 0 1 2] <nil>
}

// Two of these do not fit together, which the sum alone does not see.
func ExampleLowerBounds() {
	p := binpack.Problem[int]{Weights: []int{6, 6, 6}, Capacity: 10}
	b, err := binpack.LowerBounds(p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.L1, b.L2, b.Best)
	// Output: 2 3 3
}

// A certificate convinces someone who trusts neither the solver nor its bounds.
func ExampleCheckBound() {
	p := binpack.Problem[int]{Weights: []int{6, 6, 6}, Capacity: 10}
	// No two of these fit a bin, so each bin takes at most 1 of a value of 3.
	fmt.Println(binpack.CheckBound(p, binpack.Certificate{Value: []int64{1, 1, 1}, Max: 1}))
	// Only one of these fits a bin of 10, but this claims that none does with its value.
	_, err := binpack.CheckBound(p, binpack.Certificate{Value: []int64{2, 2, 2}, Max: 1})
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// binpack: packing, certificate or proof does not hold: a bin can take a value of 2, more than 1
}

// Five bins of 30 have the room for these items, and the linear programme cannot tell that they do
// not hold them. The proof can be saved, and checked by whoever does not trust the solver.
func ExampleCheckProof() {
	p := binpack.Problem[int]{Weights: []int{15, 15, 15, 10, 10, 10, 10, 10, 6, 6, 6, 6, 6, 6, 6, 6, 6}, Capacity: 30}
	s, err := binpack.Solve(context.Background(), p, binpack.SolveConfig{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(binpack.CheckBound(p, s.Certificate))
	saved, err := json.Marshal(s.Proof)
	if err != nil {
		log.Fatal(err)
	}
	var proof binpack.Proof
	if err := json.Unmarshal(saved, &proof); err != nil {
		log.Fatal(err)
	}
	fmt.Println(binpack.CheckProof(p, proof))
	proof.Bins++
	_, err = binpack.CheckProof(p, proof)
	fmt.Println(errors.Is(err, binpack.ErrInvalid))
	// Output:
	// 5 <nil>
	// 6 <nil>
	// true
}

// Best Fit Decreasing needs three bins; Solve finds two, and proves that it takes two.
func ExampleSolve() {
	p := binpack.Problem[int]{Weights: []int{4, 4, 3, 3, 3, 3}, Capacity: 10}
	s, err := binpack.Solve(context.Background(), p, binpack.SolveConfig{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Bins, s.Lower, s.Proved)
	fmt.Println(binpack.CheckPacking(p, s.Packing))
	fmt.Println(binpack.CheckBound(p, s.Certificate))
	// Output:
	// 2 2 true
	// <nil>
	// 2 <nil>
}

func ExampleMaxSubset() {
	s, err := binpack.MaxSubset(context.Background(), []int{80, 70, 50, 44}, 125)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Items, s.Sum, s.Proved)
	// Output: [0 3] 124 true
}

func ExampleApproxSubset() {
	s, err := binpack.ApproxSubset([]float64{.6, .5, .3, .1}, 1.05, .1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Sum > .9)
	// Output: true
}

// fleet returns a packer with nodes of the same capacity and sites of the given weights.
func fleet(nodes int, capacity float64, weights ...float64) (p *binpack.Packer, sites []int) {
	p, err := binpack.NewPacker(binpack.PackerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	for range nodes {
		if _, err := p.AddNode(capacity, binpack.NodeConfig{}); err != nil {
			log.Fatal(err)
		}
	}
	for _, w := range weights {
		site, _, err := p.AddSite(w, binpack.SiteConfig{})
		if err != nil {
			log.Fatal(err)
		}
		sites = append(sites, site)
	}
	return p, sites
}

// rebalance prints the moves, which a crawler would carry out.
func rebalance(p *binpack.Packer, cfg binpack.RebalanceConfig) {
	moves, err := p.Rebalance(cfg)
	if err != nil {
		log.Fatal(err)
	}
	show(moves)
}

func show(moves []binpack.Move) {
	for _, m := range moves {
		fmt.Printf("site %d from node %d to %d: %v\n", m.Site, m.From, m.To, m.Why)
	}
}

func ExamplePacker() {
	p, err := binpack.NewPacker(binpack.PackerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := p.AddNode(10, binpack.NodeConfig{}); err != nil {
			log.Fatal(err)
		}
	}
	var sites []int
	for _, weight := range []float64{1, 2, 2, 4, 9} {
		site, _, err := p.AddSite(weight, binpack.SiteConfig{})
		if err != nil {
			log.Fatal(err)
		}
		sites = append(sites, site)
	}
	// The first site grows, the last one shrinks.
	_ = p.SetWeight(sites[0], 3)
	_ = p.SetWeight(sites[4], 3)
	moves, err := p.Rebalance(binpack.RebalanceConfig{MaxMoves: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range moves {
		fmt.Println("site", m.Site, "from node", m.From, "to", m.To, "because of", m.Why)
	}
	// Output: site 3 from node 0 to 1 because of overload
}

// Three replicas are kept in different zones, beside a site that needs much memory and one that is
// pinned.
func ExamplePacker_AddSite() {
	p, err := binpack.NewPacker(binpack.PackerConfig{Resources: 1}) // memory, in bytes
	if err != nil {
		log.Fatal(err)
	}
	for zone := 1; zone <= 3; zone++ {
		for range 2 {
			if _, err := p.AddNode(10, binpack.NodeConfig{Zone: zone, Capacities: []float64{16 << 30}}); err != nil {
				log.Fatal(err)
			}
		}
	}
	place := func(name string, weight float64, cfg binpack.SiteConfig) {
		_, node, err := p.AddSite(weight, cfg)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, "on node", node)
	}
	for range 3 {
		place("replica", 2, binpack.SiteConfig{Group: 1, Zones: true, Needs: []float64{1 << 30}})
	}
	place("archive", 1, binpack.SiteConfig{Needs: []float64{15.5 * (1 << 30)}})
	place("pinned", 1, binpack.SiteConfig{Only: []int{4}, MoveCost: 100})
	// Output:
	// replica on node 0
	// replica on node 2
	// replica on node 4
	// archive on node 1
	// pinned on node 4
}

// A node is emptied before it is taken out of service.
func ExamplePacker_Drain() {
	p, _ := fleet(3, 10, 4, 3, 2)
	_ = p.Drain(0, true)
	rebalance(p, binpack.RebalanceConfig{})
	state, _ := p.Node(0)
	fmt.Println("node 0 has", state.Sites, "sites")
	moves, err := p.RemoveNode(0)
	fmt.Println(moves, err)
	// Output:
	// site 0 from node 0 to 1: drain
	// site 1 from node 0 to 1: drain
	// site 2 from node 0 to 1: drain
	// node 0 has 0 sites
	// [] <nil>
}

// A node fails: its sites are placed elsewhere at once.
func ExamplePacker_RemoveNode() {
	p, _ := fleet(2, 10, 4, 3, 9)
	moves, err := p.RemoveNode(0)
	if err != nil {
		log.Fatal(err)
	}
	show(moves)
	// A new node takes the overload.
	if _, err := p.AddNode(10, binpack.NodeConfig{}); err != nil {
		log.Fatal(err)
	}
	rebalance(p, binpack.RebalanceConfig{})
	// Output:
	// site 0 from node 0 to 1: lost
	// site 1 from node 0 to 1: lost
	// site 2 from node 1 to 4294967296: overload
}

// A node becomes smaller than what it holds.
func ExamplePacker_SetCapacity() {
	p, _ := fleet(2, 10, 4, 3, 2)
	_ = p.SetCapacity(0, 6)
	rebalance(p, binpack.RebalanceConfig{})
	for node := range p.AllNodes() {
		state, _ := p.Node(node)
		fmt.Printf("node %d: %v of %v\n", node, state.Load, state.Capacity)
	}
	// Output:
	// site 0 from node 0 to 1: overload
	// node 0: 5 of 6
	// node 1: 4 of 10
}

// A site is pinned to a node, and the next call of Rebalance takes it there.
func ExamplePacker_SetSite() {
	p, sites := fleet(2, 10, 4, 3)
	if err := p.SetSite(sites[1], binpack.SiteConfig{Only: []int{1}}); err != nil {
		log.Fatal(err)
	}
	rebalance(p, binpack.RebalanceConfig{})
	// Output: site 1 from node 0 to 1: rule
}

// A node turns out to be in another zone than a site is bound to.
func ExamplePacker_SetNode() {
	p, err := binpack.NewPacker(binpack.PackerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	const europe, asia = 1, 2
	for range 2 {
		if _, err := p.AddNode(10, binpack.NodeConfig{Zone: europe}); err != nil {
			log.Fatal(err)
		}
	}
	if _, _, err := p.AddSite(4, binpack.SiteConfig{Zone: europe}); err != nil {
		log.Fatal(err)
	}
	if err := p.SetNode(0, binpack.NodeConfig{Zone: asia}); err != nil {
		log.Fatal(err)
	}
	rebalance(p, binpack.RebalanceConfig{})
	// Output: site 0 from node 0 to 1: rule
}

// Ids stay valid until they are removed and are never given out twice. Their small index serves
// for slices of one's own.
func ExampleSlot() {
	p, sites := fleet(1, 10, 4, 3)
	names := []string{"a.example", "b.example"}
	if err := p.RemoveSite(sites[0]); err != nil {
		log.Fatal(err)
	}
	site, _, err := p.AddSite(2, binpack.SiteConfig{})
	if err != nil {
		log.Fatal(err)
	}
	names[binpack.Slot(site)] = "c.example"
	on, err := p.SitesOn(0)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range slices.Sorted(on) {
		fmt.Println(names[binpack.Slot(s)])
	}
	_, err = p.NodeOf(sites[0])
	fmt.Println(err)
	// Output:
	// b.example
	// c.example
	// binpack: unknown or removed site, node or page: site 0
}

// A packer is saved and goes on elsewhere.
func ExamplePacker_MarshalBinary() {
	p, sites := fleet(2, 10, 4, 3, 2)
	data, err := p.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var restored binpack.Packer
	if err := restored.UnmarshalBinary(data); err != nil {
		log.Fatal(err)
	}
	_ = restored.SetWeight(sites[2], 5)
	rebalance(&restored, binpack.RebalanceConfig{})
	// Output: site 2 from node 0 to 1: overload
}

func ExampleScheme() {
	s, err := binpack.NewScheme([]int{100, 50, 80}, binpack.SchemeConfig{Capacity: 60}, rand.NewPCG(1, 2))
	if err != nil {
		log.Fatal(err)
	}
	for range 200 {
		for _, page := range s.Next() {
			changed := page%3 == 0 // what the crawler found
			if err := s.Observe(page, changed); err != nil {
				log.Fatal(err)
			}
		}
		s.Rebalance()
	}
	always, _ := s.Frequency(0)
	never, _ := s.Frequency(1)
	fmt.Println("a page that changes always:", always, "never:", never)
	// Output: a page that changes always: 1 never: 0.125
}

// Where the frequency of a page settles that changes with probability .3.
func ExampleSchemeConfig_MeanFrequency() {
	for _, states := range []int{8, 64} {
		for _, walk := range []binpack.PageWalk{binpack.AsDescribed, binpack.LessBiased, binpack.Unbiased} {
			x, err := binpack.SchemeConfig{States: states, Walk: walk}.MeanFrequency(.3)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("N = %d, %v: %.4f\n", states, walk, x)
		}
	}
	// Output:
	// N = 8, as described: 0.3719
	// N = 8, less biased: 0.2735
	// N = 8, unbiased: 0.3253
	// N = 64, as described: 0.4203
	// N = 64, less biased: 0.2931
	// N = 64, unbiased: 0.3000
}
