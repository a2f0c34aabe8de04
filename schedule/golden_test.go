package schedule_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/internal/golden"
	"github.com/recrawl/recrawl/schedule"
)

func ok[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// shortest returns the least duration of a site.
func shortest(p *schedule.Problem, site int) float64 {
	least := p.Duration(site, 0)
	for client := range p.Clients() {
		least = min(least, p.Duration(site, client))
	}
	return least
}

// goldenProblems are problems of all kinds, small and large, with durations on the grid and
// off it, with and without start times.
func goldenProblems() (names []string, problems []*schedule.Problem) {
	add := func(name string, p *schedule.Problem) { names, problems = append(names, name), append(problems, p) }
	for _, size := range []struct{ n, m int }{{9, 3}, {25, 6}, {60, 8}, {300, 5}} {
		rng := rand.New(rand.NewPCG(uint64(size.n), 11))
		sizes, reals, units, starts := make([]int, size.n), make([]float64, size.n), make([]float64, size.m), make([]float64, size.m)
		for z := range sizes {
			sizes[z] = 1 + rng.IntN(1000)
			reals[z] = 1000 * rng.Float64()
		}
		for j := range units {
			units[j] = 1 + float64(rng.IntN(16))/16
			starts[j] = 100 * float64(rng.IntN(4))
		}
		rows := make([][]int, size.n)
		for z := range rows {
			rows[z] = make([]int, size.m)
			for j := range rows[z] {
				rows[z][j] = 1 + sizes[z]*(80+rng.IntN(40))/100
			}
		}
		tag := fmt.Sprintf("%dx%d", size.n, size.m)
		add("identical "+tag, ok(schedule.NewIdentical(sizes, size.m)))
		add("uniform "+tag, ok(schedule.NewUniform(reals, units)))
		add("uniform with starts "+tag, ok(ok(schedule.NewUniform(sizes, units)).WithStarts(starts, units)))
		add("unrelated "+tag, ok(schedule.NewUnrelated(rows)))
		add("unrelated with starts "+tag, ok(ok(schedule.NewUnrelated(rows)).WithStarts(starts, units)))
	}
	return names, problems
}

// TestGoldenPlans pins plans, bounds, the status of proofs and the number of steps of every
// algorithm.
func TestGoldenPlans(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	names, problems := goldenProblems()
	for k, p := range problems {
		fmt.Fprintf(&b, "%s: bound %.12g\n", names[k], schedule.LowerBound(p))
		plan := func(name string, plan schedule.Plan) {
			fmt.Fprintf(&b, "%s: %.12g %v\n", name, p.Makespan(plan), plan)
		}
		result := func(name string, r schedule.Result) {
			require.NoError(t, p.CheckResult(r))
			fmt.Fprintf(&b, "%s: %.12g bound %.12g %v, %d steps %v\n", name, r.Makespan, r.Lower, r.Status, r.Steps, r.Plan)
		}
		plan("LPT", schedule.LPT(p))
		plan("Multifit", schedule.Multifit(p))
		if kk, err := schedule.KarmarkarKarp(p); err == nil {
			plan("KarmarkarKarp", kk)
		}
		longest := p.LongestFirst()
		reversed, ascending := make([]int, p.Sites()), slices.Clone(longest)
		for z := range reversed {
			reversed[z] = p.Sites() - 1 - z
		}
		slices.SortStableFunc(ascending, func(a, b int) int { return cmp.Compare(shortest(p, a), shortest(p, b)) })
		for _, l := range []struct {
			name string
			list []int
		}{{"given", nil}, {"reversed", reversed}, {"ascending", ascending}, {"descending", longest}} {
			plan("RoundRobin "+l.name, ok(schedule.RoundRobin(p, l.list)))
			plan("Pull "+l.name, ok(schedule.Pull(p, l.list)))
		}
		local := ok(schedule.LocalSearch(p, ok(schedule.RoundRobin(p, nil))))
		plan("LocalSearch", local)
		for _, steps := range []int64{1_000, 300_000, 1_500_000} {
			result("Solve", ok(schedule.Solve(t.Context(), p, schedule.SolveConfig{Steps: steps})))
		}
		result("Improve", ok(schedule.Improve(t.Context(), p, schedule.SolveConfig{Start: local, Steps: 100_000})))
		old := ok(schedule.RoundRobin(p, nil))
		old[0], old[3] = schedule.None, schedule.None
		for _, most := range []int{0, 2, 1000} {
			r := ok(schedule.Replan(p, old, most))
			result(fmt.Sprintf("Replan moves %d", r.Moved), r)
		}
	}
	golden.Check(t, "plans.golden", b.String())
}

// TestGoldenBatches pins the paper's heuristic in all its variants.
func TestGoldenBatches(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rng := rand.New(rand.NewPCG(5, 5))
	for range 6 {
		sizes := make([]float64, 30)
		for z := range sizes {
			sizes[z] = float64(1 + rng.IntN(50))
		}
		performance := ok(schedule.Performance([]float64{95, 84.6, 105.7, 110.4, 85.8}))
		for variant := schedule.Literal; variant <= schedule.SkipOverflow; variant++ {
			fmt.Fprintln(&b, variant, ok(schedule.Batch(sizes, performance, variant)))
		}
	}
	golden.Check(t, "batches.golden", b.String())
}

// goldenDispatchers are dispatchers of every kind for a problem.
func goldenDispatchers(p *schedule.Problem) (names []string, dispatchers []*schedule.Dispatcher) {
	for _, c := range []struct {
		name string
		cfg  schedule.DispatcherConfig
	}{
		{"static", schedule.DispatcherConfig{Static: true}}, {"steal", schedule.DispatcherConfig{}},
		{"copies", schedule.DispatcherConfig{Copies: 2}},
		{"spread .3", schedule.DispatcherConfig{Spread: .3}}, {"spread .7", schedule.DispatcherConfig{Spread: .7}},
	} {
		names = append(names, "plan, "+c.name, "pull, "+c.name)
		dispatchers = append(dispatchers, ok(schedule.NewDispatcher(p, schedule.LPT(p), c.cfg)),
			ok(schedule.NewPullDispatcher(p, p.LongestFirst(), c.cfg)))
	}
	return names, dispatchers
}

// TestGoldenDispatch pins the streams of sites that dispatchers give to clients that turn
// out faster or slower than predicted, of which one is lost.
func TestGoldenDispatch(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	names, problems := goldenProblems()
	for k, p := range problems {
		if p.Sites() > 100 {
			continue
		}
		for _, loss := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(uint64(k), 3))
			factor := make([]float64, p.Sites()+p.Clients())
			for i := range factor {
				factor[i] = math.Round(64*math.Exp(.5*rng.NormFloat64())+1) / 64
			}
			var lost []float64
			if loss {
				lost = make([]float64, p.Clients())
				for j := range lost {
					lost[j] = math.Inf(1)
				}
				lost[0] = schedule.LowerBound(p) / 2
			}
			kinds, dispatchers := goldenDispatchers(p)
			for i, d := range dispatchers {
				run, err := schedule.Simulate(d, schedule.World{Duration: func(site, client int, _ float64) float64 {
					return p.Duration(site, client) * factor[site] * factor[p.Sites()+client]
				}, Lost: lost})
				require.NoError(t, err)
				fmt.Fprintf(&b, "%s, %s, loss %v: %.9g", names[k], kinds[i], loss, run.Makespan)
				for _, s := range run.Spans {
					fmt.Fprintf(&b, " %d:%d", s.Client, s.Site)
					if !s.Useful {
						b.WriteByte('x')
					}
				}
				b.WriteByte('\n')
			}
		}
	}
	golden.Check(t, "dispatch.golden", b.String())
}

