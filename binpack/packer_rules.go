package binpack

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/ids"
)

// SiteConfig has what a site needs beside its weight, and where it may be. The zero value is a
// site like those of AddSite: anywhere.
type SiteConfig struct {
	// Needs are of the further resources (PackerConfig.Resources), in their order; those missing
	// are 0.
	Needs []float64
	// Group is that of replicas, of which no two are on one node. 0 means none.
	Group int
	// Zones keeps the site out of the zones of the other sites of its group as well.
	Zones bool
	// Zone is the one that the site's node must be in. 0 means any.
	Zone int
	// Only has the ids of the nodes that the site may be on: with one of them it is pinned. Empty
	// means all. Never has those that it must not be on. A node of either may be removed later.
	Only, Never []int
	// MoveCost is what a move of the site costs, as a multiple of PackerConfig.MoveCost. 0 means 1,
	// a negative number nothing. At most 10^6; it counts in thousandths.
	MoveCost float64
}

// NodeConfig has what a node has beside its capacity.
type NodeConfig struct {
	// Capacities are of the further resources (PackerConfig.Resources), in their order. 0, or one
	// missing, means no limit.
	Capacities []float64
	// Zone is where the node is, for SiteConfig.Zone and Zones. 0 means nowhere: in no other
	// node's zone.
	Zone int
}

const (
	// moveUnits is the cost of an ordinary move in whole units, so that sums do not depend on
	// their order.
	moveUnits = 1000
	// mostMoveCost bounds SiteConfig.MoveCost, so that no sum overflows.
	mostMoveCost = 1e6
)

// A rule is what a site has of SiteConfig.
type rule struct {
	group       int
	zones       bool
	zone        int
	only, never []int // ids of nodes
	cost        int64 // of a move, in moveUnits
}

// newRule checks a configuration; nil if there is nothing in it but needs.
func (p *Packer) newRule(c SiteConfig) (*rule, error) {
	if !(c.MoveCost <= mostMoveCost) {
		return nil, fmt.Errorf("%w: a move costs %v ordinary ones, more than %v", ErrConfig, c.MoveCost, mostMoveCost)
	}
	for _, id := range c.Only {
		if _, err := p.node(id); err != nil {
			return nil, err
		}
	}
	cost := int64(math.Round(orDefault(c.MoveCost, 1) * moveUnits))
	if c.Group == 0 && c.Zone == 0 && len(c.Only) == 0 && len(c.Never) == 0 && cost == moveUnits {
		return nil, nil
	}
	return &rule{c.Group, c.Zones, c.Zone, slices.Clone(c.Only), slices.Clone(c.Never), cost}, nil
}

// moveCost returns what a move of a site costs, in moveUnits.
func (p *Packer) moveCost(s int) int64 {
	if r := p.rules[int32(s)]; r != nil {
		return r.cost
	}
	return moveUnits
}

// setRule replaces the rule of a site; nil for none.
func (p *Packer) setRule(s int, r *rule) {
	key := int32(s)
	if old := p.rules[key]; old != nil {
		delete(p.rules, key)
		if g := p.groups[old.group]; old.group != 0 {
			k := slices.Index(g, key)
			if g = slices.Delete(g, k, k+1); len(g) > 0 {
				p.groups[old.group] = g
			} else {
				delete(p.groups, old.group)
			}
		}
	}
	if r != nil {
		p.rules[key] = r
		if r.group != 0 {
			p.groups[r.group] = append(p.groups[r.group], key)
		}
	}
}

// candidate is a site to be placed: one that has a slot, or a new one, −1.
type candidate struct {
	site int
	need []int64
	rule *rule
}

// candidate returns a site as a candidate. Its needs are valid until the next call of needs.
func (p *Packer) candidate(s int) candidate { return candidate{s, p.needs(s), p.rules[int32(s)]} }

// allowed reports whether the rule of a candidate lets it be on a node.
func (p *Packer) allowed(c candidate, n int) bool {
	r := c.rule
	if r == nil {
		return true
	}
	if id := p.nodes.ID(n); len(r.only) > 0 && !slices.Contains(r.only, id) || slices.Contains(r.never, id) {
		return false
	}
	zone := p.state[n].zone
	if r.zone != 0 && zone != r.zone {
		return false
	}
	if r.group == 0 {
		return true
	}
	for _, m := range p.groups[r.group] {
		if int(m) == c.site {
			continue
		}
		other := int(p.home[m])
		apart := r.zones || p.rules[m].zones
		if other == n || apart && zone != 0 && zone == p.state[other].zone {
			return false
		}
	}
	return true
}

