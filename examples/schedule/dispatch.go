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
	make func(p *schedule.Problem, plan schedule.Plan) (*schedule.Dispatcher, error)
}

func pulling(order schedule.Order, policy schedule.Policy) func(*schedule.Problem, schedule.Plan) (*schedule.Dispatcher, error) {
	return func(p *schedule.Problem, _ schedule.Plan) (*schedule.Dispatcher, error) {
		return schedule.NewPullDispatcher(p, p.List(order), policy)
	}
}

func planned(policy schedule.Policy) func(*schedule.Problem, schedule.Plan) (*schedule.Dispatcher, error) {
	return func(p *schedule.Problem, plan schedule.Plan) (*schedule.Dispatcher, error) {
		return schedule.NewDispatcher(p, plan, policy)
	}
}

var strategies = []strategy{
	{"static optimal plan", planned(schedule.Policy{})},
	{"plan + stealing", planned(schedule.Policy{Steal: true})},
	{"plan + stealing + copies", planned(schedule.Policy{Steal: true, Copies: 2})},
	{"pull LPT", pulling(schedule.Descending, schedule.Policy{})},
	{"pull LPT + copies", pulling(schedule.Descending, schedule.Policy{Copies: 2})},
	{"pull, given order", pulling(schedule.Given, schedule.Policy{})},
}

// A wrongWorld is a problem as predicted and as it turns out.
type wrongWorld struct {
	predicted *schedule.Problem
	actual    func(site, client int) float64
	bound     float64 // of a plan that knew what would happen
}

// newWrongWorld draws sites whose durations are off by a lognormal factor of
// spread sigma, drawn anew for every attempt on a client, and clients whose
// speeds are off by one of sigma/2.
func newWrongWorld(rng *rand.Rand, m int, sigma float64) (wrongWorld, error) {
	sizes, unit := powerLaw(rng, paperSites, 2), unitTimes(m)
	actualSize, actualUnit := make([]float64, len(sizes)), make([]float64, m)
	for z, s := range sizes {
		actualSize[z] = s * math.Exp(sigma*rng.NormFloat64())
	}
	for j, u := range unit {
		actualUnit[j] = u * math.Exp(sigma/2*rng.NormFloat64())
	}
	predicted, err := schedule.NewUniform(sizes, unit)
	if err != nil {
		return wrongWorld{}, err
	}
	actual, err := schedule.NewUniform(actualSize, actualUnit)
	if err != nil {
		return wrongWorld{}, err
	}
	return wrongWorld{predicted, actual.Duration, schedule.LowerBound(actual)}, nil
}

// dispatchTable simulates the strategies in worlds that differ from the
// predictions.
func dispatchTable(l *lab) ([]report.Row, error) {
	runs := pick(l, 60, 400)
	var rows []report.Row
	for _, m := range []int{3, 5} {
		for _, sigma := range []float64{0, .1, .3, 1} {
			over := make([][]float64, len(strategies))
			for i := range runs {
				w, err := newWrongWorld(l.rng(10, i), m, sigma)
				if err != nil {
					return nil, err
				}
				r, err := schedule.Solve(context.Background(), w.predicted, rand.NewPCG(1, uint64(i)), schedule.Settings{Steps: 100_000})
				if err != nil {
					return nil, err
				}
				for k, s := range strategies {
					d, err := s.make(w.predicted, r.Plan)
					if err != nil {
						return nil, err
					}
					run, err := schedule.Simulate(d, w.actual, nil)
					if err != nil {
						return nil, err
					}
					over[k] = append(over[k], 100*(run.Makespan/w.bound-1))
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
