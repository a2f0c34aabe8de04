package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/check"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
)

// faulty serves pages with faults, the first of which changes at 10.
func faulty(t *testing.T, f Faults, cfg Config) (*Server, *webtest.Clock) {
	cfg.Faults, cfg.Source = always(f), check.Source(1)
	return serverOf(t, webtest.Replay(t, []float64{10}, nil, nil, nil), cfg)
}

// What differs in noise only is no change, and what noise hides is one.
func TestFaultsInContent(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]Faults{
		"nonce":          {Nonce: true},
		"clock":          {Clock: true},
		"advertisements": {Advertisements: 5},
	} {
		s, now := faulty(t, f, Config{})
		bodies := map[string]bool{}
		for k := range 9 {
			now.Set(5 + float64(k)/2)
			w := do(s, "GET", "/page/0", "If-None-Match", `"0-1"`)
			require.Equal(t, 200, w.Code, name)
			require.Empty(t, w.Header().Get("ETag"), name)
			require.Empty(t, w.Header().Get("Last-Modified"), name)
			require.Contains(t, w.Body.String(), "Version 1.", name)
			bodies[w.Body.String()] = true
		}
		require.Greater(t, len(bodies), 2, name)
		for body := range bodies {
			require.Equal(t, f.Nonce, strings.Contains(body, "token"), name)
			require.Equal(t, f.Clock, strings.Contains(body, "Made at"), name)
			require.Equal(t, f.Advertisements > 0, strings.Contains(body, "Advertisement"), name)
		}
		require.Equal(t, 0, s.Totals().Detected, name)
		now.Set(12)
		require.Contains(t, do(s, "GET", "/page/0").Body.String(), "Version 2.", name)
		require.Equal(t, 1, s.Totals().Detected, name)
		require.Equal(t, &f, s.PageTruth(0).Faults)
	}
}

func TestFaultsInHeaders(t *testing.T) {
	t.Parallel()
	s, _ := faulty(t, Faults{Backends: 3}, Config{})
	etags := map[string]bool{}
	for range 50 {
		etags[do(s, "GET", "/page/1").Header().Get("ETag")] = true
	}
	require.Equal(t, map[string]bool{`"1-1-0"`: true, `"1-1-1"`: true, `"1-1-2"`: true}, etags)

	s, now := faulty(t, Faults{FreshDate: true}, Config{})
	for _, at := range []float64{20, 30} {
		now.Set(at)
		w := do(s, "GET", "/page/0", "If-Modified-Since", webtest.DateOf(17))
		require.Equal(t, 200, w.Code)
		require.Equal(t, webtest.DateOf(at-2), w.Header().Get("Last-Modified"))
		require.Empty(t, w.Header().Get("ETag"))
	}

	// A date that is stuck hides the change from who asks with it: the truth is that the copy
	// is not current.
	s, now = faulty(t, Faults{StuckDate: true}, Config{})
	now.Set(5)
	date := do(s, "GET", "/page/0").Header().Get("Last-Modified")
	require.Equal(t, webtest.DateOf(0), date)
	now.Set(15)
	require.Equal(t, 304, do(s, "GET", "/page/0", "If-Modified-Since", date).Code)
	require.Equal(t, 0, s.Totals().Detected)
	require.False(t, s.PageTruth(0).Current)
	require.Equal(t, 200, do(s, "GET", "/page/0").Code)
	require.Equal(t, 1, s.Totals().Detected)
	require.True(t, s.PageTruth(0).Current)

	// A request that names ETags is not decided by its date: it gets a copy, or with a star none.
	for _, c := range []struct {
		etags            string
		status, detected int
	}{{`"x"`, 200, 1}, {"*", 304, 0}} {
		s, now = faulty(t, Faults{StuckDate: true}, Config{})
		now.Set(15)
		require.Equal(t, c.status, do(s, "GET", "/page/0", "If-None-Match", c.etags, "If-Modified-Since", date).Code)
		require.Equal(t, c.detected, s.Totals().Detected, c.etags)
		require.Equal(t, c.detected == 1, s.PageTruth(0).Current, c.etags)
		require.Equal(t, [2]int{1, 1 - c.detected}, [2]int{s.Totals().Polls, s.Totals().NotModified}, c.etags)
	}

	// Neither does a page that behaves well give a copy with 304.
	s, now = faulty(t, Faults{}, Config{})
	now.Set(15)
	require.Equal(t, 304, do(s, "GET", "/page/0", "If-None-Match", "*").Code)
	require.False(t, s.PageTruth(0).Current)

	s, _ = faulty(t, Faults{Gzip: true}, Config{})
	plain := do(s, "GET", "/page/1").Body.String()
	packed := map[string]bool{}
	for range 3 {
		w := do(s, "GET", "/page/1", "Accept-Encoding", "gzip")
		packed[w.Body.String()] = true
		z, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, plain, string(body))
	}
	require.Len(t, packed, 3)
	for accept, want := range map[string]bool{
		"": false, "br": false, "gzip": true, "br, GZIP": true, "gzip;q=0": false, "gzip; q=0.000, *": false, "gzip;q=0.5": true,
		"*": true, "*;q=0": false, "br;q=1, gzip ; q=0.1": true, "gzip;q=none": false, "xgzip": false,
	} {
		got := do(s, "GET", "/page/1", "Accept-Encoding", accept).Header().Get("Content-Encoding")
		require.Equal(t, want, got == "gzip", accept)
	}
}

