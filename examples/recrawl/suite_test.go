package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

// writeTrace writes a history of pages with log-normal rates over 100 days.
func writeTrace(t *testing.T, name string, pages int, seed uint64) string {
	t.Helper()
	w, err := simulation("poisson:0.2", pages)
	require.NoError(t, err)
	rec, err := w.recorded(100*day, hour, rand.NewPCG(seed, 0))
	require.NoError(t, err)
	for page := range pages {
		rec.history.Names = append(rec.history.Names, fmt.Sprintf("folder %d/page %d", page%3, page))
	}
	path := filepath.Join(t.TempDir(), name+".csv")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = rec.history.WriteTo(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return path
}

func suiteRows(t *testing.T, args ...string) map[[2]string]report.Row {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(append([]string{"-suite", "-json"}, args...), &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	byName := map[[2]string]report.Row{}
	for _, r := range rows {
		require.NotContains(t, byName, [2]string{r.Item, r.Quantity})
		byName[[2]string{r.Item, r.Quantity}] = r
	}
	return byName
}

// A run of the suite is a run of the program with the budget nearby, and its detections are
// divided by the factor.
func TestSuiteIsSingleRuns(t *testing.T) {
	t.Parallel()
	path := writeTrace(t, "web", 30, 1)
	rows := suiteRows(t, "-trace", path, "-budget", "0.2", "-runs", "1", "-policies", "uniform,nutch,true-rates")
	for _, multiple := range []float64{0.25, 1, 4} {
		single := runJSON(t, "-trace", path, "-budget", fmt.Sprint(0.99*multiple*0.2), "-policies", "uniform,nutch,true-rates")
		for _, p := range single.Policies {
			item := fmt.Sprintf("plain, web, %s polls per hour, %s", report.Format(multiple*0.2), p.Name)
			require.InDelta(t, p.Detected/0.99, rows[[2]string{item, "detections"}].Measured, 1e-9, item)
			if p.Name != "true-rates" { // works towards each
				require.InDelta(t, p.Freshness, rows[[2]string{item, "freshness"}].Measured, 1e-12, item)
				require.InDelta(t, *p.Delay, rows[[2]string{item, "delay"}].Measured, 1e-12, item)
			}
		}
	}
}

// The ratios are those to the best peer, the truth is no peer, and the means over the cells
// are geometric.
func TestSuiteRatios(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	rows := suiteRows(t, "-trace", writeTrace(t, "a", 20, 1), "-trace", writeTrace(t, "b", 30, 2),
		"-budget", "0.1,0.2", "-runs", "1", "-policies", "uniform,nutch,true-rates,rate-filter", "-scenarios", "plain,weights")
	value := func(item, quantity string) float64 {
		require.Contains(t, rows, [2]string{item, quantity})
		return rows[[2]string{item, quantity}].Measured.(float64)
	}
	for _, scenario := range []string{"plain", "weights"} {
		for _, policy := range []string{"uniform", "nutch", "true-rates", "rate-filter"} {
			for k, quantity := range []string{"detections", "freshness", "delay"} {
				ratio := []string{"detections over the best peer's", "best peer's staleness over the policy's", "best peer's delay over the policy's"}[k]
				product := 1.0
				for _, cell := range []string{"a, 0.025", "a, 0.1", "a, 0.4", "b, 0.05", "b, 0.2", "b, 0.8"} {
					of := func(policy string) float64 {
						v := value(fmt.Sprintf("%s, %s polls per hour, %s", scenario, cell, policy), quantity)
						return map[string]float64{"detections": v, "freshness": 1 / (1 - v), "delay": 1 / v}[quantity]
					}
					want := of(policy) / math.Max(of("uniform"), of("nutch"))
					product *= want
					require.InEpsilon(t, want, value(fmt.Sprintf("%s, %s polls per hour, %s", scenario, cell, policy), ratio), 1e-9)
				}
				require.InEpsilon(t, math.Pow(product, 1./6), value(scenario+", all cells, "+policy, ratio+", geometric mean"), 1e-9)
			}
		}
	}
}

// The true rates are best for each objective on simulated webs; where all pages are alike,
// in calm, by less than chance.
func TestSuiteSimulations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("records webs")
	}
	rows := suiteRows(t, "-quick", "-env", "zipf:0.9,1.5", "-env", "bursty:0.02", "-policies", "uniform,lakg-300,true-rates",
		"-objective", "detections,freshness,age,harmonic,delay")
	require.Len(t, rows, 2*3*5*2+3*5*2)
	for _, web := range []string{"zipf:0.9,1.5, 1 polls per slot", "bursty:0.02, 1.2 polls per hour"} {
		for _, g := range goals {
			ratio := rows[[2]string{"plain, " + web + ", true-rates", g.ratio}]
			require.Greater(t, ratio.Measured, 1.0, "%s: %s", web, g.ratio)
			require.Equal(t, 2, ratio.Runs)
		}
	}
}

