package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/upgrade"
	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/check"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
	"github.com/recrawl/recrawl/webenv/live/fingerprint"
	"github.com/recrawl/recrawl/webenv/serve"
)

// modes are the validators that a server may give, and what decides then.
var modes = []struct {
	name      string
	cfg       serve.Config
	decisions []Decision
}{
	{"both", serve.Config{}, []Decision{ByStatus, ByETag, ByContent}},
	{"etag", serve.Config{NoLastModified: true}, []Decision{ByStatus, ByETag, ByContent}},
	{"last-modified", serve.Config{NoETag: true}, []Decision{ByStatus, ByLastModified, ByContent}},
	{"content", serve.Config{NoETag: true, NoLastModified: true}, []Decision{ByContent}},
}

// What is seen through HTTP is what webenv.Env.Poll sees on a twin, for every kind of
// validator, with several changes within a second, and with errors in between.
func TestTransportSeesWhatEnvSees(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				const pages = 3
				times := make([][]float64, pages)
				for i := range times {
					times[i] = webtest.Changes.Draw(t, "changes")
				}
				twin := webtest.Replay(t, times...)
				cfg := perhapsFailing(t, mode.cfg)
				s, now := serverOf(t, webtest.Replay(t, times...), cfg)
				var got Poll
				transport := &Transport{Base: webtest.InProcess{Handler: s}, OnPoll: func(p Poll) { got = p }}
				client := &http.Client{Transport: transport}

				polled := make([]bool, pages)
				for range rapid.IntRange(1, 60).Draw(t, "polls") {
					now.Set(now.Now() + float64(rapid.IntRange(0, 5).Draw(t, "gap"))/4)
					page := rapid.IntRange(0, pages-1).Draw(t, "page")
					if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
						transport = restarted(t, transport)
						client.Transport = transport
					}
					webtest.Fetch(t, client, "http://web.test"+s.URL(page))
					if got.Status == http.StatusServiceUnavailable {
						require.ErrorIs(t, got.Err, ErrStatus)
						require.False(t, got.Changed)
						continue
					}
					_, changed := twin.Poll(page, now.Now())
					require.NoError(t, got.Err)
					require.Equal(t, !polled[page], got.First)
					require.Equal(t, changed && polled[page], got.Changed)
					if !got.First {
						require.Contains(t, mode.decisions, got.Decision)
					}
					polled[page] = true
				}
			})
		})
	}
}

// restarted returns a transport that was saved and restored.
func restarted(t require.TestingT, old *Transport) *Transport {
	saved, err := old.MarshalBinary()
	require.NoError(t, err)
	fresh := &Transport{Base: old.Base, OnPoll: old.OnPoll}
	require.NoError(t, fresh.UnmarshalBinary(saved))
	again, err := fresh.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, saved, again)
	return fresh
}

// answer is what a scripted server gives.
type answer struct {
	status int
	header string // "Name: value; Name: value"
	body   string
	err    error // of the body, after it; or of the request, if status is 0
	sent   http.Header
	closed bool
}

// scripted gives its answers in turn.
type scripted struct {
	answers []*answer
	next    int
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	a := s.answers[s.next]
	s.next++
	a.sent = r.Header
	if a.status == 0 {
		return nil, a.err
	}
	resp := &http.Response{StatusCode: a.status, Header: http.Header{}, Request: r, ContentLength: -1, Body: a.reader()}
	if a.header != "" {
		for _, field := range strings.Split(a.header, "; ") {
			name, value, _ := strings.Cut(field, ": ")
			resp.Header.Add(name, value)
		}
	}
	if resp.Header.Get("Content-Length") != "" {
		resp.ContentLength = int64(len(a.body))
	}
	return resp, nil
}

func (a *answer) reader() io.ReadCloser {
	if a.status == http.StatusNotModified {
		return http.NoBody
	}
	var r io.Reader = strings.NewReader(a.body)
	if a.err != nil {
		r = io.MultiReader(r, broken{a.err})
	}
	return &closing{r, a}
}

type broken struct{ err error }

func (f broken) Read([]byte) (int, error) { return 0, f.err }

type closing struct {
	io.Reader
	a *answer
}

func (c *closing) Close() error {
	c.a.closed = true
	return nil
}

