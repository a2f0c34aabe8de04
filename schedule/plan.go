package schedule

import (
	"fmt"
	"math"
)

// A Plan gives each site its client: plan[z] is the client of site z.
type Plan []int

// Batches returns the sites of each of m clients, in the order of their
// numbers.
func (plan Plan) Batches(m int) [][]int {
	batches := make([][]int, m)
	for z, j := range plan {
		batches[j] = append(batches[j], z)
	}
	return batches
}

// Check returns an error unless the plan gives every site of the problem one
// of its clients.
func (p *Problem) Check(plan Plan) error {
	if len(plan) != p.n {
		return fmt.Errorf("%w: %d sites, want %d", ErrPlan, len(plan), p.n)
	}
	for z, j := range plan {
		if j < 0 || j >= p.m {
			return fmt.Errorf("%w: site %d on client %d of %d", ErrPlan, z, j, p.m)
		}
	}
	return nil
}

// Finish returns the time T_j at which each client finishes its batch, 0 for an
// empty one. The plan must pass Check. It takes O(n + m).
func (p *Problem) Finish(plan Plan) []float64 {
	finish := make([]float64, p.m)
	for z, j := range plan {
		if p.kind == Unrelated {
			finish[j] += p.size[z*p.m+j]
		} else {
			finish[j] += p.size[z]
		}
	}
	for j, sum := range finish {
		if sum > 0 {
			finish[j] = p.off[j] + float64(p.unit[j]*sum)
		}
	}
	return finish
}

// Makespan returns the time at which the last client finishes. The plan must
// pass Check.
func (p *Problem) Makespan(plan Plan) float64 {
	last := 0.0
	for _, t := range p.Finish(plan) {
		last = max(last, t)
	}
	return last
}

// Tolerance is the relative gap between makespan and lower bound at which a
// plan counts as optimal. Solvers stop there. For integer durations with a
// makespan below 10⁹ it means that the two are equal.
const Tolerance = 1e-9

// Status says what is proved about a plan.
type Status int

const (
	Feasible Status = iota // the plan is valid; its gap to the bound is given
	Optimal                // no plan is better by more than Tolerance of the makespan
)

func (s Status) String() string { return name("Status", int(s), "feasible", "optimal") }

// Stop says why a solver stopped.
type Stop int

const (
	Proved    Stop = iota // the plan is optimal
	GapClosed             // the gap is at most the one asked for
	Limit                 // the limit on the steps is used up
	Cancelled             // the context's deadline passed or it was cancelled
	Finished              // a heuristic came to its end
)

func (s Stop) String() string {
	return name("Stop", int(s), "proved", "gap closed", "step limit", "cancelled", "finished")
}

// A Result is a plan and what is known about it.
type Result struct {
	Plan     Plan
	Makespan float64
	Lower    float64 // no plan has a smaller makespan
	Status   Status
	Stop     Stop
	Steps    int64 // search steps taken: a deterministic measure of the work
}

// Gap returns how far the makespan is above the lower bound, as a share of the
// bound.
func (r Result) Gap() float64 { return (r.Makespan - r.Lower) / r.Lower }

// CheckResult returns an error unless the result is consistent: its plan passes
// Check and has the makespan stated, the lower bound is below it and at or
// below what one can see at a glance of any plan, and a plan said to be optimal
// is within Tolerance (and the rounding of the problem) of the bound. It takes
// O(n·m).
func (p *Problem) CheckResult(r Result) error {
	if err := p.Check(r.Plan); err != nil {
		return err
	}
	if t := p.Makespan(r.Plan); t != r.Makespan {
		return fmt.Errorf("%w: makespan %v, the plan has %v", ErrResult, r.Makespan, t)
	}
	if math.IsNaN(r.Lower) || r.Lower < 0 || r.Lower > r.Makespan {
		return fmt.Errorf("%w: lower bound %v, makespan %v", ErrResult, r.Lower, r.Makespan)
	}
	if proved := r.Makespan-r.Lower <= Tolerance*r.Makespan+2*p.rounding; proved && r.Status != Optimal || !proved && r.Status != Feasible {
		return fmt.Errorf("%w: %v with makespan %v and lower bound %v", ErrResult, r.Status, r.Makespan, r.Lower)
	}
	// All sites on a single client, and the earliest completion in the
	// order given, are plans too: no lower bound may exceed them.
	single, all := math.Inf(1), make(Plan, p.n)
	for j := range min(p.m, 8) {
		for z := range all {
			all[z] = j
		}
		single = min(single, p.Makespan(all))
	}
	for _, t := range []float64{single, p.Makespan(EarliestCompletion(p, nil))} {
		if r.Lower > t*(1+0x1p-50*float64(p.n)) {
			return fmt.Errorf("%w: lower bound %v, but a plan has makespan %v", ErrResult, r.Lower, t)
		}
	}
	return nil
}

// result fills in a Result for a plan and a lower bound on the grid.
func (p *Problem) result(plan Plan, lower float64, stop Stop, steps int64) Result {
	r := Result{Plan: plan, Makespan: p.Makespan(plan), Stop: stop, Steps: steps}
	r.Lower = max(0, min(lower-p.rounding, r.Makespan))
	if r.Makespan-r.Lower <= Tolerance*r.Makespan+2*p.rounding {
		r.Status = Optimal
		r.Stop = Proved
	}
	return r
}
