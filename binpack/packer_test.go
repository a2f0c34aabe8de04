package binpack

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fleet is a packer beside a plain account of what it should know.
type fleet struct {
	p      *Packer
	weight map[int]float64 // of each site
	rule   map[int]SiteConfig
	home   map[int]int     // node of each site
	nodes  map[int]float64 // capacity of each node
	has    map[int]NodeConfig
	drain  map[int]bool
	gone   []int // site ids removed
}

func (f *fleet) sites() []int   { return slices.Sorted(maps.Keys(f.weight)) }
func (f *fleet) nodeIDs() []int { return slices.Sorted(maps.Keys(f.nodes)) }

func (f *fleet) load(node int) (load, need float64, sites int) {
	for s, n := range f.home {
		if n == node {
			load += f.weight[s]
			if r := f.rule[s]; len(r.Needs) > 0 {
				need += r.Needs[0]
			}
			sites++
		}
	}
	return load, need, sites
}

// over reports whether a node has more than it can take, and how full it is.
func (f *fleet) over(node int) (fill float64, over bool) {
	load, need, _ := f.load(node)
	fill = load / f.nodes[node]
	if c := f.has[node].Capacities; len(c) > 0 && c[0] > 0 {
		fill = max(fill, need/c[0])
	}
	return fill, fill > 1+1e-6
}

// allowed reports whether the rules let a site be on a node.
func (f *fleet) allowed(s, n int) bool {
	r := f.rule[s]
	zone := f.has[n].Zone
	if len(r.Only) > 0 && !slices.Contains(r.Only, n) || slices.Contains(r.Never, n) || r.Zone != 0 && r.Zone != zone {
		return false
	}
	for other, q := range f.rule {
		if other == s || r.Group == 0 || q.Group != r.Group {
			continue
		}
		at := f.home[other]
		if at == n || (r.Zones || q.Zones) && zone != 0 && f.has[at].Zone == zone {
			return false
		}
	}
	return true
}

// check compares all that the packer tells with the account.
func (f *fleet) check(t *rapid.T) {
	require.Equal(t, f.nodeIDs(), slices.Sorted(f.p.AllNodes()))
	require.Equal(t, f.sites(), slices.Sorted(f.p.AllSites()))
	require.Equal(t, len(f.nodes), f.p.LenNodes())
	require.Equal(t, len(f.weight), f.p.LenSites())
	slots := map[int]bool{}
	for s := range f.p.AllSites() {
		require.False(t, slots[Slot(s)])
		require.Less(t, Slot(s), len(f.weight)+len(f.gone))
		slots[Slot(s)] = true
	}
	seen := 0
	for n, c := range f.nodes {
		load, need, sites := f.load(n)
		info, err := f.p.Node(n)
		require.NoError(t, err)
		require.InDelta(t, load, info.Load, 1e-3)
		require.Equal(t, c, info.Capacity)
		require.Equal(t, sites, info.Sites)
		require.Equal(t, f.drain[n], info.Drained)
		if len(info.Loads) > 0 {
			require.InDelta(t, need, info.Loads[0], 1e-3)
		}
		for s := range must(f.p.SitesOn(n)) {
			require.Equal(t, n, f.home[s])
			seen++
		}
	}
	require.Equal(t, len(f.weight), seen, "every site once")
	for _, s := range f.gone {
		_, err := f.p.NodeOf(s)
		require.ErrorIs(t, err, ErrUnknown)
	}
	f.p.sync()
	cost := map[int]int64{}
	for s := range f.p.home {
		if f.p.sites.Live(s) {
			cost[int(f.p.home[s])] += f.p.moveCost(s)
		}
	}
	for n := range f.p.state {
		require.Equal(t, cost[n], f.p.state[n].cost)
	}
}