func TestTransportDecides(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset")
	ok := func(header, body string) *answer { return &answer{status: 200, header: header, body: body} }
	status := func(status int, header string) *answer { return &answer{status: status, header: header} }
	type want struct {
		changed  bool
		decision Decision
		err      error
	}
	same := func(d Decision) want { return want{false, d, nil} }
	differs := func(d Decision) want { return want{true, d, nil} }
	const monday = "Mon, 01 Jan 2001 00:00:00 GMT"
	const tuesday = "Tue, 02 Jan 2001 00:00:00 GMT"
	for _, c := range []struct {
		name    string
		answers []*answer // the first is a first copy
		want    []want    // of the others
	}{
		{"304", []*answer{ok(`ETag: "a"`, "x"), status(304, "")}, []want{same(ByStatus)}},
		{"etag", []*answer{ok(`ETag: "a"`, "x"), ok(`ETag: "a"`, "y"), ok(`ETag: "b"`, "z")},
			[]want{differs(ByContent), differs(ByETag)}},
		{"etag of a backend", []*answer{ok(`ETag: "a"`, "x"), ok(`ETag: "b"`, "x"), ok(`ETag: "b-gzip"`, "x"), ok(`ETag: "a"`, "y")},
			[]want{same(ByContent), same(ByContent), differs(ByETag)}},
		{"last-modified of a moment ago", []*answer{ok("Last-Modified: "+monday, "x"), ok("Last-Modified: "+tuesday, "x"), ok("Last-Modified: "+monday, "y")},
			[]want{same(ByContent), differs(ByLastModified)}},
		{"only the beginnings are equal", []*answer{ok(`ETag: "a"`, "x"), ok(`ETag: "b"`, "xy")}, []want{differs(ByETag)}},
		{"etags compare weakly", []*answer{ok(`ETag: W/"a"`, "x"), ok(`ETag: "a"`, "y"), ok(`ETag: W/"a"`, "y"), ok(`ETag: W/"b"`, "z")},
			[]want{differs(ByContent), same(ByContent), differs(ByETag)}},
		{"etag before last-modified", []*answer{ok(`ETag: "a"; Last-Modified: `+monday, "x"), ok(`ETag: "b"; Last-Modified: `+tuesday, "y")},
			[]want{differs(ByETag)}},
		{"last-modified", []*answer{ok("Last-Modified: "+monday, "x"), ok("Last-Modified: "+monday, "y"), ok("Last-Modified: "+tuesday, "z")},
			[]want{differs(ByContent), differs(ByLastModified)}},
		{"last-modified that is the date tells nothing", []*answer{
			ok("Last-Modified: "+monday+"; Date: "+monday, "x"), ok("Last-Modified: "+tuesday+"; Date: "+tuesday, "x"),
			ok("Last-Modified: "+tuesday+"; Date: "+tuesday, "y")},
			[]want{same(ByContent), differs(ByContent)}},
		{"content", []*answer{ok("", "x"), ok("", "x"), ok("", "y"), ok("", ""), ok("", "")},
			[]want{same(ByContent), differs(ByContent), differs(ByContent), same(ByContent)}},
		{"validators go away", []*answer{ok(`ETag: "a"; Last-Modified: `+monday, "x"), ok("Last-Modified: "+monday, "y"), ok("", "y"), ok(`ETag: "a"`, "z")},
			[]want{differs(ByContent), same(ByContent), differs(ByContent)}},
		{"errors keep the copy", []*answer{ok(`ETag: "a"`, "x"), status(500, `ETag: "e"`), status(404, ""), {err: reset},
			{status: 200, header: `ETag: "b"`, body: "y", err: reset}, ok(`ETag: "b"`, "y"), status(304, "")},
			[]want{{err: ErrStatus}, {err: ErrStatus}, {err: reset}, {err: reset}, differs(ByETag), same(ByStatus)}},
		{"304 to no condition", []*answer{ok("", "x"), status(304, ""), ok("", "x")}, []want{{err: ErrStatus}, same(ByContent)}},
		{"redirect", []*answer{ok(`ETag: "a"`, "x"), status(301, "Location: /b"), status(302, "Location: /b"), status(302, "Location: http://web.test/b"), status(301, "Location: /c"), ok(`ETag: "a"`, "x")},
			[]want{differs(ByLocation), same(ByLocation), same(ByLocation), differs(ByLocation), differs(ByLocation)}},
		{"content like a location", []*answer{ok("", "/b"), status(301, "Location: /b")}, []want{differs(ByLocation)}},
		{"no whole copy", []*answer{ok(`ETag: "a"`, "x"), status(205, ""), {status: 206, header: `ETag: "b"`, body: "y"}, {status: 226, body: "z"}, status(304, ""), status(204, "")},
			[]want{{err: ErrStatus}, {err: ErrStatus}, {err: ErrStatus}, same(ByStatus), differs(ByContent)}},
		{"redirect to nowhere", []*answer{ok("", "x"), status(301, "")}, []want{{err: ErrStatus}}},
		{"etag of any copy", []*answer{ok("ETag: *; Last-Modified: "+monday, "x"), status(304, ""), ok("ETag: *", "y"), ok("ETag: *", "z")},
			[]want{same(ByStatus), differs(ByContent), differs(ByContent)}},
		{"etag too long", []*answer{ok(`ETag: "`+strings.Repeat("a", maxETag)+`"`, "x"), ok(`ETag: "b"`, "x")}, []want{same(ByContent)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var polls []Poll
			base := &scripted{answers: c.answers}
			transport := &Transport{Base: base, OnPoll: func(p Poll) { polls = append(polls, p) }}
			for i, a := range c.answers {
				resp, err := transport.RoundTrip(get(t, "http://web.test/a?b#c"))
				if err == nil {
					body, readErr := io.ReadAll(resp.Body)
					require.Equal(t, a.body, string(body))
					require.Equal(t, a.err, readErr)
					require.NoError(t, resp.Body.Close())
				}
				require.Len(t, polls, i+1)
				p := polls[i]
				require.NotEqual(t, "*", a.sent.Get("If-None-Match"), "it would be answered 304 whatever the page is")
				require.Equal(t, "http://web.test/a?b", p.URL)
				require.Equal(t, int64(len(a.body)), p.Bytes)
				require.Equal(t, a.status, p.Status)
				require.Equal(t, a.closed, a.status != 0 && a.status != 304, "the body is closed when the caller closes it")
				if i == 0 {
					require.True(t, p.First)
					require.False(t, p.Changed)
					continue
				}
				w := c.want[i-1]
				require.False(t, p.First)
				require.Equal(t, w.changed, p.Changed, "answer %d", i)
				require.Equal(t, w.decision, p.Decision, "answer %d", i)
				require.ErrorIs(t, p.Err, w.err)
			}
			require.Equal(t, len(c.want)+1, len(polls))
			require.Equal(t, 1, transport.Len())
		})
	}
}

