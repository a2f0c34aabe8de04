package packing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/internal/worktest"
)

// rounded is a problem of weights that were rounded up.
func rounded(in *Problem) *Problem {
	low := make([]int64, len(in.Weights))
	for i, w := range in.Weights {
		low[i] = w - 1
	}
	in.Low, in.High = low, []int64{in.Capacities[0] + 1}
	return in
}

// Whenever the context ends, MaxSubset has a subset, says that it is not proved, and does little more work.
func TestMaxSubsetEndsAnywhere(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 62))
	for _, c := range []struct {
		name      string
		n         int
		low, high int64
		c         int64
		looks     int
	}{
		{"all subsets", 40, 1 << 48, 1 << 50, 1 << 53, 100},
		{"cores", 60, 1 << 40, 1<<40 + 1000, 61 << 39, 300},
		{"balance", 300, 1 << 18, 1<<18 + 8, 301 << 17, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := between(rng, c.n, c.low, c.high)
			worktest.EndsAnywhere(t, c.looks, 0, func(ctx *worktest.Countdown) *work.Watch {
				s := newSubset(w, c.c)
				s.solve(ctx, thorough)
				r := s.result()
				sum := int64(0)
				for _, i := range r.Items {
					sum += w[i]
				}
				require.LessOrEqual(t, sum, c.c)
				require.Greater(t, sum, c.c/4*3)
				require.True(t, ctx.After == 0 || !r.Proved && r.Gap > 0)
				if s.watch == nil {
					s.watch = work.NewWatch(ctx) // the context was over before long searches
				}
				return s.watch
			})
			ctx := worktest.NewCountdown(3)
			require.False(t, MaxSubset(ctx, w, c.c).Proved)
			require.Positive(t, ctx.After)
		})
	}
}

// What takes long in MaxSubset tells its watch.
func TestSubsetToldWatch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 62))
	many, few := between(rng, 40, 1<<48, 1<<50), between(rng, 300, 1<<18, 1<<18+8)
	worktest.Told(t, "core", 12_000_000, func(w *work.Watch) {
		s := newSubset(many, 1<<53)
		s.watch = w
		require.Equal(t, !w.Over(), s.core(40, nil))
		require.Equal(t, w.Over(), s.best == 0)
	})
	worktest.Told(t, "balance", 300_000_000, func(w *work.Watch) {
		s := newSubset(few, 301<<17)
		s.watch = w
		require.Equal(t, !w.Over(), s.balance(1<<25))
	})
}

// Whenever the context ends, Solve has a packing and a bound with its certificate, and does no more
// work than a pass over the items, nor goes on asking.
func TestSolveEndsAnywhere(t *testing.T) {
	t.Parallel()
	const n = 100_000
	draw := func(n int, low, high int64) []int64 {
		return between(rand.New(rand.NewPCG(uint64(n), 61)), n, low, high)
	}
	given := &Problem{Weights: draw(3000, 1, 1000), Capacities: make([]int64, 3000)}
	for b := range given.Capacities {
		given.Capacities[b] = 1000 + int64(b%7)
	}
	differ := &Problem{Weights: draw(150_000, 1, 1<<36), Capacities: draw(1000, 1<<42, 1<<43)}
	few := &Problem{Weights: draw(35, 1, 1<<40), Capacities: draw(16, 1<<40, 1<<42)}
	ruled := plain(1<<40, draw(n, 1, 1<<36))
	var pairs [][2]int
	ruled.Pins = slices.Repeat([]int{-1}, n)
	for i := range n / 2 {
		pairs = append(pairs, [2]int{i, n - 1 - i}, [2]int{0, i + 1}) // one with half of all
	}
	for i := 1; i < n; i += 100 {
		ruled.Pins[i] = i / 20
	}
	ruled.Conflicts = NewConflicts(pairs)
	for _, c := range []struct {
		name  string
		in    *Problem
		looks int // before the end, at most
	}{
		{"many kinds", plain(1<<40, draw(n, 1, 1<<38)), 600},
		{"rounded", rounded(plain(1<<40, draw(n, 2, 1<<38))), 600},
		{"few kinds", plain(150, draw(n, 20, 100)), 600},
		{"700 kinds", plain(100_000, draw(700, 20_000, 35_000)), 300},
		{"Minimum Bin Slack", plain(1000, draw(5000, 150, 550)), 100},
		{"given bins", given, 600},
		{"bins that differ", differ, 600},
		{"few bins that differ", few, 600},
		{"conflicts and pins", ruled, 600},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			worktest.EndsAnywhere(t, c.looks, len(c.in.Weights), func(ctx *worktest.Countdown) *work.Watch {
				var s Solution
				watch := work.NewWatch(ctx)
				if c.in.Plain() {
					x := newSolver(ctx, c.in, math.MaxInt)
					x.solve()
					s, watch = x.solution(), x.watch
				} else {
					s = c.in.solveAny(watch, math.MaxInt)
				}
				require.NotNil(t, s.Bin)
				if c.in.Uniform {
					check(t, c.in, s.Packing)
				}
				require.LessOrEqual(t, s.Lower, s.Bins)
				require.LessOrEqual(t, s.Certificate.Bound(), s.Lower)
				if s.Nodes == 0 && s.Proof == nil {
					require.Equal(t, s.Lower, c.in.Needs(s.Certificate))
				}
				require.Positive(t, s.Certificate.Bound())
				require.True(t, s.Proved || ctx.After > 0, "it ended by itself")
				return watch
			})
		})
	}
}

