package binpack

import (
	"fmt"
	"math"
	"slices"
)

// SiteConfig says what a site needs besides its weight, and where it may be. The zero value is a
// site that may be anywhere and needs nothing else.
type SiteConfig struct {
	// Needs are the needs for the further resources (PackerConfig.Resources), in their order.
	// Missing ones are 0.
	Needs []float64
	// Group is a number that replicas share. No two sites of a group are on one node. 0 means no
	// group.
	Group int
	// Zones also keeps the site out of the zones of the other sites of its group.
	Zones bool
	// Zone is the zone that the site's node must be in. 0 means any.
	Zone int
	// Only has the ids of the nodes that the site may be on; empty means all nodes, and a single id
	// pins the site. Never has the ids of the nodes that it must not be on. Nodes of both lists may
	// be removed later.
	Only, Never []int
	// MoveCost is the cost of a move of the site, as a multiple of PackerConfig.MoveCost. It is at
	// most 10^6 and counts in thousandths. 0 means 1; a negative number means that moves cost
	// nothing.
	MoveCost float64
}

const (
	// moveUnits is the cost of an ordinary move. Costs are whole numbers, so that sums do not
	// depend on their order.
	moveUnits = 1000
	// mostMoveCost bounds SiteConfig.MoveCost, so that no sum overflows.
	mostMoveCost = 1e6
)

// A rule is what a SiteConfig says about a site, except its needs.
type rule struct {
	group       int
	zones       bool
	zone        int
	only, never []int // ids of nodes
	cost        int64 // of a move, in moveUnits
}

// newRule checks a configuration and returns its rule, or nil if it has only needs.
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

// candidate is a site to be placed. Its slot is −1 if it is new.
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

// suspect notes a site that is where its rule does not allow it. If a group is at fault, another
// site of the group could move instead, with the same effect.
func (p *Packer) suspect(s int) {
	if c := p.candidate(s); !p.allowed(c, int(p.home[s])) {
		p.list(int32(s))
	}
}

// list adds a site slot to unruly unless it is there already.
func (p *Packer) list(s int32) {
	if _, ok := p.listed[s]; !ok {
		p.unruly = append(p.unruly, s)
		p.listed[s] = struct{}{}
	}
}
