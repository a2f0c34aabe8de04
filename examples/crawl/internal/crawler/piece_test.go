package crawler

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// The workers forget a host with its last page.
func TestForgotten(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	c, err := New(Config{
		Shards: 1, Clock: clock.NewReal(), Groups: 1, Workers: 1,
		Fetch: fetch.Config{Points: []fetch.Point{{Name: "web", Base: http.DefaultTransport}}},
	})
	require.NoError(t, err)
	c.Open(0, Part{State: shard.NewState(filter)}, 1)
	learn := func(kind shard.Kind, url string) {
		require.NoError(t, c.Learn(t.Context(), []shard.Event{{Kind: kind, URL: url, At: time.Now()}}))
	}
	learn(shard.Add, "http://a.test/1")
	learn(shard.Add, "http://a.test/2")
	c.Fleet.Submit(shard.Job{Host: "a.test"})
	learn(shard.Remove, "http://a.test/1")
	require.Zero(t, c.Fleet.GroupOf("a.test"))
	learn(shard.Remove, "http://a.test/2")
	require.Equal(t, -1, c.Fleet.GroupOf("a.test"))
}
