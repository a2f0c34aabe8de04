// Command recrawl lets schedulers poll the pages of a web that changes, all under
// the same budget of polls, and compares how many changes they detect and how
// fresh they keep the copies. By default the web is a real change history.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "recrawl: %v\nSee recrawl -h.\n", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "recrawl:", err)
		os.Exit(1)
	}
}

// A usageError is a command line that makes no sense.
type usageError struct{ error }

const intro = `recrawl polls the pages of a changing web under a budget of polls, once by each
policy, and compares what they detect. By default it replays the history of 877
web pages over 822 days (Open Terms Archive, contrib-versions, ODC-BY 1.0).

  go run ./examples/recrawl                             # the real history, 2 polls an hour
  go run ./examples/recrawl -budget 0.5 -policies uniform,nutch,lakg-300
  go run ./examples/recrawl -trace my-history.csv       # lines of name,unix,unix,…
  go run ./examples/recrawl -env zipf:0.3,1.5           # simulated: 500 pages, 1 poll a slot
  go run ./examples/recrawl -env zipf:0.9,1.5,r=1000 -polls 200000
  go run ./examples/recrawl -http                       # the same over real HTTP on loopback
  go run ./examples/recrawl -json | jq '.policies[] | [.name, .detected]'

Columns: detected, the polls that found a change; per poll, their share; freshness,
the share of page-time in which the last copy was current; age, the mean time
since the first change that the copy lacks (0 while it is current); harmonic, the
mean of 1 + 1/2 + … + 1/k while the copy lacks k changes; and how many times
better than the first policy this one is by the -objective. Policies that draw
numbers, and simulated webs, run -runs times; the table has the means.

Flags:
`

// settings are what the command line says.
type settings struct {
	budget    float64
	policies  string
	trace     string
	env       string
	pages     int
	polls     int
	objective string
	seed      uint64
	runs      int
	http      bool
	table     bool
	suite     bool
	quick     bool
	json      bool
	out       string
}

func parse(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("recrawl", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Float64Var(&s.budget, "budget", 0, "polls per `hour`, or per slot where -env has slots (default 2 per hour, 1 per slot)")
	flags.StringVar(&s.policies, "policies", "", "comma-separated `names` of policies, below (default all)")
	flags.StringVar(&s.trace, "trace", "", "replay the history in this `file`, one page per line: name,unix,unix,…; may be gzipped")
	flags.StringVar(&s.env, "env", "", "simulate a `web`, below, instead of replaying a history")
	flags.IntVar(&s.pages, "n", 500, "`pages` of a simulated web")
	flags.IntVar(&s.polls, "polls", 0, "stop after this `number` of polls (default: the whole history, 100000 in a simulated web)")
	flags.StringVar(&s.objective, "objective", "detections", "`goal` to be good at: detections, freshness, age or harmonic; for policies that can choose")
	flags.Uint64Var(&s.seed, "seed", 1, "`seed` of all randomness: same seed, same figures")
	flags.IntVar(&s.runs, "runs", 10, "`number` of runs where chance plays a role")
	flags.BoolVar(&s.http, "http", false, "serve the history on a loopback port, time sped up, and poll it over HTTP; one run")
	flags.BoolVar(&s.table, "table", false, "print instead the figures of Granmo et al. (2006): exact optima, and LAKG over time")
	flags.BoolVar(&s.suite, "suite", false, "print instead one table of every policy, objective, budget and web; takes minutes")
	flags.BoolVar(&s.quick, "quick", false, "two runs only, and a short -table or -suite")
	flags.BoolVar(&s.json, "json", false, "print one JSON object and nothing else; pictures only if -out is given")
	flags.StringVar(&s.out, "out", "recrawl-out", "`folder` for the pictures, detections.svg, freshness.svg and recrawl.html; empty for none")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, intro)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		fmt.Fprintln(stdout, "\nPolicies:")
		for _, p := range policies {
			fmt.Fprintf(stdout, "  %-13s %s\n", p.name, p.about)
		}
		fmt.Fprintf(stdout, "\nSimulated webs:\n%s\n", simulations)
		return nil, err
	case err != nil:
		return nil, usageError{err}
	case flags.NArg() > 0:
		return nil, usageError{fmt.Errorf("what does %q mean? Options begin with a dash", flags.Arg(0))}
	case s.trace != "" && s.env != "":
		return nil, usageError{errors.New("-trace and -env exclude each other")}
	case s.runs < 1:
		return nil, usageError{fmt.Errorf("-runs %d: want 1 at least", s.runs)}
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["budget"] && !(s.budget > 0) {
		return nil, usageError{fmt.Errorf("-budget %v: want a number of polls above 0", s.budget)}
	}
	if s.json && !given["out"] {
		s.out = ""
	}
	if s.quick && !given["runs"] {
		s.runs = 2
	}
	return s, nil
}

