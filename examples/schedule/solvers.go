package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// A trial is what solving one instance gave.
type trial struct {
	schedule.Result
	took      time.Duration
	allocated uint64 // bytes, those that were freed again included
}

// solve solves one instance within a time limit and checks the result.
func solve(p *schedule.Problem, limit time.Duration) (trial, error) {
	return solveWithin(p, limit, schedule.SolveConfig{})
}

func solveWithin(p *schedule.Problem, limit time.Duration, cfg schedule.SolveConfig) (trial, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := schedule.Solve(ctx, p, cfg)
	if err != nil {
		return trial{}, err
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return trial{r, took, after.TotalAlloc - before.TotalAlloc}, p.CheckResult(r)
}

// outcome turns trials into rows: share proved, gap, time and memory.
func outcome(item string, trials []trial) []report.Row {
	proved, gaps, ms, mb := 0, []float64{}, []float64{}, []float64{}
	for _, t := range trials {
		if t.Status == schedule.Optimal {
			proved++
		}
		gaps = append(gaps, 100*t.Gap())
		ms = append(ms, t.took.Seconds()*1000)
		mb = append(mb, float64(t.allocated)/(1<<20))
	}
	row := func(quantity, unit string) report.Row {
		return report.Row{Source: "recrawl", Item: item, Quantity: quantity, Unit: unit, Runs: len(trials)}
	}
	share, widest, slowest := row("proved optimal", "1"), row("largest gap", "%"), row("longest time", "ms")
	share.Measured = float64(proved) / float64(len(trials))
	widest.Measured, slowest.Measured = slices.Max(gaps), slices.Max(ms)
	return []report.Row{share, row("gap to the bound", "%").Sample(gaps), widest, row("time", "ms").Sample(ms), slowest,
		row("memory allocated in all", "MB").Sample(mb)}
}

// series solves instances with one item name.
func series(item string, runs int, limit time.Duration, instance func(run int) *schedule.Problem) ([]report.Row, error) {
	bar := report.NewProgress(item, runs)
	defer bar.Done()
	var trials []trial
	for i := range runs {
		t, err := solve(instance(i), limit)
		if err != nil {
			return nil, fmt.Errorf("%s, instance %d: %w", item, i, err)
		}
		trials = append(trials, t)
		bar.Add(1)
	}
	return outcome(item, trials), nil
}

// proofs solves the paper's setting with a limit on the steps of the search, some
// milliseconds of work. Each instance is solved three times, for the same result, and the
// shortest time counts: what other programs do meanwhile is not the solver's.
func proofs(l *lab) ([]report.Row, error) {
	const most = 300_000
	runs := pick(l, 50, 300)
	var rows []report.Row
	for _, m := range []int{3, 5} {
		for _, alpha := range []float64{1.5, 2, 2.5} {
			item := fmt.Sprintf("%d sites, %d clients, α = %v", paperSites, m, alpha)
			var trials []trial
			for i := range runs {
				p := paperInstance(l.rng(3, i), m, alpha)
				best := trial{took: math.MaxInt64}
				for range 3 {
					t, err := solveWithin(p, time.Minute, schedule.SolveConfig{Steps: most})
					if err != nil {
						return nil, fmt.Errorf("%s, instance %d: %w", item, i, err)
					}
					t.took = min(t.took, best.took)
					best = t
				}
				trials = append(trials, best)
			}
			rows = append(rows, outcome(item, trials)...)
			rows = append(rows, promptness(item, trials)...)
		}
	}
	return rows, nil
}

// promptness says how many trials were proved within a millisecond, and quantiles of the
// times.
func promptness(item string, trials []trial) []report.Row {
	prompt, ms := 0, []float64{}
	for _, t := range trials {
		if t.Status == schedule.Optimal && t.took < time.Millisecond {
			prompt++
		}
		ms = append(ms, t.took.Seconds()*1000)
	}
	slices.Sort(ms)
	n := len(ms)
	return []report.Row{
		{Source: "recrawl", Item: item, Quantity: "proved optimal within 1 ms", Unit: "1", Measured: float64(prompt) / float64(n), Runs: n},
		{Source: "recrawl", Item: item, Quantity: "time: median, 99 %", Unit: "ms", Measured: []float64{ms[n/2], ms[(99*n+99)/100-1]}, Runs: n},
	}
}

func smallUniformTable(l *lab) ([]report.Row, error) {
	var rows []report.Row
	for _, nm := range [][2]int{{11, 5}, {21, 10}} {
		item := fmt.Sprintf("%d sites, %d uniform clients", nm[0], nm[1])
		instance := func(i int) *schedule.Problem { return smallUniform(l.rng(4, i), nm[0], nm[1]) }
		more, err := series(item, 40, 5*time.Second, instance)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
		heuristics := []struct {
			name string
			plan func(*schedule.Problem) schedule.Plan
		}{
			{"LPT", schedule.LPT},
			{"MULTIFIT", schedule.Multifit},
			{"LPT + local search", func(p *schedule.Problem) schedule.Plan { return must(schedule.LocalSearch(p, schedule.LPT(p))) }},
			{"MULTIFIT + local search", func(p *schedule.Problem) schedule.Plan {
				return must(schedule.LocalSearch(p, schedule.Multifit(p)))
			}},
		}
		for _, h := range heuristics {
			var over []float64
			for i := range 40 {
				p := instance(i)
				best, err := solve(p, 5*time.Second)
				if err != nil {
					return nil, err
				}
				over = append(over, 100*(ratio(p.Makespan(h.plan(p)), best.Makespan)-1))
			}
			rows = append(rows, report.Row{Source: "recrawl", Item: item + ", " + h.name, Quantity: "over the optimum", Unit: "%"}.Sample(over))
		}
	}
	return rows, nil
}

// identicalTable solves the families of P||Cmax, and next to the published heuristic prints
// what the heuristics alone reach: constructors, local search and a short iterated search.
// In E4 no plan comes as near to the simple bound as the published gap, so that this must
// be meant over a stronger one.
func identicalTable(l *lab) ([]report.Row, error) {
	published := map[string]float64{"E2": .068, "E3": .162, "E4": .013}
	var rows []report.Row
	for _, family := range []string{"E1", "E2", "E3", "E4", "BIG"} {
		cells := identicalFamilies()[family]
		each := pick(l, 1, 20)
		instance := func(i int) *schedule.Problem { return cells[i/each].instance(l.rng(5, i)) }
		limit := pick(l, 500*time.Millisecond, 5*time.Second)
		bar := report.NewProgress(family, each*len(cells))
		var trials []trial
		var overBound, overProved, unavoidable []float64
		for i := range each * len(cells) {
			p := instance(i)
			t, err := solve(p, limit)
			if err != nil {
				return nil, fmt.Errorf("%s, instance %d: %w", family, i, err)
			}
			trials = append(trials, t)
			start := must(schedule.LocalSearch(p, schedule.Multifit(p)))
			r, err := schedule.Improve(context.Background(), p, schedule.SolveConfig{Start: start, Steps: pick[int64](l, 1_000_000, 10_000_000)})
			if err != nil {
				return nil, err
			}
			overBound = append(overBound, 100*r.Gap())
			overProved = append(overProved, 100*(ratio(r.Makespan, t.Lower)-1))
			unavoidable = append(unavoidable, 100*(ratio(t.Lower, r.Lower)-1))
			bar.Add(1)
		}
		bar.Done()
		rows = append(rows, outcome(family, trials)...)
		row := report.Row{Source: "recrawl", Item: family + ", heuristic alone", Unit: "%"}
		if v, ok := published[family]; ok {
			row.Source, row.Published = "Paletta and Vocaturo 2011", v
		}
		// Next to what is left above the simple bound stands the part of it that no plan
		// avoids.
		rows = append(rows, report.Row{Source: "recrawl", Item: family + ", best bound", Quantity: "over the simple lower bound", Unit: "%"}.Sample(unavoidable))
		simple, proved := row, row
		simple.Quantity, proved.Quantity = "over the simple lower bound", "over the bound that Solve proved"
		rows = append(rows, simple.Sample(overBound), proved.Sample(overProved))
	}
	return rows, nil
}

func fullTable(l *lab) ([]report.Row, error) {
	var rows []report.Row
	for _, m := range []int{3, 5} {
		for _, factor := range []float64{1, 1000} {
			more, err := series(fmt.Sprintf("full-model-like %d × %d, durations × %v", paperSites, m, factor), pick(l, 2, 20), pick(l, time.Second, 10*time.Second),
				func(i int) *schedule.Problem { return fullModelLike(l.rng(6, i), m, 2, factor) })
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

func unrelatedTable(l *lab) ([]report.Row, error) {
	var rows []report.Row
	for f, name := range unrelatedFamilies {
		for _, nm := range [][2]int{{100, 10}, {200, 20}} {
			more, err := series(fmt.Sprintf("%s, %d × %d", name, nm[0], nm[1]), pick(l, 1, 5), pick(l, 500*time.Millisecond, time.Minute),
				func(i int) *schedule.Problem { return unrelatedInstance(l.rng(7, i), f, nm[0], nm[1]) })
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// scale plans a million sites for a hundred clients, whose unit times are all different.
func scale(l *lab) ([]report.Row, error) {
	n, m := pick(l, 100_000, 1_000_000), 100
	rng := l.rng(8, 0)
	sizes, unit := powerLaw(rng, n, 2), make([]float64, m)
	for j := range unit {
		unit[j] = .05 + .1*rng.Float64()
	}
	runtime.GC()
	start := time.Now()
	p, err := schedule.NewUniform(sizes, unit)
	if err != nil {
		return nil, err
	}
	t, err := solve(p, 10*time.Second)
	if err != nil {
		return nil, err
	}
	t.took = time.Since(start)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	item := fmt.Sprintf("%d sites, %d clients", n, m)
	return append(outcome(item, []trial{t}), report.Row{Source: "recrawl", Item: item, Quantity: "memory obtained from the system", Unit: "MB",
		Measured: float64(mem.Sys) / (1 << 20), Runs: 1}), nil
}

// replanTable changes a tenth of the durations by a factor of up to two and replans with
// more and more moves allowed.
func replanTable(l *lab) ([]report.Row, error) {
	runs, moves := pick(l, 20, 100), []int{0, 1, 2, 3, 5, 10, 99}
	over := make([][]float64, len(moves))
	for i := range runs {
		rng := l.rng(9, i)
		sizes := powerLaw(rng, paperSites, 2)
		old := schedule.LPT(must(schedule.NewUniform(sizes, unitTimes(5))))
		for z := range sizes {
			if rng.IntN(10) == 0 {
				sizes[z] *= 1 + rng.Float64()
			}
		}
		p := must(schedule.NewUniform(sizes, unitTimes(5)))
		for k, most := range moves {
			r, err := schedule.Replan(p, old, most)
			if err != nil {
				return nil, err
			}
			over[k] = append(over[k], 100*r.Gap())
		}
	}
	var rows []report.Row
	for k, most := range moves {
		rows = append(rows, report.Row{Source: "recrawl", Item: fmt.Sprintf("durations changed, at most %d sites moved", most),
			Quantity: "over the lower bound", Unit: "%"}.Sample(over[k]))
	}
	return rows, nil
}
