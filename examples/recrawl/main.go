// Command recrawl lets schedulers poll the pages of a web that changes, all under
// the same budget of polls, and compares how many changes they detect and how
// fresh they keep the copies. By default the web is a real change history.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

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
mean of 1 + 1/2 + … + 1/k while the copy lacks k changes; and × uniform, how many
times better than the first policy this one is by the -objective: more detections,
or less staleness, age or harmonic cost. Policies that draw numbers, and simulated
webs, run -runs times: the figures are means, ± the standard deviation of detected.

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

// alone has the flags that print something else, and those that go with them.
var alone = map[string][]string{
	"table": {"table", "seed", "runs", "quick", "json"},
	"suite": {"suite", "policies", "seed", "runs", "quick", "json"},
}

func parse(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("recrawl", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Float64Var(&s.budget, "budget", 0, "`polls` per hour, or per slot where -env has slots (default 2 per hour, 1 per slot)")
	flags.StringVar(&s.policies, "policies", "", "comma-separated `names` of policies, below (default all)")
	flags.StringVar(&s.trace, "trace", "", "replay the history in this `file`, one page per line: name,unix,unix,…; may be gzipped")
	flags.StringVar(&s.env, "env", "", "simulate a `web`, below, instead of replaying a history")
	flags.IntVar(&s.pages, "n", 500, "`pages` of a simulated web")
	flags.IntVar(&s.polls, "polls", 0, "stop after this `number` of polls (default: the whole history, 100000 in a simulated web)")
	flags.StringVar(&s.objective, "objective", "detections", "`goal` to be good at: detections, freshness, age or harmonic; for policies that can choose")
	flags.Uint64Var(&s.seed, "seed", 1, "`seed` of all randomness: same seed, same figures")
	flags.IntVar(&s.runs, "runs", 10, "`number` of runs where chance plays a role; default 3 for -suite")
	flags.BoolVar(&s.http, "http", false, "serve the history on a loopback port, time sped up, and poll it over HTTP: one run of a few policies, or those of -policies")
	flags.BoolVar(&s.table, "table", false, "print instead the figures of Granmo et al. (2006): exact optima, and LAKG over time")
	flags.BoolVar(&s.suite, "suite", false, "print instead one table of every policy, objective, budget and web; takes a quarter of an hour")
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
	for _, mode := range slices.Sorted(maps.Keys(alone)) {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if given[mode] && !slices.Contains(alone[mode], name) {
				return nil, usageError{fmt.Errorf("-%s does not go with -%s", name, mode)}
			}
		}
	}
	if given["budget"] && !(s.budget > 0) {
		return nil, usageError{fmt.Errorf("-budget %v: want a number of polls above 0", s.budget)}
	}
	if given["n"] && s.env == "" {
		return nil, usageError{errors.New("-n goes with -env")}
	}
	if s.json && !given["out"] {
		s.out = ""
	}
	if !given["runs"] {
		switch {
		case s.quick:
			s.runs = 2
		case s.suite:
			s.runs = 3
		}
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
	if s.http && s.policies == "" {
		s.policies = httpPolicies
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
	if s.http && w.history == nil {
		return usageError{errors.New("-http serves a history: it goes without -env")}
	}
	if s.http {
		fmt.Fprintf(os.Stderr, "recrawl: %d policies make %d requests on a loopback port, some thousands a second\n",
			len(chosen), len(chosen)*(w.polls+w.pages))
	}
	e := &experiment{w, objective, s.seed, s.runs, s.http}
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
