package crawler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

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
		hosts, more, _, err := crawler.waiting(ctx, p, clients)
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

// First copies stop when a host has vetoed often enough, and while the user has it rest, and go on after
// that.
func TestRestingHosts(t *testing.T) {
	t.Parallel()
	const pages = 20
	for name, c := range map[string]struct {
		retryAfter string
		vetoes     time.Duration // from the first request on
		paused     bool
	}{"vetoed": {"31536000", time.Hour, false}, "vetoed for seconds": {"2", time.Second / 2, false}, "paused": {"", 0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			asked, served := map[string]bool{}, map[string]bool{}
			var first, vetoed time.Time
			early := 0 // requests within a second of the last veto
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(w, r)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				asked[r.URL.Path] = true
				if first.IsZero() {
					first = time.Now()
				}
				if time.Since(first) < c.vetoes {
					vetoed, early = time.Now(), 0
					w.Header().Set("Retry-After", c.retryAfter)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				served[r.URL.Path] = true
				if time.Since(vetoed) < time.Second {
					early++
				}
			}))
			defer server.Close()
			count := func(paths map[string]bool) int {
				mu.Lock()
				defer mu.Unlock()
				return len(paths)
			}
			filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
			require.NoError(t, err)
			s := shard.NewState(filter)
			for i := range pages {
				require.NoError(t, s.Apply(&shard.Event{Kind: shard.Add, URL: fmt.Sprintf("%s/%d", server.URL, i)}))
			}
			crawler, err := New(Config{Clock: clock.NewReal(), Groups: 1, Workers: 2,
				Fetch: fetch.Config{Delay: 40 * time.Millisecond, Points: []fetch.Point{{Name: "direct", Base: http.DefaultTransport}}}})
			require.NoError(t, err)
			crawler.Open(0, Part{State: s}, 1e6)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- crawler.Run(ctx) }()
			pause := func(on bool) {
				crawler.Tell(ctx, []shard.Event{{Kind: shard.Pause, URL: strings.TrimPrefix(server.URL, "http://"), On: on}})
			}
			require.Eventually(t, func() bool { return count(asked) > 0 }, 10*time.Second, time.Millisecond)
			if c.paused {
				pause(true)
			}
			if c.retryAfter != "2" {
				time.Sleep(time.Second) // enough for all pages
				require.Less(t, count(asked), pages/2)
			}
			if c.paused {
				pause(false)
			}
			if c.vetoes < time.Hour {
				require.Eventually(t, func() bool { return count(served) == pages }, 20*time.Second, time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			require.Less(t, early, pages/2)
			cancel()
			<-ended
		})
	}
}

// A host that vetoes what redirects of others lead to it rests: for their pages and for its own. These others do
// not rest.
func TestVetoesByRedirects(t *testing.T) {
	t.Parallel()
	const hosts, pages = 3, 20
	var mu sync.Mutex
	asked := map[string]int{}
	serve := func(answer http.HandlerFunc) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			answer(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	count := func(kind string) {
		mu.Lock()
		defer mu.Unlock()
		asked[kind]++
	}
	to := serve(func(w http.ResponseWriter, r *http.Request) {
		count(r.URL.Path[:len("/own")])
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	good := make(chan struct{}, hosts*pages)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	s := shard.NewState(filter)
	c, err := New(Config{
		Clock: clock.NewReal(), Groups: 1, Workers: 2,
		Fetch: fetch.Config{Delay: 10 * time.Millisecond, Points: []fetch.Point{{Name: "direct", Base: http.DefaultTransport}}},
		Applied: func(_ int, e *shard.Event) {
			if e.Kind == shard.Polled && e.Result == shard.First {
				good <- struct{}{}
			}
		},
	})
	require.NoError(t, err)
	c.Open(0, Part{State: s}, 1e6)
	var events []shard.Event
	add := func(url string) { events = append(events, shard.Event{Kind: shard.Add, URL: url}) }
	for range hosts {
		from := serve(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/moved") {
				http.Redirect(w, r, to+r.URL.Path, http.StatusMovedPermanently)
				return
			}
			_, _ = io.WriteString(w, "a page")
		})
		for p := range pages {
			add(fmt.Sprintf("%s/moved%d", from, p))
			add(fmt.Sprintf("%s/stayed%d", from, p)) // asked for after the others
		}
	}
	for p := range pages {
		add(fmt.Sprintf("%s/own%d", to, p))
	}
	require.NoError(t, c.Learn(t.Context(), events))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for range hosts * pages {
		select {
		case <-good:
		case <-time.After(30 * time.Second):
			t.Fatal("good pages are not polled")
		}
	}
	cancel()
	<-ended
	require.LessOrEqual(t, asked["/mov"], fetch.Impatience)
	require.Less(t, asked["/own"], fetch.Impatience)
	_, rests := s.Host(strings.TrimPrefix(to, "http://")).Rests(time.Now())
	require.True(t, rests)
}
