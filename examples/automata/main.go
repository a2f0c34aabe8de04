// Command automata runs the learning automata in simulated environments. In the ten-action
// environments of the literature it prints how many answers each automaton needs until it is sure,
// and how often it is then right. The published figures beside them are from memory and were not
// checked. It also runs the schemes for many actions, compares the long-run shares of automata of
// fixed structure with their closed forms, and runs all of them where the best action changes.
package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const intro = `Runs learning automata in simulated environments and prints tables:

  1. the ten-action environments of the literature, at fixed parameters: answers
     until an action has probability 0.999, and how often it is the best one. The
     published figures beside them are from memory, not read off the papers
  2. the same for 16, 64 and 128 actions
  3. automata of fixed structure: long-run share of the best action, beside the
     closed form
  4. mean reward where the best action changes every 2,000 answers

Each replication has its own random stream, drawn from -seed and its number, so
the figures do not depend on the number of processors.`

// sizes says how much is run.
type sizes struct {
	table, many, fixed, switching, curve int // replications
	fixedSteps, switchingSteps           int // answers in each
}

var (
	full  = sizes{table: 20_000, many: 2000, fixed: 200, switching: 200, curve: 2000, fixedSteps: 100_000, switchingSteps: 40_000}
	quick = sizes{table: 400, many: 20, fixed: 20, switching: 10, curve: 100, fixedSteps: 20_000, switchingSteps: 20_000}
)

func main() { report.Main("automata", run) }

// newProgram returns the program with its flags.
func newProgram(stdout, stderr io.Writer) *report.Program {
	return report.NewProgram("automata", intro, "fewer replications: some ten seconds", stdout, stderr)
}

func run(args []string, stdout, stderr io.Writer) error {
	p := newProgram(stdout, stderr)
	if err := p.Parse(args); err != nil {
		return err
	}
	return runAll(p, map[bool]sizes{false: full, true: quick}[p.Quick])
}

// runAll runs all experiments and prints their rows.
func runAll(p *report.Program, size sizes) error {
	sections := []struct {
		title string
		rows  func(sizes, uint64) ([]report.Row, error)
	}{
		{"Ten actions: answers until an action has probability 0.999 (10 priming pulls of each counted)", tenActions},
		{"Many actions", manyActions},
		{"Fixed structure: long-run share of the best action", fixedStructure},
		{"The best action changes every 2,000 answers", switching},
	}
	takes := fmt.Sprintf("some four minutes of processor time, on %d processors here", runtime.GOMAXPROCS(0))
	if err := p.Start(takes); err != nil {
		return err
	}
	progress := report.NewProgress("experiments", len(sections)+1)
	defer progress.Done()
	page := report.Page{Title: "Learning automata", Lead: lead(size)}
	for _, s := range sections {
		rows, err := s.rows(size, p.Seed)
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		progress.Add(1)
		page.Sections = append(page.Sections, report.RowsSection(s.title, rows))
		if err := p.Print(s.title, rows); err != nil {
			return err
		}
	}
	curves, chart, err := convergenceCurves(size, p.Seed)
	if err != nil {
		return err
	}
	progress.Add(1)
	if err := p.Print("", curves); err != nil {
		return err
	}
	if err := p.End(); err != nil {
		return err
	}
	return pictures(p, page, chart)
}
