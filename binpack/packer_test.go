package binpack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		requireConfig(t, err, "capacity")
	}
	n, err := p.AddNode(10, NodeConfig{})
	require.NoError(t, err)
	_, err = p.AddNode(1e-11, NodeConfig{})
	requireConfig(t, err, "capacity")
	require.ErrorContains(t, err, "1e-10", "names the quantum")
	for _, w := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, _, err := p.AddSite(w, SiteConfig{})
		requireConfig(t, err, "weight")
	}
	_, _, err = p.AddSite(11, SiteConfig{})
	require.ErrorIs(t, err, ErrNoRoom)
	s := add(t, p, 5)[0]
	requireConfig(t, p.SetWeight(s, math.NaN()), "weight")
	require.ErrorIs(t, p.SetWeight(s+1, 1), ErrUnknown)
	require.ErrorIs(t, p.RemoveSite(-1), ErrUnknown)
	require.ErrorIs(t, p.Drain(7, true), ErrUnknown)
	require.ErrorIs(t, p.SetCapacity(7, 1), ErrUnknown)
	_, err = p.SitesOn(7)
	require.ErrorIs(t, err, ErrUnknown)
	_, err = p.NodeOf(7)
	require.ErrorIs(t, err, ErrUnknown)
	requireConfig(t, p.SetCapacity(n, 0), "capacity")
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
	requireConfig(t, err, "capacity")
	n, err := p.AddNode(most, NodeConfig{})
	require.NoError(t, err)
	_, _, err = p.AddSite(most+2, SiteConfig{})
	requireConfig(t, err, "weight")
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
	requireConfig(t, q.SetWeight(s, most+2), "weight")
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

// A tenth of 100,000 sites become four times as heavy, then 90 % of all leave: the time of one
// Rebalance, and its moves.
func BenchmarkRebalanceShock(b *testing.B) {
	for _, nodes := range []int{20, 2000} {
		for _, shock := range []string{"heavier", "exit"} {
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, shock), func(b *testing.B) {
				const n = 100_000
				rng := rand.New(rand.NewPCG(1, 1))
				p, _ := newFleet(b, PackerConfig{MoveCost: -1}, 2*nodes, float64(n)*1.8/float64(nodes))
				w := make([]float64, n)
				for i := range w {
					w[i] = math.Exp(rng.NormFloat64())
				}
				id := add(b, p, w...)
				for i := range id {
					if shock == "exit" && i%10 > 0 {
						require.NoError(b, p.RemoveSite(id[i]))
					} else if shock != "exit" && i%10 == 0 {
						require.NoError(b, p.SetWeight(id[i], 4*w[i]))
					}
				}
				state, err := p.MarshalBinary()
				require.NoError(b, err)
				moves, steps := 0, 0
				for b.Loop() {
					b.StopTimer()
					require.NoError(b, p.UnmarshalBinary(state))
					steps -= p.steps()
					b.StartTimer()
					moves += len(rebalance(b, p, RebalanceConfig{}))
					steps += p.steps()
				}
				b.ReportMetric(float64(moves)/float64(b.N), "moves")
				b.ReportMetric(float64(steps)/float64(b.N), "steps")
			})
		}
	}
}
