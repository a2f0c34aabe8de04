package fetch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// asked is a web that says by a function what is at a URL, and counts the requests to each host from
// when they are sent until the body is closed.
type asked struct {
	answer func(url string) (status int, location, body string)
	clock  clock.Clock
	pause  time.Duration // before the end of a body
	// retryAfter, if not empty, is a header of the answers 503.
	retryAfter string

	mu    sync.Mutex
	now   map[string]int // requests under way, by hosts
	most  map[string]int
	times map[string][]time.Time // by URLs
}

func newAsked(c clock.Clock, answer func(url string) (int, string, string)) *asked {
	return &asked{answer: answer, clock: c, now: map[string]int{}, most: map[string]int{}, times: map[string][]time.Time{}}
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	host, url := strings.ToLower(r.URL.Host), r.URL.String()
	a.now[host]++
	a.most[host] = max(a.most[host], a.now[host])
	a.times[url] = append(a.times[url], a.clock.Now())
	status, location, body := a.answer(url)
	resp := &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: http.Header{}, ContentLength: -1, Request: r}
	if status == http.StatusServiceUnavailable && a.retryAfter != "" {
		resp.Header.Set("Retry-After", a.retryAfter)
	}
	if location != "" {
		resp.Header.Set("Location", location)
	}
	resp.Body = &slow{Reader: strings.NewReader(body), pause: a.pause, end: sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now[host]--
	})}
	return resp, nil
}

// slow is a body that takes its time.
type slow struct {
	io.Reader
	pause time.Duration
	end   func()
}

func (s *slow) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil {
		time.Sleep(s.pause)
	}
	return n, err
}

func (s *slow) Close() error {
	s.end()
	return nil
}

func (a *asked) fetcher(t *testing.T, cfg Config) *Fetcher {
	t.Helper()
	cfg.UserAgent, cfg.Clock, cfg.Points, cfg.Seed = "test (+http://test.test)", a.clock, []Point{{Name: "web", Base: a}}, 1
	f, err := New(cfg)
	require.NoError(t, err)
	return f
}

// A host that others redirect to, pages and robots.txt, gets one request at a time.
func TestRedirectsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	web := newAsked(clock.NewReal(), func(url string) (int, string, string) {
		switch {
		case strings.HasSuffix(url, ".from.test/robots.txt"):
			return http.StatusFound, "http://to.test/rules.txt", ""
		case strings.HasSuffix(url, "/robots.txt"):
			return http.StatusNotFound, "", ""
		case strings.Contains(url, ".from.test/"):
			return http.StatusFound, "http://TO.test/slow#top", ""
		}
		return http.StatusOK, "", "User-agent: *\nDisallow: /never"
	})
	web.pause = 10 * time.Millisecond
	f := web.fetcher(t, Config{})
	var wait sync.WaitGroup
	for _, page := range []string{"http://a.from.test/", "http://b.from.test/", "http://c.from.test/", "http://to.test/slow", "http://to.test/x"} {
		wait.Go(func() {
			if err := f.Poll(t.Context(), 1, page, nil).Err; err != nil {
				t.Error(page, err)
			}
		})
	}
	wait.Wait()
	require.Len(t, web.times["http://to.test/rules.txt"], 3)
	for host, most := range web.most {
		require.Equal(t, 1, most, host)
	}
	// The rules that were found elsewhere are those of the host.
	allowed, known := f.Allowed("http://a.from.test/never")
	require.False(t, allowed)
	require.True(t, known)
	allowed, _ = f.Allowed("http://to.test/never")
	require.True(t, allowed)
}

// A redirect may have blanks and letters of any script in its query. They are sent with escapes, and all else as it is.
func TestRedirectNeedsEscapes(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/from":
			w.Header().Set("Location", "/to me?q=a b&r=ü&s=\xfc<\"&t=%7e%zz|{}'+%u4e2d")
			w.WriteHeader(http.StatusFound)
		case "/to me":
			sent <- r.RequestURI
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	f := newTestFetcher(t, Point{Name: "web", Base: http.DefaultTransport})
	require.NoError(t, f.Poll(t.Context(), 1, web.URL+"/from", nil).Err)
	require.Equal(t, "/to%20me?q=a%20b&r=%C3%BC&s=%FC%3C%22&t=%7e%zz|{}'+%u4e2d", <-sent)
}