func TestSuiteTable(t *testing.T) {
	t.Parallel()
	var out, messages bytes.Buffer
	path := writeTrace(t, "web", 10, 3)
	require.NoError(t, run([]string{"-suite", "-trace", path, "-policies", "uniform,rate-filter"}, &out, &messages))
	require.Contains(t, messages.String(), "(15 cells × 2 policies × 6 runs")
	for _, want := range []string{"signals", "sitemap", "weights", "costs", "budget × 0.25", "cells led", "of 3", "best peer's staleness"} {
		require.Contains(t, out.String(), want)
	}
}

// Ranks that swap every r polls do so every r slots, though a web is recorded by polls of all its pages.
func TestSuiteSwaps(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"-suite", "-quick", "-runs", "1", "-env", "zipf:0.9,1.5,r=5000", "-n", "30"}, io.Discard, io.Discard)
	require.NoError(t, err)
	webs, err := s.suiteWebs()
	require.NoError(t, err)
	w, err := webs[0].world(0, 1)
	require.NoError(t, err)
	require.Equal(t, 5000.0, w.moves)
	env, err := w.open(nil)
	require.NoError(t, err)
	swaps := 0
	for at := 0.0; at < w.duration-1000; at += 1000 {
		if env.Rate(0, at) != env.Rate(0, at+1000) {
			swaps++
		}
	}
	require.LessOrEqual(t, swaps, 4)
}

// A single run has no standard deviation, and -ablate has another peer.
func TestSuiteTableOfOneRun(t *testing.T) {
	t.Parallel()
	path := writeTrace(t, "web", 10, 3)
	for more, peer := range map[string]string{"-policies=uniform,rate-filter": "the best peer of the cell", "-ablate": "the rate filter with groups"} {
		var out bytes.Buffer
		require.NoError(t, run([]string{"-suite", "-quick", "-runs", "1", "-trace", path, "-objective", "freshness", more}, &out, io.Discard))
		require.Contains(t, out.String(), "× peer: how many times better than "+peer)
		require.NotRegexp(t, `\b0\.000`, out.String())
	}
}

// Without a peer there is nothing to compare with: a dash, with no spread, and no cells to lead.
func TestSuiteTableWithoutPeers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-suite", "-quick", "-trace", writeTrace(t, "web", 10, 3), "-policies", "rate-filter"}, &out, io.Discard))
	require.Regexp(t, `plain +rate-filter +– +– +– +–\n`, out.String())
	require.NotContains(t, out.String(), "– 0.000")
	require.NotRegexp(t, `–  0\.000`, out.String())
}

// Each page every 18 days or 12 times, in two digits; of the history that comes along, the
// budget of the other examples.
func TestBaseBudget(t *testing.T) {
	t.Parallel()
	w, err := builtIn()
	require.NoError(t, err)
	require.Equal(t, 2.0, w.base())
	h := &webenv.History{Times: [][]float64{{0, 12 * day}, nil, nil}}
	w, err = replayed(h, "short")
	require.NoError(t, err)
	require.InDelta(t, 0.13, w.base(), 1e-12) // 3 pages a day
}

