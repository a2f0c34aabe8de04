package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/recrawl/recrawl/knapsack"
)

// A job is what a policy has to do. Its units are those of the world.
type job struct {
	pages     int
	rate      float64 // polls per unit of time
	second    float64 // length of a second
	once      bool    // a page changes once per unit of time at most
	objective knapsack.Objective
	truth     func(now float64) []float64 // true change rates
	moves     float64                     // time after which they change, 0 if they do not
	start     float64
	src       rand.Source
}

// A policy is a way of deciding which page to poll next.
type policy struct {
	name, about string
	random      bool // draws numbers: other seeds, other figures
	tuned       bool // works towards the objective of the job
	new         func(job) (knapsack.Scheduler, error)
}

// policies are all there are. To add one, name it, say what it is, and construct
// it.
var policies = []policy{
	{name: "uniform", new: uniform,
		about: "all pages equally often"},
	{name: "lakg-300", random: true, new: lakg(300),
		about: "Learning Automata Knapsack Game, N = 300, λ = 1.3 (Granmo et al. 2006)"},
	{name: "lakg-1500", random: true, new: lakg(1500),
		about: "the same, N = 1500"},
	{name: "lakg-2500", random: true, new: lakg(2500),
		about: "the same, N = 2500"},
	{name: "estimator", new: estimator,
		about: "uniform for 10 polls a page, then by the rates estimated (Granmo et al. 2006)"},
	{name: "nutch", new: adaptive(knapsack.Nutch),
		about: "rule of Apache Nutch: interval ×0.8 if changed, else ×1.4"},
	{name: "stormcrawler", new: adaptive(knapsack.StormCrawler),
		about: "rule of StormCrawler: halfway to 1 h if changed, else ×1.5"},
	{name: "newscrawl", new: adaptive(knapsack.NewsCrawl),
		about: "rule of news-crawl: a fifth of the way to 1.5 h if changed, else ×1.5"},
	{name: "rate-filter", tuned: true, new: rateFilter,
		about: "Bayes filter of rates that change, polls by index"},
	{name: "h-traa", random: true, new: htraa,
		about: "hierarchy of twofold resource allocation automata (Granmo and Oommen 2010)"},
	{name: "cho", tuned: true, new: planner(knapsack.ChoGarciaMolina),
		about: "optimum for the bias-reduced estimates of the rates (Cho and Garcia-Molina 2003)"},
	{name: "mle", tuned: true, new: planner(knapsack.MaximumLikelihood),
		about: "optimum for the maximum-likelihood estimates of the rates"},
	{name: "avrachenkov", tuned: true, new: planner(knapsack.Avrachenkov),
		about: "optimum for the estimates of Avrachenkov, Patil and Thoppe"},
	{name: "gamma", tuned: true, new: planner(knapsack.Gamma),
		about: "optimum for Gamma posteriors of constant rates"},
	{name: "lambda-crawl", random: true, new: published(knapsack.Harmonic),
		about: "LambdaCrawl, for the harmonic cost (Kolobov et al. 2019)"},
	{name: "azar", random: true, new: published(knapsack.Freshness),
		about: "the freshest under polls at random times (Azar et al. 2018)"},
	{name: "true-rates", tuned: true, new: trueRates,
		about: "is told the true mean rates, and polls by the exact optimum for them"},
}

func uniform(j job) (knapsack.Scheduler, error) {
	return knapsack.NewFixed(slices.Repeat([]float64{1}, j.pages), knapsack.Even, nil)
}

// lakg has a capacity of one poll in a slot of one poll interval, the default.
func lakg(states int) func(job) (knapsack.Scheduler, error) {
	return func(j job) (knapsack.Scheduler, error) {
		return knapsack.NewLAKG(j.pages, knapsack.LAKGConfig{States: states}, j.src)
	}
}

func estimator(j job) (knapsack.Scheduler, error) {
	return knapsack.NewEstimateFirst(j.pages, knapsack.EstimateFirstConfig{}, nil)
}

// adaptive begins with the interval of the uniform policy.
func adaptive(rule func(second float64) knapsack.AdaptiveConfig) func(job) (knapsack.Scheduler, error) {
	return func(j job) (knapsack.Scheduler, error) {
		cfg := rule(j.second)
		cfg.Start = float64(j.pages) / j.rate
		return knapsack.NewAdaptive(j.pages, cfg)
	}
}

func rateFilter(j job) (knapsack.Scheduler, error) {
	return knapsack.NewRateFilter(j.pages, knapsack.RateFilterConfig{Objective: j.objective})
}

func htraa(j job) (knapsack.Scheduler, error) {
	return knapsack.NewHTRAA(j.pages, knapsack.HTRAAConfig{}, j.src)
}

func planner(method knapsack.RateMethod) func(job) (knapsack.Scheduler, error) {
	return func(j job) (knapsack.Scheduler, error) {
		cfg := knapsack.PlannerConfig{Budget: j.rate, Objective: j.objective, Method: method}
		return knapsack.NewPlanner(j.pages, cfg, nil)
	}
}

// published is a policy of the literature: polls at random times, for an objective of its own.
func published(objective knapsack.Objective) func(job) (knapsack.Scheduler, error) {
	return func(j job) (knapsack.Scheduler, error) {
		cfg := knapsack.PlannerConfig{Budget: j.rate, Objective: objective, Spacing: knapsack.Random}
		return knapsack.NewPlanner(j.pages, cfg, j.src)
	}
}

func trueRates(j job) (knapsack.Scheduler, error) {
	x, err := j.optimum(j.start)
	if err != nil {
		return nil, err
	}
	fixed, err := knapsack.NewFixed(x, knapsack.Even, nil)
	if err != nil || j.moves == 0 {
		return fixed, err
	}
	return &oracle{fixed, j, j.start + j.moves}, nil
}

// optimum returns the best frequencies for the rates of a time.
func (j job) optimum(now float64) ([]float64, error) {
	problem := knapsack.Problem{Rates: j.truth(now), Budget: j.rate, Objective: j.objective}
	if j.once { // then polling a page more often is no use
		problem.Upper = slices.Repeat([]float64{1}, j.pages)
	}
	for i, r := range problem.Rates {
		problem.Rates[i] = min(r, surely)
	}
	x, _, err := problem.Optimal()
	return x, err
}

// surely stands for the infinite rate of a page that changes in each slot.
const surely = 40

// An oracle follows rates that change.
type oracle struct {
	*knapsack.Fixed
	job  job
	next float64 // time at which the rates change next
}

func (o *oracle) Next(now float64) (page int, err error) {
	if now >= o.next {
		x, err := o.job.optimum(now)
		if err != nil {
			return 0, err
		}
		for page, x := range x {
			if err := o.SetFrequency(page, x); err != nil {
				return 0, err
			}
		}
		o.next += o.job.moves * math.Ceil((now-o.next)/o.job.moves+0.5)
	}
	return o.Fixed.Next(now)
}

// choose returns the policies named, all if there are no names.
func choose(names string) ([]policy, error) {
	if names == "" {
		return policies, nil
	}
	var chosen []policy
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(policies, func(p policy) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-policies: there is no %q; there are %s", name, policyNames())
		}
		if slices.ContainsFunc(chosen, func(p policy) bool { return p.name == name }) {
			return nil, fmt.Errorf("-policies: %q twice", name)
		}
		chosen = append(chosen, policies[i])
	}
	return chosen, nil
}

func policyNames() string {
	var names []string
	for _, p := range policies {
		names = append(names, p.name)
	}
	return strings.Join(names, ",")
}
