package schedule

import (
	"context"
	"math/rand/v2"
)

// Solve looks for a plan with the least makespan and for the proof that it is,
// until one of its limits ends it (see [Settings]); a plan that is proved
// optimal within [Tolerance] ends it at once. A context that is cancelled is no
// error: the result is the best plan and bound so far, and says so. The result
// passes CheckResult. Errors are invalid settings only; a nil source panics.
//
// It builds plans by LPT, MULTIFIT and differencing, improves them by local
// search, and compares them with the lower bound, on identical and uniform
// clients lifted to sums that sites can have. What is left open goes in turns to
// the iterated search ([Improve]) and to an exact one, with budgets that grow:
// on identical and uniform clients, of up to 256 sites, sequential
// partitioning, which decides whether the sites fit by a given time; on
// unrelated clients branch and bound on the linear relaxation, which also
// searches the neighbourhood of the best plan.
func Solve(ctx context.Context, p *Problem, src rand.Source, set Settings) (Result, error) {
	x, err := newSearch(ctx, p, src, set)
	if err != nil {
		return Result{}, err
	}
	if p.kind == Unrelated {
		x.unrelated()
	} else {
		x.uniform()
	}
	return x.result(), nil
}

// firstBudget is the number of steps of the first turn of each phase.
const firstBudget = 20_000

// construct improves a plan by local search and offers it.
func (x *search) construct(plan Plan) {
	if x.state == nil {
		x.state = newState(x.p, plan)
		x.state.ctx = x.ctx
	} else {
		x.state.reset(plan)
	}
	x.state.ops, x.state.good = 0, x.lower
	x.state.descend()
	x.steps += x.state.ops + int64(x.p.n)
	if x.state.makespan() < x.value {
		x.offer(x.state.plan())
	}
}

func (x *search) uniform() {
	p := x.p
	x.raise(newBounder(p).bound(p.elementary()))
	x.construct(LPT(p))
	if x.over() {
		return
	}
	var reach *sums
	if limit := x.widest(); limit <= tableLimit && limit*int64(p.n) <= 64*tableLimit {
		reach = reachable(p.amount, limit)
		x.steps += limit / 64 * int64(p.n)
		x.raise(p.lift(x.lower, reach))
	}
	if x.over() {
		return
	}
	x.construct(Multifit(p))
	if x.over() {
		return
	}
	if p.n <= 1<<16 {
		if plan, err := KarmarkarKarp(p); err == nil {
			x.construct(plan)
		}
		if x.over() {
			return
		}
		x.raiseByPlacement()
	}
	var pack *packer
	if p.n <= packLimit {
		pack = newPacker(x, p.n)
	}
	for budget := int64(firstBudget); !x.over(); budget *= 4 {
		x.raiseByLargest(budget, reach)
		x.iterate(budget)
		if pack == nil {
			continue
		}
		for _, aim := range []float64{0, .5, 1} {
			if x.over() {
				return
			}
			t := x.aim(aim)
			switch v, plan := pack.decide(t, budget); v {
			case fits:
				x.offer(plan)
			case fitsNot:
				x.raise(p.next(t, reach))
			}
		}
	}
}

// aim returns a time between the bound and the best plan, but below the plan's.
func (x *search) aim(share float64) float64 {
	return min(x.lower+share*(x.value-x.lower), before(x.value))
}

// raiseByPlacement raises the lower bound by where the largest sites can go.
func (x *search) raiseByPlacement() {
	place := newPlacement(x.p, 2*x.p.m)
	for _, depth := range []int{1, x.p.m, 2 * x.p.m} {
		if x.over() {
			return
		}
		x.raise(place.bound(x.lower, depth, min(firstBudget, x.limit-x.steps)))
		x.steps += place.work
	}
}

// raiseByLargest raises the lower bound to what the largest sites alone take:
// many small sites hide that a few large ones do not fit.
func (x *search) raiseByLargest(steps int64, reach *sums) {
	for _, perClient := range []int{1, 2, 3} {
		count := perClient*x.p.m + 2
		if count >= min(x.p.n, packLimit) {
			return
		}
		k := newPacker(x, count)
		for _, share := range []float64{0, .02, .1, .3, .5, 1} {
			if x.over() {
				return
			}
			t := x.aim(share)
			if v, _ := k.decide(t, steps/8); v != fitsNot {
				break
			}
			x.raise(x.p.next(t, reach))
		}
	}
}

// widest is the largest capacity that a client may need.
func (x *search) widest() int64 {
	widest := int64(0)
	for j := range x.p.m {
		widest = max(widest, x.p.capacity(j, x.value))
	}
	return widest
}

func (x *search) unrelated() {
	p := x.p
	x.raise(p.elementary())
	x.construct(LPT(p))
	if x.over() {
		return
	}
	x.construct(Multifit(p))
	if x.over() {
		return
	}
	tree := newBranching(x)
	if k := newKnapsackBound(x, tree.relax); k != nil {
		k.run()
	}
	share := .1 // of the way to the best plan, up to which the root's core is enumerated
	for budget := int64(firstBudget); !x.over(); budget *= 2 {
		x.iterate(budget)
		tree.neighbourhoods(budget)
		tree.run(16 * budget)
		for end := x.steps + 2*budget; x.steps < end && !x.over(); {
			t, start := x.aim(share), x.steps
			v, plan := tree.core.decide(t, end-start)
			if v == undecided {
				share /= 1.4
				break
			}
			if v == fits {
				x.offer(plan)
				continue
			}
			x.raise(p.next(t, nil))
			if x.steps-start < budget/4 {
				share = min(2*share, 1) // that was easy
			}
		}
	}
}
