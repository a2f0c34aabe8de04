package binpack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// One move relieves a node as far as a move can: 4 of the 11 go, not 2.
func TestPackerBalancesWithOneMove(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{}, 2, 10)
	s := add(t, p, 1, 2, 2, 4, 9) // the last one on the second node
	require.NoError(t, p.SetWeight(s[0], 3))
	require.NoError(t, p.SetWeight(s[4], 3))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Equal(t, []Move{{s[3], nodes[0], nodes[1], 4, "overload"}}, moves)
}

// A node takes no site that would cost its headroom while there is a spare.
func TestPackerKeepsHeadroom(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.Headroom = 1 // times the root of the initial volatility, .1
	p, nodes := newFleet(t, cfg, 3, 10)
	s := add(t, p, 5, 3.5, 5) // 5 and 3.5 on the first, 5 on the second
	require.NoError(t, p.SetWeight(s[1], 6))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Len(t, moves, 1)
	require.Equal(t, nodes[2], moves[0].To)
}

// Where no site of an overloaded node fits another, two sites change places, if the
// limit allows both moves; else a spare takes one.
func TestPackerExchanges(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.Headroom = -1
	for _, limit := range []RebalanceConfig{{}, {MaxMoves: 2}, {MaxWeight: 3}, {MaxMoves: 1}, {MaxWeight: 2.75}} {
		p, nodes := newFleet(t, cfg, 3, 10)
		s := add(t, p, 6, 1.5, 2, 4.5, 3, 1) // the first three on the first node
		require.NoError(t, p.SetWeight(s[1], 2.5))
		moves, err := p.Rebalance(limit)
		require.NoError(t, err)
		want := []Move{{s[2], nodes[0], nodes[1], 2, "overload"}, {s[5], nodes[1], nodes[0], 1, "overload"}}
		switch limit {
		case RebalanceConfig{MaxMoves: 1}:
			want = []Move{{s[0], nodes[0], nodes[2], 6, "overload"}}
		case RebalanceConfig{MaxWeight: 2.75}:
			want = []Move{{s[1], nodes[0], nodes[2], 2.5, "overload"}}
		}
		require.Equal(t, want, moves, "%+v", limit)
	}
}

// The best exchange is that found by trying all pairs, where no class has more sites than are
// looked at.
func TestBestExchange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, err := NewPacker(PackerConfig{})
		require.NoError(t, err)
		for range 3 {
			_, err := p.AddNode(rapid.Float64Range(50, 100).Draw(t, "capacity"), NodeConfig{})
			require.NoError(t, err)
		}
		for range rapid.IntRange(3, 20).Draw(t, "sites") {
			site, _, err := p.AddSite(1, SiteConfig{})
			require.NoError(t, err)
			if n := rapid.IntRange(0, 2).Draw(t, "node"); p.state[n].sites < 8 {
				p.detach(site)
				p.attach(site, n)
			}
			require.NoError(t, p.SetWeight(site, float64(rapid.IntRange(0, 30).Draw(t, "weight"))))
		}
		for n := range p.state {
			if p.state[n].sites > 8 {
				return
			}
		}
		p.sync()
		r := run{Packer: p}
		most := rapid.Float64Range(.5, 1).Draw(t, "most")
		weight := p.resource[0].weight
		full := func(n int, d int64) float64 { return p.fill(n, []int64{d}, 1) }
		fuller := func(s, u int) float64 {
			d := weight[s] - weight[u]
			return max(full(0, -d), full(int(p.home[u]), d))
		}
		least := 1.
		for s, a := range p.home {
			for u, b := range p.home {
				if d := weight[s] - weight[u]; a == 0 && b != 0 && d > 0 && full(int(b), d) <= most && full(int(b), 0) < full(0, 0) {
					least = min(least, fuller(s, u))
				}
			}
		}
		if full(0, 0) <= 1 {
			return // not asked then
		}
		s, u := r.bestExchange(0, most)
		if least == 1 {
			require.Equal(t, -1, s)
			return
		}
		require.NotEqual(t, -1, s)
		require.InDelta(t, least, fuller(s, u), 1e-9)
	})
}

