package binpack

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/packing"
)

// A zero value says what is wrong with it.
func TestPackerZeroValue(t *testing.T) {
	t.Parallel()
	const message = "binpack: a Packer that is a zero value: make it with NewPacker, or load a saved one"
	require.PanicsWithValue(t, message, func() { _, _ = new(Packer).AddNode(1, NodeConfig{}) })
	require.PanicsWithValue(t, message, func() { _, _, _ = new(Packer).AddSite(1, SiteConfig{}) })
	require.PanicsWithValue(t, message, func() { _, _ = new(Packer).Rebalance(RebalanceConfig{}) })
}

// A node with two sites of a group, which a rule told later has made, is not removed where only one
// of them finds another node. What was moved by then goes back.
func TestRemoveNodeTakesMovesBack(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{}, 2, 10)
	sites := add(t, p, 3, 2)
	home := must(p.NodeOf(sites[0]))
	require.Equal(t, home, must(p.NodeOf(sites[1])))
	for _, s := range sites {
		require.NoError(t, p.SetSite(s, SiteConfig{Group: 1}))
	}
	_, err := p.RemoveNode(home)
	require.ErrorIs(t, err, ErrNoRoom)
	for _, s := range sites {
		require.Equal(t, home, must(p.NodeOf(s)))
	}
	require.ElementsMatch(t, sites, slices.Collect(must(p.SitesOn(home))))
	for _, n := range nodes {
		if n != home {
			require.Empty(t, slices.Collect(must(p.SitesOn(n))))
		}
	}
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Len(t, moves, 1, "the other node takes one of them, by the rule")
	require.Equal(t, ruled, moves[0].Why)
	_, err = p.RemoveNode(-1)
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, p.SetNode(-1, NodeConfig{}), ErrUnknown)
}

// A removal that fails leaves the sites in their order, which decides between equals, and goes on
// closing the node that was being closed.
func TestFailedRemovalChangesNothing(t *testing.T) {
	t.Parallel()
	for closing := -1; closing < 3; closing++ {
		p, nodes := newFleet(t, PackerConfig{Resources: 1}, 3, 10)
		var sites []int
		for range 9 {
			s, n, err := p.AddSite(.5, SiteConfig{Needs: []float64{.25}})
			require.NoError(t, err)
			require.Equal(t, nodes[0], n)
			sites = append(sites, s)
		}
		for k, s := range sites[:5] { // only two of them find another node
			require.NoError(t, p.SetSite(s, SiteConfig{Needs: []float64{1 + float64(k%2)}, Group: 1}))
		}
		p.closing = closing
		before := saved(t, p)
		_, err := p.RemoveNode(nodes[0])
		require.ErrorIs(t, err, ErrNoRoom)
		require.Equal(t, before, saved(t, p))
		again := new(Packer)
		require.NoError(t, again.UnmarshalBinary(before))
		require.Equal(t, rebalance(t, again, RebalanceConfig{}), rebalance(t, p, RebalanceConfig{}))
	}
}

// Sites follow a node that changes its zone: those of the old one leave it, those of the new one
// come.
func TestSetNodeZone(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{})
	require.NoError(t, err)
	a := must(p.AddNode(10, NodeConfig{Zone: 1}))
	b := must(p.AddNode(10, NodeConfig{Zone: 1}))
	s, n, err := p.AddSite(1, SiteConfig{Zone: 1})
	require.NoError(t, err)
	s2, n2, err := p.AddSite(1, SiteConfig{Zone: 1})
	require.NoError(t, err)
	require.Equal(t, n, n2)
	other := a + b - n
	require.NoError(t, p.SetNode(n, NodeConfig{Zone: 2}))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.ElementsMatch(t, []Move{{s, n, other, 1, ruled}, {s2, n, other, 1, ruled}}, moves)
	_, at, err := p.AddSite(1, SiteConfig{Zone: 2})
	require.NoError(t, err)
	require.Equal(t, n, at)
	_, at, err = p.AddSite(1, SiteConfig{Zone: 1})
	require.NoError(t, err)
	require.Equal(t, other, at)
}

