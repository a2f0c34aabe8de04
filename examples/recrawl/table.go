package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

const granmo = "Granmo et al. 2006"

// zipfs are the paper's environments of 500 pages, with the figures that are about
// them and the updates per slot that it gives.
var zipfs = []struct {
	alpha, beta float64
	figure      string
	updates     float64
}{{0.3, 1.5, "fig. 2", 0.76}, {0.3, 1, "fig. 3", 2.0}, {0.9, 1.5, "fig. 4", 2.3}}

// lakgs are the settings of the paper's figures.
var lakgs = []knapsack.LAKGConfig{{States: 1500, Lambda: 1.3}, {States: 2500, Lambda: 1.3}, {States: 5000, Lambda: 1.2}}

// paperTable measures what the paper's figures 2 to 4 show, at one poll per slot.
// They are curves: it prints no figures but the updates per slot.
func paperTable(s *settings) ([]report.Row, error) {
	bar := report.NewProgress("LAKG", s.runs*len(zipfs)*len(lakgs))
	defer bar.Done()
	var rows []report.Row
	for _, z := range zipfs {
		u := webenv.ZipfLaw(500, z.alpha, z.beta)
		environment := fmt.Sprintf("zipf:%g,%g", z.alpha, z.beta)
		updates := 0.0
		for _, p := range u {
			updates += p
		}
		rows = append(rows, report.Row{Source: granmo + ", III.D", Item: environment,
			Quantity: "updates of all pages", Unit: "1/slot", Published: z.updates, Measured: updates, Runs: 1})
		source := granmo + ", " + z.figure
		optima, err := optimumRows(source, environment, u)
		if err != nil {
			return nil, err
		}
		rows = append(rows, optima...)
		for _, cfg := range lakgs {
			values := make([][]float64, len(checkpoints)) // by checkpoint and run
			for run := range s.runs {
				env, err := webenv.NewZipf(webenv.ZipfConfig{Pages: len(u), Alpha: z.alpha, Beta: z.beta},
					rand.NewPCG(s.Seed, uint64(2*run)))
				if err != nil {
					return nil, err
				}
				learner, err := knapsack.NewLAKG(len(u), cfg, rand.NewPCG(s.Seed, uint64(2*run+1)))
				if err != nil {
					return nil, err
				}
				if err := lakgValues(env, learner, onePoll(u, knapsack.Even), values); err != nil {
					return nil, err
				}
				bar.Add(1)
			}
			for k, polls := range checkpoints {
				rows = append(rows, report.Row{Source: source,
					Item:     fmt.Sprintf("%s, LAKG N = %d, λ = %g", environment, cfg.States, cfg.Lambda),
					Quantity: fmt.Sprintf("detections of the amounts after %dk polls", polls/1000), Unit: "1/slot",
				}.Sample(values[k]))
			}
		}
	}
	return rows, nil
}

// onePoll is the problem of allocating one poll per slot to pages with
// probabilities u of changing in a slot.
func onePoll(u []float64, spacing knapsack.Spacing) knapsack.Problem {
	rate := func(u float64) float64 { return -math.Log1p(-u) }
	if spacing == knapsack.Random {
		rate = func(u float64) float64 { return u / (1 - u) }
	}
	p := knapsack.Problem{Budget: 1, Objective: knapsack.Detections, Spacing: spacing}
	for _, u := range u {
		p.Rates = append(p.Rates, rate(u))
	}
	return p
}

// optimumRows evaluates the paper's policies that need no learning.
func optimumRows(source, environment string, u []float64) (rows []report.Row, err error) {
	uniform, proportional := make([]float64, len(u)), make([]float64, len(u))
	changes := 0.0 // expected in a slot
	for _, u := range u {
		changes += u
	}
	for page := range u {
		uniform[page], proportional[page] = 1/float64(len(u)), u[page]/changes
	}
	optimal, _, err := onePoll(u, knapsack.Even).Optimal()
	if err != nil {
		return nil, err
	}
	for _, polling := range []struct {
		how     string
		problem knapsack.Problem
	}{{"evenly spaced", onePoll(u, knapsack.Even)}, {"drawn at random", onePoll(u, knapsack.Random)}} {
		for _, policy := range []struct {
			name string
			x    []float64
		}{{"uniform", uniform}, {"proportional", proportional}, {"optimal", optimal}} {
			value, err := polling.problem.Value(policy.x)
			if err != nil {
				return nil, err
			}
			rows = append(rows, report.Row{Source: source,
				Item:     fmt.Sprintf("%s, x %s, polls %s", environment, policy.name, polling.how),
				Quantity: "detections", Unit: "1/slot", Measured: value, Runs: 1})
		}
	}
	return rows, nil
}

// checkpoints are the numbers of polls after which LAKG is evaluated.
var checkpoints = []int{20_000, 60_000, 100_000, 200_000}

// lakgValues runs LAKG at one poll per slot, and appends to the values of each
// checkpoint what the amounts, scaled to one poll per slot in all, would detect if
// they stayed.
func lakgValues(env webenv.Env, learner *knapsack.LAKG, problem knapsack.Problem, values [][]float64) error {
	poll := 0
	for k, checkpoint := range checkpoints[:len(values)] {
		for poll < checkpoint {
			poll++
			now := float64(poll)
			page, err := learner.Next(now)
			if err != nil {
				return err
			}
			_, changed := env.Poll(page, now)
			if err := learner.Observe(page, now, changed); err != nil {
				return err
			}
		}
		x, total := make([]float64, env.Len()), 0.0
		for page := range x {
			amount, err := learner.Frequency(page)
			if err != nil {
				return err
			}
			x[page] = amount
			total += amount
		}
		for page := range x {
			x[page] /= total
		}
		value, err := problem.Value(x)
		if err != nil {
			return err
		}
		values[k] = append(values[k], value)
	}
	return nil
}

// printTable prints the figures of the paper.
func (s *settings) printTable() error {
	if err := s.Start("half a minute"); err != nil {
		return err
	}
	rows, err := paperTable(s)
	if err != nil {
		return err
	}
	if err := s.Print("", rows); err != nil {
		return err
	}
	return s.End()
}