// The volatility is the mean change of the loads, and where the fleet has not so much
// room a spare relieves the overload, though a node in use could.
func TestPackerKeepsHeadroomOfTheFleet(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	for _, cfg.Headroom = range []float64{-1, 1} {
		p, nodes := newFleet(t, cfg, 3, 10)
		s := add(t, p, 4.5, 4, .25, 5, 3) // the first three on the first node
		require.NoError(t, p.SetWeight(s[1], 4.75))
		require.NoError(t, p.SetWeight(s[0], 5.5))
		require.NoError(t, p.SetWeight(s[3], 4.75))
		moves, err := p.Rebalance(RebalanceConfig{})
		require.NoError(t, err)
		change := (1.75 + .25) / 10 / 2
		require.InDelta(t, (initialVolatility+change)/2, p.volatility, 1e-12)
		want := Move{s[2], nodes[0], nodes[1], .25, "overload"}
		if cfg.Headroom > 0 {
			want = Move{s[0], nodes[0], nodes[2], 5.5, "overload"}
		}
		require.Equal(t, want, moves[0])
		before := p.volatility
		_, err = p.Rebalance(RebalanceConfig{Elapsed: -1})
		require.NoError(t, err)
		require.Equal(t, before, p.volatility, "nothing was told")
	}
}

// A site that is suddenly large goes to a spare, which is one move, rather than that many small ones
// make room for it: unless they cost less than the spare does, or there is none.
func TestPackerOpensSpareForLargeSite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg    PackerConfig
		nodes  int
		weight float64
		moves  int
	}{
		{PackerConfig{}, 3, 7.75, 1},
		{PackerConfig{}, 3, 5, 4}, // so few moves cost less
		{PackerConfig{}, 2, 7.75, 15},
		{PackerConfig{MoveCost: .1}, 3, 7.75, 15},
		{PackerConfig{MoveCost: -1}, 3, 7.75, 15},
		{PackerConfig{MoveCost: .1, NodeCost: -1}, 3, 7.75, 1},
	} {
		c.cfg.Headroom, c.cfg.Early = -1, -1
		p, nodes := newFleet(t, c.cfg, c.nodes, 10)
		s := add(t, p, append([]float64{4}, slices.Repeat([]float64{.25}, 48)...)...)
		second, err := p.Node(nodes[1])
		require.NoError(t, err)
		require.Equal(t, 24, second.Sites)
		require.NoError(t, p.SetWeight(s[0], c.weight))
		moves, err := p.Rebalance(RebalanceConfig{})
		require.NoError(t, err)
		require.Len(t, moves, c.moves, "%+v", c)
		if c.moves == 1 {
			require.Equal(t, Move{s[0], nodes[0], nodes[2], c.weight, "overload"}, moves[0])
		}
	}
}

// A node that is nearly full is relieved before it is overloaded, but never by a spare.
func TestPackerRelievesEarly(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.Early, cfg.NodeCost = .05, -1
	p, nodes := newFleet(t, cfg, 3, 10)
	s := add(t, p, 6, 6, 2.5, 1, .9) // 9.5 on the first node, 6.9 on the second
	require.NoError(t, p.SetWeight(s[0], 6.2))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Equal(t, []Move{{s[3], nodes[0], nodes[1], 1, "overload"}}, moves)

	p, _ = newFleet(t, cfg, 3, 10)
	s = add(t, p, 6, 6)
	require.NoError(t, p.SetWeight(s[0], 9.7))
	moves, err = p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Empty(t, moves, "its only site stays")
}

func TestPackerConsolidates(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.MoveCost = -1
	p, _ := newFleet(t, cfg, 3, 10)
	s := add(t, p, 3, 3, 3, 9, 9)
	require.NoError(t, p.SetWeight(s[3], 2))
	require.NoError(t, p.SetWeight(s[4], 4))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Len(t, moves, 1, "the node with the fewest sites is closed")
	require.Equal(t, "consolidation", moves[0].Why)
	used := 0
	for n := range p.AllNodes() {
		if info, _ := p.Node(n); info.Sites > 0 {
			used++
		}
	}
	require.Equal(t, 2, used)
}

