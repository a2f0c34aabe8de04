package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

const (
	paper  = "Chen, Wang & Olsen 2006"
	thesis = "Chen & Wang 2006"
)

// What the report prints. Zeros stand for what it does not.
var settings = []struct {
	figure         string
	arms, sites    int
	crawls         float64 // until all sites are placed (figure 5.3-7)
	near           float64 // until the total has all but come down
	uniform, final float64
	note           string
}{
	{"5.3-1", 3, 900, 74, 25, 40_000, 22_000, ""},
	{"5.3-2", 3, 3000, 90, 40, 130_000, 75_000, ""},
	{"5.3-3", 5, 1500, 116, 0, 0, 0, ""},
	{"5.3-4", 5, 5000, 145, 0, 0, 0, ""},
	{"5.3-5", 8, 5000, 263, 0, 0, 0, ""},
	{"5.3-6", 8, 10_000, 299, 0, 0, 0, " in all"},
	{"5.3-6", 8, 80_000, 299, 0, 0, 0, " (10,000 for each, as printed)"},
	{"5.3-7", 15, 0, 0, 0, 0, 0, ""}, // as many sites as the scale says
}

// published runs the static experiments of both papers.
func published(size scale, seed uint64) (rows []report.Row, pictures []picture, err error) {
	for _, s := range settings {
		if s.sites == 0 {
			s.sites = size.wide
		}
		if s.sites == 80_000 && size.perArm == 0 {
			continue
		}
		item := fmt.Sprintf("%d access points, %d sites%s", s.arms, s.sites, s.note)
		source := thesis + ", figure " + s.figure
		small := s.arms == 8 && s.sites == 10_000 // of figure 2 too
		chart := report.Chart{Title: item, X: "crawl", Y: "total duration of a crawl (time units)"}
		for _, m := range []maker{uniformScheme, twomaFitted, twomaRecommended, assigner} {
			var needed, near, final []float64
			var curve [][]float64
			for k := range uint64(size.runs) {
				done := func(c webenv.Crawl) bool { return c.Placed == s.sites }
				if m.name == uniformScheme.name {
					done = nCrawls(2)
				}
				all, err := crawls(m, environment(s.arms, s.sites), seed*1000+k, done)
				if err != nil {
					return nil, nil, err
				}
				needed = append(needed, float64(len(all)))
				last := all[len(all)-1].Duration
				final = append(final, last)
				near = append(near, float64(1+slices.IndexFunc(all, func(c webenv.Crawl) bool { return c.Duration <= 1.05*last })))
				curve = append(curve, totals(all))
			}
			row := func(figure, quantity, unit string, published float64, values []float64) {
				r := report.Row{Source: "recrawl", Item: item + ": " + m.name, Quantity: quantity, Unit: unit}
				if m.name == uniformScheme.name || m.name == twomaFitted.name {
					r.Source = figure
					if published > 0 {
						r.Published = published
					}
				}
				rows = append(rows, r.Sample(values))
			}
			mean := average(curve)
			series := report.Series{Name: m.name, X: upTo(len(mean)), Y: mean}
			if m.name == uniformScheme.name {
				row(source, "total duration of a crawl", "time units", s.uniform, final)
				series.X, series.Dashed = []float64{1, 100}, true
			} else {
				row(thesis+", figure 5.3-7", allPlaced, "crawls", s.crawls, needed)
				row(source, "crawls until the total is within 5 % of the last", "crawls", s.near, near)
				row(source, "total duration of the last crawl", "time units", s.final, final)
			}
			chart.Series = append(chart.Series, series)
			figures := []string{source}
			if small {
				figures = append(figures, paper+", figure 2")
			}
			for _, figure := range figures {
				rows = append(rows, report.Row{Source: figure, Item: item + ": " + m.name, Quantity: "total duration, crawl by crawl",
					Unit: "time units", Measured: mean, Runs: size.runs})
			}
		}
		name := fmt.Sprintf("figure-%s-%dx%d", s.figure, s.arms, s.sites)
		pictures = append(pictures, picture{name, source, chart})
		if small {
			pictures = append(pictures, picture{"figure-2", paper + ", figure 2", chart})
		}
	}
	row, chart := figure4(rows)
	return append(rows, row), append(pictures, picture{"figure-4", row.Source, chart}), nil
}

const allPlaced = "crawls until all sites are placed"

// figure4 puts the crawls of all settings beside each other, in the order of the table.
func figure4(rows []report.Row) (report.Row, report.Chart) {
	var x, measured, printed []float64
	runs := 0
	for _, r := range rows {
		if r.Quantity == allPlaced && r.Published != nil {
			x = append(x, float64(len(x)+1))
			measured, printed = append(measured, r.Measured.(float64)), append(printed, r.Published.(float64))
			runs = r.Runs
		}
	}
	return report.Row{Source: paper + ", figure 4", Item: "TWOMA fitted, settings in the order of the table", Quantity: allPlaced,
			Unit: "crawls", Published: printed, Measured: measured, Runs: runs},
		report.Chart{Title: "Crawls until all sites are placed", X: "setting, in the order of the table", Y: "crawls", Series: []report.Series{
			{Name: "TWOMA fitted, measured", X: x, Y: measured},
			{Name: "printed, figure 5.3-7", X: x, Y: printed, Dashed: true},
		}}
}

