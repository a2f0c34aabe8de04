package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/page"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

// The demonstration spends its budget, breaks no rule, and what it reports is what there was.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-for", "3s", "-n", "6", "-speed", "24", "-page", ""}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	value := map[string]float64{}
	for _, r := range rows {
		value[r.Item+": "+r.Quantity] = r.Measured.(float64)
	}
	for _, name := range []string{"rate-filter", "uniform", "nutch"} {
		require.Positive(t, value[name+": polls learnt from"])
		require.LessOrEqual(t, value[name+": polls made, of the budget"], 110.0)
		require.Positive(t, value[name+": polls that found a change"])
		require.Zero(t, value[name+": requests against a veto or a Crawl-delay"])
		require.Zero(t, value[name+": requests for what robots.txt forbids"])
		require.Zero(t, value[name+": changes missed, of the changes served"])
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, &out, io.Discard), flag.ErrHelp)
	require.Contains(t, out.String(), "-objective")
	for _, args := range []string{"-workers 0", "-n 0", "-for -1s", "-speed 0", "-objective luck", "-x", "x",
		"-per-day 100", "-lines", "-lease 9s", "-frontier-known ok", "-urls x -user-agent a@b -speed 3", "-frontier :0 -warc x",
		"-frontier :0 -workers 2", "-urls x -user-agent a@b -most-removed 2", "-most-removed 1", "-urls x -user-agent a@b -via foo",
		"-groups 100 -workers 1001", "-groups 4294967296 -workers 4294967296", "-n 10001", "-page 999", "-page 127.0.0.1:99999",
		"-frontier 127.0.0.1:99999", "-frontier :0 -state=", "-urls x -user-agent a@b -state=", "-nats nats://a -user-agent a@b -node a.b",
		"-nats nats://a -user-agent a@b -state x", "-nats nats://a -user-agent a@b -lease 2000h", "-nats nats://a,http://b -user-agent a@b", "-nats nats://me@a -user-agent a@b"} {
		require.ErrorAs(t, run(strings.Fields(args), io.Discard, io.Discard), new(report.UsageError), args)
	}
	for _, args := range [][]string{
		{"-webhook", "nope"}, {"-webhook", "ftp://a.test/"}, {"-webhook", "http://"}, {"-id-header", "a:b"}, {"-id-header", "a b"},
		{"-id-header", "user-agent"}, {"-id-header", "Host"}, {"-id-header", "Accept-Encoding"}, {"-id-header", "If-None-Match"},
		{"-id-header", "Cookie"}, {"-id-header", "TE"}, {"-sitemap", "nope"}, {"-feed", "nope"}, {"-feed", "http://a.test/", "-feed", "/rss"},
		{"-warc", "x.txt"}, {"-delay", "-1s"}, {"-timeout", "0"}, {"-refresh", "0"}, {"-exchange", "-1s"}, {"-exchange", "5s"}, {"-exchange", "5s", "-shards", "1"}, {"-exchange", "-1s", "-shards", "2"}, {"-per-day", "0"}, {"-per-day", "1e18"},
		{"-urls", ""}, {"-sitemap", ""}, {"-feed", ""}, {"-via", ""}, {"-opml="}, {"-rules="}, {"-nats="}, {"-relay="}, {"-id-header="},
		{"-folder="}, {"-warc="}, {"-webhook="}, {"-frontier="},
		{"-via", "192.0.2.1"}, {"-via", "direct", "-via", "nope"}, {"-via", "direct", "-via", "direct"}, {"-user-agent", "me@a.test\nX: y"},
	} {
		err := run(append([]string{"-urls", "x", "-user-agent", demoAgent}, args...), io.Discard, io.Discard)
		require.ErrorAs(t, err, new(report.UsageError), args)
		require.ErrorContains(t, err, strings.TrimSuffix(args[0], "="))
	}
	for args, want := range map[string]string{
		"-urls=":           "it is empty", // and not the demonstration
		"-frontier=":       "-frontier is empty",
		"-objective nope":  "want " + objectives,
		"-timeout 0":       "-timeout 0s: want more than 0",
		"-per-day 1e18":    "at most 1e+12",
		"-id-header Host":  "want one of your own",
		"-urls -":          "standard input",
		"-id-header x-own": "", // which is taken
	} {
		_, err := parse(append([]string{"-urls", "x", "-user-agent", demoAgent}, strings.Fields(args)...), io.Discard, io.Discard)
		if want == "" {
			require.NoError(t, err, args)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	for _, args := range []string{"-urls=", "-frontier=", "-frontier :0 -frontier-cert=", "-frontier :0 -frontier-clients="} {
		require.ErrorAs(t, run(strings.Fields(args), io.Discard, io.Discard), new(report.UsageError), args)
	}
}

// The list of objectives has all that there are, and -h names no value where it means one of them.
func TestHelp(t *testing.T) {
	t.Parallel()
	for o := knapsack.Objective(0); ; o++ {
		name, err := o.MarshalText()
		if err != nil {
			break
		}
		require.Contains(t, objectives, string(name))
	}
	var out bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, &out, io.Discard), flag.ErrHelp)
	for _, line := range []string{"  -objective name\n", "  -frontier-dates rule\n", "  -frontier-known answer\n", "by default freshness, and detections for the demonstration"} {
		require.Contains(t, out.String(), line)
	}
}

