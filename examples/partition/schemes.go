package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

// fitted are the settings of TWOMA that come close to the crawls published in its report, see
// examples/papers.
var fitted = partition.TWOMAConfig{Entry: 4, AnyArm: true, LastCrawl: true}

// maker makes a scheme for a number of access points and sites.
type maker struct {
	name string
	make func(arms, sites int, src rand.Source) (webenv.Chooser, error)
}

var (
	uniformScheme = maker{"uniform", func(arms, _ int, _ rand.Source) (webenv.Chooser, error) {
		return partition.RoundRobin(arms), nil
	}}
	twomaFitted = maker{"TWOMA fitted", func(arms, sites int, src rand.Source) (webenv.Chooser, error) {
		return partition.NewTWOMA(arms, sites, fitted, src)
	}}
	twomaRecommended = maker{"TWOMA recommended", func(arms, sites int, src rand.Source) (webenv.Chooser, error) {
		return partition.NewTWOMA(arms, sites, partition.TWOMAConfig{}, src)
	}}
	assigner = maker{"assigner", func(arms, sites int, src rand.Source) (webenv.Chooser, error) {
		return partition.NewAssigner(arms, sites, partition.AssignerConfig{}, src)
	}}
)

// crawl accesses every site once.
func crawl(s webenv.Chooser, web *webenv.Durations) (webenv.Crawl, error) {
	c, err := web.Crawl(s)
	c.Duration = math.Round(c.Duration*1e6) / 1e6 // or the order of the sites shows
	return c, err
}

// crawls runs a scheme in an environment, crawl by crawl, until done says so.
func crawls(m maker, cfg webenv.DurationsConfig, seed uint64, done func(webenv.Crawl) bool) ([]webenv.Crawl, error) {
	web, err := webenv.NewDurations(cfg, rand.NewPCG(seed, 1))
	if err != nil {
		return nil, err
	}
	s, err := m.make(cfg.Arms, cfg.Sites, rand.NewPCG(seed, 2))
	if err != nil {
		return nil, err
	}
	var all []webenv.Crawl
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
func nCrawls(n int) func(webenv.Crawl) bool {
	return func(webenv.Crawl) bool { n--; return n == 0 }
}

// The mean durations from a perfect access point and from any other, which fit the totals that the
// papers publish: the defaults of webenv.DurationsConfig.
const fast, slow = 24.7, 53.6

// environment is the papers', with exact durations.
func environment(arms, sites int) webenv.DurationsConfig {
	return webenv.DurationsConfig{Arms: arms, Sites: sites, Perfect: fast, Other: slow}
}

// upTo returns 1, 2, …, n.
func upTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}
