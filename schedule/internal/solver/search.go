package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// Config has the limits of a search.
type Config struct {
	// Steps limits the search steps, which are counted the same on every machine.
	Steps int64
	// Gap is the relative gap to the lower bound at which the search may stop, and
	// Tolerance the gap, as a share of the makespan, at which a plan counts as optimal.
	Gap, Tolerance float64
	// Start is a plan to start from, nil for none.
	Start []int
	// Progress, unless nil, is called with each better plan and each better bound.
	Progress func(Outcome)
}

// An Outcome is the best plan found, a bound that no plan beats on the grid, why the search
// ended and how many steps it took.
type Outcome struct {
	Plan  []int
	Lower float64
	End   End
	Steps int64
}

// An End is why a search ended.
type End uint8

const (
	Finished  End = iota // nothing was left to try
	GapClosed            // the gap is at most the one asked for
	Limit                // the limit is used up
	Cancelled            // the context is done
)

// A search is what the phases of a solver share: the best plan, the best bound and what is
// left of the limits.
type search struct {
	ctx    context.Context
	p      *instance.Instance
	rng    *rand.Rand
	cfg    Config
	limit  int64
	best   []int
	value  float64 // makespan of best on the grid
	lower  float64 // bound on the grid
	steps  int64
	repart repartitioner
	state  *state // of construct
	order  []int  // the sites, the longest first, where a phase needs that
	watch  *work.Watch
}

func newSearch(ctx context.Context, p *instance.Instance, rng *rand.Rand, cfg Config) *search {
	x := &search{ctx: ctx, p: p, rng: rng, cfg: cfg, limit: cfg.Steps, value: math.Inf(1), watch: work.NewWatch(ctx)}
	if cfg.Start != nil {
		x.offer(cfg.Start)
	}
	return x
}

// offer keeps a plan if it is better than the best. The plan that comes with the instance takes the
// place of one whose makespan says nothing: it ends before half of Most.
func (x *search) offer(plan []int) bool {
	t := x.p.Makespan(plan)
	if !x.p.Tells(t) {
		plan = x.p.Greedy()
		t = x.p.Makespan(plan)
	}
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
	if x.cfg.Progress != nil && x.best != nil {
		o := x.outcome()
		o.Plan = slices.Clone(o.Plan)
		x.cfg.Progress(o)
	}
}

// closed reports whether the gap is as small as asked for. On the grid only equality will do,
// or the tolerance.
func (x *search) closed() bool {
	return x.value-x.lower <= max(x.cfg.Gap*x.lower, x.cfg.Tolerance*x.value)
}

// over reports whether the search has to end.
func (x *search) over() bool {
	return x.closed() || x.steps >= x.limit || x.ctx.Err() != nil
}

// finish makes a plan and a bound if the search ended before there were any, and returns the outcome.
// The first plans of a pricing may be far worse than a rough one.
func (x *search) finish() Outcome {
	if x.best == nil || large(x.p) {
		x.offer(rough(x.p))
	}
	if x.lower == 0 && !large(x.p) {
		x.raise(elementary(x.p))
	}
	return x.outcome()
}

func (x *search) outcome() Outcome {
	end := Finished
	switch {
	case x.closed():
		end = GapClosed
	case x.steps >= x.limit:
		end = Limit
	case x.ctx.Err() != nil:
		end = Cancelled
	}
	return Outcome{x.best, x.lower, end, x.steps}
}

// Improve runs the iterated search alone, from the plan of the config or that of LPT.
func Improve(ctx context.Context, p *instance.Instance, rng *rand.Rand, cfg Config) Outcome {
	x := newSearch(ctx, p, rng, cfg)
	x.improve()
	return x.finish()
}

func (x *search) improve() {
	p := x.p
	if x.best == nil && x.list() {
		if plan := earliestCompletion(p, x.order, x.watch); plan != nil {
			x.offer(plan)
		}
	}
	if large(p) {
		x.atSize()
		return
	}
	if x.best == nil || !x.list() {
		return
	}
	x.raise(lowerBound(p, x.order, x.watch))
	for !x.over() {
		x.iterate(math.MaxInt64)
	}
}

// list lists the sites, and reports whether it did before the context ended.
func (x *search) list() bool {
	if x.order == nil {
		x.order = longestFirst(x.p, x.watch)
	}
	return x.order != nil
}

// iterate runs the iterated search for at most the given number of steps.
func (x *search) iterate(steps int64) {
	p, end := x.p, x.limit
	if steps < x.limit-x.steps {
		end = x.steps + steps
	}
	s, ok := newState(p, x.best, x.watch)
	if !ok {
		return
	}
	patience := patience + patiencePerClient*p.M
	for stale := 0; x.steps < end; {
		s.ops, s.most = 0, x.descent()
		s.descend()
		if p.M > 1 {
			k := s.last()
			if x.rng.IntN(stir) == 0 {
				k = x.rng.IntN(p.M) // stir the others, so that new partners come up
			}
			i := x.rng.IntN(p.M - 1)
			if i >= k {
				i++
			}
			x.repart.pair(s, x.rng, k, i)
		}
		x.steps += s.ops + 1
		stale++
		if s.makespan() < x.value {
			x.offer(s.plan())
			stale = 0
		}
		if x.over() || p.M == 1 {
			return
		}
		if stale > patience {
			if !s.reset(x.best) {
				return
			}
			for range leastKicks + x.rng.IntN(moreKicks) {
				if z, j := x.rng.IntN(p.N), x.rng.IntN(p.M); p.At(z, j) != instance.Forbidden {
					s.move(int32(z), j)
				}
			}
			stale = 0
		}
	}
}
