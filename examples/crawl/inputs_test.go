package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
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
		"cut short at a start":   {lines(5), 1, 3},
		"nothing":                {"", 0.25, 0},
		"nothing at a start":     {"# none\n", 1, 0},
		"others at a start":      {"http://b.test/", 1, 8},
		"a typo":                 {lines(7, url(7)+" wieght=2"), 1, 0},
		"no URL":                 {lines(7, "gopher://x"), 1, 0},
		"one is always possible": {lines(7), 0, 1},
	} {
		require.NoError(t, os.WriteFile(list, []byte(c.text), 0o600))
		require.NoError(t, in.reread(t.Context()))
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
	}
}
