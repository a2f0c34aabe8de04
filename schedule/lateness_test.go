package schedule

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/worktest"
)

var large = flag.Bool("large", false, "measure how late Solve is on a million sites")

type lateProblem struct {
	name string
	p    *Problem
}

// lateProblems are n sites on m clients of every kind, fewer if they are unrelated.
func lateProblems(n, m int) []lateProblem {
	rng := rand.New(rand.NewPCG(1, 21))
	sizes, units := make([]float64, n), make([]float64, m)
	for z := range sizes {
		sizes[z] = 1 + 1000*rng.Float64()
	}
	for j := range units {
		units[j] = 1 + rng.Float64()
	}
	rows := func(n, m int, forbidden float64) *Problem {
		d := make([][]float64, n)
		for z := range d {
			for range m {
				d[z] = append(d[z], float64(1+rng.IntN(1000)))
			}
			for j := 1; j < m; j++ {
				if rng.Float64() < forbidden {
					d[z][j] = math.Inf(1)
				}
			}
		}
		return must(NewUnrelated(d))
	}
	return []lateProblem{
		{"identical", must(NewIdentical(sizes, m))},
		{"identical,few-per-client", must(NewIdentical(sizes[:n/10], n/40))},
		{"identical,two", must(NewIdentical(sizes, 2))},
		{"uniform", must(NewUniform(sizes, units))},
		{"uniform,256-sites", must(NewUniform(sizes[:256], units[:10]))},
		{"uniform,50-sites", must(NewUniform(sizes[:50], units[:4]))},
		{"unrelated,at-size", rows(n/10, m, 0)},
		{"unrelated,at-size,forbidden", rows(n/10, m, .9)},
		{"unrelated,500x30", rows(500, 30, 0)},
		{"unrelated,two", rows(min(n, 1<<17), 2, 0)},
		{"unrelated,as-many", rows(500, 500, 0)},
	}
}

// BenchmarkSolveLateness measures how late Solve returns where its context ends, in processor time.
func BenchmarkSolveLateness(b *testing.B) {
	n, m, most := 10_000, 20, 50*time.Millisecond
	if *large {
		n, m, most = 1_000_000, 100, 2*time.Second
	}
	for _, c := range lateProblems(n, m) {
		p := c.p
		b.Run(fmt.Sprintf("%s,%dx%d", c.name, p.n, p.m), func(b *testing.B) {
			worktest.Lateness(b, most, func(ctx context.Context) {
				r, err := Solve(ctx, p, SolveConfig{Steps: -1})
				require.NoError(b, err)
				require.NotEmpty(b, r.Plan)
				require.Positive(b, r.Lower)
			})
		})
	}
}
