package fetch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// One request at a time is through to a host, the next not before its delay, also the first after a
// start.
func TestGate(t *testing.T) {
	t.Parallel()
	const delay = 10 * time.Minute
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	c := clock.NewFast(begin, 1e6)
	g := newGate(c, func(string) time.Duration { return 0 }, func(host string) (time.Time, bool) { return begin, host != "b.test" })
	var through atomic.Int64
	var mu sync.Mutex
	var times []time.Time
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			leave, err := g.enter(t.Context(), "a.test", false)
			if err != nil || through.Add(1) > 1 {
				t.Error("two at a time", err)
				return
			}
			defer leave()
			defer through.Add(-1)
			g.setDelay("a.test", delay)
			if _, err := g.wait(t.Context(), "a.test", forever); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, c.Now())
		})
	}
	wait.Wait()
	require.GreaterOrEqual(t, times[0].Sub(begin), delay)
	for i := 1; i < len(times); i++ {
		require.GreaterOrEqual(t, times[i].Sub(times[i-1]), delay)
	}
	_, err := g.enter(t.Context(), "b.test", false)
	require.ErrorIs(t, err, ErrElsewhere)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.wait(ctx, "a.test", forever)
	require.ErrorIs(t, err, context.Canceled)
}

// A host is fetched from the access point that is fastest for it.
func TestPoints(t *testing.T) {
	t.Parallel()
	var all []Point
	for _, text := range []string{"direct", "http://user:secret@proxy.test:3128", "127.0.0.1"} {
		p, err := ParsePoint(text, false)
		require.NoError(t, err)
		require.NotContains(t, p.Name, "secret")
		all = append(all, p)
	}
	for _, bad := range []string{"", "proxy", "ftp://proxy.test", "httpss://proxy.test:3128", "192.0.2.1"} {
		_, err := ParsePoint(bad, false)
		require.Error(t, err, bad)
	}
	p := newPoints(all, nil, 1)
	used := map[string]map[string]int{"a.test": {}, "b.test": {}}
	for range 200 {
		for host, best := range map[string]int{"a.test": 0, "b.test": 2} {
			point, err := p.next(host)
			require.NoError(t, err)
			used[host][point.Name]++
			took := 500 * time.Millisecond
			if point.Name == all[best].Name {
				took = 100 * time.Millisecond
			}
			require.NoError(t, p.took(host, point, took))
		}
	}
	require.Greater(t, used["a.test"][all[0].Name], 180)
	require.Greater(t, used["b.test"][all[2].Name], 180)
	f := Fetcher{points: p}
	names, hosts := f.Loads()
	require.Equal(t, all[1].Name, names[1])
	require.Equal(t, 2, hosts[0]+hosts[1]+hosts[2])
}

// Hosts to which redirects lead are forgotten when their delays are over, not before, and what a robots.txt
// says of the delay holds again when they are asked again.
func TestDoorsAreForgotten(t *testing.T) {
	t.Parallel()
	c := newManual()
	sessions := 0
	web := newAsked(c, func(url string) (int, string, string) {
		switch {
		case url == "http://slow.test/robots.txt":
			return http.StatusOK, "", "User-agent: *\nCrawl-delay: 100"
		case strings.HasSuffix(url, "/robots.txt"):
			return http.StatusNotFound, "", ""
		case url == "http://a.test/":
			sessions++
			return http.StatusFound, fmt.Sprintf("http://session%d.test/", sessions), ""
		}
		return http.StatusOK, "", "a page"
	})
	f := web.fetcher(t, Config{Delay: time.Second})
	poll := func(url string) { require.NoError(t, f.Poll(t.Context(), 1, url, nil).Err) }
	poll("http://slow.test/")
	asked := c.Now()
	for c.Now().Sub(asked) < 99*time.Second {
		poll("http://a.test/")
		require.LessOrEqual(t, len(f.gate.hosts), 10)
		require.LessOrEqual(t, len(f.gate.idle), 10)
	}
	require.NotNil(t, f.gate.hosts["slow.test"])
	for range 20 {
		poll("http://a.test/")
	}
	require.Nil(t, f.gate.hosts["slow.test"])
	require.Equal(t, 100*time.Second, f.gate.delayOf("slow.test"))
}
