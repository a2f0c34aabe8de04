package binpack

import (
	"fmt"
	"math"
)

// PackerConfig has the settings of a [Packer]. The zero value works for any fleet: it is good
// where the weights of sites drift by some 2 to 10 per cent between two calls of Rebalance, and
// where a node is closed once what it costs for a day or two of hourly calls pays for the moves.
type PackerConfig struct {
	// KeepMaximum relieves an overloaded node by the exclusion of Yazidi 2006 (section 4.2), a
	// baseline: the subset of sites of the largest total that fits stays, and what is put out is
	// packed by Best Fit Decreasing. It uses no headroom, closes no node, and is refused together
	// with Resources.
	KeepMaximum bool
	// Headroom sets how much of the capacity in use is left free for what the weights do next:
	// a share of Headroom·√v, at most an eighth. v is the volatility: the mean change of a
	// node's load between two calls of Rebalance, up or down, as a share of its capacity, over
	// the last 16 calls that found any (1 % until then); it fades over some 64 units of time in
	// which nothing changes, 16 if nothing ever has, and below 1e-5 nothing is kept free. The root
	// is there because room costs few nodes where weights are calm. Nothing is moved to where the
	// headroom is not left, and one more node is used when the nodes in use have less left on
	// average. For a fixed share to be left free, tell smaller capacities. 0 means .2, a negative
	// number none.
	Headroom float64
	// Early is how close to its capacity a node is relieved before it is overloaded, as a share of
	// the capacity, below 1, and at most √v. It is relieved where another node in use can take a
	// site and stay below that itself; nor does closing a node fill another beyond it. 0 means
	// .002, a negative number that only an overload is relieved.
	Early float64
	// MoveCost is what it costs to move a site, in a unit of your choice: money, requests lost,
	// seconds of work. SiteConfig.MoveCost makes it differ by site. 0 means that to empty an
	// average node in use costs as much as that node does in 32 units of time; a negative number
	// that moves cost nothing. At most 1e100.
	MoveCost float64
	// NodeCost is what a node in use costs for a unit of time, in the unit of MoveCost. The unit of
	// time is that of RebalanceConfig.Elapsed: one call of Rebalance, unless you say otherwise. 0
	// means 1, a negative number that nodes cost nothing: then none is ever closed. At most 1e100.
	NodeCost float64
	// Resources is the number of further resources beside the weight, such as memory, bandwidth or
	// polls. Sites need them by SiteConfig.Needs, nodes have them by NodeConfig.Capacities.
	Resources int
	// Quantum is the unit of weights and capacities. Weights are rounded up to a multiple of it,
	// capacities down, so that no node is overfilled unseen. At most 2^53 quanta make a weight or
	// capacity. 0 means that it follows the largest capacity told: a power of ten, between 10^−12
	// and 10^−11 of it, so that short decimals are exact. A capacity or need is refused if the
	// quantum that suits it is larger than what some node has.
	Quantum float64
}

// The defaults of PackerConfig meet three targets at once, for drifts of 2 and 10 per cent: few
// moves, few overloaded nodes, few nodes (TestPackerUnderDrift in examples/binpack has the
// numbers). They are swept, one at a time, by
// go test ./examples/binpack -v -run Sweep -sweep.
const (
	defaultHeadroom = .2
	defaultEarly    = .002
	defaultNodeCost = 1
	// mostCost bounds costs, so that no product of them overflows.
	mostCost = 1e100
	// defaultPayback is the time in which an average node pays for its own closing: under a drift of
	// 10 % there are 6 % more moves with 20 than with 32, and with 48 7 % fewer and .1 % more nodes.
	defaultPayback = 32
)

// mostResources bounds what a forged or mistaken setting can make the packer allocate.
const mostResources = 15

// resolve returns the settings with defaults filled in, and 0 for none. MoveCost stays: 0 is
// relative to the fleet.
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
	case x < 0:
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
		least, most float64 // most excluded
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
