package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
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
			_, err := f.Get(t.Context(), server.URL+path, 100)
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
		_, err := f.Get(t.Context(), server.URL+"/map", 100)
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