func run(args []string, stdout io.Writer) error {
	s, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if s.table {
		return s.printRows(stdout, paperTable)
	}
	chosen, err := choose(s.policies)
	if err != nil {
		return usageError{err}
	}
	if s.suite {
		return s.printSuite(stdout, chosen)
	}
	objective, err := knapsack.ParseObjective(s.objective)
	if err != nil {
		return usageError{fmt.Errorf("-objective %s: there are detections, freshness, age and harmonic", s.objective)}
	}
	w, err := s.world()
	if err != nil {
		return err
	}
	e := &experiment{w, objective, s.seed, s.runs, s.http}
	if s.http && w.history == nil {
		return usageError{errors.New("-http serves a history: it goes without -env")}
	}
	outcomes, err := e.compare(chosen)
	if err != nil {
		return err
	}
	if s.json {
		err = report.WriteJSON(stdout, summary(w, outcomes, objective, s))
	} else {
		err = printTable(stdout, w, outcomes, objective)
	}
	if err != nil || s.out == "" {
		return err
	}
	return writePictures(stdout, s, w, outcomes, objective)
}

// world returns the web that the flags ask for, and its budget.
func (s *settings) world() (w *world, err error) {
	switch {
	case s.env != "":
		if w, err = simulation(s.env, s.pages); err != nil {
			return nil, usageError{err}
		}
	case s.trace != "":
		w, err = traceFile(s.trace)
	default:
		w, err = builtIn()
	}
	if err != nil {
		return nil, err
	}
	if err := w.budgeted(s.budget, s.polls); err != nil {
		return nil, usageError{err}
	}
	return w, nil
}

