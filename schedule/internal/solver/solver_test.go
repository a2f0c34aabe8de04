package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

const unlimited = math.MaxInt64

func build(t require.TestingT, perPair bool, sizes, unit, off []float64) *instance.Instance {
	p, err := instance.New(perPair, sizes, unit)
	require.NoError(t, err)
	if off != nil {
		p, err = p.WithOff(off)
		require.NoError(t, err)
	}
	return p
}

// draw returns an instance of the kind, with integer or real durations, with and without
// start times.
func draw(t *rapid.T, perPair bool, maxSites int) *instance.Instance {
	n, m := rapid.IntRange(1, maxSites).Draw(t, "sites"), rapid.IntRange(1, 4).Draw(t, "clients")
	number := rapid.SampledFrom([]*rapid.Generator[float64]{
		rapid.Map(rapid.IntRange(1, 6), func(k int) float64 { return float64(k) }),
		rapid.Map(rapid.IntRange(1, 1000), func(k int) float64 { return float64(k) }),
		rapid.Float64Range(.01, 3),
	}).Draw(t, "numbers")
	unit := slices.Repeat([]float64{1}, m)
	if perPair {
		n *= m
	} else if rapid.Bool().Draw(t, "uniform") {
		unit = rapid.SliceOfN(number, m, m).Draw(t, "units")
	}
	var off []float64
	if rapid.Bool().Draw(t, "starts") {
		off = rapid.SliceOfN(number, m, m).Draw(t, "off")
	}
	return build(t, perPair, rapid.SliceOfN(number, n, n).Draw(t, "sizes"), unit, off)
}

// random returns an instance with real durations of every pair.
func random(t require.TestingT, n, m int, seed uint64) *instance.Instance {
	rng := rand.New(rand.NewPCG(seed, 5))
	sizes := make([]float64, n*m)
	for k := range sizes {
		sizes[k] = (1 + 1000*rng.Float64()) * math.Exp(.3*rng.NormFloat64())
	}
	return build(t, true, sizes, slices.Repeat([]float64{1}, m), nil)
}

// optimum returns the least makespan over all plans.
func optimum(p *instance.Instance) float64 {
	plan, best := make([]int, p.N), math.Inf(1)
	for code := range int(math.Pow(float64(p.M), float64(p.N))) {
		for z := range plan {
			plan[z] = code % p.M
			code /= p.M
		}
		best = min(best, p.Makespan(plan))
	}
	return best
}

func newTestSearch(t testing.TB, p *instance.Instance) *search {
	x := newSearch(t.Context(), p, rand.New(rand.NewPCG(1, 1)), Config{Steps: unlimited, Tolerance: 1e-9})
	require.True(t, x.list())
	return x
}

// TestPackerMatchesBruteForce asks the packer about the least makespan, and just below it.
func TestPackerMatchesBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt, false, 7)
		best := optimum(p)
		k := newPacker(newTestSearch(t, p), p.N)
		v, plan := k.decide(best, 1<<40)
		require.Equal(rt, fits, v)
		require.LessOrEqual(rt, p.Makespan(plan), best)
		v, _ = k.decide(instance.Before(best), 1<<40)
		require.Equal(rt, fitsNot, v)
		v, _ = k.decide(best, 1)
		require.Contains(rt, []verdict{undecided, fits}, v)
	})
}

// TestCoreMatchesBruteForce asks the enumeration of the core the same, without bounds from
// elsewhere.
func TestCoreMatchesBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt, true, 6)
		best := optimum(p)
		c := &core{x: newTestSearch(t, p), relax: newRelaxation(p, nil)}
		v, plan := c.decide(best, 1<<40)
		require.Equal(rt, fits, v)
		require.LessOrEqual(rt, p.Makespan(plan), best*(1+1e-12))
		v, plan = c.decide(best*(1-1e-9), 1<<40)
		require.Equal(rt, fitsNot, v, "%v", plan)
		v, _ = c.decide(best, 1)
		require.NotEqual(rt, fitsNot, v)
	})
}