// What a limit leaves half done is finished by the next calls, and not taken back: the
// second node could be emptied onto the first, but would fill it to where Early relieves it.
func TestPackerSettlesUnderALimit(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.Headroom, cfg.Early, cfg.MoveCost = -1, .1, -1
	p, _ := newFleet(t, cfg, 2, 10)
	s := add(t, p, 4, 4, 5, 1.5, .4)
	for _, k := range []int{3, 4} {
		p.detach(s[k])
		p.attach(s[k], 1)
	}
	require.NoError(t, p.RemoveSite(s[2])) // 8 and 1.9 stay
	for range 5 {
		moves, err := p.Rebalance(RebalanceConfig{MaxMoves: 1})
		require.NoError(t, err)
		require.Empty(t, moves)
	}
	require.NoError(t, p.SetWeight(s[3], .5)) // 8 and .9: these fit
	for _, want := range []int{1, 1, 0} {
		moves, err := p.Rebalance(RebalanceConfig{MaxMoves: 1})
		require.NoError(t, err)
		require.Len(t, moves, want)
	}
}

// A node that KeepMaximum empties can take a site that had found no place before.
func TestKeepMaximumSettles(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.KeepMaximum = true
	p, nodes := newFleet(t, cfg, 2, 10)
	last, err := p.AddNode(4, NodeConfig{})
	require.NoError(t, err)
	s := add(t, p, 3, 9, 4, 3.5) // 3 and 4 on the first node, the others alone
	for k, w := range []float64{12, 5, 4, 5} {
		require.NoError(t, p.SetWeight(s[k], w))
	}
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Equal(t, []Move{{s[3], last, nodes[1], 5, "overload"}, {s[0], nodes[0], last, 12, "overload"}}, moves)
	moves, err = p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Empty(t, moves)
}

// A site larger than all nodes that has one to itself stays there, also where another is empty.
func TestKeepMaximumLeavesTheLarge(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{KeepMaximum: true}, 2, 10)
	s := add(t, p, 5)
	require.NoError(t, p.SetWeight(s[0], 15))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Empty(t, moves)
}

// A site that some node can take alone is not put out onto an empty node that is too small for it.
func TestKeepMaximumOverloadsNoNode(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{KeepMaximum: true}, 1, 10)
	s := add(t, p, 4, 5)
	_, err := p.AddNode(5, NodeConfig{})
	require.NoError(t, err)
	for k, w := range []float64{9, 8} {
		require.NoError(t, p.SetWeight(s[k], w))
	}
	require.Empty(t, rebalance(t, p, RebalanceConfig{}))
	large, err := p.AddNode(8, NodeConfig{})
	require.NoError(t, err)
	require.Equal(t, []Move{{s[1], nodes[0], large, 8, overload}}, rebalance(t, p, RebalanceConfig{}))
}

// Of the sites that KeepMaximum puts out the heaviest has the first choice, whichever node it was
// on.
func TestKeepMaximumPlacesTheHeaviestFirst(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{KeepMaximum: true}, 4, 10)
	home := []int{0, 0, 0, 1, 1, 2}
	s := add(t, p, make([]float64, len(home))...)
	for k, w := range []float64{9, 4, 3, 9.5, 6, 4} {
		p.detach(Slot(s[k]))
		p.attach(Slot(s[k]), home[k])
		require.NoError(t, p.SetWeight(s[k], w))
	}
	require.Equal(t, []Move{
		{s[4], nodes[1], nodes[2], 6, overload}, {s[1], nodes[0], nodes[3], 4, overload}, {s[2], nodes[0], nodes[3], 3, overload},
	}, rebalance(t, p, RebalanceConfig{}))
}

