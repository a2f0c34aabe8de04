package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/serve"
)

// What the crawler found is what the server knows that it showed. In twenty runs
// LAKG found 1.53 times as much as the uniform schedule, with a standard
// deviation of 0.055: four of them less is 1.31. The rate filter found
// 2.25 times as much, 0.049: 2.06.
func TestFindsTheTruth(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-quick", "-seed", "5"}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	value := map[string]float64{}
	for _, r := range rows {
		name := r.Item[strings.LastIndex(r.Item, " ")+1:]
		value[name+": "+r.Quantity] = r.Measured.(float64)
	}
	for _, name := range []string{"rate-filter", "lakg-300", "uniform"} {
		require.Equal(t, 5000.0, value[name+": polls"])
		require.Zero(t, value[name+": polls that failed"])
		require.Positive(t, value[name+": changes found"])
		require.Equal(t, value[name+": changes found, as the server knows"], value[name+": changes found"])
		// A body comes with each change, and with each of the 200 first copies.
		require.Equal(t, value[name+": changes found"]+200, value[name+": bodies parsed"])
		require.Equal(t, 5000-value[name+": changes found"], value[name+": polls answered with 304"])
	}
	require.Greater(t, value["lakg-300: changes found"], 1.31*value["uniform: changes found"])
	require.Greater(t, value["rate-filter: changes found"], 2.06*value["uniform: changes found"])
}

// serveWeb starts a web of pages that never change, with failures.
func serveWeb(t *testing.T, pages int, errorRate float64, clock *clock) (base string, server *serve.Server) {
	env, err := webenv.NewPoisson(make([]float64, pages), rand.NewPCG(1, 2))
	require.NoError(t, err)
	server, err = serve.New(env, serve.Config{
		Now: clock.now, Source: rand.NewPCG(3, 4),
		Faults: func(int) serve.Faults { return serve.Faults{Unavailable: errorRate} },
	})
	require.NoError(t, err)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return web.URL, server
}

// Answers that are errors are given back: the crawl goes on, and spends its budget. A
// page that robots.txt forbids is tried once, and removed.
func TestRefusedAndFailed(t *testing.T) {
	clock := &clock{ticked: func() {}}
	base, server := serveWeb(t, 10, 0.3, clock)
	var urls []string
	for page := range 9 {
		urls = append(urls, base+server.URL(page))
	}
	urls = append(urls, base+"/truth")
	learner, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)

	c := newCrawler(urls, learner, clock, 10, 500)
	require.NoError(t, c.crawl(10)) // with more workers than pages in the end
	totals := server.Totals()
	require.Greater(t, totals.Failed, 50)
	require.GreaterOrEqual(t, clock.now(), 500.0)
	require.Equal(t, 1, c.forbidden)
	require.Equal(t, 9, c.pages.Len())
	require.ErrorIs(t, c.pages.Remove(base+"/truth"), knapsack.ErrUnknown)
	require.Equal(t, totals.Failed+1, c.failed)
	// The rest are nine first copies, and polls that found no change.
	require.Equal(t, 500-9-c.failed, c.polls)
	require.Zero(t, c.changed)
}

// Where robots.txt forbids a page it is gone before the crawl; where it forbids
// all, the crawl says that there is no page.
func TestForbidden(t *testing.T) {
	clock := &clock{ticked: func() {}}
	base, server := serveWeb(t, 2, 0, clock)
	for _, urls := range [][]string{
		{base + "/truth", base + server.URL(0), base + server.URL(1)},
		{base + "/truth"},
	} {
		learner, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		c := newCrawler(urls, learner, clock, 1, 20)
		require.NoError(t, c.copyAll())
		require.Equal(t, 1, c.forbidden)
		err = c.crawl(1)
		require.Zero(t, c.failed)
		if len(urls) > 1 {
			require.NoError(t, err)
			require.Equal(t, 20, c.polls)
		} else {
			require.ErrorIs(t, err, knapsack.ErrNoPage)
		}
	}
}

// An error of the learner ends the crawl.
func TestLearnerError(t *testing.T) {
	clock := &clock{ticked: func() {}}
	base, server := serveWeb(t, 1, 0, clock)
	none, err := knapsack.NewFixed(nil, knapsack.Even, nil) // polls a page that is added never
	require.NoError(t, err)
	c := newCrawler([]string{base + server.URL(0)}, none, clock, 1, 5)
	require.ErrorIs(t, c.crawl(1), knapsack.ErrNoPage)
}

func TestPicture(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run([]string{"-polls", "50", "-n", "10", "-out", dir}, io.Discard, io.Discard))
	for _, name := range []string{"colly.svg", "colly.html"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(content), "lakg-300")
	}
}

func TestCommandLine(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, &out, io.Discard), flag.ErrHelp)
	require.Contains(t, out.String(), "-workers")
	for _, args := range []string{"-workers 0", "-workers 9 -n 8", "-n 0", "-n 1000000000000", "-polls 0", "-x", "x"} {
		require.ErrorAs(t, run(strings.Fields(args), io.Discard, io.Discard), new(report.UsageError), args)
	}
	s, err := parse([]string{"-n", "3"}, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 3, s.workers, "by default there are not more workers than pages")
	for workers, want := range map[int]string{1: "colly, 1 worker, uniform", 2: "colly, 2 workers, uniform"} {
		s.workers = workers
		require.Equal(t, want, s.rows("uniform", &account{}, serve.Totals{})[0].Item)
	}
}
