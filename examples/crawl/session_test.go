package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/demo"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

// output is what a crawler in another goroutine or process prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// reopened opens what a crawler left behind.
func reopened(t *testing.T, state string, do func(*shard.State, *engine.Shard)) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Config{Dir: state, KeepLog: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	s, log, err := crawler.Restored(t.Context(), e, 0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	do(s, log)
}

func pagesOf(s *shard.State) (urls []string) {
	for p := range s.All() {
		urls = append(urls, p.URL)
	}
	slices.Sort(urls)
	return urls
}

// No connection to a host outlives a session.
func TestSessionClosesConnections(t *testing.T) {
	var opened, open atomic.Int32
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") }))
	site.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	site.Start()
	defer site.Close()
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	require.NoError(t, os.WriteFile(list, []byte(site.URL+"/"), 0o600))
	for length := time.Second; opened.Load() == 0; length *= 2 { // a machine may be too slow to ask for anything in so short a time
		require.NoError(t, run([]string{"-urls", list, "-state", filepath.Join(dir, "state"), "-user-agent", demoAgent, "-page", "", "-delay", "10ms", "-per-day", "1e7", "-for", length.String()}, io.Discard, io.Discard))
	}
	require.Eventually(t, func() bool { return open.Load() == 0 }, time.Minute, time.Millisecond)
}

// A list that is edited between runs, with a line that is no URL; the new versions in a folder and
// as lines; a dry run; a clock that was set back.
func TestSessions(t *testing.T) {
	t.Parallel()
	web, list := misbehaving(t, 2)
	dir := t.TempDir()
	state, folder := filepath.Join(dir, "state"), filepath.Join(dir, "versions")
	run := func(urls []string, more ...string) (stdout, stderr string) {
		t.Helper()
		require.NoError(t, os.WriteFile(list, []byte(strings.Join(urls, "\n")), 0o600))
		return runChild(t, web, crawlArgs(web, list, state, more...)...)
	}
	a, b, c := "http://good-1.test/page/0", "http://good-1.test/page/1", "http://good-2.test/page/0"
	lines, log := run([]string{a, "gopher://x", b}, "-lines", "-folder", folder)
	require.Contains(t, log, "not an absolute http or https URL")
	require.Contains(t, log, ":2: ")
	require.Contains(t, lines, `"url":"`+a+`"`)
	files, err := filepath.Glob(filepath.Join(folder, "good-1.test", "*", "*.html"))
	require.NoError(t, err)
	require.Len(t, files, strings.Count(lines, "\n"))
	var learnt uint64
	reopened(t, state, func(s *shard.State, _ *engine.Shard) {
		require.Equal(t, []string{a, b}, pagesOf(s))
		learnt = s.Learnt
		require.Positive(t, learnt)
	})

	polls := web.Witness.Polls()
	archive := filepath.Join(dir, "a.warc.gz")
	table, _ := run([]string{a, c}, "-dry-run", "-per-day", "100000", "-warc", archive)
	require.NoFileExists(t, archive)
	require.Contains(t, table, "waiting for a first copy 1, ")
	require.Contains(t, table, a)
	require.NotContains(t, table, b)
	require.Contains(t, table, "changes every")
	require.Equal(t, polls, web.Witness.Polls())

	// The latest poll is an hour ahead.
	reopened(t, state, func(s *shard.State, log *engine.Shard) {
		l := shard.NewLoop(shard.Config{State: s, Log: log})
		require.NoError(t, l.Learn(t.Context(), []shard.Event{{Kind: shard.Polled, URL: a, At: time.Now().Add(time.Hour), Result: shard.Unchanged}}))
	})
	_, log = run([]string{a, c})
	require.Contains(t, log, "set back")
	reopened(t, state, func(s *shard.State, _ *engine.Shard) {
		require.Equal(t, []string{a, c}, pagesOf(s))
		require.Greater(t, s.Learnt, learnt+1)
	})
}

// A state that another kind of run began, or with another number of shards, is refused with a way out.
func TestOtherStates(t *testing.T) {
	t.Parallel()
	of := map[string][]string{"crawl": {"-urls", os.DevNull, "-user-agent", demoAgent}, "frontier": {"-frontier", "127.0.0.1:0"}}
	for kind, other := range map[string]string{"crawl": "frontier", "frontier": "crawl"} {
		state := filepath.Join(t.TempDir(), "state")
		open := func(args []string) error {
			s, err := parse(append(args, "-state", state), io.Discard, io.Discard)
			require.NoError(t, err)
			e, err := engine.Open(t.Context(), s.engine)
			if err == nil {
				e.Close()
			}
			return err
		}
		require.NoError(t, open(of[kind]))
		require.NoError(t, open(of[kind]))
		err := open(of[other])
		require.ErrorIs(t, err, engine.ErrState)
		require.ErrorContains(t, err, "it is that of a "+kind+", and this is a "+other)
		if kind == "frontier" {
			continue // which has one shard
		}
		require.ErrorContains(t, open(append([]string{"-shards", "4"}, of[kind]...)), "leave -shards out")
		err = run(append(of[kind], "-state", state, "-exchange", "5s"), io.Discard, io.Discard)
		require.ErrorAs(t, err, new(report.UsageError))
		require.ErrorContains(t, err, "has one shard")
	}
}

// A dry run of a crawl that there is not yet leaves nothing behind, and says which pages are new.
func TestDryRunOfNewCrawl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, state := filepath.Join(dir, "list"), filepath.Join(dir, "state")
	require.NoError(t, os.WriteFile(list, []byte("http://a.test/1\nhttp://a.test/2\n"), 0o600))
	dry := func(more ...string) string {
		t.Helper()
		var out output
		cmd := command(append([]string{"-urls", list, "-state", state, "-user-agent", demoAgent, "-dry-run", "-objective", "age"}, more...)...)
		cmd.Stdout = &out
		cmd.Env = append(cmd.Environ(), "TMPDIR="+dir)
		require.NoError(t, cmd.Run())
		return out.String()
	}
	all := dry("-shards", "1")
	require.Contains(t, all, "http://a.test/1")
	require.Contains(t, all, "http://a.test/2")
	require.NotContains(t, all, "no page may be polled yet")
	require.Contains(t, dry("-shards", "1", "-per-day", "24"), "1 of 2 new pages")
	dry("-shards", "4")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "the list")
}

