package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// A job is what a policy has to do. Its units are those of the world.
type job struct {
	pages     int     // at the start
	rate      float64 // polls of these pages per unit of time
	second    float64 // length of a second
	once      bool    // a page changes once per unit of time at most
	objective knapsack.Objective
	truth     func(now float64) []float64 // true change rates
	moves     float64                     // time after which they change, 0 if they do not
	start     float64
	weights   []float64 // of the pages, nil if they are equal
	costs     []float64 // of a poll of each page, 1 in the mean; nil if they are equal
	names     []string  // of the pages, nil if they have none
	groups    string    // by what of the names pages belong together
	src       rand.Source
}

// A policy is a way of deciding which page to poll next.
type policy struct {
	name, about string
	random      bool // draws numbers: other seeds, other figures
	tuned       bool // works towards the objective of the job
	told        bool // knows the truth, which no crawler does
	ours        bool // what the library recommends, and compares with its peers
	new         func(job) (webenv.Scheduler, error)
}

// policies are all there are. To add one, name it, say what it is, and construct
// it.
var policies = []policy{
	{name: "uniform", new: uniform,
		about: "all pages equally often, at even intervals"},
	{name: "lakg-300", random: true, new: lakg(300),
		about: "Learning Automata Knapsack Game, N = 300, λ = 1.3 (Granmo et al. 2006)"},
	{name: "lakg-1500", random: true, new: lakg(1500),
		about: "the same, N = 1500"},
	{name: "lakg-2500", random: true, new: lakg(2500),
		about: "the same, N = 2500"},
	{name: "lakg-5000", random: true, new: lakgOf(knapsack.LAKGConfig{States: 5000, Lambda: 1.2}),
		about: "the same, N = 5000, λ = 1.2"},
	{name: "vlakg", new: vlakg,
		about: "the game of LAKG with variable-structure automata, evenly spaced polls"},
	{name: "estimator", new: estimator,
		about: "uniform for 10 polls a page, then by the rates estimated (Granmo et al. 2006)"},
	{name: "nutch", new: adaptive(knapsack.Nutch),
		about: "rule of Apache Nutch: interval ×0.8 if changed, else ×1.4"},
	{name: "stormcrawler", new: adaptive(knapsack.StormCrawler),
		about: "rule of StormCrawler: halfway to 1 h if changed, else ×1.5"},
	{name: "newscrawl", new: adaptive(knapsack.NewsCrawl),
		about: "rule of news-crawl: a fifth of the way to 1.5 h if changed, else ×1.5"},
	{name: "miniflux", new: newMiniflux,
		about: "rule of Miniflux: a week divided by the changes of the last week, 5 min to 1 day or more"},
	{name: "discounted", new: discounted(gammaMemory),
		about: "greatest λ·gap, λ of a Gamma law that forgets within 0.7 cycles"},
	{name: "proportional", new: discounted(math.Inf(1)),
		about: "the same without forgetting: polls in proportion to the estimated rates"},
	{name: "rate-filter", tuned: true, ours: true, new: rateFilter,
		about: "Bayes filter of rates that change, polls by index"},
	{name: "rate-filter+groups", tuned: true, ours: true, new: rateFilterGroups,
		about: "the same; pages of a folder, or with -groups host of a host, may change together"},
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
	{name: "true-proportional", told: true, new: told(job.proportional),
		about: "is told the true mean rates (in slots: probabilities), and polls in proportion to them"},
	{name: "true-rates", tuned: true, told: true, new: told(job.optimum),
		about: "is told the true mean rates, and polls by the exact optimum for them"},
}

func uniform(j job) (webenv.Scheduler, error) {
	return newForetold(j, func(int) float64 { return 1 })
}

// lakg has a capacity of one poll in a slot of one poll interval, the default.
func lakg(states int) func(job) (webenv.Scheduler, error) {
	return lakgOf(knapsack.LAKGConfig{States: states})
}

func lakgOf(cfg knapsack.LAKGConfig) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) { return knapsack.NewLAKG(j.pages, cfg, j.src) }
}

func vlakg(j job) (webenv.Scheduler, error) {
	return knapsack.NewVLAKG(j.pages, knapsack.VLAKGConfig{}, nil)
}

func estimator(j job) (webenv.Scheduler, error) {
	return knapsack.NewEstimateFirst(j.pages, knapsack.EstimateFirstConfig{}, nil)
}

// adaptive begins with the interval of the uniform policy.
func adaptive(rule func(second float64) knapsack.AdaptiveConfig) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) {
		cfg := rule(j.second)
		cfg.Start = float64(j.pages) / j.rate
		return knapsack.NewAdaptive(j.pages, cfg)
	}
}

func rateFilter(j job) (webenv.Scheduler, error) {
	f, err := knapsack.NewRateFilter(j.pages, knapsack.RateFilterConfig{Objective: j.objective})
	if err != nil {
		return nil, err
	}
	return f, j.weigh(f)
}

