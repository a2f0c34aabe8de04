package binpack

import (
	"fmt"
	"iter"
	"math"

	"github.com/recrawl/recrawl/binpack/internal/order"
	"github.com/recrawl/recrawl/internal/ids"
)

// A Packer keeps sites on nodes with few moves, while sites and nodes come and go and weights
// change. Tell it what happens with AddSite, RemoveSite, SetWeight, AddNode, RemoveNode,
// SetCapacity and Drain, and call Rebalance at regular intervals to learn what to move. Take it to
// run a fleet; take [Pack] to pack a fixed set of items once.
//
// [SiteConfig] and [NodeConfig] are for needs that not every fleet has: several resources, replicas
// that must not share a node or a zone, sites bound to a zone or to some nodes, sites whose moves
// cost more than those of others. No move breaks such a rule.
//
// A node without sites is a spare. The packer uses as few nodes as its settings allow. To spread
// the sites over all nodes instead, give each node a capacity a little above its fair share of the
// load, such as 1.1 times, and set it anew with SetCapacity before each Rebalance.
//
// Ids of sites and nodes are valid until the site or node is removed, and are never given out
// twice. A Packer draws nothing at random: the same calls give the same moves. It is not safe for
// concurrent use.
//
// # How it works
//
// Relief: an overloaded node is relieved by one site at a time. The packer makes the move that
// minimises the load of the fuller of the two nodes. That lowers the load as far as one move can,
// not just below the capacity, so that the next move is not needed soon. If no node in use can take
// a site, two sites change places. One more node is used in three cases: an exchange does not help
// either; the nodes in use have no headroom left; or a site has become so large that many small
// ones would have to make room for it, and their moves would cost more than the extra node until it
// can be closed again.
//
// Closing: a node is superfluous while the other nodes in use have the room to do without it. Such
// a node costs something as long as it stays open. Once that cost pays for the moves that empty a
// node, the packer closes the node whose sites are cheapest to move. So a dip in the load that is
// shorter than the payback closes no node. If the load stays away, the number of nodes follows it
// down. The cost of waiting does not exceed the cost of the moves (the ski rental argument, Karlin
// et al. 1988).
//
// If a spare has to be opened meanwhile, the node that has been superfluous for the longest time
// was needed after all, and its time begins anew. So if spares are opened again and again before
// the payback, nodes stay open for them. If more than a fortieth of the nodes in use are
// superfluous, their costs are saved up together and pay for the first of them sooner.
//
// # Cost
//
// Time: O(1) for a change of weight, O(log) if the weight changes by a tenth or more; O(log nodes)
// for a new site and for a removal; O(nodes·k) for a new site of a group of k. A capacity or need
// that changes the quantum takes O(sites + nodes); quanta are powers of ten, so that is rare.
// Rebalance states its own cost.
//
// Memory: about 24 bytes a site, some 250 bytes a node, and 8 bytes for each class of weights on a
// node. There are 8 classes for every factor of 2.
type Packer struct {
	cfg      PackerConfig // resolved
	sites    ids.Registry
	home     []int32    // node slot of each site slot
	resource []resource // the weight, then the further ones

	rules  map[int32]*rule    // rule of each site slot that has one
	groups map[int][]int32    // site slots of each group
	unruly []int32            // site slots whose rules may be broken where they are, each once
	listed map[int32]struct{} // the same site slots

	nodes ids.Registry
	state []nodeState // of each node slot
	dirty []int32     // node slots whose keys in the trees are old

	// The trees of nodes: those that take sites, by fill (emptiest) and by room (roomiest); those
	// without sites (spares); those that may be relieved (fullest); those that may be closed
	// (cheapest); and all that are not drained, by capacity (largest). See refresh.
	emptiest, roomiest, spares, fullest, cheapest, largest order.Tree

	volatility float64 // see PackerConfig.Headroom
	measured   int     // number of calls that the volatility averages, at most volatilityCalls
	spells     spells  // of the superfluous nodes, to pay for closing them
	opened     int     // spares that have taken sites since spells were last brought up to date
	saved      float64 // what many superfluous nodes have cost so far, to pay for closing them sooner
	surplus    float64 // the most superfluous nodes while saving, by which it saves; 0 while it does not
	closing    int     // the node slot that is being closed, −1 for none
	owed       float64 // moves that a limit still owes to drains and closing
	debt       int     // sites tried in vain to close nodes, beyond what calls allow

	need []int64 // scratch
}

