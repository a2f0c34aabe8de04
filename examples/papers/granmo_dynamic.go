package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// estimating is an Estimator with a phase, in a changing environment.
func estimating(phase int, spacing knapsack.Spacing) poller {
	how := "evenly"
	if spacing == knapsack.Random {
		how = "at random"
	}
	return poller{fmt.Sprintf("Estimator that polls %s, phase %d", how, phase), func(l *lab, run int) (webenv.Scheduler, error) {
		return knapsack.NewEstimateFirst(zipfPages, knapsack.EstimateFirstConfig{Phase: phase, Spacing: spacing}, l.source(run, 2))
	}}
}

// phasesOf are the phases of the Estimators in a changing environment.
var phasesOf = []int{20_000, 80_000}

// A change is what one change of the ranking did to a curve: before and after it, after a quarter of
// the time until the next one, and before that.
type change struct{ before, after, soon, last float64 }

// granmoDynamic repeats figures 5 and 6: every r polls a page, drawn by the law, swaps its rank
// with the next one.
func granmoDynamic(l *lab) ([]figure, error) {
	runs := l.runs(5, 10)
	b, err := boundsOf(webenv.ZipfLaw(zipfPages, 0.9, 1.5))
	if err != nil {
		return nil, err
	}
	var figures []figure
	for _, d := range []struct {
		place        string
		swaps, polls int
	}{{"figure 5", 80_000, 480_000}, {"figure 6", 1000, 200_000}} {
		polls := d.polls
		switch {
		case l.brief:
			polls = min(polls, 240_000, 100*d.swaps) // with a change between two others
		case l.Quick:
			polls = min(polls, 320_000)
		}
		cfg := webenv.ZipfConfig{Alpha: 0.9, Beta: 1.5, SwapEvery: d.swaps}
		named := map[string][]crawl{}
		pollers := append(append([]poller{}, lakgs...), vlakg)
		for _, spacing := range []knapsack.Spacing{knapsack.Even, knapsack.Random} {
			for _, phase := range phasesOf {
				pollers = append(pollers, estimating(phase, spacing))
			}
		}
		pollers = append(pollers, rateFilter)
		for _, p := range pollers {
			if named[p.name], err = l.pollAll(cfg, p, polls, runs); err != nil {
				return nil, err
			}
		}
		fig := figure{place: d.place, text: fmt.Sprintf("α = 0.9, β = 1.5; every %d polls one page, drawn by the law, swaps its rank with the next one. "+
			"Valued at the true u of the moment, for polls at random, where uniform polling is worth %.4f, the proportional policy that is told u %.4f, and the optimum %.4f.",
			d.swaps, b.uniform.random, b.proportional.random, b.bestRandom.random)}
		chart := report.Chart{Title: fmt.Sprintf("A swap of ranks every %d polls, valued for polls at random", d.swaps), X: "polls", Y: "detections per poll"}
		for k, p := range pollers {
			if p.name == rateFilter.name {
				continue
			}
			chart.Series = append(chart.Series, report.Series{Name: p.name, X: steps(polls/every, every),
				Y: report.MeanCurve(each(named[p.name], func(c crawl) []float64 { return c.random })), Main: k != 1 && k != 5 && k != 7})
		}
		fig.charts = []report.Chart{chart}
		filter := each(named[rateFilter.name], func(c crawl) float64 { return late(c.found) })
		for _, p := range pollers[:len(pollers)-1] {
			fig.rows = append(fig.rows, sampled(p.name, "share of polls that find a change, last quarter", "1",
				each(named[p.name], func(c crawl) float64 { return late(c.found) })).instead("RateFilter", filter))
		}
		if d.place == "figure 5" {
			fig.rows = append(fig.rows, figure5(named, d.swaps, b)...)
		} else {
			fig.rows = append(fig.rows, figure6(named, b)...)
		}
		figures = append(figures, fig)
	}
	return figures, nil
}

