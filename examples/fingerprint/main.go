// Command fingerprint compares three ways to find out whether a page has changed: by its bytes, by its
// text without tags, and by the learnt fingerprint. The pages are synthetic and change by themselves.
package main

import (
	"io"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/internal/noisypage"
	"github.com/recrawl/recrawl/webenv/live/fingerprint"
)

func main() { report.Main("fingerprint", run) }

const intro = `For each kind of noise, polls 48 synthetic pages, 40 times each. One poll in twenty
(-edits) comes after a real change: of a paragraph, or of a price that changes in place.
Prints how many polls without a real change were reported as changes, and how many real
changes were not reported.`

// learnt returns a detector that learns what is noise in a page. Where it asks for a second copy it
// takes one, if it may.
func learnt(second bool) func(*noisypage.Page) noisypage.Detector {
	return func(web *noisypage.Page) noisypage.Detector {
		var page fingerprint.Page
		var c fingerprint.Copy
		return func(body []byte) bool {
			c.Reset()
			c.Write(body)
			found := page.Observe(&c)
			if second && found.Again {
				c.Reset()
				c.Write(web.Poll())
				page.Teach(&c)
			}
			return found.Body || found.Minor
		}
	}
}

var ways = []struct {
	name  string
	start func(*noisypage.Page) noisypage.Detector
}{
	{"bytes", noisypage.Raw},
	{"text without tags", noisypage.Text},
	{"learnt fingerprint", learnt(false)},
	{"learnt, with second copies", learnt(true)},
}

func run(args []string, stdout, stderr io.Writer) error {
	p := report.NewProgram("fingerprint", intro, "refused: this takes seconds anyway", stdout, stderr)
	edits := p.Flags.Float64("edits", 0.05, "`probability` of a real change before a poll")
	if err := p.Parse(args); err != nil {
		return err
	}
	if err := p.OnlyIf(false, "with programs that take longer than seconds", "quick"); err != nil {
		return err
	}
	if !(*edits >= 0 && *edits <= 1) {
		return report.Usagef("-edits %v: want 0 to 1", *edits)
	}
	if err := p.Start(""); err != nil {
		return err
	}
	for _, n := range noisypage.Noises() {
		var rows []report.Row
		for _, w := range ways {
			c := noisypage.Measure(p.Seed, *edits, w.start, n)
			rows = append(rows, row(w.name, n, "false changes, of the polls without a change", c.Polls, 100*c.FalseShare()),
				row(w.name, n, "missed, of the changes", c.Changes, 100*c.MissedShare()))
		}
		if err := p.Print(n.Name, rows); err != nil {
			return err
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	return p.WritePage("fingerprint.html", report.Page{Title: "Whether a page has really changed",
		Sections: []report.Section{report.RowsSection("Figures", p.Rows())}})
}

func row(way string, n noisypage.Noise, quantity string, of int, percent float64) report.Row {
	r := report.Row{Source: "recrawl", Item: n.Name + ": " + way, Quantity: quantity, Unit: "%", Runs: of}
	if of > 0 {
		r.Measured = percent
	}
	return r
}
