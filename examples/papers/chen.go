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
	about: "The figures of the paper are curves and bars without numbers, each the mean of ten runs. The numbers that are often quoted with figure 4 stand in the report, next. " +
		"The text says that an object which leaves its arm draws from the other arms. It does not say in which state the object enters one, nor over which crawls an arm's average is taken. " +
		"Entries at the boundary, four penalties deep and in the most internal state are shown; averages are those of the crawl before, if nothing else is said. " +
		"Section 3.1 describes sites that differ. There TWOMA stalls in every reading; no figure of the paper has such sites.",
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
	{"figure 5.3-6", 8, 80_000, 299, "the text of figure 5.3-6", 0, 0, 0},
}

// fewerSites are those of figure 5.3-6 with which the fitted settings come closest: it has as many
// for each of its 8 access points.
const fewerSites = 10_000

// sitesOf returns how many sites of a setting are run. Tests have no time for 80,000.
func (l *lab) sitesOf(s setting) int {
	if l.brief {
		return min(s.sites, fewerSites)
	}
	return s.sites
}

func chenStatic(l *lab) ([]figure, error) {
	runs := l.runs(10, 10) // as in the paper
	cfg := tens(l)
	two := figure{place: "figure 2", text: fmt.Sprintf("%d sites on 8 access points, exact durations.", cfg.Sites)}
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
		half := each(all[k+1], func(c []webenv.Crawl) float64 { return c[len(c)-1].Duration / c[0].Duration })
		two.rows = append(two.rows,
			comparedMeans("TWOMA ("+s.name+") reduces the duration of a crawl by half", "total of the last crawl over that of the first", "1", 0.5, 10, half).
				fitted("The durations of a perfect access point and of another, %g and %g, were chosen to match such totals of the report: any method that places all sites gives this ratio.", fast, slow).
				whereDiffers("It is half but for 1 %%: %g over the mean duration of a uniform crawl, (%g + 7 × %g)/8.", fast, fast, slow))
	}

	four := figure{place: "figure 4", text: "Crawls until all sites are in their perfect access points. The paper prints bars without numbers and does not say for which settings; these are the report's, with exact durations: 3 × 300, 3 × 1000, 5 × 300, 5 × 1000, 8 × 625 and 8 × 10,000 sites."}
	chart := report.Chart{Title: "Crawls until all sites are placed", X: "setting, in the order of the report", Y: "crawls"}
	for _, s := range append(append([]scheme{}, textual...), assigner) {
		curve := report.Series{Name: s.short}
		for k, set := range settings {
			cfg := webenv.DurationsConfig{Arms: set.arms, Sites: l.sitesOf(set)}
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

// chenDynamic changes the perfect access points every 100 crawls.
func chenDynamic(l *lab) ([]figure, error) {
	f := figure{place: "figure 3", text: fmt.Sprintf("%d sites on 8 access points, exact durations. ", tens(l).Sites) + changes}
	err := l.changing(&f, tens(l), 100)
	return []figure{f}, err
}

// changes says what the experiments with changes have in common.
const changes = "In the paper the best access point of each site changes. Read word by word, every site gets another one: rows “all change”. Rows “drawn anew” draw it from all, so that some sites keep theirs. " +
	"If all were placed and all change, all durations of an access point equal the average of the crawl, which TWOMA rewards: it stays as it is. " +
	"With the average of all crawls so far they lie above it, and TWOMA recovers."

// changing adds the rows of an environment whose perfect access points change every so many crawls,
// in both readings of the change.
func (l *lab) changing(f *figure, cfg webenv.DurationsConfig, every int) error {
	cfg.Every = every
	for _, cfg.AllSwitch = range []bool{true, false} {
		if err := l.changed(f, cfg); err != nil {
			return err
		}
	}
	return nil
}

// changed adds those of one reading.
func (l *lab) changed(f *figure, cfg webenv.DurationsConfig) error {
	every := cfg.Every
	how := "drawn anew"
	if cfg.AllSwitch {
		how = "all change"
	}
	where := fmt.Sprintf("%d access points, %d sites, %s every %d crawls", cfg.Arms, cfg.Sites, how, every)
	runs := l.runs(4, 10)
	schemes := append(append([]scheme{}, textual...), ofHistory, assigner)
	ended := map[string][]float64{}
	all := make([][][]webenv.Crawl, len(schemes))
	for k, s := range schemes {
		var err error
		if all[k], err = l.crawlAll(s, cfg, runs, after(4*every)); err != nil {
			return err
		}
		ended[s.name] = each(all[k], func(c []webenv.Crawl) float64 {
			atEnd := 0.0
			for i := every - 1; i < len(c); i += every {
				atEnd += c[i].Duration / c[i].Perfect / 4
			}
			return atEnd
		})
	}
	f.charts = append(f.charts, totalsChart(where, schemes, all))
	for _, s := range schemes[:len(schemes)-1] {
		over := ended[s.name]
		mean, _ := report.MeanSD(over)
		why := fmt.Sprintf("It takes longer than %d crawls to place most sites with this entry.", every)
		if cfg.AllSwitch && s.name != ofHistory.name {
			why = fmt.Sprintf("If all sites were placed before a change, all are as slow as their average after it, and stay. If not, %d crawls are too few.", every)
		}
		f.rows = append(f.rows,
			sampled(where+": TWOMA ("+s.name+")", "total over the optimum, last crawl before a change", "1", over).instead("Assigner", ended[assigner.name]),
			sentence(where+": TWOMA ("+s.name+") reaches close to the optimal distribution before the environment changes (within 10 %)",
				each(over, func(v float64) bool { return v < 1.1 })).because("On average %.3f of the optimum.", mean).whereDiffers("%s", why))
	}
	return nil
}

// chenSizes is the environment of section 3.1: web sites differ.
func chenSizes(l *lab) ([]figure, error) {
	f := figure{place: "section 3.1", text: "The paper describes sites whose times differ and are random; its figures have none that do. " +
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
