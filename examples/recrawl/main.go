// Command recrawl lets schedulers poll the pages of a web that changes, all under
// the same budget of polls, and compares how many changes they detect and how
// fresh they keep the copies. By default the web is a real change history.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

func main() { report.Main("recrawl", run) }

const intro = `Polls the pages of a changing web under a budget of polls, once by each
policy, and compares what they detect. By default it replays the history of 877
web pages over 822 days (Open Terms Archive, contrib-versions, ODC-BY 1.0).

  go run ./examples/recrawl                             # the real history, 2 polls an hour
  go run ./examples/recrawl -budget 0.5 -policies uniform,nutch,lakg-300
  go run ./examples/recrawl -trace my-history.csv       # lines of name,unix,unix,…
  go run ./examples/recrawl -env zipf:0.3,1.5           # simulated: 500 pages, 1 poll a slot
  go run ./examples/recrawl -env zipf:0.9,1.5,r=1000 -polls 200000
  go run ./examples/recrawl -http                       # the same over real HTTP on loopback
  go run ./examples/recrawl -json | jq '.policies[] | [.name, .detected]'

` + columns

// columns explains the table.
const columns = `Columns: detected, the polls that found a change; per poll, their share; freshness,
the share of page-time in which the last copy was current; age, the mean time
since the first change that the copy lacks (0 while it is current); harmonic, the
mean of 1 + 1/2 + … + 1/k while the copy lacks k changes; delay, the mean time from
any change to the poll that found it; and × uniform, how many times better than the
first policy this one is by the -objective: more detections, or less staleness, age,
harmonic cost or delay. Policies that draw numbers, and simulated webs, run -runs
times: the figures are means, ± the standard deviation of detected.`

// settings are what the command line says.
type settings struct {
	*report.Program
	budget    float64
	policies  string
	trace     string
	env       string
	pages     int
	polls     int
	objective string
	runs      int
	http      bool
	table     bool
	suite     bool
}

// alone has the flags that print something else, and those that go with them.
var alone = map[string][]string{
	"table": {"table", "seed", "runs", "quick", "json"},
	"suite": {"suite", "policies", "seed", "runs", "quick", "json"},
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{Program: report.NewProgram("recrawl", intro, "two runs only, and a short -table or -suite", stdout, stderr)}
	flags := s.Flags
	flags.Float64Var(&s.budget, "budget", 0, "`polls` per hour, or per slot where -env has slots (default 2 per hour, 1 per slot)")
	flags.StringVar(&s.policies, "policies", "", "comma-separated `names` of policies, below (default all)")
	flags.StringVar(&s.trace, "trace", "", "replay the history in this `file`, one page per line: name,unix,unix,…; may be gzipped")
	flags.StringVar(&s.env, "env", "", "simulate a `web`, below, instead of replaying a history")
	flags.IntVar(&s.pages, "n", 500, "`pages` of a simulated web")
	flags.IntVar(&s.polls, "polls", 0, "stop after this `number` of polls (default: the whole history, 100000 in a simulated web)")
	flags.StringVar(&s.objective, "objective", "detections", "`goal` to be good at: detections, freshness, age, harmonic or delay; for policies that can choose")
	flags.IntVar(&s.runs, "runs", 10, "`number` of runs where chance plays a role; default 3 for -suite")
	flags.BoolVar(&s.http, "http", false, "serve the history on a loopback port, time sped up, and poll it over HTTP: one run of a few policies, or those of -policies")
	flags.BoolVar(&s.table, "table", false, "print instead the figures of Granmo et al. (2006): exact optima, and LAKG over time")
	flags.BoolVar(&s.suite, "suite", false, "print instead one table of every policy, objective, budget and web; takes a quarter of an hour")
	s.Notes = "Policies:\n"
	for _, p := range policies {
		s.Notes += fmt.Sprintf("  %-13s %s\n", p.name, p.about)
	}
	s.Notes += "\nSimulated webs:\n" + simulations
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case s.trace != "" && s.env != "":
		return nil, report.Usagef("-trace and -env exclude each other")
	case s.runs < 1:
		return nil, report.Usagef("-runs %d: want 1 at least", s.runs)
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, mode := range slices.Sorted(maps.Keys(alone)) {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if given[mode] && !slices.Contains(alone[mode], name) {
				return nil, report.Usagef("-%s does not go with -%s", name, mode)
			}
		}
	}
	if given["budget"] && !(s.budget > 0) {
		return nil, report.Usagef("-budget %v: want a number of polls above 0", s.budget)
	}
	if given["n"] && s.env == "" {
		return nil, report.Usagef("-n goes with -env")
	}
	if !given["runs"] {
		switch {
		case s.Quick:
			s.runs = 2
		case s.suite:
			s.runs = 3
		}
	}
	return s, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	if s.table {
		return s.printTable()
	}
	if s.http && s.policies == "" {
		s.policies = httpPolicies
	}
	chosen, err := choose(s.policies)
	if err != nil {
		return report.Usagef("%w", err)
	}
	if s.suite {
		return s.printSuite(chosen)
	}
	var objective knapsack.Objective
	if err := objective.UnmarshalText([]byte(s.objective)); err != nil {
		return report.Usagef("-objective %s: there are detections, freshness, age, harmonic and delay", s.objective)
	}
	w, err := s.world()
	if err != nil {
		return err
	}
	if s.http && w.history == nil {
		return report.Usagef("-http serves a history: it goes without -env")
	}
	takes := ""
	if s.http {
		takes = fmt.Sprintf("%d requests on a loopback port, some thousands a second", len(chosen)*(w.polls+w.pages))
	}
	if err := s.Start(takes); err != nil {
		return err
	}
	e := &experiment{w, objective, s.Seed, s.runs, s.http}
	outcomes, err := e.compare(chosen)
	if err != nil {
		return err
	}
	if s.JSON {
		err = report.WriteJSON(stdout, summary(w, outcomes, objective, s))
	} else {
		err = printTable(stdout, w, outcomes, objective)
	}
	if err != nil || s.Out == "" {
		return err
	}
	return writePictures(s, w, outcomes, objective)
}

// world returns the web that the flags ask for, and its budget.
func (s *settings) world() (w *world, err error) {
	switch {
	case s.env != "":
		if w, err = simulation(s.env, s.pages); err != nil {
			return nil, report.Usagef("%w", err)
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
		return nil, report.Usagef("%w", err)
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
