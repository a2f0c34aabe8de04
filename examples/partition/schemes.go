package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

// A scheme says from which access point to access a site, and is told how long it took:
// every type of package partition that assigns sites.
type scheme interface {
	Next(site int) (arm int, err error)
	Observe(site int, duration float64) error
}

// fitted are the settings of TWOMA that come close to figure 5.3-7 of the report.
var fitted = partition.TWOMAConfig{Entry: 4, NewArm: partition.AnyArm, Average: partition.LastCrawl}

// maker makes a scheme for a number of access points and sites.
type maker struct {
	name string
	make func(arms, sites int, src rand.Source) (scheme, error)
}

var (
	uniformScheme = maker{"uniform", func(arms, _ int, _ rand.Source) (scheme, error) {
		return partition.RoundRobin(arms), nil
	}}
	twomaFitted = maker{"TWOMA fitted", func(arms, sites int, src rand.Source) (scheme, error) {
		return partition.NewTWOMA(arms, sites, fitted, src)
	}}
	twomaRecommended = maker{"TWOMA recommended", func(arms, sites int, src rand.Source) (scheme, error) {
		return partition.NewTWOMA(arms, sites, partition.TWOMAConfig{}, src)
	}}
	assigner = maker{"assigner", func(arms, sites int, src rand.Source) (scheme, error) {
		return partition.NewAssigner(arms, sites, partition.AssignerConfig{}, src)
	}}
)

// One crawl, as its sites see it.
type crawled struct {
	placed  int     // sites in their perfect access points
	total   float64 // of the measured durations
	mean    float64 // total of the mean durations
	perfect float64 // the same, had each been accessed from its perfect access point
}

// crawl accesses every site once: ask, access, tell.
func crawl(s scheme, web *webenv.Durations) (c crawled, err error) {
	for site := range web.Len() {
		arm, err := s.Next(site)
		if err != nil {
			return c, err
		}
		duration := web.Access(site, arm)
		if err := s.Observe(site, duration); err != nil {
			return c, err
		}
		c.total += duration
		c.mean += web.Mean(site, arm)
		c.perfect += web.Mean(site, web.Perfect(site))
		if arm == web.Perfect(site) {
			c.placed++
		}
	}
	web.EndCrawl()
	c.total = math.Round(c.total*1e6) / 1e6 // or the order of the sites shows
	return c, nil
}

// crawls runs a scheme in an environment, crawl by crawl, until done says so.
func crawls(m maker, cfg webenv.DurationsConfig, seed uint64, done func(crawled) bool) ([]crawled, error) {
	web, err := webenv.NewDurations(cfg, rand.NewPCG(seed, 1))
	if err != nil {
		return nil, err
	}
	s, err := m.make(cfg.Arms, cfg.Sites, rand.NewPCG(seed, 2))
	if err != nil {
		return nil, err
	}
	var all []crawled
	for {
		c, err := crawl(s, web)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if done(c) {
			return all, nil
		}
		if len(all) == 20_000 {
			return nil, fmt.Errorf("%s: not done after %d crawls", m.name, len(all))
		}
	}
}

// nCrawls is a done for crawls that ends after n.
func nCrawls(n int) func(crawled) bool {
	return func(crawled) bool { n--; return n == 0 }
}

// environment is the papers', with exact durations.
func environment(arms, sites int) webenv.DurationsConfig {
	cfg := webenv.PaperDurations
	cfg.Arms, cfg.Sites = arms, sites
	return cfg
}
