package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// The curves have a point each curveStep answers, curvePoints in all.
const (
	curveStep   = 25
	curvePoints = 80
)

// convergenceCurves returns the mean probability of the best action of environment
// A against the number of answers, as rows and as a chart.
func convergenceCurves(size sizes, seed uint64) ([]report.Row, report.Chart, error) {
	chart := report.Chart{
		Title: "Ten actions (environment A)",
		X:     "answers", Y: "mean probability of the best action", LogX: true,
	}
	env, err := automata.NewPModel(environmentA...)
	if err != nil {
		return nil, chart, err
	}
	best := bestOf(environmentA)
	x := make([]float64, curvePoints)
	for k := range x {
		x[k] = float64((k + 1) * curveStep)
	}
	var rows []report.Row
	for _, c := range []struct {
		name string
		make maker
	}{
		{"L_R-I a=.008", lri(.008)},
		{"CP_RP λ=.009", continuous(automata.NewCPRP, .009)},
		{"DP_RI N=188", discrete(automata.NewDPRI, 188)},
		{"GPA λ=.0127", continuous(automata.NewGPA, .0127)},
		{"DGPA N=24", discrete(automata.NewDGPA, 24)},
		{"DBPA N=50", discrete(automata.NewDBPA, 50)},
		{"HDPA N=200", discrete(automata.NewHDPA, 200)},
	} {
		curves := make([][curvePoints]float64, size.curve)
		err := replicate(size.curve, seed, func(run int, src rand.Source) error {
			a, err := c.make(len(environmentA))
			if err != nil {
				return err
			}
			for k := range curves[run] {
				if _, _, err := play(a, env, src, curveStep); err != nil {
					return err
				}
				curves[run][k] = a.Probability(best)
			}
			return nil
		})
		if err != nil {
			return nil, chart, err
		}
		mean := make([]float64, curvePoints)
		for _, curve := range curves { // in the order of the runs: the same sums each time
			for k, p := range curve {
				mean[k] += p / float64(size.curve)
			}
		}
		chart.Series = append(chart.Series, report.Series{Name: c.name, X: x, Y: mean})
		rows = append(rows, report.Row{
			Source: own, Item: c.name + " in A", Unit: "1", Measured: mean, Runs: size.curve,
			Quantity: fmt.Sprintf("mean probability of the best action after %d, %d, … answers", curveStep, 2*curveStep),
		})
	}
	return rows, chart, nil
}

func lead(size sizes) string {
	return fmt.Sprintf("Environment A has mean rewards %v, environment B %v. The ten-action table has %d replications, "+
		"that of many actions %d. Figures are means ± standard deviation.", environmentA, environmentB, size.table, size.many)
}

// pictures writes the chart and the page with all tables.
func pictures(p *report.Program, page report.Page, chart report.Chart) error {
	svg, err := p.WriteChart("convergence.svg", chart)
	if err != nil {
		return err
	}
	page.Sections = append([]report.Section{{SVG: svg}}, page.Sections...)
	return p.WritePage("automata.html", page)
}