func get(t require.TestingT, url string) *http.Request {
	r, err := http.NewRequest("GET", url, nil)
	require.NoError(t, err)
	return r
}

// roundTrip reads n bytes of the answer, all for −1, and closes it.
func roundTrip(t require.TestingT, transport *Transport, r *http.Request, n int64) {
	resp, err := transport.RoundTrip(r)
	require.NoError(t, err)
	if n < 0 {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		_, err = io.CopyN(io.Discard, resp.Body, n)
	}
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, resp.Body.Close(), "a second time")
}

func TestTransportClosedEarly(t *testing.T) {
	t.Parallel()
	ok := func(header, body string) *answer { return &answer{status: 200, header: header, body: body} }
	base := &scripted{answers: []*answer{
		ok("", "first"), ok("", "first"), ok("", "fifth"), ok("", "fifth"), // by the first bytes
		ok("", "fifth"), ok("", "fi"), ok("", "fi"), // others than before
		ok("", "second"), ok("", "second"), // nothing read; all
		ok(`ETag: "a"`, "second"),
		ok(`ETag: "b"`, "third"), ok(`ETag: "b"`, "third"), ok("", "third"), // closed early
		ok("Content-Length: 6", "fourth"), // as long as it says, without io.EOF
		ok("Content-Length: 5", "fifth"),
		ok(`ETag: "d"`, "sixth"),                                            // the copy before has no ETag
		ok(`ETag: "d"`, "sixth"), ok(`ETag: "d"`, "sixth"), ok("", "sixth"), // unchanged: the content stays known
		ok("", "sixth and more"), ok("", "sixth and more"), ok("", "sixth or more"), // the second time, the beginning counts
		ok("", "sixth"), ok("", "sixth one"), // it is no longer than the beginning
	}}
	var got Poll
	calls := 0
	transport := &Transport{Base: base, OnPoll: func(p Poll) { got = p; calls++ }}
	for i, c := range []struct {
		read int64
		want Poll
	}{
		{3, Poll{First: true}},
		{3, Poll{Decision: ByContent}},
		{3, Poll{Changed: true, Decision: ByContent}},
		{3, Poll{Decision: ByContent}},
		{4, Poll{First: true}}, // longer
		{2, Poll{Err: ErrClosedEarly}},
		{2, Poll{First: true}}, // again
		{0, Poll{Err: ErrClosedEarly}},
		{-1, Poll{First: true}},
		{-1, Poll{Decision: ByContent}},
		{2, Poll{Changed: true, Decision: ByETag}},
		{0, Poll{Decision: ByETag}},
		{-1, Poll{First: true}},
		{6, Poll{Changed: true, Decision: ByContent}},
		{4, Poll{Err: ErrClosedEarly}},
		{0, Poll{Err: ErrClosedEarly}},
		{-1, Poll{Changed: true, Decision: ByContent}},
		{0, Poll{Decision: ByETag}},
		{-1, Poll{Decision: ByContent}},
		{4, Poll{Err: ErrClosedEarly}},
		{4, Poll{First: true}},
		{4, Poll{Decision: ByContent}},
		{-1, Poll{First: true}},
		{5, Poll{Decision: ByContent}},
	} {
		roundTrip(t, transport, get(t, "http://web.test/"), c.read)
		require.Equal(t, i+1, calls, "one report for each poll")
		require.Equal(t, c.want, Poll{Changed: got.Changed, First: got.First, Decision: got.Decision, Err: got.Err}, "poll %d", i)
	}
}

