// Command binpack packs sites on crawler nodes. With -suite, the default, it compares policies that
// keep a fleet packed while weights drift. With -exact it solves benchmark families of bin packing to
// proven optimality. The experiments of Yazidi 2006 are in examples/papers.
package main

import (
	"cmp"
	"io"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const intro = `-suite, the default, compares policies that keep sites on nodes while their weights change. It
prints node-hours, overload and moves for each workload. There are four fleets (-fleets):

  small   1000 sites on 20 nodes
  rules   the same, with resources, replicas, zones and other rules
  nodes   100,000 sites on 2000 nodes
  sites   100,000 sites on 20 nodes

-exact solves families of instances of the literature. It prints how many are packed optimally with
proof within 10 seconds of processor time each (-patience). It makes no pictures.

-only runs the workloads, rules or families with a text in their name.`

func main() { report.Main("binpack", run) }

// run runs what was asked for and prints its rows.
func run(args []string, stdout, stderr io.Writer) error {
	p := report.NewProgram("binpack", intro, "fewer seeds and slots: some seconds", stdout, stderr)
	withSuite := p.Flags.Bool("suite", false, "compare packing policies under changing weights, the default")
	withExact := p.Flags.Bool("exact", false, "solve benchmark families exactly")
	fleets := p.Flags.String("fleets", "small,rules,nodes,sites", "comma-separated `sizes` of the fleets of -suite")
	only := p.Flags.String("only", "", "only the workloads and rules of -suite, or the families of -exact, with this in their `name`")
	patience := p.Flags.Duration("patience", 10*time.Second, "with -exact: processor time for each instance")
	if err := p.Parse(args); err != nil {
		return err
	}
	if *withSuite && *withExact {
		return report.Usagef("-suite or -exact, not both")
	}
	if err := cmp.Or(p.OnlyIf(!*withExact, "without -exact", "fleets", "out"), p.OnlyIf(*withExact, "with -exact", "patience")); err != nil {
		return err
	}
	if *patience <= 0 {
		return report.Usagef("-patience %v: want more than 0", *patience)
	}
	if _, err := parts(*fleets, p.Quick); err != nil {
		return err
	}
	experiment := func(p *report.Program) ([]report.Row, *report.Page, error) { return suite(p, *fleets, *only) }
	takes := "some ten minutes on two cores, with -fleets small two"
	if *withExact {
		experiment, takes = func(p *report.Program) ([]report.Row, *report.Page, error) {
			return families(p, *only, *patience)
		}, "five minutes on one core"
	}
	if err := p.Start(takes); err != nil {
		return err
	}
	rows, page, err := experiment(p)
	if err != nil {
		return err
	}
	if err := p.Print("", rows); err != nil {
		return err
	}
	if err := p.End(); err != nil || page == nil {
		return err
	}
	return p.WritePage("binpack.html", *page)
}
