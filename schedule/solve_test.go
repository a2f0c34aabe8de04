package schedule

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bruteForce returns the least makespan over all plans.
func bruteForce(p *Problem) float64 {
	plan, best := make(Plan, p.Sites()), math.Inf(1)
	for {
		best = min(best, p.Makespan(plan))
		z := 0
		for ; z < len(plan); z++ {
			if plan[z]++; plan[z] < p.Clients() {
				break
			}
			plan[z] = 0
		}
		if z == len(plan) {
			return best
		}
	}
}

// drawProblem draws a small problem of any kind, with integer or real durations, equal
// ones, large ones, start times and setups.
func drawProblem(t *rapid.T, maxSites int) *Problem {
	m := rapid.IntRange(1, 4).Draw(t, "clients")
	n := rapid.IntRange(1, maxSites).Draw(t, "sites")
	var number func(string) float64
	switch rapid.IntRange(0, 3).Draw(t, "numbers") {
	case 0:
		number = func(s string) float64 { return float64(rapid.IntRange(1, 6).Draw(t, s)) }
	case 1:
		number = func(s string) float64 { return float64(rapid.IntRange(1, 1000).Draw(t, s)) }
	case 2:
		number = func(s string) float64 { return rapid.Float64Range(.01, 3).Draw(t, s) }
	default:
		number = func(s string) float64 { return math.Exp(rapid.Float64Range(-300, 300).Draw(t, s)) }
	}
	draw := func(s string, k int) []float64 {
		v := make([]float64, k)
		for i := range v {
			v[i] = number(s)
		}
		return v
	}
	var p *Problem
	var err error
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		p, err = NewIdentical(draw("duration", n), m)
	case 1:
		p, err = NewUniform(draw("size", n), draw("unit", m))
	default:
		rows := make([][]float64, n)
		for z := range rows {
			rows[z] = draw("duration", m)
		}
		p, err = NewUnrelated(rows)
	}
	require.NoError(t, err)
	if rapid.Bool().Draw(t, "starts") {
		p, err = p.WithStarts(draw("start", m), draw("setup", m))
		require.NoError(t, err)
	}
	return p
}

// drawForbidding draws a problem as drawProblem does, with pairs of unrelated clients and sites
// that are forbidden.
func drawForbidding(t *rapid.T, maxSites int) *Problem {
	p := drawProblem(t, maxSites)
	if !p.unrelated {
		return p
	}
	rows := make([][]float64, p.n)
	for z := range rows {
		keep := rapid.IntRange(0, p.m-1).Draw(t, "able")
		for j := range p.m {
			d := p.Duration(z, j)
			if j != keep && rapid.IntRange(0, 3).Draw(t, "forbid") == 0 {
				d = math.Inf(1)
			}
			rows[z] = append(rows[z], d)
		}
	}
	q, err := must(NewUnrelated(rows)).WithStarts(p.start, p.setup)
	require.NoError(t, err)
	return q
}