// TestRelaxationIsSolvedToOptimality compares the Lagrangian bound with the primal value:
// they agree at the optimum only.
func TestRelaxationIsSolvedToOptimality(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		p := random(t, 10+5*int(seed), 2+int(seed)%7, seed)
		r := newRelaxation(p, nil)
		out := r.root(longestFirst(p, nil), 0, math.Inf(1))
		primal := math.NaN()
		for b, c := range r.basis {
			if c.site == makespanColumn {
				primal = r.value[b]
			}
		}
		require.InEpsilon(t, primal, out.bound, 1e-9, "seed %d", seed)
		require.Less(t, len(out.split), p.M, "a basic solution divides fewer sites than clients")
		require.LessOrEqual(t, out.bound, p.Makespan(LPT(p)))
	}
}

// TestKnapsackBound has the prices of the relaxation raise the bound of instances that a
// table can hold; no plan may end before it.
func TestKnapsackBound(t *testing.T) {
	t.Parallel()
	raised := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 4))
		sizes := make([]float64, 8*3)
		for k := range sizes {
			sizes[k] = float64(1 + rng.IntN(40))
		}
		p := build(t, true, sizes, []float64{1, 1, 1}, nil)
		x := newTestSearch(t, p)
		x.offer(LPT(p))
		b := newBranching(x)
		before := x.lower
		newKnapsackBound(x, b.relax).run(unlimited)
		require.LessOrEqual(t, x.lower, optimum(p))
		if x.lower > before {
			raised++
		}
	}
	require.Positive(t, raised)
}

// TestKnapsackBoundGoesOn has the bound take turns: it begins no round that is longer than its turn,
// comes to the same prices in many turns as in one, and stops for good where it gains nothing more.
func TestKnapsackBoundGoesOn(t *testing.T) {
	t.Parallel()
	rng, sizes := rand.New(rand.NewPCG(1, 4)), make([]float64, 30*6)
	for k := range sizes {
		sizes[k] = float64(1 + rng.IntN(400))
	}
	p := build(t, true, sizes, slices.Repeat([]float64{1}, 6), nil)
	fresh := func() (*search, *knapsackBound) {
		x := newTestSearch(t, p)
		x.offer(LPT(p))
		return x, newKnapsackBound(x, newBranching(x).relax)
	}
	x, once := fresh()
	once.run(unlimited)
	require.Greater(t, once.round, 100)
	y, often := fresh()
	often.run(often.cost() - 1)
	require.Zero(t, often.round)
	turns := 0
	for ; !y.over() && often.theta > leastStep; turns++ {
		often.run(5 * often.cost())
	}
	require.Greater(t, turns, 20)
	require.Equal(t, once.round, often.round)
	require.Equal(t, once.price, often.price)
	require.Equal(t, x.lower, y.lower)
	steps := y.steps
	often.run(unlimited)
	require.Equal(t, steps, y.steps)
	var none *knapsackBound // the tables would be too large
	none.run(unlimited)
}

// TestNeighbourhoodOfAllSites has so few sites that a neighbourhood holds all of them: if nothing
// better is found there, the plan is proved.
func TestNeighbourhoodOfAllSites(t *testing.T) {
	t.Parallel()
	proved := 0
	for seed := range uint64(10) {
		p := random(t, 7, 3, seed)
		x := newTestSearch(t, p)
		x.offer(LPT(p))
		b := newBranching(x)
		if !x.over() {
			proved++
		}
		b.neighbourhoods(1_000_000)
		require.True(t, x.closed(), "seed %d", seed)
		require.InEpsilon(t, optimum(p), x.lower, 1e-9)
	}
	require.Positive(t, proved)
}

// TestPlacementBound compares the bound with the optimum, and with the other bounds where
// these cannot see that a site leaves a room that nothing fills.
func TestPlacementBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, false, 7)
		lower := LowerBound(p)
		depth := rapid.IntRange(0, 8).Draw(t, "depth")
		limit := rapid.Int64Range(0, 200).Draw(t, "limit")
		best := optimum(p)
		for _, limit := range []int64{limit, 1 << 30} {
			bound := newPlacement(p, longestFirst(p, nil), depth, nil).bound(lower, depth, limit)
			require.GreaterOrEqual(t, bound, lower)
			require.LessOrEqual(t, bound, best)
		}
	})
	// Beside the site of 60 there is a room of 2 that no site of 4 fills, so that the other
	// client has to take 64. Times 1000 the room is above fineRoom, and only the smallest
	// site counts.
	for _, scale := range []float64{1, 1000} {
		sites := append([]float64{60*scale + 1}, slices.Repeat([]float64{4 * scale}, 16)...)
		p := build(t, false, sites, []float64{1, 1}, nil)
		require.Equal(t, math.Ceil((124*scale+1)/2), LowerBound(p))
		require.Equal(t, 64*scale, newPlacement(p, longestFirst(p, nil), 1, nil).bound(LowerBound(p), 1, 1<<20))
	}
}

