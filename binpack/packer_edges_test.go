package binpack

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// Sites follow a node that changes its zone: those of the old one leave it, those of the new one come.
func TestSetNodeZone(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{})
	require.NoError(t, err)
	a := must(p.AddNode(10, NodeConfig{Zone: 1}))
	b := must(p.AddNode(10, NodeConfig{Zone: 1}))
	s, n, err := p.AddSite(1, SiteConfig{Zone: 1})
	require.NoError(t, err)
	other := a + b - n
	require.NoError(t, p.SetNode(n, NodeConfig{Zone: 2}))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Equal(t, []Move{{Site: s, From: n, To: other, Weight: 1, Why: ruled}}, moves)
	_, at, err := p.AddSite(1, SiteConfig{Zone: 2})
	require.NoError(t, err)
	require.Equal(t, n, at)
	_, at, err = p.AddSite(1, SiteConfig{Zone: 1})
	require.NoError(t, err)
	require.Equal(t, other, at)
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

// A further resource is counted in a quantum that follows what is needed, where no node has a limit.
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
	require.ErrorIs(t, err, ErrWeight)
	require.ErrorContains(t, err, "2^62")
	require.NoError(t, p.SetWeight(0, mostQuanta-1))
	_, _, err = p.AddSite(1, SiteConfig{})
	require.NoError(t, err)
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
	require.ErrorIs(t, err, ErrWeight)
	_, err = ApproxSubset([]float64{1}, 0, .5)
	require.ErrorIs(t, err, ErrCapacity)
	_, err = LowerBounds(Problem[int]{Weights: []int{1}, Capacities: []int{3, 0}})
	require.ErrorIs(t, err, ErrCapacity)

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
