package solver

import (
	"context"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// Solve looks for a plan with the least makespan and for the proof that it is, until a
// limit of the config ends it.
//
// It builds plans by LPT, MULTIFIT and differencing, improves them by local search, and
// compares them with the lower bound, on identical and uniform clients lifted to sums that
// sites can have. What is left open goes in turns to the iterated search and to an exact
// one, with budgets that grow: on identical and uniform clients a [packer], on unrelated
// clients a [branching] and a [knapsackBound], or where that is too large a [pricing].
func Solve(ctx context.Context, p *instance.Instance, rng *rand.Rand, cfg Config) Outcome {
	x := newSearch(ctx, p, rng, cfg)
	x.solve()
	return x.finish()
}

func (x *search) solve() {
	switch p := x.p; {
	case large(p):
		x.atSize()
	case p.PerPair:
		x.unrelated()
	default:
		x.uniform()
	}
}

// leastDescent is how many steps a descent may take however few are left, some tens of milliseconds. So
// a small limit still gives plans that are locally optimal, as long as the problem is not too large.
const leastDescent = 1 << 20

// descent returns the most steps of a descent.
func (x *search) descent() int64 { return max(x.limit-x.steps, leastDescent) }

// construct improves a plan by local search and offers it. Nil is none.
func (x *search) construct(plan []int) {
	if plan == nil {
		return
	}
	ok := false
	if x.state == nil {
		x.state, ok = newState(x.p, plan, x.watch)
	} else {
		ok = x.state.reset(plan)
	}
	if !ok {
		x.offer(plan)
		return
	}
	x.state.ops, x.state.most, x.state.good = 0, x.descent(), x.lower
	x.state.descend()
	x.steps += x.state.ops + int64(x.p.N)
	if x.state.makespan() < x.value {
		x.offer(x.state.plan())
	}
}

func (x *search) uniform() {
	p := x.p
	if !x.list() {
		return
	}
	x.raise(newBounder(p, x.order, x.watch).bound(elementary(p)))
	lpt := earliestCompletion(p, x.order, x.watch)
	x.construct(lpt)
	if x.over() {
		return
	}
	var reach *subsetsum.Reach
	if limit := x.widest(); limit <= tableLimit && limit*int64(p.N) <= 64*tableLimit {
		reach = subsetsum.Reachable(p.Amount, limit)
		x.steps += limit / 64 * int64(p.N)
		x.raise(lift(p, x.lower, reach, x.watch))
	}
	if x.over() {
		return
	}
	x.construct(multifit(p, x.order, lpt, x.watch))
	if x.over() {
		return
	}
	if p.N <= differencingLimit {
		x.construct(differencing(p, x.watch))
		if x.over() {
			return
		}
		x.raiseByPlacement()
	}
	var pack *packer
	if p.N <= packLimit {
		pack = newPacker(x, p.N)
	}
	few := identical(p) && p.N <= packedSites && p.N <= packedPerClient*p.M
	for budget, before := int64(firstBudget), int64(-1); !x.over(); budget *= int64(growth) {
		x.steps += max(0, before+1-x.steps) // a round that finds nothing to do is a step, so that the limit ends the search
		before = x.steps
		if few {
			x.packBins(budget, reach)
		}
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
				x.raise(next(p, t, reach))
			}
		}
	}
}

// aim returns a time between the bound and the best plan, but below the plan's.
func (x *search) aim(share float64) float64 {
	return min(x.lower+float64(share*(x.value-x.lower)), instance.Before(x.value))
}

// raiseByPlacement raises the lower bound by where the largest sites can go.
func (x *search) raiseByPlacement() {
	place := newPlacement(x.p, x.order, 2*x.p.M, x.watch)
	for _, depth := range []int{1, x.p.M, 2 * x.p.M} {
		if x.over() {
			return
		}
		x.raise(place.bound(x.lower, depth, min(int64(firstBudget), x.limit-x.steps)))
		x.steps += place.work
	}
}

// raiseByLargest raises the lower bound to what the largest sites alone take: many small
// sites hide that a few large ones do not fit.
func (x *search) raiseByLargest(steps int64, reach *subsetsum.Reach) {
	for _, perClient := range []int{1, 2, 3} {
		count := perClient*x.p.M + 2
		if count >= min(x.p.N, packLimit) {
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
			x.raise(next(x.p, t, reach))
		}
	}
}

// widest is the largest capacity that a client may need.
func (x *search) widest() int64 {
	widest := int64(0)
	for j := range x.p.M {
		widest = max(widest, x.p.Capacity(j, x.value))
	}
	return widest
}

func (x *search) unrelated() {
	p := x.p
	x.raise(elementary(p))
	if !x.list() {
		return
	}
	lpt := earliestCompletion(p, x.order, x.watch)
	x.construct(lpt)
	if x.over() {
		return
	}
	x.construct(multifit(p, x.order, lpt, x.watch))
	if x.over() {
		return
	}
	tree := newBranching(x)
	x.raise(leastTime(x.lower, newCounter(p, x.watch).excludes))
	knapsacks := newKnapsackBound(x, tree.relax)
	pairs := int64(p.N) * int64(p.M)
	knapsacks.run(int64(firstRounds) * pairs * pairs)
	for budget := int64(firstBudget); !x.over(); budget *= int64(growthUnrelated) {
		x.iterate(budget)
		tree.neighbourhoods(budget)
		tree.run(int64(treeShare) * budget)
		tree.root(int64(rootShare)*budget, budget/4)
		knapsacks.run(int64(knapsackShare) * budget)
	}
}
