package binpack

import (
	"fmt"
	"iter"
	"math"

	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/packing"
)

// PackerConfig has the settings of a [Packer]. The zero value is good where the weights of
// sites drift by some 2 to 10 per cent between two calls of Rebalance.
type PackerConfig struct {
	// KeepMaximum relieves an overloaded node by the exclusion of Yazidi 2006 (section 4.2), a
	// baseline: the subset of sites of the largest total that fits stays, and what is put out is
	// packed by Best Fit Decreasing. It uses no headroom and closes no node.
	KeepMaximum bool
	// Headroom sets how much of the capacity in use is left free for what the weights do next:
	// a share of Headroom·√v, at most an eighth. v is the volatility: the mean change of a
	// node's load between two calls of Rebalance, up or down, as a share of its capacity, over
	// the last 16 calls that found any (1 % until then). The root is there because room costs few
	// nodes where weights are calm. Nothing is moved to where the headroom is not left, and one
	// more node is used when the nodes in use have less left on average. For a fixed share to be
	// left free, tell smaller capacities. 0 means .16, a negative number none.
	Headroom float64
	// Early is how close to its capacity a node is relieved before it is overloaded, as a share of
	// the capacity, below 1. It is relieved where another node in use can take a site and stay
	// below that itself; nor does closing a node fill another beyond it. 0 means .002, a
	// negative number that only an overload is relieved.
	Early float64
	// Margin is the hysteresis of closing a node, below 1: beside the headroom, the nodes that
	// stay must have a share of Margin·m left on average, where m is the number of its sites over
	// that of the average node. So a node just opened closes again easily, and one whose closing
	// moves much only when there is much room. 0 means .02, a negative number none.
	Margin float64
	// Disruption sets when closing a node is worth it: where the share of nodes saved is at least
	// 1/Disruption of the share of sites moved. 0 means .85, a negative number never.
	Disruption float64
	// Quantum is the unit of weights and capacities. Weights are rounded up to a multiple of it,
	// capacities down, so that no node is overfilled unseen. At most 2^50 quanta make a weight or
	// capacity. 0 means 2^−20.
	Quantum float64
}

// The defaults of PackerConfig meet three targets at once, for drifts of 2 and 10 per cent: few
// moves, few overloaded nodes, few nodes (TestPackerUnderDrift in examples/binpack has the
// numbers). They are swept, one at a time, by
// go test ./examples/binpack -v -run Sweep -sweep.
const (
	defaultHeadroom   = .16
	defaultEarly      = .002
	defaultMargin     = .02
	defaultDisruption = .85
	defaultQuantum    = 1. / (1 << 20) // a millionth of a node of capacity 1; weights go up to 2^30
)

const (
	// initialVolatility is assumed before the first call; it counts as one call, so a few calls
	// outweigh it.
	initialVolatility = .01
	// volatilityCalls is over how many calls the volatility is averaged, roughly: enough that one
	// jump counts little, and fewer than the hours of a day, whose course it should follow.
	volatilityCalls = 16
	// mostHeadroom bounds what a few wild calls may cost: one node in eight.
	mostHeadroom = 1. / 8
	// mostQuanta bounds a weight and a capacity: all are exact as a float64, with bits to spare.
	mostQuanta = 1 << 50
)

// resolve returns the settings with defaults filled in, and 0 for none.
func (c PackerConfig) resolve() PackerConfig {
	c.Headroom = orDefault(c.Headroom, defaultHeadroom)
	c.Early = orDefault(c.Early, defaultEarly)
	c.Margin = orDefault(c.Margin, defaultMargin)
	c.Disruption = orDefault(c.Disruption, defaultDisruption)
	if c.Quantum == 0 {
		c.Quantum = defaultQuantum
	}
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
	for _, s := range [...]struct {
		name        string
		value       float64
		least, most float64 // most excluded
	}{
		{"headroom", c.Headroom, 0, math.Inf(1)},
		{"early", c.Early, 0, 1},
		{"margin", c.Margin, 0, 1},
		{"disruption", c.Disruption, 0, math.Inf(1)},
		{"quantum", c.Quantum, math.SmallestNonzeroFloat64, math.Inf(1)},
	} {
		if !(s.value >= s.least && s.value < s.most) {
			return fmt.Errorf("%w: %s %v", ErrConfig, s.name, s.value)
		}
	}
	return nil
}