// apply checks moves against the account and takes them over.
func (f *fleet) apply(t *rapid.T, moves []Move, limit RebalanceConfig) {
	before := map[int]float64{}
	for n := range f.nodes {
		before[n], _ = f.over(n)
	}
	sum, relief, closing := 0., 0, 0
	for _, m := range moves {
		require.Equal(t, f.home[m.Site], m.From)
		require.NotEqual(t, m.From, m.To)
		require.False(t, f.drain[m.To], "a drained node takes nothing")
		require.InDelta(t, f.weight[m.Site], m.Weight, 1e-5)
		require.True(t, f.allowed(m.Site, m.To), "site %d must not be on node %d", m.Site, m.To)
		f.home[m.Site] = m.To
		sum += m.Weight
		switch m.Why {
		case overload:
			relief++
		case consolidation:
			closing++
		}
	}
	for n := range f.nodes {
		if fill, over := f.over(n); over && len(moves) > 0 && moves[0].Why != lost {
			_, _, sites := f.load(n)
			require.True(t, fill <= before[n]+1e-6 || sites == 1, "node %d is overloaded by a move", n)
		}
	}
	within := func(limit, n int) { require.True(t, limit == 0 || n <= limit) }
	within(limit.MaxMoves, len(moves))
	within(limit.MaxRelief, relief)
	within(limit.MaxClosing, closing)
	if limit.MaxWeight > 0 {
		require.LessOrEqual(t, sum, limit.MaxWeight)
	}
}

// drawRule draws needs and rules, most of them none.
func (f *fleet) drawRule(t *rapid.T, resources int) (c SiteConfig) {
	if resources > 0 {
		c.Needs = []float64{rapid.Float64Range(0, 4).Draw(t, "need")}
	}
	nodes := append(f.nodeIDs(), 77)
	switch rapid.IntRange(0, 9).Draw(t, "rule") {
	case 0:
		c.Only = []int{rapid.SampledFrom(nodes).Draw(t, "only")}
	case 1:
		c.Never = []int{rapid.SampledFrom(nodes).Draw(t, "never")}
	case 2, 3:
		c.Group = rapid.IntRange(1, 2).Draw(t, "group")
		c.Zones = rapid.Bool().Draw(t, "zones")
	case 4:
		c.Zone = rapid.IntRange(1, 2).Draw(t, "zone")
	case 5:
		c.MoveCost = rapid.SampledFrom([]float64{-1, .5, 10}).Draw(t, "move cost")
	}
	return c
}

func drawNode(t *rapid.T, resources int, rules bool) (c NodeConfig) {
	if rules {
		c.Zone = rapid.IntRange(0, 2).Draw(t, "zone")
	}
	if resources > 0 && rapid.Bool().Draw(t, "limited") {
		c.Capacities = []float64{float64(rapid.IntRange(1, 10).Draw(t, "capacity"))}
	}
	return c
}

