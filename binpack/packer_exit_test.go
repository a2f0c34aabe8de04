package binpack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// An exit is a fleet, evenly filled to 93 %, of whose sites a share leaves at once.
type exit struct {
	nodes, each  int     // sites on a node
	sigma, share float64 // spread of the logarithm of weights; of the sites that leave
}

// play lets the sites leave and rebalances until the nodes in use are within 5 % of the volume
// bound, or one node. It returns how often that was, the moves, and the fewest moves that empty as
// many nodes.
func (x exit) play(t testing.TB, limit RebalanceConfig, most int) (calls, moves, least int) {
	rng := rand.New(rand.NewPCG(uint64(x.nodes), 74))
	p, nodes := newFleet(t, PackerConfig{}, x.nodes+x.nodes/10+2, 1)
	w := make([]float64, x.nodes*x.each)
	sum := 0.
	for i := range w {
		w[i] = math.Exp(x.sigma * rng.NormFloat64())
		sum += w[i]
	}
	for i := range w {
		w[i] = min(w[i]*.93*float64(x.nodes)/sum, 1)
	}
	for _, s := range add(t, p, w...) {
		if rng.Float64() < x.share {
			require.NoError(t, p.RemoveSite(s))
		}
	}
	bound := float64(volume(p, 1))
	enough := max(1.05*bound, bound+1)
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
	for _, x := range []exit{
		{nodes: 20, each: 50}, {nodes: 20, each: 50, sigma: 1}, {nodes: 20, each: 2000, sigma: 1},
		{nodes: 100, each: 30}, {nodes: 100, each: 30, sigma: 1},
		{nodes: 1000, each: 40}, {nodes: 1000, each: 20, sigma: .7},
	} {
		for _, x.share = range []float64{.5, .9, .99} {
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