// TestGoldenPredictions pins the predictions of durations and the scores of the methods.
func TestGoldenPredictions(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	e := goldenPredictor(t)
	for _, s := range e.Scores() {
		fmt.Fprintf(&b, "%v %.9g %.9g %d\n", s.Method, s.AbsError, s.Spread, s.Runs)
	}
	for z := range 12 {
		p, err := e.Predict(z)
		if errors.Is(err, schedule.ErrUnknown) {
			p = e.PredictNew()
		}
		fmt.Fprintf(&b, "%d: %.9g %.9g %d %v\n", z, p.Mean, p.SD, p.Runs, p.Method)
	}
	golden.Check(t, "predictions.golden", b.String())
}

// goldenPredictor has seen runs of eleven sites, of which it forgot one.
func goldenPredictor(t testing.TB) *schedule.DurationPredictor {
	rng := rand.New(rand.NewPCG(8, 1))
	e := &schedule.DurationPredictor{}
	for run := range 20 {
		for z := range 11 {
			if z%4 != 1 || run < z {
				require.NoError(t, e.Observe(z, math.Round(100*math.Exp(.4*rng.NormFloat64())+float64(z*run))))
			}
		}
	}
	require.NoError(t, e.Remove(4))
	return e
}

// TestSaved pins the saved state of each type, and loads it back.
func TestSaved(t *testing.T) {
	t.Parallel()
	predictor, dispatcher := savedCases(t)
	codectest.Run(t, "predictor", predictor)
	codectest.Run(t, "dispatcher", dispatcher)
}

