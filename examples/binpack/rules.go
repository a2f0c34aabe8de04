package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// A ruled fleet has 1000 sites on 20 nodes of 60, in three zones, and what an operator asks of some
// sites. Weights drift by 5 % a step.
type ruled struct {
	name                                                string
	resources, replicas, zones, bound, forbidden, costs bool
	failures                                            bool // a node fails every 20 steps and comes back empty
	limits                                              binpack.RebalanceConfig
}

// allRules has all rules together.
var allRules = ruled{resources: true, replicas: true, zones: true, bound: true, forbidden: true, costs: true}

// with returns the rules under a name, with failures of nodes or limits.
func (r ruled) with(name string, failures bool, limits binpack.RebalanceConfig) ruled {
	r.name, r.failures, r.limits = name, failures, limits
	return r
}

// ruledFleets are those that the suite plays. The first has no rules and shows what they cost.
var ruledFleets = []ruled{
	{name: "no rules"},
	{name: "two further resources", resources: true},
	{name: "replicas on different nodes", replicas: true},
	{name: "replicas in different zones", replicas: true, zones: true},
	{name: "bound to three nodes each", bound: true},
	{name: "not allowed on a third of the nodes", forbidden: true},
	{name: "some moves cost 20 times as much", costs: true},
	allRules.with("all of these", false, binpack.RebalanceConfig{}),
	allRules.with("all of these, and nodes fail", true, binpack.RebalanceConfig{}),
	allRules.with("all of these, five moves a step", false, binpack.RebalanceConfig{MaxMoves: 5}),
	allRules.with("all of these, three moves of relief and two of closing", false, binpack.RebalanceConfig{MaxRelief: 3, MaxClosing: 2}),
}

const (
	ruledNodes, ruledSites = 60, 1000
	ruledBound             = 10 // first nodes, which sites are bound to and which do not fail
	ruledSteps             = 200
	ruledZones             = 3
	ruledNeeds             = 2 // further resources
)

// ruledRun plays one.
type ruledRun struct {
	ruled
	rng    *rand.Rand
	p      *binpack.Packer
	nodes  []int // ids, the zone of node k is 1 + k mod 3
	sites  []int
	weight []float64
	rules  []binpack.SiteConfig
}

// ruledTally is what a run comes to, per step.
type ruledTally struct {
	nodes, bound, moves, costly, overloaded float64
}

func newRuledRun(what ruled, seed uint64) (*ruledRun, error) {
	r := &ruledRun{ruled: what, rng: rand.New(rand.NewPCG(seed, 5))}
	r.weight = small.lognormal(r.rng)
	cfg := binpack.PackerConfig{}
	if what.resources {
		cfg.Resources = ruledNeeds
	}
	p, err := binpack.NewPacker(cfg)
	if err != nil {
		return nil, err
	}
	r.p = p
	for range ruledNodes {
		if err := r.addNode(); err != nil {
			return nil, err
		}
	}
	for i := range ruledSites {
		rules := r.draw(i)
		site, _, err := p.AddSite(r.weight[i], rules)
		if err != nil {
			return nil, err
		}
		r.sites, r.rules = append(r.sites, site), append(r.rules, rules)
	}
	return r, nil
}

// addNode adds a node in the next zone.
func (r *ruledRun) addNode() error {
	node, err := r.p.AddNode(1, r.nodeRules(len(r.nodes)))
	r.nodes = append(r.nodes, node)
	return err
}

func (r *ruledRun) nodeRules(k int) binpack.NodeConfig {
	cfg := binpack.NodeConfig{Zone: 1 + k%ruledZones}
	if r.resources {
		for range ruledNeeds {
			cfg.Capacities = append(cfg.Capacities, 1)
		}
	}
	return cfg
}

// draw draws the rules of a site: what it needs of the further resources has its weight's mean and
// half of its logarithm; every third site is one of three replicas; of the others one in ten is
// bound to three of the first ten nodes, one in ten is kept off a third of all, and three in ten are
// costly to move.
func (r *ruledRun) draw(i int) (rules binpack.SiteConfig) {
	if r.resources {
		mean := fleetFill * float64(small.nodes) / ruledSites
		for range ruledNeeds {
			rules.Needs = append(rules.Needs, .8*min(1, math.Sqrt(r.weight[i]*mean)*math.Exp(.5*r.rng.NormFloat64()-.125)))
		}
	}
	kind := r.rng.IntN(10)
	if i%3 == 0 {
		if r.replicas {
			rules.Group, rules.Zones = 1+i/9, r.zones
		}
		return rules
	}
	switch {
	case r.bound && kind == 0:
		for _, k := range r.rng.Perm(ruledBound)[:3] {
			rules.Only = append(rules.Only, r.nodes[k])
		}
	case r.forbidden && kind == 1:
		for _, k := range r.rng.Perm(ruledNodes)[:ruledNodes/3] {
			rules.Never = append(rules.Never, r.nodes[k])
		}
	case r.costs && kind > 6:
		rules.MoveCost = 20
	}
	return rules
}

