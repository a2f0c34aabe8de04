// Command schedule plans batches of sites for crawl clients of different speed, and measures the
// plans. It compares the heuristics, the solvers of package schedule with their proofs, and dispatch
// under wrong estimates. The table of Pechnikov et al. (2017) is in examples/papers.
package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

func main() { report.Main("schedule", run) }

// An experiment is one part of the program.
type experiment struct {
	name, about string
	full        time.Duration // about how long the full run takes
	run         func(*lab) ([]report.Row, error)
}

var experiments = []experiment{
	{"methods", "methods × α: % over the lower bound, 99 sites, 3 and 5 clients", 5 * time.Second, methodsTable},
	{"proof", "the paper's setting: how many plans are proved optimal, and how fast", 3 * time.Second, proofs},
	{"uniform", "small problems with uniform clients", 2 * time.Second, smallUniformTable},
	{"identical", "families E1–E4 and BIG of P||Cmax", 3 * time.Minute, identicalTable},
	{"full", "full-model-like problems, 99 × 3 and 99 × 5, real durations, and the same × 1000", time.Minute, fullTable},
	{"unrelated", "families of Fanjul-Peyro and Ruiz, 100 × 10 and 200 × 20", 25 * time.Minute, unrelatedTable},
	{"scale", "a million sites on a hundred clients", 10 * time.Second, scale},
	{"dispatch", "plan, stealing, pulling and copies under wrong estimates", 30 * time.Second, dispatchTable},
	{"replan", "how the makespan falls with the number of sites that may move", 2 * time.Second, replanTable},
}

// A lab is what an experiment needs.
type lab struct {
	*report.Program
	worlds string // of the suite, those with this in their name
	runs   int    // in each of these and for each law of sizes, 0 for as many as suit
}

// rng returns the generator of one run of an experiment.
func (l *lab) rng(experiment, run int) *rand.Rand {
	return rand.New(rand.NewPCG(l.Seed+uint64(experiment)<<32, uint64(run)))
}

// pick returns quick or full, as the program runs.
func pick[T any](l *lab, quick, full T) T {
	if l.Quick {
		return quick
	}
	return full
}

func run(args []string, stdout, stderr io.Writer) error {
	l := &lab{Program: report.NewProgram("schedule", "Plans batches of sites for crawl clients of different speed, and measures the plans.",
		"few instances and short limits: under a minute", stdout, stderr)}
	only := l.Flags.String("only", "", "comma-separated `names` of the experiments to run; all if empty")
	withSuite := l.Flags.Bool("suite", false, "run the suite instead: Dispatcher in worlds that differ from the predictions, and large problems")
	l.Flags.StringVar(&l.worlds, "worlds", "", "with -suite: only the worlds with this in their `name`, such as 99 × 5 or dies")
	l.Flags.IntVar(&l.runs, "runs", 0, "with -suite: `runs` in each world and for each law of sizes; 0 for 40, or one with -quick")
	l.Notes = "Experiments:"
	for _, e := range experiments {
		l.Notes += fmt.Sprintf("\n  %-10s %s (%v)", e.name, e.about, e.full)
	}
	l.Notes += "\n\nWith -suite:"
	for _, e := range suite {
		l.Notes += fmt.Sprintf("\n  %-10s %s (%v)", e.name, e.about, e.full)
	}
	if err := l.Parse(args); err != nil {
		return err
	}
	if l.runs < 0 {
		return report.Usagef("-runs %d: fewer than none", l.runs)
	}
	all := experiments
	if *withSuite {
		all = suite
	}
	chosen, err := choose(all, *only)
	if err != nil {
		return err
	}
	inWorlds := *withSuite && slices.ContainsFunc(chosen, func(e experiment) bool { return e.name == "worlds" })
	if err := cmp.Or(l.OnlyIf(inWorlds, "with the worlds of -suite", "worlds", "runs"), l.OnlyIf(!*withSuite, "without -suite", "out")); err != nil {
		return err
	}
	if inWorlds {
		if err := report.Known("worlds", l.worlds, worldNames()); err != nil {
			return err
		}
	}
	if err := l.Start(fmt.Sprintf("up to about %v on one core", l.takes(chosen))); err != nil {
		return err
	}
	for _, e := range chosen {
		rows, err := e.run(l)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if err := l.Print(e.name+": "+e.about, rows); err != nil {
			return err
		}
	}
	if err := l.End(); err != nil || l.Out == "" {
		return err
	}
	return pictures(l)
}

// takes returns about how long experiments take, of the worlds those and so many runs that are asked
// for.
func (l *lab) takes(chosen []experiment) (total time.Duration) {
	for _, e := range chosen {
		full := e.full
		if e.name == "worlds" {
			names, runs := worldNames(), worldRuns
			asked := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, l.worlds) })
			if l.runs > 0 {
				runs = l.runs
			}
			full = full * time.Duration(len(asked)*runs) / time.Duration(len(names)*worldRuns)
		}
		total += full
	}
	return total.Round(time.Second)
}

// ratio returns a/b, and 1 where they differ by rounding only.
func ratio(a, b float64) float64 {
	const rounding = 1e-12
	if r := a / b; !(math.Abs(r-1) <= rounding) { // also NaN
		return r
	}
	return 1
}

func choose(all []experiment, only string) ([]experiment, error) {
	if only == "" {
		return all, nil
	}
	var chosen []experiment
	for name := range strings.SplitSeq(only, ",") {
		name = strings.TrimSpace(name)
		k := slices.IndexFunc(all, func(e experiment) bool { return e.name == name })
		if k < 0 {
			var names []string
			for _, e := range all {
				names = append(names, e.name)
			}
			return nil, report.Usagef("-only %s: no such experiment; there are %s", name, strings.Join(names, ", "))
		}
		if slices.ContainsFunc(chosen, func(e experiment) bool { return e.name == name }) {
			return nil, report.Usagef("-only: %s twice", name)
		}
		chosen = append(chosen, all[k])
	}
	return chosen, nil
}