// Everything that takes long tells the watch at least the steps that it takes.
func TestWatchIsTold(t *testing.T) {
	t.Parallel()
	const n, c = 30_000, 1 << 30
	w := between(rand.New(rand.NewPCG(5, 62)), n, 1, c/4)
	in := plain(c, w)
	order := Decreasing(w)
	k := newKinds(w)
	small := between(rand.New(rand.NewPCG(6, 62)), 400, 100, 400)
	few := newKinds(small)
	value := make([]int64, len(small))
	for i, x := range small {
		value[i] = x + int64(i%7)
	}
	gw, gv, count := group(small, value, nil)
	given := &Problem{Weights: w, Capacities: slices.Repeat([]int64{c}, n)}
	const enemies = 1000
	star := plain(10, slices.Repeat([]int64{1}, enemies+1))
	pairs := make([][2]int, enemies)
	for i := range pairs {
		pairs[i] = [2]int{0, i + 1}
	}
	star.Conflicts = NewConflicts(pairs)
	master := func(c int64, watch *work.Watch) *master {
		m := newMaster(few.w, few.count, c, standard)
		m.watch = watch
		return m
	}
	worktest.Told(t, "decreasing", n+3*3*n, func(x *work.Watch) { decreasing(w, x) })
	worktest.Told(t, "kindsOf", 2*n, func(x *work.Watch) { kindsOf(order, x) })
	worktest.Told(t, "quick", n, func(x *work.Watch) { newBounder(in, k, x).quick() })
	worktest.Told(t, "functions", 2*functionsTried*len(k.w), func(x *work.Watch) { newBounder(in, k, x).functions() })
	worktest.Told(t, "bestFitDecreasing", bestFitSteps*n, func(x *work.Watch) { bestFitDecreasing(c, order, make([]int, n), x) })
	worktest.Told(t, "minimumSlack", 400*400/8, func(x *work.Watch) { plain(1000, small).minimumSlack(true, slackNodes, x) })
	worktest.Told(t, "minimumSlack of conflicts", enemies*enemies/2, func(x *work.Watch) { star.minimumSlack(false, slackNodes, x) })
	worktest.Told(t, "scan of conflicts", enemies, func(x *work.Watch) { star.scan(nil, FirstFit, x) })
	worktest.Told(t, "a search of conflicts", enemies*4, func(x *work.Watch) {
		s := &search{table: star.newTable(), watch: x, limit: 3, bins: enemies, order: []int{0, 1, 2}}
		s.branch(0)
	})
	worktest.Told(t, "clique of weights", 4*300*299/2, func(x *work.Watch) {
		// Of items pinned to different bins no two may share one.
		in := &Problem{Weights: slices.Repeat([]int64{2}, 400), Capacities: []int64{5}, Uniform: true}
		in.Pins = make([]int, 400)
		for i := range in.Pins {
			in.Pins[i] = min(i, 300)
		}
		in.clique(x)
	})
	worktest.Told(t, "clique", 200*enemies, func(x *work.Watch) { star.clique(x) })
	worktest.Told(t, "firstFit", 2*n, func(x *work.Watch) { firstFit(c, order, make([]int, n), x) })
	worktest.Told(t, "worstFit", 2*n, func(x *work.Watch) { worstFit(c, order, make([]int, n), x) })
	worktest.Told(t, "nextFit", 2*n, func(x *work.Watch) { given.nextFit(order, x) })
	worktest.Told(t, "nextFit of conflicts", 4*enemies, func(x *work.Watch) { star.nextFit(Decreasing(star.Weights), x) })
	worktest.Told(t, "bestFit", 2*n, func(x *work.Watch) { bestFit(w, c, x) })
	for _, h := range []Heuristic{FirstFit, BestFit, WorstFit} {
		worktest.Told(t, "place", 2*n+2*n, func(x *work.Watch) { given.place(order, h, x) })
	}
	worktest.Told(t, "l1", 4*n, func(x *work.Watch) { given.l1(x) })
	worktest.Told(t, "index of conflicts", 6*enemies, func(x *work.Watch) { NewConflicts(pairs).index(enemies+1, x) })
	worktest.Told(t, "patternsOf", 6*n, func(x *work.Watch) { patternsOf(Packing{make([]int, n), 1}, make([]int32, n), x) })
	worktest.Told(t, "scan", 400*50, func(x *work.Watch) { plain(1000, small).scan(Decreasing(small), BestFit, x) })
	worktest.Told(t, "group", 16*400, func(x *work.Watch) { group(small, value, x) })
	worktest.Told(t, "a table of values", 1000*len(gw), func(x *work.Watch) { bestKnapsack(gw, gv, count, 1000, 0, denseLimit, x) })
	worktest.Told(t, "a search for values", 8*100, func(x *work.Watch) { bestKnapsack(gw, gv, count, 1<<40, 0, denseLimit, x) })
	worktest.Told(t, "pricing by a table", 1000*len(few.w), func(x *work.Watch) {
		m := master(1000, x)
		m.pricer.price(m)
	})
	worktest.Told(t, "pricing by a search", 8*100, func(x *work.Watch) {
		m := master(1<<30, x)
		m.pricer.price(m)
	})
	m := master(1<<30, nil)
	listed := couples{}
	require.True(t, listed.update(m))
	worktest.Told(t, "couples listed", 4*m.m*m.m/2, func(x *work.Watch) {
		m.watch = x
		if !listed.update(m) {
			require.Nil(t, listed.all, "they may be half sorted")
		}
	})
	worktest.Told(t, "refresh", len(few.w)*len(few.w), func(x *work.Watch) { master(1000, x).refresh() })
	worktest.Told(t, "patterns", 8*1000, func(x *work.Watch) {
		s := newSolver(context.Background(), plain(1000, small), 1)
		s.watch = x
		(&enumeration{solver: s, left: s.count, waste: 1000, steps: 1000, most: 1 << 20}).all()
	})
}