// A first copy that is closed early is remembered by its validators.
func TestTransportFirstClosedEarly(t *testing.T) {
	t.Parallel()
	for _, header := range []string{`ETag: "a"`, "Last-Modified: Mon, 01 Jan 2001 00:00:00 GMT"} {
		var got Poll
		base := &scripted{answers: []*answer{{status: 200, header: header, body: "x"}, {status: 304}}}
		transport := &Transport{Base: base, OnPoll: func(p Poll) { got = p }}
		roundTrip(t, transport, get(t, "http://web.test/"), 0)
		require.True(t, got.First)
		require.NoError(t, got.Err)
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.Equal(t, ByStatus, got.Decision)
	}
}

// The request of the caller is not altered, and gets conditions only if it has
// none and is a plain GET.
func TestTransportConditions(t *testing.T) {
	t.Parallel()
	const date = "Mon, 01 Jan 2001 00:00:00 GMT"
	for _, c := range []struct {
		name, method string
		own          http.Header
		match, since string // sent
		reported     bool
	}{
		{"plain", "GET", http.Header{"Accept": {"*/*"}}, `"a"`, date, true},
		{"no method", "", http.Header{}, `"a"`, date, true},
		{"own etag", "GET", http.Header{"If-None-Match": {`"z"`}}, `"z"`, "", true},
		{"own date", "GET", http.Header{"If-Modified-Since": {date}}, "", date, true},
		{"own if-match", "GET", http.Header{"If-Match": {`"a"`}}, "", "", true},
		{"head", "HEAD", http.Header{}, "", "", false},
		{"post", "POST", http.Header{}, "", "", false},
		{"range", "GET", http.Header{"Range": {"bytes=1-2"}}, "", "", false},
		{"upgrade", "GET", http.Header{"Upgrade": {"websocket"}}, "", "", false},
		{"nil header", "GET", nil, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := &scripted{answers: []*answer{{status: 200, header: `ETag: "a"; Last-Modified: ` + date}, {status: 200}}}
			calls := 0
			transport := &Transport{Base: base, OnPoll: func(Poll) { calls++ }}
			roundTrip(t, transport, get(t, "http://web.test/"), -1)

			r := get(t, "http://web.test/")
			r.Method, r.Header = c.method, c.own.Clone()
			roundTrip(t, transport, r, -1)
			require.Equal(t, c.own, r.Header)
			require.Equal(t, c.method, r.Method)
			sent := base.answers[1].sent
			require.Equal(t, c.match, sent.Get("If-None-Match"))
			require.Equal(t, c.since, sent.Get("If-Modified-Since"))
			require.Equal(t, c.own.Get("Accept"), sent.Get("Accept"))
			require.Equal(t, c.reported, calls == 2)
		})
	}
}

