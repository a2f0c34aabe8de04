package binpack

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// used returns the number of nodes with sites.
func used(p *Packer) (n int) {
	for id := range p.AllNodes() {
		if s, _ := p.Node(id); s.Sites > 0 {
			n++
		}
	}
	return n
}

// volume returns the fewest nodes of a capacity that could hold the load.
func volume(p *Packer, capacity float64) int {
	load := 0.
	for id := range p.AllNodes() {
		s, _ := p.Node(id)
		load += s.Load
	}
	return int(math.Ceil(load/capacity - 1e-9))
}

// steps is what the packer has visited so far in its trees and lists.
func (p *Packer) steps() (n int) {
	n = p.emptiest.Steps + p.roomiest.Steps + p.spares.Steps + p.fullest.Steps + p.cheapest.Steps + p.largest.Steps
	for k := range p.resource {
		n += p.resource[k].sites.Steps
	}
	return n
}

func rebalance(t testing.TB, p *Packer, cfg RebalanceConfig) []Move {
	moves, err := p.Rebalance(cfg)
	require.NoError(t, err)
	stuck := slices.IndexFunc(p.state, func(n nodeState) bool { return n.leaving })
	require.Equal(t, -1, stuck, "a node takes no sites, as it was to be closed")
	return moves
}

// Half, then 90 % of the sites of an evenly filled fleet leave, like ones and unlike ones, at once
// or under a limit: the nodes follow, to within 5 % of the volume bound or one node, in the time
// of some paybacks. Afterwards nothing moves any more.
func TestPackerFollowsLoadDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		sites, nodes int
		sigma, share float64
		limit        RebalanceConfig
		calls        int
	}{
		{"half of like sites leave", 2000, 20, 0, .5, RebalanceConfig{}, 100},
		{"90 % of like sites leave", 2000, 20, 0, .9, RebalanceConfig{}, 300},
		{"half leave", 2000, 20, 1, .5, RebalanceConfig{}, 100},
		{"90 % leave", 2000, 20, 1, .9, RebalanceConfig{}, 150},
		{"half of many nodes leave", 5000, 200, .5, .5, RebalanceConfig{}, 150},
		{"90 % of many nodes leave", 5000, 200, .5, .9, RebalanceConfig{}, 200},
		{"half leave, five moves a call", 1000, 20, 0, .5, RebalanceConfig{MaxMoves: 5}, 400},
		{"half leave, weight limited", 1000, 20, 0, .5, RebalanceConfig{MaxWeight: .1}, 400},
		{"half leave, hours in quarters", 1000, 20, 0, .5, RebalanceConfig{Elapsed: .25}, 400},
	} {
		rng := rand.New(rand.NewPCG(uint64(c.sites), 71))
		p, _ := newFleet(t, PackerConfig{}, c.nodes+10, 1)
		var w []float64
		sum := 0.
		for range c.sites {
			w = append(w, math.Exp(c.sigma*rng.NormFloat64()))
			sum += w[len(w)-1]
		}
		for i := range w {
			w[i] *= .93 * float64(c.nodes) / sum
		}
		sites := add(t, p, w...)
		require.LessOrEqual(t, used(p), c.nodes)
		for _, s := range sites {
			if rng.Float64() < c.share {
				require.NoError(t, p.RemoveSite(s))
			}
		}
		moves := 0
		for range c.calls {
			moves += len(rebalance(t, p, c.limit))
		}
		bound := volume(p, 1)
		t.Logf("%s: %d nodes, bound %d, %d moves", c.name, used(p), bound, moves)
		require.LessOrEqual(t, float64(used(p)), max(1.05*float64(bound), float64(bound)+.5), c.name)
		require.LessOrEqual(t, moves, c.sites, c.name)
		for range 100 {
			require.Empty(t, rebalance(t, p, c.limit), c.name)
		}
	}
}

// A fleet at rest is filled to the last unit: 2000 sites of .01 need 20 nodes, 1000 of them 10.
func TestPackerFillsExactly(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{}, 20, 1)
	var sites []int
	for range 2000 {
		sites = append(sites, add(t, p, .01)...)
	}
	for k := 0; k < len(sites); k += 2 {
		require.NoError(t, p.RemoveSite(sites[k]))
	}
	for range 600 {
		rebalance(t, p, RebalanceConfig{})
	}
	require.Equal(t, 10, used(p))
	for n := range p.AllNodes() {
		s, err := p.Node(n)
		require.NoError(t, err)
		require.LessOrEqual(t, s.Load, s.Capacity)
	}
}

