package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// What is read of a list decides which of the known pages are removed: none because of a line with a
// mistake, an empty list, or one that was cut short.
func TestRemovals(t *testing.T) {
	t.Parallel()
	url := func(i int) string { return fmt.Sprintf("http://a.test/%d", i) }
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	for i := range 8 {
		require.NoError(t, state.Apply(&shard.Event{Kind: shard.Add, URL: url(i)}))
	}
	list := filepath.Join(t.TempDir(), "list")
	s, err := parse([]string{"-urls", list, "-user-agent", demoAgent}, io.Discard, io.Discard)
	require.NoError(t, err)
	e, err := engine.Open(t.Context(), engine.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	in := newInputs(&session{settings: s, engine: e, clock: clock.NewReal(), crawler: &crawler.Crawler{}}) // lists need no Fetcher
	lines := func(n int, more ...string) string {
		for i := range n {
			more = append(more, url(i))
		}
		return strings.Join(more, "\n")
	}
	for name, c := range map[string]struct {
		text    string
		most    float64
		removed int
	}{
		"all":                    {lines(8), 0.25, 0},
		"one fewer":              {lines(7), 0.25, 1},
		"two fewer":              {lines(6), 0.25, 2},
		"cut short":              {lines(5), 0.25, 0},
		"cut short, as is meant": {lines(5), 1, 3},
		"nothing":                {"", 0.25, 0},
		"nothing, none the less": {"# none\n", 1, 0},
		"others":                 {"http://b.test/", 1, 8},
		"a typo":                 {lines(7, url(7)+" wieght=2"), 1, 0},
		"no URL":                 {lines(7, "gopher://x"), 1, 0},
		"one is always possible": {lines(7), 0, 1},
	} {
		require.NoError(t, os.WriteFile(list, []byte(c.text), 0o600))
		require.NoError(t, in.reread(t.Context()))
		in.modified = map[string]time.Time{"http://never.test/": time.Now()}
		look := func(_ string, do func(*shard.State)) error { do(state); return nil }
		events, err := in.events(nil, c.most, look, func(do func(*shard.State)) error { do(state); return nil })
		require.NoError(t, err)
		removed := 0
		for _, e := range events {
			if e.Kind == shard.Remove {
				removed++
			}
		}
		require.Equal(t, c.removed, removed, name)
		require.Equal(t, in.whole, len(in.modified) == 0, "what sources name no more is forgotten")
	}
}

// A date that moves is a hint, of a day only as of now or the end of that day: the page may have been polled on it before
// it changed. What a source said first, as after a start, may be long known.
func TestHints(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	const url = "http://a.test/"
	require.NoError(t, state.Apply(&shard.Event{Kind: shard.Add, URL: url}))
	e, err := engine.Open(t.Context(), engine.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	in := newInputs(&session{settings: &settings{}, engine: e, clock: clock.NewReal()})
	look := func(_ string, do func(*shard.State)) error { do(state); return nil }
	hint := func(modified time.Time) time.Time {
		in.entries = []input.Entry{{URL: url, Modified: modified}}
		events, err := in.events(nil, 0, look, func(do func(*shard.State)) error { do(state); return nil })
		require.NoError(t, err)
		if len(events) == 0 {
			return time.Time{}
		}
		require.Equal(t, shard.Event{Kind: shard.Hint, URL: url, At: events[0].At}, events[0])
		return events[0].At
	}
	now := in.clock.Now()
	today := now.Truncate(24 * time.Hour)
	day := func(days int) time.Time { return today.AddDate(0, 0, days).UTC() }
	zone := time.FixedZone("", -3600)
	local := time.Date(today.Year(), today.Month(), today.Day()-2, 0, 0, 0, 0, zone)
	require.Zero(t, hint(time.Time{}))
	require.Equal(t, day(-9), hint(day(-9)))
	require.Zero(t, hint(day(-9)))
	require.Equal(t, day(-3), hint(day(-4)))
	require.Equal(t, local.AddDate(0, 0, 1), hint(local))
	require.Equal(t, day(-1).Add(time.Second), hint(day(-1).Add(time.Second)))
	require.WithinRange(t, hint(day(0)), now, in.clock.Now())
	require.Zero(t, hint(day(2)), "nobody has changed it yet")
}

// In a cluster a list is compared with the pages of all nodes, and shards that were just opened lose none.
func TestRemovalsInACluster(t *testing.T) {
	t.Parallel()
	const shards = 4
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	var named []string
	for i := range 8 {
		named = append(named, fmt.Sprintf("http://a.test/%d", i))
		require.NoError(t, state.Apply(&shard.Event{Kind: shard.Add, URL: named[i]}))
	}
	for i := range 8 {
		named = append(named, fmt.Sprintf("http://elsewhere.test/%d", i))
	}
	here := crawler.ShardOf("a.test", shards)
	require.NotEqual(t, here, crawler.ShardOf("elsewhere.test", shards))
	e, err := engine.Open(t.Context(), engine.Config{Dir: t.TempDir(), Shards: shards, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	for name, c := range map[string]struct {
		list    []string
		only    map[int]bool
		all     int
		unknown bool
		most    float64
		removed int
	}{
		"all":                      {list: named, all: 16, most: 0.25},
		"as few as it may be":      {list: named[2:14], all: 16, most: 0.25, removed: 2},
		"too few of all":           {list: named[1:12], all: 16, most: 0.25},
		"too few, as is meant":     {list: named[1:12], all: 16, most: 1, removed: 1},
		"too few of those here":    {list: named[3:], all: 16, most: 0.25},
		"fewer were quoted":        {list: named[1:9], all: 4, most: 0.25, removed: 1},
		"other pages":              {list: named[8:], all: 8, most: 0.25},
		"not known of all":         {list: named[1:], unknown: true, most: 0.25},
		"a shard was just opened":  {list: named[1:], only: map[int]bool{here: true}, all: 16, most: 1},
		"one is always possible":   {list: named[1:], all: 16, most: 0, removed: 1},
		"one of all, but not here": {list: append(named[1:12:12], named[13:]...), all: 16, most: 0},
	} {
		in := newInputs(&session{engine: e, clock: clock.NewReal()})
		in.whole, in.pages = true, func() (int, bool) { return c.all, !c.unknown }
		for _, url := range c.list {
			in.entries = append(in.entries, input.Entry{URL: url})
		}
		events, err := in.events(c.only, c.most, func(url string, do func(*shard.State)) error {
			if shard.HostOf(url) == "a.test" {
				do(state)
			}
			return nil
		}, func(do func(*shard.State)) error { do(state); return nil })
		require.NoError(t, err)
		removed := 0
		for _, e := range events {
			require.Equal(t, shard.Remove, e.Kind, name)
			removed++
		}
		require.Equal(t, c.removed, removed, name)
		require.True(t, in.removable(0, 8, 0, 0), "there is nothing to be said where none is missing")
	}
}

// A list that was cut short before a restart costs nothing, unless it is said to be meant.
func TestRemovalsAtAStart(t *testing.T) {
	t.Parallel()
	for most, left := range map[string]int{"": 8, "1": 1} {
		filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		state := shard.NewState(filter)
		for i := range 8 {
			require.NoError(t, state.Apply(&shard.Event{Kind: shard.Add, URL: fmt.Sprintf("http://a.test/%d", i)}))
		}
		list := filepath.Join(t.TempDir(), "list")
		require.NoError(t, os.WriteFile(list, []byte("http://a.test/0\n"), 0o600))
		args := []string{"-urls", list, "-user-agent", demoAgent}
		if most != "" {
			args = append(args, "-most-removed", most)
		}
		s, err := parse(args, io.Discard, io.Discard)
		require.NoError(t, err)
		e, err := engine.Open(t.Context(), engine.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer e.Close()
		now := clock.NewReal()
		c := idleCrawler(t, now, 0)
		c.Open(0, crawler.Part{State: state}, 1)
		in := newInputs(&session{settings: s, engine: e, clock: now, crawler: c, open: map[int]opened{0: {state: state}}})
		require.NoError(t, in.begin(t.Context(), false))
		require.Equal(t, left, state.Len())
	}
}

// A host of forbidden pages that does not answer any more does not keep the list from being read again.
func TestRefreshGoesOn(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "list")
	s, err := parse([]string{"-urls", list, "-user-agent", demoAgent, "-refresh", "20ms"}, io.Discard, io.Discard)
	require.NoError(t, err)
	e, err := engine.Open(t.Context(), engine.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state, now := shard.NewState(filter), clock.NewReal()
	asked := silent{make(chan struct{}), new(sync.Once)}
	c, err := crawler.New(crawler.Config{Clock: now, PerSecond: 1, Groups: 1, Workers: 1,
		Fetch: fetch.Config{UserAgent: demoAgent, Points: []fetch.Point{{Name: "silent", Base: asked}}, Timeout: time.Hour}})
	require.NoError(t, err)
	c.Open(0, crawler.Part{State: state}, 1)
	const forbidden = "http://silent.test/"
	require.NoError(t, c.Learn(t.Context(), []shard.Event{
		{Kind: shard.Add, URL: forbidden, At: now.Now()}, {Kind: shard.Polled, URL: forbidden, At: now.Now(), Result: shard.Forbidden},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	in := newInputs(&session{settings: s, engine: e, clock: now, crawler: c})
	write := func(urls ...string) {
		require.NoError(t, os.WriteFile(list+".new", []byte(strings.Join(urls, "\n")), 0o600))
		require.NoError(t, os.Rename(list+".new", list))
	}
	write(forbidden)
	refreshed := make(chan struct{})
	go func() {
		defer close(refreshed)
		_ = in.refresh(ctx)
	}()
	<-asked.once
	write(forbidden, "http://silent.test/new")
	require.Eventually(t, func() bool {
		pages := 0
		return c.Each(ctx, func(_ *shard.Loop, s *shard.State) { pages += s.Len() }) == nil && pages == 2
	}, time.Minute, time.Millisecond)
	cancel()
	<-refreshed
	<-ended
}

// A silent web does not answer, and says that it was asked.
type silent struct {
	once chan struct{}
	*sync.Once
}

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.Do(func() { close(s.once) })
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A file that is not there ends a first start before there is a state, which would keep its objective.
func TestNoList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, state := filepath.Join(dir, "list"), filepath.Join(dir, "state")
	require.NoError(t, os.WriteFile(list, []byte("http://a.test/\n"), 0o600))
	for _, args := range [][]string{{"-urls", list + "1"}, {"-urls", list, "-rules", list + "1"}, {"-urls", list, "-opml", list + "1"}} {
		require.ErrorIs(t, run(append(args, "-user-agent", demoAgent, "-state", state), io.Discard, io.Discard), os.ErrNotExist)
		require.NoDirExists(t, state)
	}
}