// What bounds the work where there are many different weights, and what is left of the bounds where
// the context ended before: that of the sum.
func TestBoundsAreShort(t *testing.T) {
	t.Parallel()
	in := plain(1<<30, between(rand.New(rand.NewPCG(8, 62)), 100_000, 1, 1<<28))
	b := newBounder(in, newKinds(in.Weights), nil)
	require.LessOrEqual(t, len(b.breakpoints())*len(b.w), functionsWork)
	hasty := in.hastyBounds(worktest.Ended())
	require.Equal(t, in.l1(nil), hasty.Certificate.Bound())
	most, ok := in.MostValue(hasty.Value, hasty.Max)
	require.True(t, ok)
	require.LessOrEqual(t, most, hasty.Max)
}

// Without time for more, items are packed by Next Fit and bounded by their sum, also where it is 0.
func TestRough(t *testing.T) {
	t.Parallel()
	for _, w := range [][]int64{{0, 0, 0}, {3, 3, 3}} {
		s := plain(5, w).rough()
		check(t, plain(5, w), s.Packing)
		require.Equal(t, s.Lower, s.Certificate.Bound())
		most, ok := plain(5, w).MostValue(s.Value, 0)
		require.True(t, ok)
		require.LessOrEqual(t, most, s.Max)
		require.Equal(t, w[0] == 0, s.Proved)
	}
}