// TestNextTime compares with every time at which a client can finish.
func TestNextTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 3).Draw(t, "clients")
		whole := rapid.Map(rapid.IntRange(1, 6), func(k int) float64 { return float64(k) })
		p := build(t, false, rapid.SliceOfN(whole, 1, 4).Draw(t, "sizes"), rapid.SliceOfN(whole, m, m).Draw(t, "units"),
			rapid.SliceOfN(rapid.Float64Range(0, 9), m, m).Draw(t, "off"))
		after := p.Finish(rapid.IntRange(0, m-1).Draw(t, "client"), rapid.Int64Range(0, p.Total).Draw(t, "sum"))
		want := math.Inf(1)
		for j := range m {
			for s := int64(1); s <= p.Total; s++ {
				if at := p.Finish(j, s); at > after {
					want = min(want, at)
				}
			}
		}
		require.Equal(t, want, next(p, after, nil))
	})
}

// TestLimitEndsEverySearch has one client, for which there is nothing to search, and a gap that nothing closes.
func TestLimitEndsEverySearch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, perPair := range []bool{false, true} {
		p := build(t, perPair, []float64{1, 2, 3}, []float64{1}, nil)
		o := Solve(ctx, p, rand.New(rand.NewPCG(1, 1)), Config{Steps: 1000, Gap: math.NaN()})
		require.Equal(t, Limit, o.End, "%v", perPair)
	}
}

// TestBoundsNearTheLargestNumber doubles times beyond 2¹⁰²³ when it looks for one that is not excluded.
func TestBoundsNearTheLargestNumber(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]float64{{0x1p1023}, {0x1p1022, 0x1p1021, 0x1p1020}, {0x1.8p1023, 0x1p900}} {
		p := build(t, false, sizes, []float64{1}, nil)
		total := p.Finish(0, p.Total)
		require.Equal(t, total, LowerBound(p), "%v", sizes)
		o := Solve(t.Context(), p, rand.New(rand.NewPCG(1, 1)), Config{Steps: 1000, Tolerance: 1e-9})
		require.Equal(t, GapClosed, o.End)
		require.Equal(t, total, o.Lower)
	}
}

// TestBoundsAndPlansMatchBruteForce solves small instances of all kinds with all limits.
func TestBoundsAndPlansMatchBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt, rapid.Bool().Draw(rt, "per pair"), 6)
		best := optimum(p)
		require.LessOrEqual(rt, LowerBound(p), best*(1+1e-12))
		for _, steps := range []int64{1, 3000, unlimited} {
			cfg := Config{Steps: steps, Tolerance: 1e-9, Progress: func(o Outcome) {
				require.LessOrEqual(rt, o.Lower, best*(1+1e-12))
				require.GreaterOrEqual(rt, p.Makespan(o.Plan), best)
			}}
			o := Solve(t.Context(), p, rand.New(rand.NewPCG(1, 1)), cfg)
			require.LessOrEqual(rt, o.Lower, best*(1+1e-12))
			if steps == unlimited {
				require.Equal(rt, GapClosed, o.End)
				require.InEpsilon(rt, best, p.Makespan(o.Plan), 1e-9)
			}
		}
	})
}

// TestLocalSearchLeavesNoMoveOrSwap checks local optimality against a naive scan.
func TestLocalSearchLeavesNoMoveOrSwap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, rapid.Bool().Draw(t, "per pair"), 10)
		plan := make([]int, p.N)
		for z := range plan {
			plan[z] = z % p.M
		}
		plan = LocalSearch(p, plan)
		s, _ := newState(p, plan, nil)
		end := s.end
		now := slices.Max(end)
		require.Equal(t, now, p.Makespan(plan))
		last, trial := slices.Index(end, now), slices.Clone(plan)
		if slices.Contains(end[last+1:], now) {
			return // one step cannot lower the makespan
		}
		for a := range plan {
			if plan[a] != last {
				continue
			}
			for j := range p.M {
				trial[a] = j
				require.GreaterOrEqual(t, p.Makespan(trial), now)
			}
			for b := range plan {
				trial[a], trial[b] = plan[b], plan[a]
				require.GreaterOrEqual(t, p.Makespan(trial), now)
				trial[a], trial[b] = plan[a], plan[b]
			}
		}
	})
}