// convert returns what a site needs of each resource; old is the slot it has, or −1.
func (p *Packer) convert(weight float64, needs []float64, old int) ([]int64, error) {
	if len(needs) >= len(p.resource) {
		return nil, fmt.Errorf("%w: %d needs of %d further resources", ErrConfig, len(needs), p.cfg.Resources)
	}
	units := make([]int64, len(p.resource))
	for k := range p.resource {
		w := weight
		if k > 0 {
			w = 0
			if k <= len(needs) {
				w = needs[k-1]
			}
		}
		had := int64(0)
		if old >= 0 {
			had = p.resource[k].weight[old]
		}
		var err error
		if units[k], err = p.resource[k].units(w, had); err != nil {
			if k > 0 {
				err = fmt.Errorf("%w (need %d)", err, k-1)
			}
			return nil, err
		}
	}
	return units, nil
}

// AddSite adds a site and places it at once where its rules allow: on the first node in use where
// it leaves two headrooms, else the emptiest where it leaves one, else on a spare, else where it
// overloads least. It returns the ids of the site and its node. [ErrWeight]; [ErrConfig] for rules
// that are none; [ErrUnknown] for a node of Only; [ErrNoRoom] if no node takes sites, or the site is
// larger than every node that does. O(log nodes) for a site without rules.
func (p *Packer) AddSite(weight float64, cfg SiteConfig) (site, node int, err error) {
	rule, err := p.newRule(cfg)
	if err != nil {
		return 0, 0, err
	}
	need, err := p.convert(weight, cfg.Needs, -1)
	if err != nil {
		return 0, 0, err
	}
	c := candidate{-1, need, rule}
	n := p.choose(c, -1)
	if n < 0 {
		return 0, 0, fmt.Errorf("%w: no node takes sites", ErrNoRoom)
	}
	if !p.holds(c, n) {
		if len(cfg.Needs) > 0 {
			return 0, 0, fmt.Errorf("%w: weight %v, needs %v", ErrNoRoom, weight, cfg.Needs)
		}
		return 0, 0, fmt.Errorf("%w: weight %v", ErrNoRoom, weight)
	}
	site = p.sites.Add()
	s := ids.Slot(site)
	if s == len(p.home) {
		p.home = append(p.home, 0)
	}
	for k := range p.resource {
		q := &p.resource[k]
		q.grow(s+1, 0)
		if k > 0 && k <= len(cfg.Needs) {
			p.adopt(k, cfg.Needs[k-1])
		}
		q.weight[s] = need[k]
		q.total += need[k]
	}
	p.home[s] = int32(n)
	p.setRule(s, rule)
	p.attach(s, n)
	return site, p.nodes.ID(n), nil
}

// holds reports whether any node could take a candidate if it were empty; node n is asked
// first.
func (p *Packer) holds(c candidate, n int) bool {
	large := func(n int) bool {
		for k, w := range c.need {
			if w > p.resource[k].capacity[n] {
				return false
			}
		}
		return true
	}
	if large(n) {
		return true
	}
	if p.plain() && c.rule == nil {
		n, _ := p.largest.Least()
		return large(n)
	}
	for n := range p.state {
		if p.nodes.Live(n) && !p.state[n].drained && large(n) && p.allowed(c, n) {
			return true
		}
	}
	return false
}

// SetSite replaces the needs and rules of a site. If they do not allow its node, the next call of
// Rebalance moves it. [ErrUnknown] for the site or a node of Only, [ErrConfig] and [ErrWeight].
func (p *Packer) SetSite(site int, cfg SiteConfig) error {
	s, err := p.site(site)
	if err != nil {
		return err
	}
	rule, err := p.newRule(cfg)
	if err != nil {
		return err
	}
	need, err := p.convert(0, cfg.Needs, s)
	if err != nil {
		return fmt.Errorf("%w (site %d)", err, site)
	}
	n := int(p.home[s])
	for k := 1; k < len(p.resource); k++ {
		if k <= len(cfg.Needs) {
			p.adopt(k, cfg.Needs[k-1])
		}
		p.resource[k].set(s, n, need[k])
	}
	p.state[n].cost -= p.moveCost(s)
	p.setRule(s, rule)
	p.state[n].cost += p.moveCost(s)
	p.touch(n)
	p.suspect(s)
	return nil
}

