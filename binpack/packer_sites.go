package binpack

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/ids"
)

// AddSite adds a site, places it at once where its rules allow, and returns the ids of the site and
// its node. It takes the first of these that its rules allow:
//
//   - the first node in use on which the site leaves two headrooms of the largest node;
//   - the node in use that is the least full with the site, if it leaves one headroom there;
//   - a spare;
//   - the node that it overloads least.
//
// The error is [ErrConfig] for a weight or need out of range, also for a need so large that, in the
// quantum it requires, some node would have no capacity left, and for a MoveCost out of range;
// [ErrUnknown] for an unknown node in Only; [ErrNoRoom] if its rules allow no node that takes
// sites, or if it is larger than every such node. O(log nodes) for a site without rules.
func (p *Packer) AddSite(weight float64, cfg SiteConfig) (site, node int, err error) {
	p.made()
	rule, err := p.newRule(cfg)
	if err != nil {
		return 0, 0, err
	}
	need, err := p.convert(weight, cfg.Needs, -1)
	if err != nil {
		return 0, 0, err
	}
	now := p.need // in the present quanta
	for k, r := range need {
		if now[k] = r.units; !r.anew && r.exp != p.resource[k].exp {
			now[k] = mostQuanta + 1 // more than any limit
		}
	}
	c := candidate{-1, now, rule}
	n := p.choose(c, -1)
	if n < 0 && rule != nil {
		return 0, 0, fmt.Errorf("%w: no node that takes sites is allowed by %+v", ErrNoRoom, cfg)
	}
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
		p.settle(k, need[k])
		q.weight[s] = need[k].units
		q.total += need[k].units
	}
	p.home[s] = int32(n)
	p.setRule(s, rule)
	p.attach(s, n)
	return site, p.nodes.ID(n), nil
}

// SetSite replaces the needs and rules of a site. If they do not allow its node, the next call of
// Rebalance moves it. The error is [ErrUnknown] for the site or a node in Only, or [ErrConfig].
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
		p.settle(k, need[k])
		p.resource[k].set(s, n, need[k].units)
	}
	p.state[n].cost -= p.moveCost(s)
	p.setRule(s, rule)
	p.state[n].cost += p.moveCost(s)
	p.touch(n)
	p.suspect(s)
	return nil
}

// convert returns what a site needs of each resource. old is the slot of the site, or −1 if it is
// new.
func (p *Packer) convert(weight float64, needs []float64, old int) ([]amount, error) {
	if len(needs) >= len(p.resource) {
		return nil, fmt.Errorf("%w: %d needs of %d further resources", ErrConfig, len(needs), p.cfg.Resources)
	}
	units := make([]amount, len(p.resource))
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
		if units[k], err = p.resource[k].units(w, had); err == nil {
			if n := p.tiny(k, -1, units[k]); n >= 0 {
				err = fmt.Errorf("%w: weight %v is too large beside node %d, which has %v", ErrConfig, w,
					p.nodes.ID(n), p.resource[k].value(p.resource[k].capacity[n]))
			}
		}
		if err != nil {
			if k > 0 {
				err = fmt.Errorf("%w (need %d)", err, k-1)
			}
			return nil, err
		}
	}
	return units, nil
}

// holds reports whether any node could take a candidate if that node were empty. It tries node n
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
