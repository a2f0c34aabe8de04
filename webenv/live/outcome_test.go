package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/check"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
	"github.com/recrawl/recrawl/webenv/serve"
)

// calls notes what a learner is told. It can defer with deferring.
type calls []string

func (c *calls) note(call string, key string, args ...any) error {
	*c = append(*c, fmt.Sprint(append([]any{call, " ", key}, args...)...))
	return nil
}
func (c *calls) Observe(key string, _ time.Time, changed bool) error {
	return c.note("observe", key, " ", changed)
}
func (c *calls) GiveBack(key string, _ time.Time) error { return c.note("give back", key) }
func (c *calls) Remove(key string) error                { return c.note("remove", key) }

type deferring struct {
	calls
	err error
}

func (d *deferring) Defer(key string, until time.Time) error {
	_ = d.note("defer", key, " ", until.Sub(webtest.Year2001))
	return d.err
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	network := errors.New("no network")
	bad := func(status int) Poll { return Poll{Status: status, Err: ErrStatus} }
	later := func(p Poll) Poll {
		p.RetryAfter = webtest.Year2001.Add(time.Minute)
		return p
	}
	const back, deferred = "give back p", "defer p 1m0s"
	for _, c := range []struct {
		poll        Poll
		want        Outcome
		unreachable bool
		told        []string
	}{
		{Poll{Status: 200, Changed: true}, Answered, false, []string{"observe p true"}},
		{Poll{Status: 304}, Answered, false, []string{"observe p false"}},
		{Poll{Status: 302, Changed: true}, Answered, false, []string{"observe p true"}},
		{Poll{Status: 200, First: true}, Answered, false, []string{back}},
		{later(Poll{Status: 200}), Answered, false, []string{"observe p false"}},
		{Poll{Err: network}, Failed, true, []string{back}},
		{Poll{Err: ErrNotSent}, Failed, true, []string{back}},
		{Poll{Status: 200, Err: network}, Failed, true, []string{back}},
		{Poll{Status: 200, Err: ErrClosedEarly}, Failed, false, []string{back}},
		{Poll{Status: 310, Err: network}, Failed, false, []string{back}},
		{bad(206), Failed, true, []string{back}},
		{bad(500), Failed, true, []string{back}},
		{bad(503), Failed, true, []string{back}},
		{later(bad(503)), Vetoed, true, []string{deferred, back}},
		{later(bad(404)), Vetoed, false, []string{deferred, back}},
		{bad(408), Failed, false, []string{back}},
		{bad(429), Vetoed, false, []string{back}},
		{later(bad(429)), Vetoed, false, []string{deferred, back}},
		{bad(401), Vetoed, false, []string{back}},
		{bad(403), Vetoed, false, []string{back}},
		{bad(451), Vetoed, false, []string{back}},
		{bad(404), Gone, false, []string{back}},
		{bad(410), Gone, false, []string{"remove p"}},
	} {
		name := fmt.Sprint(c.poll.Status, c.poll.Err)
		require.Equal(t, c.want, c.poll.Outcome(), name)
		require.Equal(t, c.unreachable, c.poll.Unreachable(), name)
		l := new(deferring)
		require.NoError(t, Tell(l, "p", webtest.Year2001, c.poll))
		require.Equal(t, c.told, []string(l.calls), name)

		plain := new(calls) // has no Defer
		require.NoError(t, Tell(plain, "p", webtest.Year2001, c.poll))
		require.Equal(t, c.told[len(c.told)-1:], []string(*plain), name)
	}
	far := bad(503)
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{168 * time.Hour, "168h0m0s"}, {168*time.Hour + time.Second, "168h0m0s"}, {math.MaxInt64, "168h0m0s"}, {-time.Hour, "-1h0m0s"}} {
		far.RetryAfter = webtest.Year2001.Add(c.after)
		l := new(deferring)
		require.NoError(t, Tell(l, "p", webtest.Year2001, far))
		require.Equal(t, []string{"defer p " + c.want, back}, []string(l.calls))
	}
	for err, want := range map[error]error{network: network, errors.ErrUnsupported: nil} {
		l := &deferring{err: err}
		require.ErrorIs(t, Tell(l, "p", webtest.Year2001, later(bad(429))), want)
		require.Equal(t, []string{deferred, back}, []string(l.calls))
	}
	require.Equal(t, "vetoed", Vetoed.String())
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := webtest.Year2001
	for _, c := range []struct {
		value, date string
		want        time.Duration // −1 for none
	}{
		{"", "", -1}, {"120", "", 2 * time.Minute}, {" 0 ", "", 0}, {"-1", "", -1}, {"+1", "", -1}, {"1.5", "", -1}, {"soon", "", -1},
		{webtest.DateOf(90), "", 90 * time.Second},
		{webtest.DateOf(90), webtest.DateOf(60), 30 * time.Second}, // the server's clock is ahead
		{"99999999999999999999", "", math.MaxInt64}, {"9999999999", "", math.MaxInt64},
	} {
		got := RetryAfter(http.Header{"Retry-After": {c.value}, "Date": {c.date}}, now)
		if c.want < 0 {
			require.Zero(t, got, c.value)
		} else {
			require.Equal(t, now.Add(c.want), got, c.value)
		}
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		control, expires, date, age string
		want                        time.Duration
	}{
		{"", "", "", "", 0},
		{"max-age=60", "", "", "", time.Minute},
		{"public, Max-Age=\"60\" ", "", "", "", time.Minute},
		{"s-maxage=600, max-age=60", "", "", "", time.Minute},
		{"s-maxage=600", "", "", "", 0},
		{"max-age=60", "", "", "50", 10 * time.Second},
		{"max-age=60", "", "", "70", 0},
		{"max-age=60", "", "", "old", time.Minute},
		{"max-age=60", webtest.DateOf(3600), "", "", time.Minute},
		{"max-age=soon", webtest.DateOf(3600), "", "", 0},
		{"max-age=60, max-age=90", "", "", "", 0},
		{"max-age=60, no-cache", "", "", "", 0},
		{"max-age=60, no-store", "", "", "", 0},
		{`no-cache="Set-Cookie, max-age=1", max-age=60`, "", "", "", time.Minute},
		{"", webtest.DateOf(3600), "", "", time.Hour},
		{"", webtest.DateOf(3600), webtest.DateOf(1800), "", 30 * time.Minute},
		{"", webtest.DateOf(3600), webtest.DateOf(1800), "60", 29 * time.Minute},
		{"", webtest.DateOf(0), webtest.DateOf(1800), "", 0},
		{"", "0", "", "", 0},
		{"", "Mon, 01 Jan 0001 00:00:00 GMT", "", "1", 0},
		{"max-age=99999999999999999999", "", "", "", math.MaxInt64},
	} {
		h := http.Header{"Cache-Control": {c.control}, "Expires": {c.expires}, "Date": {c.date}, "Age": {c.age}}
		require.Equal(t, c.want, freshness(h, webtest.Year2001), "%v", h)
	}
	two := http.Header{"Cache-Control": {"private", "max-age=60"}}
	require.Equal(t, time.Minute, freshness(two, webtest.Year2001))
}

