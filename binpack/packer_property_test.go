package binpack

import (
	"maps"
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

func (f *fleet) sites() []int { return slices.Sorted(maps.Keys(f.weight)) }

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
			require.True(t, fill <= before[n]+1e-6 || f.tooLarge(n), "node %d is overloaded by a move", n)
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

// tooLarge reports whether a node has one site, which no node could take alone, as far as the
// account tells: it does not know the rules at the time of a move.
func (f *fleet) tooLarge(node int) bool {
	if _, _, sites := f.load(node); sites != 1 {
		return false
	}
	for s, at := range f.home {
		if at != node || len(f.rule[s].Needs) > 0 || f.rule[s].Group != 0 {
			continue
		}
		for n, capacity := range f.nodes {
			if !f.drain[n] && f.allowed(s, n) && f.weight[s] <= capacity {
				return false
			}
		}
	}
	return true
}

// known reports whether the node that a site is pinned to is there.
func (f *fleet) known(c SiteConfig) bool {
	return !slices.ContainsFunc(c.Only, func(n int) bool { return f.nodes[n] == 0 })
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
			case !f.known(rule):
				require.ErrorIs(t, err, ErrUnknown)
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
			rule := f.drawRule(t, cfg.Resources)
			if !f.known(rule) {
				require.ErrorIs(t, f.p.SetSite(s, rule), ErrUnknown)
				return
			}
			f.rule[s] = rule
			require.NoError(t, f.p.SetSite(s, rule))
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
