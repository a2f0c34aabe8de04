package binpack

import (
	"fmt"
	"iter"
	"math"

	"github.com/recrawl/recrawl/binpack/internal/order"
	"github.com/recrawl/recrawl/internal/ids"
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
	// average. For a fixed share to be left free, tell smaller capacities. 0 means .16, a negative
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
	// and 10^−11 of it, so that short decimals are exact.
	Quantum float64
}

// The defaults of PackerConfig meet three targets at once, for drifts of 2 and 10 per cent: few
// moves, few overloaded nodes, few nodes (TestPackerUnderDrift in examples/binpack has the
// numbers). They are swept, one at a time, by
// go test ./examples/binpack -v -run Sweep -sweep.
const (
	defaultHeadroom = .16
	defaultEarly    = .002
	defaultNodeCost = 1
	// mostCost bounds costs, so that no product of them overflows.
	mostCost = 1e100
	// defaultPayback is the time in which an average node pays for its own closing: with 20 there
	// are more moves than in 32, by 10 % under a drift of 10 %, with 48 more nodes, by .1.
	defaultPayback = 32
)

const (
	// initialVolatility is assumed before the first call; it counts as one call, so a few calls
	// outweigh it.
	initialVolatility = .01
	// volatilityCalls is over how many calls the volatility is averaged, roughly: enough that one
	// jump counts little, and fewer than the hours of a day, whose course it should follow.
	volatilityCalls = 16
	// calmTime is the time without any change in which the volatility fades: some times that
	// of volatilityCalls, as a caller may call more often than weights are measured. What is only
	// assumed counts for less, and fades over volatilityCalls.
	calmTime = 4 * volatilityCalls
	// calm is the volatility below which nothing is kept free: the headroom would be a
	// two-thousandth, and a fleet at rest can be filled exactly.
	calm = 1e-5
	// mostHeadroom bounds what a few wild calls may cost: one node in eight.
	mostHeadroom = 1. / 8
	// mostResources bounds what a forged or mistaken setting can make the packer allocate.
	mostResources = 15
)

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
		{"quantum", c.Quantum, 0, math.Inf(1)},
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

// A Packer keeps sites on nodes with few moves, while both come and go and weights change. Tell
// it what happens with AddSite, RemoveSite, SetWeight, AddNode, RemoveNode, SetCapacity and Drain,
// and call Rebalance at regular intervals to learn what to move. Take it to run a fleet; take
// [Pack] to pack a fixed set of items once.
//
// [SiteConfig] and [NodeConfig] are for what not every fleet has: several resources, replicas that
// must not share a node or a zone, sites bound to a zone or to some nodes, sites whose moves cost
// more than others'. Such rules are never broken by a move.
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
// more node is used.
//
// Nodes are closed by a rule of payback. While the nodes in use have room for k nodes more than
// they need, the packer saves up what these k cost. Once that pays for the moves that empty the
// node whose sites are cheapest to move, it is closed. So a dip in the load that is shorter than
// the payback moves nothing, and load that stays away is always followed down: the cost of
// waiting never exceeds that of the moves (the argument of ski rental, Karlin et al. 1988).
//
// # Cost
//
// Time: O(1) a change of weight, O(log) where it is by a tenth or more; O(log nodes) a new site and
// a removal; see Rebalance. Memory: about 24 bytes a site, some 250 bytes a node and 8 for each
// class of weights on it, of which there are 8 for every factor of 2.
type Packer struct {
	cfg      PackerConfig // resolved
	sites    ids.Registry
	home     []int32    // node slot of each site slot
	resource []resource // the weight, then the further ones

	rules  map[int32]*rule // of the site slots that have any
	groups map[int][]int32 // site slots of each group
	unruly []int32         // site slots whose rules may be broken where they are

	nodes ids.Registry
	state []nodeState // of each node slot
	dirty []int32     // node slots whose keys in the trees are old

	// The nodes that take sites, by fill and by room; those without sites; those that may be
	// relieved; those that may be closed; all that are not drained, by capacity. See refresh.
	emptiest, roomiest, spares, fullest, cheapest, largest order.Tree

	volatility float64 // see PackerConfig.Headroom
	measured   int     // calls that it is the mean of, at most volatilityCalls
	saved      float64 // what superfluous nodes have cost so far, to pay for closing them
	surplus    float64 // the most of them since they were few; what is saved goes by that
	closing    int     // the node slot that is being closed, −1 for none
	owed       float64 // moves that drains and closing are owed under a limit
	debt       int     // sites tried in vain to close nodes, beyond what calls are allowed

	need []int64 // scratch
}

// nodeState is what is known of a node beside its resources.
type nodeState struct {
	sites   int
	cost    int64 // of moving all its sites, in moveUnits
	zone    int
	drained bool // takes no sites
	leaving bool // takes none while a rebalance closes nodes, as it will be closed as well
	dirty   bool // is in Packer.dirty
}