// A site that finds no room on the other nodes does not keep the rest on a drained one.
func TestDrainGoesOn(t *testing.T) {
	t.Parallel()
	for _, resources := range []int{0, 1} {
		p, err := NewPacker(PackerConfig{Resources: resources})
		require.NoError(t, err)
		n := must(p.AddNode(10, NodeConfig{}))
		sites := add(t, p, 6, 2, 1)
		full := must(p.AddNode(10, NodeConfig{}))
		pinned, _, err := p.AddSite(6, SiteConfig{Only: []int{full}})
		require.NoError(t, err)
		require.NoError(t, p.Drain(n, true))
		_, err = p.Rebalance(RebalanceConfig{})
		require.NoError(t, err)
		require.Equal(t, []int{sites[0]}, slices.Collect(must(p.SitesOn(n))))
		require.ElementsMatch(t, []int{pinned, sites[1], sites[2]}, slices.Collect(must(p.SitesOn(full))))
	}
}

// The values and penalties of a node of a proof stay where no sum of them overflows.
func TestProofSums(t *testing.T) {
	t.Parallel()
	const most = packing.MaxTotal / 2
	for name, c := range map[string]struct {
		value   []int64
		penalty map[int]int64
		sum     int64
		valid   bool
	}{
		"most":               {[]int64{most, 0}, nil, most, true},
		"least":              {[]int64{-most, 0}, nil, -most, true},
		"both":               {[]int64{most, -1}, nil, 0, false},
		"two values":         {[]int64{most / 2, most/2 + 1}, nil, 0, false},
		"most of a penalty":  {[]int64{0, 0}, map[int]int64{1: most}, -most, true},
		"two penalties":      {[]int64{0, 0}, map[int]int64{0: most, 1: 1}, 0, false},
		"value and penalty":  {[]int64{most, 0}, map[int]int64{0: 1}, 0, false},
		"no penalty":         {[]int64{1, 1}, map[int]int64{0: 0}, 2, true},
		"negative penalty":   {[]int64{1, 1}, map[int]int64{0: -1}, 0, false},
		"penalty of no cut":  {[]int64{1, 1}, map[int]int64{2: 1}, 0, false},
		"value of no item":   {[]int64{1, 1, 1}, nil, 0, false},
		"values, less a cut": {[]int64{5, 6}, map[int]int64{0: 2, 1: 3}, 6, true},
	} {
		checker := proofChecker{weights: []int64{1, 1}, proof: Proof{Bins: 1, Cuts: make([][3]int, 2),
			Nodes: []ProofNode{{Value: c.value, Penalty: c.penalty}}}}
		sum, err := checker.total(0)
		if !c.valid {
			require.ErrorIs(t, err, ErrInvalid, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.sum, sum, name)
	}
}

// What is told of the node that is being closed ends the closing.
func TestClosingEnds(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(p *Packer, n int) error{
		"drained":  func(p *Packer, n int) error { return p.Drain(n, true) },
		"taken up": func(p *Packer, n int) error { return p.Drain(n, false) },
		"removed":  func(p *Packer, n int) error { _, err := p.RemoveNode(n); return err },
	} {
		p, nodes := newFleet(t, PackerConfig{}, 3, 10)
		add(t, p, 2, 2, 2)
		p.closing = Slot(nodes[1])
		require.NoError(t, tell(p, nodes[2]), name) // another one
		require.Equal(t, Slot(nodes[1]), p.closing, name)
		require.NoError(t, tell(p, nodes[1]), name)
		require.Equal(t, -1, p.closing, name)
	}
}

// A further resource is counted in a quantum that follows what is needed, where no node has a
// limit.
func TestFurtherResourceWithoutLimits(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{Resources: 1})
	require.NoError(t, err)
	_, err = p.AddNode(10, NodeConfig{})
	require.NoError(t, err)
	q := &p.resource[1]
	s, _, err := p.AddSite(1, SiteConfig{Needs: []float64{5}})
	require.NoError(t, err)
	require.InEpsilon(t, 5, q.value(q.weight[s]), 1e-9)
	big, _, err := p.AddSite(1, SiteConfig{Needs: []float64{3e20}})
	require.NoError(t, err)
	require.InEpsilon(t, 3e20, q.value(q.weight[big]), 1e-9)
	require.GreaterOrEqual(t, q.value(q.weight[s]), 5., "rounded up")
	require.NoError(t, p.SetSite(s, SiteConfig{Needs: []float64{7e40}}))
	require.InEpsilon(t, 7e40, q.value(q.weight[s]), 1e-9)
	require.Equal(t, q.weight[s]+q.weight[big], q.load[0])
	require.Equal(t, q.total, q.load[0])
}

