package schedule

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// paperProblem is the paper's setting: power-law sites on its 3 or 5 clients.
func paperProblem(m int, seed uint64) *Problem {
	rng := rand.New(rand.NewPCG(seed, 7))
	sizes := make([]float64, 99)
	for z := range sizes {
		sizes[z] = math.Round(1 / (1/50. - rng.Float64()*(1/50.-1/5e4)))
	}
	units := map[int][]float64{3: {105.7, 110.4, 85.8}, 5: {95.0, 84.6, 105.7, 110.4, 85.8}}[m]
	return must(NewUniform(sizes, units))
}

// benchmark reports the mean gap and the share of proved results over a cycle of instances.
func benchmark(b *testing.B, instances []*Problem, cfg SolveConfig) {
	gap, proved, runs := 0.0, 0, 0
	for b.Loop() {
		r, err := Solve(context.Background(), instances[runs%len(instances)], cfg)
		if err != nil {
			b.Fatal(err)
		}
		gap += 100 * r.Gap()
		if r.Status == Optimal {
			proved++
		}
		runs++
	}
	b.ReportMetric(gap/float64(runs), "gap-%")
	b.ReportMetric(float64(proved)/float64(runs), "proved")
}

func BenchmarkSolvePaper(b *testing.B) {
	for _, m := range []int{3, 5} {
		b.Run(fmt.Sprintf("99x%d", m), func(b *testing.B) {
			var instances []*Problem
			for seed := range uint64(300) {
				instances = append(instances, paperProblem(m, seed))
			}
			benchmark(b, instances, SolveConfig{})
		})
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, kind := range kinds {
		for _, nm := range [][2]int{{20, 5}, {50, 10}, {100, 10}} {
			b.Run(fmt.Sprintf("%v/%dx%d", kind, nm[0], nm[1]), func(b *testing.B) {
				var instances []*Problem
				for seed := range uint64(20) {
					instances = append(instances, randomProblem(kind, nm[0], nm[1], seed))
				}
				benchmark(b, instances, SolveConfig{Steps: 2_000_000})
			})
		}
	}
}

func BenchmarkConstruct(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		p := randomProblem(uniform, n, 100, 1)
		lower := LowerBound(p)
		for name, construct := range map[string]func(*Problem) Plan{"LPT": LPT, "pull": func(p *Problem) Plan { return must(Pull(p, p.LongestFirst())) }} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				var plan Plan
				for b.Loop() {
					plan = construct(p)
				}
				b.ReportMetric(100*(p.Makespan(plan)/lower-1), "gap-%")
			})
		}
	}
}

func BenchmarkMillionSites(b *testing.B) {
	benchmark(b, []*Problem{randomProblem(uniform, 1_000_000, 100, 1)}, SolveConfig{Steps: 20_000_000})
}

func BenchmarkDispatch(b *testing.B) {
	p := randomProblem(uniform, 10_000, 100, 1)
	plan := LPT(p)
	for b.Loop() {
		d := must(NewDispatcher(p, plan, DispatcherConfig{}))
		if _, err := Simulate(d, asPredicted(p)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.n)*float64(b.N)/b.Elapsed().Seconds(), "sites/s")
}

func BenchmarkDurationPredictor(b *testing.B) {
	var e DurationPredictor
	z := 0
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Observe(z, 1+float64(z%7))
		_, _ = e.Predict(z)
		z = (z + 1) % 10_000
	}
}