// A dip in the load that is shorter than the payback moves nothing, and where moves cost nothing it
// closes nodes at once.
func TestPackerWaitsForPayback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   PackerConfig
		first int // call that moves something
	}{
		{PackerConfig{}, 32 / 2}, // two nodes are saved up for
		{PackerConfig{MoveCost: 1}, 25},
		{PackerConfig{MoveCost: 1, NodeCost: 10}, 3},
		{PackerConfig{MoveCost: -1}, 1},
		{PackerConfig{NodeCost: -1}, 0},
	} {
		p, _ := newFleet(t, c.cfg, 5, 1)
		sites := add(t, p, make([]float64, 200)...)
		for i, s := range sites { // 50 on each of four nodes
			p.detach(s)
			p.attach(s, i/50)
			require.NoError(t, p.SetWeight(s, .009))
		}
		require.Equal(t, 4, used(p))
		first := 0
		for call := 1; call <= 100 && first == 0; call++ {
			if len(rebalance(t, p, RebalanceConfig{})) > 0 {
				first = call
			}
		}
		require.Equal(t, c.first, first, "%+v", c.cfg)
	}
}

// What a rebalance visits is bounded by moves and nodes, with a logarithm, whatever the number of
// sites: after a shock, with nothing to do, and where nothing can be done.
func TestRebalanceSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sites, nodes int }{{2000, 40}, {20_000, 40}, {20_000, 400}} {
		for _, shock := range []string{"weights", "capacities", "none", "full", "drain", "exit"} {
			rng := rand.New(rand.NewPCG(1, 72))
			p, nodes := newFleet(t, PackerConfig{}, c.nodes*5/4, 1)
			w := make([]float64, c.sites)
			for i := range w {
				w[i] = .9 * float64(c.nodes) / float64(c.sites) * math.Exp(.5*rng.NormFloat64()-.125)
			}
			sites := add(t, p, w...)
			rebalance(t, p, RebalanceConfig{})
			switch shock {
			case "weights":
				for k := 0; k < len(sites); k += 10 {
					require.NoError(t, p.SetWeight(sites[k], min(3*w[k], 1)))
				}
			case "capacities":
				for k := 0; k < len(nodes); k += 3 {
					require.NoError(t, p.SetCapacity(nodes[k], .8))
				}
			case "full": // no node has room
				for _, n := range nodes {
					require.NoError(t, p.SetCapacity(n, .5))
				}
				rebalance(t, p, RebalanceConfig{})
			case "drain":
				require.NoError(t, p.Drain(nodes[0], true))
			case "exit":
				for k, s := range sites {
					if k%10 > 0 {
						require.NoError(t, p.RemoveSite(s))
					}
				}
				p.saved, p.surplus = 1e9, 1 // all are paid for at once
			}
			before := p.steps()
			moves := len(rebalance(t, p, RebalanceConfig{}))
			steps := p.steps() - before
			// A move tries at most 12 nodes, with sites of two classes, at most 8 each. An
			// exchange, tried once a node that stays overloaded, looks at 8 of each of some 30
			// classes.
			most := 50*moves*bits.Len(uint(len(nodes))) + 1500*len(nodes)
			require.LessOrEqual(t, steps, most, "%s: %d sites on %d nodes, %d moves", shock, c.sites, c.nodes, moves)
			if shock == "weights" || shock == "drain" || shock == "exit" {
				require.Positive(t, moves, shock)
			}
			t.Logf("%v %s: %d moves, %d steps, at most %d", c, shock, moves, steps, most)
		}
	}
}

