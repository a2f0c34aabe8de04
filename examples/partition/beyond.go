package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

var learners = []maker{twomaFitted, twomaRecommended, assigner}

// noise runs 300 crawls under noise of a size that no scheme is told.
func noise(size scale, seed uint64) (rows []report.Row, pictures []picture, err error) {
	for _, n := range []struct {
		name   string
		change func(*webenv.DurationsConfig)
	}{
		{"exact durations", func(c *webenv.DurationsConfig) {}},
		{"±20 %", func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 }},
		{"Gaussian, sd 0.3 of the gap", func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.GaussianNoise, 0.3 }},
		{"exponential", func(c *webenv.DurationsConfig) { c.Noise = webenv.ExponentialNoise }},
		{"exact, all perfect points switch after crawl 150", func(c *webenv.DurationsConfig) {
			c.Every, c.AllSwitch = 150, true
		}},
		{"±20 %, all switch after crawl 150", func(c *webenv.DurationsConfig) {
			c.Noise, c.Scatter, c.Every, c.AllSwitch = webenv.UniformNoise, 0.2, 150, true
		}},
		{"Gaussian, all switch after crawl 150", func(c *webenv.DurationsConfig) {
			c.Noise, c.Scatter, c.Every, c.AllSwitch = webenv.GaussianNoise, 0.3, 150, true
		}},
	} {
		cfg := environment(8, size.sites)
		n.change(&cfg)
		chart := report.Chart{Title: n.name, X: "crawl", Y: "share of the sites placed"}
		for _, m := range learners {
			var placed, excess, after []float64
			var curve [][]float64
			for k := range uint64(size.runs) {
				all, err := crawls(m, cfg, seed*1000+k, nCrawls(300))
				if err != nil {
					return nil, nil, err
				}
				share := make([]float64, len(all))
				more := 0.0
				for c, now := range all {
					share[c] = float64(now.Placed) / float64(cfg.Sites)
					more += (now.Mean - now.Perfect) / float64(cfg.Sites)
				}
				placed, excess, after = append(placed, share[299]), append(excess, more), append(after, share[170])
				curve = append(curve, share)
			}
			item := fmt.Sprintf("%d sites, %s: %s", cfg.Sites, n.name, m.name)
			rows = append(rows,
				report.Row{Source: "recrawl", Item: item, Quantity: "placed in crawl 300", Unit: "1"}.Sample(placed),
				report.Row{Source: "recrawl", Item: item, Quantity: "time beyond the perfect access points", Unit: "time units a site"}.Sample(excess))
			if cfg.Every > 0 {
				rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: "placed 20 crawls after the switch", Unit: "1"}.Sample(after))
			}
			mean := report.MeanCurve(curve)
			chart.Series = append(chart.Series, report.Series{Name: m.name, X: upTo(len(mean)), Y: mean})
		}
		pictures = append(pictures, picture{fmt.Sprintf("noise-%d", len(pictures)+1), fmt.Sprintf("8 access points, %d sites", cfg.Sites), chart})
	}
	return rows, pictures, nil
}

// congestion runs access points of different resources whose durations grow with
// their load.
func congestion(size scale, seed uint64) (rows []report.Row, pictures []picture, err error) {
	for _, growth := range []float64{0.5, 2} {
		cfg := environment(8, size.sites)
		cfg.Noise, cfg.Scatter, cfg.Congestion = webenv.UniformNoise, 0.2, growth
		cfg.Resources = []float64{1, 1, 1, 1, 2, 2, 2, 2}
		chart := report.Chart{Title: fmt.Sprintf("Durations that grow with the load, by %v", growth), X: "crawl", Y: "total duration over the social optimum (ratio)"}
		for _, m := range append([]maker{uniformScheme}, learners...) {
			var ratio []float64
			var curve [][]float64
			for k := range uint64(size.runs) {
				web, err := webenv.NewDurations(cfg, rand.NewPCG(seed*1000+k, 1))
				if err != nil {
					return nil, nil, err
				}
				optimum, _ := web.Optimum()
				all, err := crawls(m, cfg, seed*1000+k, nCrawls(200))
				if err != nil {
					return nil, nil, err
				}
				over := make([]float64, len(all))
				late := 0.0
				for c, now := range all {
					over[c] = now.Mean / optimum
					if c >= 100 {
						late += over[c] / 100
					}
				}
				ratio, curve = append(ratio, late), append(curve, over)
			}
			rows = append(rows, report.Row{Source: "recrawl", Item: fmt.Sprintf("%d sites, two sizes of access points, congestion %v: %s", cfg.Sites, growth, m.name),
				Quantity: "total over the social optimum, crawls 101 to 200", Unit: "1"}.Sample(ratio))
			mean := report.MeanCurve(curve)
			chart.Series = append(chart.Series, report.Series{Name: m.name, X: upTo(len(mean)), Y: mean})
		}
		pictures = append(pictures, picture{fmt.Sprintf("congestion-%v", growth), "Durations that grow with the load", chart})
	}
	return rows, pictures, nil
}

// capacity gives one of four access points the time for a tenth of the sites, where a
// quarter are fastest from it; every second site is expected to have three times the updates.
func capacity(size scale, seed uint64) (rows []report.Row, _ []picture, err error) {
	var used, heavy, light []float64
	for k := range uint64(size.runs) {
		cfg := environment(4, size.sites)
		cfg.Noise, cfg.Scatter = webenv.UniformNoise, 0.2
		web, err := webenv.NewDurations(cfg, rand.NewPCG(seed*1000+k, 1))
		if err != nil {
			return nil, nil, err
		}
		hours := cfg.Perfect * float64(cfg.Sites) / 10
		limited := partition.AssignerConfig{Capacity: []float64{hours, math.Inf(1), math.Inf(1), math.Inf(1)}}
		a, err := partition.NewAssigner(4, cfg.Sites, limited, rand.NewPCG(seed*1000+k, 2))
		if err != nil {
			return nil, nil, err
		}
		for site := 0; site < cfg.Sites; site += 2 {
			if err := a.SetWeight(site, 3); err != nil {
				return nil, nil, err
			}
		}
		for range 150 {
			if _, err := crawl(a, web); err != nil {
				return nil, nil, err
			}
		}
		_, time, err := a.Load(0)
		if err != nil {
			return nil, nil, err
		}
		counts := [2]float64{}
		for site := range cfg.Sites {
			if arm, err := a.Next(site); err != nil {
				return nil, nil, err
			} else if arm == 0 {
				counts[site%2]++
			}
		}
		used = append(used, time/hours)
		heavy, light = append(heavy, counts[0]), append(light, counts[1])
	}
	item := fmt.Sprintf("%d sites, one of four access points with hours for a tenth: assigner", size.sites)
	return []report.Row{
		report.Row{Source: "recrawl", Item: item, Quantity: "hours used", Unit: "1"}.Sample(used),
		report.Row{Source: "recrawl", Item: item, Quantity: "sites there of weight 3", Unit: "sites"}.Sample(heavy),
		report.Row{Source: "recrawl", Item: item, Quantity: "sites there of weight 1", Unit: "sites"}.Sample(light),
	}, nil, nil
}
