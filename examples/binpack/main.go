// Command binpack packs sites on crawler nodes: it compares policies that keep a fleet packed
// while weights drift (-suite, the default), and solves benchmark families of bin packing to
// proven optimality (-exact). What Yazidi 2006 publishes is in examples/papers.
package main

import (
	"cmp"
	"io"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const intro = `-suite, the default: policies that keep sites on nodes while their weights change, by workload:
node-hours, overload, moves. Fleets of 1000 sites on 20 nodes (small), the same with resources,
replicas, zones and other rules (rules), of 100,000 sites on 2000 nodes (nodes) and on 20 (sites);
-fleets takes some of them, and -only the workloads and the rules with this in their name.

-exact: how many instances of the families of the literature are packed
optimally with proof within 10 seconds of processor time each (-patience); -only takes some.
No pictures.`

func main() { report.Main("binpack", run) }

// run runs what was asked for and prints its rows.
func run(args []string, stdout, stderr io.Writer) error {
	p := report.NewProgram("binpack", intro, "fewer seeds and slots: some seconds", stdout, stderr)
	withSuite := p.Flags.Bool("suite", false, "compare packing policies under changing weights, the default")
	withExact := p.Flags.Bool("exact", false, "solve benchmark families exactly")
	fleets := p.Flags.String("fleets", "small,rules,nodes,sites", "comma-separated `sizes` of the fleets of -suite")
	only := p.Flags.String("only", "", "only the workloads and rules of -suite, or the families of -exact, with this in their `name`")
	patience := p.Flags.Duration("patience", 10*time.Second, "with -exact: processor time for an instance")
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