func TestFaultySession(t *testing.T) {
	t.Parallel()
	s, _ := faulty(t, Faults{Session: true}, Config{})
	plain := ""
	for range 3 {
		w := do(s, "GET", "/page/1")
		require.Equal(t, 302, w.Code)
		to := w.Header().Get("Location")
		require.NotEqual(t, plain, to)
		plain = to
		w = do(s, "GET", to)
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Body.String(), "page 1")
	}
	require.Equal(t, 3, s.Totals().Polls, "a redirect is none")
	require.Equal(t, 404, do(s, "GET", "/session/1").Code)
}

// A busy page answers once in 10 units; a client that asks before the time it was told breaks
// its word.
func TestFaultyBusy(t *testing.T) {
	t.Parallel()
	s, now := faulty(t, Faults{Busy: 10}, Config{})
	ask := func(at float64, code int, retry string, violations int) {
		t.Helper()
		now.Set(at)
		w := do(s, "GET", "/page/1")
		require.Equal(t, code, w.Code)
		require.Equal(t, retry, w.Header().Get("Retry-After"))
		require.Equal(t, violations, s.Totals().Violations)
	}
	ask(1, 200, "", 0)
	ask(2.5, 429, "9", 0)
	ask(3, 429, "8", 1)
	ask(11, 200, "", 1)
	ask(30, 200, "", 1)
	require.Equal(t, 2, s.Totals().Failed)

	// Ten days are given in seconds.
	s, _ = faulty(t, Faults{Busy: 10}, Config{Calendar: webenv.Calendar{Epoch: webtest.Year2001, Unit: 24 * time.Hour}})
	do(s, "GET", "/page/0")
	require.Equal(t, "864000", do(s, "GET", "/page/0").Header().Get("Retry-After"))
}

// A client that was not told to wait breaks no word, and where no answer comes the quota is left as it
// was.
func TestFaultyBusyUntold(t *testing.T) {
	t.Parallel()
	var f Faults
	s, now := serverOf(t, webtest.Replay(t, nil), Config{
		Faults: func(int) Faults { return f }, Source: check.Source(1), Sleep: func(context.Context, time.Duration) {},
	})
	ask := func(at float64, silent, code, violations int) {
		t.Helper()
		now.Set(at)
		f = Faults{Busy: 10, Silent: float64(silent), Dying: 6} // dead from 6 to 12
		if silent == 1 {
			require.PanicsWithValue(t, http.ErrAbortHandler, func() { do(s, "GET", "/page/0") })
		} else {
			require.Equal(t, code, do(s, "GET", "/page/0").Code)
		}
		require.Equal(t, violations, s.Totals().Violations)
	}
	ask(0, 1, 0, 0)
	ask(1, 1, 0, 0)
	ask(2, 0, 200, 0)
	ask(3, 1, 0, 0)
	ask(7, 0, 404, 0)
	ask(8, 0, 404, 0)
	ask(12, 0, 200, 0)
	ask(13, 0, 429, 0)
	ask(14, 0, 429, 1)
}

func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, nil, nil), Config{CrawlDelay: 2})
	require.Contains(t, do(s, "GET", "/robots.txt").Body.String(), "Disallow: /truth\nCrawl-delay: 2\n")
	for _, at := range []float64{0, 2, 3.5, 5.5, 5.6} {
		now.Set(at)
		do(s, "GET", "/page/1")
	}
	require.Equal(t, 2, s.Totals().Violations)
	for delay, text := range map[float64]string{1e-5: "0.00001", 2.5: "2.5", 1e21: "1000000000000000000000"} {
		s, _ := serverOf(t, webtest.Replay(t, nil), Config{CrawlDelay: delay})
		require.Contains(t, do(s, "GET", "/robots.txt").Body.String(), "\nCrawl-delay: "+text+"\n")
	}
	_, err := New(webtest.Replay(t, nil), Config{CrawlDelay: -1})
	require.ErrorIs(t, err, ErrConfig)
}

