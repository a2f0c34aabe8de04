package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/partition"
)

// The suite has 500 sites for 100 crawls, and eight access points unless -arms says otherwise.
// Durations are lognormal around a mean for each pair of site and access point.
const (
	suiteSites  = 500
	suiteCrawls = 100
	goneAt      = 40 // crawl from which on an access point is gone
)

// A suiteWorld is what happens in a world of the suite.
type suiteWorld struct {
	name                                        string
	diurnal, outages, congestion, changes, gone bool
	told                                        bool // outages are told, where the scheme can be told
}

var suiteWorlds = []suiteWorld{
	{name: "nothing changes"},
	{name: "the rhythm of the day", diurnal: true},
	{name: "outages", outages: true},
	{name: "outages, told", outages: true, told: true},
	{name: "congestion", congestion: true},
	{name: "20 % of the sites change, twice", changes: true},
	{name: "all of these", diurnal: true, outages: true, congestion: true, changes: true},
	{name: "an access point is gone for good", gone: true},
}

// suiteNoises are the spreads of the logarithms of durations, and of means over the access
// points; 0 for one perfect access point for each site and 2.17 times its mean elsewhere.
var suiteNoises = []struct{ noise, spread float64 }{{.3, .4}, {.5, 0}, {.8, .5}}

// sites are the sites of a suiteWorld in one run.
type suiteRun struct {
	what          suiteWorld
	noise, spread float64
	rng           *rand.Rand
	arms          int
	mean          [][]float64 // of each site from each access point
	phase         []float64
	down          [suiteCrawls][]bool
	load          []int
}

func newSuiteRun(what suiteWorld, arms int, noise, spread float64, rng *rand.Rand) *suiteRun {
	r := &suiteRun{what: what, noise: noise, spread: spread, rng: rng, arms: arms, mean: make([][]float64, suiteSites),
		phase: make([]float64, arms), load: make([]int, arms)}
	for c := range r.down {
		r.down[c] = make([]bool, arms)
	}
	for i := range r.mean {
		r.mean[i] = make([]float64, arms)
		r.draw(i)
	}
	for j := range r.phase {
		r.phase[j] = rng.Float64()
		r.load[j] = suiteSites / arms
	}
	if what.outages { // six, of three to ten crawls
		for range 6 {
			j, from, crawls := rng.IntN(arms), 8+rng.IntN(suiteCrawls-8), 3+rng.IntN(8)
			for c := from; c < min(suiteCrawls, from+crawls); c++ {
				r.down[c][j] = true
			}
		}
	}
	if what.gone {
		j := rng.IntN(arms)
		for c := goneAt; c < suiteCrawls; c++ {
			r.down[c][j] = true
		}
	}
	return r
}

// draw draws the means of a site.
func (r *suiteRun) draw(i int) {
	base := 10 * math.Exp(.5*r.rng.NormFloat64())
	for j := range r.mean[i] {
		r.mean[i][j] = 2.17 * base
		if r.spread > 0 {
			r.mean[i][j] = base * math.Exp(r.spread*r.rng.NormFloat64())
		}
	}
	if r.spread == 0 {
		r.mean[i][r.rng.IntN(r.arms)] = base
	}
}

// factor is what the mean durations from an access point are multiplied by.
func (r *suiteRun) factor(crawl, arm int) float64 {
	f := 1.0
	if r.what.diurnal {
		f += .5 * math.Sin(2*math.Pi*(float64(crawl)/24+r.phase[arm]))
	}
	if r.what.congestion {
		f *= 1 + float64(r.load[arm]*r.arms)/(2*suiteSites)
	}
	return f
}