// With five moves a call and more overload than they relieve, nodes are closed and drained all
// the same; limits of their own say how fast.
func TestPackerLimitsApart(t *testing.T) {
	t.Parallel()
	var relieved, emptied []int // moves of each call of the last run
	run := func(limit RebalanceConfig, drain bool) (closed, drained, relief int) {
		relieved, emptied = nil, nil
		rng := rand.New(rand.NewPCG(3, 73))
		p, nodes := newFleet(t, PackerConfig{}, 40, 1)
		w := make([]float64, 1000)
		for i := range w {
			w[i] = .027 * math.Exp(.5*rng.NormFloat64())
		}
		sites := add(t, p, w...)
		for k := 0; k < len(sites); k += 3 {
			require.NoError(t, p.RemoveSite(sites[k]))
			w[k] = -1
		}
		if drain {
			require.NoError(t, p.Drain(nodes[0], true))
		}
		for range 100 {
			for k, s := range sites {
				if w[k] > 0 {
					w[k] = min(w[k]*math.Exp(.3*rng.NormFloat64()-.045), .5)
					require.NoError(t, p.SetWeight(s, w[k]))
				}
			}
			relievedBefore, emptiedBefore := relief, closed
			for _, m := range rebalance(t, p, limit) {
				switch m.Why {
				case consolidation:
					closed++
				case overload:
					relief++
				case "drain":
					drained++
				}
			}
			relieved, emptied = append(relieved, relief-relievedBefore), append(emptied, closed-emptiedBefore)
		}
		return closed, drained, relief
	}
	closed, _, relief := run(RebalanceConfig{MaxMoves: 5}, false)
	require.Greater(t, closed, 50)
	require.Greater(t, relief, 20)
	_, drained, _ := run(RebalanceConfig{MaxMoves: 2}, true)
	require.Greater(t, drained, 15)
	_, drained, _ = run(RebalanceConfig{MaxMoves: 1}, true)
	require.Greater(t, drained, 15, "every fifth")
	run(RebalanceConfig{}, false)
	require.Greater(t, slices.Max(relieved), 1, "the limits matter")
	require.Greater(t, slices.Max(emptied), 2)
	closed, _, _ = run(RebalanceConfig{MaxRelief: 1, MaxClosing: 2}, false)
	require.Equal(t, 1, slices.Max(relieved))
	require.Equal(t, 2, slices.Max(emptied))
	require.Greater(t, closed, 20)
}

// Nodes in bytes, in millionths and in decimals.
func TestPackerUnits(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{Headroom: -1}, 2, 16<<30)
	add(t, p, 1, 16<<30-1)
	s, err := p.Node(nodes[0])
	require.NoError(t, err)
	require.Equal(t, NodeState{Load: 16 << 30, Capacity: 16 << 30, Sites: 2}, s)

	p, nodes = newFleet(t, PackerConfig{Headroom: -1}, 1, 1)
	for range 500_000 {
		add(t, p, 1e-6)
	}
	s, err = p.Node(nodes[0])
	require.NoError(t, err)
	require.Equal(t, .5, s.Load)

	p, _ = newFleet(t, PackerConfig{Headroom: -1}, 2, 1)
	sites := add(t, p, .2, .2, .6)
	require.Equal(t, 1, used(p), "a node is filled exactly")
	_, err = p.AddNode(1e9, NodeConfig{}) // the quantum follows
	require.NoError(t, err)
	require.NoError(t, p.SetWeight(sites[0], 5e8))
	s, err = p.Node(nodes[0])
	require.NoError(t, err)
	require.InDelta(t, 5e8+.8, s.Load, 1e-2)
	_, err = p.AddNode(1e-9, NodeConfig{})
	requireConfig(t, err, "capacity")
	require.ErrorContains(t, err, "quantum, 0.01")

	p, _ = newFleet(t, PackerConfig{Quantum: 1e-3}, 1, 10)
	_, err = p.AddNode(1e15, NodeConfig{})
	requireConfig(t, err, "capacity")
	require.ErrorContains(t, err, "0.001")
	_, _, err = p.AddSite(1e15, SiteConfig{})
	requireConfig(t, err, "weight")
	require.ErrorContains(t, err, "0.001")
}

