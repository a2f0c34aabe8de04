package binpack

import (
	"fmt"
	"math"
)

// PackerConfig has the settings of a [Packer]. The zero value works for any fleet. It is tuned for
// weights that drift by some 2 to 10 per cent between two calls of Rebalance, and for a payback of
// a day or two of hourly calls: a node is closed once its cost over that time pays for the moves.
type PackerConfig struct {
	// KeepMaximum is a baseline: it relieves an overloaded node by the exclusion of Yazidi 2006
	// (section 4.2). The subset of sites with the largest total that fits stays, and the other
	// sites are packed by Best Fit Decreasing. It uses no headroom, closes no node, and is refused
	// together with Resources.
	KeepMaximum bool
	// Headroom sets how much of the capacity in use is left free for the next changes of weights: a
	// share of Headroom·√v, at most an eighth, where v is the volatility. No site is moved to a
	// node where that share would not be left, and one more node is used when the nodes in use have
	// less left on average. 0 means .2, a negative number means no headroom. To leave a fixed share
	// free, set smaller capacities instead.
	//
	// The volatility is the mean change of a node's load between two calls of Rebalance, up or
	// down, as a share of its capacity, over the last 16 calls with changes; it starts at 1 %. It
	// fades over some 64 units of time without changes, or 16 if no change was ever seen. Below
	// 1e-5 nothing is kept free. The headroom grows with its square root, because room costs few
	// nodes where weights are calm.
	Headroom float64
	// Early is how close to its capacity a node is relieved before it is overloaded: a share of the
	// capacity, below 1. It is cut down to √v (see Headroom). The node is relieved if another node
	// in use can take a site and does not come that close to its own capacity. Closing a node does
	// not fill another that far either. 0 means .002; a negative number means that only an overload
	// is relieved.
	Early float64
	// MoveCost is the cost of moving a site, in a unit of your choice: money, requests lost,
	// seconds of work. SiteConfig.MoveCost makes it differ by site. At most 1e100. 0 means that
	// emptying an average node in use costs as much as keeping it open for 32 units of time; a
	// negative number means that moves cost nothing.
	MoveCost float64
	// NodeCost is the cost of a node in use for a unit of time, in the unit of MoveCost. The unit
	// of time is that of RebalanceConfig.Elapsed: one call of Rebalance, unless you set it. At most
	// 1e100. 0 means 1; a negative number means that nodes cost nothing, so that none is ever
	// closed.
	NodeCost float64
	// Resources is the number of further resources besides the weight, such as memory, bandwidth or
	// polls. SiteConfig.Needs says what a site needs of them, NodeConfig.Capacities what a node
	// has.
	Resources int
	// Quantum is the unit of weights and capacities. Weights are rounded up to a multiple of it,
	// capacities down, so that no node is overfilled unnoticed. A weight or capacity has at most
	// 2^53 quanta. 0 means that the quantum follows the largest capacity told: it is a power of
	// ten, and at most 10^−11 of that capacity, so that short decimals are exact. If needs for a
	// further resource are told before any capacity for it, its quantum follows the largest need
	// and is at most 10^−8 of that. A capacity or need is refused if its quantum would be larger
	// than the capacity of some node.
	Quantum float64
}

// The defaults of PackerConfig meet three targets at once, for drifts of 2 and 10 per cent: few
// moves, few overloaded nodes, few nodes (TestPackerUnderDrift in examples/binpack has the
// numbers). This command varies them one at a time: go test ./examples/binpack -v -run Sweep
// -sweep.
const (
	defaultHeadroom = .2
	defaultEarly    = .002
	defaultNodeCost = 1
	// mostCost bounds costs, so that no product of them overflows.
	mostCost = 1e100
	// defaultPayback is the time in which an average node pays for its own closing. Compared with
	// 32 under a drift of 10 %, 20 takes 6 % more moves; 48 takes 7 % fewer moves and .1 % more
	// nodes.
	defaultPayback = 32
)

// mostResources bounds the memory that a forged or mistaken setting can make the packer allocate.
const mostResources = 15

// resolve returns the settings with defaults filled in, and 0 in place of negative numbers.
// MoveCost stays as it is, because its default depends on the fleet.
func (c PackerConfig) resolve() PackerConfig {
	c.Headroom = orDefault(c.Headroom, defaultHeadroom)
	c.Early = orDefault(c.Early, defaultEarly)
	c.NodeCost = orDefault(c.NodeCost, defaultNodeCost)
	return c
}

// orDefault returns the default for 0, and 0 for a negative number.
func orDefault(x, byDefault float64) float64 {
	switch {
	case x == 0:
		return byDefault
	case x < 0 && !math.IsInf(x, -1): // which is refused
		return 0
	}
	return x
}

// check returns an error unless resolved settings are in range.
func (c PackerConfig) check() error {
	above := math.Nextafter(mostCost, math.Inf(1))
	for _, s := range [...]struct {
		name        string
		value       float64
		least, most float64 // the range includes least and excludes most
	}{
		{"headroom", c.Headroom, 0, math.Inf(1)},
		{"early", c.Early, 0, 1},
		{"move cost", c.MoveCost, -math.MaxFloat64, above},
		{"node cost", c.NodeCost, 0, above},
		{"resources", float64(c.Resources), 0, mostResources + 1},
		{"quantum", c.Quantum, 0, mostQuantum},
	} {
		if !(s.value >= s.least && s.value < s.most) {
			return fmt.Errorf("%w: %s %v", ErrConfig, s.name, s.value)
		}
	}
	if c.KeepMaximum && c.Resources > 0 {
		return fmt.Errorf("%w: KeepMaximum with %d further resources", ErrConfig, c.Resources)
	}
	return nil
}