// Pages of the user's are to be current, where nothing else is asked for.
func TestDefaultObjective(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]knapsack.Objective{
		"-urls x -user-agent a@b":                knapsack.Freshness,
		"-urls x -user-agent a@b -objective age": knapsack.Age,
		"-objective age":                         knapsack.Age,
		"":                                       knapsack.Detections,
		"-frontier :0":                           knapsack.Detections,
	} {
		s, err := parse(strings.Fields(args), io.Discard, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, s.objective, args)
		require.Equal(t, want.String(), s.engine.Objective)
	}
}

// Where the usual port is taken the page has another, and it is said why.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "127.0.0.1:8765"); err == nil { // or somebody else has it
		defer l.Close()
	}
	var said bytes.Buffer
	s, err := parse(nil, io.Discard, &said)
	require.NoError(t, err)
	now := clock.NewReal()
	c := idleCrawler(t, now, 0)
	stop, err := s.show(&watcher{crawler: c, clock: now})
	require.NoError(t, err)
	stop()
	require.Regexp(t, `^crawl: live page at http://127\.0\.0\.1:\d+/, as 127\.0\.0\.1:8765 is in use, for this machine only\n$`, said.String())
}

// What a shard of a cluster brings or takes away when it moves is no poll of that second.
func TestRatesOfShardsThatMove(t *testing.T) {
	t.Parallel()
	w, at := &watcher{}, time.Unix(1_700_000_000, 0)
	stays, moves := new(shard.Loop), new(shard.Loop)
	for k := range uint64(30) {
		made := counts{stays: {1000 + 10*k, 500 + k}}
		if k/10 != 1 {
			made[moves] = [2]uint64{1e6 + 10*k, 1e5 + k}
		}
		s := page.Status{Time: at.Add(time.Duration(k) * time.Second), Uptime: float64(k), Budget: 1}
		for _, c := range made { // as they are told
			s.Learnt, s.Changes = s.Learnt+c[0], s.Changes+c[1]
		}
		w.rate(&s, made)
		require.LessOrEqual(t, s.PollsRate, 20.0, k)
		require.LessOrEqual(t, s.ChangesRate, 2.0, k)
		if k == 19 {
			require.InDelta(t, 10, s.PollsRate, 2)
		}
	}
}

// Counters for Prometheus have what this process made: they neither fall when a shard goes to another node, nor
// rise when it brings what others made.
func TestCountersOfShardsThatMove(t *testing.T) {
	t.Parallel()
	now := clock.NewReal()
	c := idleCrawler(t, now, 1)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	st := shard.NewState(filter)
	polled := func(r shard.Result) shard.Event {
		return shard.Event{Kind: shard.Polled, URL: "http://a.test/", At: now.Now(), Result: r, Bytes: 7}
	}
	for _, e := range []shard.Event{{Kind: shard.Add, URL: "http://a.test/", At: now.Now()}, polled(shard.First), polled(shard.Unchanged)} {
		require.NoError(t, st.Apply(&e))
	}
	c.Open(0, crawler.Part{State: st}, 1e-9)
	status := func() page.Status {
		s, err := (&watcher{crawler: c, clock: now}).Status(t.Context())
		require.NoError(t, err)
		return s
	}
	require.NoError(t, c.Learn(t.Context(), []shard.Event{polled(shard.Changed), polled(shard.Unchanged), polled(shard.Vetoed)}))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	made := page.Made{Unchanged: 1, Changed: 1, Vetoes: 1, Bytes: 21}
	require.Equal(t, made, status().Made)
	c.Close(0)
	require.Zero(t, status().Polls)
	require.Equal(t, made, status().Made)
	c.Stop()
	require.NoError(t, <-ended)
}

// idleCrawler returns a crawler of some shards that has no way to any host.
func idleCrawler(t *testing.T, now clock.Clock, shards int) *crawler.Crawler {
	c, err := crawler.New(crawler.Config{
		Shards: shards, Clock: now, PerSecond: 1, Groups: 1, Workers: 1,
		Fetch: fetch.Config{UserAgent: demoAgent, Points: []fetch.Point{{Name: "none"}}},
	})
	require.NoError(t, err)
	return c
}

// Before the first page is known, and on a node without a shard, lists are empty, which the live page can show, and
// not null.
func TestStatusWithoutPages(t *testing.T) {
	t.Parallel()
	now := clock.NewReal()
	c := idleCrawler(t, now, 0)
	w := &watcher{crawler: c, clock: now}
	status, err := w.Status(t.Context())
	require.NoError(t, err)
	require.NotNil(t, status.Hosts)
	require.NotNil(t, status.Workers)
	urls, err := w.Search(t.Context(), "x", 1)
	require.NoError(t, err)
	require.NotNil(t, urls)
	require.EqualError(t, w.PollNow(t.Context(), "http://a.test/"), "a.test is crawled by another node")
	require.ErrorIs(t, w.PollNow(t.Context(), "http://a.test/"), shard.ErrEnded)
	_, err = w.Search(t.Context(), "http://a.test/", 1)
	require.ErrorContains(t, err, "a.test is crawled by another node")
}