// packerProperty is a state machine: a fleet lives, and what the packer
// tells is right after every step.
// Complex only in sum: each action is a short function of its own.
func packerProperty(t *rapid.T) {
	var cfg PackerConfig
	cfg.KeepMaximum = rapid.IntRange(0, 3).Draw(t, "keep maximum") == 3
	cfg.Headroom = rapid.SampledFrom([]float64{-1, 0, 2}).Draw(t, "headroom")
	cfg.Early = rapid.SampledFrom([]float64{-1, 0, .1}).Draw(t, "early")
	cfg.MoveCost = rapid.SampledFrom([]float64{-1, 0, .2}).Draw(t, "move cost")
	cfg.NodeCost = rapid.SampledFrom([]float64{-1, 0}).Draw(t, "node cost")
	rules := rapid.Bool().Draw(t, "rules")
	if rules && !cfg.KeepMaximum {
		cfg.Resources = rapid.IntRange(0, 1).Draw(t, "resources")
	}
	p, err := NewPacker(cfg)
	require.NoError(t, err)
	f := &fleet{p: p, weight: map[int]float64{}, rule: map[int]SiteConfig{}, home: map[int]int{}, nodes: map[int]float64{}, has: map[int]NodeConfig{}, drain: map[int]bool{}}
	largest := func() (c float64) {
		for n, x := range f.nodes {
			if !f.drain[n] {
				c = max(c, x)
			}
		}
		return c
	}
	t.Repeat(map[string]func(*rapid.T){
		"": f.check,
		"add node": func(t *rapid.T) {
			c := float64(rapid.IntRange(1, 20).Draw(t, "c"))
			has := drawNode(t, cfg.Resources, rules)
			id, err := f.p.AddNode(c, has)
			require.NoError(t, err)
			require.NotContains(t, f.nodes, id)
			f.nodes[id], f.has[id] = c, has
		},
		"add site": func(t *rapid.T) {
			w := rapid.Float64Range(0, 10).Draw(t, "w")
			var rule SiteConfig
			if rules {
				rule = f.drawRule(t, cfg.Resources)
			}
			site, node, err := f.p.AddSite(w, rule)
			switch c := largest(); {
			case c == 0:
				require.ErrorIs(t, err, ErrNoRoom)
			case w > c:
				require.ErrorIs(t, err, ErrNoRoom)
			case err == nil:
				require.NotContains(t, f.weight, site)
				require.False(t, f.drain[node])
				f.weight[site], f.home[site], f.rule[site] = w, node, rule
				require.True(t, f.allowed(site, node))
			case rules:
				require.ErrorIs(t, err, ErrNoRoom)
			default: // rounded up by a quantum
				require.InDelta(t, c, w, 1e-5)
			}
		},
		"set weight": func(t *rapid.T) {
			if len(f.weight) == 0 {
				return
			}
			s := rapid.SampledFrom(f.sites()).Draw(t, "site")
			w := rapid.Float64Range(0, 20).Draw(t, "w")
			require.NoError(t, f.p.SetWeight(s, w))
			f.weight[s] = w
		},
		"set site": func(t *rapid.T) {
			if len(f.weight) == 0 || !rules {
				return
			}
			s := rapid.SampledFrom(f.sites()).Draw(t, "site")
			f.rule[s] = f.drawRule(t, cfg.Resources)
			require.NoError(t, f.p.SetSite(s, f.rule[s]))
		},
		"set node": func(t *rapid.T) {
			if len(f.nodes) == 0 || !rules {
				return
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			f.has[n] = drawNode(t, cfg.Resources, rules)
			require.NoError(t, f.p.SetNode(n, f.has[n]))
		},
		"set capacity": func(t *rapid.T) {
			if len(f.nodes) == 0 {
				return
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			f.nodes[n] = float64(rapid.IntRange(1, 20).Draw(t, "c"))
			require.NoError(t, f.p.SetCapacity(n, f.nodes[n]))
		},
		"remove site": func(t *rapid.T) {
			if len(f.weight) == 0 {
				return
			}
			s := rapid.SampledFrom(f.sites()).Draw(t, "site")
			require.NoError(t, f.p.RemoveSite(s))
			require.ErrorIs(t, f.p.RemoveSite(s), ErrUnknown)
			delete(f.weight, s)
			delete(f.home, s)
			delete(f.rule, s)
			f.gone = append(f.gone, s)
		},
		"drain": func(t *rapid.T) {
			if len(f.nodes) == 0 {
				return
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			f.drain[n] = rapid.Bool().Draw(t, "drain")
			require.NoError(t, f.p.Drain(n, f.drain[n]))
		},
		"remove node": func(t *rapid.T) {
			if len(f.nodes) == 0 {
				return
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			_, _, sites := f.load(n)
			moves, err := f.p.RemoveNode(n)
			if err != nil {
				require.ErrorIs(t, err, ErrNoRoom)
				return
			}
			require.Len(t, moves, sites)
			f.apply(t, moves, RebalanceConfig{})
			delete(f.nodes, n)
			delete(f.drain, n)
			delete(f.has, n)
		},
		"rebalance": func(t *rapid.T) {
			limit := RebalanceConfig{MaxMoves: rapid.IntRange(0, 5).Draw(t, "moves"), MaxWeight: float64(rapid.IntRange(0, 20).Draw(t, "weight"))}
			if rapid.Bool().Draw(t, "separate") {
				limit.MaxRelief = rapid.IntRange(0, 3).Draw(t, "relief")
				limit.MaxClosing = rapid.IntRange(0, 3).Draw(t, "closing")
			}
			unlimited := limit == (RebalanceConfig{})
			limit.Elapsed = rapid.SampledFrom([]float64{-1, 0, .5, 100}).Draw(t, "elapsed")
			moves, err := f.p.Rebalance(limit)
			require.NoError(t, err)
			f.apply(t, moves, limit)
			if unlimited && !cfg.KeepMaximum && !rules && len(f.nodes) <= trials {
				f.relieved(t)
			}
			for calls := 0; len(moves) > 0; calls++ {
				require.Less(t, calls, 300, "what a limit cuts short comes to an end")
				limit.Elapsed = -1
				moves, err = f.p.Rebalance(limit)
				require.NoError(t, err)
				f.apply(t, moves, limit)
			}
		},
		"save": func(t *rapid.T) {
			data, err := f.p.MarshalBinary()
			require.NoError(t, err)
			var r Packer
			require.NoError(t, r.UnmarshalBinary(data))
			same, err := r.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, data, same)
			if len(data) > 0 {
				k := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
				require.Error(t, r.UnmarshalBinary(data[:k]))
				bad := slices.Clone(data)
				bad[k] ^= 1
				require.Error(t, r.UnmarshalBinary(bad))
			}
			// The restored one makes the same moves.
			moves, err := f.p.Rebalance(RebalanceConfig{MaxMoves: 3})
			require.NoError(t, err)
			again, err := r.Rebalance(RebalanceConfig{MaxMoves: 3})
			require.NoError(t, err)
			require.Equal(t, moves, again)
			f.apply(t, moves, RebalanceConfig{MaxMoves: 3})
			f.p = &r // and go on with the restored one
		},
	})
}

// relieved checks that a node stays overloaded only if no node in use keeps its headroom with
// any of its sites.
func (f *fleet) relieved(t *rapid.T) {
	for n := range f.nodes {
		if _, over := f.over(n); !over || f.drain[n] {
			continue
		}
		for m, room := range f.nodes {
			other, _, sites := f.load(m)
			for s, at := range f.home {
				if at == n && m != n && sites > 0 && !f.drain[m] && f.weight[s] > 1e-5 {
					require.Greater(t, other+f.weight[s], room*(1-f.p.headroom())-1e-3, "site %d of node %d fits node %d", s, n, m)
				}
			}
		}
	}
}

func TestPackerProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, packerProperty)
}

func FuzzPacker(f *testing.F) { f.Fuzz(rapid.MakeFuzz(packerProperty)) }

func newFleet(t testing.TB, cfg PackerConfig, nodes int, capacity float64) (*Packer, []int) {
	p, err := NewPacker(cfg)
	require.NoError(t, err)
	var all []int
	for range nodes {
		n, err := p.AddNode(capacity, NodeConfig{})
		require.NoError(t, err)
		all = append(all, n)
	}
	return p, all
}

func add(t testing.TB, p *Packer, weights ...float64) []int {
	var sites []int
	for _, w := range weights {
		s, _, err := p.AddSite(w, SiteConfig{})
		require.NoError(t, err)
		sites = append(sites, s)
	}
	return sites
}

func TestPackerDrainsAndLoses(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{}, 3, 10)
	add(t, p, 4, 4, 4, 4)
	require.NoError(t, p.Drain(nodes[0], true))
	moves, err := p.Rebalance(RebalanceConfig{MaxMoves: 1})
	require.NoError(t, err)
	require.Len(t, moves, 1)
	require.Equal(t, "drain", moves[0].Why)
	_, err = p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	info, err := p.Node(nodes[0])
	require.NoError(t, err)
	require.Zero(t, info.Sites)
	moves, err = p.RemoveNode(nodes[0])
	require.NoError(t, err)
	require.Empty(t, moves)
	moves, err = p.RemoveNode(nodes[1]) // a failure
	require.NoError(t, err)
	require.NotEmpty(t, moves)
	require.Equal(t, "lost", moves[0].Why)
	_, err = p.RemoveNode(nodes[2])
	require.ErrorIs(t, err, ErrNoRoom)
	_, err = p.Node(nodes[1])
	require.ErrorIs(t, err, ErrUnknown)
}

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

