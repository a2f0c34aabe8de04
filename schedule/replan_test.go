package schedule

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReplanStatus(t *testing.T) {
	t.Parallel()
	p := must(NewIdentical([]int{5, 4, 3, 2}, 2))
	r := must(Replan(p, Plan{0, 0, None, None}, 0))
	require.Equal(t, Result{Plan: Plan{0, 0, 1, 1}, Makespan: 9, Lower: 7, Status: LimitReached, Steps: r.Steps}, r)
	r = must(Replan(p, Plan{0, 0, None, None}, 4))
	require.Equal(t, 7.0, r.Makespan)
	require.Equal(t, 1, r.Moved)
	require.Equal(t, Optimal, r.Status)
}

// earliest is a plan with the sites that have no client, the longest first, put where they finish
// first.
func earliest(p *Problem, old Plan) Plan {
	plan := slices.Clone(old)
	shortest := func(z int) float64 {
		least := math.Inf(1)
		for j := range p.m {
			least = min(least, p.Duration(z, j))
		}
		return least
	}
	var fresh []int
	for z, j := range old {
		if j == None {
			fresh = append(fresh, z)
		}
	}
	slices.SortStableFunc(fresh, func(a, b int) int { return cmp.Compare(shortest(b), shortest(a)) })
	for _, z := range fresh {
		soonest := math.Inf(1)
		for j := range p.m {
			end := p.grid.Off[j]
			for y, client := range plan {
				if client == j && y != z {
					end += p.Duration(y, j)
				}
			}
			if end += p.Duration(z, j); end < soonest {
				plan[z], soonest = j, end
			}
		}
	}
	return plan
}

// drawDecades returns a problem of unrelated clients whose durations span many decades: each site has
// a short one.
func drawDecades(t *rapid.T) *Problem {
	n, m := rapid.IntRange(2, 8).Draw(t, "sites"), rapid.IntRange(2, 4).Draw(t, "clients")
	decade := rapid.Map(rapid.IntRange(-3, 8), func(e int) float64 { return math.Pow10(e) })
	few := rapid.Map(rapid.IntRange(1, 99), func(k int) float64 { return float64(k) / 10 })
	rows := make([][]float64, n)
	for z := range rows {
		rows[z] = rapid.SliceOfN(rapid.OneOf(few, decade), m, m).Draw(t, "durations")
		rows[z][0] = few.Draw(t, "short")
	}
	return must(NewUnrelated(rows))
}

// checkNeverWorse has searches start from a plan, and from a part of it.
func checkNeverWorse(t require.TestingT, p *Problem, plan Plan, forget func(site int) bool) {
	last := p.Makespan(plan)
	require.LessOrEqual(t, p.Makespan(must(LocalSearch(p, plan))), last, "LocalSearch")
	improved := must(Improve(context.Background(), p, SolveConfig{Start: plan, Steps: 1}))
	require.LessOrEqual(t, improved.Makespan, last*(1+1e-9), "Improve")
	for most := range p.n + 1 {
		r := must(Replan(p, plan, most))
		require.NoError(t, p.CheckResult(r))
		require.LessOrEqual(t, r.Makespan, last, "Replan with %d moves", most)
	}
	old := slices.Clone(plan)
	for z := range old {
		if forget(z) {
			old[z] = None
		}
	}
	last = p.Makespan(earliest(p, old))
	for _, most := range []int{0, 1, p.n} {
		r := must(Replan(p, old, most))
		require.NoError(t, p.CheckResult(r))
		require.LessOrEqual(t, r.Makespan, last, "Replan of a part with %d moves", most)
	}
}

// Searches never make a plan worse, also where it ends later than any good one, and the durations of
// clients that should not do a site are far longer.
func TestSearchesFromLatePlans(t *testing.T) {
	t.Parallel()
	growing := make([][]float64, 40) // the clients were two, and now are ten
	old := make(Plan, 40)
	for z := range growing {
		growing[z], old[z] = slices.Repeat([]float64{1.1 + float64(z%7)/10}, 10), z%2
	}
	growing = append(growing, append([]float64{1.3, 1.3}, slices.Repeat([]float64{1e6}, 8)...))
	for _, c := range []struct {
		rows   [][]float64
		plan   Plan
		forget int
	}{
		{growing, append(old, 0), 40},
		{[][]float64{{.1, 1e8}, {2.1, .7}}, Plan{0, 0}, 0},
		{[][]float64{{1.6, 17.6, 1e7}, {15.2, 61.8, 1}, {7.3, 31, 1.5}}, Plan{1, 1, 0}, 0},
		{[][]float64{{3.5, 1e7, 1e5}, {5.5, 1.2, 1e8}, {.3, 8.4, 4.6}}, Plan{0, 0, 1}, 0},
		{[][]float64{{15.4, 1e5, 1}, {1, 93.3, 1.1}, {43.6, 2.3, 1e4}, {8.5, 1.1, 81.4}}, Plan{0, 1, 0, 2}, 0},
		{[][]float64{{1, 1e100}, {2, 1e50}, {3, 1e50}, {1e100, 1}}, Plan{1, 1, 1, 0}, 0},
	} {
		p := must(NewUnrelated(c.rows))
		checkNeverWorse(t, p, c.plan, func(z int) bool { return z == c.forget })
		old := slices.Clone(c.plan)
		old[c.forget] = None
		require.Equal(t, earliest(p, old), p.complete(old))
	}
}

