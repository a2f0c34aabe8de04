package binpack

import (
	"context"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/packing"
)

// SolveConfig limits the work of [Solve].
type SolveConfig struct {
	// Nodes is the most nodes to search: linear programmes solved or, with different capacities,
	// conflicts or pins, steps of a depth-first search. A negative number means no limit, and so does
	// 0 if the context has a deadline. If it has none, 0 means 2000 linear programmes, or 10⁶ steps
	// with up to 40 bins and hardly any conflicts: a few tenths of a second of search. It means fewer with
	// more bins or conflicts, 4·10⁷/(max(40, bins)·(1 + c/10)) for c conflicts of an item on average,
	// but at least 2000.
	Nodes int
}

// defaultNodes is the limit without a deadline. Of instances that neither the heuristics nor one
// linear programme decide, 20 take some 500 nodes together, so few ever meet it
// (go test ./internal/packing -run Sweep -sweep).
const defaultNodes = 2000

// defaultSteps is the same for the depth-first search, with up to stepBins bins and no conflicts. A step
// looks at all bins, at some 5 ns each, and for each of them at the conflicts of an item, of which
// stepConflicts take 2 to 5 ns (go test ./binpack -run '^$' -bench SolveConflicts).
const defaultSteps, stepBins, stepConflicts = 1_000_000, 40, 10

// A Solution is a packing with what is known of the least number of bins.
type Solution struct {
	Packing
	// Lower is a lower bound on the number of bins; Bins is the upper bound.
	Lower int
	// Proved reports that the packing is optimal: Lower == Bins.
	Proved bool
	// Certificate proves at most Lower bins to anyone ([CheckBound]). It proves less than Lower
	// only where the last bins were proved by a search.
	Certificate Certificate
	// Proof proves Lower bins to anyone ([CheckProof]), where a search by pairs raised Lower
	// above what the certificate proves; else nil.
	Proof *Proof
	// Nodes is the number of nodes searched.
	Nodes int
}

// Solve packs the items into as few bins as possible and proves it. It is anytime: when the
// context ends, or the limit of the config is reached, it returns the best packing and bound
// so far. Without a deadline the result is a function of the input.
//
// Errors are those of [Pack]. [ErrNoRoom] means that no packing was found; the message says so
// if there is none.
//
// # Guarantees
//
// The context may end at any moment: it is looked at after every millisecond or so of work,
// sorting, heuristics and bounds included, and what is left is packed in O(n + conflicts), by [NextFit]
// if need be. With a million items that takes some 12 to 60 milliseconds of processor time.
//
// Certificate and Proof are exact, and can be checked by [CheckBound] and [CheckProof]. Of up to
// 1100 items, most of different weight or at most 200, the search by pairs makes a Proof of a last
// bin that the certificate does not prove, in 60 nodes where another search found it out.
//
// With different capacities, conflicts or pins the certificate is the best of these: one that
// ignores conflicts and pins, and counts the largest bins that could hold the sum of its values; the
// weights themselves; and items of which no two may share a bin. Of 97 small problems of this kind,
// 95 are proved by it (TestCertificatesOfAnyProblem).
//
// Proved says more than certificate and proof where neither proves Lower, and Proof is nil then:
// after a complete search that leaves nothing to check. That is so for the others with different
// capacities, conflicts or pins; with more than 1100 items, or where items times capacity in units
// is above 2^26, if the last bin needs a search; and in the rare instances of which the search by
// pairs makes no proof in its 60 nodes. The last two are cut off by bounds in floating point, with a
// margin of 1e-5 bins.
//
// With floats that are not multiples of the quantum (see [Weight]) Lower holds for the numbers as
// given, and so does the word that there is no packing, while the packing is of weights rounded up.
// Where these do not fit the given bins, a packing of weights rounded down is tried, and returned if
// no bin is overfilled.
//
// # How it works
//
// Bins of one capacity:
//
//  1. Heuristics, and the bounds of [LowerBounds].
//  2. Column generation over patterns (Gilmore & Gomory 1961). The duals are rounded to
//     integers, u_i = ⌊π_i·2^24⌋, and become the certificate.
//  3. Dives for packings: patterns of the linear programme are fixed, and what is left is solved
//     again.
//  4. Branch and bound among patterns. A packing into one bin less consists of patterns whose
//     reduced costs fit into the gap to the linear programme. With duals from inside the optimal
//     face these are often only a few thousand.
//  5. Branch and price by pairs of items, for instances in which hardly a bin has room left. Only
//     patterns that waste no more than all bins may are used, subset rows tighten the linear
//     programme, and a node is cut off only by its duals in whole numbers. Of 100 items or more,
//     patterns are drawn at random before that, from the distribution of the greatest entropy, and
//     belief propagation chooses a packing among them if it can. With many different weights and
//     hardly any waste all this comes first.
//  6. A complete search by bin completion (Korf 2003), in which every node is bounded by the
//     linear programme of what is left.
//
// Pricing is a bounded knapsack problem: O(kinds·C) by dynamic programming or, for a large C, a search
// that a table of rounded weights guides. Where there are too many different weights, or items per
// bin, for that, the search does without the linear programme.
//
// Different capacities, conflicts and pins: a depth-first search of items in bins, for a few
// dozen items. Of one capacity, the problem without conflicts and pins is solved before, in at most
// 100 nodes, for its lower bound.
//
// # Source
//
// Branch and price by pairs: da Silva & Schouery 2025 (arXiv 2308.03595). Subset rows: Jepsen,
// Petersen, Spoorendonk & Pisinger 2008. Belief propagation with decimation: Montanari,
// Ricci-Tersenghi & Semerjian 2007.
func Solve[W Weight](ctx context.Context, p Problem[W], cfg SolveConfig) (Solution, error) {
	in, err := inUnits(p)
	if err != nil {
		return Solution{}, err
	}
	nodes := cfg.Nodes
	if _, ok := ctx.Deadline(); nodes == 0 && !ok {
		if nodes = defaultNodes; !in.Plain() {
			conflicts := 2 * len(p.Conflicts) / len(p.Weights) // of an item
			steps := defaultSteps * stepBins / max(in.Bins(), stepBins)
			nodes = max(nodes, steps*stepConflicts/(stepConflicts+conflicts))
		}
	}
	if nodes <= 0 {
		nodes = math.MaxInt
	}
	s := in.Solve(ctx, nodes)
	if s.Bin == nil && in.Low != nil {
		s = solveLoose(ctx, p, in, nodes, s.Nodes)
	}
	switch {
	case s.Bin == nil && s.Proved:
		return Solution{}, fmt.Errorf("%w: there is no packing", ErrNoRoom)
	case s.Bin == nil:
		return Solution{}, fmt.Errorf("%w: no packing was found", ErrNoRoom)
	}
	return Solution{Packing(s.Packing), s.Lower, s.Proved, Certificate(s.Certificate), newProof(s.Proof), s.Nodes}, nil
}

// solveLoose solves a problem of which no packing was found as it is rounded, rounded the other way. If
// that has no packing, the numbers given have none; one that it has counts if it holds for them.
func solveLoose[W Weight](ctx context.Context, p Problem[W], in *packing.Problem, nodes, searched int) packing.Solution {
	var s packing.Solution
	if searched < nodes && ctx.Err() == nil {
		s = loose(in).Solve(ctx, nodes-searched)
	}
	if s.Bin != nil && !holds(ctx, p, Packing(s.Packing)) {
		s = packing.Solution{}
	}
	s.Nodes += searched
	return s
}