func propSolve(t *rapid.T) {
	p := drawForbidding(t, 7)
	best := bruteForce(p)
	if slices.Max(p.unit) == slices.Min(p.unit) {
		require.LessOrEqual(t, p.grid.Rounding, best*1e-9, "whatever other plans take")
	}
	eps := best*1e-12 + 2*p.grid.Rounding
	require.LessOrEqual(t, LowerBound(p), best*(1+1e-12))
	plans := map[string]Plan{"LPT": LPT(p), "Multifit": Multifit(p)}
	for name, list := range map[string][]int{"as numbered": nil, "longest first": p.LongestFirst()} {
		if plan, err := RoundRobin(p, list); err == nil {
			plans["round robin, "+name] = plan
		} else {
			require.ErrorIs(t, err, ErrPlan)
			require.True(t, p.unrelated)
		}
		plans["pull, "+name] = must(Pull(p, list))
	}
	if kk, err := KarmarkarKarp(p); !p.alike() {
		require.ErrorIs(t, err, ErrProblem)
	} else {
		require.NoError(t, err)
		plans["KK"] = kk
	}
	for name, plan := range plans {
		require.NoError(t, p.Check(plan), name)
		require.GreaterOrEqual(t, p.Makespan(plan), best, name)
		better, err := LocalSearch(p, plan)
		require.NoError(t, err)
		require.NoError(t, p.Check(better), name)
		require.LessOrEqual(t, p.Makespan(better), p.Makespan(plan)+eps, name)
	}
	seed := rapid.Uint64().Draw(t, "seed")
	for _, steps := range []int64{0, 1, 3000} {
		r, err := Solve(context.Background(), p, SolveConfig{Steps: steps, Seed: seed})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		require.LessOrEqual(t, r.Lower, best*(1+1e-12))
		if r.Status == Optimal {
			require.LessOrEqual(t, r.Makespan, best*(1+2.001*tolerance), "whatever the rounding")
		}
		if steps == 0 && 2*p.grid.Rounding <= tolerance*best {
			require.Equal(t, Optimal, r.Status)
		}
	}
	r, err := Improve(context.Background(), p, SolveConfig{Steps: 1000, Seed: seed})
	require.NoError(t, err)
	require.NoError(t, p.CheckResult(r))
}

func TestSolveMatchesBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, propSolve)
}

func FuzzSolve(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propSolve)) }

// A problemKind is how the clients of a problem differ.
type problemKind string

const (
	identical problemKind = "P"
	uniform   problemKind = "Q"
	unrelated problemKind = "R"
)

var kinds = []problemKind{identical, uniform, unrelated}

func randomProblem(kind problemKind, n, m int, seed uint64) *Problem {
	rng := rand.New(rand.NewPCG(seed, 5))
	sizes, units := make([]float64, n), make([]float64, m)
	for z := range sizes {
		sizes[z] = 1 + math.Floor(1000*rng.Float64())
	}
	for j := range units {
		units[j] = 1 + rng.Float64()
	}
	switch kind {
	case identical:
		return must(NewIdentical(sizes, m))
	case uniform:
		return must(NewUniform(sizes, units))
	}
	rows := make([][]float64, n)
	for z := range rows {
		rows[z] = make([]float64, m)
		for j := range rows[z] {
			rows[z][j] = sizes[z] * units[j] * math.Exp(.3*rng.NormFloat64())
		}
	}
	return must(NewUnrelated(rows))
}

func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		p := randomProblem(kind, 13, 4, 1)
		for _, steps := range []int64{50_000, 200_000} {
			a, err := Solve(t.Context(), p, SolveConfig{Steps: steps})
			require.NoError(t, err)
			b, err := Solve(t.Context(), p, SolveConfig{Steps: steps})
			require.NoError(t, err)
			require.Equal(t, a, b)
		}
	}
}

func TestLimitsEndTheSearch(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		// 25 sites of 10 bits on 10 clients leave a gap for a while.
		p := randomProblem(kind, 25, 10, 2)
		r, err := Solve(t.Context(), p, SolveConfig{Steps: 30_000})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		if r.Status != Optimal {
			require.Equal(t, LimitReached, r.Status, kind)
		}
		// A step over the limit is at most one repartition, descent or node.
		require.Less(t, r.Steps, int64(200_000), kind)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, err = Solve(ctx, p, SolveConfig{})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		if r.Status != Optimal {
			require.Equal(t, Cancelled, r.Status, kind)
		}
		r, err = Solve(t.Context(), p, SolveConfig{Gap: 1})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Gap(), 1.0)
		require.Less(t, r.Steps, int64(50_000))
	}
	p := randomProblem(identical, 5, 2, 2)
	for _, bad := range []SolveConfig{{Gap: -1}, {Gap: math.NaN()}} {
		_, err := Solve(t.Context(), p, bad)
		require.ErrorIs(t, err, ErrConfig)
		_, err = Improve(t.Context(), p, bad)
		require.ErrorIs(t, err, ErrConfig)
	}
	_, err := Solve(t.Context(), p, SolveConfig{Start: Plan{0}})
	require.ErrorIs(t, err, ErrPlan)
}