// NewPacker returns a packer without nodes and sites. [ErrConfig] for settings out of range.
func NewPacker(cfg PackerConfig) (*Packer, error) {
	cfg = cfg.resolve()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newPacker(cfg), nil
}

func newPacker(cfg PackerConfig) *Packer {
	p := &Packer{cfg: cfg, volatility: initialVolatility, closing: -1}
	p.resource = make([]resource, 1+cfg.Resources)
	p.resource[0].fixed, p.resource[0].bound = cfg.Quantum, true
	p.need = make([]int64, len(p.resource))
	p.rules, p.groups = map[int32]*rule{}, map[int][]int32{}
	return p
}

// plain reports whether sites differ in their weight alone.
func (p *Packer) plain() bool { return len(p.resource) == 1 && len(p.rules) == 0 }

// Slot returns the small index in the id of a site, or of a node: 0 for the first, and so on.
// After a removal the index is given out again with a new id. Use it for slices of your own; no
// two sites have the same index at a time, nor have two nodes.
func Slot(id int) int { return ids.Slot(id) }

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

// SetCapacity changes the capacity of a node. O(1).
func (p *Packer) SetCapacity(node int, capacity float64) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	c, err := p.room(0, capacity, p.LenNodes() > 1)
	if err != nil {
		return err
	}
	p.resource[0].capacity[n] = c
	p.touch(n)
	return nil
}

// Drain makes a node take no more sites; Rebalance moves those that it has elsewhere. With
// false it takes sites again. O(1).
func (p *Packer) Drain(node int, drain bool) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	p.state[n].drained = drain
	if p.closing == n {
		p.closing = -1
	}
	p.touch(n)
	return nil
}

// RemoveNode removes a node. Sites that it still has, because it failed or was not drained, are
// placed elsewhere at once, whatever room there is, and are returned as moves. [ErrNoRoom] if
// one of its sites may go to no other node. O((sites + 1)·log nodes).
func (p *Packer) RemoveNode(node int) ([]Move, error) {
	n, err := p.node(node)
	if err != nil {
		return nil, err
	}
	drained := p.state[n].drained
	p.state[n].drained = true
	p.touch(n)
	r := run{Packer: p}
	sites := p.heaviest(n)
	stay := func(s int) ([]Move, error) {
		p.state[n].drained = drained
		p.touch(n)
		return nil, fmt.Errorf("%w: no other node takes site %d of node %d, which has %d", ErrNoRoom, p.sites.ID(s), node, len(sites))
	}
	for k, s := range sites {
		if (k == 0 || len(p.rules) > 0) && p.choose(p.candidate(s), n) < 0 {
			return stay(s)
		}
	}
	for _, s := range sites {
		to := p.choose(p.candidate(s), n)
		if to < 0 { // two of a group were on this node, and the first of them took the last place
			r.undo()
			return stay(s)
		}
		r.move(s, to, lost)
	}
	p.nodes.Remove(node)
	if p.closing == n {
		p.closing = -1
	}
	for k := range p.resource {
		p.resource[k].change[n] = 0
	}
	p.state[n].zone = 0
	p.touch(n)
	return r.moves, nil
}

// RemoveSite removes a site. O(log nodes).
func (p *Packer) RemoveSite(site int) error {
	s, err := p.site(site)
	if err != nil {
		return err
	}
	p.detach(s)
	p.setRule(s, nil)
	for k := range p.resource {
		p.resource[k].total -= p.resource[k].weight[s]
		p.resource[k].weight[s] = 0
	}
	p.sites.Remove(site)
	return nil
}

// SetWeight sets the present weight of a site, which may be more than any node can take. O(1),
// and O(log) where it changes by a tenth or so.
func (p *Packer) SetWeight(site int, weight float64) error {
	s, err := p.site(site)
	if err != nil {
		return err
	}
	w, err := p.resource[0].units(weight, p.resource[0].weight[s])
	if err != nil {
		return fmt.Errorf("%w (site %d)", err, site)
	}
	p.resource[0].set(s, int(p.home[s]), w)
	p.touch(int(p.home[s]))
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
		p.resource[0].sites.All(n, func(s int) bool { return yield(p.sites.ID(s)) })
	}, nil
}

// A NodeState is what a [Packer] knows of a node. It is overloaded if Load > Capacity, or one of
// Loads is more than that of Capacities.
type NodeState struct {
	Load, Capacity float64 // in units of weight
	Sites          int
	Drained        bool
	// Loads and Capacities are those of the further resources; +Inf for a capacity without limit.
	Loads, Capacities []float64
}

// Node returns the state of a node. O(1).
func (p *Packer) Node(node int) (NodeState, error) {
	n, err := p.node(node)
	if err != nil {
		return NodeState{}, err
	}
	s := NodeState{Sites: p.state[n].sites, Drained: p.state[n].drained}
	for k := range p.resource {
		q := &p.resource[k]
		load, capacity := q.value(q.load[n]), q.value(q.capacity[n])
		if q.capacity[n] == unlimited {
			capacity = math.Inf(1)
		}
		if k == 0 {
			s.Load, s.Capacity = load, capacity
		} else {
			s.Loads, s.Capacities = append(s.Loads, load), append(s.Capacities, capacity)
		}
	}
	return s, nil
}