// nodeState is what is known of a node beside its resources.
type nodeState struct {
	sites   int
	cost    int64 // of moving all its sites, in moveUnits
	zone    int
	drained bool // takes no sites
	leaving bool // takes no sites while a rebalance closes nodes, because it will be closed as well
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
	p.rules, p.groups, p.listed = map[int32]*rule{}, map[int][]int32{}, map[int32]struct{}{}
	return p
}

// made panics if p is a zero value.
func (p *Packer) made() {
	if p.resource == nil {
		panic("binpack: a Packer that is a zero value: make it with NewPacker, or load a saved one")
	}
}

// plain reports whether sites differ only in their weights.
func (p *Packer) plain() bool { return len(p.resource) == 1 && len(p.rules) == 0 }

// Slot returns the small index in the id of a site or of a node: 0 for the first, and so on. Use it
// for slices of your own. No two sites have the same index at the same time, and no two nodes do.
// After a removal the index is used again, with a new id.
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

// SetCapacity changes the capacity of a node. The error is [ErrUnknown], or [ErrConfig] as for
// AddNode. O(1), unless the quantum changes (see Packer).
func (p *Packer) SetCapacity(node int, capacity float64) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	c, err := p.room(0, n, capacity, p.LenNodes() > 1)
	if err != nil {
		return err
	}
	p.settle(0, c)
	p.resource[0].capacity[n] = c.units
	p.touch(n)
	return nil
}

// Drain makes a node take no more sites; Rebalance moves its present sites elsewhere. If drain is
// false, the node takes sites again. O(1).
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

// RemoveNode removes a node. If it still has sites, because it failed or was not drained, they are
// placed on other nodes at once, whatever room there is, and are returned as moves. The error is
// [ErrNoRoom] if one of its sites may go to no other node. O((sites + 1)·log nodes).
func (p *Packer) RemoveNode(node int) ([]Move, error) {
	n, err := p.node(node)
	if err != nil {
		return nil, err
	}
	drained := p.state[n].drained
	p.state[n].drained = true
	p.touch(n)
	r := run{Packer: p}
	sites, closing := p.heaviest(n), p.closing
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
	var order [][]int
	if len(p.rules) > 0 {
		order = p.order(n)
	}
	for _, s := range sites {
		to := p.choose(p.candidate(s), n)
		if to < 0 { // two sites of a group were on this node, and the first took the last place
			r.undo()
			p.reorder(n, order)
			if p.closing = closing; closing >= 0 {
				p.touch(closing)
			}
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

// order returns, for each resource, the sites of a node in the order in which the resource has
// them.
func (p *Packer) order(n int) [][]int {
	order := make([][]int, len(p.resource))
	for k := range p.resource {
		p.resource[k].sites.All(n, func(s int) bool { order[k] = append(order[k], s); return true })
	}
	return order
}

// reorder brings the sites of a node into an order.
func (p *Packer) reorder(n int, order [][]int) {
	for k, sites := range order {
		q := &p.resource[k]
		for _, s := range sites {
			q.sites.Remove(n, s, q.weight[s])
			q.sites.Add(n, s, q.weight[s])
		}
	}
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

// SetWeight sets the present weight of a site, which may be more than any node can take. O(1), and
// O(log) if it changes by a tenth or so.
func (p *Packer) SetWeight(site int, weight float64) error {
	s, err := p.site(site)
	if err != nil {
		return err
	}
	w, err := p.resource[0].units(weight, p.resource[0].weight[s])
	if err != nil {
		return fmt.Errorf("%w (site %d)", err, site)
	}
	p.resource[0].set(s, int(p.home[s]), w.units)
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

// A NodeState is what a [Packer] knows about a node. The node is overloaded if Load is above
// Capacity, or if one of Loads is above the corresponding one of Capacities.
type NodeState struct {
	Load, Capacity float64 // in units of weight
	Sites          int
	Drained        bool
	// Loads and Capacities are those of the further resources. A capacity of +Inf means no limit.
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