func TestPackerBadInput(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*PackerConfig){
		func(c *PackerConfig) { c.Headroom = math.Inf(1) }, func(c *PackerConfig) { c.Headroom = math.NaN() },
		func(c *PackerConfig) { c.Early = 1 }, func(c *PackerConfig) { c.Early = math.NaN() },
		func(c *PackerConfig) { c.MoveCost = math.NaN() }, func(c *PackerConfig) { c.NodeCost = math.Inf(1) },
		func(c *PackerConfig) { c.Resources = -1 }, func(c *PackerConfig) { c.Resources = mostResources + 1 },
		func(c *PackerConfig) { c.Resources, c.KeepMaximum = 1, true },
		func(c *PackerConfig) { c.Quantum = -1 }, func(c *PackerConfig) { c.Quantum = math.Inf(1) },
	} {
		var cfg PackerConfig
		change(&cfg)
		_, err := NewPacker(cfg)
		require.ErrorIs(t, err, ErrConfig)
	}
	p, nodes := newFleet(t, PackerConfig{}, 0, 0)
	require.Empty(t, nodes)
	_, _, err := p.AddSite(1, SiteConfig{})
	require.ErrorIs(t, err, ErrNoRoom)
	for _, c := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := p.AddNode(c, NodeConfig{})
		require.ErrorIs(t, err, ErrCapacity)
	}
	n, err := p.AddNode(10, NodeConfig{})
	require.NoError(t, err)
	_, err = p.AddNode(1e-11, NodeConfig{})
	require.ErrorIs(t, err, ErrCapacity)
	require.ErrorContains(t, err, "1e-10", "names the quantum")
	for _, w := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, _, err := p.AddSite(w, SiteConfig{})
		require.ErrorIs(t, err, ErrWeight)
	}
	_, _, err = p.AddSite(11, SiteConfig{})
	require.ErrorIs(t, err, ErrNoRoom)
	s := add(t, p, 5)[0]
	require.ErrorIs(t, p.SetWeight(s, math.NaN()), ErrWeight)
	require.ErrorIs(t, p.SetWeight(s+1, 1), ErrUnknown)
	require.ErrorIs(t, p.RemoveSite(-1), ErrUnknown)
	require.ErrorIs(t, p.Drain(7, true), ErrUnknown)
	require.ErrorIs(t, p.SetCapacity(7, 1), ErrUnknown)
	_, err = p.SitesOn(7)
	require.ErrorIs(t, err, ErrUnknown)
	_, err = p.NodeOf(7)
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, p.SetCapacity(n, 0), ErrCapacity)
	for _, l := range []RebalanceConfig{{MaxMoves: -1}, {MaxWeight: -1}, {MaxWeight: math.NaN()}} {
		_, err := p.Rebalance(l)
		require.ErrorIs(t, err, ErrConfig)
	}
	require.ErrorIs(t, new(Packer).UnmarshalBinary(nil), ErrCorrupt)
}

