package live

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
	"github.com/recrawl/recrawl/webenv/serve"
)

var _ webenv.Env = (*Pages)(nil)

func liveOf(t require.TestingT, handler http.Handler, cfg Config, paths ...string) *Pages {
	urls := make([]string, len(paths))
	for i, path := range paths {
		urls[i] = "http://web.test" + path
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{}
	}
	if handler != nil {
		cfg.Client.Transport = webtest.InProcess{Handler: handler}
	}
	if cfg.Calendar.Epoch.IsZero() {
		cfg.Calendar.Epoch = webtest.Year2001
	}
	l, err := New(urls, cfg)
	require.NoError(t, err)
	return l
}

// The caller may go on to use its header for something else.
func TestPagesKeepTheirHeader(t *testing.T) {
	t.Parallel()
	var agents []string
	header := http.Header{"User-Agent": {"one"}}
	l := liveOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		agents = append(agents, r.UserAgent())
	}), Config{Header: header}, "/")
	header.Set("User-Agent", "two")
	l.Poll(0, 1)
	require.Equal(t, []string{"one"}, agents)
}

// restartedLive returns an environment that was saved and restored into one
// with another order of pages.
func restartedLive(t require.TestingT, old *Pages, handler http.Handler, paths ...string) *Pages {
	saved, err := old.MarshalBinary()
	require.NoError(t, err)
	fresh := liveOf(t, handler, Config{}, paths...)
	require.NoError(t, fresh.UnmarshalBinary(saved))
	return fresh
}

// A live environment over a server sees what its environment does, apart from
// the first poll of each page; since is the last change, up to the second, or else
// now.
func TestLiveSeesWhatEnvSees(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				times := [][]float64{webtest.Changes.Draw(t, "changes"), webtest.Changes.Draw(t, "changes")}
				twin := webtest.Replay(t, times...)
				cfg := perhapsFailing(t, mode.cfg)
				s, now := serverOf(t, webtest.Replay(t, times...), cfg)
				live := liveOf(t, s, Config{}, "/page/0", "/page/1")
				polled := [2]bool{}
				last := [2]float64{}
				for range rapid.IntRange(1, 60).Draw(t, "polls") {
					now.Set(now.Now() + float64(rapid.IntRange(0, 5).Draw(t, "gap"))/4)
					page := rapid.IntRange(0, 1).Draw(t, "page")
					if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
						live = restartedLive(t, live, s, "/page/0", "/page/1")
					}
					since, changed := live.Poll(page, now.Now())
					if live.Err(page) != nil {
						require.ErrorIs(t, live.Err(page), ErrStatus)
						require.False(t, changed)
						continue
					}
					_, want := twin.Poll(page, now.Now())
					require.Equal(t, want && polled[page], changed)
					if changed && since != now.Now() {
						modified, _ := twin.LastChange(page, now.Now())
						require.Equal(t, math.Floor(modified), since)
						require.Greater(t, since, last[page])
					}
					polled[page], last[page] = true, now.Now()
				}
			})
		})
	}
}

func TestLiveSince(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{5, 105, 110.5}), serve.Config{})
	live := liveOf(t, s, Config{}, "/page/0")
	for _, c := range []struct {
		at, since float64
		changed   bool
	}{
		{10, 0, false}, // the first copy
		{100, 0, false},
		{107, 105, true},       // Last-Modified
		{110.75, 110.75, true}, // in the second of the change there is none
		{120, 0, false},
	} {
		now.Set(c.at)
		since, changed := live.Poll(0, c.at)
		require.Equal(t, c.changed, changed, "at %v", c.at)
		require.Equal(t, c.since, since, "at %v", c.at)
	}
	require.Panics(t, func() { live.Poll(0, 119) })
	require.Panics(t, func() { live.Poll(0, math.NaN()) })
	require.Panics(t, func() { live.Poll(1, 200) })
	require.NoError(t, live.Err(0), "no lock is held after a panic")
}

// A Last-Modified that cannot be the time of the change is not believed.
func TestLiveImplausibleLastModified(t *testing.T) {
	t.Parallel()
	etag, date := 0, 0.0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		etag++
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, etag))
		w.Header().Set("Last-Modified", webtest.DateOf(date))
		fmt.Fprint(w, etag)
	})
	live := liveOf(t, handler, Config{}, "/")
	live.Poll(0, 100)
	for _, c := range []struct{ now, date, since float64 }{
		{110, 105, 105}, {120, 110, 120}, {130, 90, 130}, {140, 141, 140}, {150, 150, 150},
	} {
		date = c.date
		since, changed := live.Poll(0, c.now)
		require.True(t, changed)
		require.Equal(t, c.since, since)
	}
}

