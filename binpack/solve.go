package binpack

import (
	"context"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/packing"
	"github.com/recrawl/recrawl/internal/work"
)

// SolveConfig limits the work of [Solve].
type SolveConfig struct {
	// Nodes is the most nodes to search. A node is a linear programme solved or, with different
	// capacities, conflicts or pins, a step of a depth-first search. A negative number means no
	// limit, and so does 0 if the context has a deadline.
	//
	// If the context has no deadline, 0 means 2000 linear programmes. For the depth-first search it
	// means 4·10⁷/(max(40, bins)·(1 + c/10)) steps, but at least 2000, where c is the mean number
	// of conflicts of an item. That is 10⁶ steps with up to 40 bins and hardly any conflicts, a few
	// tenths of a second.
	Nodes int
}

// defaultNodes is the limit on nodes without a deadline. Few instances reach it: 20 instances that
// neither the heuristics nor one linear programme decide take some 500 nodes together (go test
// ./internal/packing -run Sweep -sweep).
const defaultNodes = 2000

// defaultSteps is the limit on steps of the depth-first search without a deadline, with up to
// stepBins bins and no conflicts. A step looks at all bins, which takes some 5 ns each. For each
// bin it looks at the conflicts of an item: stepConflicts of them take 2 to 5 ns (go test ./binpack
// -run '^$' -bench SolveConflicts).
const defaultSteps, stepBins, stepConflicts = 1_000_000, 40, 10

// A Solution is a packing, together with what is known about the least number of bins.
type Solution struct {
	Packing
	// Lower is a lower bound on the number of bins; Bins is the upper bound.
	Lower int
	// Proved reports that the packing is optimal: Lower == Bins.
	Proved bool
	// Certificate proves a lower bound of at most Lower bins; [CheckBound] verifies it. The bound
	// is less than Lower only if a search proved the last bins.
	Certificate Certificate
	// Proof proves that Lower bins are needed; [CheckProof] verifies it. It is set if a search by
	// pairs raised Lower above what the certificate proves, and nil otherwise.
	Proof *Proof
	// Nodes is the number of nodes searched.
	Nodes int
}