// fetched polls a page and returns what was found.
func fetched(t *testing.T, client *http.Client, url, page string) Poll {
	ctx, fetch := Begin(t.Context(), page)
	return fetch.End(readAll(ctx, t, client, url))
}

// readAll sends a request and reads the answer to its end.
func readAll(ctx context.Context, t *testing.T, client *http.Client, url string) error {
	resp, err := client.Do(get(t, url).WithContext(ctx))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return err
}

// A page behind a new session at every poll is one page: nothing but changes of its content are
// changes, and one copy is remembered.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		env := webtest.Replay(t, []float64{10, 20.5})
		cfg := mode.cfg
		cfg.Source, cfg.Faults = check.Source(1), func(int) serve.Faults { return serve.Faults{Session: true} }
		s, now := serverOf(t, env, cfg)
		var hops []Poll
		transport := &Transport{Base: webtest.InProcess{Handler: s}, OnPoll: func(p Poll) { hops = append(hops, p) }}
		client := &http.Client{Transport: transport}
		for k, at := range []float64{5, 6, 11, 12, 21, 21.5, 23, 30} {
			now.Set(at)
			p := fetched(t, client, "http://web.test/page/0#top", "http://web.test/page/0")
			require.NoError(t, p.Err)
			require.Equal(t, k == 0, p.First)
			require.Equal(t, k == 2 || k == 4, p.Changed, "%s: at %v", mode.name, at)
			require.Equal(t, 200, p.Status)
			require.Equal(t, 1, transport.Len())
			require.Contains(t, p.URL, "/session/")
			require.Len(t, hops, 2*k+2)
			require.Equal(t, 302, hops[2*k].Status)
		}
		// Without a Fetch the page is the URL that was asked for.
		webtest.Fetch(t, client, "http://web.test/page/0")
		require.Equal(t, "http://web.test/page/0", hops[len(hops)-1].Page)
		require.False(t, hops[len(hops)-1].Changed)
		require.Equal(t, 1, transport.Len())
		transport.Forget("http://web.test/page/0#top")
		require.Zero(t, transport.Len())
	}
}

