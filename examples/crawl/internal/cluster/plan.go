package cluster

import (
	"math"

	"github.com/recrawl/recrawl/binpack"
)

const (
	// slack is how far above its fair share the load of a node may drift before a shard leaves it.
	slack = 0.15
	// tight is likewise when a node joins, which should get about its share at once.
	tight = 0.02
	// least is the weight of a shard of which nothing is known, or that has nothing to do.
	least = 1e-6
	// most is the greatest power of a node.
	most = 1e6
)

// A Plan says which shard is to live where. A packer decides it: when nodes come and go, or the
// loads of shards drift, few shards move.
type Plan struct {
	Packer []byte         `json:"packer"`
	Nodes  map[string]int `json:"nodes"` // name → id
	Sites  []int          `json:"sites"` // shard → id
	Homes  []string       `json:"homes"` // shard → name
	Moves  int            `json:"moves"` // so far
}

// Next returns the plan that follows: powers are those of the nodes that are there, one at least,
// weights the loads of the shards.
func (p Plan) Next(powers map[string]float64, weights []float64) (Plan, error) {
	packer, err := binpack.NewPacker(binpack.PackerConfig{Headroom: -1, Early: -1, NodeCost: -1})
	if err != nil {
		return p, err
	}
	next := Plan{Nodes: map[string]int{}, Sites: p.Sites, Moves: p.Moves}
	if len(p.Packer) > 0 {
		if err := packer.UnmarshalBinary(p.Packer); err != nil {
			return p, err
		}
	}
	weights = normalised(weights)
	joined, err := next.enter(packer, p.Nodes, powers)
	if err != nil {
		return p, err
	}
	if err := next.capacities(packer, powers, len(weights), joined); err != nil {
		return p, err
	}
	for _, name := range sorted(p.Nodes) {
		if _, ok := next.Nodes[name]; !ok {
			if _, err := packer.RemoveNode(p.Nodes[name]); err != nil {
				return p, err
			}
		}
	}
	if err := next.load(packer, weights); err != nil {
		return p, err
	}
	if _, err := packer.Rebalance(binpack.RebalanceConfig{}); err != nil {
		return p, err
	}
	if err := next.capacities(packer, powers, len(weights), false); err != nil {
		return p, err
	}
	if next.Packer, err = packer.MarshalBinary(); err != nil {
		return p, err
	}
	names := map[int]string{}
	for name, id := range next.Nodes {
		names[id] = name
	}
	for i, site := range next.Sites {
		node, err := packer.NodeOf(site)
		if err != nil {
			return p, err
		}
		next.Homes = append(next.Homes, names[node])
		if i < len(p.Homes) && p.Homes[i] != names[node] {
			next.Moves++
		}
	}
	return next, nil
}

// enter takes over the nodes that are there still, and adds those that joined, if any.
func (p *Plan) enter(packer *binpack.Packer, before map[string]int, powers map[string]float64) (joined bool, err error) {
	for _, name := range sorted(powers) {
		id, ok := before[name]
		if !ok {
			joined = true
			if id, err = packer.AddNode(1, binpack.NodeConfig{}); err != nil {
				return joined, err
			}
		}
		p.Nodes[name] = id
	}
	return joined, nil
}

// load tells the packer the loads of the shards, all of which are new to begin with.
func (p *Plan) load(packer *binpack.Packer, weights []float64) error {
	for i, w := range weights {
		if i < len(p.Sites) {
			if err := packer.SetWeight(p.Sites[i], w); err != nil {
				return err
			}
			continue
		}
		site, _, err := packer.AddSite(w, binpack.SiteConfig{})
		if err != nil {
			return err
		}
		p.Sites = append(p.Sites, site)
	}
	return nil
}

// capacities sets those of the nodes: a fair share of all, and some room to drift. Where a node
// joins there is as little room as whole shards allow.
func (p *Plan) capacities(packer *binpack.Packer, powers map[string]float64, shards int, joined bool) error {
	sum := 0.0
	for _, power := range powers {
		sum += power
	}
	for _, name := range sorted(powers) {
		fair := powers[name] / sum
		capacity := max(fair*(1+slack), math.Ceil(fair*float64(shards)-1e-9)/float64(shards)*(1+tight))
		if joined {
			capacity = fair*(1+tight) + 0.5/float64(shards)
		}
		if err := packer.SetCapacity(p.Nodes[name], capacity); err != nil {
			return err
		}
	}
	return nil
}

// normalised returns weights whose sum is 1.
func normalised(weights []float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += max(w, least)
	}
	all := make([]float64, len(weights))
	for i, w := range weights {
		all[i] = max(w, least) / sum
	}
	return all
}