// TestSlowClientsHideNothing has a client so slow that it gets no site. It must not make the bound 0, or a bad
// plan optimal, or keep the best one from being proved.
func TestSlowClientsHideNothing(t *testing.T) {
	t.Parallel()
	for _, slow := range []float64{10, 1e6, 1e12, 1e15, 1e20, 1e100} {
		p := must(NewUniform([]float64{.1, .2, .3}, []float64{1, 2, slow}))
		require.InEpsilon(t, .4, LowerBound(p), 1e-12, "%v", slow)
		bad := Plan{1, 1, 1}
		r := must(Replan(p, bad, 0))
		require.Equal(t, bad, r.Plan)
		require.Equal(t, LimitReached, r.Status, "%v", slow)
		require.InEpsilon(t, .4, r.Lower, 1e-12)
		require.NoError(t, p.CheckResult(r))
		require.ErrorIs(t, p.CheckResult(Result{Plan: bad, Makespan: p.Makespan(bad), Status: Optimal}), ErrPlan)
		r, err := Solve(t.Context(), p, SolveConfig{Steps: 100_000})
		require.NoError(t, err)
		require.Equal(t, Optimal, r.Status, "%v", slow)
		require.InEpsilon(t, .4, r.Makespan, 1e-12)
	}
}

// TestCoarseGridsProveNothing has a size that is too small for the grid, on a client so slow that it matters.
func TestCoarseGridsProveNothing(t *testing.T) {
	t.Parallel()
	p := must(NewUniform([]float64{.5, .7, 1.3e-16}, []float64{1, 1, 5e15}))
	require.Greater(t, p.grid.Rounding, 1.)
	for _, plan := range []Plan{{0, 0, 2}, {0, 1, 2}} { // the second one is the best, and nothing proves it
		r := must(Replan(p, plan, 0))
		require.Equal(t, LimitReached, r.Status)
		require.NoError(t, p.CheckResult(r))
		r.Status = Optimal
		require.ErrorIs(t, p.CheckResult(r), ErrPlan)
	}
}

func TestProgressOnlyGetsBetter(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		p := randomProblem(kind, 25, 6, 3)
		lastMakespan, lastLower, calls := math.Inf(1), 0.0, 0
		r, err := Solve(t.Context(), p, SolveConfig{Steps: 300_000, Start: must(RoundRobin(p, nil)), Progress: func(r Result) {
			calls++
			require.NoError(t, p.CheckResult(r))
			require.LessOrEqual(t, r.Makespan, lastMakespan+p.grid.Rounding)
			require.GreaterOrEqual(t, r.Lower, lastLower-2*p.grid.Rounding)
			lastMakespan, lastLower = r.Makespan, r.Lower
		}})
		require.NoError(t, err)
		require.Greater(t, calls, 2)
		require.Equal(t, lastMakespan, r.Makespan)
	}
}

// TestScaledDurationsTakeTheSameWork multiplies real durations by a power of two and
// integers by 1000: plan and work are the same.
func TestScaledDurationsTakeTheSameWork(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		p := randomProblem(kind, 30, 3, 4)
		factor := 1000.0
		if kind == unrelated {
			factor = 1024
		}
		scaled := make([]float64, len(p.size))
		for k, d := range p.size {
			scaled[k] = d * factor
		}
		q := must(newProblem(kind == unrelated, scaled, p.unit))
		a, err := Solve(t.Context(), p, SolveConfig{Steps: 200_000})
		require.NoError(t, err)
		b, err := Solve(t.Context(), q, SolveConfig{Steps: 200_000})
		require.NoError(t, err)
		require.Equal(t, a.Plan, b.Plan)
		require.Equal(t, a.Steps, b.Steps)
		require.InEpsilon(t, a.Makespan*factor, b.Makespan, 1e-12)
	}
}