// A page that moves stays the same page, and validators of one URL are not sent to another.
func TestMoves(t *testing.T) {
	t.Parallel()
	var conditional []bool
	target := ""
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && target != "" {
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		conditional = append(conditional, r.Header.Get("If-None-Match") != "")
		w.Header().Set("ETag", `"1"`) // at every URL
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		content := "the page"
		if r.URL.Path == "/other" {
			content = "another page"
		}
		_, _ = io.WriteString(w, content)
	})
	transport := &Transport{Base: webtest.InProcess{Handler: web}}
	client := &http.Client{Transport: transport}
	for k, c := range []struct {
		target               string
		conditional, changed bool
	}{{"", false, false}, {"", true, false}, {"/a", false, false}, {"/a", true, false}, {"/b", false, false},
		{"/other", false, true}, {"/other", true, false}, {"", false, true}, {"", true, false},
		{"/a", false, false}, {"/a", true, false}, {"", false, false}} {
		target = c.target
		p := fetched(t, client, "http://web.test/", "front page")
		require.NoError(t, p.Err)
		require.Equal(t, "front page", p.Page)
		require.Equal(t, "http://web.test/"+trimSlash(c.target), p.URL)
		require.Equal(t, c.changed, p.Changed, "poll %d", k)
		require.Equal(t, c.conditional, conditional[k], "poll %d", k)
	}
	require.Equal(t, 1, transport.Len())
}

// What a form leads to is no copy of the page that has the form.
func TestRedirectOfPost(t *testing.T) {
	t.Parallel()
	base := &scripted{answers: []*answer{{status: 200, body: "<p>log in"}, {status: 303, header: "Location: /home"},
		{status: 200, body: "<p>at home"}, {status: 200, body: "<p>log in"}}}
	var got []Poll
	client := &http.Client{Transport: &Transport{Base: base, OnPoll: func(p Poll) { got = append(got, p) }}}
	require.NoError(t, readAll(t.Context(), t, client, "http://web.test/login"))
	resp, err := client.Post("http://web.test/login", "text/plain", nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, readAll(t.Context(), t, client, "http://web.test/login"))
	require.Len(t, got, 3)
	require.Equal(t, "http://web.test/home", got[1].Page)
	require.True(t, got[1].First)
	require.Equal(t, ByContent, got[2].Decision)
	require.False(t, got[2].Changed)
}