// Hosts that redirect to each other, pages and robots.txt, do not wait for each other without end.
func TestRedirectsToEachOther(t *testing.T) {
	t.Parallel()
	other := map[string]string{"a.test": "b.test", "b.test": "a.test"}
	web := newAsked(clock.NewReal(), func(url string) (int, string, string) {
		host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		switch path {
		case "robots.txt":
			return http.StatusFound, "http://" + other[host] + "/rules.txt", ""
		case "rules.txt":
			return http.StatusNotFound, "", ""
		case "there":
			return http.StatusFound, "http://" + other[host] + "/back", ""
		case "back":
			return http.StatusFound, "http://" + other[host] + "/page", ""
		}
		return http.StatusOK, "", "a page"
	})
	f := web.fetcher(t, Config{})
	var wait sync.WaitGroup
	for range 20 {
		for host := range other {
			wait.Go(func() {
				if err := f.Poll(t.Context(), 1, "http://"+host+"/there", nil).Err; err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	require.Equal(t, map[string]int{"a.test": 1, "b.test": 1}, web.most)
	require.Len(t, web.times["http://a.test/page"], 20)
}

// A robots.txt that another process's host has is read all the same; a page is not.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	web := newAsked(clock.NewReal(), func(url string) (int, string, string) {
		switch url {
		case "http://ours.test/robots.txt":
			return http.StatusFound, "http://theirs.test/robots.txt", ""
		case "http://ours.test/away":
			return http.StatusFound, "http://theirs.test/page", ""
		}
		return http.StatusOK, "", "User-agent: *\nDisallow: /never"
	})
	f := web.fetcher(t, Config{Ours: func(host string) (time.Time, bool) { return time.Time{}, host == "ours.test" }})
	require.NoError(t, f.Poll(t.Context(), 1, "http://ours.test/page", nil).Err)
	require.ErrorIs(t, f.Poll(t.Context(), 1, "http://ours.test/never", nil).Err, ErrRobots)
	require.ErrorContains(t, f.Poll(t.Context(), 1, "http://ours.test/away", nil).Err, "another node polls it")
	require.ErrorIs(t, f.Poll(t.Context(), 1, "http://theirs.test/page", nil).Err, ErrElsewhere)
	require.Empty(t, web.times["http://theirs.test/page"])
}

// The delay that a robots.txt asks for holds from the request for it on, also of a host that is new to
// a process that runs for long, and before a redirect; the time for a request is without it.
func TestDelayHolds(t *testing.T) {
	t.Parallel()
	const delay = longestWait
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	c := clock.NewFast(begin, 5000)
	web := newAsked(c, func(url string) (int, string, string) {
		switch url {
		case "http://a.test/robots.txt":
			return http.StatusOK, "", "User-agent: *\nCrawl-delay: 120"
		case "http://a.test/1":
			return http.StatusFound, "/2", ""
		}
		return http.StatusOK, "", "a page"
	})
	f := web.fetcher(t, Config{
		Delay: time.Second, Timeout: c.Real(delay) / 3,
		Ours: func(string) (time.Time, bool) { return begin.Add(-24 * time.Hour), true },
	})
	require.NoError(t, f.Poll(t.Context(), 1, "http://a.test/1", nil).Err)
	var last time.Time
	for _, url := range []string{"http://a.test/robots.txt", "http://a.test/1", "http://a.test/2"} {
		require.Len(t, web.times[url], 1, url)
		at := web.times[url][0]
		if !last.IsZero() {
			require.GreaterOrEqual(t, at.Sub(last), delay, url)
		}
		last = at
	}
}

// web is a web of one page, with what it answers to requests in order; the last answer stays.
type web struct {
	clock clock.Clock
	pages []func(r *http.Request) *http.Response
	times []time.Time
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/robots.txt" {
		return answer(http.StatusNotFound, "", ""), nil
	}
	page := w.pages[min(len(w.times), len(w.pages)-1)]
	w.times = append(w.times, w.clock.Now())
	return page(r), nil
}

func answer(status int, etag, body string) *http.Response {
	resp := &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: http.Header{}, ContentLength: -1}
	if resp.Body = http.NoBody; body != "" {
		resp.Body = io.NopCloser(strings.NewReader(body))
	}
	if etag != "" {
		resp.Header.Set("ETag", etag)
	}
	return resp
}

// A second try of a request waits for the delay, as after an answer 304 about another copy.
func TestSecondTryWaits(t *testing.T) {
	t.Parallel()
	c := clock.NewFast(time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), 1e4)
	w := &web{clock: c, pages: []func(*http.Request) *http.Response{
		func(*http.Request) *http.Response { return answer(http.StatusOK, `"a"`, "one") },
		func(*http.Request) *http.Response { return answer(http.StatusNotModified, `"b"`, "") },
		func(*http.Request) *http.Response { return answer(http.StatusOK, `"c"`, "two") },
	}}
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: c, Points: []Point{{Name: "web", Base: w}}, Delay: time.Minute, Seed: 1})
	require.NoError(t, err)
	first := f.Poll(t.Context(), 1, "http://a.test/", nil)
	require.NoError(t, first.Err)
	second := f.Poll(t.Context(), 2, "http://a.test/", first.Copy)
	require.NoError(t, second.Err)
	require.True(t, second.Changed)
	require.Len(t, w.times, 3)
	for k := range 2 {
		require.GreaterOrEqual(t, w.times[k+1].Sub(w.times[k]), time.Minute)
	}
}

