package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// suiteMultiples are the budgets of the suite, in multiples of a web's own.
var suiteMultiples = []float64{0.25, 1, 4}

// suiteFactors are the nearby budgets of the runs of a cell, the nearest first. A single
// run scatters by some per cent, as a schedule is a matter of luck; other budgets and other
// starts are other draws. What was found is divided by the factor.
var suiteFactors = []float64{0.99, 1.015, 0.965, 1.04, 0.94, 1.065}

// suiteShift is how much later than the run before it a run on a history starts, in days.
const suiteShift = 1. / 6

// suiteEnvs are the simulated webs of the suite.
var suiteEnvs = repeated{"bursty:0.02", "zipf:0.9,1.5", "zipf:0.9,1.5,r=80000", "zipf:0.9,1.5,r=1000", "calm"}

const (
	suiteDays  = 800
	suiteSlots = 100_000

	// A base budget polls each page once in suiteEvery days, or suiteCycles times in a history
	// that is too short for that. For the history that comes along it is 2 polls an hour.
	suiteEvery, suiteCycles = 18, 12
)

// A suiteWeb is a web of the suite, with a world for each run.
type suiteWeb struct {
	name   string
	budget float64 // the base, in the web's own unit
	unit   string
	polls  int // of a run at the base
	// outline has the pages and the length of the worlds, of which there is one for each run.
	outline *world
	worlds  []func() (*world, error)
}

// base returns the base budget of a web, in its unit: in two digits, or one poll a slot.
func (w *world) base() float64 {
	if w.slots {
		return 1
	}
	every := suiteEvery * day
	if w.history != nil {
		every = min(every, w.duration/suiteCycles)
	}
	budget := float64(w.pages) / every * hour
	digits := math.Pow(10, math.Floor(math.Log10(budget))-1)
	return math.Round(budget/digits) * digits
}

// suiteWebs returns the webs that the flags name, or else the built-in history and some
// simulations.
func (s *settings) suiteWebs() (webs []*suiteWeb, err error) {
	var histories []*world
	envs := s.envs
	for k, path := range s.traces {
		if slices.Contains(s.traces[:k], path) {
			return nil, report.Usagef("-trace %s twice", path)
		}
	}
	for _, path := range s.traces {
		w, err := traceFile(path)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(histories, func(h *world) bool { return h.name == w.name }) {
			w.name = path // of the same name in another folder
		}
		histories = append(histories, w)
	}
	if len(histories)+len(envs) == 0 {
		w, err := builtIn()
		if err != nil {
			return nil, err
		}
		histories, envs = append(histories, w), suiteEnvs
		if s.Quick { // over before a rank swaps every 80,000 slots
			envs = slices.Delete(slices.Clone(envs), 2, 3)
		}
	}
	for _, w := range histories {
		webs = append(webs, s.suiteHistory(w))
	}
	for _, spec := range envs {
		web, err := s.suiteSimulation(spec)
		if err != nil {
			return nil, err
		}
		webs = append(webs, web)
	}
	switch n := len(s.budgets); {
	case n > 1 && n != len(webs):
		return nil, report.Usagef("-budget has %d numbers for %d webs: want one, or one for each", n, len(webs))
	case n > 0:
		for k, web := range webs {
			web.budget = s.budgets[k%n]
		}
	}
	for k, web := range webs {
		if slices.ContainsFunc(webs[:k], func(other *suiteWeb) bool { return other.name == web.name }) {
			return nil, report.Usagef("%s twice", web.name)
		}
		if err := web.check(); err != nil {
			return nil, err
		}
	}
	return webs, nil
}

// suiteHistory returns the web of a history. Each run starts a little later.
func (s *settings) suiteHistory(h *world) *suiteWeb {
	web := &suiteWeb{name: h.name, budget: h.base(), outline: h}
	for run := range s.runs {
		// A short history loses a thousandth of its time at most.
		start := h.start + float64(run)*min(suiteShift*day, h.duration/1000)
		web.worlds = append(web.worlds, func() (*world, error) { return h.from(start), nil })
	}
	return web
}

