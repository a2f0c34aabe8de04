package crawler

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// A noWeb answers nothing.
type noWeb struct{}

func (noWeb) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no web") }

// The workers forget a host with its last page, and so do the access points.
func TestForgotten(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	c, err := New(Config{
		Shards: 1, Clock: clock.NewReal(), Groups: 1, Workers: 1,
		Fetch: fetch.Config{Points: []fetch.Point{{Name: "one", Base: noWeb{}}, {Name: "two", Base: noWeb{}}}},
	})
	require.NoError(t, err)
	c.Open(0, Part{State: shard.NewState(filter)}, 1)
	learn := func(kind shard.Kind, url string) {
		require.NoError(t, c.Learn(t.Context(), []shard.Event{{Kind: kind, URL: url, At: time.Now()}}))
	}
	learn(shard.Add, "http://a.test/1")
	learn(shard.Add, "http://a.test/2")
	c.Fleet.Submit(shard.Job{Host: "a.test"})
	require.Error(t, c.Fetcher.Poll(t.Context(), 1, "http://a.test/1", nil).Err)
	learn(shard.Remove, "http://a.test/1")
	require.Zero(t, c.Fleet.GroupOf("a.test"))
	_, hosts := c.Fetcher.Loads()
	require.ElementsMatch(t, []int{0, 1}, hosts)
	learn(shard.Remove, "http://a.test/2")
	require.Equal(t, -1, c.Fleet.GroupOf("a.test"))
	_, hosts = c.Fetcher.Loads()
	require.Equal(t, []int{0, 0}, hosts)

	// One that rests when it loses its last page is forgotten later.
	learn(shard.Add, "http://a.test/1")
	rests := time.Now().Add(100 * time.Millisecond)
	for range fetch.Impatience {
		require.NoError(t, c.Learn(t.Context(), []shard.Event{{Kind: shard.Veto, URL: "a.test", At: time.Now(), Until: rests}}))
	}
	c.Fleet.Submit(shard.Job{Host: "a.test"})
	learn(shard.Remove, "http://a.test/1")
	require.Zero(t, c.Fleet.GroupOf("a.test"))
	time.Sleep(time.Until(rests))
	learn(shard.Add, "http://b.test/")
	learn(shard.Remove, "http://b.test/")
	require.Equal(t, -1, c.Fleet.GroupOf("a.test"))
}

// The learner is told of a host's delay with the first poll, and again when the host comes back after it lost
// its pages, although its robots.txt is known; but not with each poll.
func TestDelayOfAHostThatComesBack(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nCrawl-delay: 0.02")
		}
	}))
	t.Cleanup(site.Close)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	var limits []float64
	polls := make(chan struct{}, 100)
	c, err := New(Config{
		Shards: 1, Clock: clock.NewReal(), Groups: 1, Workers: 1,
		Fetch: fetch.Config{Points: []fetch.Point{{Name: "web", Base: http.DefaultTransport}}},
		Applied: func(_ int, e *shard.Event) {
			switch e.Kind {
			case shard.Limit:
				limits = append(limits, e.Seconds)
			case shard.Polled:
				polls <- struct{}{}
			}
		},
	})
	require.NoError(t, err)
	s := shard.NewState(filter)
	c.Open(0, Part{State: s}, 1e6)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	learn := func(kind shard.Kind) {
		url := site.URL + "/"
		c.Tell(ctx, []shard.Event{{Kind: kind, URL: url, At: time.Now()}})
		for known := kind != shard.Add; known != (kind == shard.Add); {
			require.NoError(t, c.Each(ctx, func(_ *shard.Loop, s *shard.State) { known = s.Page(url) != nil }))
		}
	}
	for range 2 {
		learn(shard.Add)
		for range 9 {
			<-polls
		}
		learn(shard.Remove)
		for len(polls) > 0 {
			<-polls
		}
	}
	cancel()
	<-ended
	require.Subset(t, []float64{0.02}, limits)
	require.GreaterOrEqual(t, len(limits), 2)
	require.LessOrEqual(t, len(limits), 4, "polls may be in flight when the host is told of and when it goes")
}

// What the state says of the delays of hosts holds for the first request to each, robots.txt included.
func TestDelayAfterARestart(t *testing.T) {
	t.Parallel()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	s := shard.NewState(filter)
	for _, e := range []shard.Event{
		{Kind: shard.Add, URL: "http://slow.test/"}, {Kind: shard.Limit, URL: "slow.test", Seconds: 15},
		{Kind: shard.Add, URL: "http://fast.test/"}, {Kind: shard.Limit, URL: "fast.test", Seconds: 2},
		{Kind: shard.Add, URL: "http://far.test/"}, {Kind: shard.Limit, URL: "far.test", Seconds: 1e300},
	} {
		e.At = begin
		require.NoError(t, s.Apply(&e))
	}
	c, err := New(Config{Clock: clock.NewReal(), Groups: 1, Workers: 1, Settle: true,
		Fetch: fetch.Config{Delay: 2 * time.Second, Points: []fetch.Point{{Name: "web", Base: http.DefaultTransport}}}})
	require.NoError(t, err)
	require.Zero(t, c.before("slow.test"), "its shard is not here")
	c.Open(0, Part{State: s}, 1)
	require.Equal(t, 15*time.Second, c.before("slow.test"))
	require.Equal(t, fetch.LongestRest, c.before("far.test"))
	require.Zero(t, c.before("new.test"))
	require.Len(t, c.pieces[0].slow, 2, "those of which nothing is to be remembered take no memory")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = c.Fetcher.Check(ctx, "http://far.test/")
	require.ErrorIs(t, err, fetch.ErrLater, "it would have to wait")
}