// A page of which nothing that is remembered can be read gets a first copy again, and that is told.
func TestUnreadableCopy(t *testing.T) {
	t.Parallel()
	c := clock.NewReal()
	page := func(*http.Request) *http.Response { return answer(http.StatusOK, `"a"`, "one") }
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: c, Seed: 1,
		Points: []Point{{Name: "web", Base: &web{clock: c, pages: []func(*http.Request) *http.Response{page}}}}})
	require.NoError(t, err)
	var log strings.Builder
	f.log = func() *slog.Logger { return slog.New(slog.NewTextHandler(&log, nil)) }
	res := f.Poll(t.Context(), 1, "http://a.test/", nil)
	require.Empty(t, log.String())
	res = f.Poll(t.Context(), 2, "http://a.test/", res.Copy[1:])
	require.NoError(t, res.Err)
	require.True(t, res.First)
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "url=http://a.test/")
	res = f.Poll(t.Context(), 3, "http://a.test/", res.Copy)
	require.NoError(t, res.Err)
	require.False(t, res.First)
}

// A change that is found at an answer 304, as it was taken for noise before, is kept like others: with
// a body. If that cannot be had the change is found again.
func TestLateVersions(t *testing.T) {
	t.Parallel()
	text, fails := "", false
	page := func(r *http.Request) *http.Response {
		etag := `"` + text + `"`
		switch {
		case r.Header.Get("If-None-Match") == etag:
			return answer(http.StatusNotModified, etag, "")
		case fails:
			return answer(http.StatusInternalServerError, "", "")
		}
		resp := answer(http.StatusOK, etag, "<p>It is "+text+"<p>and so on")
		resp.Header.Set("Content-Type", "text/html")
		return resp
	}
	c := clock.NewReal()
	var kept []Version
	f, err := New(Config{
		UserAgent: "test (+http://test.test)", Clock: c, Seed: 1,
		Points: []Point{{Name: "web", Base: &web{clock: c, pages: []func(*http.Request) *http.Response{page}}}},
		Keep:   func(_ context.Context, v Version) error { kept = append(kept, v); return nil },
	})
	require.NoError(t, err)
	var copy []byte
	poll := func() Result {
		res := f.Poll(t.Context(), 1, "http://a.test/", copy)
		if res.Err == nil && res.Copy != nil {
			copy = res.Copy
		}
		return res
	}
	for k := range 7 {
		text = "time " + strconv.Itoa(k)
		require.NoError(t, poll().Err)
	}
	before := len(kept)
	for !fails {
		res := poll()
		require.NoError(t, res.Err)
		require.False(t, res.Changed)
		var next Result
		fails = true
		if next = f.Poll(t.Context(), 1, "http://a.test/", copy); next.Err == nil {
			fails = false
			continue
		}
		require.ErrorIs(t, next.Err, ErrNotKept)
		require.False(t, next.Changed)
	}
	require.Len(t, kept, before)
	fails = false
	res := poll()
	require.NoError(t, res.Err)
	require.True(t, res.Changed)
	require.Equal(t, http.StatusNotModified, res.Status)
	require.Len(t, kept, before+1)
	require.Equal(t, "<p>It is time 6<p>and so on", string(kept[before].Body))
	require.Equal(t, http.StatusOK, kept[before].Poll.Status)
	require.True(t, kept[before].Poll.Changed)
	require.False(t, kept[before].Poll.First)
	require.False(t, poll().Changed)
}

// A page that is as long as what is read of one is whole, if its host says that it ends there.
func TestCutVersions(t *testing.T) {
	t.Parallel()
	const most = 100
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(n))
		_, _ = io.WriteString(w, strings.Repeat("a", n))
	}))
	defer web.Close()
	for length, cut := range map[int]bool{most - 1: false, most: false, most + 1: true} {
		var kept []Version
		f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: newManual(), Points: []Point{{Name: "web", Base: http.DefaultTransport}}, MaxBytes: most,
			Keep: func(_ context.Context, v Version) error {
				kept = append(kept, v)
				return nil
			}})
		require.NoError(t, err)
		require.NoError(t, f.Poll(t.Context(), 1, web.URL+"/"+strconv.Itoa(length), nil).Err)
		require.Len(t, kept, 1)
		require.Equal(t, cut, kept[0].Cut, length)
		require.Len(t, kept[0].Body, min(length, most))
	}
}