// suiteSimulation returns a simulated web. Each run has another one, recorded first, so
// that all policies meet the same changes and every change is known.
func (s *settings) suiteSimulation(spec string) (*suiteWeb, error) {
	first, err := simulation(spec, s.pages)
	if err != nil {
		return nil, report.Usagef("%w", err)
	}
	step := hour
	if first.duration = suiteDays * day; first.slots {
		step, first.duration = 1, suiteSlots
	}
	if s.Quick {
		first.duration /= 4
	}
	web := &suiteWeb{name: spec, budget: first.base(), outline: first}
	for run := range s.runs {
		web.worlds = append(web.worlds, sync.OnceValues(func() (*world, error) {
			w, err := simulation(spec, s.pages) // not shared with other runs
			if err != nil {
				return nil, err
			}
			// All pages are polled in each slot to record them: that is as many polls as there are
			// pages for each one of the budget.
			w.swapEvery *= w.pages
			return w.recorded(first.duration, step, rand.NewPCG(s.Seed, uint64(2*run)))
		}))
	}
	return web, nil
}

// check sees whether all budgets of the web can be spent.
func (web *suiteWeb) check() error {
	for _, multiple := range append(slices.Clone(suiteMultiples), 1) {
		w, err := web.budgeted(web.outline, 0, multiple)
		if err != nil {
			return report.Usagef("%w", err)
		}
		web.unit, _ = w.units()
		web.polls = w.polls
	}
	return nil
}

// world returns the world of a run with its budget, a multiple of the base.
func (web *suiteWeb) world(run int, multiple float64) (*world, error) {
	w, err := web.worlds[run]()
	if err != nil {
		return nil, err
	}
	return web.budgeted(w, run, multiple)
}

// budgeted returns a world with the budget of a run.
func (web *suiteWeb) budgeted(w *world, run int, multiple float64) (*world, error) {
	copied := *w
	if err := copied.budgeted(multiple*suiteFactor(run)*web.budget, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", web.name, err)
	}
	return &copied, nil
}

// suiteFactor returns the factor of the budget of a run.
func suiteFactor(run int) float64 { return suiteFactors[run%len(suiteFactors)] }

// A cell is what all policies reached with one budget on one web in one scenario.
type cell struct {
	web      *suiteWeb
	scenario scenario
	multiple float64
	values   [][][]float64 // by policy, goal and run
}

// A suite measures every policy by every goal in every cell.
type suite struct {
	*settings
	policies []policy
	goals    []goal
	cells    []*cell
}

func (s *settings) newSuite(chosen []policy) (*suite, error) {
	u := &suite{settings: s, policies: chosen}
	var err error
	names := s.objective
	if !s.Given("objective") {
		names = "detections,freshness,delay"
	}
	if u.goals, err = goalsNamed(names); err != nil {
		return nil, err
	}
	chosenScenarios, err := scenariosNamed(s.scenarios)
	if err != nil {
		return nil, err
	}
	multiples := suiteMultiples
	if s.Quick {
		multiples = []float64{1}
		if s.scenarios == "" {
			chosenScenarios = scenarios[:1]
		}
	}
	webs, err := s.suiteWebs()
	if err != nil {
		return nil, err
	}
	for _, scenario := range chosenScenarios {
		for _, web := range webs {
			for _, multiple := range multiples {
				c := &cell{web: web, scenario: scenario, multiple: multiple}
				for range chosen {
					values := make([][]float64, len(u.goals))
					for g := range values {
						values[g] = make([]float64, s.runs)
					}
					c.values = append(c.values, values)
				}
				u.cells = append(u.cells, c)
			}
		}
	}
	return u, nil
}

// pace is the number of polls that a core makes in a second, filterPace that of a rate filter.
const pace, filterPace = 500_000, 30_000

// takes returns in how many seconds a core makes so many polls.
func (p policy) takes(polls float64) float64 {
	if strings.HasPrefix(p.name, "rate-filter") {
		return polls / filterPace
	}
	return polls / pace
}

// takes says how long the suite takes.
func (u *suite) takes() string {
	polls, seconds := 0.0, 0.0
	for _, c := range u.cells {
		for _, p := range u.policies {
			n := float64(c.web.polls) * c.multiple * float64(u.runs*len(u.aims(p)))
			polls += n
			seconds += p.takes(n)
		}
	}
	cores := runtime.GOMAXPROCS(0)
	return fmt.Sprintf("about %s on %d cores (%d cells × %d policies × %d runs, %s polls)",
		duration(seconds/float64(cores)), cores, len(u.cells), len(u.policies), u.runs, count(polls))
}

// count says a large number.
func count(n float64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.3g million", n/1e6)
}

// duration says a time in seconds in words.
func duration(seconds float64) string {
	if seconds <= 1 {
		return "a second"
	}
	if seconds < 90 {
		return fmt.Sprintf("%.0f seconds", math.Ceil(seconds))
	}
	return fmt.Sprintf("%.0f minutes", math.Ceil(seconds/60))
}

