package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// maxAnswers ends a run that does not converge; the longest here need a hundredth.
const maxAnswers = 50_000_000

// converge runs an automaton in an environment until an action has probability
// 0.999, and returns the number of answers that took and the action. This is all
// there is to using one.
func converge(a automata.Distribution, env automata.Environment, src rand.Source) (answers, best int, err error) {
	for answers < maxAnswers {
		action := a.Select(src)
		if err := a.Learn(action, env.Respond(action, src), src); err != nil {
			return 0, 0, err
		}
		answers++
		if best, ok := a.Converged(0.999); ok {
			return answers, best, nil
		}
	}
	return 0, 0, fmt.Errorf("no convergence in %d answers", answers)
}

// A trial is a scheme at a fixed parameter in an environment.
type trial struct {
	source      string // of the published figure
	scheme      string // with its parameter
	environment string
	means       []float64
	published   any // mean number of answers
	make        maker
}

// A maker makes an automaton of r actions.
type maker func(r int) (automata.Distribution, error)

// lri, dlri, discrete and continuous fix the parameter of a scheme. Those with estimates first try
// each action ten times, as in the literature.

func lri(a float64) maker {
	return func(r int) (automata.Distribution, error) { return automata.NewLinear(r, a, 0) }
}

func dlri(n int) maker {
	return func(r int) (automata.Distribution, error) { return automata.NewDLRI(r, n) }
}

func discrete(scheme func(r, n, priming int) (automata.Estimator, error), n int) maker {
	return func(r int) (automata.Distribution, error) { return scheme(r, n, 0) }
}

func continuous(scheme func(r int, lambda float64, priming int) (automata.Estimator, error), lambda float64) maker {
	return func(r int) (automata.Distribution, error) { return scheme(r, lambda, 0) }
}

// The ten-action environments of the pursuit literature.
var (
	environmentA = []float64{0.7, 0.5, 0.3, 0.2, 0.4, 0.5, 0.4, 0.3, 0.5, 0.2}
	environmentB = []float64{0.1, 0.45, 0.84, 0.76, 0.2, 0.4, 0.6, 0.7, 0.5, 0.3}
)

const (
	// Their figures are those remembered of the papers, whose texts were not at hand to check.
	oommenAgache = "Oommen & Agache 2001, from memory"
	agacheOommen = "Agache & Oommen 2002, from memory"
	own          = "recrawl"
)

// tenActions compares schemes at the parameters of the literature, where it states
// them, and at some of our own.
func tenActions(size sizes, seed uint64) ([]report.Row, error) {
	return runTrials([]trial{
		{oommenAgache, "DP_RI N=188", "A", environmentA, 752.7, discrete(automata.NewDPRI, 188)},
		{oommenAgache, "DP_RP N=572", "A", environmentA, 1126.0, discrete(automata.NewDPRP, 572)},
		{agacheOommen, "GPA λ=.0127", "A", environmentA, 948.03, continuous(automata.NewGPA, .0127)},
		{agacheOommen, "GPA λ=.0041", "B", environmentB, 2759.02, continuous(automata.NewGPA, .0041)},
		{agacheOommen, "DGPA N=24", "A", environmentA, 633.6, discrete(automata.NewDGPA, 24)},
		{agacheOommen, "DGPA N=52", "B", environmentB, 1307.8, discrete(automata.NewDGPA, 52)},
		{own, "L_R-I a=.008", "A", environmentA, nil, lri(.008)},
		{own, "DL_R-I N=250", "A", environmentA, nil, dlri(250)},
		{own, "CP_RP λ=.009", "A", environmentA, nil, continuous(automata.NewCPRP, .009)},
		{own, "CP_RI λ=.025", "A", environmentA, nil, continuous(automata.NewCPRI, .025)},
		{own, "DBPA N=50", "A", environmentA, nil, discrete(automata.NewDBPA, 50)},
		{own, "HDPA N=200", "A", environmentA, nil, discrete(automata.NewHDPA, 200)},
		{own, "DBPA N=50", "B", environmentB, nil, discrete(automata.NewDBPA, 50)},
		{own, "HDPA N=200", "B", environmentB, nil, discrete(automata.NewHDPA, 200)},
	}, size.table, seed)
}

// manyActions compares the schemes for many actions, at resolutions chosen so that
// at least 99.5 % of the runs of the full size end right, on seed 1.
func manyActions(size sizes, seed uint64) ([]report.Row, error) {
	var trials []trial
	for _, c := range []struct{ r, dpri, dbpa, hdpa int }{
		{16, 940, 220, 730},
		{64, 2800, 190, 1020},
		{128, 8000, 200, 2200},
	} {
		means, environment := spread(c.r), fmt.Sprintf("r=%d", c.r)
		trials = append(trials,
			trial{own, fmt.Sprintf("DP_RI N=%d", c.dpri), environment, means, nil, discrete(automata.NewDPRI, c.dpri)},
			trial{own, fmt.Sprintf("DBPA N=%d", c.dbpa), environment, means, nil, discrete(automata.NewDBPA, c.dbpa)},
			trial{own, fmt.Sprintf("HDPA N=%d", c.hdpa), environment, means, nil, discrete(automata.NewHDPA, c.hdpa)})
	}
	return runTrials(trials, size.many, seed)
}

// spread returns the mean rewards of r actions: the best has 0.9, the others are
// spread evenly from 0.1 to 0.8, in an order that depends on r only.
func spread(r int) []float64 {
	means := make([]float64, r)
	means[0] = 0.9
	for i := 1; i < r; i++ {
		means[i] = 0.1 + 0.7*float64(i-1)/float64(r-2)
	}
	rng := rand.New(rand.NewPCG(uint64(r), 0))
	rng.Shuffle(r, func(i, j int) { means[i], means[j] = means[j], means[i] })
	return means
}

// runTrials returns two rows for each trial: answers until convergence, and the
// share of runs that end with the best action.
func runTrials(trials []trial, runs int, seed uint64) ([]report.Row, error) {
	var rows []report.Row
	for _, c := range trials {
		env, err := automata.NewPModel(c.means...)
		if err != nil {
			return nil, err
		}
		want := bestOf(c.means)
		answers, right := make([]float64, runs), make([]float64, runs)
		err = replicate(runs, seed, func(run int, src rand.Source) error {
			a, err := c.make(len(c.means))
			if err != nil {
				return err
			}
			n, best, err := converge(a, env, src)
			answers[run] = float64(n)
			if best == want {
				right[run] = 100
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", c.scheme, c.environment, err)
		}
		item := c.scheme + " in " + c.environment
		rows = append(rows,
			report.Row{Source: c.source, Item: item, Quantity: "answers until p ≥ .999", Unit: "answers", Published: c.published}.Sample(answers),
			report.Row{Source: own, Item: item, Quantity: "runs that end with the best action", Unit: "%"}.Sample(right))
	}
	return rows, nil
}

func bestOf(means []float64) int {
	best := 0
	for i, d := range means {
		if d > means[best] {
			best = i
		}
	}
	return best
}