func FuzzSaved(f *testing.F) {
	predictor, dispatcher := savedCases(f)
	codectest.Fuzz(f, predictor, dispatcher)
}

func savedCases(t testing.TB) (predictor, dispatcher *codectest.Case) {
	predictor = codectest.Of(goldenPredictor(t), func() *schedule.DurationPredictor { return &schedule.DurationPredictor{} },
		func(e *schedule.DurationPredictor) any {
			var seen []schedule.Prediction
			for z := range 15 {
				p, _ := e.Predict(z)
				seen = append(seen, p, e.PredictNew())
				_ = e.Observe(z, 3)
			}
			return seen
		})
	p := ok(schedule.NewIdentical([]int{9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1}, 4))
	fresh := func() *schedule.Dispatcher {
		return ok(schedule.NewDispatcher(p, schedule.LPT(p), schedule.DispatcherConfig{Spread: .7}))
	}
	d := fresh()
	goldenWork(t, d)
	dispatcher = codectest.Of(d, fresh, func(d *schedule.Dispatcher) any {
		var seen []int
		for now := 20.; now < 40; now++ {
			for j := range 4 {
				z, err := d.Next(j, now)
				if errors.Is(err, schedule.ErrUnknown) {
					_ = d.RestoreClient(j, now)
				}
				first, void, _ := d.Observe(j, z, now+.5)
				seen = append(seen, z, len(void), d.Open())
				if first {
					seen = append(seen, 1)
				}
			}
		}
		return seen
	})
	return predictor, dispatcher
}

// goldenWork leaves a dispatcher in the middle of its work: sites done, held, given back
// and copied, and a client lost.
func goldenWork(t testing.TB, d *schedule.Dispatcher) {
	held := make([]int, 4)
	for j := range held {
		held[j] = ok(d.Next(j, float64(j)))
	}
	require.NoError(t, d.GiveBack(0, 5))
	_, _, err := d.Observe(1, held[1], 8)
	require.NoError(t, err)
	ok(d.Next(1, 8))
	require.NoError(t, d.RemoveClient(3, 9))
	_, _, err = d.Observe(2, held[2], 9.5)
	require.NoError(t, err)
	ok(d.Next(2, 9.5))
	require.NoError(t, d.RemoveClient(0, 10))
	require.NoError(t, d.RestoreClient(0, 11))
}