// A Packer keeps sites on nodes with few moves, while both come and go and weights change. Tell
// it what happens with AddSite, RemoveSite, SetWeight, AddNode, RemoveNode, SetCapacity and Drain,
// and call Rebalance at regular intervals to learn what to move. Take it to run a fleet; take
// [Pack] to pack a fixed set of items once.
//
// A node without sites is a spare. The packer uses as few nodes as its settings allow. Ids of
// sites and nodes are valid until they are removed, and are never given out twice. A Packer draws
// nothing at random: the same calls give the same moves. Not safe for concurrent use.
//
// # How it works
//
// An overloaded node is relieved by one site at a time: the move that minimises the load of the
// fuller of the two nodes. It brings the node down as far as one move can, not just below its
// capacity, so that it is long until the next. Where no node in use can take a site, two sites
// change places. Where that does not help either, or the nodes in use have no headroom left, one
// more node is used. When the nodes have become too empty, that of fewest sites is closed.
//
// # Cost
//
// Time: O(1) a change of weight, O(nodes) a new site; see Rebalance. Memory: about 24 bytes a site.
type Packer struct {
	cfg    PackerConfig // resolved
	sites  ids.Registry
	weight []int64 // of each site slot
	home   []int32 // node slot of each site slot
	place  []int32 // position of each site slot in its node's list
	total  int64   // of the weights, at most packing.MaxTotal, so that no load overflows

	nodes    ids.Registry
	capacity []int64 // of each node slot
	load     []int64
	drained  []bool    // takes no sites
	list     [][]int32 // site slots of each node slot
	change   []int64   // of the load since the last Rebalance, as far as SetWeight told it

	volatility float64 // see PackerConfig.Headroom
	measured   int     // calls that it is the mean of, at most volatilityCalls
}

// NewPacker returns a packer without nodes and sites. [ErrConfig] for settings out of range.
func NewPacker(cfg PackerConfig) (*Packer, error) {
	cfg = cfg.resolve()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Packer{cfg: cfg, volatility: initialVolatility}, nil
}

// Slot returns the small index in the id of a site, or of a node: 0 for the first, and so on.
// After a removal the index is given out again with a new id. Use it for slices of your own; no
// two sites have the same index at a time, nor have two nodes.
func Slot(id int) int { return ids.Slot(id) }

// units converts a weight that takes the place of another, old.
func (p *Packer) units(w float64, old int64) (int64, error) {
	if !(w >= 0) || w/p.cfg.Quantum > mostQuanta {
		return 0, fmt.Errorf("%w: %v", ErrWeight, w)
	}
	u := int64(math.Ceil(w / p.cfg.Quantum))
	if u > packing.MaxTotal-(p.total-old) {
		return 0, fmt.Errorf("%w: %v: the sum is too large", ErrWeight, w)
	}
	return u, nil
}

// room converts a capacity.
func (p *Packer) room(capacity float64) (int64, error) {
	if !(capacity >= p.cfg.Quantum) || capacity/p.cfg.Quantum > mostQuanta {
		return 0, fmt.Errorf("%w: %v", ErrCapacity, capacity)
	}
	return int64(math.Floor(capacity / p.cfg.Quantum)), nil
}

func (p *Packer) node(id int) (int, error) {
	slot, ok := p.nodes.Slot(id)
	if !ok {
		return 0, fmt.Errorf("%w: node %d", ErrUnknown, id)
	}
	return slot, nil
}

func (p *Packer) site(id int) (int, error) {
	slot, ok := p.sites.Slot(id)
	if !ok {
		return 0, fmt.Errorf("%w: site %d", ErrUnknown, id)
	}
	return slot, nil
}

// AddNode adds a spare node and returns its id. [ErrCapacity] if the capacity is below the
// quantum or not finite. O(1).
func (p *Packer) AddNode(capacity float64) (int, error) {
	c, err := p.room(capacity)
	if err != nil {
		return 0, err
	}
	id := p.nodes.Add()
	n := ids.Slot(id)
	if n == len(p.capacity) {
		p.capacity, p.load = append(p.capacity, 0), append(p.load, 0)
		p.drained, p.list, p.change = append(p.drained, false), append(p.list, nil), append(p.change, 0)
	}
	p.capacity[n], p.load[n], p.drained[n], p.list[n], p.change[n] = c, 0, false, p.list[n][:0], 0
	return id, nil
}