// aims returns for each run of a policy the indices of the goals that it is judged by: one
// run for each objective of a policy that works towards it, or one for all.
func (u *suite) aims(p policy) (aims [][]int) {
	for g, goal := range u.goals {
		same := func(aim []int) bool { return !p.tuned || u.goals[aim[0]].objective == goal.objective }
		if k := slices.IndexFunc(aims, same); k >= 0 {
			aims[k] = append(aims[k], g)
		} else {
			aims = append(aims, []int{g})
		}
	}
	return aims
}

// measure fills the cells.
func (u *suite) measure() error {
	perCell := len(u.policies) * u.runs
	return report.Parallel("suite", len(u.cells)*perCell, func(i int) error {
		c, p, run := u.cells[i/perCell], i%perCell/u.runs, i%u.runs
		w, err := c.web.world(run, c.multiple)
		if err != nil {
			return err
		}
		for _, aim := range u.aims(u.policies[p]) {
			e := &experiment{world: w, goal: u.goals[aim[0]], seed: u.Seed, scenario: c.scenario, groups: u.groups}
			o := &outcome{policy: u.policies[p]}
			if err := e.run(o, run, 1, func(float64) {}); err != nil {
				return fmt.Errorf("%s, %s: %w", c.web.name, c.scenario.name, err)
			}
			for _, g := range aim {
				value := u.goals[g].of(o)[0]
				if u.goals[g].name == "detections" {
					value /= suiteFactor(run)
				}
				c.values[p][g][run] = value
			}
		}
		return nil
	})
}

// peer returns the best of the policies that a crawler without the library could use: the
// one with the best mean. ok is false if there is none.
func (u *suite) peer(c *cell, g int) (best int, ok bool) {
	for p, policy := range u.policies {
		if policy.ours || policy.told {
			continue
		}
		if !ok || u.ratio(mean(c.values[p][g]), mean(c.values[best][g]), g) > 1 {
			best, ok = p, true
		}
	}
	return best, ok
}

// ratio returns how many times better a is than b; two that cannot be improved are equal.
func (u *suite) ratio(a, b float64, g int) float64 {
	if a == b {
		return 1
	}
	return u.goals[g].better(a, b)
}

// ratios returns how many times better a policy is than the best peer, for each run, nil
// if there is no peer.
func (u *suite) ratios(c *cell, p, g int) []float64 {
	best, ok := u.peer(c, g)
	if !ok {
		return nil
	}
	ratios := make([]float64, u.runs)
	for run := range ratios {
		ratios[run] = u.ratio(c.values[p][g][run], c.values[best][g][run], g)
	}
	return ratios
}

// geometric returns for each run the geometric mean of the ratios over cells, nil if there
// is no peer, and in how many cells the policy is ahead of every peer in the mean.
func (u *suite) geometric(cells []*cell, p, g int) (means []float64, led int) {
	means = slices.Repeat([]float64{1}, u.runs)
	for _, c := range cells {
		ratios := u.ratios(c, p, g)
		if ratios == nil {
			return nil, 0
		}
		for run, ratio := range ratios {
			means[run] *= math.Pow(ratio, 1/float64(len(cells)))
		}
		if mean(ratios) > 1 {
			led++
		}
	}
	return means, led
}

func mean(values []float64) float64 {
	m, _ := report.MeanSD(values)
	return m
}

// printSuite prints the suite for people or for machines.
func (s *settings) printSuite(chosen []policy) error {
	u, err := s.newSuite(chosen)
	if err != nil {
		return err
	}
	if err := s.Start(u.takes()); err != nil {
		return err
	}
	if err := u.measure(); err != nil {
		return err
	}
	if s.JSON {
		return report.WriteJSON(s.Stdout, u.rows())
	}
	return u.print()
}

const suiteText = `Mean ± standard deviation of the runs, each of which has a budget nearby
(× .94 .965 .99 1.015 1.04 1.065; detections are divided by the factor) and another
start, or another simulated web. Policies that work towards an objective ran once for
each. %s
Ages and delays are in days, or in slots where a web has slots. Budgets are in polls per
hour, or per slot.
`

// peersText says what × peer means, and ablateText what it means with -ablate.
const (
	peersText = `× peer: how many times better than the best peer of the cell a policy is: more
detections, or less staleness, age, harmonic cost or delay. Peers are all policies but
the rate filter and those that are told the truth.`
	ablateText = `× peer: how many times better than the rate filter with groups it is without one of
its parts: by more detections, or less staleness, age, harmonic cost or delay. That
filter is the only peer.`
)

