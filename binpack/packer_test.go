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
	home   map[int]int     // node of each site
	nodes  map[int]float64 // capacity of each node
	drain  map[int]bool
	gone   []int // site ids removed
}

func (f *fleet) sites() []int   { return slices.Sorted(maps.Keys(f.weight)) }
func (f *fleet) nodeIDs() []int { return slices.Sorted(maps.Keys(f.nodes)) }

func (f *fleet) load(node int) (load float64, sites int) {
	for s, n := range f.home {
		if n == node {
			load += f.weight[s]
			sites++
		}
	}
	return load, sites
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
		load, sites := f.load(n)
		info, err := f.p.Node(n)
		require.NoError(t, err)
		require.InDelta(t, load, info.Load, 1e-3)
		require.Equal(t, c, info.Capacity)
		require.Equal(t, sites, info.Sites)
		require.Equal(t, f.drain[n], info.Drained)
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
}

// apply checks moves against the account and takes them over.
func (f *fleet) apply(t *rapid.T, moves []Move, limit RebalanceConfig) {
	sum := 0.0
	for _, m := range moves {
		require.Equal(t, f.home[m.Site], m.From)
		require.NotEqual(t, m.From, m.To)
		require.False(t, f.drain[m.To], "a drained node takes nothing")
		require.InDelta(t, f.weight[m.Site], m.Weight, 1e-5)
		f.home[m.Site] = m.To
		sum += m.Weight
	}
	if limit.MaxMoves > 0 {
		require.LessOrEqual(t, len(moves), limit.MaxMoves)
	}
	if limit.MaxWeight > 0 {
		require.LessOrEqual(t, sum, limit.MaxWeight)
	}
}

// packerProperty is a state machine: a fleet lives, and what the packer
// tells is right after every step.
// Complex only in sum: each action is a short function of its own.
func packerProperty(t *rapid.T) {
	var cfg PackerConfig
	cfg.KeepMaximum = rapid.Bool().Draw(t, "keep maximum")
	cfg.Headroom = rapid.SampledFrom([]float64{-1, 0, 2}).Draw(t, "headroom")
	cfg.Early = rapid.SampledFrom([]float64{-1, 0, .1}).Draw(t, "early")
	cfg.Disruption = rapid.SampledFrom([]float64{-1, .7, 2}).Draw(t, "disruption")
	p, err := NewPacker(cfg)
	require.NoError(t, err)
	f := &fleet{p: p, weight: map[int]float64{}, home: map[int]int{}, nodes: map[int]float64{}, drain: map[int]bool{}}
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
			id, err := f.p.AddNode(c)
			require.NoError(t, err)
			require.NotContains(t, f.nodes, id)
			f.nodes[id] = c
		},
		"add site": func(t *rapid.T) {
			w := rapid.Float64Range(0, 10).Draw(t, "w")
			site, node, err := f.p.AddSite(w)
			switch c := largest(); {
			case c == 0:
				require.ErrorIs(t, err, ErrNoRoom)
			case w > c:
				require.ErrorIs(t, err, ErrNoRoom)
			case err == nil:
				require.NotContains(t, f.weight, site)
				require.False(t, f.drain[node])
				f.weight[site], f.home[site] = w, node
			default: // rounded up by a quantum
				require.InDelta(t, c, w, 1e-5)
			}
		},
		"set weight": func(t *rapid.T) {
			if len(f.weight) == 0 {
				t.Skip()
			}
			s := rapid.SampledFrom(f.sites()).Draw(t, "site")
			w := rapid.Float64Range(0, 20).Draw(t, "w")
			require.NoError(t, f.p.SetWeight(s, w))
			f.weight[s] = w
		},
		"set capacity": func(t *rapid.T) {
			if len(f.nodes) == 0 {
				t.Skip()
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			f.nodes[n] = float64(rapid.IntRange(1, 20).Draw(t, "c"))
			require.NoError(t, f.p.SetCapacity(n, f.nodes[n]))
		},
		"remove site": func(t *rapid.T) {
			if len(f.weight) == 0 {
				t.Skip()
			}
			s := rapid.SampledFrom(f.sites()).Draw(t, "site")
			require.NoError(t, f.p.RemoveSite(s))
			require.ErrorIs(t, f.p.RemoveSite(s), ErrUnknown)
			delete(f.weight, s)
			delete(f.home, s)
			f.gone = append(f.gone, s)
		},
		"drain": func(t *rapid.T) {
			if len(f.nodes) == 0 {
				t.Skip()
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			f.drain[n] = rapid.Bool().Draw(t, "drain")
			require.NoError(t, f.p.Drain(n, f.drain[n]))
		},
		"remove node": func(t *rapid.T) {
			if len(f.nodes) == 0 {
				t.Skip()
			}
			n := rapid.SampledFrom(f.nodeIDs()).Draw(t, "node")
			_, sites := f.load(n)
			moves, err := f.p.RemoveNode(n)
			if err != nil {
				require.ErrorIs(t, err, ErrNoRoom)
				return
			}
			require.Len(t, moves, sites)
			f.apply(t, moves, RebalanceConfig{})
			delete(f.nodes, n)
			delete(f.drain, n)
		},
		"rebalance": func(t *rapid.T) {
			limit := RebalanceConfig{MaxMoves: rapid.IntRange(0, 5).Draw(t, "moves"), MaxWeight: float64(rapid.IntRange(0, 20).Draw(t, "weight"))}
			moves, err := f.p.Rebalance(limit)
			require.NoError(t, err)
			f.apply(t, moves, limit)
			for n, c := range f.nodes {
				load, _ := f.load(n)
				if load <= c+1e-4 {
					continue
				}
				if limit != (RebalanceConfig{}) || cfg.KeepMaximum || f.drain[n] {
					continue
				}
				// It stays overloaded only if no node in use keeps its headroom with
				// any of its sites.
				for m, room := range f.nodes {
					other, sites := f.load(m)
					for s, at := range f.home {
						if at == n && m != n && sites > 0 && !f.drain[m] && f.weight[s] > 1e-5 {
							require.Greater(t, other+f.weight[s], room*(1-f.p.headroom())-1e-3, "site %d of node %d fits node %d", s, n, m)
						}
					}
				}
			}
			if limit == (RebalanceConfig{}) {
				again, err := f.p.Rebalance(RebalanceConfig{})
				require.NoError(t, err)
				require.Empty(t, again, "nothing changed")
			}
			for calls := 0; len(moves) > 0; calls++ {
				require.Less(t, calls, 200, "what a limit cuts short comes to an end")
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
			f.p = &r // and go on with the restored one
		},
	})
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
		n, err := p.AddNode(capacity)
		require.NoError(t, err)
		all = append(all, n)
	}
	return p, all
}