// A caller that has validators of its own is answered relative to them, also
// when nothing is remembered.
func TestTransportCallersOwnValidators(t *testing.T) {
	t.Parallel()
	env := webtest.Replay(t, []float64{5, 15})
	s, now := serverOf(t, env, serve.Config{})
	var got Poll
	transport := &Transport{Base: webtest.InProcess{Handler: s}, OnPoll: func(p Poll) { got = p }}
	poll := func(etag string) Poll {
		r := get(t, "http://web.test/page/0")
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		roundTrip(t, transport, r, -1)
		return got
	}
	now.Set(10)
	require.Equal(t, ByStatus, poll(`"0-2"`).Decision)
	require.False(t, poll("").First, "the copy of the caller is remembered")
	require.False(t, got.Changed)
	require.True(t, poll(`"0-1"`).Changed, "the caller has an older copy")
	now.Set(20)
	require.True(t, poll(`"0-2"`).Changed)
	require.False(t, poll("").Changed)

	transport.Forget("http://web.test/page/0#fragment")
	require.Zero(t, transport.Len())
	require.True(t, poll(`"0-1"`).Changed)
	transport.Forget("http://web.test/page/0")
	require.True(t, poll("").First)
}

// What a caller names is about the copy at the end of a redirect, and that is as it was if the poll
// fails there.
func TestTransportCallersOwnValidatorsRedirected(t *testing.T) {
	t.Parallel()
	page := func(etag string) *answer {
		return &answer{status: 200, header: "ETag: " + etag, body: "<p>version " + etag}
	}
	base := new(scripted)
	var got []Poll
	client := &http.Client{Transport: &Transport{Base: base, OnPoll: func(p Poll) { got = append(got, p) }}}
	for _, c := range []struct {
		own        string
		end        *answer
		moved      bool // the redirect is reported as changed
		changed    bool
		decision   Decision
		unanswered bool
	}{
		{own: `"1"`, end: page(`"2"`), moved: true, changed: true, decision: ByETag},
		{own: `"1"`, end: &answer{status: 304, header: `ETag: "1"`}, decision: ByStatus},
		{end: page(`"3"`), changed: true, decision: ByETag},
		{own: `"0"`, end: &answer{status: 503}, unanswered: true},
		{end: page(`"4"`), changed: true, decision: ByETag},
	} {
		base.answers = append(base.answers, &answer{status: 302, header: "Location: /moved"}, c.end)
		r := get(t, "http://web.test/")
		if c.own != "" {
			r.Header.Set("If-None-Match", c.own)
		}
		got = nil
		resp, err := client.Do(r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, c.moved, got[0].Changed)
		require.Equal(t, c.unanswered, got[1].Err != nil)
		require.Equal(t, c.changed, got[1].Changed)
		require.Equal(t, c.decision, got[1].Decision)
	}
}

func TestTransportWireTimes(t *testing.T) {
	t.Parallel()
	now := webtest.Year2001
	base := &scripted{answers: []*answer{{status: 200, header: `ETag: "a"`, body: "x"}, {status: 304}, {err: io.ErrUnexpectedEOF}}}
	var got Poll
	transport := &Transport{Base: base, OnPoll: func(p Poll) { got = p }, Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}}
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.Equal(t, []any{webtest.Year2001.Add(time.Second), time.Second, 2 * time.Second}, []any{got.Start, got.Latency, got.Duration})
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.Equal(t, []any{webtest.Year2001.Add(4 * time.Second), time.Second, 2 * time.Second}, []any{got.Start, got.Latency, got.Duration})
	_, err := transport.RoundTrip(get(t, "http://web.test/"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, []any{webtest.Year2001.Add(7 * time.Second), time.Second, time.Second}, []any{got.Start, got.Latency, got.Duration})
}