// print writes a table of every cell, and one of the geometric means for each goal.
func (u *suite) print() error {
	peers := peersText
	if u.ablate {
		peers = ablateText
	}
	if _, err := fmt.Fprintf(u.Stdout, suiteText+"\n", peers); err != nil {
		return err
	}
	header := []string{"scenario", "web", "budget", "policy"}
	for _, g := range u.goals {
		header = append(header, g.name, "±", "× peer")
	}
	var rows [][]string
	for _, c := range u.cells {
		for p, policy := range u.policies {
			row := []string{c.scenario.name, c.web.name, report.Format(c.multiple * c.web.budget), policy.name}
			for g, goal := range u.goals {
				m, sd := report.MeanSD(c.values[p][g])
				row = append(row, strconv.FormatFloat(m, 'f', goal.digits, 64), spread(sd, u.runs, goal.digits), ratioText(u.ratios(c, p, g)))
			}
			rows = append(rows, row)
		}
	}
	if err := report.WriteTable(u.Stdout, header, rows); err != nil {
		return err
	}
	for g := range u.goals {
		if err := u.printMeans(g); err != nil {
			return err
		}
	}
	return nil
}

// printMeans writes the geometric means of one goal, over the webs and over all cells.
func (u *suite) printMeans(g int) error {
	multiples := u.multiples()
	header := []string{"scenario", "policy"}
	for _, m := range multiples {
		header = append(header, fmt.Sprintf("budget × %g", m))
	}
	header = append(header, "all cells", "±", "cells led")
	var rows [][]string
	for _, scenario := range u.scenarios() {
		all := u.of(scenario, 0)
		for p, policy := range u.policies {
			row := []string{scenario, policy.name}
			for _, m := range multiples {
				means, _ := u.geometric(u.of(scenario, m), p, g)
				row = append(row, ratioText(means))
			}
			means, led := u.geometric(all, p, g)
			sdText, ledText := "–", "–" // without a peer
			if means != nil {
				_, sd := report.MeanSD(means)
				sdText, ledText = spread(sd, u.runs, 3), fmt.Sprintf("%d of %d", led, len(all))
			}
			rows = append(rows, append(row, ratioText(means), sdText, ledText))
		}
	}
	if _, err := fmt.Fprintf(u.Stdout, "\nGeometric means over the cells: %s\n\n", u.goals[g].ratio); err != nil {
		return err
	}
	return report.WriteTable(u.Stdout, header, rows)
}

func ratioText(ratios []float64) string {
	if ratios == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", mean(ratios))
}

// multiples and scenarios return what the cells have, in their order.
func (u *suite) multiples() (all []float64) {
	for _, c := range u.cells {
		if !slices.Contains(all, c.multiple) {
			all = append(all, c.multiple)
		}
	}
	return all
}

func (u *suite) scenarios() (all []string) {
	for _, c := range u.cells {
		if !slices.Contains(all, c.scenario.name) {
			all = append(all, c.scenario.name)
		}
	}
	return all
}

// of returns the cells of a scenario with a multiple of the base budget, or with any if it
// is 0.
func (u *suite) of(scenario string, multiple float64) (cells []*cell) {
	for _, c := range u.cells {
		if c.scenario.name == scenario && (multiple == 0 || multiple == c.multiple) {
			cells = append(cells, c)
		}
	}
	return cells
}

// rows returns the values, the ratios and the geometric means for machines.
func (u *suite) rows() (rows []report.Row) {
	add := func(item, quantity, unit string, values []float64) {
		if values != nil {
			rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: quantity, Unit: unit}.Sample(values))
		}
	}
	for _, c := range u.cells {
		for p, policy := range u.policies {
			item := fmt.Sprintf("%s, %s, %s %s, %s", c.scenario.name, c.web.name, report.Format(c.multiple*c.web.budget), c.web.unit, policy.name)
			for g, goal := range u.goals {
				unit := goal.unit
				if unit == "" {
					unit = map[bool]string{false: "day", true: "slot"}[c.web.unit == "polls per slot"]
				}
				add(item, goal.name, unit, c.values[p][g])
				add(item, goal.ratio, "1", u.ratios(c, p, g))
			}
		}
	}
	for _, scenario := range u.scenarios() {
		for p, policy := range u.policies {
			for g, goal := range u.goals {
				for _, m := range append(u.multiples(), 0) {
					item := fmt.Sprintf("%s, all webs, budget × %g, %s", scenario, m, policy.name)
					if m == 0 {
						item = fmt.Sprintf("%s, all cells, %s", scenario, policy.name)
					}
					means, _ := u.geometric(u.of(scenario, m), p, g)
					add(item, goal.ratio+", geometric mean", "1", means)
				}
			}
		}
	}
	return rows
}