// figure5 measures what the changes do.
func figure5(named map[string][]crawl, swaps int, b bounds) (rows []Row) {
	regains := map[string][]regain{} // by run
	for _, p := range append(append([]poller{}, lakgs...), vlakg) {
		var drops, regained []float64
		var initially, back []bool
		for _, c := range named[p.name] {
			initially = append(initially, at(c.random, swaps-every) > 0.95*b.bestRandom.random)
			before, drop, gain, quickly := 0.0, 0.0, 0.0, 0.0
			for _, x := range changesOf(c.random, swaps) {
				before += x.before
				drop += x.before - x.after
				gain += x.last - x.after
				quickly += x.soon - x.after
			}
			n := float64(len(changesOf(c.random, swaps)))
			drops = append(drops, drop/n)
			regained = append(regained, gain/n)
			regains[p.name] = append(regains[p.name], regain{drop, quickly})
			back = append(back, gain-drop > -0.02*before)
		}
		rows = append(rows,
			sampled(p.name, "drop of the value by a change of the ranking", "per poll", drops),
			sampled(p.name, "regained before the next change", "per poll", regained))
		if p.name == vlakg.name {
			continue
		}
		rows = append(rows,
			sentence(p.name+" finds near-optimal solutions initially (within 5 % of the optimum, before the first change)", initially).
				whereDiffers("It takes more than 80,000 polls: see figure 4."),
			sentence(p.name+" recovers after changes (before the next one it is within 2 % of what it was before, on average)", back).
				whereDiffers("It takes longer than 80,000 polls to come back."))
	}
	return append(rows, recovery(regains, swaps/4))
}

// A regain is what the changes of a run cost, and how much of it came back soon.
type regain struct{ drop, soon float64 }

// recovery is the sentence that the speed of recovery depends on N, from what came back in so many
// polls. Few changes cost much, so that drops are added up over all runs. The standard errors are
// those of the jackknife, which leaves out each run once.
func recovery(regains map[string][]regain, polls int) Row {
	share := func(k, without int) float64 {
		var all regain
		for run, r := range regains[lakgs[k].name] {
			if run != without {
				all.drop, all.soon = all.drop+r.drop, all.soon+r.soon
			}
		}
		return all.soon / all.drop
	}
	runs := len(regains[lakgs[0].name])
	shares, falls := make([]float64, len(lakgs)), true
	for k := range lakgs {
		if shares[k] = share(k, -1); k == 0 {
			continue
		}
		fall := shares[k-1] - shares[k]
		var others []float64
		for run := range runs {
			others = append(others, share(k-1, run)-share(k, run))
		}
		off := 0.0
		if runs > 1 {
			_, sd := report.MeanSD(others)
			off = sd * float64(runs-1) / math.Sqrt(float64(runs))
		}
		falls = falls && fall > 2*off
	}
	return sentence(fmt.Sprintf("The speed of recovery depends on N (in %d polls a higher N regains a smaller share of what changes cost it, each by two standard errors)", polls), []bool{falls}).
		over(runs).because("For N = 1500, 2500 and 5000: %.2f, %.2f and %.2f.", shares[0], shares[1], shares[2]).
		whereDiffers("The difference cannot be told from chance.")
}

// changesOf looks at a curve before and after each change but the first, before which some
// settings have not arrived, and before the next.
func changesOf(curve []float64, swaps int) (all []change) {
	per := swaps / every
	for k := 2 * per; k+per <= len(curve); k += per {
		all = append(all, change{before: curve[k-2], after: curve[k-1], soon: curve[k-1+per/4], last: curve[k+per-2]})
	}
	return all
}

// figure6 is what the text says about it.
func figure6(named map[string][]crawl, b bounds) (rows []Row) {
	for _, p := range lakgs {
		var improves, short []bool
		for _, c := range named[p.name] {
			improves = append(improves, late(c.random) > 2*b.uniform.random)
			short = append(short, late(c.random) < 0.98*b.bestRandom.random)
		}
		rows = append(rows, sentence(p.name+" improves the initial solution and is never allowed to reach an optimal one", and(improves, short)))
		for _, spacing := range []knapsack.Spacing{knapsack.Even, knapsack.Random} {
			var ahead []bool
			for run, c := range named[p.name] {
				best := 0.0
				for _, phase := range phasesOf {
					best = max(best, late(named[estimating(phase, spacing).name][run].found))
				}
				ahead = append(ahead, late(c.found) > best)
			}
			how, _, _ := strings.Cut(estimating(0, spacing).name, ",")
			rows = append(rows, sentence(fmt.Sprintf("%s is superior to the %s (finds more in the last quarter than with phases of %v polls)", p.name, how, phasesOf), ahead).
				whereDiffers("Not in all runs."))
		}
	}
	return rows
}

func and(a, b []bool) []bool {
	both := make([]bool, len(a))
	for k := range a {
		both[k] = a[k] && b[k]
	}
	return both
}
