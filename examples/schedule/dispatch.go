package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// A strategy makes a dispatcher for predicted durations.
type strategy struct {
	name string
	// sorted says that the clients are numbered by speed, the fastest first, and not as in
	// the paper: of clients that are free the first one asks first.
	sorted bool
	make   func(p *schedule.Problem, plan schedule.Plan, spread float64) (*schedule.Dispatcher, error)
}

// given is the list of sites as numbered.
func given(*schedule.Problem) []int { return nil }

func pulling(list func(*schedule.Problem) []int, cfg schedule.DispatcherConfig) func(*schedule.Problem, schedule.Plan, float64) (*schedule.Dispatcher, error) {
	return func(p *schedule.Problem, _ schedule.Plan, _ float64) (*schedule.Dispatcher, error) {
		return schedule.NewPullDispatcher(p, list(p), cfg)
	}
}

func planned(cfg schedule.DispatcherConfig) func(*schedule.Problem, schedule.Plan, float64) (*schedule.Dispatcher, error) {
	return func(p *schedule.Problem, plan schedule.Plan, _ float64) (*schedule.Dispatcher, error) {
		return schedule.NewDispatcher(p, plan, cfg)
	}
}

func bySpread(p *schedule.Problem, plan schedule.Plan, spread float64) (*schedule.Dispatcher, error) {
	return schedule.NewDispatcher(p, plan, schedule.DispatcherConfig{Spread: spread})
}

var strategies = []strategy{
	{"static optimal plan", false, planned(schedule.DispatcherConfig{Static: true})},
	{"Dispatcher, no copies", false, planned(schedule.DispatcherConfig{Copies: 1})},
	{"Dispatcher, defaults", false, planned(schedule.DispatcherConfig{})},
	{"Dispatcher, defaults for σ", false, bySpread},
	{"pull LPT", false, pulling((*schedule.Problem).LongestFirst, schedule.DispatcherConfig{Static: true})},
	{"pull LPT + copies", false, pulling((*schedule.Problem).LongestFirst, schedule.DispatcherConfig{Static: true, Copies: 2})},
	{"pull LPT, fastest client first", true, pulling((*schedule.Problem).LongestFirst, schedule.DispatcherConfig{Static: true})},
	{"pull, given order", false, pulling(given, schedule.DispatcherConfig{Static: true})},
}

// worldOf returns the world in which durations are those of a problem.
func worldOf(p *schedule.Problem) schedule.World {
	return schedule.World{Duration: func(z, j int, _ float64) float64 { return p.Duration(z, j) }}
}

// A wrongWorld is a problem as predicted and as it turns out.
type wrongWorld struct {
	predicted, actual *schedule.Problem
	plan              schedule.Plan // for the problem as predicted
	bound             float64       // no plan that knew what would happen ends earlier
}

// newWrongWorlds draws sites whose durations are off by a lognormal factor of spread sigma,
// and clients whose speeds are off by one of sigma/2. The second world is the first with
// the clients in order of predicted speed.
func newWrongWorlds(rng *rand.Rand, m int, sigma float64) (asListed, sorted wrongWorld, err error) {
	sizes, unit := powerLaw(rng, paperSites, 2), unitTimes(m)
	actualSize, actualUnit := make([]float64, len(sizes)), make([]float64, m)
	for z, s := range sizes {
		actualSize[z] = s * math.Exp(sigma*rng.NormFloat64())
	}
	for j, u := range unit {
		actualUnit[j] = u * math.Exp(sigma/2*rng.NormFloat64())
	}
	if asListed, err = newWrongWorld(sizes, unit, actualSize, actualUnit); err != nil {
		return
	}
	order := byValue(unit)
	permute := func(v []float64) []float64 {
		to := make([]float64, m)
		for k, j := range order {
			to[k] = v[j]
		}
		return to
	}
	sorted, err = newWrongWorld(sizes, permute(unit), actualSize, permute(actualUnit))
	return
}

func newWrongWorld(sizes, unit, actualSizes, actualUnit []float64) (w wrongWorld, err error) {
	solve := func(p *schedule.Problem) (schedule.Result, error) {
		return schedule.Solve(context.Background(), p, schedule.SolveConfig{Steps: 100_000})
	}
	if w.predicted, err = schedule.NewUniform(sizes, unit); err != nil {
		return w, err
	}
	if w.actual, err = schedule.NewUniform(actualSizes, actualUnit); err != nil {
		return w, err
	}
	r, err := solve(w.predicted)
	if err != nil {
		return w, err
	}
	w.plan = r.Plan
	clairvoyant, err := solve(w.actual)
	w.bound = clairvoyant.Lower
	return w, err
}

// dispatchTable simulates the strategies in worlds that differ from the predictions.
func dispatchTable(l *lab) ([]report.Row, error) {
	runs := pick(l, 60, 400)
	var rows []report.Row
	for _, m := range []int{3, 5} {
		for _, sigma := range []float64{0, .1, .3, 1} {
			over := make([][]float64, len(strategies))
			for i := range runs {
				asListed, sorted, err := newWrongWorlds(l.rng(10, i), m, sigma)
				if err != nil {
					return nil, err
				}
				for k, s := range strategies {
					w := asListed
					if s.sorted {
						w = sorted
					}
					d, err := s.make(w.predicted, w.plan, sigma)
					if err != nil {
						return nil, err
					}
					run, err := schedule.Simulate(d, worldOf(w.actual))
					if err != nil {
						return nil, err
					}
					over[k] = append(over[k], 100*(ratio(run.Makespan, w.bound)-1))
				}
			}
			for k, s := range strategies {
				rows = append(rows, report.Row{Source: "recrawl", Item: fmt.Sprintf("%s, %d clients, σ = %v", s.name, m, sigma),
					Quantity: "over the clairvoyant bound", Unit: "%"}.Sample(over[k]))
			}
		}
	}
	return rows, nil
}