// A dry run of a crawl whose state cannot be written ends with why, and does not wait until it can be.
func TestDryRunOfUnwritableState(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	e, err := engine.Open(t.Context(), engine.Config{Dir: state, Kind: "crawl", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	e.Close()
	require.NoError(t, os.Mkdir(filepath.Join(state, "nats", "jetstream", "1.blk"), 0o700)) // the superuser may write to any file
	ended := make(chan error, 1)
	go func() {
		ended <- run([]string{"-urls", os.DevNull, "-state", state, "-user-agent", demoAgent, "-dry-run"}, io.Discard, io.Discard)
	}()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, engine.ErrStorage)
	case <-time.After(storagePause):
		t.Fatal("it waits")
	}
}

// onePage returns a state with a page to crawl, and when it was added.
func onePage(t *testing.T, url string) (*shard.State, time.Time) {
	t.Helper()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state, now := shard.NewState(filter), time.Unix(1_700_000_000, 0)
	require.NoError(t, state.Apply(&shard.Event{Kind: shard.Add, URL: url, At: now}))
	return state, now
}

// What is known of a page after a poll or two is too little for a rate, and is not nothing.
func TestReason(t *testing.T) {
	t.Parallel()
	const url = "http://a.test/"
	state, now := onePage(t, url)
	for k, result := range []shard.Result{shard.First, shard.Unchanged} {
		at := now.Add(time.Duration(k) * time.Second)
		require.NoError(t, state.Apply(&shard.Event{Kind: shard.Polled, URL: url, At: at, Result: result}))
		require.Equal(t, "too little is known yet to say how often it changes; last poll 5s ago: "+result.String(), reason(state, url, at.Add(5*time.Second)))
	}
}

