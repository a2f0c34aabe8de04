package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// play lets an automaton act for a number of answers, and returns its mean reward
// and how often it selected each action.
func play(a automata.Automaton, env automata.Environment, src rand.Source, answers int) (reward float64, selected []int, err error) {
	selected = make([]int, a.Actions())
	for range answers {
		action := a.Select(src)
		r := env.Respond(action, src)
		if err := a.Learn(action, r, src); err != nil {
			return 0, nil, err
		}
		selected[action]++
		reward += r
	}
	return reward / float64(answers), selected, nil
}

// fixedStructure compares the share of the best action with the closed form. Each
// run first plays a tenth of its length, so that the start is forgotten.
func fixedStructure(size sizes, seed uint64) ([]report.Row, error) {
	env, err := automata.NewPModel(environmentA...)
	if err != nil {
		return nil, err
	}
	best := bestOf(environmentA)
	var rows []report.Row
	for _, c := range []struct {
		name string
		make func(actions, states int) (automata.FixedStructure, error)
		n    []int
	}{
		{"Tsetlin", automata.NewTsetlin, []int{2, 4, 6}},
		{"Krinsky", automata.NewKrinsky, []int{2, 4, 6}},
		{"Krylov", automata.NewKrylov, []int{2, 4, 6}},
	} {
		for _, n := range c.n {
			one, err := c.make(10, n)
			if err != nil {
				return nil, err
			}
			exact, err := one.Stationary(environmentA)
			if err != nil {
				return nil, err
			}
			shares := make([]float64, size.fixed)
			err = replicate(size.fixed, seed, func(run int, src rand.Source) error {
				a, err := c.make(10, n)
				if err != nil {
					return err
				}
				if _, _, err := play(a, env, src, size.fixedSteps/10); err != nil {
					return err
				}
				_, selected, err := play(a, env, src, size.fixedSteps)
				if err != nil {
					return err
				}
				shares[run] = float64(selected[best]) / float64(size.fixedSteps)
				return nil
			})
			if err != nil {
				return nil, err
			}
			item := fmt.Sprintf("%s N=%d in A", c.name, n)
			rows = append(rows,
				report.Row{Source: own, Item: item, Quantity: "closed form of the share", Unit: "1", Measured: exact[best], Runs: 1},
				report.Row{Source: own, Item: item, Quantity: "share of the best action", Unit: "1"}.Sample(shares))
		}
	}
	return rows, nil
}

// period is how long an environment of the switching experiment stays the same.
const period = 2000

// switching lets schemes of every kind play where the best action changes: the
// environment is A, then A with its actions in reverse, and so on.
func switching(size sizes, seed uint64) ([]report.Row, error) {
	reversed := make([]float64, len(environmentA))
	for i, d := range environmentA {
		reversed[len(reversed)-1-i] = d
	}
	first, err := automata.NewPModel(environmentA...)
	if err != nil {
		return nil, err
	}
	then, err := automata.NewPModel(reversed...)
	if err != nil {
		return nil, err
	}
	rows := []report.Row{{Source: own, Item: "always the best action", Quantity: "mean reward", Unit: "1", Measured: environmentA[bestOf(environmentA)], Runs: 1}}
	for _, c := range []struct {
		name string
		make func() (automata.Automaton, error)
	}{
		{"Tsetlin N=4", func() (automata.Automaton, error) { return automata.NewTsetlin(10, 4) }},
		{"Krinsky N=4", func() (automata.Automaton, error) { return automata.NewKrinsky(10, 4) }},
		{"Krylov N=4", func() (automata.Automaton, error) { return automata.NewKrylov(10, 4) }},
		{"L_R-P a=.02", func() (automata.Automaton, error) { return automata.NewLinear(10, .02, .02) }},
		{"L_R-εP a=.02 b=.0002", func() (automata.Automaton, error) { return automata.NewLinear(10, .02, .0002) }},
		{"L_R-I a=.008", func() (automata.Automaton, error) { return automata.NewLinear(10, .008, 0) }},
		{"DP_RI N=188", func() (automata.Automaton, error) { return discrete(automata.NewDPRI, 188)(10) }},
		{"DGPA N=24", func() (automata.Automaton, error) { return discrete(automata.NewDGPA, 24)(10) }},
		{"HDPA N=200", func() (automata.Automaton, error) { return discrete(automata.NewHDPA, 200)(10) }},
		{"Bayesian", func() (automata.Automaton, error) { return automata.NewBayesian(10) }},
	} {
		rewards := make([]float64, size.switching)
		err := replicate(size.switching, seed, func(run int, src rand.Source) error {
			env, err := automata.NewPeriodic(period, first, then)
			if err != nil {
				return err
			}
			a, err := c.make()
			if err != nil {
				return err
			}
			rewards[run], _, err = play(a, env, src, size.switchingSteps)
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, report.Row{Source: own, Item: c.name, Quantity: "mean reward", Unit: "1"}.Sample(rewards))
	}
	return rows, nil
}
