// Command automata runs the learning automata in the ten-action environments of
// the literature and prints how many answers each needs until it is sure, how often
// it is sure of the right action, and the figures printed elsewhere beside them;
// then the schemes for many actions, the long-run shares of the automata of fixed
// structure beside their closed forms, and all of them where the best action
// changes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const usage = `Usage: automata [flags]

Runs learning automata in simulated environments and prints tables:

  1. answers until an action has probability 0.999, and how often it is the best
     one, in the ten-action environments of the literature, at fixed parameters
  2. the same for 16, 64 and 128 actions
  3. long-run share of the best action of the automata of fixed structure, beside
     the closed form
  4. mean reward where the best action changes every 2,000 answers

Each replication has its own random stream, drawn from -seed and its number, so
the figures do not depend on the number of processors.

Flags:
`

// sizes says how much is run.
type sizes struct {
	table, many, fixed, switching, curve int // replications
	fixedSteps, switchingSteps           int // answers in each
}

var (
	full  = sizes{table: 20_000, many: 2000, fixed: 200, switching: 200, curve: 2000, fixedSteps: 100_000, switchingSteps: 40_000}
	quick = sizes{table: 400, many: 20, fixed: 20, switching: 10, curve: 100, fixedSteps: 20_000, switchingSteps: 20_000}
)

func main() {
	flags := flag.NewFlagSet("automata", flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "seed of all random numbers")
	asJSON := flags.Bool("json", false, "print a JSON array of rows and nothing else")
	short := flags.Bool("quick", false, "fewer replications: some ten seconds")
	out := flags.String("out", "", "folder for the pictures (SVG and HTML)")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:]) // exits on an error
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "automata: unexpected argument %q; -h explains the flags\n", flags.Arg(0))
		os.Exit(2)
	}

	size := full
	if *short {
		size = quick
	} else {
		fmt.Fprintf(os.Stderr, "The full run takes some four minutes of processor time, on %d processors here. See -quick.\n", runtime.GOMAXPROCS(0))
	}
	if err := run(os.Stdout, size, *seed, *asJSON, *out); err != nil {
		fmt.Fprintln(os.Stderr, "automata:", err)
		os.Exit(1)
	}
}

// run runs all experiments and writes the tables, or the rows, to w.
func run(w io.Writer, size sizes, seed uint64, asJSON bool, out string) error {
	sections := []struct {
		title string
		rows  func(sizes, uint64) ([]report.Row, error)
	}{
		{"Ten actions: answers until an action has probability 0.999 (10 priming pulls of each counted)", tenActions},
		{"Many actions", manyActions},
		{"Fixed structure: long-run share of the best action", fixedStructure},
		{"The best action changes every 2,000 answers", switching},
	}
	progress := report.NewProgress("experiments", len(sections)+1)
	defer progress.Done()
	if out != "" { // not only in the end
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
	}
	var all []report.Row
	page := report.Page{Title: "Learning automata", Lead: lead(size)}
	for _, s := range sections {
		rows, err := s.rows(size, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		progress.Add(1)
		all = append(all, rows...)
		page.Sections = append(page.Sections, section(s.title, rows))
		if !asJSON {
			fmt.Fprintf(w, "%s\n\n", s.title)
			if err := report.WriteRows(w, rows); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	curves, chart, err := convergenceCurves(size, seed)
	if err != nil {
		return err
	}
	progress.Add(1)
	all = append(all, curves...)
	if asJSON {
		if err := report.WriteJSON(w, all); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	written, err := pictures(out, page, chart)
	if err != nil {
		return err
	}
	if !asJSON {
		for _, path := range written {
			fmt.Fprintln(w, "wrote", path)
		}
	}
	return nil
}
