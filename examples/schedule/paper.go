package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

const paper = "Pechnikov et al. 2017"

// A scan is one simulated site set.
type scan struct {
	pages   []float64
	seconds []float64 // true mean work of each site: seconds on a client of speed 1
	earlier []float64 // mean work in two scans before
	now     []float64 // work in the scan that is planned
}

// run draws the work that one scan of all sites takes.
func (s scan) run(rng *rand.Rand) []float64 {
	work := make([]float64, len(s.seconds))
	for z, t := range s.seconds {
		work[z] = t * math.Exp(.05*rng.NormFloat64())
	}
	return work
}

// The paper's Table 1 in seconds, for 3 and 5 clients.
var published = map[string]map[int]float64{
	"round robin 1": {3: 12601, 5: 10090}, "round robin 2": {3: 23103, 5: 15524},
	"batch job 1": {3: 13359, 5: 12351}, "batch job 2": {3: 12239, 5: 10071},
}

var variants = []schedule.BatchVariant{schedule.Literal, schedule.FillToShare, schedule.SkipOverflow}

// table1 scans power-law sites as in the paper's experiment: a page of one site takes
// longer than a page of another (lognormal, σ = .3), and a site varies from scan to scan (σ
// = .05). Round robin pulls the next site of a list that has the large sites in front, as
// the paper found its own to have. Batch job 1 is told numbers of pages, batch job 2 mean
// durations of two earlier scans, both in each variant of the heuristic. Times are scaled
// so that round robin 1 on three clients takes what the paper measured.
func table1(l *lab) ([]report.Row, error) {
	runs := pick(l, 50, 300)
	samples := map[string][]float64{}
	var rows []report.Row
	scans, scales := make([]scan, runs), make([]float64, runs)
	for i := range scans {
		scans[i] = newScan(l.rng(1, i))
	}
	for _, m := range []int{3, 5} {
		clear(samples)
		for i, s := range scans {
			times, err := s.times(m)
			if err != nil {
				return nil, err
			}
			if m == 3 {
				scales[i] = published["round robin 1"][3] / times["round robin 1"]
			}
			for name, t := range times {
				samples[name] = append(samples[name], t*scales[i])
			}
		}
		add := func(name, experiment string) {
			row := report.Row{Source: paper + ", Table 1", Item: fmt.Sprintf("%s %dx%d", name, paperSites, m), Quantity: "scanning time", Unit: "s"}
			if t, ok := published[experiment][m]; ok {
				row.Published = t
			}
			rows = append(rows, row.Sample(samples[name]))
		}
		add("round robin 1", "round robin 1")
		add("round robin 2", "round robin 2")
		for _, r := range variants {
			add(batchName(1, r), "batch job 1")
			add(batchName(2, r), "batch job 2")
		}
		add(planName, "")
		for _, r := range variants {
			rows = append(rows, orders(samples, m, r)...)
		}
	}
	return rows, nil
}

const planName = "solver's plan of earlier durations"

func batchName(job int, r schedule.BatchVariant) string {
	return fmt.Sprintf("batch job %d (%v)", job, r)
}

// orders reports whether the means are in the order of Table 1, and in how many instances each
// of its relations holds.
func orders(samples map[string][]float64, m int, r schedule.BatchVariant) []report.Row {
	compare := func(forward, reversed, byPages, byTime float64) []float64 {
		shares := []float64{0, 0, 0, 1}
		for k, holds := range []bool{byTime <= forward, forward < byPages, byPages < reversed} {
			if holds {
				shares[k] = 1
			} else {
				shares[3] = 0
			}
		}
		return shares
	}
	names := []string{"round robin 1", "round robin 2", batchName(1, r), batchName(2, r)}
	means, runs := make([]float64, 4), len(samples[names[0]])
	for k, name := range names {
		means[k], _ = report.MeanSD(samples[name])
	}
	shares := make([]float64, 4)
	for i := range runs {
		at := func(k int) float64 { return samples[names[k]][i] }
		for k, v := range compare(at(0), at(1), at(2), at(3)) {
			shares[k] += v
		}
	}
	for k := range shares {
		shares[k] /= float64(runs)
	}
	row := report.Row{Source: "recrawl", Item: fmt.Sprintf("order, %d clients (%v)", m, r), Unit: "1", Runs: runs}
	ofMeans, ofInstances := row, row
	ofMeans.Quantity = "means: batch 2 ≤ round robin 1, < batch 1, < round robin 2, all (1: holds)"
	ofMeans.Measured = compare(means[0], means[1], means[2], means[3])
	ofInstances.Quantity, ofInstances.Measured = "share of instances with each relation, with all", shares
	return []report.Row{ofMeans, ofInstances}
}

// newScan draws the sites of one instance.
func newScan(rng *rand.Rand) scan {
	s := scan{pages: powerLaw(rng, paperSites, 2)}
	for _, p := range s.pages {
		s.seconds = append(s.seconds, p*math.Exp(.3*rng.NormFloat64()))
	}
	first, second := s.run(rng), s.run(rng)
	s.now, s.earlier = s.run(rng), make([]float64, paperSites)
	for z := range s.earlier {
		s.earlier[z] = (first[z] + second[z]) / 2
	}
	return s
}

// times scans the sites by each method with m clients.
func (s scan) times(m int) (map[string]float64, error) {
	performance, err := schedule.Performance(reference[m])
	if err != nil {
		return nil, err
	}
	unit := unitTimes(m)
	today, err := schedule.NewUniform(s.now, unit)
	if err != nil {
		return nil, err
	}
	byPages, err := schedule.NewUniform(s.pages, unit) // only its order of sites is used
	if err != nil {
		return nil, err
	}
	times := map[string]float64{}
	for name, list := range map[string][]int{"round robin 1": byPages.LongestFirst(), "round robin 2": byValue(s.pages)} {
		d, err := schedule.NewPullDispatcher(today, list, schedule.DispatcherConfig{Static: true})
		if err != nil {
			return nil, err
		}
		run, err := schedule.Simulate(d, worldOf(today))
		if err != nil {
			return nil, err
		}
		times[name] = run.Makespan
	}
	for _, r := range variants {
		for job, complexity := range [][]float64{s.pages, s.earlier} {
			plan, err := schedule.Batch(complexity, performance, r)
			if err != nil {
				return nil, err
			}
			times[batchName(job+1, r)] = today.Makespan(plan)
		}
	}
	predicted, err := schedule.NewUniform(s.earlier, unit)
	if err != nil {
		return nil, err
	}
	best, err := schedule.Solve(context.Background(), predicted, schedule.SolveConfig{Steps: 100_000}, rand.NewPCG(1, 1))
	times[planName] = today.Makespan(best.Plan)
	return times, err
}

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
		{"Karmarkar-Karp", func(p *schedule.Problem, _ []float64, _ int) schedule.Plan {
			return must(schedule.KarmarkarKarp(p))
		}},
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