// crawl accesses every site once and returns the mean of all durations, of what they would
// be from the fastest access point that is up. Means are counted and not the durations
// themselves, whose noise nobody can help.
func (r *suiteRun) crawl(c int, s rival) (excess float64, err error) {
	if r.what.changes && (c == 30 || c == 60) {
		for i := range r.mean {
			if r.rng.Float64() < .2 {
				r.draw(i)
			}
		}
	}
	if a, ok := s.(*partition.Assigner); ok && r.what.told {
		for j := range r.arms {
			crawls := 0
			for d := c; d < suiteCrawls && r.down[d][j]; d++ {
				crawls++
			}
			if err := a.Defer(j, crawls); err != nil {
				return 0, err
			}
		}
	}
	const timeout = 100.
	total, best, load := 0.0, 0.0, make([]int, r.arms)
	for i := range r.mean {
		arm, err := s.Next(i)
		if err != nil {
			return 0, err
		}
		load[arm]++
		least := math.Inf(1)
		for j := range r.arms {
			if !r.down[c][j] {
				least = min(least, r.mean[i][j]*r.factor(c, j))
			}
		}
		mean := r.mean[i][arm] * r.factor(c, arm)
		took := mean * math.Exp(float64(r.noise*r.rng.NormFloat64())-r.noise*r.noise/2)
		if r.down[c][arm] {
			mean, took = timeout, timeout
		}
		if err := s.Observe(i, took); err != nil {
			return 0, err
		}
		total, best = total+mean, best+least
	}
	r.load = load
	return total/best - 1, nil
}

// A rival is a scheme of the suite.
type rival interface {
	Next(site int) (int, error)
	Observe(site int, duration float64) error
}

// bestMean tries every access point once, in random order, and then uses the one with the
// best mean: what serves best where nothing changes.
type bestMean struct {
	sum, count [][]float64 // by site and access point
	at         []int
	rng        *rand.Rand
}

func (b *bestMean) Next(site int) (int, error) {
	arm, ties := -1, 0
	for j, n := range b.count[site] {
		if n == 0 {
			if ties++; b.rng.IntN(ties) == 0 {
				arm = j
			}
		}
	}
	if arm < 0 {
		least := math.Inf(1)
		for j, n := range b.count[site] {
			if mean := b.sum[site][j] / n; mean < least {
				arm, least = j, mean
			}
		}
	}
	b.at[site] = arm
	return arm, nil
}

func (b *bestMean) Observe(site int, duration float64) error {
	b.sum[site][b.at[site]] += duration
	b.count[site][b.at[site]]++
	return nil
}

var rivals = []struct {
	name string
	make func(arms int, src rand.Source) (rival, error)
}{
	{"assigner", func(arms int, src rand.Source) (rival, error) {
		return partition.NewAssigner(arms, suiteSites, partition.AssignerConfig{}, src)
	}},
	{"each once, then the best mean", func(arms int, src rand.Source) (rival, error) {
		b := &bestMean{at: make([]int, suiteSites), rng: rand.New(src)}
		for range suiteSites {
			b.sum, b.count = append(b.sum, make([]float64, arms)), append(b.count, make([]float64, arms))
		}
		return b, nil
	}},
	{"TWOMA recommended", func(arms int, src rand.Source) (rival, error) {
		return partition.NewTWOMA(arms, suiteSites, partition.TWOMAConfig{}, src)
	}},
}

// runSuite runs all rivals in all worlds.
func runSuite(p *report.Program, arms int) error {
	if arms < 2 {
		return report.Usagef("-arms %d: at least 2", arms)
	}
	runs := 10
	if p.Quick {
		runs = 1
	}
	if err := p.Start("half a minute on one core"); err != nil {
		return err
	}
	for _, what := range suiteWorlds {
		var rows []report.Row
		for _, n := range suiteNoises {
			for _, s := range rivals {
				var all, late []float64
				for k := range uint64(runs) {
					run := newSuiteRun(what, arms, n.noise, n.spread, rand.New(rand.NewPCG(p.Seed*1000+k, 3)))
					scheme, err := s.make(arms, rand.NewPCG(p.Seed*1000+k, 4))
					if err != nil {
						return err
					}
					sum, after := 0.0, 0.0
					for c := range suiteCrawls {
						excess, err := run.crawl(c, scheme)
						if err != nil {
							return fmt.Errorf("%s, %s: %w", what.name, s.name, err)
						}
						sum += excess / suiteCrawls
						if c >= goneAt && c < goneAt+20 {
							after += excess / 20
						}
					}
					all, late = append(all, sum), append(late, after)
				}
				item := fmt.Sprintf("noise %v, spread %v: %s", n.noise, n.spread, s.name)
				rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: "time beyond the fastest that is up", Unit: "1"}.Sample(all))
				if what.gone || what == suiteWorlds[0] {
					rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: "the same, crawls 41 to 60", Unit: "1"}.Sample(late))
				}
			}
		}
		if err := p.Print(what.name, rows); err != nil {
			return err
		}
	}
	return p.End()
}