// The host that the server sees is part of the page's name.
func TestTransportHost(t *testing.T) {
	t.Parallel()
	base := &scripted{answers: []*answer{{status: 200, body: "a"}, {status: 200, body: "b"}}}
	transport := &Transport{Base: base}
	for _, host := range []string{"a.test", "b.test"} {
		r := get(t, "http://10.0.0.1/")
		r.Host = host
		roundTrip(t, transport, r, -1)
	}
	require.Equal(t, 2, transport.Len())
}

// A page is forgotten by the URL that the caller gave, however it stands in the request.
func TestTransportForgets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://web.test/a b", "http://web.test/ä#top", "HTTP://web.test/?q=ä", "http://web.test"} {
		transport := &Transport{Base: bodies("x")}
		roundTrip(t, transport, get(t, url), -1)
		require.Equal(t, 1, transport.Len(), url)
		transport.Forget(url)
		require.Zero(t, transport.Len(), url)
	}
}

// Many requests at once over loopback: every change is reported once.
func TestTransportConcurrent(t *testing.T) {
	t.Parallel()
	const pages, workers, rounds = 20, 8, 20
	times := make([][]float64, pages)
	for page := range times {
		for round := range rounds {
			if (page+round)%3 == 0 {
				times[page] = append(times[page], float64(round)+0.5)
			}
		}
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			twin := webtest.Replay(t, times...)
			s, now := serverOf(t, webtest.Replay(t, times...), mode.cfg)
			web := httptest.NewServer(s)
			defer web.Close()
			var mu sync.Mutex
			changes := map[string]int{}
			base := &http.Transport{MaxIdleConnsPerHost: workers} // or connections are what takes the time
			transport := &Transport{Base: base, OnPoll: func(p Poll) {
				mu.Lock()
				defer mu.Unlock()
				if p.Err != nil {
					t.Error(p.Err)
				}
				if p.Changed {
					changes[p.URL]++
				}
			}}
			client := &http.Client{Transport: transport}
			want := map[string]int{}
			for round := range rounds {
				now.Set(float64(round))
				var wg sync.WaitGroup
				for w := range workers {
					wg.Go(func() {
						for page := range pages { // each page by all workers
							url := web.URL + s.URL((page+w)%pages)
							resp, err := client.Get(url)
							if err != nil {
								t.Error(err)
								return
							}
							_, _ = io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
				wg.Wait()
				for page := range pages {
					if _, changed := twin.Poll(page, now.Now()); changed {
						want[web.URL+s.URL(page)]++
					}
				}
			}
			require.Equal(t, want, changes)
			client.CloseIdleConnections()
		})
	}
}

// Saved state with a right checksum whose values make no sense.
func TestTransportSavedStateContradicts(t *testing.T) {
	t.Parallel()
	type entry struct {
		key, etag, location string
		hashed              bool
		hash                string
		size                int64
		page                string
		trust               byte
	}
	page, err := new(fingerprint.Page).MarshalBinary()
	require.NoError(t, err)
	a, b := strings.Repeat("a", 16), strings.Repeat("b", 16)
	for name, c := range map[string]struct {
		n       int
		entries []entry
		ok      bool
	}{
		"good":                {2, []entry{{a, `"x"`, "", true, b, 7, string(page), mostTrust}, {b, "", b, true, a, 0, "", 0}}, true},
		"negative number":     {-1, nil, false},
		"too few":             {2, []entry{{key: a}}, false},
		"too many":            {1, []entry{{key: a}, {key: b}}, false},
		"out of order":        {2, []entry{{key: b}, {key: a}}, false},
		"twice":               {2, []entry{{key: a}, {key: a}}, false},
		"short key":           {1, []entry{{key: "a"}}, false},
		"short hash":          {1, []entry{{key: a, hashed: true, hash: "b"}}, false},
		"negative size":       {1, []entry{{key: a, hashed: true, hash: b, size: -1}}, false},
		"bad page":            {1, []entry{{key: a, page: string(page[1:])}}, false},
		"long etag":           {1, []entry{{key: a, etag: strings.Repeat("x", maxETag+1)}}, false},
		"etag with a newline": {1, []entry{{key: a, etag: "\"x\"\r\nHost: y"}}, false},
		"trust":               {1, []entry{{key: a, trust: mostTrust + 1}}, false},
		"short location":      {1, []entry{{key: a, location: "b"}}, false},
	} {
		e := codec.NewEncoder(transportFormat.Magic, transportFormat.Version)
		e.Int(c.n)
		for _, x := range c.entries {
			e.Bytes([]byte(x.key))
			e.Bytes([]byte(x.etag))
			e.Uint64(0)
			e.Byte(0)
			e.Byte(x.trust)
			e.Bool(false)
			e.Uint64(0)
			e.Bool(x.location != "")
			if x.location != "" {
				e.Bytes([]byte(x.location))
				e.Bool(true)
			}
			e.Bool(x.hashed)
			if x.hashed {
				e.Bytes([]byte(x.hash))
				e.Bool(false)
				e.Uint64(uint64(x.size))
			}
			e.Bool(x.page != "")
			if x.page != "" {
				e.Bytes([]byte(x.page))
			}
		}
		saved, err := e.Finish()
		require.NoError(t, err)
		transport := new(Transport)
		if err = transport.UnmarshalBinary(saved); c.ok {
			require.NoError(t, err, name)
			require.Equal(t, c.n, transport.Len())
		} else {
			require.ErrorIs(t, err, ErrCorrupt, name)
			require.Zero(t, transport.Len())
		}
	}
}

// Decisions and outcomes are written by their names, and read by them.
func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "undecided", Undecided.String())
	require.Equal(t, "location", ByLocation.String())
	require.Equal(t, "Decision(9)", Decision(9).String())
	type names struct {
		Decision Decision
		Outcome  Outcome
	}
	text, err := json.Marshal(names{ByETag, Gone})
	require.NoError(t, err)
	require.JSONEq(t, `{"Decision":"etag","Outcome":"gone"}`, string(text))
	var back names
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, names{ByETag, Gone}, back)
	require.ErrorIs(t, back.Decision.UnmarshalText([]byte("Etag")), ErrConfig)
	require.ErrorIs(t, back.Outcome.UnmarshalText([]byte("")), ErrConfig)
}