// A version that came by redirects says by which, and where they led.
func TestRedirectedVersions(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b?q#part", http.StatusMovedPermanently)
		case "/b":
			http.Redirect(w, r, "c", http.StatusFound)
		case "/c":
			_, _ = io.WriteString(w, "text")
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	direct, err := ParsePoint("direct", false)
	require.NoError(t, err)
	var kept []Version
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: clock.NewReal(), Points: []Point{direct}, Keep: func(_ context.Context, v Version) error {
		kept = append(kept, v)
		return nil
	}})
	require.NoError(t, err)
	for _, path := range []string{"/a", "/c"} {
		require.NoError(t, f.Poll(t.Context(), 1, web.URL+path, nil).Err)
	}
	require.Len(t, kept, 2)
	require.Equal(t, web.URL+"/a", kept[0].URL)
	require.Equal(t, web.URL+"/c", kept[0].Location)
	require.Equal(t, "text", string(kept[0].Body))
	require.Len(t, kept[0].Redirects, 2)
	for i, want := range []Redirect{{web.URL + "/a", 301, http.Header{"Location": {"/b?q#part"}}, "HTTP/1.1"}, {web.URL + "/b?q", 302, http.Header{"Location": {"/c"}}, "HTTP/1.1"}} {
		got := kept[0].Redirects[i]
		require.Equal(t, want.Header.Get("Location"), got.Header.Get("Location"))
		got.Header = want.Header
		require.Equal(t, want, got)
	}
	require.Empty(t, kept[1].Location)
	require.Empty(t, kept[1].Redirects)
}

// Cookies are sent on within a poll, and forgotten with it.
func TestCookies(t *testing.T) {
	t.Parallel()
	var without, with atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if _, err := r.Cookie("seen"); err != nil {
			without.Add(1)
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", MaxAge: 3600, Path: "/"})
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return
		}
		with.Add(1)
		_, _ = io.WriteString(w, "<p>text")
	}))
	defer web.Close()
	direct, err := ParsePoint("direct", false)
	require.NoError(t, err)
	f := newTestFetcher(t, direct)
	var copy []byte
	for i := range 3 {
		res := f.Poll(t.Context(), 1, web.URL+"/page", copy)
		require.NoError(t, res.Err)
		require.Equal(t, i == 0, res.First)
		require.False(t, res.Changed)
		if res.Copy != nil {
			copy = res.Copy
		}
		require.EqualValues(t, i+1, without.Load())
		require.EqualValues(t, i+1, with.Load())
	}
}

// Where a redirect led is told as the page's own URL would be: a host with an umlaut is in ASCII.
func TestLocationInASCII(t *testing.T) {
	t.Parallel()
	web := newAsked(newManual(), func(url string) (int, string, string) {
		switch {
		case strings.HasSuffix(url, "/robots.txt"):
			return http.StatusNotFound, "", ""
		case url == "http://a.test/":
			return http.StatusFound, "http://M\u00fcnchen.test:80/caf\u00e9", ""
		case strings.HasSuffix(url, "/caf%C3%A9"):
			return http.StatusFound, "/there", ""
		}
		return http.StatusOK, "", "there"
	})
	var kept Version
	f := web.fetcher(t, Config{Keep: func(_ context.Context, v Version) error {
		kept = v
		return nil
	}})
	require.NoError(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Err)
	require.Equal(t, "http://xn--mnchen-3ya.test/there", kept.Location)
	require.Len(t, kept.Redirects, 2)
	require.Equal(t, "http://xn--mnchen-3ya.test/caf%C3%A9", kept.Redirects[1].URL)
}

// A Location with a % that begins no escape is followed, as by browsers; one that is no URL all the same fails.
func TestLonePercent(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"/100%": "/100%25", "/100%-cotton": "/100%25-cotton", "/5%%20": "/5%25%20", "/%%%": "/%25%25%25", "/%a": "/%25a", "/a%zz%41": "/a%25zz%41",
	} {
		web := newAsked(newManual(), func(url string) (int, string, string) {
			switch url {
			case "http://a.test/":
				return http.StatusFound, location, ""
			case "http://a.test" + want:
				return http.StatusOK, "", "there"
			}
			return http.StatusNotFound, "", ""
		})
		require.NoError(t, web.fetcher(t, Config{}).Poll(t.Context(), 1, "http://a.test/", nil).Err, location)
	}
	web := newAsked(newManual(), func(url string) (int, string, string) {
		return http.StatusFound, "http://[::1/%", ""
	})
	require.ErrorContains(t, web.fetcher(t, Config{}).Poll(t.Context(), 1, "http://a.test/", nil).Err, "Location")
}
