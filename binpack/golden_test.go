package binpack

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/golden"
)

// digest is a checksum of integers.
func digest[T int | int64](v []T) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, v)))
}

// mixed draws a problem with different capacities, conflicts and pins.
func mixed(rng *rand.Rand, n int) Problem[int] {
	p := Problem[int]{Weights: between(rng, n, 0, 40), Capacity: 50}
	if rng.IntN(2) == 0 {
		p.Capacities = between(rng, n, 20, 60)
		p.Capacities[n-1] = 60
	}
	for range rng.IntN(n) {
		if a, b := rng.IntN(n), rng.IntN(n); a != b {
			p.Conflicts = append(p.Conflicts, [2]int{a, b})
		}
	}
	if rng.IntN(2) == 0 {
		p.Pins = map[int]int{rng.IntN(n): n - 1}
	}
	return p
}

// The packings of all heuristics and the bounds.
func TestGoldenPack(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	line := func(name string, p Problem[int]) {
		bounds, err := LowerBounds(p)
		fmt.Fprintf(&b, "%s: L1 %d L2 %d DFF %d %s/%d %v\n", name, bounds.L1, bounds.L2, bounds.DFF,
			digest(bounds.Certificate.Value), bounds.Certificate.Max, err)
		for rule := range Heuristic(heuristics.Len()) {
			packed, err := Pack(p, rule)
			fmt.Fprintf(&b, "  %v %d %s %v\n", rule, packed.Bins, digest(packed.Bin), err)
		}
	}
	for i := range 20 {
		rng := rand.New(rand.NewPCG(uint64(i), 61))
		line(fmt.Sprint("U ", i), falkenauerU(rng, 100+100*(i%3)))
		line(fmt.Sprint("T ", i), falkenauerT(rng, 60))
		line(fmt.Sprint("wide ", i), uniform(rng, 50, 1<<40, 0, 1))
		line(fmt.Sprint("mixed ", i), mixed(rng, 10+i))
	}
	for i := range 5 {
		rng := rand.New(rand.NewPCG(uint64(i), 62))
		p := Problem[float64]{Capacity: 1}
		for range 100 {
			p.Weights = append(p.Weights, rng.Float64())
		}
		for rule := range Heuristic(heuristics.Len()) {
			packed, err := Pack(p, rule)
			fmt.Fprintf(&b, "floats %d %v %d %s %v\n", i, rule, packed.Bins, digest(packed.Bin), err)
		}
	}
	golden.Check(t, "pack.txt", b.String())
}

func solved[W Weight](name string, p Problem[W], nodes int) string {
	s, err := Solve(context.Background(), p, SolveConfig{Nodes: nodes})
	return fmt.Sprintf("%s: bins %d lower %d proved %v nodes %d packing %s certificate %s/%d %v\n", name, s.Bins, s.Lower, s.Proved,
		s.Nodes, digest(s.Bin), digest(s.Certificate.Value), s.Certificate.Max, err)
}

// Results, proofs and numbers of nodes of the exact solver.
func TestGoldenSolve(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 4 {
		rng := rand.New(rand.NewPCG(uint64(i), 63))
		b.WriteString(solved(fmt.Sprint("U ", i), falkenauerU(rng, 250), 0))
		b.WriteString(solved(fmt.Sprint("T ", i), falkenauerT(rng, 60), 0))
		b.WriteString(solved(fmt.Sprint("schwerin ", i), schwerin(rng, 100), 0))
		b.WriteString(solved(fmt.Sprint("scholl 1 ", i), scholl1(rng, 200, 120, 20), 0))
		b.WriteString(solved(fmt.Sprint("scholl 2 ", i), scholl2(rng, 100, 5, .5), 0))
		b.WriteString(solved(fmt.Sprint("uniform ", i), uniform(rng, 80, 1000, .1, .7), 0))
		b.WriteString(solved(fmt.Sprint("wide ", i), uniform(rng, 24, 1<<36, .1, .5), 50))
		b.WriteString(solved(fmt.Sprint("tight ", i), Problem[int]{Weights: between(rng, 24, 30, 700), Capacity: 1000}, 0))
		b.WriteString(solved(fmt.Sprint("hard 28 ", i), hard28(rng), 30))
		p := Problem[float64]{Capacity: 1}
		for range 40 {
			p.Weights = append(p.Weights, .15+float64(.35*rng.Float64()))
		}
		b.WriteString(solved(fmt.Sprint("floats ", i), p, 60))
	}
	for i := range 20 {
		b.WriteString(solved(fmt.Sprint("mixed ", i), mixed(rand.New(rand.NewPCG(uint64(i), 64)), 8+i/2), 20_000))
	}
	// The search by pairs: packings by belief propagation, and proofs.
	for i := range 3 {
		for _, p := range []Problem[int]{
			augmented(rand.New(rand.NewPCG(uint64(i), 68)), 2500, 40, true),
			augmented(rand.New(rand.NewPCG(uint64(i), 69)), 20_000, 6, false),
		} {
			s, err := Solve(context.Background(), p, SolveConfig{})
			fmt.Fprintf(&b, "augmented %d: bins %d nodes %d packing %s", i, s.Bins, s.Nodes, digest(s.Bin))
			if s.Proof != nil {
				for _, n := range s.Proof.Nodes {
					fmt.Fprintf(&b, " %v %s %v", n.Pair, digest(n.Value), n.Penalty)
				}
			}
			fmt.Fprintln(&b, "", err)
		}
	}
	golden.Check(t, "solve.txt", b.String())
}