// The sum of all weights stays where no load can overflow.
func TestPackerSumOfWeights(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{Quantum: 1})
	require.NoError(t, err)
	_, err = p.AddNode(mostQuanta, NodeConfig{})
	require.NoError(t, err)
	for range 1 << 9 {
		_, _, err := p.AddSite(mostQuanta, SiteConfig{})
		require.NoError(t, err)
	}
	_, _, err = p.AddSite(1, SiteConfig{})
	requireConfig(t, err, "weight")
	require.ErrorContains(t, err, "2^62")
	require.NoError(t, p.SetWeight(0, mostQuanta-1))
	_, _, err = p.AddSite(1, SiteConfig{})
	require.NoError(t, err)
}

// A saved packer with more quanta on a site or in a node than are told is refused; with as many it is
// not.
func TestPackerMostQuantaAtLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weight, capacity int64
		want             error
	}{
		{mostQuanta, mostQuanta, nil}, {mostQuanta + 1, mostQuanta, ErrCorrupt}, {mostQuanta, mostQuanta + 1, ErrCorrupt},
		{-1, mostQuanta, ErrCorrupt}, {1, 0, ErrCorrupt}, {1, unlimited, ErrCorrupt},
	} {
		p, err := NewPacker(PackerConfig{Quantum: 1})
		require.NoError(t, err)
		_, err = p.AddNode(1, NodeConfig{})
		require.NoError(t, err)
		_, _, err = p.AddSite(1, SiteConfig{})
		require.NoError(t, err)
		q := &p.resource[0]
		q.detach(0, 0)
		q.weight[0], q.capacity[0], q.total = c.weight, c.capacity, c.weight
		q.attach(0, 0)
		data, err := p.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, new(Packer).UnmarshalBinary(data), c.want, "%+v", c)
	}
}

func TestRebalanceElapsed(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{}, 1, 10)
	for _, elapsed := range []float64{math.NaN(), math.Inf(1)} {
		_, err := p.Rebalance(RebalanceConfig{Elapsed: elapsed})
		require.ErrorIs(t, err, ErrConfig)
	}
	for _, cfg := range []RebalanceConfig{{Elapsed: -1}, {MaxRelief: -1}, {MaxClosing: -1}} {
		_, err := p.Rebalance(cfg)
		require.Equal(t, cfg.Elapsed == 0, err != nil)
	}
}

// A problem that is none is refused by all that take one, and one without a packing by Solve.
func TestProblemsRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []Problem[float64]{{Weights: []float64{2}, Capacity: 1}, {Weights: []float64{math.NaN()}, Capacity: 1}, {Capacity: 1}} {
		_, err := LowerBounds(p)
		require.Error(t, err)
		_, err = CheckBound(p, Certificate{})
		require.Error(t, err)
		_, err = CheckProof(p, Proof{})
		require.Error(t, err)
		_, err = Solve(context.Background(), p, SolveConfig{})
		require.Error(t, err)
	}
	_, err := ApproxSubset([]float64{-1}, 1, .5)
	requireConfig(t, err, "weight")
	_, err = ApproxSubset([]float64{1}, 0, .5)
	requireConfig(t, err, "capacity")
	const half = packing.MaxTotal / 2
	_, err = LowerBounds(Problem[int]{Weights: []int{half, half}, Capacity: half})
	require.NoError(t, err)
	_, err = LowerBounds(Problem[int]{Weights: []int{half, half - 1, 2}, Capacity: half})
	requireConfig(t, err, "weight")
	_, err = LowerBounds(Problem[int]{Weights: []int{1}, Capacities: []int{3, 0}})
	requireConfig(t, err, "capacity")

	for bin := range 2 {
		both := Problem[int]{Weights: []int{1, 1}, Capacity: 5, Pins: map[int]int{0: bin, 1: bin}, Conflicts: [][2]int{{0, 1}}}
		_, err = LowerBounds(both)
		require.ErrorIs(t, err, ErrProblem)
		both.Pins[1] = 1 - bin
		_, err = LowerBounds(both)
		require.NoError(t, err)
	}

	tight := Problem[int]{Weights: []int{6, 6, 5, 5}, Capacities: []int{11, 11}, Pins: map[int]int{0: 0}, Conflicts: [][2]int{{0, 2}, {0, 3}}}
	_, err = Solve(context.Background(), tight, SolveConfig{Nodes: -1})
	require.ErrorIs(t, err, ErrNoRoom)
	require.ErrorContains(t, err, "there is no packing")
	_, err = Solve(context.Background(), tight, SolveConfig{Nodes: 1})
	require.ErrorIs(t, err, ErrNoRoom)
	require.ErrorContains(t, err, "no packing was found")
}

