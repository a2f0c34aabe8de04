package main

import (
	"fmt"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

var chen = paper{
	id: "chen", name: "Chen, Wang, Olsen 2006",
	title:  "Towards distribution of web sites in a crawler used for large scale web accessibility assessment",
	places: []string{"table 1", "figure 1", "figure 2", "figure 3", "figure 4"},
	about: "The figures are curves and bars without numbers; those that are often quoted with figure 4 are the report's, next. " +
		"The text says that an object which leaves its arm draws from the other arms, and leaves open in which state it enters one. All entries are shown. " +
		"In the environment that section 3.1 describes, where sites differ, TWOMA stalls in every reading; no figure of the paper uses it.",
	parts: []part{
		{"chen-static", "figures 1, 2 and 4", 25 * time.Second, chenStatic},
		{"chen-dynamic", "figure 3", 25 * time.Second, chenDynamic},
		{"chen-sizes", "the environment of section 3.1", 15 * time.Second, chenSizes},
	},
}

// tens is a setting of the paper: 10,000 sites, as the EIAO is to crawl, on 8 access points.
func tens(l *lab) webenv.DurationsConfig {
	return webenv.DurationsConfig{Arms: 8, Sites: pick(l, 2000, 10_000), Perfect: fast, Other: slow}
}

// A setting is one of the experiments.
type setting struct {
	place          string
	arms, sites    int
	crawls         float64 // until all are placed
	source         string  // where the report states it
	near           float64 // until the total has all but come down, 0 if not stated
	uniform, final float64 // totals, 0 if not stated
}

// settings are those of the report, and of figure 4 as far as can be told.
var settings = []setting{
	{"figure 5.3-1", 3, 900, 74, "the text of figure 5.3-1", 25, 40_000, 22_000},
	{"figure 5.3-2", 3, 3000, 90, "the text of figure 5.3-2", 40, 130_000, 75_000},
	{"figure 5.3-3", 5, 1500, 116, "the text of figure 5.3-3", 0, 0, 0},
	{"figure 5.3-4", 5, 5000, 145, "the text of figure 5.3-5 (that of 5.3-4 lacks its number)", 0, 0, 0},
	{"figure 5.3-5", 8, 5000, 263, "the text of figure 5.3-5", 0, 0, 0},
	{"figure 5.3-6", 8, 10_000, 299, "the text of figure 5.3-6, which says 10,000 objects per arm", 0, 0, 0},
}

func chenStatic(l *lab) ([]figure, error) {
	runs := l.runs(10, 10) // as in the paper
	cfg := tens(l)
	two := figure{place: "figure 2", text: fmt.Sprintf("%d sites on 8 access points, exact durations. The paper has 10,000 sites.", cfg.Sites)}
	schemes := []scheme{uniformScheme, atBoundary, atInnermost, assigner}
	all := make([][][]webenv.Crawl, len(schemes))
	for k, s := range schemes {
		done := allPlaced
		if s.name == uniformScheme.name {
			done = after(2)
		}
		var err error
		if all[k], err = l.crawlAll(s, cfg, runs, done); err != nil {
			return nil, err
		}
	}
	two.charts = []report.Chart{totalsChart(two.text, schemes, all)}
	for k, s := range schemes[1:3] {
		runs := all[k+1]
		starts := each(runs, func(c []webenv.Crawl) bool {
			return c[0].Duration > 0.97*all[0][0][0].Duration && c[0].Duration < 1.03*all[0][0][0].Duration
		})
		half := each(runs, func(c []webenv.Crawl) float64 { return c[len(c)-1].Duration / c[0].Duration })
		two.rows = append(two.rows,
			sentence("TWOMA ("+s.name+") starts out with the performance of uniform (within 3 %)", starts).because("It must: the sites begin spread uniformly."),
			compared("TWOMA ("+s.name+") reduces the duration of a crawl by half", "total of the last crawl over that of the first", "1", 0.5, half).
				fitted("The durations of a perfect access point and of another, %g and %g, were chosen to match such totals of the report: any method that places all sites gives this ratio.", fast, slow).
				whereDiffers("It is half but for 1 %%: %g over the mean duration of a uniform crawl, (%g + 7 × %g)/8.", fast, fast, slow))
	}

	four := figure{place: "figure 4", text: "Crawls until all sites are in their perfect access points. The paper prints bars without numbers and does not say for which settings; these are the report's, where the published figures stand."}
	chart := report.Chart{Title: "Crawls until all sites are placed", X: "setting, in the order of the report", Y: "crawls"}
	for _, s := range append(append([]scheme{}, textual...), assigner) {
		curve := report.Series{Name: s.short}
		for k, set := range settings {
			cfg := webenv.DurationsConfig{Arms: set.arms, Sites: set.sites}
			runs, err := l.crawlAll(s, cfg, l.runs(4, 10), allPlaced)
			if err != nil {
				return nil, err
			}
			mean, _ := report.MeanSD(each(runs, number))
			curve.X, curve.Y = append(curve.X, float64(k+1)), append(curve.Y, mean)
		}
		chart.Series = append(chart.Series, curve)
		if s.name != assigner.name {
			four.rows = append(four.rows, computed("TWOMA ("+s.name+")", "crawls until all are placed, by setting", "crawls", curve.Y).over(l.runs(4, 10)))
		}
	}
	four.charts = []report.Chart{chart}
	for _, s := range chart.Series[:len(textual)] {
		four.rows = append(four.rows, sentence("the number of access points plays a significant role compared to that of the sites ("+s.Name+": 5×1000 takes longer than 3×1000, and 8×625 than 5×1000, by more than 3×1000 than 3×300)",
			[]bool{s.Y[3]-s.Y[1] > s.Y[1]-s.Y[0] && s.Y[4]-s.Y[3] > s.Y[1]-s.Y[0]}))
	}
	table := diagram("table 1", "what TWOMA's terms mean for a crawler")
	table.rows[0].Quantity = "a table of words"
	return []figure{table, diagram("figure 1", "TWOMA with three states and three arms"), two, four}, nil
}

// chenDynamic draws the perfect access points anew every 100 crawls.
func chenDynamic(l *lab) ([]figure, error) {
	f, err := l.changing("figure 3", 100)
	return []figure{f}, err
}

// changing runs the schemes where the perfect access points are drawn anew every so many crawls.
func (l *lab) changing(place string, every int) (figure, error) {
	cfg := tens(l)
	cfg.Every = every
	f := figure{place: place, text: fmt.Sprintf("%d sites on 8 access points; the perfect ones are drawn anew after every %d crawls. Exact durations.", cfg.Sites, every)}
	runs := l.runs(4, 10)
	schemes := append(append([]scheme{}, textual...), assigner)
	ended := map[string][]float64{}
	all := make([][][]webenv.Crawl, len(schemes))
	for k, s := range schemes {
		var err error
		if all[k], err = l.crawlAll(s, cfg, runs, after(4*every)); err != nil {
			return f, err
		}
		ended[s.name] = each(all[k], func(c []webenv.Crawl) float64 {
			atEnd := 0.0
			for i := every - 1; i < len(c); i += every {
				atEnd += c[i].Duration / c[i].Perfect / 4
			}
			return atEnd
		})
	}
	f.charts = []report.Chart{totalsChart(f.text, schemes, all)}
	for _, s := range textual {
		over := ended[s.name]
		f.rows = append(f.rows,
			sampled("TWOMA ("+s.name+")", "total over the optimum, last crawl before a change", "1", over).instead("Assigner", ended[assigner.name]),
			sentence("TWOMA ("+s.name+") reaches close to the optimal distribution before the environment changes (within 10 %)",
				each(over, func(v float64) bool { return v < 1.1 })).
				whereDiffers("It takes longer than %d crawls to place most sites with this entry.", every))
	}
	return f, nil
}

// chenSizes is the environment of section 3.1: web sites differ.
func chenSizes(l *lab) ([]figure, error) {
	f := figure{place: "section 3.1", text: "The paper: “the individual web sites will have different download and evaluation time”, of random duration; its figures have none that do. " +
		"8 access points, sizes log-normal, 300 crawls. TWOMA compares a site with the average of its access point, so that large sites never settle and small ones never leave."}
	runs := l.runs(5, 10)
	sites := pick(l, 1000, 4000)
	chart := report.Chart{Title: "Sites that differ: standard deviation of the logarithm of their size 0.5", X: "crawl", Y: "share of the sites placed"}
	for _, c := range []struct{ sizes, scatter float64 }{{0.3, 0}, {0.5, 0}, {1, 0}, {0, 0.2}, {0.5, 0.2}} {
		sizes := c.sizes
		cfg := webenv.DurationsConfig{Arms: 8, Sites: sites, Sizes: sizes}
		how := fmt.Sprintf("sizes of log-sd %g", sizes)
		if c.scatter > 0 {
			cfg.Noise, cfg.Scatter = webenv.UniformNoise, c.scatter
			how += fmt.Sprintf(", durations ±%.0f %%", 100*c.scatter)
		}
		share := func(c []webenv.Crawl) float64 {
			placed := 0.0
			for _, c := range c[len(c)-50:] {
				placed += float64(c.Placed) / float64(c.Sites) / 50
			}
			return placed
		}
		of := map[string][]float64{}
		for _, s := range append(append([]scheme{assigner}, textual...), fittedScheme) {
			all, err := l.crawlAll(s, cfg, runs, after(300))
			if err != nil {
				return nil, err
			}
			of[s.name] = each(all, share)
			if sizes == 0.5 && c.scatter == 0 {
				y := report.MeanCurve(each(all, func(c []webenv.Crawl) []float64 {
					return each(c, func(c webenv.Crawl) float64 { return float64(c.Placed) / float64(c.Sites) })
				}))
				chart.Series = append(chart.Series, report.Series{Name: s.short, X: steps(len(y), 1), Y: y})
			}
		}
		for _, s := range append(append([]scheme{}, textual...), fittedScheme) {
			f.rows = append(f.rows, compared(fmt.Sprintf("TWOMA (%s), %s", s.name, how), "share placed, crawls 251 to 300", "1", 1, of[s.name]).
				because("The paper says that TWOMA works towards an optimal distribution in this environment.").
				whereDiffers("It stalls.").instead("Assigner", of[assigner.name]))
		}
	}
	f.charts = []report.Chart{chart}
	return []figure{f}, nil
}
