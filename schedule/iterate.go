package schedule

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// DefaultSteps limits a solver when neither its settings nor its context do:
// some seconds of work, the same on every machine.
const DefaultSteps = 200_000_000

// Settings of the solvers. The zero value is the default.
type Settings struct {
	// Steps limits the search steps, which are counted the same on every
	// machine. 0 means no limit if the context has a deadline, and otherwise
	// DefaultSteps.
	Steps int64
	// Gap is the relative gap to the lower bound at which a solver may stop; 0
	// means to go on until the plan is proved optimal.
	Gap float64
	// Start is a plan to start from, nil for none.
	Start Plan
	// Progress is called with each better plan and each better bound. The plan
	// in it is the receiver's to keep. It costs O(n) per call.
	Progress func(Result)
}

// A search is what the phases of a solver share: the best plan, the best bound
// and what is left of the limits.
type search struct {
	ctx    context.Context
	p      *Problem
	rng    *rand.Rand
	set    Settings
	limit  int64
	best   Plan
	value  float64 // makespan of best on the grid
	lower  float64 // bound on the grid
	steps  int64
	repart repartitioner
	state  *state // of construct
}

func newSearch(ctx context.Context, p *Problem, src rand.Source, set Settings) (*search, error) {
	if src == nil {
		panic("schedule: nil source")
	}
	if set.Steps < 0 || !(set.Gap >= 0) {
		return nil, fmt.Errorf("%w: %d steps, gap %v", ErrLimit, set.Steps, set.Gap)
	}
	x := &search{ctx: ctx, p: p, rng: rand.New(src), set: set, limit: set.Steps, value: math.Inf(1)}
	if x.limit == 0 {
		x.limit = math.MaxInt64
		if _, ok := ctx.Deadline(); !ok {
			x.limit = DefaultSteps
		}
	}
	if set.Start != nil {
		if err := p.Check(set.Start); err != nil {
			return nil, err
		}
		x.offer(set.Start)
	}
	return x, nil
}

// offer keeps a plan if it is better than the best.
func (x *search) offer(plan Plan) bool {
	t := x.p.gridMakespan(plan)
	if t >= x.value {
		return false
	}
	x.best, x.value = slices.Clone(plan), t
	x.report()
	return true
}

// raise keeps a bound if it is better than the best.
func (x *search) raise(lower float64) {
	if lower = min(lower, x.value); lower > x.lower {
		x.lower = lower
		x.report()
	}
}

func (x *search) report() {
	if x.set.Progress != nil && x.best != nil {
		r := x.result()
		r.Plan = slices.Clone(r.Plan)
		x.set.Progress(r)
	}
}

// closed says whether the gap is as small as asked for. On the grid only
// equality will do, or Tolerance.
func (x *search) closed() bool {
	return x.value-x.lower <= max(x.set.Gap*x.lower, Tolerance*x.value)
}

// over says whether the search has to end.
func (x *search) over() bool {
	return x.closed() || x.steps >= x.limit || x.ctx.Err() != nil
}

func (x *search) result() Result {
	stop := Finished
	switch {
	case x.closed():
		stop = GapClosed
	case x.steps >= x.limit:
		stop = Limit
	case x.ctx.Err() != nil:
		stop = Cancelled
	}
	return x.p.result(x.best, x.lower, stop, x.steps)
}

// Improve runs the iterated search from settings.Start (nil: from LPT) until
// the plan meets the lower bound, the limit or the context ends it. Each round
// repartitions the last client and another one, chosen at random, in the best
// way; when that stops paying it returns to the best plan, disturbs it at random
// and repairs it by local search. It is anytime: the plan that it returns is never
// worse than the one that it started from, but for [Problem.Rounding]. A cancelled
// context is not an error.
func Improve(ctx context.Context, p *Problem, src rand.Source, set Settings) (Result, error) {
	x, err := newSearch(ctx, p, src, set)
	if err != nil {
		return Result{}, err
	}
	if x.best == nil {
		x.offer(LPT(p))
	}
	x.raise(LowerBound(p) + p.rounding)
	for !x.over() {
		x.iterate(math.MaxInt64)
	}
	return x.result(), nil
}

// iterate runs the iterated search for at most the given number of steps.
func (x *search) iterate(steps int64) {
	p, end := x.p, x.limit
	if steps < x.limit-x.steps {
		end = x.steps + steps
	}
	s := newState(p, x.best)
	s.ctx = x.ctx
	patience := 20 + 4*p.m
	for stale := 0; x.steps < end; {
		s.ops = 0
		s.descend()
		if p.m > 1 {
			k := s.last()
			if x.rng.IntN(4) == 0 {
				k = x.rng.IntN(p.m) // stir the others, so that new partners come up
			}
			i := x.rng.IntN(p.m - 1)
			if i >= k {
				i++
			}
			x.repart.pair(s, x.rng, k, i, true)
		}
		x.steps += s.ops + 1
		stale++
		if s.makespan() < x.value {
			x.offer(s.plan())
			stale = 0
		}
		if x.over() || p.m == 1 {
			return
		}
		if stale > patience {
			s.reset(x.best)
			for range 2 + x.rng.IntN(3) {
				s.move(int32(x.rng.IntN(p.n)), x.rng.IntN(p.m))
			}
			stale = 0
		}
	}
}
