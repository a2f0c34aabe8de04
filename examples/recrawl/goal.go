package main

import (
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

// A goal is a way of judging an outcome, and what policies that can choose work towards.
type goal struct {
	name      string
	ratio     string // what is compared, as a ratio that is above 1 for the better
	objective knapsack.Objective
	of        func(*outcome) []float64
	digits    int    // after the point, in a table
	unit      string // "" for days or slots
}

// goals has all, in the order of the columns.
var goals = []goal{
	{"detections", "detections over the best peer's", knapsack.Detections, func(o *outcome) []float64 { return o.detected }, 0, "polls"},
	{"freshness", "best peer's staleness over the policy's", knapsack.Freshness, func(o *outcome) []float64 { return o.freshness }, 4, "1"},
	{"age", "best peer's age over the policy's", knapsack.Age, func(o *outcome) []float64 { return o.age }, 3, ""},
	{"harmonic", "best peer's harmonic cost over the policy's", knapsack.Harmonic, func(o *outcome) []float64 { return o.harmonic }, 4, "1"},
	{"delay", "best peer's delay over the policy's", knapsack.Delay, func(o *outcome) []float64 { return o.delay }, 3, ""},
}

// goalsNamed returns the goals with the names given, separated by commas.
func goalsNamed(names string) ([]goal, error) {
	return chosenOf("objective", goals, func(g goal) string { return g.name }, names)
}

// better returns how many times better a is than b: more detections, or less staleness,
// age, harmonic cost or delay. Where neither has any of these they are as good as each other; to detect
// nothing is NaN times as much as nothing.
func (g goal) better(a, b float64) float64 {
	switch {
	case g.name == "detections":
		return a / b
	case a == b:
		return 1
	case g.name == "freshness":
		return (1 - b) / (1 - a)
	default:
		return b / a
	}
}

// ratios returns how many times better than another outcome one is, run by run.
func (g goal) ratios(o, to *outcome) (ratios []float64) {
	for run, value := range g.of(o) {
		ratios = append(ratios, g.better(value, g.of(to)[run]))
	}
	return ratios
}

// relative returns how many times better than another outcome this one is in the mean. It
// is NaN if that was not measured.
func (g goal) relative(o, to *outcome) float64 {
	own, _ := report.MeanSD(g.of(o))
	other, _ := report.MeanSD(g.of(to))
	return g.better(own, other)
}