// step lets weights drift and rebalances.
func (r *ruledRun) step(step int) ([]binpack.Move, error) {
	for i := range r.weight {
		r.weight[i] = min(1, r.weight[i]*math.Exp(.05*r.rng.NormFloat64()-.00125))
		if err := r.p.SetWeight(r.sites[i], r.weight[i]); err != nil {
			return nil, err
		}
	}
	if r.failures && step%20 == 10 {
		k := ruledBound + r.rng.IntN(small.nodes-ruledBound)
		lost, err := r.p.RemoveNode(r.nodes[k])
		if err != nil {
			return nil, err
		}
		if r.nodes[k], err = r.p.AddNode(1, r.nodeRules(k)); err != nil { // of another id
			return nil, err
		}
		moves, err := r.p.Rebalance(r.limits)
		return append(lost, moves...), err
	}
	return r.p.Rebalance(r.limits)
}

// check returns an error if a rule is broken.
func (r *ruledRun) check() error {
	number := make(map[int]int, len(r.nodes))
	for k, id := range r.nodes {
		number[id] = k
	}
	type place struct{ group, node, zone int }
	taken := make(map[place]bool)
	take := func(p place) error {
		if taken[p] {
			return fmt.Errorf("%s: two replicas share %+v", r.name, p)
		}
		taken[p] = true
		return nil
	}
	for i, site := range r.sites {
		node, err := r.p.NodeOf(site)
		if err != nil {
			return err
		}
		rules := r.rules[i]
		if len(rules.Only) > 0 && !slices.Contains(rules.Only, node) || slices.Contains(rules.Never, node) {
			return fmt.Errorf("%s: site %d must not be on node %d", r.name, site, node)
		}
		if rules.Group == 0 {
			continue
		}
		if err := take(place{group: rules.Group, node: node}); err != nil {
			return err
		}
		if rules.Zones {
			if err := take(place{group: rules.Group, node: -1, zone: 1 + number[node]%ruledZones}); err != nil {
				return err
			}
		}
	}
	return nil
}

// play plays the fleet. Overload is counted after the packer has answered.
func (r *ruledRun) play() (t ruledTally, err error) {
	cost := make(map[int]float64, len(r.sites))
	for i, site := range r.sites {
		cost[site] = max(1, r.rules[i].MoveCost)
	}
	for step := range ruledSteps {
		moves, err := r.step(step)
		if err != nil {
			return t, err
		}
		if err := r.check(); err != nil {
			return t, err
		}
		t.moves += float64(len(moves)) / ruledSteps
		for _, m := range moves {
			if cost[m.Site] > 1 {
				t.costly += 1. / ruledSteps
			}
		}
		used, over, sum := 0., 0., make([]float64, 1+ruledNeeds)
		for _, id := range r.nodes {
			s, err := r.p.Node(id)
			if err != nil {
				return t, err
			}
			if s.Sites == 0 {
				continue
			}
			used++
			above := s.Load > s.Capacity
			sum[0] += s.Load
			for k, load := range s.Loads {
				sum[1+k] += load
				above = above || load > s.Capacities[k]
			}
			if above {
				over++
			}
		}
		t.nodes += used / ruledSteps
		t.overloaded += 100 * over / used / ruledSteps
		t.bound += math.Ceil(max(sum[0], sum[1], sum[2])-1e-9) / ruledSteps
	}
	return t, nil
}

// ruledSuite plays the fleets with rules that have this in their name.
func ruledSuite(seed uint64, seeds int, only string) ([]report.Row, error) {
	var rows []report.Row
	for _, what := range ruledFleets {
		if !strings.Contains(what.name, only) {
			continue
		}
		all := make([]ruledTally, seeds)
		err := report.Parallel(what.name, seeds, func(i int) error {
			run, err := newRuledRun(what, seed+uint64(i))
			if err != nil {
				return err
			}
			all[i], err = run.play()
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, q := range []struct {
			name, unit string
			value      func(ruledTally) float64
		}{
			{"node-hours per step", "nodes", func(t ruledTally) float64 { return t.nodes }},
			{"fewest nodes by volume", "nodes", func(t ruledTally) float64 { return t.bound }},
			{"moves per step", "moves", func(t ruledTally) float64 { return t.moves }},
			{"moves of sites that are costly to move", "moves", func(t ruledTally) float64 { return t.costly }},
			{"overloaded node-steps that are left", "%", func(t ruledTally) float64 { return t.overloaded }},
		} {
			values := make([]float64, seeds)
			for i, t := range all {
				values[i] = q.value(t)
			}
			rows = append(rows, report.Row{Source: "recrawl", Item: "rules: " + what.name, Quantity: q.name, Unit: q.unit}.Sample(values))
		}
	}
	return rows, nil
}