func TestGoldenSubset(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 30 {
		rng := rand.New(rand.NewPCG(uint64(i), 65))
		w := make([]int64, 5+rng.IntN(200))
		top := int64(1) << (5 + rng.IntN(35))
		total := int64(0)
		for k := range w {
			w[k] = rng.Int64N(top)
			total += w[k]
		}
		s, err := MaxSubset(context.Background(), w, total/3+1)
		fmt.Fprintf(&b, "%d: %s %d %v %v %v\n", i, digest(s.Items), s.Sum, s.Proved, s.Gap, err)
		s, err = ApproxSubset(w, total/3+1, .05)
		fmt.Fprintf(&b, "  %s %d %v %v %v\n", digest(s.Items), s.Sum, s.Proved, s.Gap, err)
	}
	golden.Check(t, "subset.txt", b.String())
}

// The moves of a fleet that lives for a while, under several settings.
func TestGoldenPacker(t *testing.T) {
	t.Parallel()
	tight := PackerConfig{Headroom: -1, Early: -1, NodeCost: -1}
	keep := PackerConfig{KeepMaximum: true}
	eager := PackerConfig{Headroom: 2, Early: .1, MoveCost: -1}
	var b strings.Builder
	for k, cfg := range []PackerConfig{{}, tight, keep, eager} {
		rng := rand.New(rand.NewPCG(uint64(k), 66))
		p, err := NewPacker(cfg)
		require.NoError(t, err)
		var nodes, sites []int
		var weight []float64
		for range 8 {
			n, err := p.AddNode(float64(8+rng.IntN(4)), NodeConfig{})
			require.NoError(t, err)
			nodes = append(nodes, n)
		}
		fmt.Fprintf(&b, "settings %d\n", k)
		for step := range 120 {
			if step%2 == 0 && len(sites) < 40 {
				w := float64(1+rng.IntN(64)) / 32
				s, n, err := p.AddSite(w, SiteConfig{})
				require.NoError(t, err)
				fmt.Fprintf(&b, " +%d@%d", s, n)
				sites, weight = append(sites, s), append(weight, w)
			}
			for i := range sites {
				// Sixteenths, so that nothing depends on how an exponential is rounded.
				weight[i] = min(max(weight[i]+float64(rng.IntN(5)-2)/16, 0), 5)
				require.NoError(t, p.SetWeight(sites[i], weight[i]))
			}
			switch step % 20 {
			case 9:
				i := rng.IntN(len(sites))
				require.NoError(t, p.RemoveSite(sites[i]))
				sites, weight = append(sites[:i], sites[i+1:]...), append(weight[:i], weight[i+1:]...)
			case 12:
				require.NoError(t, p.Drain(nodes[rng.IntN(len(nodes))], step%40 == 12))
			case 15:
				i := rng.IntN(len(nodes))
				moves, err := p.RemoveNode(nodes[i])
				require.NoError(t, err)
				fmt.Fprintf(&b, " -%d %v", nodes[i], moves)
				if nodes[i], err = p.AddNode(10, NodeConfig{}); err != nil {
					t.Fatal(err)
				}
			case 18:
				require.NoError(t, p.SetCapacity(nodes[rng.IntN(len(nodes))], float64(6+rng.IntN(8))))
			}
			moves, err := p.Rebalance(RebalanceConfig{MaxMoves: step % 4})
			require.NoError(t, err)
			fmt.Fprintf(&b, " %v\n", moves)
		}
		data, err := p.MarshalBinary()
		require.NoError(t, err)
		fmt.Fprintf(&b, "state %d %08x\n", len(data), crc32.ChecksumIEEE(data))
	}
	golden.Check(t, "packer.txt", b.String())
}

// The pages asked for and the counts of every slot, for each walk, with λ = 1 and N a power
// of two, so that no float is rounded.
func TestGoldenScheme(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for walk := range PageWalk(pageWalks.Len()) {
		cfg := SchemeConfig{Capacity: 30, Walk: walk}
		s, err := NewScheme([]int{20, 30, 40, 0, 25}, cfg, rand.NewPCG(5, uint64(walk)))
		require.NoError(t, err)
		for range 150 {
			asked := s.Next()
			fmt.Fprint(&b, digest(asked))
			for _, page := range asked {
				require.NoError(t, s.Observe(page, page%3 != 0))
			}
			slot := s.Rebalance()
			fmt.Fprintln(&b, "", slot.Polls, slot.Changed, slot.Overloaded, slot.Decreased, slot.Excluded, slot.Moved, slot.Bins, s.bin)
		}
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		fmt.Fprintf(&b, "state %d %08x\n", len(data), crc32.ChecksumIEEE(data))
	}
	var cfg SchemeConfig
	for _, change := range []float64{0, .01, .3, 1} {
		x, err := cfg.MeanFrequency(change)
		require.NoError(t, err)
		fmt.Fprintln(&b, math.Round(1e9*x))
	}
	golden.Check(t, "scheme.txt", b.String())
}