// LenSites returns the number of sites.
func (p *Packer) LenSites() int { return p.sites.Len() }

// LenNodes returns the number of nodes.
func (p *Packer) LenNodes() int { return p.nodes.Len() }

// AllSites iterates over the ids of the sites.
func (p *Packer) AllSites() iter.Seq[int] { return p.sites.All() }

// AllNodes iterates over the ids of the nodes.
func (p *Packer) AllNodes() iter.Seq[int] { return p.nodes.All() }

// attach puts a site on a node; detach takes it off.
func (p *Packer) attach(s, n int) {
	if p.closing == n {
		p.closing = -1 // it is needed again
	}
	p.home[s] = int32(n)
	for k := range p.resource {
		p.resource[k].attach(s, n)
	}
	p.state[n].sites++
	p.state[n].cost += p.moveCost(s)
	p.touch(n)
}

func (p *Packer) detach(s int) {
	n := int(p.home[s])
	for k := range p.resource {
		p.resource[k].detach(s, n)
	}
	p.state[n].sites--
	p.state[n].cost -= p.moveCost(s)
	p.touch(n)
}

// touch notes that the keys of a node are old; sync makes them new. O(log nodes) for a node.
func (p *Packer) touch(n int) {
	if !p.state[n].dirty {
		p.state[n].dirty = true
		p.dirty = append(p.dirty, int32(n))
	}
}

func (p *Packer) sync() {
	for _, n := range p.dirty {
		p.refresh(int(n))
	}
	p.dirty = p.dirty[:0]
}

// refresh makes the keys of a node in the trees.
func (p *Packer) refresh(n int) {
	s := &p.state[n]
	s.dirty = false
	live, used := p.nodes.Live(n) && !s.drained, s.sites > 0
	fill := p.fill(n, nil, 1)
	set := func(t *order.Tree, in bool, key float64) {
		if !in {
			key = math.Inf(1)
		}
		t.Set(n, key)
	}
	takes := live && used && p.closing != n && !s.leaving
	w := &p.resource[0]
	set(&p.emptiest, takes, fill)
	set(&p.roomiest, takes, -float64(w.capacity[n]-w.load[n]))
	set(&p.spares, live && !used, -float64(w.capacity[n]))
	set(&p.fullest, live && used, -fill)
	set(&p.cheapest, live && used && p.closing != n, float64(s.cost))
	set(&p.largest, live, -float64(w.capacity[n]))
}

// fill returns the share of its capacity that a node uses, that of the resource it uses most, with
// the needs of a site added or, with sign −1, taken off.
func (p *Packer) fill(n int, need []int64, sign int64) float64 {
	f := 0.
	for k := range p.resource {
		q := &p.resource[k]
		load := q.load[n]
		if need != nil {
			load += sign * need[k]
		}
		f = max(f, float64(load)/float64(q.capacity[n]))
	}
	return f
}

// needs returns what a site needs of each resource, valid until the next call.
func (p *Packer) needs(s int) []int64 {
	for k := range p.resource {
		p.need[k] = p.resource[k].weight[s]
	}
	return p.need
}

// headroom is PackerConfig.Headroom as a share of a capacity.
func (p *Packer) headroom() float64 {
	if p.cfg.KeepMaximum || p.volatility < calm {
		return 0
	}
	return min(float64(p.cfg.Headroom*math.Sqrt(p.volatility)), mostHeadroom)
}

// early is PackerConfig.Early for the present volatility.
func (p *Packer) early() float64 {
	if p.volatility < calm {
		return 0
	}
	return min(p.cfg.Early, math.Sqrt(p.volatility))
}

// measure takes into the volatility what changed since the last call, if anything. The
// mean of absolute values is little moved by one site that jumps. Only dirty nodes changed; those
// in use that did not count as well.
func (p *Packer) measure(elapsed float64) {
	sum, nodes := 0., 0
	for n := range p.state {
		most := 0.
		for k := range p.resource {
			q := &p.resource[k]
			most = max(most, math.Abs(float64(q.change[n]))/float64(q.capacity[n]))
			q.change[n] = 0
		}
		if most > 0 || p.state[n].sites > 0 {
			sum += most
			nodes++
		}
	}
	if sum > 0 {
		p.measured = min(p.measured+1, volatilityCalls)
		p.volatility += (sum/float64(nodes) - p.volatility) / float64(p.measured+1)
	} else if elapsed > 0 {
		fades := float64(calmTime)
		if p.measured == 0 { // it is only assumed
			fades = volatilityCalls
		}
		p.volatility *= max(0, 1-float64(elapsed/fades))
	}
}