// SetCapacity changes the capacity of a node. O(1).
func (p *Packer) SetCapacity(node int, capacity float64) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	c, err := p.room(capacity)
	if err != nil {
		return err
	}
	p.capacity[n] = c
	return nil
}

// Drain makes a node take no more sites; Rebalance moves those that it has elsewhere. With
// false it takes sites again. O(1).
func (p *Packer) Drain(node int, drain bool) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	p.drained[n] = drain
	return nil
}

// RemoveNode removes a node. Sites that it still has, because it failed or was not drained, are
// placed elsewhere at once, whatever room there is, and are returned as moves. [ErrNoRoom] if
// it has sites and there is no other node for them.
func (p *Packer) RemoveNode(node int) ([]Move, error) {
	n, err := p.node(node)
	if err != nil {
		return nil, err
	}
	drained := p.drained[n]
	p.drained[n] = true
	if len(p.list[n]) > 0 && p.choose(0, -1) < 0 {
		p.drained[n] = drained
		return nil, fmt.Errorf("%w: no other node takes the %d sites of node %d", ErrNoRoom, len(p.list[n]), node)
	}
	r := run{Packer: p}
	for _, s := range p.heaviest(n) {
		r.move(s, p.choose(p.weight[s], -1), lost)
	}
	p.nodes.Remove(node)
	p.change[n] = 0
	return r.moves, nil
}

// AddSite adds a site and places it at once: on the emptiest node in use that keeps its headroom,
// else on a spare, else where it overloads least. It returns the ids of the site and its node.
// [ErrWeight]; [ErrNoRoom] if no node takes sites, or the site is larger than every
// node that does. O(nodes).
func (p *Packer) AddSite(weight float64) (site, node int, err error) {
	w, err := p.units(weight, 0)
	if err != nil {
		return 0, 0, err
	}
	n := p.choose(w, -1)
	if n < 0 {
		return 0, 0, fmt.Errorf("%w: no node takes sites", ErrNoRoom)
	}
	if !p.holds(w) {
		return 0, 0, fmt.Errorf("%w: weight %v", ErrNoRoom, weight)
	}
	site = p.sites.Add()
	s := ids.Slot(site)
	if s == len(p.weight) {
		p.weight, p.home, p.place = append(p.weight, 0), append(p.home, 0), append(p.place, 0)
	}
	p.weight[s] = w
	p.total += w
	p.attach(s, n)
	return site, p.nodes.ID(n), nil
}

// holds reports whether any node could take a site of this weight if it were empty.
func (p *Packer) holds(w int64) bool {
	for n, c := range p.capacity {
		if p.nodes.Live(n) && !p.drained[n] && w <= c {
			return true
		}
	}
	return false
}

// RemoveSite removes a site. O(1).
func (p *Packer) RemoveSite(site int) error {
	s, err := p.site(site)
	if err != nil {
		return err
	}
	p.detach(s)
	p.total -= p.weight[s]
	p.sites.Remove(site)
	return nil
}

// SetWeight sets the present weight of a site, which may be more than any node can take. O(1).
func (p *Packer) SetWeight(site int, weight float64) error {
	s, err := p.site(site)
	if err != nil {
		return err
	}
	w, err := p.units(weight, p.weight[s])
	if err != nil {
		return fmt.Errorf("%w (site %d)", err, site)
	}
	n, change := p.home[s], w-p.weight[s]
	p.load[n] += change
	p.change[n] += change
	p.total += change
	p.weight[s] = w
	return nil
}

// NodeOf returns the node of a site. O(1).
func (p *Packer) NodeOf(site int) (node int, err error) {
	s, err := p.site(site)
	if err != nil {
		return 0, err
	}
	return p.nodes.ID(int(p.home[s])), nil
}

// SitesOn iterates over the ids of the sites of a node, in no particular order.
func (p *Packer) SitesOn(node int) (iter.Seq[int], error) {
	n, err := p.node(node)
	if err != nil {
		return nil, err
	}
	return func(yield func(int) bool) {
		for _, s := range p.list[n] {
			if !yield(p.sites.ID(int(s))) {
				return
			}
		}
	}, nil
}

// A NodeState is what a [Packer] knows of a node. It is overloaded if Load > Capacity.
type NodeState struct {
	Load, Capacity float64 // in units of weight
	Sites          int
	Drained        bool
}

