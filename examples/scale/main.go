// Command scale prints what the library costs at size. For a number of pages, objects, items or sites
// it prints the time of an operation, the longest single call, and the bytes for each. For comparison
// it runs random read-modify-writes, a pass over memory and a sort of as many numbers.
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const intro = `Prints what the library costs at size. Each line is one learner or algorithm:

  number     how many pages, objects, items or sites there are
  operation  mean processor time of one operation, in nanoseconds. A poll is
             Next and Observe
  random     the operation as a multiple of a random read-modify-write of as many
             numbers of 8 bytes. The places do not depend on each other: the
             processor has a dozen of them under way at a time. A line with one
             operation at a time takes five turns with these writes, and the
             median of the five ratios counts
  chained    the same, where each number names the place of the next, so that one
             write ends before the next begins
  longest    the longest single call, in microseconds by the clock. It includes
             the work of the system and of the garbage collector, and scatters
  bytes      heap memory of each page, object, item or site

Before anything is measured, all pages are polled -cycles times each. So the figures
are those of a crawl in the middle of its life. Pages change at rates from an eighth
to eight in the time in which all are polled once. A group is a host of 100 pages,
which may be polled again after five other polls. The keys of "keyed" are URLs, which
are part of its bytes. "web alone" is the environment's part of every poll: it looks up
when a page was polled last, and draws whether it has changed. "LAKG alone" is without
that part: one answer in four is a change.

With 10^8 pages LAKG takes 1 GB and half a minute. The rate filter takes 6 GB and half
an hour on a machine with nothing else to do. -only 'rate filter' runs it without
groups or keys, which take more. -only LAKG leaves it out.`

// mostCycles is more than anybody waits for.
const mostCycles = 1e6

func main() { report.Main("scale", run) }

func run(args []string, stdout, stderr io.Writer) error {
	p := report.NewProgram("scale", intro, "a tenth of the pages, objects, items and sites", stdout, stderr)
	pages := p.Flags.String("pages", "100000,1000000", "`numbers` of pages, up to 10^8")
	only := p.Flags.String("only", "", "run only some lines: `words` separated by commas; a word that is a name runs that line, any other word runs the lines with it in their name")
	cycles := p.Flags.Float64("cycles", 1, "`times` that each page is polled before the measurement")
	if err := p.Parse(args); err != nil {
		return err
	}
	numbers, err := parse(*pages, p.Quick)
	if err != nil {
		return err
	}
	if !(*cycles >= 0 && *cycles <= mostCycles) {
		return report.Usagef("-cycles %v: want 0 to %v", *cycles, mostCycles)
	}
	var chosen []subject
	all := subjects(numbers, p.Quick)
	words := strings.Split(*only, ",")
	for _, w := range words {
		if *only != "" && strings.TrimSpace(w) == "" {
			return report.Usagef("-only %q: a word is blank", *only)
		}
		if !slices.ContainsFunc(all, func(s subject) bool { return called(s, []string{w}, all) }) {
			return report.Usagef("-only %s: there is no such line; there are %s", w, names(all))
		}
	}
	for _, s := range all {
		if called(s, words, all) {
			chosen = append(chosen, s)
		}
	}
	if err := p.Start("some minutes with up to 10^6 pages"); err != nil {
		return err
	}
	return measureAll(p, chosen, *cycles)
}

// parse returns the numbers of pages.
func parse(list string, quick bool) (numbers []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || n < 1000 || n > 1e8 || n != math.Floor(n) {
			return nil, report.Usagef("-pages %s: want whole numbers of 1000 to 100000000", list)
		}
		if quick {
			n = max(1000, math.Floor(n/10))
		}
		numbers = append(numbers, int(n))
	}
	return numbers, nil
}

// called reports whether a subject is among those that the words name.
func called(s subject, words []string, all []subject) bool {
	for _, w := range words {
		w = strings.TrimSpace(w)
		whole := slices.ContainsFunc(all, func(other subject) bool { return other.name == w })
		if s.name == w || !whole && strings.Contains(s.name, w) {
			return true
		}
	}
	return false
}

// names lists the subjects, each once.
func names(all []subject) string {
	var list []string
	for _, s := range all {
		if !slices.Contains(list, s.name) {
			list = append(list, s.name)
		}
	}
	return strings.Join(list, ", ")
}

// measureAll measures one subject after the other, and prints all.
func measureAll(p *report.Program, chosen []subject, cycles float64) error {
	progress := report.NewProgress("lines", len(chosen))
	defer progress.Done()
	header := []string{"what", "number", "operation (ns)", "× random", "× chained", "longest (µs)", "bytes"}
	var cells [][]string
	var rows []report.Row
	count := operations
	if p.Quick {
		count /= 10
	}
	machines := map[int]machine{} // by number
	for _, s := range chosen {
		if _, known := machines[s.n]; !known {
			machines[s.n] = machine{randomAccess(s.n, p.Seed)(10_000_000), chainedAccess(s.n, p.Seed)}
		}
		f, err := measure(s, p.Seed, cycles, count)
		if err != nil {
			return fmt.Errorf("%s of %d: %w", s.name, s.n, err)
		}
		progress.Add(1)
		cells = append(cells, f.cells(s, machines[s.n]))
		rows = append(rows, f.rows(s, machines[s.n])...)
	}
	if p.JSON {
		if err := errors.Join(p.Print("", rows), p.End()); err != nil {
			return err
		}
	} else if err := report.WriteTable(p.Stdout, header, cells); err != nil {
		return err
	}
	return p.WritePage("scale.html", report.Page{Title: "Scale", Lead: "What the library costs at size.",
		Sections: []report.Section{{Title: "Time and memory", Text: strings.TrimSpace(intro), Header: header, Rows: cells}}})
}
