package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/webenv/live"
)

func TestRestUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "soon": {}, "-5": {}, "90": now.Add(90 * time.Second), "31536000": now.Add(LongestRest), "99999999999999999999999": now.Add(LongestRest),
		"Sat, 01 Mar 2025 11:30:00 GMT": now.Add(30 * time.Minute), "Sat, 01 Mar 2031 11:30:00 GMT": now.Add(LongestRest),
	} {
		got := restUntil(http.Header{"Retry-After": {text}, "Date": {"Sat, 01 Mar 2025 11:00:00 GMT"}}, now)
		require.True(t, want.Equal(got), "%q: %v", text, got)
	}
}

// A host that names a time is not asked for its robots.txt, its sitemaps and its feeds before that.
func TestDocumentsRest(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/robots.txt", "/map"} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == path:
				asked.Add(1)
				w.Header().Set("Retry-After", "7200")
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == "/robots.txt":
				http.NotFound(w, r)
			default:
				t.Error(r.URL.Path)
			}
		}))
		defer server.Close()
		now := clock.NewReal()
		f, err := New(Config{UserAgent: "test", Clock: now, Points: []Point{{Name: "direct", Base: http.DefaultTransport}}})
		require.NoError(t, err)
		get := func(path string) error {
			_, _, err := f.Get(t.Context(), server.URL+path, 100)
			return err
		}
		require.ErrorContains(t, get("/map"), "503")
		now.NotBefore(time.Now().Add(119 * time.Minute))
		require.Error(t, get("/map"))
		require.Error(t, get("/other"))
		require.EqualValues(t, 1, asked.Load(), path)
		if path == "/robots.txt" {
			page := f.Poll(t.Context(), 1, server.URL+"/", nil)
			require.ErrorIs(t, page.Err, ErrNoRobots)
			require.InDelta(t, 60, page.RetryAfter.Sub(now.Now()).Seconds(), 30)
		}
		now.NotBefore(time.Now().Add(121 * time.Minute))
		require.ErrorContains(t, get("/map"), "503")
		require.EqualValues(t, 2, asked.Load(), path)
	}
}

// Nor is it by a redirect of another host.
func TestRedirectsRest(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	tired := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		asked.Add(1)
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer tired.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, tired.URL+r.URL.Path, http.StatusFound)
	}))
	defer server.Close()
	now := clock.NewReal()
	f, err := New(Config{UserAgent: "test", Clock: now, Points: []Point{{Name: "direct", Base: http.DefaultTransport}}})
	require.NoError(t, err)
	get := func() error {
		_, _, err := f.Get(t.Context(), server.URL+"/map", 100)
		return err
	}
	require.ErrorContains(t, get(), "503")
	require.ErrorContains(t, get(), "does not want to be asked")
	require.EqualValues(t, 1, asked.Load())
	require.ErrorContains(t, f.Poll(t.Context(), 1, server.URL+"/", nil).Err, "does not want to be asked")
	require.EqualValues(t, 1, asked.Load())
	page := f.Poll(t.Context(), 1, tired.URL+"/old", nil)
	require.NotContains(t, fmt.Sprint(page.Err), "does not want to be asked", "its pages are the matter of the shards")
	require.EqualValues(t, 2, asked.Load())
	now.NotBefore(time.Now().Add(121 * time.Minute))
	require.ErrorContains(t, get(), "503")
	require.EqualValues(t, 3, asked.Load())
}

// A host that vetoes several pages in a row is not asked by redirects of any host, and vetoes of it are not
// those of the hosts that redirect. One that answers in between is.
func TestVetoesByRedirects(t *testing.T) {
	t.Parallel()
	c := newManual()
	vetoes := true
	web := newAsked(c, func(url string) (int, string, string) {
		switch {
		case strings.HasSuffix(url, "/robots.txt"):
			return http.StatusNotFound, "", ""
		case strings.HasPrefix(url, "http://to.test/"):
			if vetoes {
				return http.StatusServiceUnavailable, "", ""
			}
			return http.StatusOK, "", "a page"
		}
		return http.StatusFound, "http://to.test/page", ""
	})
	web.retryAfter = "7200"
	f := web.fetcher(t, Config{})
	poll := func(url string) Result { return f.Poll(t.Context(), 1, url, nil) }
	asked := func() int { return len(web.times["http://to.test/page"]) }
	until := c.Now().Add(2 * time.Hour)
	for range 2 {
		vetoes = false
		require.NoError(t, poll("http://a.test/").Err, "vetoes before an answer do not count")
		vetoes = true
		poll("http://to.test/page")
		poll("http://b.test/")
	}
	before := asked()
	res := poll("http://a.test/")
	require.Equal(t, before+1, asked())
	require.Equal(t, live.Vetoed, res.Outcome())
	require.Equal(t, "to.test", res.Elsewhere)
	require.True(t, until.Equal(res.RetryAfter))
	require.NotErrorIs(t, res.Err, ErrRests)
	for _, url := range []string{"http://a.test/", "http://c.test/"} {
		res := poll(url)
		require.ErrorIs(t, res.Err, ErrRests)
		require.Equal(t, "to.test", res.Elsewhere)
		require.True(t, until.Equal(res.RetryAfter))
		_, _, err := f.Get(t.Context(), url, 100)
		require.ErrorIs(t, err, ErrRests)
	}
	_, _, err := f.Get(t.Context(), "http://to.test/map", 100)
	require.ErrorIs(t, err, ErrRests)
	require.Equal(t, before+1, asked())
	require.Empty(t, poll("http://to.test/page").Elsewhere, "its own pages are the matter of the shards")
	require.Equal(t, before+2, asked())
	c.pass(2 * time.Hour)
	poll("http://a.test/")
	require.Equal(t, before+3, asked())
}

// No more hosts are remembered than a number, and those first that still rest.
func TestRestingIsBounded(t *testing.T) {
	t.Parallel()
	const hosts = 20
	var r resting
	now := newManual().Now()
	for k := range mostResting / 2 {
		r.page(fmt.Sprint(k), now, now)
	}
	for k := range hosts * Impatience {
		r.page(fmt.Sprint("host", k%hosts), now.Add(time.Hour), now)
	}
	for k := range 2 * mostResting {
		r.page(fmt.Sprint("more", k), now.Add(time.Hour), now)
		r.document(fmt.Sprint("more", k), now.Add(time.Hour), now)
		require.LessOrEqual(t, max(len(r.pages), len(r.documents)), mostResting)
		if k+1 == mostResting-hosts {
			for h := range hosts {
				require.Error(t, r.refuses(fmt.Sprint("host", h), now))
			}
		}
	}
}