// A page that redirects has changed if the page it leads to has, or if it leads
// elsewhere; also if another page leads to the same one.
func TestLiveRedirects(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{10, 50}, nil), serve.Config{})
	target, broken := "/page/0", false
	mux := http.NewServeMux()
	mux.Handle("/page/", s)
	mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	mux.HandleFunc("/b", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/page/0", http.StatusFound) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		if broken {
			http.Error(w, "no", http.StatusBadGateway)
		}
	})
	var polls []string
	live := liveOf(t, mux, Config{OnPoll: func(page int, p Poll) { polls = append(polls, fmt.Sprint(page, " ", p.Status)) }},
		"/a", "/b", "/page/0")
	at := func(time float64, want ...bool) {
		t.Helper()
		now.Set(time)
		for page := range live.Len() {
			_, changed := live.Poll(page, time)
			require.Equal(t, want[page], changed, "page %d at %v", page, time)
		}
	}
	at(1, false, false, false)
	require.Equal(t, []string{"0 302", "0 200", "1 302", "1 200", "2 200"}, polls)
	at(2, false, false, false)
	at(20, true, true, true)
	target = "/page/1"
	at(21, true, false, false)
	at(22, false, false, false)

	// The first of two requests finds a change, the second fails: the change
	// belongs to the next poll, also after a restart.
	target, broken = "/broken", true
	at(23, false, false, false)
	require.ErrorIs(t, live.Err(0), ErrStatus)
	at(24, false, false, false)
	live = restartedLive(t, live, mux, "/page/0", "/new", "/a", "/b")
	broken = false
	now.Set(25)
	_, changed := live.Poll(2, 25)
	require.True(t, changed)
	_, changed = live.Poll(2, 26)
	require.False(t, changed)
	_, changed = live.Poll(0, 25)
	require.False(t, changed)
	require.NoError(t, live.Err(0))
}

func TestLiveErrors(t *testing.T) {
	t.Parallel()
	body := "abc"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			require.Equal(t, "crawler", r.UserAgent())
			_, _ = io.WriteString(w, body)
		}
	})
	live := liveOf(t, handler, Config{MaxBytes: 5, Header: http.Header{"User-Agent": {"crawler"}}}, "/gone", "/loop", "/page")
	_, _, err := live.PollContext(t.Context(), 0, 1)
	require.ErrorIs(t, err, ErrStatus)
	_, _, err = live.PollContext(t.Context(), 1, 1)
	require.ErrorContains(t, err, "stopped after 10 redirects")
	for _, body = range []string{"abc", "abcde"} { // 5 bytes are not too many
		_, _, err = live.PollContext(t.Context(), 2, 1)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		body    string
		changed bool
	}{{"abcdefg", true}, {"abcdefh", false}, {"abcdXfh", true}, {"abcd", true}} { // by the first bytes
		body = c.body
		_, changed, err := live.PollContext(t.Context(), 2, 1)
		require.NoError(t, err)
		require.Equal(t, c.changed, changed, body)
	}
}

func TestLiveContext(t *testing.T) {
	t.Parallel()
	started := make(chan bool)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	}))
	defer web.Close()
	live, err := New([]string{web.URL}, Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, _, err = live.PollContext(ctx, 0, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestLiveConcurrent(t *testing.T) {
	t.Parallel()
	const pages = 16
	s, now := serverOf(t, webtest.Replay(t, slicesOf(pages, []float64{1, 2, 3})...), serve.Config{})
	web := httptest.NewServer(s)
	defer web.Close()
	urls := make([]string, pages)
	for page := range urls {
		urls[page] = web.URL + s.URL(page)
	}
	live, err := New(urls, Config{})
	require.NoError(t, err)
	for _, at := range []float64{0.5, 1.5, 2.5, 2.75, 3.5} {
		now.Set(at)
		var wg sync.WaitGroup
		for page := range pages {
			wg.Go(func() {
				if _, changed := live.Poll(page, at); changed != (at > 1 && at != 2.75) {
					t.Errorf("page %d at %v: changed %v", page, at, changed)
				}
			})
		}
		wg.Wait()
	}
}

func slicesOf(n int, times []float64) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = times
	}
	return all
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "web.test", "/page", "ftp://web.test/", "http://", "http://a b/", "http://web.test/#b", "http://web.test/",
		"http://web.test", "HTTP://Web.Test:80", "http://:80/"} {
		_, err := New([]string{"http://web.test/", bad}, Config{})
		require.ErrorIs(t, err, ErrURL, bad)
		require.ErrorContains(t, err, "page 1")
	}
	_, err := New([]string{"http://web.test/", "https://web.test/", "https://web.test:80/", "http://web.test:443/", "http://web.test:8080/",
		"http://web.test/A", "http://web.test/a", "http://web.test/?", "http://[::80]/", "http://[::]/"}, Config{})
	require.NoError(t, err)
	_, err = New([]string{"https://web.test:443", "https://web.test"}, Config{})
	require.ErrorIs(t, err, ErrURL)
	_, err = New(nil, Config{})
	require.ErrorIs(t, err, ErrConfig)
	_, err = New([]string{"http://web.test/"}, Config{MaxBytes: -1})
	require.ErrorIs(t, err, ErrConfig)
	_, err = New([]string{"http://web.test/"}, Config{Calendar: webenv.Calendar{Unit: -time.Second}})
	require.ErrorIs(t, err, ErrConfig)
}