// Pages live and are dead for as long, at different times.
func TestFaultyDying(t *testing.T) {
	t.Parallel()
	s, now := faulty(t, Faults{Dying: 10}, Config{})
	var lives [4]string
	for k := range 8 {
		now.Set(float64(5 * k))
		for page := range lives {
			lives[page] += map[int]string{200: "1", 404: "0"}[do(s, "GET", "/page/"+string(rune('0'+page))).Code]
		}
	}
	require.Equal(t, "11001100", lives[0])
	for _, life := range lives {
		require.Equal(t, 4, strings.Count(life, "1"), life)
		require.Equal(t, life[:4], life[4:])
	}
	require.NotEqual(t, lives[0], lives[1])
	require.Equal(t, 16, s.Totals().Failed)
	require.Equal(t, 8, s.PageTruth(3).Requests)
}

// Over a real connection: an answer that breaks off, one that never comes, and one that is
// slow.
func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	get := func(f Faults, cfg Config, header ...string) (body []byte, s *Server, err error) {
		s, _ = faulty(t, f, cfg)
		web := httptest.NewServer(s)
		defer web.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", web.URL+"/page/1", nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, s, err
		}
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
		return body, s, err
	}
	whole, s, err := get(Faults{}, Config{Size: 5000})
	require.NoError(t, err)
	require.Len(t, whole, 5000)
	require.Equal(t, 1, s.Totals().Polls)

	body, s, err := get(Faults{Cut: 1}, Config{Size: 5000}, "If-None-Match", `"1-1"`)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, whole[:2500], body)
	require.Equal(t, [2]int{0, 1}, [2]int{s.Totals().Polls, s.Totals().Failed})

	var slept []time.Duration
	sleep := func(_ context.Context, d time.Duration) { slept = append(slept, d) }
	_, s, err = get(Faults{Silent: 1}, Config{Sleep: sleep})
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []time.Duration{silence}, slept)
	require.Equal(t, 1, s.Totals().Failed)

	for _, size := range []int{5000, 5009, 1_000_000} { // the last one is written in many parts
		slept = nil
		body, _, err = get(Faults{Slow: time.Minute}, Config{Size: size, Sleep: sleep})
		require.NoError(t, err)
		require.Len(t, body, size)
		require.True(t, bytes.HasPrefix(body, whole))
		require.Len(t, slept, slowPieces, size)
		require.Equal(t, 6*time.Second, slept[0])
	}
}

