package schedule

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/schedule/internal/solver"
)

// None means no site as a result of [Dispatcher.Next], and no client in an old plan for [Replan].
const None = -1

// A Plan gives each site its client: plan[z] is the client of site z.
type Plan []int

// Batches returns the sites of each of m clients, in the order of their numbers.
func (plan Plan) Batches(m int) [][]int {
	batches := make([][]int, m)
	for z, j := range plan {
		batches[j] = append(batches[j], z)
	}
	return batches
}

// Check returns an error unless the plan gives every site of the problem a client that can do it.
func (p *Problem) Check(plan Plan) error {
	if len(plan) != p.made().n {
		return fmt.Errorf("%w: %d sites, want %d", ErrPlan, len(plan), p.n)
	}
	for z, j := range plan {
		if j < 0 || j >= p.m {
			return fmt.Errorf("%w: site %d on client %d of %d", ErrPlan, z, j, p.m)
		}
		if math.IsInf(p.Duration(z, j), 1) {
			return fmt.Errorf("%w: client %d cannot do site %d", ErrPlan, j, z)
		}
	}
	return nil
}

// Finish returns the time T_j at which each client finishes its batch, 0 for an empty one.
// The plan must pass Check. Time: O(n + m).
func (p *Problem) Finish(plan Plan) []float64 {
	finish := make([]float64, p.made().m)
	for z, j := range plan {
		if p.unrelated {
			finish[j] += p.size[z*p.m+j]
		} else {
			finish[j] += p.size[z]
		}
	}
	for j, sum := range finish {
		if sum > 0 {
			finish[j] = p.grid.Off[j] + float64(p.unit[j]*sum)
		}
	}
	return finish
}

// Makespan returns the time at which the last client finishes. The plan must pass Check.
// Time: O(n + m).
func (p *Problem) Makespan(plan Plan) float64 {
	last := 0.0
	for _, t := range p.Finish(plan) {
		last = max(last, t)
	}
	return last
}

// tolerance is the relative gap between makespan and lower bound up to which a plan counts as
// optimal. Solvers stop there. For integer durations with a makespan below 10⁹, a gap within the
// tolerance means that the two are equal.
const tolerance = 1e-9

// A Status is what is known of a plan and why the search for a better one ended. For integer
// durations with a makespan below 10⁹, Optimal means that makespan and bound are equal.
type Status uint8

const (
	Finished     Status = iota // a heuristic came to its end
	GapClosed                  // the gap to the bound is at most the one asked for, up to rounding
	LimitReached               // the limit on steps or on moved sites is used up
	Cancelled                  // the context was cancelled or its deadline passed
	Optimal                    // no plan is better by more than 1e-9 of the makespan, 2e-9 if durations are rounded
)

// A Result is a plan and what is known about it. [Problem.CheckResult] verifies it.
type Result struct {
	Plan     Plan
	Makespan float64
	Lower    float64 // no plan has a smaller makespan
	Status   Status
	Steps    int64 // search steps taken: a deterministic measure of the work
	Moved    int   // of Replan: placed sites that left their clients
}

// Gap returns how far the makespan is above the lower bound, as a share of the bound. It returns 0
// for an Optimal plan, even if its bound differs by rounding.
func (r Result) Gap() float64 {
	if r.Status == Optimal {
		return 0
	}
	return (r.Makespan - r.Lower) / r.Lower
}

// proved reports whether a lower bound proves a makespan optimal. The makespan and the bound may
// each differ by Rounding from what the solver compared. If that is more than the tolerance, a plan
// that is optimal on the grid may not be optimal.
func (p *Problem) proved(makespan, lower float64) bool {
	most := float64(tolerance * makespan)
	return makespan-lower <= most+min(most, 2*p.grid.Rounding)
}

// CheckResult returns an error unless a result is consistent:
//
//   - The plan passes Check and has the makespan stated.
//   - The lower bound is at most that makespan, and at most the makespan of some plans that are
//     easy to make.
//   - The status is Optimal if and only if the gap is at most 1e-9 of the makespan plus the effect
//     of rounding (see [Problem]), which is at most 1e-9 more.
//
// Time: O(n·m).
func (p *Problem) CheckResult(r Result) error {
	if err := p.Check(r.Plan); err != nil {
		return err
	}
	if t := p.Makespan(r.Plan); t != r.Makespan {
		return fmt.Errorf("%w: makespan %v, the plan has %v", ErrPlan, r.Makespan, t)
	}
	if math.IsNaN(r.Lower) || r.Lower < 0 || r.Lower > r.Makespan {
		return fmt.Errorf("%w: lower bound %v, makespan %v", ErrPlan, r.Lower, r.Makespan)
	}
	if r.Status > Optimal || p.proved(r.Makespan, r.Lower) != (r.Status == Optimal) {
		return fmt.Errorf("%w: %v with makespan %v and lower bound %v", ErrPlan, r.Status, r.Makespan, r.Lower)
	}
	// All sites on a single client, and earliest completion in the order given, are plans too. No
	// lower bound may exceed their makespans.
	least, all := p.Makespan(solver.EarliestCompletion(p.grid, nil)), make(Plan, p.n)
	for j := range min(p.m, 8) {
		for z := range all {
			all[z] = j
		}
		least = min(least, p.Makespan(all))
	}
	if r.Lower > least*(1+float64(0x1p-50*float64(p.n))) {
		return fmt.Errorf("%w: lower bound %v, but a plan has makespan %v", ErrPlan, r.Lower, least)
	}
	return nil
}

// result turns the outcome of a solver into a Result.
func (p *Problem) result(o solver.Outcome) Result {
	r := Result{Plan: o.Plan, Makespan: p.Makespan(o.Plan), Steps: o.Steps}
	r.Lower = max(0, min(o.Lower-p.grid.Rounding, r.Makespan))
	r.Status = map[solver.End]Status{
		solver.Finished: Finished, solver.GapClosed: GapClosed, solver.Limit: LimitReached, solver.Cancelled: Cancelled,
	}[o.End]
	if p.proved(r.Makespan, r.Lower) {
		r.Status = Optimal
	}
	return r
}
