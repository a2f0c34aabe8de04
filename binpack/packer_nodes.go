package binpack

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/ids"
)

// NodeConfig has the settings of a node besides its capacity.
type NodeConfig struct {
	// Capacities are the capacities for the further resources (PackerConfig.Resources), in their
	// order. A capacity that is 0 or missing means no limit.
	Capacities []float64
	// Zone is where the node is, for SiteConfig.Zone and Zones. 0 means that the node shares no
	// zone with any other.
	Zone int
}

// AddNode adds a spare node and returns its id. The error is [ErrConfig] if a capacity is below
// the quantum or above 10^300, or so large that, in the quantum it requires, another node would
// have no capacity left, or if there are more capacities than resources. O(log nodes).
func (p *Packer) AddNode(capacity float64, cfg NodeConfig) (int, error) {
	p.made()
	c, err := p.rooms(-1, capacity, cfg, p.LenNodes() > 0)
	if err != nil {
		return 0, err
	}
	for k := range p.resource {
		p.settle(k, c[k])
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
		p.resource[k].capacity[n] = c[k].units
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

// SetNode replaces the further capacities and the zone of a node. The next call of Rebalance moves
// the sites that its zone does not allow. Errors are [ErrUnknown] and those of AddNode. O(1), and
// O(sites) if the zone changes.
func (p *Packer) SetNode(node int, cfg NodeConfig) error {
	n, err := p.node(node)
	if err != nil {
		return err
	}
	c, err := p.rooms(n, p.resource[0].value(p.resource[0].capacity[n]), cfg, true)
	if err != nil {
		return err
	}
	for k := 1; k < len(p.resource); k++ {
		p.settle(k, c[k])
		p.resource[k].capacity[n] = c[k].units
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

// rooms converts the capacities of node slot n, or of a new node if n is −1. keep reports whether
// the quantum of the weight must stay.
func (p *Packer) rooms(n int, capacity float64, cfg NodeConfig, keep bool) ([]amount, error) {
	if len(cfg.Capacities) >= len(p.resource) {
		return nil, fmt.Errorf("%w: %d capacities of %d further resources", ErrConfig, len(cfg.Capacities), p.cfg.Resources)
	}
	c := make([]amount, len(p.resource))
	for k := range p.resource {
		x := capacity
		if k > 0 {
			q := &p.resource[k]
			if c[k] = (amount{unlimited, q.exp, q.known, false}); k > len(cfg.Capacities) || cfg.Capacities[k-1] == 0 {
				continue
			}
			x = cfg.Capacities[k-1]
		}
		var err error
		if c[k], err = p.room(k, n, x, keep || k > 0); err != nil {
			if k > 0 {
				err = fmt.Errorf("%w (capacity %d)", err, k-1)
			}
			return nil, err
		}
	}
	return c, nil
}

// room converts a capacity of node slot n for resource k.
func (p *Packer) room(k, n int, capacity float64, keep bool) (amount, error) {
	r, err := p.resource[k].room(capacity, keep)
	if err == nil {
		if other := p.tiny(k, n, r); other >= 0 {
			return r, fmt.Errorf("%w: capacity %v is too large beside node %d, which has %v (see PackerConfig.Quantum)", ErrConfig, capacity,
				p.nodes.ID(other), p.resource[k].value(p.resource[k].capacity[other]))
		}
	}
	return r, err
}

// tiny returns the slot of a node, other than n, whose capacity of resource k would be less than
// one quantum if the quantum became that of r. It returns −1 if there is none.
func (p *Packer) tiny(k, n int, r amount) int {
	q := &p.resource[k]
	if r.anew || r.exp == q.exp {
		return -1
	}
	by := q.factor(r.exp)
	for other, c := range q.capacity {
		if other != n && c < by && p.nodes.Live(other) {
			return other
		}
	}
	return -1
}

// settle makes the quantum of r the quantum of resource k. If that changes the quantum, it changes
// the keys of all nodes.
func (p *Packer) settle(k int, r amount) {
	was := p.resource[k].exp
	p.resource[k].settle(r)
	p.requantised(k, was)
}

// requantised marks the keys of all nodes as out of date if the exponent of the quantum has
// changed.
func (p *Packer) requantised(k, was int) {
	if p.resource[k].exp != was {
		for n := range p.state {
			p.touch(n)
		}
	}
}