// The only site of a node that has shrunk below it moves to a spare that holds it, and stays where
// none does.
func TestRebalanceRelievesOnlySite(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{}, 2, 10)
	s, n, err := p.AddSite(6, SiteConfig{})
	require.NoError(t, err)
	other := nodes[0] + nodes[1] - n
	require.NoError(t, p.SetCapacity(n, 5))
	require.NoError(t, p.SetCapacity(other, 5.5))
	require.Empty(t, rebalance(t, p, RebalanceConfig{}), "no better off there")
	require.NoError(t, p.SetCapacity(other, 8))
	require.Equal(t, []Move{{Site: s, From: n, To: other, Weight: 6, Why: overload}}, rebalance(t, p, RebalanceConfig{}))
	require.Empty(t, rebalance(t, p, RebalanceConfig{}))
}

// A drain overloads a spare by a site that no node holds, and by no other one: that stays until there
// is room.
func TestDrainOverloadsNothing(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{}, 1, 20)
	large := add(t, p, 12)[0]
	b := must(p.AddNode(14, NodeConfig{}))
	c := must(p.AddNode(10, NodeConfig{}))
	small, n, err := p.AddSite(6, SiteConfig{Only: []int{b}})
	require.NoError(t, err)
	require.Equal(t, b, n)
	require.NoError(t, p.Drain(nodes[0], true))
	require.Empty(t, rebalance(t, p, RebalanceConfig{}))
	require.NoError(t, p.RemoveSite(small))
	require.Equal(t, []Move{{Site: large, From: nodes[0], To: b, Weight: 12, Why: drain}}, rebalance(t, p, RebalanceConfig{}))
	require.NoError(t, p.Drain(b, true))
	require.Equal(t, []Move{{Site: large, From: b, To: c, Weight: 12, Why: drain}}, rebalance(t, p, RebalanceConfig{}), "no node holds it")
}

// Whatever nodes and moves cost, and however long it was since the last call, what a packer has
// become can be loaded.
func TestPackerExtremeCosts(t *testing.T) {
	t.Parallel()
	for _, node := range []float64{-1, math.SmallestNonzeroFloat64, 1, mostCost} {
		for _, move := range []float64{-1, 0, math.SmallestNonzeroFloat64, 1, mostCost} {
			p, _ := newFleet(t, PackerConfig{NodeCost: node, MoveCost: move}, 30, 10)
			sites := add(t, p, slices.Repeat([]float64{9}, 30)...)
			for round, elapsed := range []float64{-1, 0, math.MaxFloat64, -1, math.SmallestNonzeroFloat64, math.MaxFloat64} {
				for _, s := range sites[round:] {
					require.NoError(t, p.SetWeight(s, 3/float64(1+round)))
				}
				_, err := p.Rebalance(RebalanceConfig{MaxMoves: round, Elapsed: elapsed})
				require.NoError(t, err)
				data, err := p.MarshalBinary()
				require.NoError(t, err)
				require.NoError(t, new(Packer).UnmarshalBinary(data), "node %v, move %v, round %d", node, move, round)
			}
		}
	}
	for _, c := range []PackerConfig{{NodeCost: math.MaxFloat64}, {MoveCost: math.Nextafter(mostCost, math.MaxFloat64)}, {MoveCost: math.NaN()}} {
		_, err := NewPacker(c)
		require.ErrorIs(t, err, ErrConfig, "%+v", c)
	}
	for _, c := range []PackerConfig{{MoveCost: math.Inf(-1)}, {NodeCost: math.Inf(-1)}, {Headroom: math.Inf(-1)}, {Early: math.Inf(-1)}} {
		_, err := NewPacker(c)
		require.ErrorIs(t, err, ErrConfig, "%+v", c)
	}
}