// TestKnownOptima has instances whose optimum is known by construction: each client's sites
// are a random division of the same total.
func TestKnownOptima(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 9))
		const m, total = 5, 1 << 20
		var durations []int
		for range m {
			rest := total
			for range 5 {
				d := 1 + rng.IntN(rest/2)
				durations = append(durations, d)
				rest -= d
			}
			durations = append(durations, rest)
		}
		p := must(NewIdentical(durations, m))
		r, err := Solve(t.Context(), p, SolveConfig{Steps: 30_000_000})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		require.Equal(t, float64(total), r.Lower)
	}
}

// TestUnrelatedAgreesWithUniform solves problems with uniform clients by both exact
// methods: they share neither bounds nor enumeration.
func TestUnrelatedAgreesWithUniform(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n, m := 8+rng.IntN(5), 3
		sizes, units := make([]float64, n), make([]float64, m)
		for j := range units {
			units[j] = float64(5 + rng.IntN(11))
		}
		for z := range sizes {
			sizes[z] = float64(1 + rng.IntN(100))
		}
		rows := make([][]float64, n)
		for z := range rows {
			for _, u := range units {
				rows[z] = append(rows[z], sizes[z]*u)
			}
		}
		q := must(NewUniform(sizes, units))
		r := must(NewUnrelated(rows))
		a, err := Solve(t.Context(), q, SolveConfig{})
		require.NoError(t, err)
		b, err := Solve(t.Context(), r, SolveConfig{})
		require.NoError(t, err)
		require.Equal(t, Optimal, a.Status, "seed %d", seed)
		require.Equal(t, Optimal, b.Status, "seed %d", seed)
		require.Equal(t, a.Makespan, b.Makespan, "seed %d", seed)
		require.NoError(t, r.CheckResult(b))
	}
}

// TestRealDurationsAreProved has real durations that no table can hold; the proof is that
// of branch and bound alone.
func TestRealDurationsAreProved(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for seed := range uint64(8) {
		p := randomProblem(unrelated, 12, 3, seed)
		require.Positive(t, p.grid.Rounding)
		r, err := Solve(t.Context(), p, SolveConfig{})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		require.Equal(t, Optimal, r.Status)
		// 3^12 plans: brute force.
		require.InEpsilon(t, bruteForce(p), r.Makespan, 2*tolerance)
	}
}

// TestLongDurationsAreProved has few sites of whole durations of many digits: tables of the knapsacks
// are large, and what they prove is small, but there are few plans.
func TestLongDurationsAreProved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sites, clients int }{{4, 2}, {6, 2}, {8, 3}, {10, 3}} {
		for _, most := range []int{1000, 10_000, 100_000, 1_000_000, 100_000_000} {
			for seed := range uint64(4) {
				rng, rows := rand.New(rand.NewPCG(seed, uint64(most))), make([][]int, c.sites)
				for z := range rows {
					for range c.clients {
						rows[z] = append(rows[z], 1+rng.IntN(most))
					}
				}
				p := must(NewUnrelated(rows))
				r, err := Solve(t.Context(), p, SolveConfig{Steps: 1_000_000})
				require.NoError(t, err)
				require.NoError(t, p.CheckResult(r))
				require.Equal(t, Optimal, r.Status, "%d sites, durations up to %d, seed %d", c.sites, most, seed)
				require.Equal(t, bruteForce(p), r.Makespan)
			}
		}
	}
}

// TestPricesOfOneClient has a relaxation in which one client's price is 0, and with it the
// price of every site.
func TestPricesOfOneClient(t *testing.T) {
	t.Parallel()
	p := must(NewUnrelated([][]int{{1, 1, 1}, {31, 35, 6}, {5, 36, 6}, {1, 1, 1}, {36, 36, 30}}))
	r, err := Solve(t.Context(), p, SolveConfig{})
	require.NoError(t, err)
	require.NoError(t, p.CheckResult(r))
	require.Equal(t, 35.0, r.Makespan)
	require.Equal(t, 35.0, r.Lower)
}

