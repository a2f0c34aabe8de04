// Command partition runs every experiment of Chen, Wang and Olsen (2006) and of
// Chen & Wang (2006) on distributing web sites over access points, prints the
// published figures beside those measured, and then what the papers' automaton cannot do
// beside the assigner that can: noise, switching, congestion, limited hours.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const usage = `Usage: partition [flags]

Runs schemes that assign web sites to access points, in simulated environments, and
prints tables:

  1. the papers: total duration of a crawl and crawls until every site is in its perfect
     access point, from 3 to 15 access points (figures 2, 4 and 5.3-1 to 5.3-7),
     and with perfect access points that change (figures 3 and 5.3-8)
  2. the pair-wise variant of the report
  3. noise, switching, congestion, and limited hours: TWOMA beside the assigner
  4. queries until the object migration automata have converged, and OMA's deadlock
  5. without -quick: 30 access points, 100,000 sites for each, which the authors'
     laptop could not run, and the time of an access beside a bare pass over the
     state

Flags:
`

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

func main() {
	flags := flag.NewFlagSet("partition", flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "seed of all random numbers")
	asJSON := flags.Bool("json", false, "print a JSON array of rows and nothing else")
	short := flags.Bool("quick", false, "fewer runs, and not the largest: some ten seconds")
	out := flags.String("out", "", "folder for the pictures (SVG and HTML)")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:]) // exits on an error
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "partition: unexpected argument %q; -h explains the flags\n", flags.Arg(0))
		os.Exit(2)
	}

	size := full
	if *short {
		size = quick
	} else {
		fmt.Fprintln(os.Stderr, "The full run takes some five minutes on one processor, two of them for 3 million sites. See -quick.")
	}
	if err := run(os.Stdout, size, *seed, *asJSON, *out); err != nil {
		fmt.Fprintln(os.Stderr, "partition:", err)
		os.Exit(1)
	}
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

// run runs all experiments and writes the tables, or the rows, to w.
func run(w io.Writer, size scale, seed uint64, asJSON bool, out string) error {
	if out != "" { // not only in the end
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
	}
	var all []report.Row
	var pictures []picture
	for _, e := range experiments {
		rows, drawn, err := e.run(size, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", e.title, err)
		}
		all, pictures = append(all, rows...), append(pictures, drawn...)
		if asJSON || len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\n\n", e.title)
		if err := report.WriteRows(w, withoutCurves(rows)); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if asJSON {
		if err := report.WriteJSON(w, all); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	return draw(out, pictures, withoutCurves(all))
}

// withoutCurves leaves out the rows that are too long for a table.
func withoutCurves(rows []report.Row) (short []report.Row) {
	for _, r := range rows {
		if _, curve := r.Measured.([]float64); !curve {
			short = append(short, r)
		}
	}
	return short
}