func htraa(j job) (webenv.Scheduler, error) {
	return knapsack.NewHTRAA(j.pages, knapsack.HTRAAConfig{}, j.src)
}

func planner(method knapsack.RateMethod) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) {
		cfg := knapsack.PlannerConfig{Budget: j.rate, Objective: j.objective, Method: method}
		p, err := knapsack.NewPlanner(j.pages, cfg, nil)
		if err != nil {
			return nil, err
		}
		return p, j.weigh(p)
	}
}

// weigh tells a learner the weights of its pages, and what a poll of each costs if it can make
// use of that.
func (j job) weigh(learner interface {
	SetWeight(page int, w float64) error
}) error {
	for page, w := range j.weights {
		if err := learner.SetWeight(page, w); err != nil {
			return err
		}
	}
	if payer, ok := learner.(interface {
		SetCost(page int, cost float64) error
	}); ok {
		for page, cost := range j.costs {
			if err := payer.SetCost(page, cost); err != nil {
				return err
			}
		}
	}
	return nil
}

// published is a policy of the literature: polls at random times, for an objective of its own.
func published(objective knapsack.Objective) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) {
		cfg := knapsack.PlannerConfig{Budget: j.rate, Objective: objective, Spacing: knapsack.Random}
		return knapsack.NewPlanner(j.pages, cfg, j.src)
	}
}

// A joiner learns of the pages that are added which of the world's they are. The others
// treat new pages alike.
type joiner interface {
	join(id, page int, now float64) error
}

// foretold has a fixed frequency for each page that is there, or comes later.
type foretold struct {
	*knapsack.Fixed
	frequency func(page int) float64
}

func newForetold(j job, frequency func(page int) float64) (*foretold, error) {
	var x []float64
	for page := range j.pages {
		x = append(x, frequency(page))
	}
	fixed, err := knapsack.NewFixed(x, knapsack.Even, nil)
	return &foretold{fixed, frequency}, err
}

func (f *foretold) join(id, page int, _ float64) error {
	return f.SetFrequency(id, f.frequency(page))
}

// told returns a policy that is told the true rates: a function of them gives the
// frequencies from a time on.
func told(frequencies func(j job, now float64) ([]float64, error)) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) {
		x, err := frequencies(j, j.start)
		if err != nil {
			return nil, err
		}
		fixed, err := newForetold(j, func(page int) float64 { return x[page] })
		if err != nil || j.moves == 0 {
			return fixed, err
		}
		return &oracle{fixed.Fixed, func(now float64) ([]float64, error) { return frequencies(j, now) }, j.moves, j.start + j.moves}, nil
	}
}

// proportional returns frequencies in proportion to the rates of a time, or where there are slots,
// as in Granmo et al. 2006, to the probabilities of a change in a slot.
func (j job) proportional(now float64) ([]float64, error) {
	x := j.rates(now)
	if j.once {
		for i, rate := range x {
			x[i] = -math.Expm1(-rate)
		}
	}
	return x, nil
}

// optimum returns the best frequencies for the rates of a time.
func (j job) optimum(now float64) ([]float64, error) {
	rates := j.rates(now)
	budget := j.rate * (float64(len(rates)) / float64(j.pages)) // that of all pages, with those that come later
	problem := knapsack.Problem{Rates: rates, Weights: j.weights, Costs: j.costs, Budget: budget, Objective: j.objective}
	if j.once { // then polling a page more often is no use
		problem.Upper = slices.Repeat([]float64{1}, j.pages)
		if budget >= float64(j.pages) { // costs are 1 in the mean
			return problem.Upper, nil
		}
	}
	x, _, err := problem.Optimal()
	return x, err
}

// rates returns the true rates of a time, all such as a knapsack.Problem takes.
func (j job) rates(now float64) []float64 {
	rates := j.truth(now)
	for i, r := range rates {
		if rates[i] = min(r, surely); r < never {
			rates[i] = 0
		}
	}
	return rates
}

// surely stands for the infinite rate of a page that changes in each slot. A page with a rate below never
// counts as one that never changes.
const surely, never = 40, 1e-100

// An oracle follows rates that change.
type oracle struct {
	*knapsack.Fixed
	frequencies func(now float64) ([]float64, error)
	moves       float64 // time between two changes of the rates
	next        float64 // time of the next one
}

func (o *oracle) Next(now float64) (page int, err error) {
	if now >= o.next {
		x, err := o.frequencies(now)
		if err != nil {
			return 0, err
		}
		for page, x := range x {
			if err := o.SetFrequency(page, x); err != nil {
				return 0, err
			}
		}
		o.next += o.moves * math.Ceil((now-o.next)/o.moves+0.5)
	}
	return o.Fixed.Next(now)
}

// choose returns the policies named, all if there are no names.
func choose(names string) ([]policy, error) {
	return chosenOf("policies", policies, func(p policy) string { return p.name }, names)
}