// BenchmarkPoll measures one conditional poll of a page that does not change
// ("304"), or always does ("200"), with and without the network between.
func BenchmarkPoll(b *testing.B) {
	for _, status := range []int{304, 200} {
		for _, network := range []string{"handler", "loopback"} {
			b.Run(fmt.Sprintf("%d/%s", status, network), func(b *testing.B) {
				u := 0.0
				if status == http.StatusOK {
					u = 1
				}
				env, err := webenv.NewSlots([]float64{u}, webenv.AtMostOnce, 0, check.Source(1))
				require.NoError(b, err)
				s, now := serverOf(b, env, serve.Config{})
				transport := &Transport{Base: webtest.InProcess{Handler: s}}
				url := "http://web.test/page/0"
				if network == "loopback" {
					web := httptest.NewServer(s)
					defer web.Close()
					transport.Base, url = nil, web.URL+"/page/0"
				}
				other := 0
				transport.OnPoll = func(p Poll) {
					if p.Status != status {
						other++
					}
				}
				client := &http.Client{Transport: transport}
				slot := 0.0
				for b.Loop() {
					slot++
					now.Set(slot)
					webtest.Fetch(b, client, url)
				}
				require.LessOrEqual(b, other, 1+b.N/65) // the first copy, and those that doubt calls for
			})
		}
	}
}

// A server that switches to another protocol, which nobody asked for, and then says nothing does not hold up who
// reads the body.
func TestUnaskedUpgrade(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(upgrade.Silent))
	t.Cleanup(web.Close)
	var found Poll
	client := &http.Client{Transport: &Transport{OnPoll: func(p Poll) { found = p }}, Timeout: time.Second}
	resp, err := client.Get(web.URL)
	require.NoError(t, err)
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		read <- err
	}()
	select {
	case err := <-read:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the body does not end")
	}
	require.NoError(t, resp.Body.Close())
	require.ErrorIs(t, found.Err, ErrStatus)
	require.Equal(t, http.StatusSwitchingProtocols, found.Status)
}
