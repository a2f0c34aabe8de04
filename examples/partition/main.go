// Command partition compares schemes that assign web sites to access points: the assigner of package
// partition, the automaton of Chen, Wang and Olsen (2006), and uniform spreading. They run under
// noise, switching, congestion and limited hours. It also compares the object migration automata with
// co-access counts. The experiments of the papers are in examples/papers.
package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const intro = `Runs schemes that assign web sites to access points, in simulated environments, and
prints tables:

  1. TWOMA beside the assigner, under noise, switching, congestion and limited hours
  2. queries until the object migration automata have converged, and OMA's deadlock`

// scale says how much is run.
type scale struct {
	runs      int
	sites     int // on 8 access points
	queryRuns int // of the object migration automata
}

var (
	full  = scale{runs: 10, sites: 10_000, queryRuns: 200}
	quick = scale{runs: 2, sites: 1000, queryRuns: 20}
)

// mostArms is how many TWOMA takes, one of the rivals.
const mostArms = 256

func main() { report.Main("partition", run) }

// newProgram returns the program with its flags.
func newProgram(stdout, stderr io.Writer) *report.Program {
	return report.NewProgram("partition", intro, "fewer runs of fewer sites: some ten seconds", stdout, stderr)
}

func run(args []string, stdout, stderr io.Writer) error {
	p := newProgram(stdout, stderr)
	suite := p.Flags.Bool("suite", false, "compare Assigner with rivals instead, where nothing changes and where much does")
	arms := p.Flags.Int("arms", 8, "with -suite: number of access points")
	if err := p.Parse(args); err != nil {
		return err
	}
	if err := cmp.Or(p.OnlyIf(*suite, "with -suite", "arms"), p.OnlyIf(!*suite, "without -suite", "out")); err != nil {
		return err
	}
	if *arms < 2 || *arms > mostArms {
		return report.Usagef("-arms %d: want 2 to %d", *arms, mostArms)
	}
	if *suite {
		return runSuite(p, *arms)
	}
	return runAll(p, map[bool]scale{false: full, true: quick}[p.Quick])
}

// An experiment returns rows and pictures.
type experiment struct {
	title string
	run   func(scale, uint64) ([]report.Row, []picture, error)
}

var experiments = []experiment{
	{"Noise and switching: 8 access points, 300 crawls", noise},
	{"Durations that grow with the load", congestion},
	{"Limited hours, and sites of different weight", capacity},
	{"Object migration automata: queries until converged", queries},
}

// runAll runs all experiments, prints their rows and draws their pictures.
func runAll(p *report.Program, size scale) error {
	if err := p.Start("some two minutes on one core"); err != nil {
		return err
	}
	var pictures []picture
	for _, e := range experiments {
		rows, drawn, err := e.run(size, p.Seed)
		if err != nil {
			return fmt.Errorf("%s: %w", e.title, err)
		}
		pictures = append(pictures, drawn...)
		if err := p.Print(e.title, rows); err != nil {
			return err
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	return draw(p, pictures)
}