// One step of the local search swaps site 1 for site 0, which is a site as any other.
func TestStepSwapsTheFirstSite(t *testing.T) {
	t.Parallel()
	for _, perPair := range []bool{false, true} {
		sizes := []float64{6, 11, 20, 35, 20}
		var p *instance.Instance
		if perPair {
			p = build(t, true, []float64{6, 6, 11, 11, 20, 20, 35, 35, 20, 20}, []float64{1, 1}, nil)
		} else {
			p = build(t, false, sizes, []float64{1, 1}, nil)
		}
		s, _ := newState(p, []int{1, 0, 0, 1, 0}, nil)
		s.good = math.Inf(-1)
		require.True(t, s.step())
		require.Equal(t, []int{0, 1, 0, 1, 0}, s.plan())
		require.Equal(t, 46., s.makespan())
	}
}

// TestReplanWithoutMoves leaves placed sites alone.
func TestReplanWithoutMoves(t *testing.T) {
	t.Parallel()
	p := build(t, false, []float64{5, 4, 3, 2}, []float64{1, 1}, nil)
	old := []int{0, 0, -1, -1}
	plan, _ := Replan(p, old, []int{0, 0, 1, 1}, 0)
	require.Equal(t, []int{0, 0, 1, 1}, plan)
	plan, _ = Replan(p, old, plan, 4)
	require.Equal(t, 7.0, p.Makespan(plan))
	require.Equal(t, 1, Moved(old, plan))
}

// TestPricesBoundEveryPlan has the bound from prices, which is for large problems, on small
// ones with forbidden pairs, beside the best of all plans, and plans made with them.
func TestPricesBoundEveryPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 6).Draw(t, "sites"), rapid.IntRange(2, 4).Draw(t, "clients")
		sizes := rapid.SliceOfN(rapid.Float64Range(.1, 9), n*m, n*m).Draw(t, "sizes")
		for z := range n {
			if j := rapid.IntRange(0, m).Draw(t, "forbidden"); j < m {
				sizes[z*m+j] = math.Inf(1)
			}
		}
		p := build(t, true, sizes, slices.Repeat([]float64{1}, m), rapid.SliceOfN(rapid.Float64Range(0, 9), m, m).Draw(t, "off"))
		best := optimum(p)
		x := newSearch(t.Context(), p, rand.New(rand.NewPCG(1, 1)), Config{Steps: 100_000, Tolerance: 1e-9})
		x.atSize()
		require.LessOrEqual(t, x.lower, best*(1+1e-12)+2*p.Rounding)
		require.GreaterOrEqual(t, x.value, best)
		require.Equal(t, x.value, p.Makespan(x.best))
	})
}

// TestAtSize solves problems that are too large for the linear program: the gap is a third of
// what it would be without the repair or the prices that follow loads.
func TestAtSize(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, m = 6000, 50
	for name, draw := range map[string]func(*rand.Rand, float64) float64{
		"uniform":    func(rng *rand.Rand, _ float64) float64 { return 1 + 999*rng.Float64() },
		"tied":       func(rng *rand.Rand, _ float64) float64 { return float64(1000 + rng.IntN(101)) },
		"correlated": func(rng *rand.Rand, site float64) float64 { return site + 20*rng.Float64() },
	} {
		rng := rand.New(rand.NewPCG(1, 7))
		sizes := make([]float64, 0, n*m)
		for range n {
			site := 1 + 100*rng.Float64()
			for range m {
				sizes = append(sizes, draw(rng, site))
			}
		}
		p := build(t, true, sizes, slices.Repeat([]float64{1}, m), nil)
		o := Solve(t.Context(), p, rng, Config{Steps: 20_000_000, Tolerance: 1e-9})
		require.LessOrEqual(t, p.Makespan(o.Plan)/o.Lower-1, .005, name)
		require.InDelta(t, o.Lower, LowerBound(p), .002*o.Lower, name)
	}
}