// For a client that does not follow redirects, a page changes when it becomes one, when that leads
// elsewhere, and when it is none any more.
func TestRedirectsNotFollowed(t *testing.T) {
	t.Parallel()
	target, conditional := "", false
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conditional = r.Header.Get("If-None-Match") != ""
		switch {
		case target != "":
			http.Redirect(w, r, target, http.StatusFound)
		case conditional:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			_, _ = io.WriteString(w, "the page")
		}
	})
	client := &http.Client{
		Transport:     &Transport{Base: webtest.InProcess{Handler: web}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for k, c := range []struct {
		target               string
		changed, conditional bool
	}{{"", false, false}, {"/b", true, true}, {"", true, false}, {"/b", true, true}, {"/b", false, false},
		{"/c", true, false}, {"", true, false}, {"", false, true}} {
		target = c.target
		p := fetched(t, client, "http://web.test/", "p")
		require.NoError(t, p.Err)
		require.Equal(t, c.changed, p.Changed, "poll %d", k)
		require.Equal(t, c.conditional, conditional, "poll %d", k)
	}
}

// A redirect that leads to a failure is a failure: the next poll is compared with the copy from
// before it, and is conditional as if nothing had happened.
func TestRedirectsThatFail(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, c := range []struct {
		name          string
		location      string
		maintenance   http.HandlerFunc
		checkRedirect func(*http.Request, []*http.Request) error
		alone         bool // known without a Fetch, too
	}{
		{"503", "/maintenance", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, nil, true},
		{"404", "/maintenance", http.NotFound, nil, true},
		{"no answer", "/maintenance", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, true},
		{"loop", "/maintenance", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/maintenance", http.StatusFound) }, nil, true},
		{"cut", "/maintenance", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") }, nil, true},
		{"no URL", "http://[", nil, nil, false},
		{"refused", "/maintenance", nil, func(*http.Request, []*http.Request) error { return refused }, false},
	} {
		for _, moved := range []bool{false, true} { // a redirect before and after, too
			for _, fetch := range []bool{true, false} {
				if !fetch && !c.alone || moved && c.checkRedirect != nil {
					continue
				}
				t.Run(fmt.Sprint(c.name, moved, fetch), func(t *testing.T) {
					var down, conditional atomic.Bool // an aborted request may be tried again beside its first try
					down.Store(true)
					web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						named := r.Header.Get("If-None-Match") != ""
						conditional.Store(named)
						switch {
						case r.URL.Path == "/maintenance":
							c.maintenance(w, r)
						case r.URL.Path == "/" && down.Load():
							w.Header().Set("Location", c.location)
							w.WriteHeader(http.StatusFound)
						case r.URL.Path == "/" && moved:
							http.Redirect(w, r, "/there", http.StatusFound)
						case named:
							w.WriteHeader(http.StatusNotModified)
						default:
							w.Header().Set("ETag", `W/"1"`)
							_, _ = io.WriteString(w, "the page")
						}
					}))
					defer web.Close()
					var got Poll
					client := &http.Client{CheckRedirect: c.checkRedirect}
					transport := &Transport{OnPoll: func(p Poll) { got = p }}
					client.Transport = transport
					poll := func() Poll {
						if fetch {
							return fetched(t, client, web.URL+"/", "p")
						}
						resp, err := client.Get(web.URL + "/")
						if err == nil {
							_, _ = io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						} else {
							got.Err = err
						}
						return got
					}
					require.Error(t, poll().Err)
					if fetch {
						require.Zero(t, transport.Len())
					}
					down.Store(false)
					p := poll()
					require.NoError(t, p.Err)
					require.True(t, p.First)
					for range 3 {
						p := poll()
						require.NoError(t, p.Err)
						require.Equal(t, ByStatus, p.Decision)
						before, err := transport.MarshalBinary()
						require.NoError(t, err)
						down.Store(true)
						require.Error(t, poll().Err)
						if fetch {
							after, err := transport.MarshalBinary()
							require.NoError(t, err)
							require.Equal(t, before, after, "nothing is remembered of it")
						}
						down.Store(false)
						p = poll()
						require.NoError(t, p.Err)
						require.False(t, p.Changed)
						require.True(t, conditional.Load())
					}
				})
			}
		}
	}
}

// A client that follows some redirects only takes those that it leaves alone for the page.
func TestRedirectsRefused(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	target := ""
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	client := &http.Client{
		Transport: &Transport{Base: webtest.InProcess{Handler: web}},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path == "/refused" {
				return refused
			}
			return http.ErrUseLastResponse
		},
	}
	for k, c := range []struct {
		target         string
		first, changed bool
	}{{"/refused", false, false}, {"/a", true, false}, {"/refused", false, false}, {"/a", false, false}, {"/refused", false, false}, {"/b", false, true}} {
		target = c.target
		p := fetched(t, client, "http://web.test/", "p")
		require.Equal(t, target == "/refused", errors.Is(p.Err, refused))
		require.Equal(t, [2]bool{c.first, c.changed}, [2]bool{p.First, p.Changed}, "poll %d", k)
	}
}

func trimSlash(path string) string {
	if path == "" {
		return ""
	}
	return path[1:]
}

// Every fault of the server has its outcome.
func TestFaults(t *testing.T) {
	t.Parallel()
	faults := []serve.Faults{{}, {Unavailable: 1}, {Silent: 1}, {Cut: 1}, {Busy: 100}, {Dying: 50}, {Slow: time.Hour}, {Session: true}}
	env, err := webenv.NewPoisson(make([]float64, len(faults)), check.Source(1))
	require.NoError(t, err)
	clock := new(webtest.Clock)
	server, err := serve.New(env, serve.Config{Now: clock.Now, Calendar: webenv.Calendar{Epoch: webtest.Year2001},
		Source: check.Source(2), Faults: func(page int) serve.Faults { return faults[page] }})
	require.NoError(t, err)
	web := httptest.NewServer(server)
	defer web.Close()
	transport := new(Transport)
	at := func(now float64) (all []string) {
		clock.Set(now)
		for page, f := range faults {
			client := &http.Client{Transport: transport, Timeout: time.Minute}
			if f.Silent > 0 || f.Slow > 0 {
				client.Timeout = 200 * time.Millisecond // how they fail; a busy machine takes its time for the others
			}
			p := fetched(t, client, web.URL+server.URL(page), server.URL(page))
			if page == 4 && p.Outcome() == Vetoed {
				require.WithinDuration(t, p.Start.Add(40*time.Second), p.RetryAfter, time.Second)
			}
			require.Equal(t, p.Outcome() == Vetoed, !p.RetryAfter.IsZero())
			all = append(all, p.Outcome().String())
		}
		return all
	}
	require.Equal(t, []string{"answered", "failed", "failed", "failed", "answered", "answered", "failed", "answered"}, at(0))
	// Page 5 is dead from 41 to 91.
	require.Equal(t, []string{"answered", "failed", "failed", "failed", "vetoed", "gone", "failed", "answered"}, at(60))
}

