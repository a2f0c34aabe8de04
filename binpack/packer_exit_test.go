package binpack

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// An exit is a fleet, filled to 93 % at first, of whose sites a share leaves at once.
type exit struct {
	nodes, each  int     // sites on a node
	sigma, share float64 // spread of the logarithm of weights; of the sites that leave
	unequal      bool    // nodes of capacity .5, 1 and 2
	seed         uint64
}

// fleet returns the fleet once the sites have left, the fewest nodes that could hold their volume, and
// those that they take packed anew by decreasing weight.
func (x exit) fleet(t testing.TB) (p *Packer, nodes []int, bound, anew int) {
	rng := rand.New(rand.NewPCG(x.seed, 74))
	p, nodes = newFleet(t, PackerConfig{}, x.nodes+x.nodes/4+2, 1)
	capacity := slices.Repeat([]float64{1}, len(nodes))
	if x.unequal {
		for k, n := range nodes {
			capacity[k] = []float64{.5, 1, 2}[rng.IntN(3)]
			require.NoError(t, p.SetCapacity(n, capacity[k]))
		}
	}
	w := make([]float64, x.nodes*x.each)
	sum := 0.
	for i := range w {
		w[i] = math.Exp(x.sigma * rng.NormFloat64())
		sum += w[i]
	}
	for i := range w {
		w[i] = min(w[i]*.93*float64(x.nodes)/sum, slices.Min(capacity))
	}
	left, volume := []float64(nil), 0.
	for i, s := range add(t, p, w...) {
		if rng.Float64() < x.share {
			require.NoError(t, p.RemoveSite(s))
		} else {
			left = append(left, w[i])
			volume += w[i]
		}
	}
	slices.SortFunc(capacity, func(a, b float64) int { return cmp.Compare(b, a) })
	for ; volume > 1e-9; bound++ {
		volume -= capacity[bound]
	}
	packed, err := Pack(Problem[float64]{Weights: left, Capacities: capacity}, FirstFitDecreasing)
	require.NoError(t, err)
	return p, nodes, bound, packed.Bins
}

// play lets the sites leave and rebalances until the nodes in use are within 5 %, or one node, of
// the volume bound, or of those packed anew if these are more. It returns how often that was, the
// moves, and the fewest moves that empty as many nodes.
func (x exit) play(t testing.TB, limit RebalanceConfig, most int) (calls, moves, least int) {
	p, nodes, bound, anew := x.fleet(t)
	bound = max(bound, anew)
	enough := max(1.05*float64(bound), float64(bound+1))
	var sites []int
	for _, n := range nodes {
		if s, _ := p.Node(n); s.Sites > 0 {
			sites = append(sites, s.Sites)
		}
	}
	slices.Sort(sites)
	for k := range max(0, len(sites)-int(enough)) {
		least += sites[k]
	}
	for calls < most && float64(used(p)) > enough {
		moves += len(rebalance(t, p, limit))
		calls++
	}
	return calls, moves, least
}

// After an exit the nodes follow within the payback of 32 calls, to 5 % or one node of the volume
// bound. Under a limit they take the calls that the fewest moves take, and a quarter of them more,
// where that is longer.
func TestPackerFollowsExits(t *testing.T) {
	t.Parallel()
	fleets := []exit{
		{nodes: 20, each: 50}, {nodes: 20, each: 50, sigma: 1}, {nodes: 20, each: 2000, sigma: 1},
		{nodes: 100, each: 30}, {nodes: 100, each: 30, sigma: 1},
		{nodes: 1000, each: 40}, {nodes: 1000, each: 20, sigma: .7},
	}
	if testing.Short() {
		fleets = fleets[:5]
	}
	for _, x := range fleets {
		for _, x.share = range []float64{.5, .9, .99} {
			x.seed = uint64(x.nodes)
			for _, limit := range []int{0, x.nodes / 10} {
				calls, moves, least := x.play(t, RebalanceConfig{MaxMoves: limit}, 1000)
				t.Logf("%+v, at most %d moves a call: %d calls, %d moves, at least %d", x, limit, calls, moves, least)
				most := defaultPayback
				if limit > 0 {
					most = max(most, 5*least/4/limit)
				}
				require.LessOrEqual(t, calls, most, "%+v, %d", x, limit)
				require.LessOrEqual(t, moves, 4*least/3+x.nodes/10, "%+v, %d", x, limit)
			}
		}
	}
}

// exits and exitsSeed are for
//
//	go test ./binpack -run ExitsAtRandom -v -exits 100 -exits-seed 9001
var (
	exits     = flag.Int("exits", 8, "random exits that a fleet has to follow")
	exitsSeed = flag.Uint64("exits-seed", 1, "seed of the exits")
)

// Fleets of 10 to 1000 nodes with 10 to 5000 sites each, 200,000 in all at most, of which .1 to .9
// leave: within two paybacks the nodes are within 5 %, or one node, of what the sites take packed
// anew. In the first one the sites are so large that they fit as few nodes once next to nothing is
// kept free, as weights never changed. In the second one it takes one payback as long as the last few
// nodes pay together, two otherwise.
func TestPackerExitsAtRandom(t *testing.T) {
	t.Parallel()
	all := []exit{
		{nodes: 262, each: 14, share: .793, seed: 5044},
		{nodes: 25, each: 18, sigma: 1, share: .426, unequal: true, seed: 8091},
	}
	second := all[1]
	rng := rand.New(rand.NewPCG(*exitsSeed, 75))
	between := func(a, b float64) int { return int(math.Round(a * math.Pow(b/a, rng.Float64()))) }
	for k := range *exits {
		x := exit{nodes: between(10, 1000), seed: *exitsSeed + uint64(k)}
		x.each = between(10, min(5000, 200_000/float64(x.nodes)))
		x.share = .1 + float64(.8*rng.Float64())
		x.sigma, x.unequal = float64(k%2), k/2%2 == 1
		all = append(all, x)
	}
	var calls []int
	moves, least, near := 0, 0, 0
	if testing.Short() {
		all = all[1:4]
	}
	for _, x := range all {
		p, _, bound, anew := x.fleet(t)
		c, m, l := x.play(t, RebalanceConfig{}, 300)
		t.Logf("%+v: %d nodes, bound %d, anew %d: %d calls, %d moves, at least %d", x, used(p), bound, anew, c, m, l)
		require.LessOrEqual(t, c, 2*defaultPayback, "%+v", x)
		if x == second {
			require.LessOrEqual(t, c, defaultPayback)
		}
		calls = append(calls, c)
		moves += m
		least += l
		if float64(anew) <= max(1.05*float64(bound), float64(bound+1)) {
			near++
		}
	}
	slices.Sort(calls)
	t.Logf("%d fleets, packed anew %d within 5 %% or one node of the volume bound: median %d calls, nine in ten %d, most %d; "+
		"%d moves, at least %d", len(all), near, calls[len(calls)/2], calls[len(calls)*9/10], calls[len(calls)-1], moves, least)
}