// suspect notes that a site may be where its rule does not allow it. With a group it may be
// another one of it that is to move, which comes to the same.
func (p *Packer) suspect(s int) {
	if c := p.candidate(s); !p.allowed(c, int(p.home[s])) && !slices.Contains(p.unruly, int32(s)) {
		p.unruly = append(p.unruly, int32(s))
	}
}

// AddNode adds a spare node and returns its id. [ErrCapacity] if a capacity is below the quantum or
// not finite, and [ErrConfig] for more capacities than there are resources. O(log nodes).
func (p *Packer) AddNode(capacity float64, cfg NodeConfig) (int, error) {
	c, err := p.rooms(capacity, cfg, p.LenNodes() > 0)
	if err != nil {
		return 0, err
	}
	id := p.nodes.Add()
	n := ids.Slot(id)
	if n == len(p.state) {
		p.state = append(p.state, nodeState{})
		for k := range p.resource {
			p.resource[k].grow(0, n+1)
		}
	}
	for k := range p.resource {
		p.resource[k].capacity[n] = c[k]
	}
	p.state[n] = nodeState{zone: cfg.Zone, dirty: p.state[n].dirty}
	p.growTrees(n + 1)
	p.touch(n)
	return id, nil
}

func (p *Packer) growTrees(n int) {
	p.emptiest.Grow(n)
	p.roomiest.Grow(n)
	p.spares.Grow(n)
	p.fullest.Grow(n)
	p.cheapest.Grow(n)
	p.largest.Grow(n)
}

// SetNode replaces the limits and the zone of a node. Sites that its zone does not allow are moved
// by the next call of Rebalance. Errors are those of AddNode. O(1), and O(sites) for another
// zone.
func (p *Packer) SetNode(node int, cfg NodeConfig) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	c, err := p.rooms(p.resource[0].value(p.resource[0].capacity[n]), cfg, true)
	if err != nil {
		return err
	}
	for k := 1; k < len(p.resource); k++ {
		p.resource[k].capacity[n] = c[k]
	}
	p.touch(n)
	if p.state[n].zone != cfg.Zone {
		p.state[n].zone = cfg.Zone
		if len(p.rules) > 0 {
			p.resource[0].sites.All(n, func(s int) bool { p.suspect(s); return true })
		}
	}
	return nil
}

// rooms converts the capacities of a node; keep that the quantum of the weight is to stay.
func (p *Packer) rooms(capacity float64, cfg NodeConfig, keep bool) ([]int64, error) {
	if len(cfg.Capacities) >= len(p.resource) {
		return nil, fmt.Errorf("%w: %d capacities of %d further resources", ErrConfig, len(cfg.Capacities), p.cfg.Resources)
	}
	c := make([]int64, len(p.resource))
	for k := range p.resource {
		x := capacity
		if k > 0 {
			if c[k] = unlimited; k > len(cfg.Capacities) || cfg.Capacities[k-1] == 0 {
				continue
			}
			x = cfg.Capacities[k-1]
		}
		var err error
		if c[k], err = p.room(k, x, keep || k > 0); err != nil {
			if k > 0 {
				err = fmt.Errorf("%w (capacity %d)", err, k-1)
			}
			return nil, err
		}
	}
	return c, nil
}

// room converts a capacity for resource k; another quantum changes the keys of all nodes.
func (p *Packer) room(k int, capacity float64, keep bool) (int64, error) {
	was := p.resource[k].exp
	c, err := p.resource[k].room(capacity, keep)
	p.requantised(k, was)
	return c, err
}

// adopt lets the quantum of further resource k suit a need.
func (p *Packer) adopt(k int, need float64) {
	was := p.resource[k].exp
	p.resource[k].adopt(need)
	p.requantised(k, was)
}

// requantised makes all keys new where the exponent of a quantum is not what it was.
func (p *Packer) requantised(k, was int) {
	if p.resource[k].exp != was {
		for n := range p.state {
			p.touch(n)
		}
	}
}
