package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

// suiteBudgets are in polls a day for each page.
var suiteBudgets = []float64{0.02, 0.05, 0.2}

// suiteWebs are the webs of the suite, by name and -env: the real history, and
// simulations of 500 pages. To record them all pages are polled in each slot, so
// that ranks which swap every r slots do so every 500·r of these polls.
var suiteWebs = []suiteWeb{
	{"real", ""},
	{"bursty:0.02", "bursty:0.02"},
	{"zipf:0.9,1.5", "zipf:0.9,1.5"},
	{"zipf:0.9,1.5,r=80000", "zipf:0.9,1.5,r=40000000"},
	{"zipf:0.9,1.5,r=1000", "zipf:0.9,1.5,r=500000"},
	{"calm", "calm"},
}

type suiteWeb struct{ name, spec string }

// suitePlan returns the webs and budgets of a suite: a quick one has one budget, and
// is over before a rank swaps every 80,000 slots.
func (s *settings) suitePlan() (webs []suiteWeb, budgets []float64) {
	if !s.Quick {
		return suiteWebs, suiteBudgets
	}
	webs = slices.DeleteFunc(slices.Clone(suiteWebs), func(w suiteWeb) bool { return strings.HasSuffix(w.name, "r=80000") })
	return webs, suiteBudgets[1:2]
}

const (
	suitePages = 500
	suiteDays  = 800
	suiteSlots = 100_000
)

// objectives has those by which outcomes are judged, in the order of the columns.
var objectives = []knapsack.Objective{knapsack.Detections, knapsack.Freshness, knapsack.Age, knapsack.Harmonic, knapsack.Delay}

// A cell is what one policy reached by one objective with one budget on one web: a value per run.
type cell struct {
	web       string
	budget    float64
	policy    string
	objective knapsack.Objective
	values    []float64 // by run; NaN for one that would be the same again
}

// measureSuite measures every policy by every objective under every budget on every
// web. Simulated webs are recorded first, another one for each run, so that all
// policies meet the same changes and every change is known.
func (s *settings) measureSuite(chosen []policy) ([]*cell, error) {
	webs, budgets := s.suitePlan()
	bar := report.NewProgress("suite", s.runs*len(webs)*len(budgets)*len(chosen))
	defer bar.Done()

	var cells []*cell
	var wait sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, s.runs*len(webs))
	for k, web := range webs {
		first := len(cells)
		for _, budget := range budgets {
			for _, p := range chosen {
				for _, objective := range objectives {
					cells = append(cells, &cell{
						web: web.name, budget: budget, policy: p.name, objective: objective,
						values: slices.Repeat([]float64{math.NaN()}, s.runs),
					})
				}
			}
		}
		mine := cells[first:]
		for run := range s.runs {
			wait.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				errs[k*s.runs+run] = s.suiteRun(web.spec, run, chosen, mine, bar)
			})
		}
	}
	wait.Wait()
	return cells, errors.Join(errs...)
}

// suiteRun does one run on one web, and enters its values into the cells, which
// lie by budget, policy and objective.
func (s *settings) suiteRun(spec string, run int, chosen []policy, cells []*cell, bar *report.Progress) error {
	original, err := s.suiteWorld(spec, run)
	if err != nil {
		return err
	}
	_, budgets := s.suitePlan()
	for _, budget := range budgets {
		w := *original
		perUnit := budget * float64(w.pages) / 24 // polls an hour
		if w.slots {
			perUnit = budget * float64(w.pages) / slotsPerDay
		}
		if err := w.budgeted(perUnit, 0); err != nil {
			return err
		}
		for _, p := range chosen {
			var o *outcome
			for k, objective := range objectives {
				if spec == "" && !p.random && run > 0 {
					break // nothing would differ
				}
				if o == nil || p.tuned {
					e := &experiment{world: &w, objective: objective, seed: s.Seed}
					o = &outcome{policy: p}
					if err := e.run(o, run, 1, func(float64) {}); err != nil {
						return err
					}
				}
				cells[k].values[run] = o.value(objective)[0]
			}
			cells = cells[len(objectives):]
			bar.Add(1)
		}
	}
	return nil
}

// suiteWorld returns the web of a run, as a record.
func (s *settings) suiteWorld(spec string, run int) (*world, error) {
	if spec == "" {
		return builtIn()
	}
	w, err := simulation(spec, suitePages)
	if err != nil {
		return nil, err
	}
	days, slots := suiteDays*day, float64(suiteSlots)
	if s.Quick {
		days, slots = days/4, slots/5
	}
	src := rand.NewPCG(s.Seed, uint64(2*run))
	if w.slots {
		return w.recorded(slots, 1, src)
	}
	return w.recorded(days, hour, src)
}

// printSuite prints the suite for people or for machines.
func (s *settings) printSuite(chosen []policy) error {
	webs, budgets := s.suitePlan()
	takes := fmt.Sprintf("a quarter of an hour on two cores (%d webs × %d budgets × %d policies × %d objectives × %d runs)",
		len(webs), len(budgets), len(chosen), len(objectives), s.runs)
	if err := s.Start(takes); err != nil {
		return err
	}
	cells, err := s.measureSuite(chosen)
	if err != nil {
		return err
	}
	if s.JSON {
		return report.WriteJSON(s.Stdout, suiteRows(cells))
	}
	if _, err := fmt.Fprint(s.Stdout, suiteText); err != nil {
		return err
	}
	var rows [][]string
	for len(cells) > 0 {
		c := cells[0]
		row := []string{c.web, report.Format(c.budget), c.policy}
		for _, c := range cells[:len(objectives)] {
			row = append(row, c.String())
		}
		rows, cells = append(rows, row), cells[len(objectives):]
	}
	return report.WriteTable(s.Stdout, []string{"web", "budget", "policy", "detected", "freshness", "age", "harmonic", "delay"}, rows)
}

const suiteText = `Every column is the objective of its runs: policies that work towards an objective
(true-rates and others) ran once for each. Mean ± standard deviation of the runs, each
of which has another simulated web. Budget: polls a day for each page. Age, delay: days on
the real history, in bursty and in calm, slots in zipf, where 0.05 polls a day are one
poll a slot and ranks swap every r slots.

`

func (c *cell) ran() []float64 {
	return slices.DeleteFunc(slices.Clone(c.values), math.IsNaN)
}

func (c *cell) String() string {
	mean, sd := report.MeanSD(c.ran())
	digits := [...]int{0, 4, 3, 4, 3}[c.objective]
	text := strconv.FormatFloat(mean, 'f', digits, 64)
	if len(c.ran()) > 1 {
		text += " ± " + strconv.FormatFloat(sd, 'f', digits, 64)
	}
	return text
}

func suiteRows(cells []*cell) []report.Row {
	var rows []report.Row
	for _, c := range cells {
		unit := [...]string{"polls", "1", "day", "1", "day"}[c.objective]
		if unit == "day" && strings.HasPrefix(c.web, "zipf") {
			unit = "slot"
		}
		rows = append(rows, report.Row{
			Source: "recrawl", Item: fmt.Sprintf("%s, %g polls a day for each page, %s", c.web, c.budget, c.policy),
			Quantity: c.objective.String(), Unit: unit,
		}.Sample(c.ran()))
	}
	return rows
}
