// Command recrawl lets schedulers poll the pages of a changing web, all under the
// same budget of polls. It compares how many changes they detect and how fresh
// they keep the copies. By default the web is a real change history.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
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
  go run ./examples/recrawl -suite -trace a.csv -trace b.csv -budget 1,2.5   # replicated
  go run ./examples/recrawl -log polls.csv              # what your own crawler would gain
  go run ./examples/recrawl -json | jq '.policies[] | [.name, .detected]'

` + columns

// columns explains the table.
const columns = `Columns: detected is the number of polls that found a change, and per poll is their
share of all polls. freshness is the share of page-time in which the last copy was
current. age is the mean time since the first change that the copy lacks (0 while it
is current). harmonic is the mean of 1 + 1/2 + … + 1/k while the copy lacks k changes.
delay is the mean time from each change to its discovery. × uniform says how many
times better than the first policy this one is by the -objective: more detections, or
less staleness, age, harmonic cost or delay. Policies that draw random numbers, and
simulated webs, run -runs times: the figures are then means, ± the standard deviation
of detected.`

// settings are what the command line says.
type settings struct {
	*report.Program
	budgets   numbers
	policies  string
	traces    repeated
	envs      repeated
	pages     int
	polls     int
	objective string
	runs      int
	http      bool
	suite     bool
	scenarios string
	ablate    bool
	groups    string
	log       string
	draws     int
	stdin     io.Reader
}

// alone has the flags that print something else, and those that go with them.
var alone = map[string][]string{
	"suite": {"suite", "trace", "env", "n", "budget", "policies", "objective", "scenarios", "groups", "ablate", "seed", "runs", "quick", "json"},
	"log":   {"log", "draws", "policies", "objective", "groups", "seed", "quick", "json"},
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{Program: report.NewProgram("recrawl", intro, "two runs only, and a short -suite", stdout, stderr), stdin: os.Stdin}
	flags := s.Flags
	flags.Var(&s.budgets, "budget", "`polls` per hour, or per slot where -env has slots (default 2 per hour, 1 per slot); -suite takes one number, or one for each web, separated by commas (its default polls each page once in 18 days, or 12 times in a history of less than 216 days)")
	flags.StringVar(&s.policies, "policies", "", "comma-separated `names` of policies, below (default all; a few for -http and -log)")
	flags.Var(&s.traces, "trace", "replay the history in this `file`, one page per line: name,unix,unix,…; may be gzipped; -suite takes several")
	flags.Var(&s.envs, "env", "simulate a `web`, below, instead of replaying a history; -suite takes several")
	flags.IntVar(&s.pages, "n", 500, "`pages` of a simulated web")
	flags.IntVar(&s.polls, "polls", 0, "stop after this `number` of polls (default: the whole history, 100000 in a simulated web)")
	flags.StringVar(&s.objective, "objective", "detections", "`goal` of the policies that can choose: detections, freshness (the default of the library), age, harmonic or delay; -suite takes several, separated by commas, and detections,freshness,delay if none is named")
	flags.IntVar(&s.runs, "runs", 10, "`number` of runs where chance plays a role; 6 by default for -suite, each with another budget nearby and another start or simulated web")
	flags.BoolVar(&s.http, "http", false, "serve the history on a loopback port, with time sped up, and poll it over HTTP: one run of a few policies, or of those that -policies names")
	flags.BoolVar(&s.suite, "suite", false, "compare every policy instead, on several webs, in several scenarios, under budgets × 1/4, 1 and 4, with repetitions; print the ratios to the best peer and their geometric means. It says beforehand how long it takes")
	flags.BoolVar(&s.ablate, "ablate", false, "with -suite: compare the rate filter with groups, in place of the best peer, with the same filter without each of its parts")
	flags.StringVar(&s.scenarios, "scenarios", "", "comma-separated `names` of scenarios of -suite, below (default all but times and mates, plain with -quick)")
	flags.StringVar(&s.groups, "groups", "folder", "what the pages of a group share, for rate-filter+groups: the `folder`, which is all before the last slash of the name, or the host")
	flags.Func("log", "read the polls of a crawler from this `file` (format below; - for standard input), and say what each policy would have found with polls at the same times", s.setLog)
	flags.IntVar(&s.draws, "draws", 10, "with -log: `number` of times that the changes of pages are drawn; 3 with -quick")
	s.Notes = "Policies:\n"
	for _, p := range policies {
		s.Notes += fmt.Sprintf("  %-18s %s\n", p.name, p.about)
	}
	s.Notes += "\nScenarios of -suite:\n"
	for _, c := range scenarios {
		s.Notes += fmt.Sprintf("  %-18s %s\n", c.name, c.about)
	}
	s.Notes += "\nSimulated webs:\n" + simulations + "\n\n" + logFormat
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if !s.Given("runs") {
		switch {
		case s.Quick:
			s.runs = 2
		case s.suite:
			s.runs = len(suiteFactors)
		}
	}
	if !s.Given("draws") && s.Quick {
		s.draws = 3
	}
	return s, nil
}

// setLog sets -log, which goes once.
func (s *settings) setLog(file string) error {
	if s.log != "" {
		return fmt.Errorf("one file, and %s was given before", s.log)
	}
	s.log = file
	return nil
}

// mostPages bounds the memory of a simulated web.
const mostPages = 1e7

// check sees whether the flags go together.
func (s *settings) check() error {
	given := map[string]bool{}
	s.Flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, mode := range slices.Sorted(maps.Keys(alone)) {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if given[mode] && !slices.Contains(alone[mode], name) {
				return report.Usagef("-%s does not go with -%s", name, mode)
			}
		}
	}
	if err := cmp.Or(
		s.OnlyIf(s.suite, "with -suite", "scenarios", "ablate"), s.OnlyIf(given["log"], "with -log", "draws"),
		s.OnlyIf(given["env"] || s.suite && !given["trace"], "with -env", "n"), s.OnlyIf(!s.ablate, "without -ablate", "policies"),
		s.OnlyIf(!s.http, "without -http, which is one run", "runs", "quick"),
	); err != nil {
		return err
	}
	switch {
	case s.pages < 1 || s.pages > mostPages:
		return report.Usagef("-n %d: want 1 to %d", s.pages, int(mostPages))
	case s.runs < 1:
		return report.Usagef("-runs %d: want 1 at least", s.runs)
	case given["polls"] && s.polls < 1:
		return report.Usagef("-polls %d: want 1 at least", s.polls)
	case given["log"] && s.log == "":
		return report.Usagef("-log: want a file, or - for standard input")
	case s.draws < 1:
		return report.Usagef("-draws %d: want 1 at least", s.draws)
	case groupings[s.groups] == nil:
		return report.Usagef("-groups %s: there are folder and host", s.groups)
	case s.suite:
		return nil
	case len(s.traces) > 0 && len(s.envs) > 0:
		return report.Usagef("-trace and -env exclude each other without -suite")
	case len(s.traces) > 1:
		return report.Usagef("-trace %s: several go with -suite", s.traces[1])
	case len(s.envs) > 1:
		return report.Usagef("-env %s: several go with -suite", s.envs[1])
	case len(s.budgets) > 1:
		return report.Usagef("-budget %s: several go with -suite", s.budgets.String())
	}
	return nil
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	switch {
	case s.policies != "":
	case s.http:
		s.policies = httpPolicies
	case s.log != "":
		s.policies = logPolicies
	}
	chosen, err := choose(s.policies)
	if err != nil {
		return err
	}
	if s.ablate {
		chosen = ablated
	}
	if s.suite {
		return s.printSuite(chosen)
	}
	chosenGoals, err := goalsNamed(s.objective)
	if err != nil {
		return err
	}
	if len(chosenGoals) > 1 {
		return report.Usagef("-objective %q: want one; several go with -suite", s.objective)
	}
	by := chosenGoals[0]
	if s.log != "" {
		return s.printLog(chosen, by)
	}
	w, err := s.world()
	if err != nil {
		return err
	}
	if s.http && w.history == nil {
		return report.Usagef("-http serves a history: it goes without -env")
	}
	if err := s.Start(""); err != nil {
		return err
	}
	if s.http {
		fmt.Fprintf(stderr, "recrawl: this takes %d requests on a loopback port, some thousands a second.\n", len(chosen)*(w.polls+w.pages))
	}
	e := &experiment{world: w, goal: by, seed: s.Seed, runs: s.runs, http: s.http, groups: s.groups}
	outcomes, err := e.compare(chosen)
	if err != nil {
		return err
	}
	if s.JSON {
		err = report.WriteJSON(stdout, summary(w, outcomes, by, s))
	} else {
		err = printTable(stdout, w, outcomes, by)
	}
	if err != nil || s.Out == "" {
		return err
	}
	return writePictures(s, w, outcomes, by)
}

// world returns the web that the flags ask for, and its budget.
func (s *settings) world() (w *world, err error) {
	switch {
	case len(s.envs) > 0:
		if w, err = simulation(s.envs[0], s.pages); err != nil {
			return nil, report.Usagef("%w", err)
		}
	case len(s.traces) > 0:
		w, err = traceFile(s.traces[0])
	default:
		w, err = builtIn()
	}
	if err != nil {
		return nil, err
	}
	budget := 0.0
	if len(s.budgets) > 0 {
		budget = s.budgets[0]
	}
	if err := w.budgeted(budget, s.polls); err != nil {
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
