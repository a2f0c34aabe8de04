// Command binpack packs sites on crawler nodes: it runs the tests of Yazidi 2006
// beside the published figures, compares policies that keep a fleet packed while
// weights drift (-suite), and solves benchmark families of bin packing to proven
// optimality (-exact).
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const usage = `Usage: binpack [flags]

Without -suite or -exact: tests 1 and 2, the Zipf test and the dynamic test of
Yazidi 2006, for the page walk as described, one with less bias and one with
none, published figures beside means and standard deviations over the seeds.

-suite: policies that keep sites on nodes while their weights change, by workload:
node-hours, overload, moves.

-exact: how many instances of the families of the literature are packed
optimally with proof within 10 seconds each.

Flags:
`

// options are the settings of a run.
type options struct {
	seed         uint64
	quick        bool
	out          string
	suite, exact bool
	asJSON       bool
}

func main() {
	var o options
	flags := flag.NewFlagSet("binpack", flag.ExitOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "first seed")
	flags.BoolVar(&o.quick, "quick", false, "fewer seeds and slots: some seconds")
	flags.StringVar(&o.out, "out", "", "folder for pictures (a page of HTML with SVG; none with -exact)")
	flags.BoolVar(&o.suite, "suite", false, "compare packing policies under changing weights")
	flags.BoolVar(&o.exact, "exact", false, "solve benchmark families exactly")
	flags.BoolVar(&o.asJSON, "json", false, "print a JSON array of rows and nothing else")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:]) // exits on an error
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(os.Stderr, "binpack: unexpected argument %q; -h explains the flags\n", flags.Arg(0))
		os.Exit(2)
	case o.suite && o.exact:
		fmt.Fprintln(os.Stderr, "binpack: -suite or -exact, not both")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "binpack:", err)
		os.Exit(1)
	}
}

// run runs what was asked for and writes the rows to w.
func run(w io.Writer, o options) error {
	experiment, takes := paper, "a minute"
	switch {
	case o.suite:
		experiment, takes = suite, "a minute"
	case o.exact:
		experiment, takes = families, "half a minute"
	}
	if o.out != "" { // not only in the end
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
	}
	if !o.quick {
		fmt.Fprintf(os.Stderr, "This takes about %s on two cores (-quick: some seconds).\n", takes)
	}
	start := time.Now()
	rows, page, err := experiment(o)
	if err != nil {
		return err
	}
	if o.out != "" && page != nil {
		html, err := page.HTML()
		if err != nil {
			return err
		}
		path, err := report.WriteFile(o.out, "binpack.html", html)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "wrote", path)
	}
	if o.asJSON {
		return report.WriteJSON(w, rows)
	}
	rows = slices.DeleteFunc(rows, func(r report.Row) bool {
		_, curve := r.Measured.([]float64)
		return curve // for pictures and machines
	})
	if err := report.WriteRows(w, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%.0f s\n", time.Since(start).Seconds())
	return err
}
