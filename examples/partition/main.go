// Command partition runs every experiment of Chen, Wang and Olsen (2006) and of
// Chen & Wang (2006) on distributing web sites over access points, prints the
// published figures beside those measured, and then what the papers' automaton cannot do
// beside the assigner that can: noise, switching, congestion, limited hours.
package main

import (
	"fmt"
	"io"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const intro = `Runs schemes that assign web sites to access points, in simulated environments, and
prints tables:

  1. the papers: total duration of a crawl and crawls until every site is in its perfect
     access point, from 3 to 15 access points (figures 2, 4 and 5.3-1 to 5.3-7),
     and with perfect access points that change (figures 3 and 5.3-8)
  2. the pair-wise variant of the report
  3. noise, switching, congestion, and limited hours: TWOMA beside the assigner
  4. queries until the object migration automata have converged, and OMA's deadlock
  5. without -quick: 30 access points, 100,000 sites for each, which the authors'
     laptop could not run, and the time of an access beside a bare pass over the
     state`

// scale says how much is run.
type scale struct {
	runs      int // of the papers' experiments
	longRuns  int // of the experiments beyond them
	sites     int // in the experiments beyond the papers, on 8 access points
	changing  int // sites where the perfect access points change
	wide      int // sites on 15 access points
	queryRuns int // of the object migration automata
	perArm    int // sites for each of 30 access points; 0 to leave it out
}

var (
	full  = scale{runs: 10, longRuns: 10, sites: 10_000, changing: 10_000, wide: 150_000, queryRuns: 200, perArm: 100_000}
	quick = scale{runs: 3, longRuns: 2, sites: 1000, changing: 2000, wide: 10_000, queryRuns: 20}
)

func main() { report.Main("partition", run) }

// newProgram returns the program with its flags.
func newProgram(stdout, stderr io.Writer) *report.Program {
	return report.NewProgram("partition", intro, "fewer runs, and not the largest: some ten seconds", stdout, stderr)
}

func run(args []string, stdout, stderr io.Writer) error {
	p := newProgram(stdout, stderr)
	if err := p.Parse(args); err != nil {
		return err
	}
	return runAll(p, map[bool]scale{false: full, true: quick}[p.Quick])
}

// An experiment returns rows and pictures.
type experiment struct {
	title string
	run   func(scale, uint64) ([]report.Row, []picture, error)
}

var experiments = []experiment{
	{"Crawls and totals of the papers (figures 2, 4, 5.3-1 to 5.3-7)", published},
	{"Perfect access points that change (figures 3 and 5.3-8)", changing},
	{"Pair-wise variant of the report", pairwise},
	{"Noise and switching: 8 access points, 300 crawls", noise},
	{"Durations that grow with the load", congestion},
	{"Limited hours, and sites of different weight", capacity},
	{"Object migration automata: queries until converged", queries},
	{"30 access points, 3 million sites", large},
}

// runAll runs all experiments, prints their rows and draws their pictures.
func runAll(p *report.Program, size scale) error {
	if err := p.Start("some five minutes on one core, two of them for 3 million sites"); err != nil {
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