// changing runs the dynamic experiments: the perfect access points are drawn anew
// every T crawls. The papers print curves, and no numbers.
func changing(size scale, seed uint64) (rows []report.Row, pictures []picture, err error) {
	for _, s := range []struct {
		source string
		every  int
	}{{thesis + ", figure 5.3-8", 30}, {thesis + ", figure 5.3-8", 50}, {paper + ", figure 3", 100}} {
		cfg := environment(8, size.changing)
		cfg.Every = s.every
		chart := report.Chart{Title: fmt.Sprintf("Perfect access points drawn anew every %d crawls", s.every), X: "crawl", Y: "total duration of a crawl (time units)"}
		for _, m := range []maker{uniformScheme, twomaFitted, twomaRecommended, assigner} {
			item := fmt.Sprintf("8 access points, %d sites, change every %d crawls: %s", cfg.Sites, s.every, m.name)
			var before, gain []float64
			var curve [][]float64
			for k := range uint64(size.runs) {
				all, err := crawls(m, cfg, seed*1000+k, nCrawls(4*s.every))
				if err != nil {
					return nil, nil, err
				}
				atEnd, mean := 0.0, 0.0
				for c, now := range all {
					mean += now.Duration / now.Perfect / float64(len(all))
					if c%s.every == s.every-1 {
						atEnd += now.Duration / now.Perfect / 4
					}
				}
				before, gain = append(before, atEnd), append(gain, mean)
				curve = append(curve, totals(all))
			}
			rows = append(rows,
				report.Row{Source: s.source, Item: item, Quantity: "total over the optimum, last crawl before a change", Unit: "1"}.Sample(before),
				report.Row{Source: s.source, Item: item, Quantity: "total over the optimum, all crawls", Unit: "1"}.Sample(gain))
			mean := average(curve)
			rows = append(rows, report.Row{Source: s.source, Item: item, Quantity: "total duration, crawl by crawl", Unit: "time units",
				Measured: mean, Runs: size.runs})
			chart.Series = append(chart.Series, report.Series{Name: m.name, X: upTo(len(mean)), Y: mean, Dashed: m.name == uniformScheme.name})
		}
		pictures = append(pictures, picture{fmt.Sprintf("changing-%d", s.every), s.source, chart})
	}
	return rows, pictures, nil
}

// pairwise runs the report's variant, which accesses sites in pairs: random ones here.
func pairwise(size scale, seed uint64) (rows []report.Row, _ []picture, err error) {
	for _, s := range settings {
		if s.crawls == 0 || s.sites == 80_000 {
			continue
		}
		var needed, placed []float64
		for k := range uint64(size.runs) {
			cfg := environment(s.arms, s.sites)
			cfg.Balanced = true // or the last ones find no room
			most, last, err := pairRun(cfg, seed*1000+k, 300)
			if err != nil {
				return nil, nil, err
			}
			needed, placed = append(needed, most), append(placed, last)
		}
		item := fmt.Sprintf("%d access points, %d sites: pair-wise TWOMA", s.arms, s.sites)
		rows = append(rows,
			report.Row{Source: thesis + ", section 5.2", Item: item, Quantity: "crawls until 95 % are placed", Unit: "crawls"}.Sample(needed),
			report.Row{Source: thesis + ", section 5.2", Item: item, Quantity: "placed after 300 crawls", Unit: "1"}.Sample(placed))
	}
	return rows, nil, nil
}

// pairRun returns the crawls until 95 % of the sites were placed, and the share after all.
func pairRun(cfg webenv.DurationsConfig, seed uint64, crawls int) (most, last float64, err error) {
	web, err := webenv.NewDurations(cfg, rand.NewPCG(seed, 1))
	if err != nil {
		return 0, 0, err
	}
	pairs, err := partition.NewPairTWOMA(cfg.Arms, cfg.Sites, partition.PairTWOMAConfig{})
	if err != nil {
		return 0, 0, err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for c := range crawls {
		placed := 0
		for _, site := range rng.Perm(cfg.Sites) { // two by two, they are a pair
			arm, err := pairs.Next(site)
			if err != nil {
				return 0, 0, err
			}
			if arm == web.Perfect(site) {
				placed++
			}
			if err := pairs.Observe(site, web.Access(site, arm)); err != nil {
				return 0, 0, err
			}
		}
		last = float64(placed) / float64(cfg.Sites)
		if most == 0 && last >= 0.95 {
			most = float64(c + 1)
		}
	}
	return most, last, nil
}

func totals(all []webenv.Crawl) []float64 {
	v := make([]float64, len(all))
	for c := range all {
		v[c] = all[c].Duration
	}
	return v
}

// average returns the mean of curves, point by point; one that ended keeps its last value.
func average(curves [][]float64) []float64 {
	longest := 0
	for _, c := range curves {
		longest = max(longest, len(c))
	}
	mean := make([]float64, longest)
	for _, c := range curves {
		for x := range mean {
			mean[x] += c[min(x, len(c)-1)] / float64(len(curves))
		}
	}
	return mean
}

// upTo returns 1, 2, …, n.
func upTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}