// Weights are rounded up to a quantum, but for what is left of the errors of three roundings: .3 is
// 3 units of .1, though .3/.1 is a little less.
func TestWeightsRoundUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quantum, weight float64
		want            int64
	}{
		{1, 2, 2}, {1, 2.4, 3}, {1, 2.6, 3}, {1, 1e-9, 1}, {1, 2 + 1e-12, 3}, {1, 3 - 1e-12, 3},
		{0.1, 0.3, 3}, {0.1, 0.7, 7}, {0.1, 0.2, 2}, {0.1, 0.6, 6}, {1, 0, 0},
		{1e198, 1e-281, 1}, {1, math.SmallestNonzeroFloat64, 1},
	} {
		q := resource{fixed: c.quantum, bound: true}
		u, err := q.units(c.weight, 0)
		require.NoError(t, err)
		require.Equal(t, c.want, u.units, "%v in units of %v", c.weight, c.quantum)
	}
}

// Whether any node could hold a site is told by the largest one only where that has all it needs and
// may have it.
func TestHolds(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{Resources: 1})
	require.NoError(t, err)
	large := must(p.AddNode(10, NodeConfig{Capacities: []float64{1}}))
	must(p.AddNode(5, NodeConfig{Capacities: []float64{9}}))
	c := candidate{-1, []int64{p.resource[0].capacity[Slot(large)] / 2, p.resource[1].capacity[Slot(large)] * 5}, nil}
	require.True(t, p.holds(c, Slot(large)), "the other node holds it")

	p, nodes := newFleet(t, PackerConfig{}, 1, 10)
	small := must(p.AddNode(3, NodeConfig{}))
	_, _, err = p.AddSite(5, SiteConfig{Only: []int{small}})
	require.ErrorIs(t, err, ErrNoRoom)
	_, n, err := p.AddSite(5, SiteConfig{})
	require.NoError(t, err)
	require.Equal(t, nodes[0], n)
}

// saved returns the state of a packer, to see whether a call changed it.
func saved(t require.TestingT, p *Packer) []byte {
	data, err := p.MarshalBinary()
	require.NoError(t, err)
	return data
}

// Two sites that are as large as can be have a load that is a number.
func TestLargestCapacity(t *testing.T) {
	t.Parallel()
	large, parts := 1e300, float64(10007<<24)
	for _, quantum := range []float64{0, math.Nextafter(mostQuantum, 0), large / parts} { // of the last one 10^300 is read back as more
		p := must(NewPacker(PackerConfig{Resources: 1, Quantum: quantum}))
		n := must(p.AddNode(1e300, NodeConfig{Capacities: []float64{1e300}}))
		above := math.Nextafter(mostCapacity, math.Inf(1))
		for _, c := range [][2]float64{{above, 1e299}, {1e299, above}, {math.MaxFloat64, 1e299}, {math.Inf(1), 1e299}, {math.NaN(), 1e299}} {
			_, err := p.AddNode(c[0], NodeConfig{Capacities: []float64{c[1]}})
			requireConfig(t, err, "capacity", "%v", c)
		}
		for _, c := range []float64{above, math.Inf(1), math.NaN()} {
			requireConfig(t, p.SetCapacity(n, c), "capacity")
			requireConfig(t, p.SetNode(n, NodeConfig{Capacities: []float64{c}}), "capacity")
		}
		require.NoError(t, p.SetCapacity(n, 1e300))
		require.NoError(t, p.SetNode(n, NodeConfig{Capacities: []float64{1e300}}))
		require.NoError(t, p.SetNode(n, NodeConfig{Capacities: []float64{must(p.Node(n)).Capacities[0]}}))
		for range 500 {
			_, _, err := p.AddSite(1e300, SiteConfig{})
			require.NoError(t, err)
		}
		load := must(p.Node(n)).Load
		require.GreaterOrEqual(t, load, 500*1e300*(1-1e-9))
		require.False(t, math.IsInf(load, 1))
	}
	_, err := NewPacker(PackerConfig{Quantum: mostQuantum})
	require.ErrorIs(t, err, ErrConfig)
}

