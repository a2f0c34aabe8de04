package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

// test is one of the paper's experiments.
type test struct {
	name     string
	sites    []webenv.Site
	law      func([]webenv.Site) ([]float64, error)
	capacity float64
	states   int
	slots    int
	shift    int // slots after which the probabilities move to the next page
	optimum  []float64
	checks   []check
	weights  []float64 // published, of each site at the last check
	rate     any       // published rate of updates
}

// check is a time at which the paper states the load of every bin.
type check struct {
	slot  int
	loads []float64
}

func domains(com, net, edu, org []int) (sites []webenv.Site) {
	for i, pages := range [][]int{com, net, edu, org} {
		for _, n := range pages {
			sites = append(sites, webenv.Site{Domain: [...]string{"com", "net", "edu", "org"}[i], Pages: n})
		}
	}
	return sites
}

// tests returns the experiments of Yazidi 2006, section 4.4.
func tests() []test {
	fixed := domains([]int{131, 201, 341, 567, 531, 36, 451, 121}, []int{124, 174, 402, 322, 49, 615},
		[]int{235, 135, 95, 343}, []int{32, 123})
	zipf := domains([]int{131, 91, 91, 87, 91, 46, 61, 71}, []int{74, 84, 62, 92, 89, 105},
		[]int{75, 95, 105, 113}, []int{82, 93})
	var dynamic []check
	for slot := 200; slot <= 1000; slot += 200 {
		dynamic = append(dynamic, check{slot, []float64{79.1875, 29.4375}})
	}
	return []test{
		{
			name: "test 1", sites: fixed, law: webenv.DomainLaw, capacity: 400, states: 8, slots: 5000,
			optimum: []float64{399.2, 399.01, 399.7, 25.75},
			checks: []check{{50, []float64{320.5, 399.875, 315.625}}, {500, []float64{385.75, 349.125, 382.875, 203}},
				{1000, []float64{360.875, 379.875, 392.5, 202.125}}, {5000, []float64{374.75, 369.875, 387.875, 191.37}}},
			weights: []float64{42.125, 55.25, 105.75, 168.125, 160.375, 10.875, 145.625, 38.25, 34.375, 44.5, 105.75, 85.375,
				15.25, 154.125, 41.625, 21.75, 15.75, 58.25, 4.125, 15.75},
		},
		{
			name: "test 2", sites: fixed, law: webenv.DomainLaw, capacity: 400, states: 16, slots: 10_000,
			optimum: []float64{399.2, 399.01, 399.7, 25.75},
			checks:  []check{{10_000, []float64{383.3125, 376.5, 378.4375, 61.25}}},
			weights: []float64{38.9375, 60.4375, 101.9375, 167.125, 155.875, 10, 133.1875, 32.9375, 31.3125, 38.6875, 89.3125,
				77.25, 10.3125, 145.4375, 29, 15.8125, 10.5, 41.375, 2.0625, 8},
			rate: .13,
		},
		{
			name: "Zipf test", sites: zipf, law: webenv.DomainZipfLaw, capacity: 80, states: 16, slots: 200,
			optimum: []float64{78.98175023108985, 32.58512586169496},
			checks:  []check{{200, []float64{79.1875, 29.4375}}},
		},
		{
			name: "dynamic test", sites: zipf, law: webenv.DomainZipfLaw, capacity: 80, states: 16, slots: 10_000, shift: 2000,
			checks: dynamic,
		},
	}
}

// walks are the page walks that are compared.
var walks = []struct {
	name string
	walk binpack.PageWalk
}{
	{"walk as described", binpack.AsDescribed},
	{"less biased walk", binpack.LessBiased},
	{"unbiased walk", binpack.Unbiased},
}

// points is the number of points of a curve.
const points = 100

// trace is what is kept of one run.
type trace struct {
	loads                 [][]float64 // at every check
	weights               []float64   // of each site at the end
	bins, total, r, rate  []float64   // curves
	lateR, lateRate, late float64     // over the last tenth; late is the mean total weight
	moved                 int
}

// settings are those of the scheme on a test.
func (t test) settings(walk binpack.PageWalk) binpack.SchemeConfig {
	return binpack.SchemeConfig{Capacity: t.capacity, States: t.states, Walk: walk}
}

// crawl is the scheme at work on the pages of a test.
type crawl struct {
	*binpack.Scheme
	env webenv.Env
}

func newCrawl(t test, cfg binpack.SchemeConfig, seed uint64) (*crawl, error) {
	u, err := t.law(t.sites)
	if err != nil {
		return nil, err
	}
	env, err := webenv.NewSlots(u, webenv.AtMostOnce, t.shift, rand.NewPCG(seed, 1))
	if err != nil {
		return nil, err
	}
	pages := make([]int, len(t.sites))
	for i, s := range t.sites {
		pages[i] = s.Pages
	}
	scheme, err := binpack.NewScheme(pages, cfg, rand.NewPCG(seed, 2))
	if err != nil {
		return nil, err
	}
	return &crawl{scheme, env}, nil
}

