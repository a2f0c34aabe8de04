package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// spares is the number of nodes beyond those that the first weights need.
const spares = 40

// balancer keeps sites on nodes. It is given the weights and returns the node of
// each site; the slice stays its own.
type balancer interface {
	place(weights []float64) ([]int, error)
}

// living is the library's packer under one of its policies.
type living struct {
	packer *binpack.Packer
	sites  []int // ids
	home   []int
}

func newLiving(cfg binpack.PackerConfig) func(*workload) (balancer, error) {
	return func(w *workload) (balancer, error) {
		p, err := binpack.NewPacker(cfg)
		if err != nil {
			return nil, err
		}
		for range fleetNodes + spares {
			if _, err := p.AddNode(w.capacity); err != nil {
				return nil, err
			}
		}
		l := &living{p, make([]int, w.sites), make([]int, w.sites)}
		for i, weight := range w.weights {
			if l.sites[i], l.home[i], err = p.AddSite(weight); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
}

func (l *living) place(weights []float64) ([]int, error) {
	for i, w := range weights {
		if err := l.packer.SetWeight(l.sites[i], w); err != nil {
			return nil, err
		}
	}
	moves, err := l.packer.Rebalance(binpack.RebalanceConfig{})
	if err != nil {
		return nil, err
	}
	for _, m := range moves {
		l.home[binpack.Slot(m.Site)] = m.To
	}
	return l.home, nil
}

// scratch packs everything anew by Best Fit Decreasing.
type scratch struct{ capacity float64 }

func newScratch(w *workload) (balancer, error) { return scratch{w.capacity}, nil }

func (s scratch) place(weights []float64) ([]int, error) {
	p, err := binpack.Pack(binpack.Problem[float64]{Weights: weights, Capacity: s.capacity}, binpack.BestFitDecreasing)
	return p.Bin, err
}

// hashing is consistent hashing with bounded loads (Mirrokni, Thorup &
// Zadimoghaddam 2018), by weight: a site goes to the first node clockwise
// that has the room. There are as many nodes as leave 1/(1+slack) of them filled.
type hashing struct {
	capacity float64
	site     []uint64
	home     []int
}

const (
	slack        = .1
	virtualNodes = 64
)

func newHashing(w *workload) (balancer, error) {
	h := &hashing{w.capacity, make([]uint64, w.sites), make([]int, w.sites)}
	for i := range h.site {
		h.site[i] = rand.NewPCG(uint64(i), 77).Uint64()
	}
	return h, nil
}

func (h *hashing) place(weights []float64) ([]int, error) {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	nodes := int(math.Ceil(total * (1 + slack) / h.capacity))
	type point struct {
		at   uint64
		node int
	}
	var ring []point
	for n := range nodes {
		src := rand.NewPCG(uint64(n), 78)
		for range virtualNodes {
			ring = append(ring, point{src.Uint64(), n})
		}
	}
	sort.Slice(ring, func(a, b int) bool { return ring[a].at < ring[b].at })
	load := make([]float64, nodes)
	for i, w := range weights {
		k := sort.Search(len(ring), func(k int) bool { return ring[k].at >= h.site[i] })
		best := ring[k%len(ring)].node
		for d := range ring {
			if n := ring[(k+d)%len(ring)].node; load[n]+w <= h.capacity {
				best = n
				break
			}
		}
		h.home[i] = best
		load[best] += w
	}
	return h.home, nil
}

// tally is what a run of a policy on a workload comes to, per step or per node
// and step.
type tally struct{ nodes, moves, overloaded, excess float64 }

// play runs a policy on a workload. Overload is counted when the weights have
// changed and the policy has not yet answered.
func play(w *workload, newBalancer func(*workload) (balancer, error)) (t tally, err error) {
	b, err := newBalancer(w)
	if err != nil {
		return t, err
	}
	home, err := b.place(w.weights)
	if err != nil {
		return t, err
	}
	home = append([]int(nil), home...)
	nodeSteps := 0.0
	for step := range w.steps {
		if err := w.next(step); err != nil {
			return t, err
		}
		for _, load := range loads(home, w.weights) {
			nodeSteps++
			if over := load/w.capacity - 1; over > 1e-9 {
				t.overloaded++
				t.excess += over
			}
		}
		now, err := b.place(w.weights)
		if err != nil {
			return t, err
		}
		for i, n := range now {
			if n != home[i] {
				t.moves++
				home[i] = n
			}
		}
		t.nodes += float64(len(loads(home, w.weights)))
	}
	t.nodes /= float64(w.steps)
	t.moves /= float64(w.steps)
	t.overloaded *= 100 / nodeSteps
	t.excess *= 100 / nodeSteps
	return t, nil
}

// loads returns the load of every node that has sites, by node.
func loads(home []int, weights []float64) []float64 {
	var load []float64
	var used []bool
	for i, n := range home {
		for n >= len(load) {
			load, used = append(load, 0), append(used, false)
		}
		load[n] += weights[i]
		used[n] = true
	}
	kept := load[:0]
	for n, u := range used {
		if u {
			kept = append(kept, load[n])
		}
	}
	return kept
}

// tight are the settings of a packer for which nodes count for more than moves.
func tight() binpack.PackerConfig {
	return binpack.PackerConfig{Headroom: -1, Disruption: 1}
}

// suite compares the policies on all workloads.
func suite(prog *report.Program) ([]report.Row, *report.Page, error) {
	keep := binpack.PackerConfig{KeepMaximum: true}
	policies := []struct {
		name string
		make func(*workload) (balancer, error)
	}{
		{"fewest moves (Packer)", newLiving(binpack.PackerConfig{})},
		{"fewest moves, tight", newLiving(tight())},
		{"keep the maximum subset (Yazidi 2006)", newLiving(keep)},
		{"BFD from scratch", newScratch},
		{"consistent hashing, bounded loads", newHashing},
	}
	workloads := []struct {
		name string
		draw func(uint64) (*workload, error)
	}{
		{"weights of learning pages", dynamic},
		{"drift 2 %", drift("drift 2 %", .02, 2)},
		{"drift 10 %", drift("drift 10 %", .1, 2)},
		{"drift 10 %, unbounded", drift("drift 10 %, unbounded", .1, 0)},
		{"daily cycle", daily},
		{"flash crowds", flash},
	}
	seeds := 20
	if prog.Quick {
		seeds = 1
	}
	var rows []report.Row
	page := &report.Page{Title: "Keeping sites on nodes while weights change",
		Lead: fmt.Sprintf("Means over %d seeds. Nodes: node-hours per step. Moves/step: sites that change their node. "+
			"Overloaded: node-steps with a load above the capacity, before the policy answers. Excess: the load above it, in %% of the capacity.", seeds)}
	for _, w := range workloads {
		section := report.Section{Title: w.name, Header: []string{"policy", "nodes", "moves/step", "overloaded %", "excess %"}}
		for _, p := range policies {
			tallies := make([]tally, seeds)
			err := report.Parallel(w.name+", "+p.name, seeds, func(i int) error {
				load, err := w.draw(prog.Seed + uint64(i))
				if err != nil {
					return err
				}
				if prog.Quick {
					load.steps = min(load.steps, 50)
				}
				tallies[i], err = play(load, p.make)
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			cells := []string{p.name}
			for _, q := range []struct {
				name, unit string
				value      func(tally) float64
			}{
				{"node-hours per step", "nodes", func(t tally) float64 { return t.nodes }},
				{"moves per step", "moves", func(t tally) float64 { return t.moves }},
				{"overloaded node-steps", "%", func(t tally) float64 { return t.overloaded }},
				{"load above capacity", "% of capacity", func(t tally) float64 { return t.excess }},
			} {
				values := make([]float64, seeds)
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
	return rows, page, nil
}
