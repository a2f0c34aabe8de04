// Command schedule plans batches of sites for crawl clients of different speed
// and measures the plans: the methods of Pechnikov et al. (2017), the solvers of
// package schedule with their proofs, and dispatch under wrong estimates.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "schedule:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("-h explains the flags and lists the experiments")

// An experiment is one part of the program.
type experiment struct {
	name, about string
	full        time.Duration // about how long the full run takes
	run         func(*lab) ([]report.Row, error)
}

var experiments = []experiment{
	{"table1", "the order of the paper's Table 1 on simulated sites", 2 * time.Second, table1},
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
	seed  uint64
	quick bool
	out   string
	log   io.Writer
}

// rng returns the generator of one run of an experiment.
func (l *lab) rng(experiment, run int) *rand.Rand {
	return rand.New(rand.NewPCG(l.seed+uint64(experiment)<<32, uint64(run)))
}

// pick returns quick or full, as the program runs.
func pick[T any](l *lab, quick, full T) T {
	if l.quick {
		return quick
	}
	return full
}

func run(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("schedule", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	l := &lab{log: stderr}
	fs.Uint64Var(&l.seed, "seed", 1, "seed of all random numbers")
	fs.BoolVar(&l.quick, "quick", false, "few instances and short limits: under a minute")
	fs.StringVar(&l.out, "out", "", "folder for Gantt charts and curves (SVG and HTML); none if empty")
	asJSON := fs.Bool("json", false, "print a JSON array of rows and nothing else")
	only := fs.String("only", "", "comma-separated names of the experiments to run; all if empty")
	fs.Usage = func() {
		fmt.Fprintln(stderr, "Plans batches of sites for crawl clients of different speed, and measures the plans.\n\nExperiments:")
		for _, e := range experiments {
			fmt.Fprintf(stderr, "  %-10s %s (%v)\n", e.name, e.about, e.full)
		}
		fmt.Fprintln(stderr, "\nFlags:")
		fs.SetOutput(stderr)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; %w", fs.Arg(0), errUsage)
	}
	chosen, err := choose(*only)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if l.out != "" { // not only in the end
		if err := os.MkdirAll(l.out, 0o755); err != nil {
			return err
		}
	}
	if !l.quick {
		var total time.Duration
		for _, e := range chosen {
			total += e.full
		}
		fmt.Fprintf(stderr, "The full run takes up to about %v on one core.\n", total)
	}
	var rows []report.Row
	for _, e := range chosen {
		more, err := e.run(l)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		rows = append(rows, more...)
		if !*asJSON {
			fmt.Fprintf(stdout, "\n%s: %s\n\n", e.name, e.about)
			if err := report.WriteRows(stdout, more); err != nil {
				return err
			}
		}
	}
	if *asJSON {
		if err := report.WriteJSON(stdout, rows); err != nil {
			return err
		}
	}
	if l.out == "" {
		return nil
	}
	return pictures(l)
}

func choose(only string) ([]experiment, error) {
	if only == "" {
		return experiments, nil
	}
	var chosen []experiment
	for _, name := range strings.Split(only, ",") {
		k := slices.IndexFunc(experiments, func(e experiment) bool { return e.name == name })
		if k < 0 {
			return nil, fmt.Errorf("no experiment %q", name)
		}
		chosen = append(chosen, experiments[k])
	}
	return chosen, nil
}