// A client that gives up, before the answer or in the middle of its body, has no copy and has found
// nothing.
func TestClientGone(t *testing.T) {
	t.Parallel()
	gone, give := context.WithCancel(t.Context())
	give()
	ask := func(s *Server, ctx context.Context, header ...string) {
		defer func() { require.Contains(t, []any{nil, http.ErrAbortHandler}, recover()) }()
		r := httptest.NewRequest("GET", "/page/0", nil).WithContext(ctx)
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	for name, f := range map[string]func(*Config){
		"before": func(cfg *Config) { cfg.Latency = func(int, *rand.Rand) time.Duration { return 1 } },
		"middle": func(cfg *Config) { cfg.Faults = always(Faults{Slow: time.Minute}) },
	} {
		cfg := Config{Source: check.Source(1), Sleep: func(context.Context, time.Duration) {}}
		f(&cfg)
		for _, header := range [][]string{nil, {"Range", "bytes=0-3"}} {
			s, now := serverOf(t, webtest.Replay(t, []float64{5}), cfg)
			now.Set(10)
			ask(s, gone, header...)
			want := Totals{Now: 10, Pages: 1, Failed: 1, Freshness: 0.5, Age: 1.25}
			require.Equal(t, want, s.Totals(), name)
			require.False(t, s.PageTruth(0).Current)
			now.Set(20)
			ask(s, t.Context(), header...)
			want = Totals{Now: 20, Pages: 1, Failed: 1, Polls: 1, Detected: 1, Freshness: 0.25, Age: 5.625}
			require.Equal(t, want, s.Totals(), name)
			ask(s, gone, header...)
			want.Failed++
			require.Equal(t, want, s.Totals(), "there was nothing to find")
			require.Empty(t, s.underWay)
		}
	}

	// Another request takes a copy while the client of the first one is about to give up.
	var s *Server
	pauses := 0
	s, now := serverOf(t, webtest.Replay(t, []float64{5}), Config{
		Source: check.Source(1), Faults: always(Faults{Slow: time.Minute}),
		Sleep: func(ctx context.Context, _ time.Duration) {
			if pauses++; pauses == 1 {
				ask(s, t.Context())
			}
		},
	})
	now.Set(10)
	ask(s, gone)
	require.Equal(t, Totals{Now: 10, Pages: 1, Failed: 1, Polls: 1, Detected: 1, Freshness: 0.5, Age: 1.25}, s.Totals())
	require.True(t, s.PageTruth(0).Current)
	require.Empty(t, s.underWay)
}

// A client that gives up and asks again has no copy if it gives up once more, whichever answer ends first. If
// not, the last copy is the one that found the change.
func TestClientGoneTwice(t *testing.T) {
	t.Parallel()
	for _, firstEndsFirst := range []bool{false, true} {
		s, now := serverOf(t, webtest.Replay(t, []float64{5}), Config{})
		now.Set(10)
		take := func() *answer {
			return s.take(httptest.NewRequest("GET", "/page/0", nil), 0, Faults{}, chance{})
		}
		answers := []*answer{take(), take()}
		if !firstEndsFirst {
			slices.Reverse(answers)
		}
		for _, a := range answers {
			s.ended(0, a, false)
		}
		require.Equal(t, Totals{Now: 10, Pages: 1, Failed: 2, Freshness: 0.5, Age: 1.25}, s.Totals())
		require.False(t, s.PageTruth(0).Current)
		require.Empty(t, s.underWay)

		first := take()
		now.Set(20)
		second := take()
		s.ended(0, first, false)
		s.ended(0, second, true)
		require.Equal(t, Totals{Now: 20, Pages: 1, Failed: 3, Polls: 1, Detected: 1, Freshness: 0.25, Age: 5.625}, s.Totals())
		require.True(t, s.PageTruth(0).Current)
		require.Empty(t, s.underWay)
	}
}

// A connection that breaks shows when its answer is written.
func TestConnectionBroken(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{5}), Config{})
	now.Set(10)
	s.ServeHTTP(severed{httptest.NewRecorder()}, httptest.NewRequest("GET", "/page/0", nil))
	require.Equal(t, Totals{Now: 10, Pages: 1, Failed: 1, Freshness: 0.5, Age: 1.25}, s.Totals())
}

// severed is a connection that has broken.
type severed struct{ http.ResponseWriter }

func (severed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A writer in pieces says how much it has written, as io.Writer demands.
func TestSpoiledWriterCounts(t *testing.T) {
	t.Parallel()
	pauses := 0
	w := &spoiledWriter{ResponseWriter: httptest.NewRecorder(), left: math.MaxInt, piece: 3, pause: func() error { pauses++; return nil }}
	n, err := w.Write(make([]byte, 10))
	require.NoError(t, err)
	require.Equal(t, 10, n)
	require.Equal(t, 4, pauses)
}

// A body of another length than the page's, such as that of an error, ends too.
func TestSlowEmptyPage(t *testing.T) {
	t.Parallel()
	pauses := 0
	s, err := New(webtest.Replay(t, nil), Config{Source: check.Source(1), Sleep: func(context.Context, time.Duration) {
		pauses++
		require.Less(t, pauses, 10)
	}})
	require.NoError(t, err)
	w := s.spoiled(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), 0, Faults{Slow: time.Second}, chance{})
	n, err := w.Write([]byte("error"))
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.Equal(t, 5, pauses)
}

func TestFaultsRejected(t *testing.T) {
	t.Parallel()
	for _, f := range []Faults{
		{Advertisements: -1}, {Backends: -1}, {Unavailable: 1.1}, {Silent: math.NaN()}, {Cut: -0.1},
		{Slow: -1}, {Busy: math.Inf(1)}, {Dying: -1},
	} {
		_, err := New(webtest.Replay(t, nil, nil), Config{Source: check.Source(1), Faults: func(page int) Faults {
			return [2]Faults{{}, f}[page]
		}})
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "(page 1)")
		require.True(t, strings.HasPrefix(err.Error(), "serve: "), "as every text begins with its package")
	}
}
