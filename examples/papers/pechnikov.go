package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

var pechnikov = paper{
	id: "pechnikov", name: "Pechnikov et al. 2017",
	title:  "About Crawling Scheduling Problems",
	places: []string{"table 1"},
	about: "Table 1 gives eight scanning times of one set of 99 sites, one experiment each. It does not print the sizes of the sites. " +
		"Here sites are drawn from a power law, which the paper says theirs follow. Times over that of round robin 1 are compared, so that no speed has to be fitted. " +
		"The order of the table holds for the means over many sets of sites, if a batch is filled up, times spread as they do here, and the clients ask in the order in which the paper lists them. " +
		"The paper states neither. With other spreads it mostly does not hold, and not if the fastest client asks first: see the last rows of table 1. " +
		"It does not hold either if the heuristic is carried out word by word. " +
		"In a single set of sites it seldom holds: one experiment cannot show it.",
	parts: []part{
		{"pechnikov-model", "sections 5 and 6: the model and its reduction", 5 * time.Second, pechnikovModel},
		{"pechnikov-table", "table 1", 10 * time.Second, pechnikovTable},
	},
}

// Times for the reference site of 800 pages on the paper's clients (section 6).
var reference = map[int][]float64{
	3: {105.7, 110.4, 85.8},
	5: {95.0, 84.6, 105.7, 110.4, 85.8},
}

const (
	referencePages = 800
	paperSites     = 99
)

// scanningTimes are those of table 1 in seconds.
var scanningTimes = map[int]map[string]float64{
	3: {"round robin 1": 12601, "round robin 2": 23103, "batch job 1": 13359, "batch job 2": 12239},
	5: {"round robin 1": 10090, "round robin 2": 15524, "batch job 1": 12351, "batch job 2": 10071},
}

// powerLaw draws n sizes in whole pages from the density ∝ size^−2 on [50, 5·10⁴].
func powerLaw(rng *rand.Rand, n int) []float64 {
	const low, high = 50.0, 5e4
	sizes := make([]float64, n)
	for z := range sizes {
		sizes[z] = math.Round(1 / (1/low - rng.Float64()*(1/low-1/high)))
	}
	return sizes
}

// unitTimes are the seconds per page of m of the paper's clients.
func unitTimes(m int) []float64 { return perPage(reference[m]) }

func perPage(reference []float64) []float64 {
	return each(reference, func(t float64) float64 { return t / referencePages })
}

// A modelRun is what the reduction loses on 99 sites.
type modelRun struct{ orders, ordersByPage, loss float64 }

// Of the full model the paper measures the sum of the response times of a site, 0.2 to 0.3 s, and
// the client's time for a page. The others are typical.
const (
	response   = 0.25 // s a site
	kbPerPage  = 50.
	serverKB   = 1000. // KB/s
	serverTime = 0.2   // s
)

// models returns 99 sites on m clients, by the full model and by the reduced one.
func models(pages []float64, m int) (full, reduced *schedule.Problem, err error) {
	sites := make([]schedule.SiteCost, len(pages))
	sizes := make([]float64, len(pages))
	for z, n := range pages {
		sizes[z] = n * kbPerPage
		sites[z] = schedule.SiteCost{Name: fmt.Sprintf("site-%02d.ras.example", z), Size: sizes[z], Result: n / 20}
	}
	clients := make([]schedule.ClientCost, m)
	var webSpeed, compute []float64
	for j, unit := range unitTimes(m) {
		speed := 2 * kbPerPage / unit // half of the time of a page goes to the download
		webSpeed, compute = append(webSpeed, speed), append(compute, speed)
		clients[j] = schedule.ClientCost{ServerResponse: serverTime, ServerSpeed: serverKB, DNS: response / 5, Compute: speed,
			Connect: slices.Repeat([]float64{response * 2 / 5}, len(pages)), WebResponse: slices.Repeat([]float64{response * 2 / 5}, len(pages)),
			WebSpeed: slices.Repeat([]float64{speed}, len(pages))}
	}
	if full, err = schedule.FullModel(sites, clients); err != nil {
		return nil, nil, err
	}
	reduced, err = schedule.ReducedModel(sizes, webSpeed, compute)
	return full, reduced, err
}

