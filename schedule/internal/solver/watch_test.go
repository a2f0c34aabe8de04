package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/internal/worktest"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// drawn returns an instance with whole durations or sizes up to most, and a share of the pairs
// forbidden.
func drawn(t testing.TB, perPair bool, n, m, most int, forbidden float64, unit []float64) *instance.Instance {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	sizes := make([]float64, n)
	if perPair {
		sizes = make([]float64, n*m)
	}
	for k := range sizes {
		if sizes[k] = float64(1 + rng.IntN(most)); perPair && k%m != k/m%m && rng.Float64() < forbidden {
			sizes[k] = math.Inf(1)
		}
	}
	return build(t, perPair, sizes, unit, nil)
}

// Whenever the context ends, there are a plan and a bound, the work that follows is a pass over the
// sites, and the context is asked a few times more.
func TestSolveEndsAnywhere(t *testing.T) {
	t.Parallel()
	ones, speeds := slices.Repeat([]float64{1}, 500), make([]float64, 500)
	for j := range speeds {
		speeds[j] = 1 + float64(j%97)/97
	}
	for _, c := range []struct {
		name string
		p    *instance.Instance
	}{
		{"identical", drawn(t, false, 60_000, 50, 1<<20, 0, ones[:50])},
		{"uniform", drawn(t, false, 60_000, 50, 1<<20, 0, speeds[:50])},
		{"two clients", drawn(t, false, 50_000, 2, 1<<30, 0, speeds[:2])},
		{"many clients", drawn(t, false, 3000, 500, 1<<20, 0, speeds)},
		{"few sites per client", drawn(t, false, 560, 200, 10_000, 0, ones[:200])},
		{"100 sites", drawn(t, false, 100, 10, 1<<20, 0, speeds[:10])},
		{"unrelated", drawn(t, true, 500, 30, 1000, 0, ones[:30])},
		{"forbidden", drawn(t, true, 500, 30, 1000, .7, ones[:30])},
		{"two unrelated", drawn(t, true, 8000, 2, 1<<20, 0, ones[:2])},
		{"as many clients", drawn(t, true, 300, 200, 1<<20, 0, ones[:300])},
		{"at size", drawn(t, true, 20_000, 60, 1000, 0, ones[:60])},
		{"forbidden at size", drawn(t, true, 20_000, 60, 1000, .9, ones[:60])},
	} {
		for name, run := range map[string]func(*search){"Solve": (*search).solve, "Improve": (*search).improve} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				worktest.EndsAnywhere(t, 300, 4*(c.p.N+c.p.M), func(ctx *worktest.Countdown) *work.Watch {
					x := newSearch(ctx, c.p, rand.New(rand.NewPCG(1, 1)), Config{Steps: 300_000_000, Tolerance: 1e-9})
					run(x)
					o := x.finish()
					require.Len(t, o.Plan, c.p.N)
					value := c.p.Makespan(o.Plan)
					require.False(t, math.IsInf(value, 1), "a forbidden pair")
					require.Positive(t, o.Lower)
					require.LessOrEqual(t, o.Lower, value)
					return x.watch
				})
			})
		}
	}
}