// Replicas are kept on different nodes and in different zones, sites in their zone and where they
// are pinned, whatever happens.
func TestPackerRules(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{Resources: 1})
	require.NoError(t, err)
	var nodes []int
	for k := range 6 {
		n, err := p.AddNode(10, NodeConfig{Zone: 1 + k/2, Capacities: []float64{100}})
		require.NoError(t, err)
		nodes = append(nodes, n)
	}
	at := func(site int) int { return must(p.NodeOf(site)) }
	zone := func(site int) int { return 1 + at(site)/2 }
	var replicas []int
	for range 3 {
		s, _, err := p.AddSite(1, SiteConfig{Group: 7, Zones: true, Needs: []float64{10}})
		require.NoError(t, err)
		replicas = append(replicas, s)
	}
	apart := func() {
		require.NotEqual(t, zone(replicas[0]), zone(replicas[1]))
		require.NotEqual(t, zone(replicas[0]), zone(replicas[2]))
		require.NotEqual(t, zone(replicas[1]), zone(replicas[2]))
	}
	apart()
	_, _, err = p.AddSite(1, SiteConfig{Group: 7, Zones: true})
	require.ErrorIs(t, err, ErrNoRoom, "there is no fourth zone")
	require.ErrorContains(t, err, "allowed by {Needs:[] Group:7 Zones:true", "nodes take sites, but not this one")
	pinned, n, err := p.AddSite(2, SiteConfig{Only: []int{nodes[5]}})
	require.NoError(t, err)
	require.Equal(t, nodes[5], n)
	zoned, _, err := p.AddSite(2, SiteConfig{Zone: 2})
	require.NoError(t, err)
	require.Equal(t, 2, zone(zoned))
	hungry, _, err := p.AddSite(0, SiteConfig{Needs: []float64{95}})
	require.NoError(t, err)
	other, n, err := p.AddSite(0, SiteConfig{Needs: []float64{50}, Never: []int{nodes[2], nodes[3]}})
	require.NoError(t, err)
	require.NotEqual(t, at(hungry), n, "the further resource is full")
	require.NotEqual(t, 2, zone(other))

	// A node fails: its replica goes to the other one of the zone.
	lostZone := zone(replicas[0])
	moves, err := p.RemoveNode(at(replicas[0]))
	require.NoError(t, err)
	require.NotEmpty(t, moves)
	require.Equal(t, lostZone, zone(replicas[0]))
	apart()
	_, err = p.RemoveNode(nodes[5])
	require.ErrorIs(t, err, ErrNoRoom, "a site is pinned to it")
	require.Equal(t, nodes[5], at(pinned))

	// New rules are obeyed by the next rebalance.
	require.NoError(t, p.SetSite(pinned, SiteConfig{Never: []int{nodes[5]}}))
	require.NoError(t, p.SetSite(zoned, SiteConfig{Zone: 3}))
	for _, m := range rebalance(t, p, RebalanceConfig{}) {
		require.Equal(t, "rule", m.Why)
	}
	require.NotEqual(t, nodes[5], at(pinned))
	require.Equal(t, 3, zone(zoned))

	for _, c := range []SiteConfig{{Needs: []float64{1, 2}}, {MoveCost: math.NaN()}, {MoveCost: math.Inf(1)}} {
		_, _, err := p.AddSite(1, c)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorIs(t, p.SetSite(zoned, c), ErrConfig)
	}
	_, _, err = p.AddSite(1, SiteConfig{Needs: []float64{-1}})
	requireConfig(t, err, "weight")
	_, err = p.AddNode(1, NodeConfig{Capacities: []float64{1, 2}})
	require.ErrorIs(t, err, ErrConfig)
	_, err = p.AddNode(1, NodeConfig{Capacities: []float64{-1}})
	requireConfig(t, err, "capacity")
	require.ErrorContains(t, err, "-1 (capacity 0)")
	narrow, err := NewPacker(PackerConfig{Resources: 1})
	require.NoError(t, err)
	_, err = narrow.AddNode(1, NodeConfig{Capacities: []float64{3}})
	require.NoError(t, err)
	_, _, err = narrow.AddSite(1, SiteConfig{Needs: []float64{4}})
	require.ErrorIs(t, err, ErrNoRoom)
	require.ErrorContains(t, err, "weight 1, needs [4]")
	require.ErrorIs(t, p.SetNode(99, NodeConfig{}), ErrUnknown)
	require.ErrorIs(t, p.SetSite(99, SiteConfig{}), ErrUnknown)
	require.ErrorContains(t, p.SetSite(zoned, SiteConfig{MoveCost: 1e9}), "1e+06")
	spare, err := p.AddNode(1, NodeConfig{})
	require.NoError(t, err)
	_, err = p.RemoveNode(spare)
	require.NoError(t, err)
	gone := SiteConfig{Only: []int{nodes[5], spare}}
	_, _, err = p.AddSite(1, gone)
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, p.SetSite(pinned, gone), ErrUnknown)
	require.NoError(t, p.SetSite(pinned, SiteConfig{Only: []int{nodes[5]}, Never: []int{spare}}))
}

