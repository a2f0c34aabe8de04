package crawler

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// A poor machine has no file descriptors left, now and then.
type poor struct {
	changing
	lacks         atomic.Bool
	asked, failed atomic.Int64
}

func (p *poor) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked.Add(1)
	if p.lacks.Load() {
		p.failed.Add(1)
		return nil, fmt.Errorf("%w: %w", fetch.ErrRefused, &net.OpError{Op: "dial", Err: syscall.EMFILE})
	}
	return p.changing.RoundTrip(r)
}

// While this machine can send no request polls rest, and no page is taken to fail, neither known ones nor those
// that wait for a first copy. A stop waits for no rest.
func TestShortage(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state, web := shard.NewState(filter), &poor{}
	var polled, copies atomic.Int64
	now := clock.NewReal()
	c, err := New(Config{
		Shards: 1, Clock: now, PerSecond: 2000, Groups: 1, Workers: 8,
		Fetch: fetch.Config{UserAgent: "test (+http://test.test)", Seed: 1, Points: []fetch.Point{{Name: "web", Base: web}}},
		Applied: func(_ int, e *shard.Event) {
			if e.Kind == shard.Polled {
				polled.Add(1)
			}
			if e.Result == shard.First {
				copies.Add(1)
			}
		},
	})
	require.NoError(t, err)
	c.Open(0, Part{State: state}, 2000)
	add := func(name string) (events []shard.Event) {
		for i := range 20 {
			events = append(events, shard.Event{Kind: shard.Add, URL: fmt.Sprintf("http://%s-%d.test/", name, i), At: now.Now()})
		}
		return events
	}
	require.NoError(t, c.Learn(t.Context(), add("old")))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	await := func(what func() bool) {
		t.Helper()
		require.Eventually(t, what, time.Minute, time.Millisecond)
	}
	await(func() bool { return polled.Load() > 100 })

	web.lacks.Store(true)
	c.Tell(t.Context(), add("new"))
	await(func() bool { return c.Fetcher.Rests() > time.Second }) // the second one
	require.Less(t, web.failed.Load(), int64(50), "of 2000 polls a second")
	web.lacks.Store(false)
	before := polled.Load()
	await(func() bool { return polled.Load() > before+100 && copies.Load() == 40 })

	web.lacks.Store(true)
	await(func() bool { return c.Fetcher.Rests() > 3*time.Second })
	began := time.Now()
	c.Stop()
	require.NoError(t, <-ended)
	require.Less(t, time.Since(began), 2*time.Second)
	require.Zero(t, state.Failures)
	require.EqualValues(t, 40, state.First)
}