// Weights and capacities of up to 2^53 quanta are taken, and are exact.
func TestPackerMostQuanta(t *testing.T) {
	t.Parallel()
	const most = 1 << 53
	p, err := NewPacker(PackerConfig{Quantum: 1})
	require.NoError(t, err)
	_, err = p.AddNode(most+2, NodeConfig{})
	require.ErrorIs(t, err, ErrCapacity)
	n, err := p.AddNode(most, NodeConfig{})
	require.NoError(t, err)
	_, _, err = p.AddSite(most+2, SiteConfig{})
	require.ErrorIs(t, err, ErrWeight)
	s, _, err := p.AddSite(most-1, SiteConfig{})
	require.NoError(t, err)
	require.NoError(t, p.SetWeight(s, most))
	data, err := p.MarshalBinary()
	require.NoError(t, err)
	q := new(Packer)
	require.NoError(t, q.UnmarshalBinary(data))
	on, err := q.NodeOf(s)
	require.NoError(t, err)
	require.Equal(t, n, on)
	require.ErrorIs(t, q.SetWeight(s, most+2), ErrWeight)
}

// Without anything to do a rebalance allocates nothing.
func TestRebalanceIdleAllocatesNothing(t *testing.T) {
	p, _ := newFleet(t, PackerConfig{}, 20, 100)
	for range 210 { // too full to close a node
		add(t, p, 9)
	}
	s, _, err := p.AddSite(1, SiteConfig{})
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(50, func() {
		_ = p.SetWeight(s, 1.1)
		_, _ = p.Rebalance(RebalanceConfig{})
	}))
}

func BenchmarkRebalance(b *testing.B) {
	for _, sites := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("sites=%d", sites), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			p, _ := newFleet(b, PackerConfig{}, 40, float64(sites)*1.65/18)
			w := make([]float64, sites)
			id := make([]int, sites)
			for i := range w {
				w[i] = math.Exp(rng.NormFloat64())
				id[i] = add(b, p, w[i])[0]
			}
			moves := 0
			for b.Loop() {
				for i := range w {
					w[i] *= math.Exp(.02*rng.NormFloat64() - .0002)
					_ = p.SetWeight(id[i], w[i])
				}
				m, _ := p.Rebalance(RebalanceConfig{})
				moves += len(m)
			}
			b.ReportMetric(float64(moves)/float64(b.N), "moves/step")
		})
	}
}