// TestStepsByDefault has limits with and without a deadline.
func TestStepsByDefault(t *testing.T) {
	t.Parallel()
	p := randomProblem(identical, 5, 2, 2)
	deadline, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, c := range []struct {
		ctx   context.Context
		steps int64
		want  int64
	}{
		{t.Context(), 0, defaultSteps}, {t.Context(), 7, 7}, {t.Context(), -1, math.MaxInt64},
		{deadline, 0, math.MaxInt64}, {deadline, 7, 7}, {deadline, -1, math.MaxInt64},
	} {
		cfg, err := SolveConfig{Steps: c.steps}.solver(c.ctx, p)
		require.NoError(t, err)
		require.Equal(t, c.want, cfg.Steps)
	}
}

// The gap of an optimal plan is 0, also where its makespan and its bound differ by rounding.
func TestGapOfAnOptimalPlan(t *testing.T) {
	t.Parallel()
	rounded := 0
	for seed := range uint64(60) {
		for _, kind := range kinds {
			r, err := Solve(t.Context(), randomProblem(kind, 8, 3, seed), SolveConfig{})
			require.NoError(t, err)
			require.Equal(t, Optimal, r.Status)
			require.Zero(t, r.Gap())
			if r.Makespan != r.Lower {
				rounded++
			}
			r.Status = LimitReached
			require.InDelta(t, r.Makespan/r.Lower-1, r.Gap(), 1e-12)
		}
	}
	require.Positive(t, rounded)
}

// The bound by the sum of the shortest durations is exact for whole durations.
func TestSolveWholeSums(t *testing.T) {
	t.Parallel()
	for _, durations := range [][][]float64{{{11}, {15}}, {{13, 26}, {26, 13}}, {{5, 9}, {4, 9}, {9, 9}}} {
		p, err := NewUnrelated(durations)
		require.NoError(t, err)
		r, err := Solve(context.Background(), p, SolveConfig{})
		require.NoError(t, err)
		require.Equal(t, Optimal, r.Status)
		require.Equal(t, r.Makespan, r.Lower, durations)
	}
}

// The limit on steps also ends the first descents, from the plans that Solve makes. On many clients these
// alone may take many times as long as the limit allows.
func TestStepsLimitDescents(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	sizes, units := make([]float64, 3000), make([]float64, 1000)
	for z := range sizes {
		sizes[z] = r.ExpFloat64() + .001
	}
	for j := range units {
		units[j] = r.Float64() + .1
	}
	p, err := NewUniform(sizes, units)
	require.NoError(t, err)
	const most = 1_000_000
	for _, run := range []func(context.Context, *Problem, SolveConfig) (Result, error){Solve, Improve} {
		r, err := run(context.Background(), p, SolveConfig{Steps: most})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		require.Equal(t, LimitReached, r.Status)
		require.Less(t, r.Steps, int64(2.5*most))
	}
}

// On large problems with unrelated clients the plan is never far worse than that of LPT, however early the
// limit on steps ends the search.
func TestFewStepsOfLargeProblems(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	durations := make([][]float64, 1000)
	for z := range durations {
		durations[z] = make([]float64, 400)
		for j := range durations[z] {
			durations[z][j] = r.ExpFloat64() + .001
		}
	}
	p, err := NewUnrelated(durations)
	require.NoError(t, err)
	good := p.Makespan(LPT(p))
	for steps := int64(1); steps < 10_000_000; steps *= 4 {
		r, err := Solve(context.Background(), p, SolveConfig{Steps: steps})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		require.Less(t, r.Makespan, 2*good, "%d steps", steps)
	}
}
