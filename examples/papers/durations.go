package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

// What the paper on access points and its report share: a scheme crawls sites that take time.

// A scheme makes a chooser for a number of access points and sites.
type scheme struct {
	name, short string // in rows, and in charts
	make        func(arms, sites int, src rand.Source) (webenv.Chooser, error)
}

func twoma(name, short string, cfg partition.TWOMAConfig) scheme {
	return scheme{name, short, func(arms, sites int, src rand.Source) (webenv.Chooser, error) {
		return partition.NewTWOMA(arms, sites, cfg, src)
	}}
}

// The readings of the rule, and the settings that were fitted to the published crawls.
var (
	uniformScheme = scheme{"uniform", "uniform", func(arms, _ int, _ rand.Source) (webenv.Chooser, error) { return partition.RoundRobin(arms), nil }}
	atBoundary    = twoma("text, entry at the boundary", "boundary", partition.TWOMAConfig{LastCrawl: true})
	atFour        = twoma("text, entry 4 penalties deep", "entry 4", partition.TWOMAConfig{Entry: 4, LastCrawl: true})
	atInnermost   = twoma("text, entry in the most internal state", "innermost", partition.TWOMAConfig{Entry: 5, LastCrawl: true})
	fittedScheme  = twoma("fitted: any arm, entry 4", "fitted", fittedConfig)
	ofHistory     = twoma("text, entry at the boundary, average of all crawls", "boundary, all crawls", partition.TWOMAConfig{})
	assigner      = scheme{"Assigner", "Assigner", func(arms, sites int, src rand.Source) (webenv.Chooser, error) {
		return partition.NewAssigner(arms, sites, partition.AssignerConfig{}, src)
	}}
	fittedConfig = partition.TWOMAConfig{Entry: 4, AnyArm: true, LastCrawl: true}

	textual = []scheme{atBoundary, atFour, atInnermost}
)

// The mean durations of webenv.DurationsConfig, from a perfect access point and from any other.
// They were fitted to the totals that the report gives.
const fast, slow = 24.7, 53.6

// crawls lets a scheme crawl until done says so, or 20,000 times.
func (l *lab) crawls(s scheme, cfg webenv.DurationsConfig, run int, done func(webenv.Crawl) bool) ([]webenv.Crawl, error) {
	web, err := webenv.NewDurations(cfg, l.source(run, 1))
	if err != nil {
		return nil, err
	}
	c, err := s.make(web.Arms(), web.Len(), l.source(run, 2))
	if err != nil {
		return nil, err
	}
	var all []webenv.Crawl
	for len(all) < 20_000 {
		account, err := web.Crawl(c)
		if err != nil {
			return nil, err
		}
		account.Duration = math.Round(account.Duration*1e6) / 1e6 // or the order of the sites shows
		if all = append(all, account); done(account) {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: not done after %d crawls", s.name, len(all))
}

// after is a done for crawls that ends after n.
func after(n int) func() func(webenv.Crawl) bool {
	return func() func(webenv.Crawl) bool {
		left := n
		return func(webenv.Crawl) bool { left--; return left == 0 }
	}
}

// allPlaced ends when all sites are in their perfect access points.
func allPlaced() func(webenv.Crawl) bool {
	return func(c webenv.Crawl) bool { return c.Placed == c.Sites }
}

// crawlAll repeats crawls.
func (l *lab) crawlAll(s scheme, cfg webenv.DurationsConfig, runs int, done func() func(webenv.Crawl) bool) ([][]webenv.Crawl, error) {
	label := fmt.Sprintf("%d access points, %d sites: %s", cfg.Arms, cfg.Sites, s.name)
	return replicate(label, runs, func(run int) ([]webenv.Crawl, error) { return l.crawls(s, cfg, run, done()) })
}

// number returns the number of crawls.
func number(c []webenv.Crawl) float64 { return float64(len(c)) }

// totals returns the total duration of each crawl.
func totals(c []webenv.Crawl) []float64 {
	return each(c, func(c webenv.Crawl) float64 { return c.Duration })
}

// near returns the number of the first crawl whose total is within 5 % of that of the last.
func near(c []webenv.Crawl) float64 {
	last := c[len(c)-1].Duration
	return float64(1 + slices.IndexFunc(c, func(c webenv.Crawl) bool { return c.Duration <= 1.05*last }))
}

// totalsChart draws the totals of some schemes crawl by crawl.
func totalsChart(title string, schemes []scheme, all [][][]webenv.Crawl) report.Chart {
	chart := report.Chart{Title: title, X: "crawl", Y: "total duration of a crawl (time units)"}
	for k, scheme := range schemes {
		y := report.MeanCurve(each(all[k], totals))
		s := report.Series{Name: scheme.short, X: steps(len(y), 1), Y: y, Dashed: scheme.name == uniformScheme.name, Main: scheme.name != atFour.name && scheme.name != fittedScheme.name}
		if s.Dashed && len(y) < 100 {
			s.X, s.Y = []float64{1, 100}, []float64{y[0], y[0]}
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}