// A need may be any number; where it makes the quantum coarser, no node is left without capacity.
func TestNeedOfAnySize(t *testing.T) {
	t.Parallel()
	for _, need := range []float64{5e-324, 1e-300, 1, 1e300, math.MaxFloat64 / 1000, math.MaxFloat64 / 100, math.MaxFloat64} {
		p := must(NewPacker(PackerConfig{Resources: 1}))
		_, err := p.AddNode(1, NodeConfig{})
		require.NoError(t, err)
		s, n, err := p.AddSite(.1, SiteConfig{Needs: []float64{1e-5}})
		require.NoError(t, err)
		_, _, err = p.AddSite(.1, SiteConfig{Needs: []float64{need}})
		require.NoError(t, err)
		load := must(p.Node(n)).Loads[0]
		require.GreaterOrEqual(t, load, need)
		if need < math.MaxFloat64 { // rounded up, that is +Inf
			require.LessOrEqual(t, load/(1+1e-6), need+1e-5)
		}
		require.NoError(t, p.SetSite(s, SiteConfig{Needs: []float64{need / 4}}))
	}
	p := must(NewPacker(PackerConfig{Resources: 1}))
	large := must(p.AddNode(1, NodeConfig{Capacities: []float64{1e14}}))
	small := must(p.AddNode(1, NodeConfig{Capacities: []float64{1e4}}))
	free := must(p.AddNode(1, NodeConfig{}))
	s, _, err := p.AddSite(.5, SiteConfig{Needs: []float64{5e3}})
	require.NoError(t, err)
	before := saved(t, p)
	_, _, err = p.AddSite(.1, SiteConfig{Needs: []float64{1e20}})
	requireConfig(t, err, "weight")
	require.ErrorContains(t, err, "need 0")
	requireConfig(t, p.SetSite(s, SiteConfig{Needs: []float64{1e20}}), "weight")
	require.Equal(t, before, saved(t, p))
	// Without the small node the quantum may become coarser; the other limit is as small as it was.
	_, err = p.RemoveNode(small)
	require.NoError(t, err)
	require.NoError(t, p.Drain(free, true))
	_, _, err = p.AddSite(.1, SiteConfig{Needs: []float64{1e20}})
	require.ErrorIs(t, err, ErrNoRoom)
	require.NoError(t, p.Drain(free, false))
	_, n, err := p.AddSite(.1, SiteConfig{Needs: []float64{1e20}})
	require.NoError(t, err)
	require.Equal(t, free, n)
	require.InEpsilon(t, 1e14, must(p.Node(large)).Capacities[0], 1e-2)
}

// A call that returns an error has changed nothing, not the quantum either.
func TestErrorsLeaveTheQuantum(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(p *Packer, n int) error{
		"second capacity of a node": func(p *Packer, n int) error {
			_, err := p.AddNode(1e9, NodeConfig{Capacities: []float64{1e9, -1}})
			return err
		},
		"capacity": func(p *Packer, n int) error { _, err := p.AddNode(5e-324, NodeConfig{}); return err },
		"SetNode": func(p *Packer, n int) error {
			return p.SetNode(n, NodeConfig{Capacities: []float64{1e9, math.NaN()}})
		},
		"SetCapacity": func(p *Packer, n int) error { return p.SetCapacity(n, 5e-324) },
		"needs": func(p *Packer, n int) error {
			_, _, err := p.AddSite(.1, SiteConfig{Needs: []float64{1e9, -1}})
			return err
		},
	} {
		for _, weight := range []float64{0, .0123456789} {
			p := must(NewPacker(PackerConfig{Resources: 2}))
			n := must(p.AddNode(.1, NodeConfig{Capacities: []float64{.1, .1}}))
			_, _, err := p.AddSite(weight, SiteConfig{Needs: []float64{weight, weight}})
			require.NoError(t, err)
			before := saved(t, p)
			require.Error(t, call(p, n), name)
			require.Equal(t, before, saved(t, p), name)
			_, _, err = p.AddSite(.05, SiteConfig{})
			require.NoError(t, err)
		}
	}
}

