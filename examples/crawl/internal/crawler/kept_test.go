package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

type changing struct{ version atomic.Int64 }

func (c *changing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/robots.txt" {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
	}
	body := fmt.Sprintf("<p>version %d of a page", c.version.Add(1))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// That a version cannot be kept is no failure of its page: it is asked for again, and learnt from once
// it can.
func TestNotKept(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	var kept, failed atomic.Int64
	learnt := make(chan struct{})
	c, err := New(Config{
		Shards: 1, Clock: clock.NewFast(time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), 1000), PerSecond: 1, Groups: 1, Workers: 2,
		Fetch: fetch.Config{
			UserAgent: "test (+http://test.test)", Exact: true, Seed: 1, Points: []fetch.Point{{Name: "web", Base: &changing{}}},
			Keep: func(context.Context, fetch.Version) error {
				if n := failed.Load(); n < 3 || kept.Load() > 0 && n < 6 {
					failed.Add(1)
					return errors.New("disk full")
				}
				kept.Add(1)
				return nil
			},
		},
		Applied: func(_ int, e *shard.Event) {
			if e.Kind == shard.Polled && e.Result == shard.Changed && state.Learnt == 1 {
				close(learnt)
			}
		},
	})
	require.NoError(t, err)
	c.Open(0, Part{State: state}, 1)
	require.NoError(t, c.Learn(t.Context(), []shard.Event{{Kind: shard.Add, URL: "http://a.test/", At: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)}}))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	select {
	case <-learnt:
	case <-time.After(time.Minute):
		t.Error("nothing was learnt")
	}
	c.Stop()
	require.NoError(t, <-ended)
	require.Zero(t, state.Failures)
	require.EqualValues(t, 6, failed.Load())
	require.EqualValues(t, 1, state.First)
}