// A site that KeepMaximum puts out goes to a node in use, the first one too, before it takes a spare.
func TestKeepMaximumTakesNoSpare(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{KeepMaximum: true}, 3, 10)
	s := add(t, p, 4, 9)
	small, n, err := p.AddSite(.5, SiteConfig{Never: nodes[:1]})
	require.NoError(t, err)
	require.Equal(t, nodes[1], n)
	require.NoError(t, p.SetSite(small, SiteConfig{}))
	require.NoError(t, p.SetWeight(small, 5))
	require.Equal(t, []Move{{small, nodes[1], nodes[0], 5, overload}}, rebalance(t, p, RebalanceConfig{}))
	require.Equal(t, nodes[0], must(p.NodeOf(s[0])))
}

// Relief leaves drains and closing their share of the moves and of their weight, as long as there is
// something to drain or to close.
func TestRelief(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{}, 1, 10)
	one := int64(p.resource[0].quanta(1))
	for _, c := range []struct {
		others, relieved int
		weighed          float64
		weight           int64
		want             bool
	}{
		{2, 0, 0, 8, true}, {2, 0, 0, 9, false}, {0, 0, 0, 9, true}, {0, 0, 0, 11, false},
		{2, 1, 6, 2, true}, {2, 1, 6, 3, false}, {2, 7, 0, 1, true}, {2, 8, 0, 1, false}, {0, 8, 0, 1, true},
	} {
		r := run{Packer: p, limit: RebalanceConfig{MaxMoves: 10, MaxWeight: 10}, others: c.others, relieved: c.relieved, weighed: c.weighed}
		require.Equal(t, c.want, r.allows(overload, c.weight*one), "%+v", c)
		require.Equal(t, c.weight <= 10, r.allows(drain, c.weight*one), "%+v", c)
	}
}

// The heaviest site that a limit lets off an overloaded node is one that it allows, and a heavier one is none.
func TestHeaviestAllowed(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{}, 1, 10)
	require.Equal(t, int64(math.MaxInt64), (&run{Packer: p}).heaviestAllowed())
	for _, c := range []struct {
		others         int
		moved, weighed float64
	}{{0, 0, 0}, {0, 3, 0}, {0, 10, 0}, {2, 0, 0}, {2, 3, 3}, {2, 3, 0}, {2, 8, 8}} {
		r := run{Packer: p, limit: RebalanceConfig{MaxMoves: 10, MaxWeight: 10}, others: c.others, moved: c.moved, weighed: c.weighed}
		most := r.heaviestAllowed()
		require.True(t, r.allows(overload, most), "%+v", c)
		require.False(t, r.allows(overload, most+1), "%+v", c)
	}
}

// A call relieves a node however many moves that takes.
func TestRelievesAtOnce(t *testing.T) {
	t.Parallel()
	const n = 60
	p, nodes := newFleet(t, PackerConfig{}, 1, n)
	sites := add(t, p, slices.Repeat([]float64{1}, n)...)
	_, err := p.AddNode(4*n, NodeConfig{})
	require.NoError(t, err)
	add(t, p, n)
	for _, s := range sites {
		require.NoError(t, p.SetWeight(s, 2))
	}
	require.GreaterOrEqual(t, len(rebalance(t, p, RebalanceConfig{})), n/2)
	info, err := p.Node(nodes[0])
	require.NoError(t, err)
	require.LessOrEqual(t, info.Load, float64(n))
}