func TestSearchesNeverMakeAPlanWorse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawDecades(t)
		if rapid.Bool().Draw(t, "any kind") {
			p = drawProblem(t, 8)
		}
		plan := Plan(rapid.SliceOfN(rapid.IntRange(0, p.m-1), p.n, p.n).Draw(t, "plan"))
		checkNeverWorse(t, p, plan, func(int) bool { return rapid.Bool().Draw(t, "forget") })
	})
}

// A search from a plan that ends very late ends with a fine grid: the durations that matter are not
// lost beside those that do not.
func TestLateStartsEndOnAFineGrid(t *testing.T) {
	t.Parallel()
	p := must(NewUnrelated([][]float64{{1, 1e40}, {2, 1e40}, {3, 3}, {4, 4}, {1e40, 2}}))
	require.Equal(t, 6.0, p.Makespan(must(LocalSearch(p, Plan{1, 1, 0, 0, 0}))))
}

// Searches from late plans still find better ones.
func TestSearchesImproveLatePlans(t *testing.T) {
	t.Parallel()
	p := must(NewUnrelated([][]float64{{1.6, 17.6, 1e7}, {15.2, 61.8, 1}, {7.3, 31, 1.5}}))
	start := Plan{1, 1, 0} // ends at 79.4, the greedy plan at 2.5
	require.Equal(t, 2.5, p.Makespan(must(LocalSearch(p, start))))
	require.Equal(t, 2.5, must(Replan(p, start, 3)).Makespan)
	require.Less(t, must(Replan(p, start, 1)).Makespan, 25.0)
}

// The sums of a plan differ in the last bit from those on the grid, where these plans have better ones.
func TestRoundingMakesNoPlanWorse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes []float64
		plan  Plan
	}{
		{[]float64{2.8, 1.8, 2.4, 1.5, .4}, Plan{0, 0, 1, 1, 1}}, {[]float64{1.2, .6, 1.2, 3, 2.4, .6}, Plan{1, 0, 0, 1, 0, 0}},
	} {
		checkNeverWorse(t, must(NewIdentical(c.sizes, 2)), c.plan, func(int) bool { return false })
	}
}

// On thirteen clients LPT ends four times as late as the greedy plan, and a site whose client is that
// busy is not put on one that takes 10⁸.
func TestLPTThatEndsLate(t *testing.T) {
	t.Parallel()
	const m = 13
	rows := make([][]float64, m)
	for k := range rows {
		rows[k] = slices.Repeat([]float64{1e8}, m)
	}
	rows[0][m-1] = .5
	end := 0.0
	for k := 1; k < m; k++ { // LPT takes them in this order, each to client k, where k−1 would do
		row := rows[m-k]
		row[k], row[max(1, k-1)] = end+.99-float64(k)/1000, 1-float64(k)/1000
		end = row[k]
	}
	p := must(NewUnrelated(rows))
	greedy := p.Makespan(p.grid.Greedy())
	require.Less(t, greedy, 3.0)
	want := p.Makespan(earliest(p, slices.Repeat(Plan{None}, p.n)))
	require.Greater(t, want, p.grid.Most)
	require.Equal(t, want, p.Makespan(LPT(p)))
	require.LessOrEqual(t, p.Makespan(Multifit(p)), want)
	for _, search := range []func(*Problem) Result{
		func(p *Problem) Result { return must(Solve(context.Background(), p, SolveConfig{Steps: 1})) },
		func(p *Problem) Result { return must(Improve(context.Background(), p, SolveConfig{Steps: 1})) },
	} {
		require.LessOrEqual(t, search(p).Makespan, max(greedy, want))
	}
}