// Solve packs the items into as few bins as it can and proves how few are possible. Take it
// wherever there is time to search; [Pack] answers at once. When the context ends or the limit of
// the config is reached, Solve returns the best packing and bound so far. Without a deadline the
// result is a function of the input.
//
// Errors are those of [Pack]. [ErrNoRoom] means that no packing was found; if none exists, the
// message says so.
//
// # Guarantees
//
// Deadline: the context may end at any moment. Solve looks at it after every millisecond or so of
// work, also while it sorts, packs by heuristics or computes bounds. When the context has ended,
// the items that are left are packed in O(n + bins + conflicts), by [NextFit] if need be. With a
// million items that takes some 12 to 60 milliseconds of processor time.
//
// Heuristics: Solve packs by the heuristics of [Pack] before anything that takes longer, the fast
// ones first. It is never worse than NextFit, nor than the others that it had time for. There are
// three exceptions:
//
//   - If the context ends before Solve has read a problem with more than some 10⁵ items and
//     conflicts, NextFit looks at the conflicts only at the end.
//   - With bins of one capacity and more than some 200 of them, Solve tries Minimum Bin Slack with
//     fewer steps before, for up to a tenth of a second.
//   - With bins of one capacity, no conflicts or pins, and more than 20,000 items, it leaves out
//     Minimum Bin Slack.
//
// Proofs: Certificate and Proof are exact, and [CheckBound] and [CheckProof] can verify them. If
// the certificate does not prove the last bin, the search by pairs makes a Proof of it. That search
// takes up to 200 items, or up to 1100 if most weights differ. If another search found that the
// last bin is needed, the search by pairs has 60 nodes to prove it.
//
// With different capacities, conflicts or pins the certificate is the best of three: one that
// ignores conflicts and pins and counts the largest bins that could hold the sum of its values; the
// weights themselves; and items of which no two may share a bin. Of 97 small problems of this kind
// it proves 95 (TestCertificatesOfAnyProblem).
//
// Proved may be true although neither Certificate nor Proof proves Lower. Proof is nil then. A
// complete search found the result and left nothing to check. This happens in three cases:
//
//   - Problems with different capacities, conflicts or pins that the certificate does not prove.
//   - Problems whose last bin needs a search and that are too large for the search by pairs: above
//     1100 items (or above 200, if most weights repeat), or items times capacity in units above
//     2^26.
//   - Rare instances for which the search by pairs makes no proof in its 60 nodes.
//
// In the last two cases the complete search relies on bounds in floating point, with a margin of
// 1e-5 bins.
//
// Rounding: floats may be no multiples of the quantum (see [Weight]). Lower, and the message that
// no packing exists, then still hold for the numbers given. The packing is made with weights
// rounded up. If these do not fit the given bins, Solve tries a packing with weights rounded down,
// and returns it if no bin is overfilled.
//
// # How it works
//
// Bins of one capacity:
//
//  1. Heuristics, then the bounds of [LowerBounds].
//  2. Column generation over patterns (Gilmore & Gomory 1961). The duals are rounded to
//     integers, u_i = ⌊π_i·2^24⌋, and become the certificate.
//  3. Dives for packings: patterns of the linear programme are fixed, and the rest is solved again.
//  4. Branch and bound among patterns. A packing into one bin less consists of patterns whose
//     reduced costs fit into the gap to the linear programme. With duals from inside the optimal
//     face these are often only a few thousand.
//  5. Branch and price by pairs of items, for instances in which hardly a bin has room left. It
//     uses only patterns that waste no more than all bins together may waste. Subset rows tighten
//     the linear programme. Only duals in whole numbers cut off a node. With 100 items or more,
//     patterns are first drawn at random from the distribution of the greatest entropy, and belief
//     propagation chooses a packing among them if it can. With many different weights and hardly
//     any waste, this whole step comes first.
//  6. A complete search by bin completion (Korf 2003). The linear programme of the remaining items
//     bounds every node.
//
// Pricing is a bounded knapsack problem. It takes O(kinds·C) by dynamic programming. If C is large,
// a search guided by a table of rounded weights takes its place. With too many different weights or
// too many items per bin, Solve does without the linear programme.
//
// Different capacities, conflicts and pins: heuristics, bounds, and a depth-first search that puts
// items into bins, for a few dozen items. If all bins have one capacity, the problem without its
// conflicts and pins is solved first, in at most 100 nodes, for its lower bound.
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
			conflicts := 2 * len(p.Conflicts) / len(p.Weights) // of an item, on average
			steps := defaultSteps * stepBins / max(in.Bins(), stepBins)
			nodes = max(nodes, steps*stepConflicts/(stepConflicts+conflicts))
		}
	}
	if nodes <= 0 {
		nodes = math.MaxInt
	}
	s := in.Solve(ctx, nodes)
	if s.Bin == nil && in.Low != nil {
		s = solveLoose(ctx, in, nodes, s.Nodes)
	}
	switch {
	case s.Bin == nil && s.Proved:
		return Solution{}, fmt.Errorf("%w: there is no packing", ErrNoRoom)
	case s.Bin == nil:
		return Solution{}, fmt.Errorf("%w: no packing was found", ErrNoRoom)
	}
	return Solution{Packing(s.Packing), s.Lower, s.Proved, Certificate(s.Certificate), newProof(s.Proof), s.Nodes}, nil
}

// solveLoose solves the loose form of a rounded problem for which no packing was found. If the
// loose form has no packing, the numbers given have none. A packing of it counts if it holds for
// the numbers given.
func solveLoose(ctx context.Context, in *packing.Problem, nodes, searched int) packing.Solution {
	var s packing.Solution
	if searched < nodes && ctx.Err() == nil {
		s = in.Loose().Solve(ctx, nodes-searched)
	}
	if s.Bin != nil && !in.Holds(s.Packing, work.NewWatch(ctx)) {
		s = packing.Solution{}
	}
	s.Nodes += searched
	return s
}