// A dry run ends when it is told to, whatever the budget: that may be millions of polls in an hour.
func TestDryRunEnds(t *testing.T) {
	t.Parallel()
	const url = "http://a.test/"
	state, now := onePage(t, url)
	require.NoError(t, state.Apply(&shard.Event{Kind: shard.Polled, URL: url, At: now, Result: shard.First}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := tabwriter.NewWriter(io.Discard, 0, 0, 2, ' ', 0)
	require.ErrorIs(t, (&settings{perDay: 100}).walk(ctx, state, now, 1, out), context.Canceled)
}

// runChild runs a crawler in a process of its own, and ends it after some polls if it goes on.
func runChild(t *testing.T, web *demo.Web, args ...string) (stdout, stderr string) {
	t.Helper()
	return runFor(t, web, 10, args...)
}

// runFor is runChild for so many polls or more.
func runFor(t *testing.T, web *demo.Web, polls int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, log output
	cmd := command(args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if !slices.Contains(args, "-dry-run") {
		before := web.Witness.Polls()
		waitFor(t, &log, func() bool { return web.Witness.Polls() >= before+polls })
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
	}
	require.NoError(t, cmd.Wait(), log.String())
	return out.String(), log.String()
}

// Of two crawlers on one folder the second says so and leaves it alone; and none crawls real pages
// without a name.
func TestRefused(t *testing.T) {
	t.Parallel()
	web, list := misbehaving(t, 1)
	state := filepath.Join(t.TempDir(), "state")
	e, err := engine.Open(t.Context(), engine.Config{Dir: state})
	require.NoError(t, err)
	defer e.Close()
	require.ErrorIs(t, run(crawlArgs(web, list, state), io.Discard, io.Discard), engine.ErrBusy)
	err = run([]string{"-urls", list, "-state", state}, io.Discard, io.Discard)
	require.ErrorAs(t, err, new(report.UsageError))
	require.ErrorContains(t, err, "-user-agent")
	err = run([]string{"-urls", list + ".none", "-state", filepath.Join(t.TempDir(), "s"), "-user-agent", demoAgent, "-page", ""}, io.Discard, io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What was learnt of the access points is part of the state, and the next session goes on from it. Of hosts
// that went off the list nothing is kept.
func TestPointsAreSaved(t *testing.T) {
	t.Parallel()
	web, list := misbehaving(t, 2)
	state := filepath.Join(t.TempDir(), "state")
	second := strings.Replace(web.Proxy(), "127.0.0.1", "localhost", 1)
	require.NotEqual(t, web.Proxy(), second)
	known := func() (hosts int) {
		t.Helper()
		reopened(t, state, func(s *shard.State, _ *engine.Shard) {
			f, err := fetch.New(fetch.Config{Points: []fetch.Point{{Name: web.Proxy()}, {Name: second}}})
			require.NoError(t, err)
			require.NoError(t, f.Open(0, s.Points))
			_, at := f.Loads()
			hosts = at[0] + at[1]
		})
		return hosts
	}
	runFor(t, web, len(web.URLs()), crawlArgs(web, list, state, "-via", second)...) // most hosts are asked
	all := known()
	some := web.URLs()[:len(web.URLs())/2]
	t.Logf("%d of %d hosts are known", all, len(web.URLs())/2)
	require.Greater(t, all, len(some)/2, "of two pages each")
	// The next session comes to fewer hosts, some of which may be new.
	_, log := runChild(t, web, crawlArgs(web, list, state, "-via", second, "-per-day", strconv.Itoa(10*86400))...)
	require.NotContains(t, log, "learnt anew")
	require.GreaterOrEqual(t, known(), all)
	// Hosts that went are forgotten.
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(some, "\n")), 0o600))
	runChild(t, web, crawlArgs(web, list, state, "-via", second, "-most-removed", "1")...)
	require.LessOrEqual(t, known(), len(some)/2)
}

// What a crawl is for stays what it was begun with: it goes on with that, and refuses another. So does
// a frontier.
func TestObjectiveStays(t *testing.T) {
	t.Parallel()
	for _, kind := range [][]string{{"-urls", "list", "-user-agent", demoAgent}, {"-frontier", "127.0.0.1:0"}} {
		state := filepath.Join(t.TempDir(), "state")
		again := func(args ...string) (*settings, error) {
			s, err := parse(append(append(args, "-state", state), kind...), io.Discard, io.Discard)
			require.NoError(t, err)
			e, err := engine.Open(t.Context(), s.engine)
			require.NoError(t, err)
			defer e.Close()
			return s, s.agree(e)
		}
		for _, args := range [][]string{{"-objective", "freshness"}, {}, {"-objective", "freshness"}} {
			s, err := again(args...)
			require.NoError(t, err)
			require.Equal(t, knapsack.Freshness, s.objective)
		}
		_, err := again("-objective", "detections")
		require.ErrorContains(t, err, "-objective detections: what was learnt in "+state+" is for the objective freshness: leave the flag out")
	}
}

// A state that is gone while the crawl or the frontier rests, as its disk is, is waited for. No other one is begun in
// its place.
func TestStateIsGone(t *testing.T) {
	t.Parallel()
	for _, kind := range [][]string{{"-urls", "list", "-user-agent", demoAgent}, {"-frontier", "127.0.0.1:0"}} {
		for _, mount := range []bool{false, true} { // is left, as an empty folder
			dir := t.TempDir()
			state, away := filepath.Join(dir, "state"), filepath.Join(dir, "away")
			s, err := parse(append([]string{"-state", state}, kind...), io.Discard, io.Discard)
			require.NoError(t, err)
			open := func() error {
				e, err := engine.Open(t.Context(), s.engine)
				if err != nil {
					return err
				}
				defer e.Close()
				return s.agree(e)
			}
			require.NoError(t, open())
			require.NoError(t, os.Rename(state, away))
			if mount {
				require.NoError(t, os.Mkdir(state, 0o700))
			}
			for range 2 {
				require.ErrorIs(t, open(), engine.ErrStorage)
			}
			if mount {
				require.NoError(t, os.Remove(state))
			}
			require.NoError(t, os.Rename(away, state))
			require.NoError(t, open())
		}
	}
}