// A page that is gone for good is none of those that are crawled.
func TestStatusOfPagesThatAreGone(t *testing.T) {
	t.Parallel()
	now := clock.NewReal()
	c := idleCrawler(t, now, 1)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	for _, e := range []shard.Event{
		{Kind: shard.Add, URL: "http://a.test/", At: now.Now()}, {Kind: shard.Polled, URL: "http://a.test/", At: now.Now(), Result: shard.Gone},
	} {
		require.NoError(t, state.Apply(&e))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	c.Open(0, crawler.Part{State: state}, 0)
	status, err := (&watcher{crawler: c, clock: now}).Status(ctx)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 0, 1}, []int{status.Pages, status.Waiting, status.Barred, status.Gone})
	stop()
	<-ended
}

// A search finds a URL in whatever spelling, as the list may have it, and alone, whatever shard has it.
func TestSearch(t *testing.T) {
	t.Parallel()
	now := clock.NewReal()
	const shards = 8
	c := idleCrawler(t, now, shards)
	for i := range shards {
		filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		c.Open(i, crawler.Part{State: shard.NewState(filter)}, 0)
	}
	var added []shard.Event
	for i := range 10 {
		added = append(added, shard.Event{Kind: shard.Add, URL: fmt.Sprintf("http://h%d.test/?of=http://xn--bcher-kva.test/", i), At: now.Now()})
	}
	added = append(added, shard.Event{Kind: shard.Add, URL: "http://xn--bcher-kva.test/", At: now.Now()}, shard.Event{Kind: shard.Add, URL: "http://a.test/~Me", At: now.Now()})
	require.NoError(t, c.Learn(t.Context(), added))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	w := &watcher{crawler: c, clock: now}
	for text, want := range map[string]string{
		"http://Bücher.test": "http://xn--bcher-kva.test/", "http://xn--bcher-kva.test/": "http://xn--bcher-kva.test/",
		"http://me:pw@a.test:80/%7EMe#top": "http://a.test/~Me", "A.test/~me": "http://a.test/~Me",
	} {
		urls, err := w.Search(ctx, text, 20)
		require.NoError(t, err)
		require.Equal(t, []string{want}, urls, text)
	}
	urls, err := w.Search(ctx, "of=", 7)
	require.NoError(t, err)
	require.Len(t, urls, 7)
	stop()
	<-ended
}

// A page of which no poll brought a copy is not shown as one that is crawled.
func TestDetailWithoutACopy(t *testing.T) {
	t.Parallel()
	now := clock.NewReal()
	c := idleCrawler(t, now, 1)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	failed, first := shard.Event{Result: shard.Failed}, shard.Event{Result: shard.First, Copy: []byte("copy")}
	pages := map[string]struct {
		polls []shard.Event
		state string
	}{
		"http://a.test/new":    {nil, "waits for its first copy"},
		"http://a.test/failed": {[]shard.Event{failed, failed}, "no poll has brought a copy of it yet"},
		"http://a.test/late":   {[]shard.Event{failed, first}, "crawled"},
		"http://a.test/fails":  {[]shard.Event{first, failed}, "crawled"},
	}
	at := now.Now().Add(-24 * time.Hour)
	for url, p := range pages {
		require.NoError(t, state.Apply(&shard.Event{Kind: shard.Add, URL: url, At: at}))
		for _, e := range p.polls {
			at = at.Add(time.Hour)
			e.Kind, e.URL, e.At = shard.Polled, url, at
			require.NoError(t, state.Apply(&e))
		}
	}
	for range 20 { // until the learner has a scale of time, without which it says nothing of rates
		at = at.Add(time.Minute)
		url, err := state.Learner.Next(at)
		require.NoError(t, err)
		e := shard.Event{Kind: shard.Polled, URL: url, At: at, Result: shard.Changed}
		if state.Page(url).Copy() == nil {
			e.Result = shard.Failed
		}
		require.NoError(t, state.Apply(&e))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	c.Open(0, crawler.Part{State: state}, 0)
	for url, p := range pages {
		detail, known, err := (&watcher{crawler: c, clock: now}).Detail(ctx, url)
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, p.state, detail.State, url)
		require.Equal(t, p.state == "crawled", detail.Rate != nil, url)
	}
	stop()
	<-ended
}

// Whoever never reached a server has done nothing, which is no success.
func TestNoServer(t *testing.T) {
	t.Parallel()
	address := "nats://" + testnet.FreeAddress(t)
	err := run([]string{"-urls", os.DevNull, "-user-agent", demoAgent, "-nats", address, "-for", "10ms"}, io.Discard, io.Discard)
	require.ErrorIs(t, err, engine.ErrUnreached)
	require.ErrorContains(t, err, "-nats "+address)
}