// A history from another start has its own length, and pages as they are then.
func TestFrom(t *testing.T) {
	t.Parallel()
	w, err := replayed(&webenv.History{Times: [][]float64{{0, 10, 30}}}, "web")
	require.NoError(t, err)
	later := w.from(12)
	require.Equal(t, 18.0, later.duration)
	env, err := later.open(nil)
	require.NoError(t, err)
	since, changed := env.Poll(0, 30)
	require.True(t, changed)
	require.Equal(t, 30.0, since)
}

// Half of the changes are announced, and half of the announcements are of changes, to four
// standard deviations; all come in order and after what they announce.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	w, err := builtIn()
	require.NoError(t, err)
	require.Empty(t, scenarios[0].announcements(w, rand.NewPCG(1, 2)))
	signals := scenario{sources: []source{feed}}.announcements(w, rand.NewPCG(1, 2))
	changes := float64(w.changes())
	require.InDelta(t, changes, len(signals), 4*2*math.Sqrt(changes/4)+2*20) // few come at the very start or end
	// A second source comes on top, with nine wrong ones for each that is right.
	both := scenario{sources: []source{feed, sitemap}}.announcements(w, rand.NewPCG(1, 2))
	of := [2]int{}
	for _, s := range both {
		of[s.source]++
	}
	require.Equal(t, len(signals), of[0])
	require.InDelta(t, 3*changes, of[1], 10*4*math.Sqrt(changes*0.3*0.7)+10*20)

	late, last := 0.0, w.start
	env, err := webenv.NewReplay(w.history, w.start)
	require.NoError(t, err)
	for _, s := range signals {
		require.GreaterOrEqual(t, s.at, last)
		last = s.at
		if t, ok := env.LastChange(s.page, s.at); ok && s.at-t < 10*hour {
			late++
		}
	}
	require.InDelta(t, changes/2, late, 4*math.Sqrt(changes/4)+0.02*changes) // some false ones are right by chance
}

// Polls that cost alike are those of a run. Where they do not, the budget of the time is spent,
// to within the last poll, and no more.
func TestAtCost(t *testing.T) {
	t.Parallel()
	w, err := builtIn()
	require.NoError(t, err)
	require.NoError(t, w.budgeted(2, 0))
	run := func(costs []float64) (webenv.Result, float64) {
		env, err := w.open(nil)
		require.NoError(t, err)
		scheduler, err := newMiniflux(job{pages: w.pages, rate: w.rate, second: 1, start: w.start, costs: costs})
		require.NoError(t, err)
		cfg := webenv.RunConfig{Start: w.start, Rate: w.rate, Duration: w.duration}
		if costs == nil {
			r, err := webenv.Run(env, scheduler, cfg)
			require.NoError(t, err)
			return r, 0
		}
		spent := 0.0
		m := newMissed(w, nil)
		r, err := w.atCost(costs, m)(env, spender{scheduler, func(page int) { spent += costs[page] }}, cfg)
		require.NoError(t, err)
		return r, spent
	}
	want, _ := run(nil)
	got, spent := run(slices.Repeat([]float64{1}, w.pages))
	require.Equal(t, want.Polls, got.Polls)
	require.Equal(t, want.Detected, got.Detected)
	require.InDelta(t, want.Freshness, got.Freshness, 1e-9)
	require.InEpsilon(t, want.Age, got.Age, 1e-9)
	require.InEpsilon(t, want.Delay, got.Delay, 1e-9)
	require.InDelta(t, w.polls, spent, 1e-6)

	costs := scenario{costly: true}.costs(w, rand.NewPCG(1, 2))
	require.InDelta(t, 1, mean(costs), 1e-12)
	cheap, spent := run(costs)
	require.InDelta(t, w.polls, spent, slices.Max(costs))
	require.Greater(t, cheap.Polls, got.Polls) // cheap pages come more often
}

// A spender is told which pages are polled.
type spender struct {
	webenv.Scheduler
	on func(page int)
}

func (s spender) Observe(page int, now float64, changed bool) error {
	s.on(page)
	return s.Scheduler.Observe(page, now, changed)
}