// A Fetch knows its page, and has an answer, whatever the client does.
func TestFetch(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	_, fetch := Begin(t.Context(), "p")
	p := fetch.End(refused)
	require.ErrorIs(t, p.Err, refused)
	require.ErrorIs(t, p.Err, ErrNotSent)
	require.Equal(t, "p", p.Page)
	require.ErrorIs(t, fetch.End(nil).Err, ErrNotSent)

	now := webtest.Year2001
	base := &scripted{answers: []*answer{
		{status: 302, header: "Location: /b"}, {status: 200, body: "x"},
		{status: 302, header: "Location: /c"},
		{status: 302, header: "Location: /d"},
	}}
	var seen context.Context
	transport := &Transport{Base: base, Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}, OnPoll: func(p Poll) { seen = p.Request.Context() }}
	client := &http.Client{Transport: transport}
	p = fetched(t, client, "http://web.test/a", "p")
	require.NoError(t, p.Err)
	require.Equal(t, "http://web.test/b", p.URL)
	require.Equal(t, []any{webtest.Year2001.Add(time.Second), 4 * time.Second, 5 * time.Second}, []any{p.Start, p.Latency, p.Duration})
	require.NotNil(t, seen.Value(fetching{}))

	client.CheckRedirect = func(*http.Request, []*http.Request) error { return refused }
	p = fetched(t, client, "http://web.test/a", "p")
	require.ErrorIs(t, p.Err, refused)
	require.False(t, p.Changed)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p = fetched(t, client, "http://web.test/a", "p")
	require.NoError(t, p.Err)
	require.True(t, p.Changed, "it redirects elsewhere")
}

// The caller is handed each copy, up to the limit, and need not read it.
func TestOnBody(t *testing.T) {
	t.Parallel()
	var got []string
	var changed []bool
	content, read := "abcdef", int64(100)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
			return
		case "/gone":
			http.NotFound(w, r)
			return
		case "/part":
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", content))
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, content)
	})
	pages := liveOf(t, handler, Config{
		MaxBytes: 7,
		OnBody: func(page int, resp *http.Response) {
			b, err := io.ReadAll(io.LimitReader(resp.Body, read))
			require.NoError(t, err)
			got = append(got, fmt.Sprint(page, " ", string(b)))
		},
	}, "/moved", "/gone", "/part")
	for _, c := range []struct {
		content string
		read    int64
	}{{"abcdef", 100}, {"abcdef", 100}, {"abcxyz", 3}, {"a longer one", 100}} {
		content, read = c.content, c.read
		_, ch, err := pages.PollContext(t.Context(), 0, 1)
		require.NoError(t, err)
		changed = append(changed, ch)
		for _, page := range []int{1, 2} {
			_, _, err = pages.PollContext(t.Context(), page, 1)
			require.ErrorIs(t, err, ErrStatus)
		}
	}
	require.Equal(t, []string{"0 abcdef", "0 abc", "0 a longe"}, got)
	require.Equal(t, []bool{false, false, true, true}, changed)
}

// A page without content is a copy like others: OnBody gets it, before OnPoll says that it changed. So it
// is with a time limit, for which an http.Client wraps the body.
func TestOnBodyEmpty(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, time.Minute} {
		var got []string
		content := "abc"
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "/", http.StatusFound)
				return
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = io.WriteString(w, content)
		})
		web := httptest.NewServer(handler)
		t.Cleanup(web.Close)
		pages, err := New([]string{web.URL + "/moved"}, Config{
			Client: &http.Client{Timeout: limit},
			OnBody: func(_ int, resp *http.Response) {
				b, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				got = append(got, fmt.Sprintf("%q", b))
			},
			OnPoll: func(_ int, p Poll) { got = append(got, fmt.Sprint(p.Status, p.Changed)) },
		})
		require.NoError(t, err)
		for now, c := range []string{"abc", ""} {
			content = c
			_, _, err := pages.PollContext(t.Context(), 0, float64(now))
			require.NoError(t, err)
		}
		require.Equal(t, []string{`"abc"`, "302 false", "200 false", `""`, "302 false", "200 true"}, got)
	}
}