// compare measures each policy.
func (e *experiment) compare(chosen []policy) ([]*outcome, error) {
	const steps = 100
	bar := report.NewProgress("polling", steps*len(chosen))
	defer bar.Done()
	var outcomes []*outcome
	for _, p := range chosen {
		drawn := 0
		o, err := e.measure(p, func(share float64) {
			bar.Add(int(share*steps) - drawn)
			drawn = int(share * steps)
		})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// title says what was run.
func title(w *world, o *outcome) string {
	unit, _ := w.units()
	web := fmt.Sprintf("%s: %d pages", w.name, w.pages)
	if w.history != nil {
		web += fmt.Sprintf(", %d changes in %.0f days", w.history.Changes(), w.duration/day)
	}
	return fmt.Sprintf("%s; budget %s %s, %d polls by each policy", web, report.Format(w.budget()), unit, o.polls)
}

func printTable(out io.Writer, w *world, outcomes []*outcome, objective knapsack.Objective) error {
	header, rows := table(w, outcomes, objective)
	if _, err := fmt.Fprintf(out, "%s\n\n", title(w, outcomes[0])); err != nil {
		return err
	}
	return report.WriteTable(out, header, rows)
}

// table returns the cells of the table.
func table(w *world, outcomes []*outcome, objective knapsack.Objective) (header []string, rows [][]string) {
	_, unit := w.units()
	header = []string{"policy", "detected", "±", "per poll", "freshness", "age (" + unit + "s)"}
	harmonic := outcomes[0].harmonic != nil
	if harmonic {
		header = append(header, "harmonic")
	}
	header = append(header, objective.String()+" / "+outcomes[0].policy.name)
	for _, o := range outcomes {
		detected, sd := report.MeanSD(o.detected)
		freshness, _ := report.MeanSD(o.freshness)
		age, _ := report.MeanSD(o.age)
		row := []string{
			o.policy.name, strconv.FormatFloat(detected, 'f', 0, 64), spread(sd, len(o.detected)),
			fmt.Sprintf("%.3f", detected/float64(o.polls)), fmt.Sprintf("%.4f", freshness), fmt.Sprintf("%.2f", age),
		}
		if harmonic {
			h, _ := report.MeanSD(o.harmonic)
			row = append(row, fmt.Sprintf("%.4f", h))
		}
		relative := "–"
		if o.value(objective) != nil {
			relative = fmt.Sprintf("%.3f", o.relative(outcomes[0], objective))
		}
		rows = append(rows, append(row, relative))
	}
	return header, rows
}

func spread(sd float64, runs int) string {
	if runs < 2 {
		return ""
	}
	return strconv.FormatFloat(sd, 'f', 0, 64)
}

// A result is what -json prints.
type result struct {
	Trace     string         `json:"trace"`
	Pages     int            `json:"pages"`
	Budget    float64        `json:"budget"`
	Unit      string         `json:"budget_unit"`
	Polls     int            `json:"polls"`
	Objective string         `json:"objective"`
	Seed      uint64         `json:"seed"`
	AgeUnit   string         `json:"age_unit"`
	Policies  []policyResult `json:"policies"`
}

// A policyResult has means over the runs. SD is the standard deviation of
// detected, null for one run; harmonic is null in simulated webs.
type policyResult struct {
	Name      string   `json:"name"`
	Detected  float64  `json:"detected"`
	SD        *float64 `json:"sd"`
	Runs      int      `json:"runs"`
	PerPoll   float64  `json:"per_poll"`
	Freshness float64  `json:"freshness"`
	Age       float64  `json:"age"`
	Harmonic  *float64 `json:"harmonic"`
}

func summary(w *world, outcomes []*outcome, objective knapsack.Objective, s *settings) result {
	unit, age := w.units()
	r := result{
		Trace: w.name, Pages: w.pages, Budget: w.budget(), Unit: unit, Polls: outcomes[0].polls,
		Objective: objective.String(), Seed: s.seed, AgeUnit: age,
	}
	for _, o := range outcomes {
		p := policyResult{Name: o.policy.name, Runs: len(o.detected)}
		var sd float64
		p.Detected, sd = report.MeanSD(o.detected)
		if p.Runs > 1 {
			p.SD = &sd
		}
		p.PerPoll = p.Detected / float64(o.polls)
		p.Freshness, _ = report.MeanSD(o.freshness)
		p.Age, _ = report.MeanSD(o.age)
		if o.harmonic != nil {
			h, _ := report.MeanSD(o.harmonic)
			p.Harmonic = &h
		}
		r.Policies = append(r.Policies, p)
	}
	return r
}

// writePictures writes the curves as a picture of its own, and with the table on
// a page.
func writePictures(stdout io.Writer, s *settings, w *world, outcomes []*outcome, objective knapsack.Objective) error {
	_, unit := w.units()
	detections := report.Chart{Title: "Changes detected", X: unit + "s", Y: "detected so far"}
	freshness := report.Chart{Title: "Freshness", X: unit + "s", Y: "share of copies that are current"}
	for _, o := range outcomes {
		dashed := o.policy.name == "true-rates"
		detections.Series = append(detections.Series, report.Series{Name: o.policy.name, X: o.time, Y: o.cumulative, Dashed: dashed})
		freshness.Series = append(freshness.Series, report.Series{Name: o.policy.name, X: o.time, Y: o.fresh, Dashed: dashed})
	}
	var sections []report.Section
	var files []string
	for _, c := range []struct {
		file  string
		chart report.Chart
	}{{"detections.svg", detections}, {"freshness.svg", freshness}} {
		svg, err := c.chart.SVG()
		if err != nil {
			return err
		}
		path, err := report.WriteFile(s.out, c.file, svg)
		if err != nil {
			return err
		}
		files = append(files, path)
		sections = append(sections, report.Section{Title: c.chart.Title, SVG: svg})
	}
	header, rows := table(w, outcomes, objective)
	page := report.Page{Title: "Recrawling a changing web", Lead: title(w, outcomes[0]),
		Sections: append([]report.Section{{Header: header, Rows: rows}}, sections...)}
	html, err := page.HTML()
	if err != nil {
		return err
	}
	path, err := report.WriteFile(s.out, "recrawl.html", html)
	if err != nil || s.json {
		return err
	}
	_, err = fmt.Fprintln(stdout, "\nPictures:", strings.Join(append(files, path), ", "))
	return err
}
