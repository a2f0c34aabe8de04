package crawler

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// A round of first copies has as many pages as the budget allows in its time, and says whether there
// are more; where they are free it has all.
func TestRound(t *testing.T) {
	t.Parallel()
	const pages, clients = 300, 2
	for name, c := range map[string]struct {
		perRound float64
		free     bool
		want     int
	}{
		"few": {10, false, 10}, "none": {0, false, clients}, "all": {300, false, 300}, "more": {1e9, false, 300}, "free": {0, true, 300},
	} {
		filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		s := shard.NewState(filter)
		for i := range pages {
			require.NoError(t, s.Apply(&shard.Event{Kind: shard.Add, URL: fmt.Sprintf("http://host%d.test/%d", i%7, i)}))
		}
		crawler, err := New(Config{Clock: clock.NewReal(), Groups: 1, Workers: clients, CopyFirst: c.free,
			Fetch: fetch.Config{Points: []fetch.Point{{Name: "none", Base: http.DefaultTransport}}}})
		require.NoError(t, err)
		crawler.Open(0, Part{State: s}, c.perRound/copyRound.Seconds())
		p := crawler.all()[0]
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.loop.Run(ctx) }()
		hosts, more, err := crawler.waiting(ctx, p, clients)
		require.NoError(t, err)
		n := 0
		for _, h := range hosts {
			n += len(h.URLs)
		}
		require.Equal(t, c.want, n, name)
		require.Equal(t, c.want < pages, more, name)
		cancel()
		<-ended
	}
}