// Of the sites that end an overload the one whose move costs least goes, and a node of dear sites
// is not closed before one of cheap ones.
func TestPackerMoveCosts(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{}, 2, 10)
	dear := SiteConfig{MoveCost: 5}
	var sites []int
	for _, w := range []float64{2, 2.1, 2.2, 2.3} {
		c := dear
		if w == 2.3 {
			c.MoveCost = .5
		}
		s, _, err := p.AddSite(w, c)
		require.NoError(t, err)
		sites = append(sites, s)
	}
	add(t, p, 7) // on the other node
	require.NoError(t, p.SetWeight(sites[0], 3.5))
	require.Equal(t, []Move{{sites[3], nodes[0], nodes[1], 2.3, overload}}, rebalance(t, p, RebalanceConfig{}))

	p, nodes = newFleet(t, PackerConfig{MoveCost: -1}, 2, 10)
	a, _, err := p.AddSite(2, dear)
	require.NoError(t, err)
	b, _, err := p.AddSite(2, SiteConfig{Never: nodes[:1]})
	require.NoError(t, err)
	require.NoError(t, p.SetSite(b, SiteConfig{}))
	c, _, err := p.AddSite(1, SiteConfig{Never: nodes[:1]})
	require.NoError(t, err)
	require.NoError(t, p.SetSite(c, SiteConfig{}))
	for _, m := range rebalance(t, p, RebalanceConfig{}) {
		require.NotEqual(t, a, m.Site, "two moves cost less than this one")
	}
	require.Equal(t, 1, used(p))
}

// Drained nodes are empty after a bounded number of rebalances under any limit, where the rest has
// the room.
func TestPackerDrainsUnderLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, err := NewPacker(PackerConfig{})
		require.NoError(t, err)
		var nodes []int
		for range 6 {
			n, err := p.AddNode(10, NodeConfig{})
			require.NoError(t, err)
			nodes = append(nodes, n)
		}
		sites := rapid.IntRange(1, 30).Draw(t, "sites")
		for range sites {
			_, _, err := p.AddSite(rapid.Float64Range(0, 1).Draw(t, "w"), SiteConfig{})
			require.NoError(t, err)
		}
		gone := nodes[rapid.IntRange(0, 5).Draw(t, "node")]
		require.NoError(t, p.Drain(gone, true))
		limit := RebalanceConfig{MaxMoves: rapid.IntRange(0, 4).Draw(t, "moves"), MaxWeight: float64(rapid.IntRange(0, 2).Draw(t, "weight"))}
		for range 6 * sites {
			_, err := p.Rebalance(limit)
			require.NoError(t, err)
		}
		state, err := p.Node(gone)
		require.NoError(t, err)
		require.Zero(t, state.Sites)
		moves, err := p.RemoveNode(gone)
		require.NoError(t, err)
		require.Empty(t, moves)
	})
}

// What the documentation of Packer says of spreading sites over all nodes: with capacities of 1.1
// times the fair share none has more than that, and few sites move.
func TestPackerSpreadsOverAllNodes(t *testing.T) {
	t.Parallel()
	const sites, nodes = 1000, 8
	p, ids := newFleet(t, PackerConfig{}, nodes, 1)
	r := rand.New(rand.NewPCG(1, 2))
	weights, load := make([]float64, sites), 0.
	for s := range weights {
		weights[s] = math.Exp(0.5*r.NormFloat64()) / sites
		load += weights[s]
		_, _, err := p.AddSite(weights[s], SiteConfig{}) // whose id is s
		require.NoError(t, err)
	}
	moves := 0
	for call := range 100 {
		for _, id := range ids {
			require.NoError(t, p.SetCapacity(id, 1.1*load/nodes))
		}
		if made := rebalance(t, p, RebalanceConfig{}); call > 0 {
			moves += len(made)
		}
		for _, id := range ids {
			state, err := p.Node(id)
			require.NoError(t, err)
			require.LessOrEqual(t, state.Load, state.Capacity)
		}
		require.Equal(t, nodes, used(p))
		load = 0
		for s := range weights {
			weights[s] *= math.Exp(0.05 * r.NormFloat64())
			load += weights[s]
			require.NoError(t, p.SetWeight(s, weights[s]))
		}
	}
	require.Less(t, moves, sites/50)
	t.Logf("%d moves", moves)
}
