package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/instance"
	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// Replan makes a new plan from an old one after sites, clients or durations changed, and moves few
// sites. old has the present client of each site of the new problem, or [None] for a site that has
// no client or whose client can no longer do it. At most maxMoved placed sites leave their clients;
// Result.Moved counts them. The lower bound of the result is for plans that may move everything.
//
// # Guarantees
//
// The result is never worse than the old plan with only the unplaced sites added as described
// below, and never worse than the result for a maxMoved of 0. It may be worse than the result for
// another smaller maxMoved.
//
// # Cost
//
// Time: O(n·m) for each step of the local search, plus O(n·m + n log n) and the time of
// [LowerBound].
//
// # How it works
//
// First, each unplaced site goes to the client that finishes it first, the longest site first. Then
// local search moves and swaps sites for as long as that makes the last client finish earlier. If
// there were unplaced sites, a second search moves only these, and Replan returns the better plan.
func Replan(p *Problem, old Plan, maxMoved int) (Result, error) {
	if maxMoved < 0 {
		return Result{}, fmt.Errorf("%w: at most %d sites to be moved", ErrConfig, maxMoved)
	}
	if len(old) != p.made().n {
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
			old[z] = None // its move does not count, because it must move
		}
	}
	o := solver.Outcome{Lower: solver.LowerBound(p.grid)}
	first := p.complete(old)
	moving := func(most int) (plan Plan, moved int) {
		plan = p.improve(first, func(g *instance.Instance, plan Plan) Plan {
			better, steps := solver.Replan(g, old, plan, most)
			o.Steps += steps
			return better
		})
		return plan, solver.Moved(old, plan)
	}
	plan, moved := moving(maxMoved)
	if maxMoved > 0 && slices.Contains(old, None) {
		// A search that moves placed sites may end in a plan that is worse than one that moves
		// none.
		if still, _ := moving(0); p.Makespan(still) <= p.Makespan(plan) {
			plan, moved = still, 0
		}
	}
	o.Plan = plan
	if moved == maxMoved {
		o.End = solver.Limit
	}
	r := p.result(o)
	r.Moved = moved
	return r, nil
}

// complete gives each site without a client to the client that finishes it first, the longest site
// first. It uses the durations as given. Those of the grid are for plans that end early, and the
// old plan may end late.
func (p *Problem) complete(old Plan) Plan {
	plan, sum := slices.Clone(old), make([]float64, p.m)
	size := func(z, j int) float64 {
		if p.unrelated {
			return p.size[z*p.m+j]
		}
		return p.size[z]
	}
	for z, j := range old {
		if j != None {
			sum[j] += size(z, j)
		}
	}
	for _, z := range p.LongestFirst() {
		if old[z] != None {
			continue
		}
		best, soonest := None, math.Inf(1)
		for j := range sum {
			if t := p.grid.Off[j] + float64(p.unit[j]*(sum[j]+size(z, j))); t < soonest || best == None && !math.IsInf(size(z, j), 1) {
				best, soonest = j, t
			}
		}
		plan[z] = best
		sum[best] += size(z, best)
	}
	return plan
}