// play plays a slot.
func (c *crawl) play(slot int) (binpack.SlotReport, error) {
	for _, page := range c.Next() {
		_, changed := c.env.Poll(page, float64(slot))
		if err := c.Observe(page, changed); err != nil {
			return binpack.SlotReport{}, err
		}
	}
	return c.Rebalance(), nil
}

// simulate runs the scheme on a test.
func simulate(t test, walk binpack.PageWalk, slots int, seed uint64) (trace, error) {
	scheme, err := newCrawl(t, t.settings(walk), seed)
	if err != nil {
		return trace{}, err
	}
	var tr trace
	var polls, changed float64 // of the point of the curves that is being gathered
	next := 0
	every := max(slots/points, 1)
	for slot := 1; slot <= slots; slot++ {
		result, err := scheme.play(slot)
		if err != nil {
			return trace{}, err
		}
		tr.moved += result.Moved
		polls += float64(result.Polls)
		changed += float64(result.Changed)
		if next < len(t.checks) && t.checks[next].slot == slot {
			tr.loads = append(tr.loads, scheme.Loads(nil))
			next++
		}
		if slot%every == 0 {
			total := 0.0
			for _, load := range scheme.Loads(nil) {
				total += load
			}
			rate := changed / float64(every) / float64(scheme.Len())
			tr.bins, tr.total = append(tr.bins, float64(result.Bins)), append(tr.total, total)
			tr.r, tr.rate = append(tr.r, changed/max(polls, 1)), append(tr.rate, rate)
			polls, changed = 0, 0
		}
	}
	tr.weights = scheme.Weights(nil)
	tr.lateR, tr.lateRate, tr.late = lateMean(tr.r), lateMean(tr.rate), lateMean(tr.total)
	return tr, nil
}

// lateMean is the mean over the last tenth of a curve.
func lateMean(curve []float64) float64 {
	mean, _ := report.MeanSD(curve[len(curve)*9/10:])
	return mean
}

// stationary is the mean total weight of the page walks by their birth-death chain.
// It, and not the optimum, says how many bins a test ends with.
func stationary(t test, walk binpack.PageWalk) (float64, error) {
	u, err := t.law(t.sites)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, change := range u {
		x, err := t.settings(walk).MeanFrequency(change)
		if err != nil {
			return 0, err
		}
		total += x
	}
	return total, nil
}

// optimum packs the weights P·pages by Best Fit Decreasing.
func optimum(t test) ([]float64, error) {
	u, err := t.law(t.sites)
	if err != nil {
		return nil, err
	}
	var weights []float64
	for _, s := range t.sites {
		sum := 0.0
		for _, p := range u[:s.Pages] {
			sum += p
		}
		u = u[s.Pages:]
		weights = append(weights, sum)
	}
	packed, err := binpack.Pack(binpack.Problem[float64]{Weights: weights, Capacity: t.capacity}, binpack.BestFitDecreasing)
	if err != nil {
		return nil, err
	}
	return loads(packed.Bin, weights), nil
}

// paper runs all tests with all walks.
func paper(prog *report.Program) ([]report.Row, *report.Page, error) {
	var rows []report.Row
	page := &report.Page{Title: "Sites on nodes: the tests of Yazidi 2006"}
	seeds := 30
	if prog.Quick {
		seeds = 3
	}
	page.Lead = fmt.Sprintf("Means over %d seeds, for the page walk as described, one with less bias and one with none.", seeds)
	for _, t := range tests() {
		source := "Yazidi 2006, " + t.name
		if t.optimum != nil {
			best, err := optimum(t)
			if err != nil {
				return nil, nil, err
			}
			item := "optimal weights, BFD"
			if t.optimum[1] == 399.01 {
				item += " (399.01 is a misprint of 399.1)"
			}
			total, published := 0.0, 0.0
			for b, load := range best {
				rows = append(rows, report.Row{Source: source, Item: item, Quantity: fmt.Sprintf("bin %d", b),
					Unit: "pages/slot", Published: t.optimum[b], Measured: load, Runs: 1})
				total += load
				published += t.optimum[b]
			}
			rows = append(rows, report.Row{Source: source, Item: item, Quantity: "total", Unit: "pages/slot",
				Published: published, Measured: total, Runs: 1})
		}
		slots := t.slots
		if prog.Quick {
			slots = min(slots, 1000)
		}
		charts := map[string]*report.Chart{}
		for _, w := range walks {
			traces := make([]trace, seeds)
			err := report.Parallel(t.name+", "+w.name, seeds, func(i int) (err error) {
				traces[i], err = simulate(t, w.walk, slots, prog.Seed+uint64(i))
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, t.rows(source, w.name, traces)...)
			expected, err := stationary(t, w.walk)
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows,
				report.Row{Source: source, Item: w.name + ", by its chain", Quantity: "mean total weight without overload", Unit: "pages/slot",
					Measured: expected, Runs: 1},
				report.Row{Source: source, Item: w.name + ", by its chain", Quantity: "bins for the mean total", Unit: "bins",
					Measured: math.Ceil(expected / t.capacity), Runs: 1})
			t.draw(charts, w.name, slots, traces)
		}
		for _, quantity := range curveNames {
			svg, err := prog.WriteChart(fmt.Sprintf("%s-%s.svg", fileName(t.name), fileName(quantity)), *charts[quantity])
			if err != nil {
				return nil, nil, err
			}
			page.Sections = append(page.Sections, report.Section{SVG: svg})
		}
	}
	return rows, page, nil
}