// Everything that takes long tells the watch at least the steps that it takes, and ends with it.
func TestWatchIsTold(t *testing.T) {
	t.Parallel()
	const n, m = 20_000, 50
	ones := slices.Repeat([]float64{1}, 1000)
	p, q := drawn(t, false, n, m, 1<<20, 0, ones[:m]), drawn(t, true, 2000, m, 1000, 0, ones[:m])
	sized := drawn(t, true, 10_000, m, 1000, 0, ones[:m])
	order, pairs := longestFirst(p, nil), longestFirst(q, nil)
	lpt := EarliestCompletion(p, order)
	turns := make([]int, n)
	for z := range turns {
		turns[z] = z % m
	}
	with := func(p *instance.Instance, watch *work.Watch) *search {
		x := newTestSearch(t, p)
		x.offer(EarliestCompletion(p, nil))
		x.watch = watch
		return x
	}
	state := func(p *instance.Instance, plan []int, watch *work.Watch) *state {
		s, ok := newState(p, plan, nil)
		require.True(t, ok)
		s.watch = watch
		return s
	}
	worktest.Told(t, "longestFirst", n*work.Comparison*14, func(w *work.Watch) { longestFirst(p, w) })
	worktest.Told(t, "longestFirst of pairs", 2000*m, func(w *work.Watch) { longestFirst(q, w) })
	worktest.Told(t, "earliestCompletion", n*m, func(w *work.Watch) { earliestCompletion(p, order, w) })
	worktest.Told(t, "multifit", n, func(w *work.Watch) { multifit(p, order, lpt, w) })
	worktest.Told(t, "differencing", n*partSteps, func(w *work.Watch) { differencing(p, w) })
	worktest.Told(t, "newBounder", n, func(w *work.Watch) { newBounder(p, order, w) })
	worktest.Told(t, "bound", 7*m*m*boundSteps, func(w *work.Watch) { newBounder(p, order, w).bound(1) })
	worktest.Told(t, "crowdExcludes", crowdLimit/2*boundSteps, func(w *work.Watch) { newBounder(p, order, w).crowdExcludes(1e30) })
	worktest.Told(t, "newCounter", 2000*m*work.Comparison*10, func(w *work.Watch) { newCounter(q, w) })
	worktest.Told(t, "counter", m*boundSteps, func(w *work.Watch) { (&counter{p: q, prefix: make([][]int64, m), watch: w}).excludes(1) })
	worktest.Told(t, "newPlacement", n*30, func(w *work.Watch) { newPlacement(p, order, 2*m, w) })
	worktest.Told(t, "placement", 20*boundSteps*m, func(w *work.Watch) {
		p := drawn(t, false, 2000, m, 50, 0, ones[:m])
		b := newPlacement(p, longestFirst(p, nil), 2*m, nil)
		b.watch = w
		b.bound(1, 2*m, unlimited)
	})
	worktest.Told(t, "lift", m*boundSteps, func(w *work.Watch) { lift(p, 1<<20-2000, subsetsum.Reachable(p.Amount[:100], 1<<20), w) })
	worktest.Told(t, "reset", n*(4+work.Comparison*8), func(w *work.Watch) { newState(p, turns, w) })
	worktest.Told(t, "reset of two clients", n*work.Comparison*13, func(w *work.Watch) {
		newState(drawn(t, false, n, 2, 1<<20, 0, ones[:2]), make([]int, n), w)
	})
	worktest.Told(t, "descend", n, func(w *work.Watch) { state(p, turns, w).descend() })
	worktest.Told(t, "threes", 200*200, func(w *work.Watch) {
		p := drawn(t, false, 400, 2, 1<<20, 0, ones[:2])
		state(p, EarliestCompletion(p, nil), w).threes(&exchange{worse: math.Inf(1)}, 1, 0, 1, 1)
	})
	worktest.Told(t, "moveOrSwap", 10*40*boundSteps, func(w *work.Watch) {
		s := state(q, turns[:2000], w)
		s.moveOrSwap(s.last())
	})
	worktest.Told(t, "pivots", 100*m*m, func(w *work.Watch) { newRelaxation(q, w).root(pairs, 1, math.Inf(1)) })
	worktest.Told(t, "core", 10_000*2*8, func(w *work.Watch) {
		p := drawn(t, true, 60, 8, 1000, 0, ones[:8])
		x := with(p, nil)
		x.construct(LPT(p))
		c := &core{x: x, relax: newRelaxation(p, nil)}
		c.relax.root(longestFirst(p, nil), 1, math.Inf(1))
		x.watch = w
		c.decide(instance.Before(x.value), 500_000)
	})
	worktest.Told(t, "packer", 1000*60, func(w *work.Watch) {
		x := with(drawn(t, false, 60, 7, 1<<20, 0, ones[:7]), nil)
		k := newPacker(x, 60)
		x.raise(LowerBound(x.p))
		x.watch = w
		k.decide(x.aim(.001), 10_000)
	})
	two := func(w *work.Watch, n, most int, small int64) {
		k := newPacker(with(drawn(t, false, n, 2, most, 0, ones[:2]), w), n)
		left := make([]int32, n)
		for r := range left {
			left[r] = int32(r)
			k.amount[r] *= 2 // so that no subset fills the smaller client
		}
		k.capacity = []int64{small, 2 * k.total}
		k.two(0, left, 2*k.total)
	}
	worktest.Told(t, "two", 4<<(subsetsum.MaxHalves/2), func(w *work.Watch) { two(w, subsetsum.MaxHalves, 1<<30, 1<<33+1) })
	worktest.Told(t, "two by table", 256*(tableLimit/64), func(w *work.Watch) { two(w, 256, 1<<13, tableLimit-1) })
	worktest.Told(t, "dominated", 200*200/2, func(w *work.Watch) {
		x := with(drawn(t, false, 250, 3, 5, 0, ones[:3]), w)
		k := newPacker(x, 250)
		in := make([]int, 200)
		for r := range in {
			in[r] = r
		}
		left := make([]int32, 250)
		for r := range left {
			left[r] = int32(r)
		}
		(&completion{k: k, left: left, in: in}).dominated(0)
	})
	worktest.Told(t, "knapsacks", 10*100*50, func(w *work.Watch) {
		x := with(drawn(t, true, 100, 10, 50, 0, ones[:10]), w)
		k := newKnapsackBound(x, newBranching(with(x.p, nil)).relax)
		k.excess(x.value)
	})
	worktest.Told(t, "elementary at size", 10_000*m, func(w *work.Watch) { newPricing(with(sized, w)) })
	worktest.Told(t, "bound at size", 10_000*m, func(w *work.Watch) {
		v := newPricing(with(sized, nil))
		v.x.watch = w
		v.bound(1, firstRate)
	})
	worktest.Told(t, "repair at size", 10_000*m, func(w *work.Watch) {
		v := newPricing(with(sized, nil))
		v.x.watch = w
		v.repair()
	})
	worktest.Told(t, "shuffle", 10_000*work.Comparison, func(w *work.Watch) { with(sized, w).shuffle(1) })
}