func add(t testing.TB, p *Packer, weights ...float64) []int {
	var sites []int
	for _, w := range weights {
		s, _, err := p.AddSite(w)
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

// The best exchange is that found by trying all pairs.
func TestBestExchange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, err := NewPacker(PackerConfig{})
		require.NoError(t, err)
		for range 3 {
			_, err := p.AddNode(rapid.Float64Range(50, 100).Draw(t, "capacity"))
			require.NoError(t, err)
		}
		for range rapid.IntRange(3, 20).Draw(t, "sites") {
			site, _, err := p.AddSite(1)
			require.NoError(t, err)
			p.detach(site)
			p.attach(site, rapid.IntRange(0, 2).Draw(t, "node"))
			require.NoError(t, p.SetWeight(site, float64(rapid.IntRange(0, 30).Draw(t, "weight"))))
		}
		r := run{Packer: p}
		most := rapid.Float64Range(.5, 1).Draw(t, "most")
		fuller := func(s, u int) float64 {
			d, b := p.weight[s]-p.weight[u], int(p.home[u])
			return max(p.fill(0, -d), p.fill(b, d))
		}
		least := 1.
		for _, s := range p.list[0] {
			for b := 1; b < 3; b++ {
				for _, u := range p.list[b] {
					if d := p.weight[s] - p.weight[u]; d > 0 && p.fill(b, d) <= most && p.fill(b, 0) < p.fill(0, 0) {
						least = min(least, fuller(int(s), int(u)))
					}
				}
			}
		}
		if p.fill(0, 0) <= 1 {
			return // not asked then
		}
		s, u := r.bestExchange(0, most)
		if least == 1 {
			require.Equal(t, -1, s)
			return
		}
		require.NotEqual(t, -1, s)
		require.Equal(t, least, fuller(s, u))
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
		_, err = p.Rebalance(RebalanceConfig{})
		require.NoError(t, err)
		require.Equal(t, before, p.volatility, "nothing was told")
	}
}

// A node that is nearly full is relieved before it is overloaded, but never by a spare.
func TestPackerRelievesEarly(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
	cfg.Early, cfg.Disruption = .05, -1
	p, nodes := newFleet(t, cfg, 3, 10)
	s := add(t, p, 6, 6, 1, 1) // 6 and 1 on each of two nodes
	require.NoError(t, p.SetWeight(s[0], 8.7))
	moves, err := p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Equal(t, []Move{{s[2], nodes[0], nodes[1], 1, "overload"}}, moves)
	require.NoError(t, p.SetWeight(s[0], 9.7))
	moves, err = p.Rebalance(RebalanceConfig{})
	require.NoError(t, err)
	require.Empty(t, moves, "its only site stays")
}

func TestPackerConsolidates(t *testing.T) {
	t.Parallel()
	var cfg PackerConfig
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
	cfg.Headroom, cfg.Early, cfg.Margin, cfg.Disruption = -1, .1, -1, 2
	p, _ := newFleet(t, cfg, 2, 10)
	s := add(t, p, 4, 4, 5, 1.5, .4)
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
	last, err := p.AddNode(4)
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
		func(c *PackerConfig) { c.Margin = math.NaN() }, func(c *PackerConfig) { c.Disruption = math.NaN() },
		func(c *PackerConfig) { c.Quantum = -1 }, func(c *PackerConfig) { c.Quantum = math.Inf(1) },
	} {
		var cfg PackerConfig
		change(&cfg)
		_, err := NewPacker(cfg)
		require.ErrorIs(t, err, ErrConfig)
	}
	p, nodes := newFleet(t, PackerConfig{}, 0, 0)
	require.Empty(t, nodes)
	_, _, err := p.AddSite(1)
	require.ErrorIs(t, err, ErrNoRoom)
	for _, c := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-9} {
		_, err := p.AddNode(c)
		require.ErrorIs(t, err, ErrCapacity)
	}
	n, err := p.AddNode(10)
	require.NoError(t, err)
	for _, w := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, _, err := p.AddSite(w)
		require.ErrorIs(t, err, ErrWeight)
	}
	_, _, err = p.AddSite(11)
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

// Without anything to do a rebalance allocates nothing.
func TestRebalanceIdleAllocatesNothing(t *testing.T) {
	p, _ := newFleet(t, PackerConfig{}, 20, 100)
	for range 210 { // too full to close a node
		add(t, p, 9)
	}
	s, _, err := p.AddSite(1)
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
