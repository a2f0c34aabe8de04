package solver

import (
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
	"github.com/recrawl/recrawl/internal/subsetsum"
)

const (
	// packedSites and packedPerClient are the most sites, and of them per client, for which a bin
	// packing problem is solved: with few to a client its patterns are short.
	packedSites, packedPerClient = 600, 6
	// packedNode is the number of steps that a node of its search counts for, per site, and
	// packedNodes the most nodes of one question in the first turn.
	packedNode, packedNodes = 50, 60
)

// packBins asks on identical clients whether the sites fit into m bins of capacity T, the sum that
// a client can do by a time: for the lower bound, then for more in steps that double until they
// fit, then by bisection. Every no raises the bound and every yes gives a plan. It ends where a
// question is not answered in the nodes that the budget leaves.
func (x *search) packBins(budget int64, reach *subsetsum.Reach) {
	p := x.p
	for step, fits := int64(0), false; !x.over(); {
		low := p.Capacity(0, x.lower) // the least that is open
		load := make([]int64, p.M)
		for z, j := range x.best {
			load[j] += p.Amount[z]
		}
		high := slices.Max(load) // reached
		if low >= high {
			return
		}
		t := min(low+step, high-1)
		if fits {
			t = low + (high-1-low)/2
		}
		in := &packing.Problem{Weights: p.Amount, Capacities: []int64{t}, Uniform: true}
		nodes := int(min(budget/int64(firstBudget), 1<<20)) * packedNodes
		bin, ok, none, searched := in.Fits(x.ctx, p.M, nodes)
		x.steps += (int64(searched) + 1) * packedNode * int64(p.N)
		switch {
		case ok:
			if !x.offer(bin) {
				return // the time grows too little to tell
			}
			fits = true
		case none:
			before := x.lower
			if x.raise(next(p, p.Finish(0, t), reach)); x.lower == before {
				return
			}
			step = max(2*step, 1)
		default:
			return
		}
	}
}