// A node that is overloaded of two resources is relieved of the one of which it can be, also where
// there is no help for the one that it uses more, or it uses both alike.
func TestPackerRelievesEachResource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		weight float64 // of a site that fits nowhere else, and needs no memory
		needs  []float64
		there  []float64 // memory that the sites of the other node need
		after  []float64 // memory of the two nodes
		moves  int
	}{
		{"the weight cannot be helped", 15, []float64{4, 4, 4}, nil, []float64{8, 4}, 1},
		{"by as many moves as it takes", 15, []float64{4, 4, 4, 4}, nil, []float64{8, 8}, 2},
		{"both alike", 12, []float64{4, 4, 4}, nil, []float64{8, 4}, 1},
		{"by an exchange", 15, []float64{6, 6}, []float64{3, 3}, []float64{9, 9}, 2},
		{"an exchange would add weight", 15, []float64{6, 6}, []float64{3.25, 3.5}, []float64{12, 6.75}, 0},
		{"there is no help", 15, []float64{6, 6}, []float64{9}, []float64{12, 9}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := NewPacker(PackerConfig{Resources: 1, Headroom: -1, Early: -1, MoveCost: -1})
			require.NoError(t, err)
			var nodes []int
			for range 2 {
				n, err := p.AddNode(10, NodeConfig{Capacities: []float64{10}})
				require.NoError(t, err)
				nodes = append(nodes, n)
			}
			put := func(n int, weight, need float64) {
				s, _, err := p.AddSite(0, SiteConfig{Needs: []float64{need}})
				require.NoError(t, err)
				p.detach(s)
				p.attach(s, n)
				require.NoError(t, p.SetWeight(s, weight))
			}
			put(0, c.weight, 0)
			for _, need := range c.needs {
				put(0, 0, need)
			}
			put(1, 1, 0)
			for _, need := range c.there {
				put(1, math.Ceil(need)-3, need) // 3 has no weight, more has some
			}
			moves, err := p.Rebalance(RebalanceConfig{})
			require.NoError(t, err)
			require.Len(t, moves, c.moves)
			for k, n := range nodes {
				info, err := p.Node(n)
				require.NoError(t, err)
				require.Equal(t, []float64{c.after[k]}, info.Loads)
			}
			again, err := p.Rebalance(RebalanceConfig{})
			require.NoError(t, err)
			require.Empty(t, again)
		})
	}
}

// Choices in the order in which they are preferred: what ends an overload at the least cost, then what
// leaves the fuller node the emptiest, then the site with the lower number; none comes last.
func TestChoices(t *testing.T) {
	t.Parallel()
	order := []choice{
		{site: 7, cost: 1, fill: .9, ends: true}, {site: 3, cost: 2, fill: .5, ends: true}, {site: 4, cost: 2, fill: .5, ends: true},
		{site: 2, cost: 2, fill: .7, ends: true}, {site: 1, cost: 1, fill: 1.1}, {site: 0, cost: 0, fill: 1.2}, {site: 5, cost: 0, fill: 1.2}, {site: -1},
	}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, i < j, a.before(b), "%+v, %+v", a, b)
		}
	}
}

// A site is too heavy for a limit of weight if it alone is above it, however low the limit is.
func TestTooHeavy(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{Quantum: 0.125}, 1, 10)
	add(t, p, 0.75)
	for limit, want := range map[float64]bool{0: false, 0.5: true, 0.75: false, 1: false} {
		r := run{Packer: p, limit: RebalanceConfig{MaxWeight: limit}}
		require.Equal(t, want, r.tooHeavy(0), "%v", limit)
	}
}

// Relief keeps account of what the nodes in use hold and have room for: a site that goes to a spare is
// not counted on both nodes, nor is a node that it left empty.
func TestReliefKeepsAccount(t *testing.T) {
	t.Parallel()
	opened := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 64))
		p, _ := newFleet(t, PackerConfig{}, 20, 10)
		for range 3 {
			add(t, p, 9.5) // alone on its node
		}
		var sites []int
		for range 25 {
			sites = append(sites, add(t, p, 1+rng.Float64())...)
		}
		for _, s := range sites {
			require.NoError(t, p.SetWeight(s, (1+rng.Float64())*(1+3*rng.Float64())))
		}
		p.sync()
		r := run{Packer: p}
		over := r.filled(1)
		r.crowd = len(over)
		account := r.inUse()
		before := account.nodes
		for _, n := range over {
			r.relieveNode(n, &account)
		}
		now := r.inUse()
		require.Equal(t, now.nodes, account.nodes)
		require.Equal(t, now.load, account.load)
		require.Equal(t, now.capacity, account.capacity)
		opened += now.nodes - before
	}
	require.Greater(t, opened, 100)
}
