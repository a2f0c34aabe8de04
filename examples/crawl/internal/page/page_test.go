package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a crawl of three pages that goes its way.
type fake struct {
	mu     sync.Mutex
	polls  uint64
	polled []string
	paused bool
	delay  time.Duration // of a status
}

const odd = `http://a.test/<script>alert(1)</script>?x="y"`

func (f *fake) Status(context.Context) (Status, error) {
	time.Sleep(f.delay)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls += 10
	return Status{
		Time: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), Demo: true, Pages: 3, Gone: 1, Polls: f.polls, InFlight: 1, Learnt: f.polls, Changes: f.polls / 3,
		Made:      Made{Unchanged: 1, Changed: 2, First: 3, Failures: 4, Vetoes: 5, Bytes: 6},
		PollsRate: 10 + float64(f.polls%7), ChangesRate: 3, Budget: 12, Spent: 0.9, Price: 0.25, Unit: "in detections", Freshness: 0.8, Truth: true,
		WhatIf:   []WhatIf{{"half", 500, 300, 0.7}, {"this", 1000, 500, 0.8}, {"twice", 2000, 700, 0.9}},
		Hosts:    []Host{{Name: "a.test", Pages: 2, Polls: 40, Failures: 3, Paused: f.paused}, {Name: "b.test", Pages: 1}},
		AllHosts: 2, Workers: []Workers{{Hosts: 2, Workers: 16, Busy: 1.5}}, Points: []Point{{Name: "direct", Hosts: 2}},
		Rivals: []Rival{{"rate-filter", 100, 50, 0.8, 3}, {"uniform", 100, 30, 0.7, 5}, {"nutch", 100, 45, 0.75, 4}},
	}, nil
}

func (f *fake) Search(_ context.Context, text string, most int) ([]string, error) {
	if text == "fail" {
		return nil, errors.New("broken")
	}
	if text == "nothing" {
		return nil, nil
	}
	if text == "many" {
		return strings.Split(strings.Repeat("http://b.test/ ", most-1)+odd, " "), nil
	}
	return []string{odd, "http://b.test/"}, nil
}

func (f *fake) Detail(_ context.Context, url string) (Detail, bool, error) {
	at := time.Date(2025, 3, 1, 11, 0, 0, 0, time.UTC)
	return Detail{URL: url, State: "crawled", Due: at.Add(time.Hour), Rate: &Rate{0.5, 1, 2}, Worth: 0.2,
		History: []Visit{{at, "changed"}, {at, "unchanged"}}}, url == odd, nil
}

func (f *fake) PollNow(_ context.Context, url string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polled = append(f.polled, url)
	return nil
}

func (f *fake) Pause(_ context.Context, host string, on bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused = on; host != "a.test" {
		return errors.New("unknown host")
	}
	return nil
}

func listen(t *testing.T) (*Server, *fake) { return listenTo(t, new(fake)) }

func listenTo(t *testing.T, f *fake) (*Server, *fake) {
	s, err := Listen("127.0.0.1:0", f)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s, f
}

func do(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// What changes something needs the token of the page, from this site, in the name of this host.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	s, f := listen(t)
	require.True(t, s.Local())
	post := func(path, token string, change func(*http.Request)) int {
		form := url.Values{"token": {token}, "url": {odd}, "host": {"a.test"}, "on": {"true"}}
		r, err := http.NewRequest(http.MethodPost, s.URL()+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(r)
		status, _ := do(t, r)
		return status
	}
	for _, path := range []string{"poll", "pause"} {
		require.Equal(t, http.StatusForbidden, post(path, "", func(*http.Request) {}))
		require.Equal(t, http.StatusForbidden, post(path, "guess", func(*http.Request) {}))
		require.Equal(t, http.StatusForbidden, post(path, s.token, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }))
		require.Equal(t, http.StatusForbidden, post(path, s.token, func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") }))
		require.Equal(t, http.StatusMisdirectedRequest, post(path, s.token, func(r *http.Request) { r.Host = "evil.test" }))
	}
	require.Empty(t, f.polled)
	require.False(t, f.paused)
	require.Equal(t, http.StatusSeeOther, post("poll", s.token, func(*http.Request) {}))
	require.Equal(t, http.StatusSeeOther, post("pause", s.token, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }))
	require.Equal(t, []string{odd}, f.polled)
	require.True(t, f.paused)
}

func TestPaths(t *testing.T) {
	t.Parallel()
	s, _ := listen(t)
	for path, want := range map[string]int{
		"": 200, "static/page.css": 200, "search?q=a": 200, "search?q=fail": 500, "detail?url=" + url.QueryEscape(odd): 200,
		"detail?url=other": 404, "nothing": 404, "poll": 405, "metrics": 200,
	} {
		r, err := http.NewRequest(http.MethodGet, s.URL()+path, nil)
		require.NoError(t, err)
		status, body := do(t, r)
		require.Equal(t, want, status, path)
		if path == "metrics" {
			for i, result := range []string{"unchanged", "changed", "first", "failed", "vetoed"} {
				require.Contains(t, body, fmt.Sprintf("crawl_polls_total{result=%q} %d\n", result, i+1))
			}
			require.Contains(t, body, "crawl_bytes_total 6\n")
			require.Contains(t, body, `crawl_pages{state="gone"} 1`)
			require.Contains(t, body, `crawl_pages{state="crawled"} 2`)
			require.Contains(t, body, "crawl_budget_polls_per_second 12\n")
			require.Contains(t, body, `crawl_host_trouble_total{host="a.test",kind="failed"} 3`)
		}
	}
}

// A page that is opened before the first status has curves without points.
func TestNoPast(t *testing.T) {
	t.Parallel()
	s, _ := listenTo(t, &fake{delay: time.Second})
	resp, err := http.Get(s.URL() + "events")
	require.NoError(t, err)
	defer resp.Body.Close()
	line := make([]byte, len("event: past\ndata: []\n"))
	_, err = io.ReadFull(resp.Body, line)
	require.NoError(t, err)
	require.Equal(t, "event: past\ndata: []\n", string(line))
}