// rows compares the runs with what is published.
func (t test) rows(source, walk string, traces []trace) []report.Row {
	var rows []report.Row
	row := func(quantity, unit string, published any, value func(trace) float64) {
		values := make([]float64, len(traces))
		for i, tr := range traces {
			values[i] = value(tr)
		}
		rows = append(rows, report.Row{Source: source, Item: walk, Quantity: quantity, Unit: unit, Published: published}.Sample(values))
	}
	for k, c := range t.checks {
		if k >= len(traces[0].loads) {
			break // -quick ends before
		}
		at := fmt.Sprintf(" after %d", c.slot)
		total, most := 0.0, 0
		for _, load := range c.loads {
			total += load
		}
		for _, tr := range traces {
			most = max(most, len(tr.loads[k]))
		}
		row("bins"+at, "bins", len(c.loads), func(tr trace) float64 { return float64(used(tr.loads[k])) })
		for b := range most {
			var published any
			if b < len(c.loads) {
				published = c.loads[b]
			}
			row(fmt.Sprintf("bin %d", b)+at, "pages/slot", published, func(tr trace) float64 {
				if b < len(tr.loads[k]) {
					return tr.loads[k][b]
				}
				return 0
			})
		}
		row("total weight"+at, "pages/slot", total, func(tr trace) float64 {
			sum := 0.0
			for _, load := range tr.loads[k] {
				sum += load
			}
			return sum
		})
	}
	for i, w := range t.weights {
		if len(traces[0].loads) < len(t.checks) {
			break
		}
		row(fmt.Sprintf("weight of site %d (%d pages .%s)", i, t.sites[i].Pages, t.sites[i].Domain), "pages/slot", w,
			func(tr trace) float64 { return tr.weights[i] })
	}
	row("R, last tenth", "1", nil, func(tr trace) float64 { return tr.lateR })
	row("rate of updates, last tenth", "1", t.rate, func(tr trace) float64 { return tr.lateRate })
	row("mean total weight, last tenth", "pages/slot", nil, func(tr trace) float64 { return tr.late })
	row("slots (sampled) with as many bins as published", "1", nil, func(tr trace) float64 {
		same := 0.0
		for _, n := range tr.bins {
			if int(n) == len(t.checks[len(t.checks)-1].loads) {
				same++
			}
		}
		return same / float64(len(tr.bins))
	})
	row("moves of a site", "moves", nil, func(tr trace) float64 { return float64(tr.moved) })
	for _, c := range curveNames {
		rows = append(rows, report.Row{Source: source, Item: walk, Quantity: "curve: " + c, Unit: "1",
			Measured: meanCurve(traces, c), Runs: len(traces)})
	}
	return rows
}

func used(loads []float64) int {
	n := 0
	for _, load := range loads {
		if load > 0 {
			n++
		}
	}
	return n
}

// curveLabels say what the curves show.
var curveLabels = map[string]string{
	"bins": "bins in use", "total weight": "total weight (pages/slot)",
	"R": "share of polls that found an update", "rate of updates": "updates found (per site and slot)",
}

// fileName makes a name fit for a file.
func fileName(s string) string { return strings.ReplaceAll(s, " ", "-") }

var curveNames = []string{"bins", "total weight", "R", "rate of updates"}

func (tr trace) curve(name string) []float64 {
	return map[string][]float64{"bins": tr.bins, "total weight": tr.total, "R": tr.r, "rate of updates": tr.rate}[name]
}

// meanCurve is the mean of a curve over the runs, to four digits.
func meanCurve(traces []trace, name string) []float64 {
	mean := make([]float64, len(traces[0].curve(name)))
	for _, tr := range traces {
		for i, v := range tr.curve(name) {
			mean[i] += v / float64(len(traces))
		}
	}
	for i, v := range mean {
		mean[i] = math.Round(v*1e4) / 1e4
	}
	return mean
}

func (t test) draw(charts map[string]*report.Chart, walk string, slots int, traces []trace) {
	for _, name := range curveNames {
		if charts[name] == nil {
			charts[name] = &report.Chart{Title: t.name + ": " + name, X: "slots", Y: curveLabels[name]}
		}
		y := meanCurve(traces, name)
		x := make([]float64, len(y))
		for i := range x {
			x[i] = float64((i + 1) * max(slots/points, 1))
		}
		charts[name].Series = append(charts[name].Series, report.Series{Name: walk, X: x, Y: y})
	}
}
