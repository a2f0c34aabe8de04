// Command papers repeats every figure and table of the five papers that this library comes from. It
// shows the published value beside the measured one, with a verdict for each row.
package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
)

func main() { report.Main("papers", run) }

const intro = `Repeats the experiments of five papers on crawling. For every figure and table it prints the
published value beside the one measured here, with a verdict:

  reproduced   a published figure lies within two standard deviations of the runs here (of the
               difference of two means, if it is a mean), an exact figure agrees to its last
               digit, or a sentence holds in nine runs of ten
  differs      it does not; the row says why
  fitted       it is reproduced, but a setting was chosen to match: this shows nothing
  fitted, and differs
               a setting was chosen to match, and it still differs; the row says why
  not stated   the paper gives no figure

Where this library recommends something else, that is run in the same experiment.`

// A paper is one of the five.
type paper struct {
	id, name, title string
	places          []string // all its numbered figures and tables
	about           string   // what came of it, above its figures
	parts           []part
}

// A part is an experiment that gives some of the figures.
type part struct {
	name, about string
	full        time.Duration // about how long the full run takes on two cores
	run         func(*lab) ([]figure, error)
}

// A figure is a figure, a table or a section of a paper with the rows that belong to it.
type figure struct {
	place  string // as "figure 4"
	text   string
	charts []report.Chart
	rows   []Row
	whole  bool // RESULTS.md has its rows that nothing is published for, too
}

var papers = []paper{granmo, yazidi, chen, chenWang, pechnikov}

// A lab is what an experiment needs.
type lab struct {
	*report.Program
	brief bool // for tests: one run, and no longer than it takes to give all rows
}

// runs returns how often an experiment is repeated.
func (l *lab) runs(quick, full int) int {
	if l.brief {
		return 1
	}
	return pick(l, quick, full)
}

// pick returns quick or full, as the program runs.
func pick[T any](l *lab, quick, full T) T {
	if l.Quick {
		return quick
	}
	return full
}

// mostSeed is the largest seed: it has half of a word, and the number of the run the other half.
const mostSeed = math.MaxUint32

// source returns a source of one run. Streams of one run are independent.
func (l *lab) source(run int, stream uint64) *rand.PCG {
	return rand.NewPCG(l.seed(run), stream)
}

// seed returns the seed of one run.
func (l *lab) seed(run int) uint64 { return l.Seed<<32 + uint64(run) }

// replicate calls f for n runs on all processors and returns what it gave, in order.
func replicate[T any](label string, n int, f func(run int) (T, error)) ([]T, error) {
	all := make([]T, n)
	err := report.Parallel(label, n, func(i int) (err error) {
		all[i], err = f(i)
		return err
	})
	return all, err
}

// run runs what was asked for.
func run(args []string, stdout, stderr io.Writer) error {
	l := &lab{Program: report.NewProgram("papers", intro, "fewer and shorter runs: three to four minutes", stdout, stderr)}
	l.Flags.Lookup("seed").Usage += fmt.Sprintf("; up to %d", mostSeed)
	only := l.Flags.String("only", "", "comma-separated `names`, or beginnings of names, of the parts to run; all if empty")
	markdown := l.Flags.Bool("markdown", false, "print the tables of RESULTS.md and nothing else")
	l.Notes = "Parts:"
	for _, p := range papers {
		for _, x := range p.parts {
			l.Notes += fmt.Sprintf("\n  %-20s %s, %s (%v)", x.name, p.name, x.about, x.full)
		}
	}
	if err := l.Parse(args); err != nil {
		return err
	}
	if l.Seed > mostSeed {
		return report.Usagef("-seed %d: want %d at most", l.Seed, mostSeed)
	}
	if l.JSON && *markdown {
		return report.Usagef("-json or -markdown, not both")
	}
	chosen, total, err := choose(*only)
	if err != nil {
		return err
	}
	if err := l.Start(fmt.Sprintf("about %v on two cores", total)); err != nil {
		return err
	}
	results, err := l.measure(chosen)
	if err != nil {
		return err
	}
	switch {
	case l.JSON:
		err = report.WriteJSON(l.Stdout, rowsOf(results))
	case *markdown:
		_, err = io.WriteString(l.Stdout, asMarkdown(results))
	default:
		err = writeTables(l.Stdout, results)
	}
	if err != nil || l.Out == "" {
		return err
	}
	return l.draw(results)
}

// choose returns the papers with those of their parts whose names begin with one of the names.
func choose(only string) (chosen []paper, total time.Duration, err error) {
	names := strings.Split(only, ",")
	for k := range names {
		names[k] = strings.TrimSpace(names[k])
	}
	used := make([]bool, len(names))
	var all []string
	for _, p := range papers {
		var parts []part
		for _, x := range p.parts {
			wanted := false
			all = append(all, x.name)
			for k, name := range names {
				if strings.HasPrefix(x.name, name) {
					wanted, used[k] = true, true
				}
			}
			if wanted {
				parts = append(parts, x)
				total += x.full
			}
		}
		if p.parts = parts; len(parts) > 0 {
			chosen = append(chosen, p)
		}
	}
	for k, name := range names {
		if !used[k] || only != "" && name == "" {
			return nil, 0, report.Usagef("-only %s: no part begins with that; there are %s", name, strings.Join(all, ", "))
		}
	}
	return chosen, total, nil
}

// A result is a paper with what was measured of it.
type result struct {
	paper
	figures []figure
}

// measure runs the parts of all papers.
func (l *lab) measure(chosen []paper) ([]result, error) {
	var results []result
	for _, p := range chosen {
		r := result{paper: p}
		for _, x := range p.parts {
			figures, err := x.run(l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", x.name, err)
			}
			r.figures = append(r.figures, figures...)
		}
		for _, f := range r.figures {
			for k := range f.rows {
				f.rows[k].Source = p.name + ", " + f.place
			}
		}
		results = append(results, r)
	}
	return results, nil
}
