package binpack

import (
	"context"
	"fmt"
	"math"
)

// DefaultNodes is the number of search nodes of [Solve] if neither its argument
// nor a deadline limits them.
const DefaultNodes = 2000

// A Solution is a packing with what is known of the least number of bins.
type Solution struct {
	Packing
	// Lower is a lower bound on the number of bins; Bins is the upper bound.
	Lower int
	// Proved says that the packing is optimal: Lower == Bins.
	Proved bool
	// Certificate proves Certificate.Bound() ≤ Lower to anyone ([CheckBound]). It
	// is less than Lower only where the last bin was proved by exhausting a search.
	Certificate Certificate
	// Nodes is the number of nodes searched: linear programmes solved, or steps of
	// the search if there are constraints.
	Nodes int
}

// Solve packs the items into as few bins as possible and proves it, if it comes
// to an end: it is anytime, and the best packing and bound so far are
// returned when the context ends or the number of nodes is reached (0 for
// DefaultNodes if the context has no deadline, else no limit). Without a deadline
// the result is a function of the input.
//
// Bins of one capacity: heuristics and the bounds of [LowerBounds] first; then
// column generation over patterns (Gilmore & Gomory 1961), whose duals are
// rounded to integers and become the certificate, u_i = ⌊π_i·2^24⌋. Packings are
// sought by diving: patterns of the linear programme are fixed, and what is left
// is solved again. A packing into one bin less consists of patterns whose reduced
// costs fit into the gap to the linear programme; where these are a few thousand, which
// takes duals inside the optimal face, branch and bound among them decides. The last resort is a
// complete search by bin completion (Korf 2003) in which every node is bounded by
// the linear programme of what is left. Pricing is a bounded knapsack problem,
// O(kinds·C) by dynamic programming or, for a large C, a branch and bound. Where
// there are too many different weights, or items per bin, for that, the search does
// without the linear programme.
//
// Different capacities, conflicts and pins: a depth-first search of items in
// bins, for a few dozen items.
//
// Nodes are cut off by bounds in floating point, with a margin of 1e-5 bins; the
// certificate is exact.
//
// With floats that are not multiples of the quantum (see [FloatBits]) Lower holds
// for the numbers as given while the packing is of weights rounded up.
//
// Errors are those of [Pack]; ErrNoRoom means that no packing was found, and says
// so if there is none.
func Solve[W Weight](ctx context.Context, p Problem[W], nodes int) (Solution, error) {
	if nodes < 0 {
		return Solution{}, fmt.Errorf("%w: %d nodes", ErrParameter, nodes)
	}
	if nodes == 0 {
		nodes = math.MaxInt
		if _, ok := ctx.Deadline(); !ok {
			nodes = DefaultNodes
		}
	}
	in, err := inUnits(p)
	if err != nil {
		return Solution{}, err
	}
	s := in.Solve(ctx, nodes)
	switch {
	case s.Bin == nil && s.Proved:
		return Solution{}, fmt.Errorf("%w: there is no packing", ErrNoRoom)
	case s.Bin == nil:
		return Solution{}, fmt.Errorf("%w: no packing was found", ErrNoRoom)
	}
	return Solution{Packing(s.Packing), s.Lower, s.Proved, Certificate(s.Certificate), s.Nodes}, nil
}
