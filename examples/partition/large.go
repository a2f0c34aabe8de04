package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/partition"
)

// large runs what the authors' laptop could not: 30 access points with 100,000 sites
// each, until every site is in its perfect one. The environment here is one byte a
// site and draws nothing, so that the time is the automaton's.
func large(size scale, seed uint64) (rows []report.Row, _ []picture, err error) {
	if size.perArm == 0 {
		return nil, nil, nil
	}
	const arms = 30
	sites := arms * size.perArm
	perfect := make([]uint8, sites)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range perfect {
		perfect[i] = uint8(rng.IntN(arms))
	}
	for _, setting := range []struct {
		name string
		cfg  partition.TWOMAConfig
	}{{"recommended", partition.TWOMAConfig{}}, {"fitted", fitted}} {
		t, err := partition.NewTWOMA(arms, sites, setting.cfg, rand.NewPCG(seed, 2))
		if err != nil {
			return nil, nil, err
		}
		bar := report.NewProgress("3 million sites, TWOMA "+setting.name, sites)
		start := time.Now()
		placed, crawls := 0, 0
		for placed < sites {
			before := placed
			placed = 0
			for site := range sites {
				arm, err := t.Next(site)
				if err != nil {
					return nil, nil, err
				}
				duration := slow
				if arm == int(perfect[site]) {
					duration = fast
					placed++
				}
				if err := t.Observe(site, duration); err != nil {
					return nil, nil, err
				}
			}
			crawls++
			bar.Add(placed - before)
		}
		access := time.Since(start).Seconds() / float64(crawls) / float64(sites)
		bar.Done()
		pass := barePass(sites).Seconds() / float64(sites)
		item := fmt.Sprintf("%d access points, %d sites: TWOMA %s", arms, sites, setting.name)
		row := func(quantity, unit string, value float64) {
			rows = append(rows, report.Row{Source: thesis + ", section 6.2", Item: item, Quantity: quantity, Unit: unit, Measured: value, Runs: 1})
		}
		row("crawls until all sites are placed", "crawls", float64(crawls))
		row("time of an access", "ns", access*1e9)
		row("time of an access over that of a bare pass over the state", "1", access/pass)
		row("state", "bytes a site", 2)
	}
	return rows, nil, nil
}

// barePass times reading and writing two bytes of each site in order.
func barePass(sites int) time.Duration {
	arm, depth := make([]uint8, sites), make([]uint8, sites)
	const passes = 20
	start := time.Now()
	for range passes {
		for i := range arm {
			depth[i] += arm[i] + 1
		}
	}
	return time.Since(start) / passes
}