func pechnikovModel(l *lab) ([]figure, error) {
	runs := l.runs(10, 100)
	all, err := replicate("full and reduced model", runs, func(run int) (r modelRun, err error) {
		pages := powerLaw(rand.New(l.source(run, 1)), paperSites)
		full, reduced, err := models(pages, 5)
		if err != nil {
			return r, err
		}
		perPage, _ := report.MeanSD(unitTimes(5))
		r.orders = math.Log10(sum(pages) * perPage / (paperSites * response))
		r.ordersByPage = math.Log10(perPage / response)
		cfg := schedule.SolveConfig{Steps: 100_000, Seed: l.seed(run)}
		ofFull, err := schedule.Solve(context.Background(), full, cfg)
		if err != nil {
			return r, err
		}
		ofReduced, err := schedule.Solve(context.Background(), reduced, cfg)
		if err != nil {
			return r, err
		}
		r.loss = 100 * (full.Makespan(ofReduced.Plan)/full.Makespan(ofFull.Plan) - 1)
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	f := figure{place: "section 5, reduced problem", text: "The paper drops the response times of a site, 0.2 to 0.3 s, because the time for its pages is three orders of magnitude larger: 200 to 300 s for 1000 pages. " +
		"Measured with schedule.FullModel and schedule.ReducedModel on 99 sites of a power law and the five clients of section 6."}
	f.rows = []Row{
		compared("99 sites of a power law, 50 to 50,000 pages", "orders of magnitude", "1", 3, each(all, func(r modelRun) float64 { return r.orders })).
			whereDiffers("Most sites are smaller than 1000 pages."),
		sampled("99 sites, if every page waits for a response and not only every site", "orders of magnitude", "1", each(all, func(r modelRun) float64 { return r.ordersByPage })).
			because("The model has one connection and one response for a site; a scan makes a request for every page."),
		sampled("time lost by planning with the reduced model", "of the best plan's time", "%", each(all, func(r modelRun) float64 { return r.loss })).
			because("So the reduction is harmless in this model, whatever the orders."),
	}
	clients := figure{place: "section 6, clients"}
	times := reference[5]
	spread := 100 * (1 - slices.Min(times)/slices.Max(times))
	clients.rows = []Row{exact("times of the five clients for the reference site", "widest difference in performance", "%", 25, spread, 0.5).
		because("1 − 84.6/110.4. The slowest takes %.1f %% longer than the fastest.", 100*(slices.Max(times)/slices.Min(times)-1))}
	return []figure{f, clients}, nil
}

// A scan is one set of sites.
type scan struct {
	pages   []float64
	seconds []float64 // true mean work of each site: seconds on a client of speed 1
	earlier []float64 // mean work in two scans before
	now     []float64 // work in the scan that is planned
}

// Pages of one site take longer than those of another, and a site varies from scan to scan:
// standard deviations of the logarithms. The paper gives neither.
type spreadsOfTime struct{ site, scan float64 }

// usualSpreads are those of all rows but the last ones.
var usualSpreads = spreadsOfTime{0.3, 0.05}

// An openSetting is another one where the paper states none.
type openSetting struct {
	name    string
	spread  spreadsOfTime
	clients func([]float64) []float64 // in the order in which they ask at the start
}

var openSettings = []openSetting{
	{"spread 0.1 between sites", spreadsOfTime{0.1, 0.05}, slices.Clone[[]float64]},
	{"spread 1 between sites", spreadsOfTime{1, 0.05}, slices.Clone[[]float64]},
	{"spread 0.2 between scans", spreadsOfTime{0.3, 0.2}, slices.Clone[[]float64]},
	{"the fastest client asks first", usualSpreads, func(times []float64) []float64 { return slices.Sorted(slices.Values(times)) }},
}

// work draws the work that one scan of all sites takes.
func (s scan) work(rng *rand.Rand, spread float64) []float64 {
	return each(s.seconds, func(t float64) float64 { return t * math.Exp(spread*rng.NormFloat64()) })
}

func newScan(rng *rand.Rand, spread spreadsOfTime) scan {
	s := scan{pages: powerLaw(rng, paperSites)}
	s.seconds = each(s.pages, func(p float64) float64 { return p * math.Exp(spread.site*rng.NormFloat64()) })
	first, second := s.work(rng, spread.scan), s.work(rng, spread.scan)
	s.now, s.earlier = s.work(rng, spread.scan), make([]float64, paperSites)
	for z := range s.earlier {
		s.earlier[z] = (first[z] + second[z]) / 2
	}
	return s
}

var readingsOfBatch = []schedule.BatchVariant{schedule.Literal, schedule.FillToShare, schedule.SkipOverflow}

func batchName(job int, v schedule.BatchVariant) string {
	return fmt.Sprintf("batch job %d (%v)", job, v)
}

const solved = "schedule.Solve on earlier durations"

// times scans the sites by each method with m clients, and by a plan of Solve.
func (s scan) times(m int, seed uint64) (map[string]float64, error) {
	times, today, err := s.published(reference[m])
	if err != nil {
		return nil, err
	}
	predicted, err := schedule.NewUniform(s.earlier, unitTimes(m))
	if err != nil {
		return nil, err
	}
	best, err := schedule.Solve(context.Background(), predicted, schedule.SolveConfig{Steps: 100_000, Seed: seed})
	if err != nil {
		return nil, err
	}
	times[solved] = today.Makespan(best.Plan)
	return times, nil
}

// published scans the sites by the methods of the table, with clients of these reference times.
func (s scan) published(reference []float64) (times map[string]float64, today *schedule.Problem, err error) {
	performance, err := schedule.Performance(reference)
	if err != nil {
		return nil, nil, err
	}
	if today, err = schedule.NewUniform(s.now, perPage(reference)); err != nil {
		return nil, nil, err
	}
	times = map[string]float64{}
	byPages, err := schedule.NewUniform(s.pages, perPage(reference)) // for the order of its sites
	if err != nil {
		return nil, nil, err
	}
	large := byPages.LongestFirst()
	small := slices.Clone(large)
	slices.Reverse(small)
	for name, list := range map[string][]int{"round robin 1": large, "round robin 2": small} {
		plan, err := schedule.Pull(today, list) // who is free takes the next site
		if err != nil {
			return nil, nil, err
		}
		times[name] = today.Makespan(plan)
	}
	for _, v := range readingsOfBatch {
		for job, complexity := range [][]float64{s.pages, s.earlier} {
			plan, err := schedule.Batch(complexity, performance, v)
			if err != nil {
				return nil, nil, err
			}
			times[batchName(job+1, v)] = today.Makespan(plan)
		}
	}
	return times, today, nil
}

func pechnikovTable(l *lab) ([]figure, error) {
	runs := l.runs(300, 1000)
	all, err := replicate("table 1", runs, func(run int) (both [2]map[string]float64, err error) {
		s := newScan(rand.New(l.source(run, 1)), usualSpreads)
		for k, m := range []int{3, 5} {
			if both[k], err = s.times(m, l.seed(run)); err != nil {
				return both, err
			}
		}
		return both, nil
	})
	if err != nil {
		return nil, err
	}
	f := figure{place: "table 1", text: "99 sites, 3 and 5 clients. Round robin hands the next site of a list to who is free: 1 has the large sites in front, as the paper found its own to have, 2 has them at the end. " +
		"Batch job 1 is told numbers of pages, batch job 2 mean durations of two earlier scans. The paper says neither how much the time of a page differs between sites nor how much that of a site between scans: " +
		"here the standard deviations of the logarithms are 0.3 and 0.05. It does not say in which order the clients ask at the start: here in that of section 6. The last rows have other settings. The heuristic is shown in three readings. Literal ends a batch at the first site that exceeds the share, and leaves that site over, " +
		"as the paper says; where the largest site exceeds all shares, all batches are empty, and all sites are dealt one by one. The others keep the first site of a batch and fill batches up. " +
		"Of the published times, only ratios can be compared: the sites are not printed."}
	const forward = "round robin 1"
	const chance = "One experiment with one set of sites: the spread over sets is the ±, and does not reach the published ratio."
	for k, m := range []int{3, 5} {
		ratio := func(name string) []float64 {
			return each(all, func(t [2]map[string]float64) float64 { return t[k][name] / t[k][forward] })
		}
		row := func(item, published string) {
			f.rows = append(f.rows, compared(fmt.Sprintf("%s, %d clients", item, m), "time over that of round robin 1", "1",
				toFour(scanningTimes[m][published]/scanningTimes[m][forward]), ratio(item)).whereDiffers(chance).instead(solved, ratio(solved)))
		}
		row("round robin 2", "round robin 2")
		for _, v := range readingsOfBatch {
			row(batchName(1, v), "batch job 1")
			row(batchName(2, v), "batch job 2")
		}
		f.rows = append(f.rows, relations(all, k, m)...)
	}
	f.charts = tableCharts(all)
	f.rows = append(f.rows, compared("round robin 1", "time of 5 clients over that of 3", "1", toFour(scanningTimes[5][forward]/scanningTimes[3][forward]),
		each(all, func(t [2]map[string]float64) float64 { return t[1][forward] / t[0][forward] })).
		whereDiffers("The largest site decides less here than in the paper's set."))
	open, err := l.openSettings()
	if err != nil {
		return nil, err
	}
	f.rows = append(f.rows, open...)
	return []figure{f}, nil
}

// openSettings asks for the order of the table under other settings.
func (l *lab) openSettings() (rows []Row, err error) {
	for _, o := range openSettings {
		all, err := replicate("table 1, "+o.name, l.runs(300, 1000), func(run int) (both [2]map[string]float64, err error) {
			s := newScan(rand.New(l.source(run, 1)), o.spread)
			for k, m := range []int{3, 5} {
				if both[k], _, err = s.published(o.clients(reference[m])); err != nil {
					return both, err
				}
			}
			return both, nil
		})
		if err != nil {
			return nil, err
		}
		for k, m := range []int{3, 5} {
			rows = append(rows, orderOfMeans(fmt.Sprintf("%d clients, %v, %s: ", m, schedule.FillToShare, o.name), all, k, schedule.FillToShare))
		}
	}
	return rows, nil
}

// tableCharts draw the ratios of the table, published and measured.
func tableCharts(all [][2]map[string]float64) (charts []report.Chart) {
	for k, m := range []int{3, 5} {
		c := report.Chart{Title: fmt.Sprintf("Table 1, %d clients", m), X: "1 RR1, 2 batch 2, 3 batch 1, 4 RR2", Y: "time over that of round robin 1", Zoom: true}
		add := func(name string, of func(method string) float64) {
			s := report.Series{Name: name, X: steps(4, 1), Main: true}
			for _, method := range []string{"round robin 1", "batch job 2", "batch job 1", "round robin 2"} {
				s.Y = append(s.Y, of(method))
			}
			c.Series = append(c.Series, s)
		}
		add("published", func(method string) float64 { return scanningTimes[m][method] / scanningTimes[m]["round robin 1"] })
		c.Series[0].Dashed = true
		for _, v := range readingsOfBatch {
			add(v.String(), func(method string) float64 {
				for job := range 2 {
					if method == fmt.Sprintf("batch job %d", job+1) {
						method = batchName(job+1, v)
					}
				}
				mean, _ := report.MeanSD(each(all, func(t [2]map[string]float64) float64 { return t[k][method] / t[k]["round robin 1"] }))
				return mean
			})
		}
		charts = append(charts, c)
	}
	return charts
}

// toFour rounds to four decimals: the times have five digits.
func toFour(x float64) float64 { return math.Round(1e4*x) / 1e4 }

// relations are the sentences about the table, in every reading.
func relations(all [][2]map[string]float64, k, m int) (rows []Row) {
	for _, v := range readingsOfBatch {
		one, two := batchName(1, v), batchName(2, v)
		of := func(a, b string) []bool {
			return each(all, func(t [2]map[string]float64) bool { return t[k][a] <= t[k][b] })
		}
		fastest, less, better := of(two, "round robin 1"), of("round robin 1", one), of(one, "round robin 2")
		together := and(and(fastest, less), better)
		const why = "It depends on the set of sites."
		at := fmt.Sprintf("%d clients, %v: ", m, v)
		rows = append(rows,
			sentence(at+"batch job 2 is at least as fast as round robin 1", fastest).whereDiffers(why),
			sentence(at+"batch job 1 is less efficient than round robin 1", less).whereDiffers(why),
			sentence(at+"batch job 1 is more efficient than round robin 2", better).whereDiffers(why),
			sentence(at+"batch job 2 ≤ round robin 1 ≤ batch job 1 ≤ round robin 2, all in one set of sites", together).because("%s", meanRatios(all, k, v)).whereDiffers(why),
			orderOfMeans(at, all, k, v))
	}
	return rows
}

// meanRatios has the mean times in the order of the table.
func meanRatios(all [][2]map[string]float64, k int, v schedule.BatchVariant) string {
	mean := func(name string) float64 {
		mean, _ := report.MeanSD(each(all, func(t [2]map[string]float64) float64 { return t[k][name] / t[k]["round robin 1"] }))
		return mean
	}
	return fmt.Sprintf("Mean ratios: %.3f, 1, %.3f, %.3f.", mean(batchName(2, v)), mean(batchName(1, v)), mean("round robin 2"))
}

// orderOfMeans is the sentence that the table's order holds for the mean times.
func orderOfMeans(at string, all [][2]map[string]float64, k int, v schedule.BatchVariant) Row {
	// Each but the first should take longer than the one before.
	methods := []struct{ name, key string }{{"batch job 2", batchName(2, v)}, {"round robin 1", "round robin 1"}, {"batch job 1", batchName(1, v)}, {"round robin 2", "round robin 2"}}
	var wrong []string
	for i, slower := range methods[1:] {
		faster := methods[i]
		mean, sd := report.MeanSD(each(all, func(t [2]map[string]float64) float64 {
			return (t[k][slower.key] - t[k][faster.key]) / t[k]["round robin 1"]
		}))
		errors, side := mean/(sd/math.Sqrt(float64(len(all)))), "above"
		if errors > 2 {
			continue
		}
		if errors < 0 {
			errors, side = -errors, "below"
		}
		wrong = append(wrong, fmt.Sprintf("the mean time of %s is %.1f standard errors %s that of %s", slower.name, errors, side, faster.name))
	}
	return sentence(at+"the same order of the means over all sets, each by two standard errors", []bool{len(wrong) == 0}).over(len(all)).
		because("%s", meanRatios(all, k, v)).whereDiffers("The order does not hold on average, or cannot be told from chance: %s.", strings.Join(wrong, ", and "))
}
