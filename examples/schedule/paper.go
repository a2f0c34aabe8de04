package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

const paper = "Pechnikov et al. 2017"

// A scan is one simulated site set: pages, and seconds on a client of speed 1
// per run.
type scan struct {
	pages   []float64
	seconds []float64 // true mean work of each site
	rng     *rand.Rand
}

// run draws the work that one scan of all sites takes.
func (s scan) run() []float64 {
	work := make([]float64, len(s.seconds))
	for z, t := range s.seconds {
		work[z] = t * math.Exp(.05*s.rng.NormFloat64())
	}
	return work
}

// table1 scans power-law sites as in the paper's experiment: a page of one site takes
// longer than a page of another (lognormal, σ = .3), and a site varies from scan
// to scan (σ = .05). Round robin pulls the next site of a list that has the large
// sites in front, as the paper found its own to have. Batch job 1 is told
// numbers of pages, batch job 2 mean durations of two earlier scans. Times are scaled so that round
// robin 1 on three clients takes what the paper measured.
func table1(l *lab) ([]report.Row, error) {
	published := map[string]map[int]float64{
		"round robin 1": {3: 12601, 5: 10090}, "round robin 2": {3: 23103, 5: 15524},
		"batch job 1": {3: 13359, 5: 12351}, "batch job 2": {3: 12239, 5: 10071},
	}
	names := []string{"round robin 1", "round robin 2", "batch job 1", "batch job 2", "optimal plan of durations"}
	runs := pick(l, 50, 300)
	times := map[string]map[int][]float64{}
	for _, name := range names {
		times[name] = map[int][]float64{}
	}
	ordered := 0
	for i := range runs {
		s := scan{rng: l.rng(1, i)}
		s.pages = powerLaw(s.rng, paperSites, 2)
		for _, p := range s.pages {
			s.seconds = append(s.seconds, p*math.Exp(.3*s.rng.NormFloat64()))
		}
		first, second, now := s.run(), s.run(), s.run()
		earlier := make([]float64, len(first))
		for z := range earlier {
			earlier[z] = (first[z] + second[z]) / 2
		}
		var scale float64
		got := map[string]map[int]float64{}
		for _, m := range []int{3, 5} {
			performance, err := schedule.Performance(reference[m])
			if err != nil {
				return nil, err
			}
			unit := unitTimes(m)
			today, err := schedule.NewUniform(now, unit)
			if err != nil {
				return nil, err
			}
			byPages := must(schedule.NewUniform(s.pages, unit)) // only its order of sites is used
			pulled := func(order schedule.Order) float64 {
				d := must(schedule.NewPullDispatcher(today, byPages.List(order), schedule.Policy{}))
				return must(schedule.Simulate(d, today.Duration, nil)).Makespan
			}
			batched := func(complexity []float64) float64 {
				return today.Makespan(must(schedule.Batch(complexity, performance, schedule.SkipOverflow)))
			}
			forward := pulled(schedule.Descending)
			if m == 3 {
				scale = published["round robin 1"][3] / forward
			}
			best := schedule.Multifit(must(schedule.NewUniform(earlier, unit)))
			for k, t := range []float64{forward, pulled(schedule.Ascending), batched(s.pages), batched(earlier), today.Makespan(best)} {
				times[names[k]][m] = append(times[names[k]][m], t*scale)
				if got[names[k]] == nil {
					got[names[k]] = map[int]float64{}
				}
				got[names[k]][m] = t
			}
		}
		holds := true
		for _, m := range []int{3, 5} {
			holds = holds && got["batch job 2"][m] <= got["batch job 1"][m] && got["batch job 1"][m] < got["round robin 2"][m]
		}
		if holds {
			ordered++
		}
	}
	var rows []report.Row
	for _, m := range []int{3, 5} {
		for _, name := range names {
			row := report.Row{Source: paper + ", Table 1", Item: fmt.Sprintf("%s %dx%d", name, paperSites, m), Quantity: "scanning time", Unit: "s"}
			if t, ok := published[name][m]; ok {
				row.Published = t
			}
			rows = append(rows, row.Sample(times[name][m]))
		}
	}
	return append(rows, report.Row{Source: "recrawl", Item: "Table 1", Quantity: "instances with batch 2 ≤ batch 1 < round robin 2, both client counts",
		Unit: "1", Measured: float64(ordered) / float64(runs), Runs: runs}), nil
}

// methodsTable compares the methods by their makespan over the lower bound.
func methodsTable(l *lab) ([]report.Row, error) {
	batch := func(r schedule.Reading) func(*schedule.Problem, []float64, int) schedule.Plan {
		return func(_ *schedule.Problem, sizes []float64, m int) schedule.Plan {
			return must(schedule.Batch(sizes, must(schedule.Performance(reference[m])), r))
		}
	}
	pull := func(o schedule.Order) func(*schedule.Problem, []float64, int) schedule.Plan {
		return func(p *schedule.Problem, _ []float64, _ int) schedule.Plan { return schedule.Pull(p, o) }
	}
	methods := []struct {
		name string
		plan func(p *schedule.Problem, sizes []float64, m int) schedule.Plan
	}{
		{"round robin, cyclic, given order", func(p *schedule.Problem, _ []float64, _ int) schedule.Plan {
			return schedule.RoundRobin(p, schedule.Given)
		}},
		{"pull, given order", pull(schedule.Given)},
		{"pull, reversed", pull(schedule.Reversed)},
		{"pull, ascending", pull(schedule.Ascending)},
		{"pull, descending", pull(schedule.Descending)},
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
