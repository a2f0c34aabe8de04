package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// Replan makes a plan of an old one after sites, clients or durations changed, and moves
// few sites. Old gives for each site of the new problem its client so far, [None] for a
// site that has none or whose client cannot do it any more. At most maxMoved placed sites leave
// their clients; Result.Moved counts them. The lower bound is that of plans that may move
// everything.
//
// # Cost
//
// Time: O(n·m) per step, and [LowerBound].
//
// # How it works
//
// Sites that are unplaced are put, the longest first, where they finish first. Then local
// search moves and swaps sites for as long as that makes the last client finish earlier.
func Replan(p *Problem, old Plan, maxMoved int) (Result, error) {
	if maxMoved < 0 {
		return Result{}, fmt.Errorf("%w: at most %d sites to be moved", ErrConfig, maxMoved)
	}
	if len(old) != p.n {
		return Result{}, fmt.Errorf("%w: %d sites, want %d", ErrPlan, len(old), p.n)
	}
	for z, j := range old {
		if j != None && (j < 0 || j >= p.m) {
			return Result{}, fmt.Errorf("%w: site %d on client %d of %d", ErrPlan, z, j, p.m)
		}
	}
	old = slices.Clone(old)
	for z, j := range old {
		if j != None && math.IsInf(p.Duration(z, j), 1) {
			old[z] = None // and not a move of choice
		}
	}
	o, moved := solver.Replan(p.grid, old, maxMoved)
	r := p.result(o)
	r.Moved = moved
	return r, nil
}