// Exchanges of one site of a short batch for two of a long one are left out: there are too many.
func TestThreesOfALongBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, least, most int
	}{{200, 199 * 199 / 2, 200 * 200 * 2 * moveSteps}, {10_000, 0, 10_000 * 2 * moveSteps}} {
		p := drawn(t, false, c.n, 2, 1<<20, 0, []float64{1, 1})
		plan := make([]int, c.n)
		plan[0] = 1
		watch := work.NewWatch(context.Background())
		s, ok := newState(p, plan, nil)
		require.True(t, ok)
		s.watch = watch
		s.threes(&exchange{worse: math.Inf(1)}, 1, 0, 1, 1)
		require.GreaterOrEqual(t, watch.Spent, c.least)
		require.LessOrEqual(t, watch.Spent, c.most)
	}
}

// A search that is out of time says neither that sites fit nor that they do not, and excludes no
// time that it did not look at.
func TestEndProvesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		perPair := rapid.Bool().Draw(rt, "per pair")
		p := draw(rt, perPair, 7)
		best := optimum(p)
		x := newTestSearch(t, p)
		x.watch = worktest.Ended()
		order := longestFirst(p, nil)
		if perPair {
			v, _ := (&core{x: x, relax: newRelaxation(p, x.watch)}).decide(best, 1<<40)
			require.Equal(rt, undecided, v)
			require.False(rt, newCounter(p, x.watch).excludes(0))
			require.LessOrEqual(rt, newRelaxation(p, x.watch).root(order, 0, math.Inf(1)).bound, best)
			require.LessOrEqual(rt, lowerBound(p, order, x.watch), best)
			return
		}
		v, _ := newPacker(x, p.N).decide(best, 1<<40)
		require.Equal(rt, undecided, v)
		b := newBounder(p, order, x.watch)
		require.LessOrEqual(rt, b.bound(0), math.Nextafter(0, 1))
		low := elementary(p)
		require.LessOrEqual(rt, b.bound(low), max(low, best))
		require.Nil(rt, newPlacement(p, order, 2*p.M, x.watch))
	})
}

// A plan that takes no time is valid, and on identical clients at most twice as long as the best.
func TestRough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, rapid.Bool().Draw(t, "per pair"), 7)
		value := p.Makespan(rough(p))
		require.False(t, math.IsInf(value, 1))
		best := optimum(p)
		require.GreaterOrEqual(t, value, best)
		if identical(p) && slices.Max(p.Off) == 0 {
			require.LessOrEqual(t, value, 2*best)
		}
	})
	// Up to the mean load every client would be given one site, and the last one all others.
	p := build(t, false, slices.Repeat([]float64{60}, 30), slices.Repeat([]float64{1}, 20), nil)
	require.LessOrEqual(t, p.Makespan(rough(p)), 2*LowerBound(p))
	forbidden := drawn(t, true, 3000, 40, 1000, .95, slices.Repeat([]float64{1}, 40))
	require.False(t, math.IsInf(forbidden.Makespan(rough(forbidden)), 1))
}
