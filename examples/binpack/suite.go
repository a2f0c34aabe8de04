package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// tally is what a run of a policy on a workload comes to, per step or per node
// and step.
type tally struct {
	nodes, bound, moves, overloaded, excess float64
	end                                     float64 // nodes at the end, as a share of their bound
}

// play runs a policy on a workload. Overload is counted when the fleet has
// changed and the policy has not yet answered.
func play(w *workload, newBalancer func(*workload) (balancer, error)) (t tally, err error) {
	b, err := newBalancer(w)
	if err != nil {
		return t, err
	}
	now, err := b.place()
	if err != nil {
		return t, err
	}
	home := append([]int(nil), now...)
	nodeSteps := 0.0
	used := 0
	for step := range w.steps {
		if err := w.next(step); err != nil {
			return t, err
		}
		for n, load := range loads(home, w.weights, len(w.capacity)) {
			if load < 0 || w.capacity[n] == 0 {
				continue
			}
			nodeSteps++
			if over := load/w.capacity[n] - 1; over > 1e-9 {
				t.overloaded++
				t.excess += over
			}
		}
		now, err := b.place()
		if err != nil {
			return t, err
		}
		for i, n := range now {
			if i == len(home) {
				home = append(home, -1)
			}
			if n != home[i] {
				if n >= 0 && home[i] >= 0 {
					t.moves++
				}
				home[i] = n
			}
		}
		used = 0
		for _, load := range loads(home, w.weights, len(w.capacity)) {
			if load >= 0 {
				used++
			}
		}
		t.nodes += float64(used)
		t.bound += w.bound()
	}
	t.end = float64(used) / w.bound()
	t.nodes /= float64(w.steps)
	t.bound /= float64(w.steps)
	t.moves /= float64(w.steps)
	t.overloaded *= 100 / nodeSteps
	t.excess *= 100 / nodeSteps
	return t, nil
}

// loads returns the load of each of the nodes, −1 for those without sites.
func loads(home []int, weights []float64, nodes int) []float64 {
	load := make([]float64, nodes)
	for n := range load {
		load[n] = -1
	}
	for i, n := range home {
		if n >= 0 && weights[i] >= 0 {
			load[n] = max(load[n], 0) + weights[i]
		}
	}
	return load
}

// policy is a balancer under its name.
type policy struct {
	name  string
	make  func(*workload) (balancer, error)
	small bool // it is too slow for a large fleet, or pointless
}

// policies are those that the suite compares.
func policies() []policy {
	none := binpack.RebalanceConfig{}
	return []policy{
		{name: "Packer", make: newLiving(binpack.PackerConfig{}, none)},
		{name: "Packer, tight", make: newLiving(tight(), none)},
		{name: "Packer, 5 moves a step", make: newLiving(binpack.PackerConfig{}, binpack.RebalanceConfig{MaxMoves: 5}), small: true},
		{name: "keep the maximum subset", make: newLiving(binpack.PackerConfig{KeepMaximum: true}, none), small: true},
		{name: "BFD from scratch", make: newScratch},
		{name: "consistent hashing, bounded loads", make: newHashing},
		{name: "threshold + greedy", make: newGreedy},
	}
}

// part is a fleet of the suite and how long it is played.
type part struct {
	name         string
	size         size
	seeds, steps int // steps at most, 0 for all
	rules        bool
}

// parts returns those of the suite that are named.
func parts(names string, quick bool) ([]part, error) {
	all := []part{{name: "small", size: small, seeds: 20}, {name: "rules", seeds: 20, rules: true},
		{name: "nodes", size: manyNodes, seeds: 1, steps: 60}, {name: "sites", size: manySites, seeds: 1, steps: 60}}
	if quick {
		all = []part{{name: "small", size: small, seeds: 1, steps: 50}, {name: "rules", seeds: 1, rules: true},
			{name: "nodes", size: size{2000, 40}, seeds: 1, steps: 20}, {name: "sites", size: size{2000, 10}, seeds: 1, steps: 20}}
	}
	var chosen []part
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		k := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if k < 0 {
			return nil, report.Usagef("-fleets %s: no such fleet; there are small, rules, nodes and sites", name)
		}
		if slices.ContainsFunc(chosen, func(p part) bool { return p.name == name }) {
			return nil, report.Usagef("-fleets: %s twice", name)
		}
		chosen = append(chosen, all[k])
	}
	return chosen, nil
}

// items returns the names of what is played.
func (p part) items() (names []string) {
	if p.rules {
		for _, what := range ruledFleets {
			names = append(names, what.name)
		}
		return names
	}
	for _, w := range workloads(p.size) {
		names = append(names, w.name)
	}
	return names
}

// suite compares the policies on the workloads with this in their name, and plays the fleets with
// rules of which that is so.
func suite(prog *report.Program, fleets, only string) ([]report.Row, *report.Page, error) {
	parts, err := parts(fleets, prog.Quick)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, part := range parts {
		names = append(names, part.items()...)
	}
	if err := report.Known("only", only, names); err != nil {
		return nil, nil, err
	}
	var rows []report.Row
	page := &report.Page{Title: "Keeping sites on nodes while weights change",
		Lead: "Means over the seeds. Nodes: node-hours per step. Moves/step: sites that change their node. " +
			"Overloaded: node-steps with a load above the capacity, before the policy answers. Excess: the load above it, in % of the capacity. " +
			"At the end: nodes in use over the fewest that could hold the load."}
	for _, part := range parts {
		if part.rules {
			ruled, err := ruledSuite(prog.Seed, part.seeds, only)
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, ruled...)
			continue
		}
		for _, w := range workloads(part.size) {
			if !strings.Contains(w.name, only) {
				continue
			}
			section := report.Section{Title: w.name, Header: []string{"policy", "nodes", "moves/step", "overloaded %", "excess %", "at the end"}}
			for _, p := range policies() {
				if part.size != small && p.small {
					continue
				}
				tallies, err := tallies(w, p, prog.Seed, part.seeds, part.steps)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %s: %w", w.name, p.name, err)
				}
				cells := []string{p.name}
				for _, q := range quantities {
					values := make([]float64, part.seeds)
					for i, t := range tallies {
						values[i] = q.value(t)
					}
					row := report.Row{Source: "recrawl", Item: w.name + ": " + p.name, Quantity: q.name, Unit: q.unit}.Sample(values)
					rows = append(rows, row)
					cells = append(cells, report.Format(row.Measured))
				}
				section.Rows = append(section.Rows, cells)
			}
			page.Sections = append(page.Sections, section)
		}
	}
	return rows, page, nil
}

// quantities are the columns of the suite.
var quantities = []struct {
	name, unit string
	value      func(tally) float64
}{
	{"node-hours per step", "nodes", func(t tally) float64 { return t.nodes }},
	{"moves per step", "moves", func(t tally) float64 { return t.moves }},
	{"overloaded node-steps", "%", func(t tally) float64 { return t.overloaded }},
	{"load above capacity", "% of capacity", func(t tally) float64 { return t.excess }},
	{"nodes at the end over their bound", "ratio", func(t tally) float64 { return t.end }},
}

// tallies plays a policy on a workload for each seed, for at most so many steps, 0 for all.
func tallies(w named, p policy, seed uint64, seeds, steps int) ([]tally, error) {
	all := make([]tally, seeds)
	return all, report.Parallel(w.name+", "+p.name, seeds, func(i int) error {
		load, err := w.draw(w.size, seed+uint64(i))
		if err != nil {
			return err
		}
		if steps > 0 {
			load.steps = min(load.steps, steps)
		}
		all[i], err = play(load, p.make)
		return err
	})
}