// A capacity so large that the quantum it needs leaves another node nothing is refused: rounded up
// that node would take what it cannot hold.
func TestCoarseCapacityRoundsDown(t *testing.T) {
	t.Parallel()
	for exp := range 40 {
		p := must(NewPacker(PackerConfig{Resources: 1}))
		n := must(p.AddNode(1, NodeConfig{Capacities: []float64{1}}))
		c := math.Pow10(exp)
		before := saved(t, p)
		other, err := p.AddNode(c, NodeConfig{Capacities: []float64{c}})
		s := must(p.Node(n))
		require.LessOrEqual(t, s.Capacity, 1.)
		require.LessOrEqual(t, s.Capacities[0], 1.)
		require.Equal(t, exp < 12, err == nil, "10^%d", exp)
		if err != nil {
			requireConfig(t, err, "capacity")
			require.Equal(t, before, saved(t, p))
			requireConfig(t, p.SetNode(must(p.AddNode(1, NodeConfig{})), NodeConfig{Capacities: []float64{c}}), "capacity")
			// A node may outgrow its own capacity.
			require.NoError(t, p.SetNode(n, NodeConfig{Capacities: []float64{c}}))
			continue
		}
		require.NoError(t, p.Drain(other, true))
		_, _, err = p.AddSite(1.01, SiteConfig{})
		require.ErrorIs(t, err, ErrNoRoom)
	}
}

// A new zone of a node may leave all of its sites where they must not be. Each is noted once, without a
// comparison with the others, which would take seconds here.
func TestZoneOfManySites(t *testing.T) {
	t.Parallel()
	const sites = 50_000
	p, err := NewPacker(PackerConfig{})
	require.NoError(t, err)
	node, err := p.AddNode(2*sites, NodeConfig{Zone: 1})
	require.NoError(t, err)
	for range sites {
		_, _, err := p.AddSite(1, SiteConfig{Zone: 1})
		require.NoError(t, err)
	}
	for range 3 { // each site is noted once
		require.NoError(t, p.SetNode(node, NodeConfig{Zone: 1}))
		require.NoError(t, p.SetNode(node, NodeConfig{Zone: 2}))
	}
	require.Len(t, p.unruly, sites)
	require.NoError(t, p.SetNode(node, NodeConfig{Zone: 1}))
	_, err = p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Empty(t, p.unruly)
	require.Empty(t, p.listed)
}

// A site that was moved as its rule demanded is moved again when the rule demands it again.
func TestRulesAreObeyedAgain(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{})
	require.NoError(t, err)
	var nodes [2]int
	for k := range nodes {
		nodes[k], err = p.AddNode(10, NodeConfig{Zone: 1 + k})
		require.NoError(t, err)
	}
	_, _, err = p.AddSite(1, SiteConfig{Zone: 1})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, p.SetNode(nodes[0], NodeConfig{Zone: 2}))
		require.NoError(t, p.SetNode(nodes[1], NodeConfig{Zone: 1}))
		moves, err := p.Rebalance(RebalanceConfig{})
		require.NoError(t, err)
		require.Len(t, moves, 1)
		require.Equal(t, nodes[1], moves[0].To)
		nodes[0], nodes[1] = nodes[1], nodes[0]
	}
}

// A new site goes to a node that is being closed, the first one too, before it takes a spare.
func TestPackerKeepsANodeForANewSite(t *testing.T) {
	t.Parallel()
	for closing := range 2 {
		p, nodes := newFleet(t, PackerConfig{Headroom: -1, Early: -1}, 3, 10)
		s := add(t, p, 9, 9)
		require.NoError(t, p.SetWeight(s[closing], 3))
		p.closing = closing
		p.touch(closing)
		_, n, err := p.AddSite(4, SiteConfig{})
		require.NoError(t, err)
		require.Equal(t, nodes[closing], n)
		require.Equal(t, -1, p.closing)
	}
}

// A search that has found what it looks for goes no further.
func TestTargetsEnd(t *testing.T) {
	t.Parallel()
	for resources := range 2 {
		p, _ := newFleet(t, PackerConfig{Resources: resources}, 20, 10)
		add(t, p, slices.Repeat([]float64{9}, 20)...)
		for most := 1; most < trials; most++ {
			tried := 0
			p.targets(-1, everyNode, func(int) bool { tried++; return tried < most })
			require.Equal(t, most, tried)
		}
	}
}
