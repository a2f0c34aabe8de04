package main

import (
	"fmt"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// methodsTable compares the methods by their makespan over the lower bound.
func methodsTable(l *lab) ([]report.Row, error) {
	batch := func(r schedule.BatchVariant) func(*schedule.Problem, []float64, int) schedule.Plan {
		return func(_ *schedule.Problem, sizes []float64, m int) schedule.Plan {
			return must(schedule.Batch(sizes, must(schedule.Performance(reference[m])), r))
		}
	}
	pull := func(list func(p *schedule.Problem, sizes []float64) []int) func(*schedule.Problem, []float64, int) schedule.Plan {
		return func(p *schedule.Problem, sizes []float64, _ int) schedule.Plan {
			return must(schedule.Pull(p, list(p, sizes)))
		}
	}
	methods := []struct {
		name string
		plan func(p *schedule.Problem, sizes []float64, m int) schedule.Plan
	}{
		{"round robin, cyclic, given order", func(p *schedule.Problem, _ []float64, _ int) schedule.Plan {
			return must(schedule.RoundRobin(p, nil))
		}},
		{"pull, given order", pull(func(p *schedule.Problem, _ []float64) []int { return nil })},
		{"pull, reversed", pull(func(p *schedule.Problem, _ []float64) []int { return reversed(p.Sites()) })},
		{"pull, ascending", pull(func(_ *schedule.Problem, sizes []float64) []int { return byValue(sizes) })},
		{"pull, descending", pull(func(p *schedule.Problem, _ []float64) []int { return p.LongestFirst() })},
		{"pull, descending, fastest client first", func(p *schedule.Problem, sizes []float64, m int) schedule.Plan {
			return pullFastestFirst(sizes, unitTimes(m))
		}},
		{"paper: literal", batch(schedule.Literal)},
		{"paper: fill to share", batch(schedule.FillToShare)},
		{"paper: skip overflow", batch(schedule.SkipOverflow)},
		{"LPT", func(p *schedule.Problem, _ []float64, _ int) schedule.Plan { return schedule.LPT(p) }},
		{"MULTIFIT", func(p *schedule.Problem, _ []float64, _ int) schedule.Plan { return schedule.Multifit(p) }},
		{"LPT + local search", func(p *schedule.Problem, _ []float64, _ int) schedule.Plan {
			return must(schedule.LocalSearch(p, schedule.LPT(p)))
		}},
	}
	runs := pick(l, 50, 300)
	var rows []report.Row
	for _, m := range []int{3, 5} {
		over := make([][3][]float64, len(methods))
		for a, alpha := range []float64{1.5, 2, 2.5} {
			for i := range runs {
				sizes := powerLaw(l.rng(2, i), paperSites, alpha)
				p := must(schedule.NewUniform(sizes, unitTimes(m)))
				lower := schedule.LowerBound(p)
				for k, method := range methods {
					t := p.Makespan(method.plan(p, sizes, m))
					over[k][a] = append(over[k][a], 100*(t-lower)/lower)
				}
			}
		}
		for k, method := range methods {
			var means []float64
			for _, sample := range over[k] {
				mean, _ := report.MeanSD(sample)
				means = append(means, mean)
			}
			rows = append(rows, report.Row{Source: "recrawl", Item: fmt.Sprintf("%s, %d clients", method.name, m),
				Quantity: "over the bound, α = 1.5, 2, 2.5", Unit: "%", Measured: means, Runs: runs})
		}
	}
	return rows, nil
}

// pullFastestFirst is the pull queue in descending order of sites in which the fastest
// client asks first.
func pullFastestFirst(sizes, unit []float64) schedule.Plan {
	order := byValue(unit)
	sorted := make([]float64, len(unit))
	for k, j := range order {
		sorted[k] = unit[j]
	}
	p := must(schedule.NewUniform(sizes, sorted))
	plan := must(schedule.Pull(p, p.LongestFirst()))
	for z, k := range plan {
		plan[z] = order[k]
	}
	return plan
}

// reversed returns the numbers below n from the last to the first.
func reversed(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = n - 1 - k
	}
	return list
}
