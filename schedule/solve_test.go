package schedule

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

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

// drawProblem draws a small problem of any kind, with integer or real
// durations, equal ones, large ones, start times and setups.
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
		number = func(s string) float64 { return math.Exp(rapid.Float64Range(-20, 20).Draw(t, s)) }
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

func propSolve(t *rapid.T) {
	p := drawProblem(t, 7)
	best := bruteForce(p)
	eps := best*1e-12 + 2*p.Rounding()
	require.LessOrEqual(t, LowerBound(p), best+eps)
	plans := map[string]Plan{"LPT": LPT(p), "Multifit": Multifit(p)}
	for o := Given; o <= Descending; o++ {
		plans["round robin "+o.String()] = RoundRobin(p, o)
		plans["pull "+o.String()] = Pull(p, o)
	}
	if kk, err := KarmarkarKarp(p); p.Kind() == Unrelated {
		require.ErrorIs(t, err, ErrKind)
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
		r, err := Solve(context.Background(), p, rand.NewPCG(seed, 0), Settings{Steps: steps})
		require.NoError(t, err)
		require.NoError(t, p.CheckResult(r))
		require.LessOrEqual(t, r.Lower, best+eps)
		if r.Status == Optimal {
			require.LessOrEqual(t, r.Makespan, best*(1+Tolerance)+2*eps)
		}
		if steps == 0 {
			require.Equal(t, Optimal, r.Status)
		}
	}
	r, err := Improve(context.Background(), p, rand.NewPCG(seed, 0), Settings{Steps: 1000})
	require.NoError(t, err)
	require.NoError(t, p.CheckResult(r))
}

func TestSolveMatchesBruteForce(t *testing.T) { rapid.Check(t, propSolve) }

func FuzzSolve(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propSolve)) }
