package binpack

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/ids"
)

// NodeConfig has what a node has beside its capacity.
type NodeConfig struct {
	// Capacities are of the further resources (PackerConfig.Resources), in their order. 0, or one
	// missing, means no limit.
	Capacities []float64
	// Zone is where the node is, for SiteConfig.Zone and Zones. 0 means nowhere: in no other
	// node's zone.
	Zone int
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
