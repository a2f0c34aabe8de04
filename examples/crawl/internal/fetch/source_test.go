package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// Documents that name pages are fetched as politely as these, also from a host that another process
// polls.
func TestGet(t *testing.T) {
	t.Parallel()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	web := newAsked(clock.NewFast(begin, 1e5), func(url string) (int, string, string) {
		switch url {
		case "http://a.test/robots.txt":
			return http.StatusOK, "", "User-agent: *\nDisallow: /private"
		case "http://a.test/moved":
			return http.StatusFound, "/new", ""
		case "http://a.test/none":
			return http.StatusNotFound, "", ""
		}
		return http.StatusOK, "", "a map"
	})
	f := web.fetcher(t, Config{Delay: time.Minute, Ours: func(host string) (time.Time, bool) { return begin, host == "b.test" }})
	for i := range 5 {
		body, _, err := f.Get(t.Context(), fmt.Sprintf("http://a.test/%d", i), 3)
		require.NoError(t, err)
		require.Equal(t, "a m", string(body))
	}
	_, _, err := f.Get(t.Context(), "http://a.test/private/map", 100)
	require.ErrorIs(t, err, ErrRobots)
	body, at, err := f.Get(t.Context(), "http://a.test/moved", 100)
	require.NoError(t, err)
	require.Equal(t, "http://a.test/new", at)
	require.Equal(t, "a map", string(body))
	_, _, err = f.Get(t.Context(), "http://a.test/none", 100)
	require.ErrorContains(t, err, "404")
	_, _, err = f.Get(t.Context(), "gopher://a.test/", 100)
	require.Error(t, err)
	var times []time.Time
	for _, at := range web.times {
		times = append(times, at...)
	}
	slices.SortFunc(times, time.Time.Compare)
	require.Len(t, times, 1+5+2+1)
	for i := 1; i < len(times); i++ {
		require.GreaterOrEqual(t, times[i].Sub(times[i-1]), time.Minute)
	}
}

// What a host says beside the number of a status is not passed on.
func TestGetStatus(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 403 %s\r\nContent-Length: 0\r\n\r\n", strings.Repeat("no ", 10_000))
			_ = c.Close()
		}
	}))
	defer server.Close()
	direct, err := ParsePoint("direct", false)
	require.NoError(t, err)
	_, _, err = newTestFetcher(t, direct).Get(t.Context(), server.URL+"/map.xml", 100)
	require.EqualError(t, err, "403 Forbidden")
}

// They take the access points that there are, and no other way.
func TestGetByProxy(t *testing.T) {
	t.Parallel()
	var direct atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { direct.Add(1) }))
	defer server.Close()
	gone, err := ParsePoint("http://"+testnet.FreeAddress(t), false)
	require.NoError(t, err)
	f := newTestFetcher(t, gone)
	_, _, err = f.Get(t.Context(), server.URL+"/map.xml", 100)
	require.ErrorIs(t, err, ErrHere)
	require.NotErrorIs(t, err, ErrRobots)
	require.ErrorContains(t, err, server.URL+"/robots.txt")
	require.Zero(t, direct.Load())
}

// A robots.txt that could not be fetched forbids nothing: it is said that it could not, and why.
func TestNoRobots(t *testing.T) {
	t.Parallel()
	web := newAsked(clock.NewReal(), func(url string) (int, string, string) {
		switch url {
		case "http://down.test/robots.txt":
			return http.StatusServiceUnavailable, "", "User-agent: *\nDisallow: /"
		case "http://up.test/robots.txt":
			return http.StatusNotFound, "", ""
		}
		return http.StatusFound, "http://down.test/", ""
	})
	f := web.fetcher(t, Config{})
	for _, url := range []string{"http://down.test/", "http://up.test/"} {
		res := f.Poll(t.Context(), 1, url, nil)
		require.False(t, res.Forbidden)
		_, _, err := f.Get(t.Context(), url, 100)
		for _, err := range []error{res.Err, err} {
			require.ErrorIs(t, err, ErrNoRobots)
			require.NotErrorIs(t, err, ErrRobots)
			require.ErrorContains(t, err, "http://down.test/robots.txt: 503 Service Unavailable")
		}
	}
	require.True(t, f.Poll(t.Context(), 1, "http://down.test/", nil).RetryAfter.After(time.Now()))
	require.Empty(t, web.times["http://down.test/"])
	f.robots.get = func(context.Context, string) (robotsAnswer, error) {
		return robotsAnswer{}, errors.New(strings.Repeat("x", 1<<20))
	}
	require.Less(t, len(f.Poll(t.Context(), 1, "http://long.test/", nil).Err.Error()), 400)
}

// The user and password in the URL of a document are also sent where a redirect leads to the same host, and nowhere
// else. They are in no message.
func TestUserOverRedirects(t *testing.T) {
	t.Parallel()
	var at map[string]string // what was sent
	web := func(w http.ResponseWriter, r *http.Request) {
		url := "http://" + r.Host + r.URL.Path
		at[url] = r.Header.Get("Authorization")
		switch to := r.URL.Query().Get("to"); {
		case r.URL.Path == "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /no")
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusMovedPermanently)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(web))
	t.Cleanup(s.Close)
	proxy, err := url.Parse(s.URL)
	require.NoError(t, err)
	f := newTestFetcher(t, Point{Name: "web", Base: &http.Transport{Proxy: http.ProxyURL(proxy)}})
	const secret = "Basic bWU6c2VjcmV0"
	for to, want := range map[string]string{
		"/a": secret, "http://a.test/a": secret, "http://A.test:80/a": secret, "http://b.test/a": "", "http://a.test:81/a": "", "http://www.a.test/a": "",
	} {
		at = map[string]string{}
		_, _, err := f.Get(t.Context(), "http://me:secret@a.test/x?to="+url.QueryEscape(to), 100)
		require.NoError(t, err, to)
		require.Equal(t, secret, at["http://a.test/x"])
		delete(at, "http://a.test/x")
		for asked, sent := range at {
			if !strings.HasSuffix(asked, "/robots.txt") {
				require.Equal(t, want, sent, asked)
			} else {
				require.Empty(t, sent)
			}
		}
	}
	for _, to := range []string{"/no", "http://a.test/no", "/a?to=/no", "http://a.test/a?to=/no"} {
		at = map[string]string{}
		_, _, err := f.Get(t.Context(), "http://me:secret@a.test/x?to="+url.QueryEscape(to), 100)
		require.ErrorIs(t, err, ErrRobots, to)
		require.NotContains(t, err.Error(), "secret", to)
	}
}