// Node returns the state of a node. O(1).
func (p *Packer) Node(node int) (NodeState, error) {
	n, err := p.node(node)
	if err != nil {
		return NodeState{}, err
	}
	return NodeState{
		Load:     float64(p.load[n]) * p.cfg.Quantum,
		Capacity: float64(p.capacity[n]) * p.cfg.Quantum,
		Sites:    len(p.list[n]),
		Drained:  p.drained[n],
	}, nil
}

// LenSites returns the number of sites.
func (p *Packer) LenSites() int { return p.sites.Len() }

// LenNodes returns the number of nodes.
func (p *Packer) LenNodes() int { return p.nodes.Len() }

// AllSites iterates over the ids of the sites.
func (p *Packer) AllSites() iter.Seq[int] { return live(&p.sites) }

// AllNodes iterates over the ids of the nodes.
func (p *Packer) AllNodes() iter.Seq[int] { return live(&p.nodes) }

// live iterates over the valid ids of a registry.
func live(r *ids.Registry) iter.Seq[int] {
	return func(yield func(int) bool) {
		for slot := range r.Slots() {
			if r.Live(slot) && !yield(r.ID(slot)) {
				return
			}
		}
	}
}

// attach puts a site on a node; detach takes it off.
func (p *Packer) attach(s, n int) {
	p.home[s], p.place[s] = int32(n), int32(len(p.list[n]))
	p.list[n] = append(p.list[n], int32(s))
	p.load[n] += p.weight[s]
}

func (p *Packer) detach(s int) {
	n := p.home[s]
	list := p.list[n]
	last := list[len(list)-1]
	list[p.place[s]] = last
	p.place[last] = p.place[s]
	p.list[n] = list[:len(list)-1]
	p.load[n] -= p.weight[s]
}

// fill returns the share of its capacity that a node uses with w more.
func (p *Packer) fill(n int, w int64) float64 {
	return float64(p.load[n]+w) / float64(p.capacity[n])
}

// spare returns the largest node without sites, or −1.
func (p *Packer) spare() int {
	best := -1
	for n, c := range p.capacity {
		if p.nodes.Live(n) && !p.drained[n] && len(p.list[n]) == 0 && (best < 0 || c > p.capacity[best]) {
			best = n
		}
	}
	return best
}

// choose returns the node for a site of weight w that has none: as in AddSite.
func (p *Packer) choose(w int64, except int) int {
	if n := p.keeps(w, except, 1-p.headroom()); n >= 0 {
		return n
	}
	if n := p.spare(); n >= 0 && w <= p.capacity[n] {
		return n
	}
	best, least := -1, math.Inf(1)
	for n := range p.capacity {
		if n == except || p.drained[n] || !p.nodes.Live(n) {
			continue
		}
		if f := p.fill(n, w); f < least {
			best, least = n, f
		}
	}
	return best
}

// keeps returns the node in use that w leaves the emptiest, filled to no more than most, or
// −1.
func (p *Packer) keeps(w int64, except int, most float64) int {
	best, least := -1, most
	for n := range p.capacity {
		if n == except || p.drained[n] || len(p.list[n]) == 0 || !p.nodes.Live(n) {
			continue
		}
		if f := p.fill(n, w); f < least || f == least && best < 0 {
			best, least = n, f
		}
	}
	return best
}

// totals are those of the nodes in use that take sites.
type totals struct {
	nodes, sites   int
	load, capacity float64
}

func (p *Packer) inUse() (t totals) {
	for n, list := range p.list {
		if len(list) > 0 && !p.drained[n] && p.nodes.Live(n) {
			t.nodes++
			t.sites += len(list)
			t.load += float64(p.load[n])
			t.capacity += float64(p.capacity[n])
		}
	}
	return t
}

// headroom is PackerConfig.Headroom as a share of a capacity.
func (p *Packer) headroom() float64 {
	if p.cfg.KeepMaximum {
		return 0
	}
	return min(float64(p.cfg.Headroom*math.Sqrt(p.volatility)), mostHeadroom)
}

// measure takes into the volatility what changed since the last call, if anything. The
// mean of absolute values is little moved by one site that jumps.
func (p *Packer) measure() {
	sum, nodes := 0., 0
	for n, change := range p.change {
		if change != 0 || len(p.list[n]) > 0 {
			sum += math.Abs(float64(change)) / float64(p.capacity[n])
			nodes++
		}
		p.change[n] = 0
	}
	if sum > 0 {
		p.measured = min(p.measured+1, volatilityCalls)
		p.volatility += (sum/float64(nodes) - p.volatility) / float64(p.measured+1)
	}
}
