package serve

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/check"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
	"github.com/recrawl/recrawl/webenv/live"
)

func serverOf(t require.TestingT, env webenv.Env, cfg Config) (*Server, *webtest.Clock) {
	c := new(webtest.Clock)
	cfg.Now = c.Now
	if cfg.Calendar.Epoch.IsZero() {
		cfg.Calendar.Epoch = webtest.Year2001
	}
	s, err := New(env, cfg)
	require.NoError(t, err)
	return s, c
}

// always gives all pages the same faults.
func always(f Faults) func(int) Faults { return func(int) Faults { return f } }

// names returns names of the pages that have to be escaped.
func names(env webenv.Env) (names []string) {
	for page := range env.Len() {
		names = append(names, webtest.Name(page))
	}
	return names
}

// do sends a request with headers given as name, value, name, value …
func do(h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://web.test"+url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The precedence of RFC 9110, section 13.2.2, on a page that changed at 10.5 and is now, at
// 100, in its second version.
func TestServerConditions(t *testing.T) {
	t.Parallel()
	const etag, before, after = `"0-2"`, 9.0, 11.0
	for _, c := range []struct {
		name   string
		status int
		header []string
	}{
		{"none", 200, nil},
		{"same etag", 304, []string{"If-None-Match", etag}},
		{"weak comparison", 304, []string{"If-None-Match", "W/" + etag}},
		{"other etag", 200, []string{"If-None-Match", `"0-1"`}},
		{"etag of another page", 200, []string{"If-None-Match", `"1-2"`}},
		{"any", 304, []string{"If-None-Match", "*"}},
		{"list", 304, []string{"If-None-Match", `"a,b", W/"c" ,` + etag}},
		{"list without it", 200, []string{"If-None-Match", `"a,b", W/"c"`}},
		{"unquoted", 200, []string{"If-None-Match", "0-2"}},
		{"not modified since its second", 304, []string{"If-Modified-Since", webtest.DateOf(10)}},
		{"not modified since later", 304, []string{"If-Modified-Since", webtest.DateOf(after)}},
		{"modified since", 200, []string{"If-Modified-Since", webtest.DateOf(before)}},
		{"no date", 200, []string{"If-Modified-Since", "yesterday"}},
		{"etag wins over date: changed", 200, []string{"If-None-Match", `"0-1"`, "If-Modified-Since", webtest.DateOf(after)}},
		{"etag wins over date: unchanged", 304, []string{"If-None-Match", etag, "If-Modified-Since", webtest.DateOf(before)}},
		{"if-match fails first", 412, []string{"If-Match", `"0-1"`, "If-None-Match", etag}},
		{"if-match is strong", 412, []string{"If-Match", "W/" + etag}},
		{"if-match", 200, []string{"If-Match", etag}},
		{"if-unmodified-since fails", 412, []string{"If-Unmodified-Since", webtest.DateOf(before)}},
		{"range", 206, []string{"Range", "bytes=0-3"}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if method == "HEAD" && c.status == 206 {
				continue // Range is for GET only (RFC 9110, section 14.2)
			}
			t.Run(method+" "+c.name, func(t *testing.T) {
				s, now := serverOf(t, webtest.Replay(t, []float64{10.5}, nil), Config{})
				now.Set(100)
				w := do(s, method, "/page/0", c.header...)
				require.Equal(t, c.status, w.Code)
				require.Equal(t, webtest.DateOf(100), w.Header().Get("Date"))
				if w.Code < 400 {
					require.Equal(t, etag, w.Header().Get("ETag"))
				}
				if w.Code == 200 {
					require.Equal(t, webtest.DateOf(10), w.Header().Get("Last-Modified"))
					require.NotEmpty(t, w.Header().Get("Content-Length"))
				}
				if method == "HEAD" || w.Code == 304 || w.Code == 412 {
					require.Empty(t, w.Body.String())
				} else {
					require.NotEmpty(t, w.Body.String())
				}
			})
		}
	}
}

// A server and a map from bodies and Last-Modified to versions: equal exactly if the versions
// are.
func TestServerVersions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := webtest.Changes.Draw(t, "changes")
		s, now := serverOf(t, webtest.Replay(t, times), Config{})
		twin := webtest.Replay(t, times)
		version := 1
		bodies, dates := map[string]int{}, map[string]int{}
		gaps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 30).Draw(t, "gaps")
		for _, gap := range gaps {
			now.Set(now.Now() + float64(gap)/4)
			if _, changed := twin.Poll(0, now.Now()); changed {
				version++
			}
			w := do(s, "GET", "/page/0")
			require.Equal(t, fmt.Sprintf(`"0-%d"`, version), w.Header().Get("ETag"))
			requireOnly(t, bodies, w.Body.String(), version)
			if date := w.Header().Get("Last-Modified"); date != "" {
				requireOnly(t, dates, date, version)
			}
		}
	})
}

func requireOnly(t require.TestingT, seen map[string]int, text string, version int) {
	if other, ok := seen[text]; ok {
		require.Equal(t, other, version, text)
	}
	for other, v := range seen {
		if v == version {
			require.Equal(t, other, text, "version %d", version)
		}
	}
	seen[text] = version
}

// The server keeps its names when the caller alters theirs.
func TestServerKeepsNames(t *testing.T) {
	t.Parallel()
	given := []string{"one", "two"}
	s, _ := serverOf(t, webtest.Replay(t, nil, nil), Config{Names: given})
	given[0] = "three"
	require.Equal(t, "/name/one", s.URL(0))
}

func TestServerPaths(t *testing.T) {
	t.Parallel()
	env := webtest.Replay(t, []float64{1}, []float64{2}, nil)
	s, _ := serverOf(t, env, Config{Names: names(env)})
	for page := range env.Len() {
		w := do(s, "GET", s.URL(page))
		require.Equal(t, 200, w.Code, s.URL(page))
		require.Contains(t, w.Body.String(), fmt.Sprintf("page %d/é&amp;?", page))
		require.Equal(t, w.Body.String(), do(s, "GET", fmt.Sprintf("/page/%d", page)).Body.String())
	}
	for _, path := range []string{"/page/3", "/page/-1", "/page/01", "/page/+1", "/page/", "/page/1/", "/name/", "/name/x",
		"/sitemap-1.xml", "/sitemap-0", "/x", "/truth?page=3", "/truth/1"} {
		require.Equal(t, 404, do(s, "GET", path).Code, path)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		w := do(s, method, "/page/1")
		require.Equal(t, 405, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	require.Equal(t, "User-agent: *\nDisallow: /truth\n\nSitemap: http://web.test/sitemap.xml\n",
		do(s, "GET", "/robots.txt").Body.String())
	require.Contains(t, do(s, "GET", "/").Body.String(), `<a href="/name/page%200/%C3%A9&amp;%3F">`)
}

// From the start page links lead to every page.
func TestServerLinks(t *testing.T) {
	t.Parallel()
	s, _ := serverOf(t, webtest.Replay(t, make([][]float64, 37)...), Config{Base: "http://web.test/sim", Size: 500})
	handler := http.StripPrefix("/sim", s)
	seen := map[string]bool{}
	queue := []string{"/sim/"}
	for len(queue) > 0 {
		url := queue[0]
		queue = queue[1:]
		if seen[url] {
			continue
		}
		seen[url] = true
		w := do(handler, "GET", url)
		require.Equal(t, 200, w.Code, url)
		for _, link := range strings.Split(w.Body.String(), `href="`)[1:] {
			link, _, _ = strings.Cut(link, `"`)
			queue = append(queue, link)
		}
		if strings.Contains(url, "/page/") {
			require.Equal(t, 500, w.Body.Len())
		}
	}
	require.Len(t, seen, 37+2)
}

type sitemap struct {
	XMLName xml.Name
	Entries []struct {
		XMLName xml.Name
		Loc     string    `xml:"loc"`
		Lastmod time.Time `xml:"lastmod"`
	} `xml:",any"`
}

func readSitemap(t *testing.T, h http.Handler, url string) sitemap {
	w := do(h, "GET", url)
	require.Equal(t, 200, w.Code)
	var m sitemap
	require.NoError(t, xml.Unmarshal(w.Body.Bytes(), &m))
	require.Equal(t, "http://www.sitemaps.org/schemas/sitemap/0.9", m.XMLName.Space)
	return m
}

func TestServerSitemap(t *testing.T) {
	t.Parallel()
	env := webtest.Replay(t, []float64{1.5, 7}, []float64{30}, nil)
	s, now := serverOf(t, env, Config{Names: names(env)})
	now.Set(20)
	m := readSitemap(t, s, "/sitemap.xml")
	require.Equal(t, "urlset", m.XMLName.Local)
	require.Len(t, m.Entries, 3)
	for page, seconds := range []float64{7, 0, 0} {
		require.Equal(t, "http://web.test"+s.URL(page), m.Entries[page].Loc)
		require.True(t, m.Entries[page].Lastmod.Equal(webenv.Calendar{Epoch: webtest.Year2001}.Date(seconds)), "page %d", page)
	}
	require.Equal(t, m, readSitemap(t, s, "/sitemap-0.xml"))
	require.Empty(t, do(s, "HEAD", "/sitemap.xml").Body.Bytes())
}

func TestServerSitemapIndex(t *testing.T) {
	t.Parallel()
	rates := make([]float64, 2*maxSitemap+1)
	rates[maxSitemap+2] = 1
	env, err := webenv.NewPoisson(rates, check.Source(1))
	require.NoError(t, err)
	s, now := serverOf(t, env, Config{Base: "https://example.org/web"})
	now.Set(1000)
	m := readSitemap(t, s, "/sitemap.xml")
	require.Equal(t, "sitemapindex", m.XMLName.Local)
	require.Len(t, m.Entries, 3)
	require.True(t, m.Entries[1].Lastmod.After(webtest.Year2001))
	require.True(t, m.Entries[0].Lastmod.Equal(webtest.Year2001))
	require.Equal(t, "https://example.org/web/sitemap-2.xml", m.Entries[2].Loc)
	last := readSitemap(t, s, "/sitemap-2.xml")
	require.Len(t, last.Entries, 1)
	require.Equal(t, "https://example.org/web/page/100000", last.Entries[0].Loc)
	require.Len(t, readSitemap(t, s, "/sitemap-0.xml").Entries, maxSitemap)
}

// A crawler's totals are those that Run gives for the same polls.
func TestServerTruth(t *testing.T) {
	t.Parallel()
	times := [][]float64{{3, 4, 9.5, 20, 30}, {1}, nil, {2, 4, 6, 8, 10, 12, 14, 16, 18, 31}}
	env := webtest.Replay(t, times...)
	want, err := webenv.Run(env, &cycle{pages: 4}, webenv.RunConfig{Rate: 0.75, Duration: 32})
	require.NoError(t, err)

	env = webtest.Replay(t, times...)
	s, now := serverOf(t, env, Config{})
	client := &http.Client{Transport: &live.Transport{Base: webtest.InProcess{Handler: s}}}
	for k := 1; k <= want.Polls; k++ {
		now.Set(float64(k) / 0.75)
		webtest.Fetch(t, client, fmt.Sprintf("http://web.test/page/%d", (k-1)%4))
		if k%2 == 0 {
			do(s, "GET", "/truth") // looks change nothing
			do(s, "GET", "/sitemap.xml")
			do(s, "HEAD", "/page/0")
		}
	}
	now.Set(32)
	var truth Truth
	require.NoError(t, json.Unmarshal(do(s, "GET", "/truth").Body.Bytes(), &truth))
	require.Equal(t, want.Polls, truth.Totals.Polls)
	require.Equal(t, want.Detected, truth.Totals.Detected)
	require.InDelta(t, want.Freshness, truth.Totals.Freshness, 1e-12)
	require.InDelta(t, want.Age, truth.Totals.Age, 1e-12)
	require.Less(t, want.Freshness, 0.9)
	require.Equal(t, truth.Totals, s.Totals())
	require.Len(t, truth.Pages, 4)
	for page, p := range truth.Pages {
		require.Equal(t, s.PageTruth(page), p)
		require.Equal(t, env.Rate(page, 32), *p.Rate)
	}
	require.Equal(t, 31.0, truth.Pages[3].Modified)
	require.True(t, truth.Pages[3].Current)
	require.Equal(t, 30.0, truth.Pages[0].Modified)
	require.False(t, truth.Pages[0].Current)
	require.True(t, truth.Pages[2].Current)
	require.Equal(t, 1, truth.Pages[2].Version)

	w := do(s, "GET", "/truth?page=3")
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &truth))
	require.Equal(t, []PageTruth{s.PageTruth(3)}, truth.Pages)
	require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
}

// A page that changes in every slot has an infinite rate, which JSON cannot hold.
// Without Config.Base the addresses in a sitemap are those of the request.
func TestServerBase(t *testing.T) {
	t.Parallel()
	s, _ := serverOf(t, webtest.Replay(t, nil), Config{})
	for _, scheme := range []string{"http", "https"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", scheme+"://other.test/sitemap.xml", nil))
		require.Contains(t, w.Body.String(), "<loc>"+scheme+"://other.test/page/0</loc>")
	}
	w := do(s, "HEAD", "/truth")
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Body.String())
}

// A page links to its two children in the tree of pages and to no others; freshness is a share of
// the time, however short that is.
func TestServerChildren(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{0.02}, nil, nil, nil, nil, nil, nil), Config{})
	body := do(s, "GET", "/page/1").Body.String()
	for page := 2; page < 7; page++ {
		require.Equal(t, page == 3 || page == 4, strings.Contains(body, fmt.Sprintf(`"/page/%d"`, page)), "%d", page)
	}
	now.Set(0.05)
	require.InDelta(t, 1-0.03/(7*0.05), s.Totals().Freshness, 1e-12)
}

// The truth about a page is that of now, whatever was asked before.
func TestPageTruthLooks(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{1, 3}), Config{})
	require.True(t, s.PageTruth(0).Current)
	now.Set(2)
	require.False(t, s.PageTruth(0).Current)
	require.Equal(t, 1.0, s.PageTruth(0).Modified)
	now.Set(4)
	truth := s.PageTruth(0)
	require.Equal(t, 3.0, truth.Modified)
	s.Totals() // looks at all pages
	require.Equal(t, truth, s.PageTruth(0))
}

func TestServerTruthInfiniteRate(t *testing.T) {
	t.Parallel()
	env, err := webenv.NewSlots([]float64{1}, webenv.AtMostOnce, 0, check.Source(1))
	require.NoError(t, err)
	s, _ := serverOf(t, env, Config{})
	var truth Truth
	require.NoError(t, json.Unmarshal(do(s, "GET", "/truth").Body.Bytes(), &truth))
	require.Equal(t, math.MaxFloat64, *truth.Pages[0].Rate)
}

// cycle polls the pages in turn.
type cycle struct{ pages, polls int }

func (c *cycle) Next(float64) (int, error) {
	c.polls++
	return (c.polls - 1) % c.pages, nil
}

func (c *cycle) Observe(int, float64, bool) error { return nil }

// JSON has no infinity. The truth is JSON even where the square of a long time overflows.
func TestServerTruthAfterAges(t *testing.T) {
	t.Parallel()
	env, err := webenv.NewReplay(&webenv.History{Times: [][]float64{{1}, {}}}, 0)
	require.NoError(t, err)
	s, c := serverOf(t, env, Config{})
	c.Set(1e200)
	var truth Truth
	require.NoError(t, json.Unmarshal(do(s, "GET", "/truth").Body.Bytes(), &truth))
	require.Equal(t, s.Totals(), truth.Totals)
	require.Equal(t, 0.5, truth.Totals.Freshness)
	require.Positive(t, truth.Totals.Age)
}

// The account of a server starts when it is made, not with its environment.
func TestServerMadeLate(t *testing.T) {
	t.Parallel()
	history := &webenv.History{Names: []string{"a"}, Times: [][]float64{{1, 3, 6}}}
	env, err := webenv.NewReplay(history, 2)
	require.NoError(t, err)
	now := 4.0
	cfg := Config{Now: func() float64 { return now }, Calendar: webenv.Calendar{Epoch: webtest.Year2001}}
	s, err := New(env, cfg)
	require.NoError(t, err)
	require.Equal(t, Totals{Now: 4, Pages: 1, Freshness: 1}, s.Totals())
	require.True(t, s.PageTruth(0).Current, "what changed before is not missed")
	require.Equal(t, 3.0, s.PageTruth(0).Modified)
	do(s, "GET", "/page/0")
	require.Equal(t, 0, s.Totals().Detected)
	now = 8
	require.Equal(t, 0.5, s.Totals().Freshness)
	require.Equal(t, 0.5, s.Totals().Age) // from 0 at time 6 to 2 at time 8
	require.Equal(t, 6.0, s.PageTruth(0).Modified)

	// A replay knows changes from before the start too.
	now = 4
	env, err = webenv.NewReplay(history, 3)
	require.NoError(t, err)
	s, err = New(env, cfg)
	require.NoError(t, err)
	w := do(s, "GET", "/page/0")
	require.Equal(t, `"0-1"`, w.Header().Get("ETag"))
	require.Equal(t, webtest.DateOf(3), w.Header().Get("Last-Modified"))
}

// Names are reached by their URLs, also where paths are cleaned on the way, and under a base.
func TestServerNamesOnAMux(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"http://a.test/b": "/name/http:%2F%2Fa.test%2Fb", "a/../b": "/name/a%2F..%2Fb", "a//b": "/name/a%2F%2Fb", "a/./b": "/name/a%2F.%2Fb",
		"a/..": "/name/a%2F..", "/": "/name/%2F", "a//": "/name/a%2F%2F",
		"a/b/": "/name/a/b/", "a b?c%": "/name/a%20b%3Fc%25", "a": "/name/a", "...": "/name/...",
	}
	names := slices.Sorted(maps.Keys(all))
	s, _ := serverOf(t, webtest.Replay(t, make([][]float64, len(names))...), Config{Names: names})
	under, _ := serverOf(t, webtest.Replay(t, make([][]float64, len(names))...), Config{Names: names, Base: "http://web.test/a~sim+1"})
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.Handle("/a~sim+1/", http.StripPrefix("/a~sim+1", under))
	for page, name := range names {
		require.Equal(t, 200, do(mux, "GET", under.URL(page)).Code, name)
		require.Equal(t, all[name], s.URL(page))
		for _, h := range []http.Handler{s, mux} {
			w := do(h, "GET", s.URL(page))
			require.Equal(t, 200, w.Code, name)
			require.Contains(t, w.Body.String(), "<title>"+html.EscapeString(name)+"</title>")
		}
	}
}

// The page at / says how many pages there are.
func TestServerSaysHowMany(t *testing.T) {
	t.Parallel()
	for n, title := range map[int]string{1: "1 page", 2: "2 pages"} {
		s, _ := serverOf(t, webtest.Replay(t, make([][]float64, n)...), Config{})
		require.Contains(t, do(s, "GET", "/").Body.String(), "<title>"+title+"</title>")
	}
}

// What gets no copy is no poll, and finds nothing.
func TestServerWithoutACopy(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{10}), Config{})
	now.Set(20)
	for k, c := range []struct {
		status          int
		header          []string
		polls, detected int
	}{
		{412, []string{"If-Match", `"other"`}, 0, 0},
		{412, []string{"If-Unmodified-Since", webtest.DateOf(5)}, 0, 0},
		{416, []string{"Range", "bytes=999999-"}, 0, 0},
		{304, []string{"If-Match", `"0-2"`, "If-None-Match", `"0-2"`}, 1, 0}, // no copy, whatever it has
		{206, []string{"Range", "bytes=0-3"}, 2, 1},
	} {
		require.Equal(t, c.status, do(s, "GET", "/page/0", c.header...).Code)
		totals := s.Totals()
		require.Equal(t, [3]int{c.polls, min(k+1, 3), c.detected}, [3]int{totals.Polls, totals.Failed, totals.Detected}, "request %d", k)
		require.Equal(t, c.detected == 1, s.PageTruth(0).Current)
	}
	require.Equal(t, 1, s.Totals().NotModified)
	do(s, "HEAD", "/page/0", "Range", "bytes=0-3")
	require.Equal(t, 2, s.Totals().Polls)

	// The page changes while the answer is made.
	s, now = serverOf(t, webtest.Replay(t, []float64{10}), Config{})
	r := httptest.NewRequest("GET", "/page/0", nil)
	r.Header.Set("Range", "bytes=0-3")
	a := s.take(r, 0, Faults{}, chance{})
	now.Set(11)
	require.False(t, s.PageTruth(0).Current)
	s.begun(0, a, 206)
	require.False(t, s.PageTruth(0).Current)
	require.Equal(t, [2]int{1, 0}, [2]int{s.Totals().Polls, s.Totals().Detected})
}

// forgetful hides that a replay has LastChange.
type forgetful struct{ webenv.Env }

func TestServerLastChanger(t *testing.T) {
	t.Parallel()
	times := []float64{3, 5, 7}
	s, now := serverOf(t, forgetful{webtest.Replay(t, times)}, Config{})
	known, now2 := serverOf(t, webtest.Replay(t, times), Config{})
	now.Set(6)
	now2.Set(6)
	require.Equal(t, webtest.DateOf(3), do(s, "GET", "/page/0").Header().Get("Last-Modified"))
	require.Equal(t, webtest.DateOf(5), do(known, "GET", "/page/0").Header().Get("Last-Modified"))
	now2.Set(7.5)
	require.Empty(t, do(known, "GET", "/page/0").Header().Get("Last-Modified"), "within the second of the change")
	now2.Set(8)
	require.Equal(t, webtest.DateOf(7), do(known, "GET", "/page/0").Header().Get("Last-Modified"))
}

func TestServerFailuresAndLatency(t *testing.T) {
	t.Parallel()
	var slept []time.Duration
	cfg := Config{
		Faults:  always(Faults{Unavailable: 0.25}),
		Latency: func(page int, rng *rand.Rand) time.Duration { return time.Duration(rng.IntN(1000)+page) * time.Second },
		Sleep:   func(_ context.Context, d time.Duration) { slept = append(slept, d) },
		Source:  check.Source(7),
	}
	s, _ := serverOf(t, webtest.Replay(t, nil, nil), cfg)
	const n = 4000
	var failures, latency check.Sample
	for range n {
		code := do(s, "GET", "/page/1").Code
		require.Contains(t, []int{200, 503}, code)
		failures.AddBool(code == 503)
	}
	for _, d := range slept {
		latency.Add(d.Seconds())
	}
	require.Len(t, slept, n)
	for _, m := range []struct {
		want float64
		got  check.Sample
	}{{0.25, failures}, {1 + 499.5, latency}} {
		require.InDelta(t, m.want, m.got.Mean(), check.Critical*math.Sqrt(m.got.Variance()/n))
	}
	totals := s.Totals()
	require.Equal(t, int(failures.Sum()), totals.Failed)
	require.Equal(t, n-totals.Failed, totals.Polls)
	require.Equal(t, 200, do(s, "GET", "/robots.txt").Code)
	require.Len(t, slept, n, "only pages are slow")
}

// The copy is the one at the time of the answer.
func TestServerLatencyThenCopy(t *testing.T) {
	t.Parallel()
	c := new(webtest.Clock)
	s, err := New(webtest.Replay(t, []float64{5}), Config{
		Now:     c.Now,
		Latency: func(int, *rand.Rand) time.Duration { return time.Second },
		Sleep:   func(context.Context, time.Duration) { c.Set(6) },
		Source:  check.Source(1),
	})
	require.NoError(t, err)
	require.Equal(t, `"0-2"`, do(s, "GET", "/page/0").Header().Get("ETag"))
}

func TestServerRealSleepEndsWithRequest(t *testing.T) {
	t.Parallel()
	s, _ := serverOf(t, webtest.Replay(t, nil), Config{
		Latency: func(int, *rand.Rand) time.Duration { return time.Hour }, Source: check.Source(1),
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/page/0", nil).WithContext(ctx))
	})
}

// Time that goes back or is no number counts as the time before.
func TestServerTimeGoesBack(t *testing.T) {
	t.Parallel()
	s, now := serverOf(t, webtest.Replay(t, []float64{5}), Config{})
	for _, at := range []float64{10, 3, math.NaN(), math.Inf(1), math.Inf(-1)} {
		now.Set(at)
		require.Equal(t, `"0-2"`, do(s, "GET", "/page/0").Header().Get("ETag"))
		require.Equal(t, 10.0, s.Totals().Now)
	}
}

// empty is an environment without pages.
type empty struct{ webenv.Env }

func (empty) Len() int { return 0 }

func TestNewErrors(t *testing.T) {
	t.Parallel()
	env := webtest.Replay(t, nil, nil)
	for name, c := range map[string]struct {
		want error
		env  webenv.Env
		cfg  Config
	}{
		"no pages":       {ErrConfig, empty{}, Config{}},
		"error rate":     {ErrConfig, env, Config{Faults: always(Faults{Unavailable: 1.5})}},
		"error rate NaN": {ErrConfig, env, Config{Faults: always(Faults{Cut: math.NaN()})}},
		"size":           {ErrConfig, env, Config{Size: -1}},
		"unit":           {ErrConfig, env, Config{Calendar: webenv.Calendar{Unit: -1}}},
		"few names":      {ErrConfig, env, Config{Names: []string{"a"}}},
		"a name twice":   {ErrConfig, env, Config{Names: []string{"a", "a"}}},
		"an empty name":  {ErrConfig, env, Config{Names: []string{"a", ""}}},
		"a name of dots": {ErrConfig, env, Config{Names: []string{"a", ".."}}},
		"relative base":  {ErrConfig, env, Config{Base: "/sim"}},
		"base with /":    {ErrConfig, env, Config{Base: "http://a/"}},
		"base, no host":  {ErrConfig, env, Config{Base: "http:///sim"}},
		"base, scheme":   {ErrConfig, env, Config{Base: "ftp://a"}},
		"base, query":    {ErrConfig, env, Config{Base: "http://a/sim?x=1"}},
		"base, no query": {ErrConfig, env, Config{Base: "http://a/sim?"}},
		"base, fragment": {ErrConfig, env, Config{Base: "http://a#f"}},
		"base, anchor":   {ErrConfig, env, Config{Base: "http://a/sim#"}},
		"base, blank":    {ErrConfig, env, Config{Base: "http://a/s im"}},
		"base, bare":     {ErrConfig, env, Config{Base: "http://a/sím"}},
		"base, escaped":  {ErrConfig, env, Config{Base: "http://a/s%C3%ADm"}},
		"base, slash":    {ErrConfig, env, Config{Base: "http://a/s%2Fim"}},
	} {
		c.cfg.Now = func() float64 { return 0 }
		_, err := New(c.env, c.cfg)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := New(env, Config{Now: func() float64 { return math.NaN() }})
	require.ErrorIs(t, err, ErrConfig)
	now := func() float64 { return 0 }
	require.Panics(t, func() { _, _ = New(nil, Config{Now: now}) })
	require.Panics(t, func() { _, _ = New(env, Config{Now: now, Faults: always(Faults{})}) })
}

// A time at which the environment cannot be polled is a setting out of range, and the environment is
// as it was.
func TestNewAtABadTime(t *testing.T) {
	t.Parallel()
	milliseconds := []float64{1.7e12, 1.8e12}
	history := &webenv.History{Names: []string{"a"}, Times: [][]float64{milliseconds}}
	replay, err := webenv.NewReplay(history, milliseconds[0])
	require.NoError(t, err)
	poisson, err := webenv.NewPoisson([]float64{1, 1}, check.Source(1))
	require.NoError(t, err)
	for _, c := range []struct {
		env  webenv.Env
		cfg  Config
		says string
	}{
		{replay, Config{}, "after time 1.7e+12"},
		{poisson, Config{Now: func() float64 { return -5 }}, "page 0 at time -5 after time 0"},
		{poisson, Config{Calendar: webenv.Calendar{Epoch: time.Now().Add(time.Hour)}}, "after time 0"},
	} {
		_, err := New(c.env, c.cfg)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, c.says)
	}
	since, changed := replay.Poll(0, milliseconds[1])
	require.True(t, changed)
	require.Equal(t, milliseconds[1], since)

	require.Panics(t, func() { _, _ = New(broken{replay}, Config{Now: func() float64 { return 2e12 }}) })
}

// broken is an environment with a fault.
type broken struct{ webenv.Env }

func (broken) Poll(page int, _ float64) (since float64, changed bool) {
	return []float64{}[page], false
}

// etagList writes a list of ETags in the ways that RFC 9110 allows.
func etagList(t *rapid.T) (list string, names func(etag string) bool) {
	tags := rapid.SliceOfN(rapid.StringMatching(`"[0-9a-z,!#-+ é-]{0,4}"|"0-[12]"`), 1, 5).Draw(t, "tags")
	var b strings.Builder
	for i, tag := range tags {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{",", ", ", " ,", "\t, "}).Draw(t, "comma"))
		}
		if rapid.Bool().Draw(t, "weak") {
			b.WriteString("W/")
		}
		tags[i] = strings.ReplaceAll(tag, " ", "")
		b.WriteString(tags[i])
	}
	return b.String(), func(etag string) bool {
		for _, tag := range tags {
			if tag == etag {
				return true
			}
		}
		return false
	}
}

func propIfNoneMatch(t *rapid.T) {
	s, _ := serverOf(t, webtest.Replay(t, nil), Config{})
	list, names := etagList(t)
	want := 200
	if names(`"0-1"`) {
		want = 304
	}
	require.Equal(t, want, do(s, "GET", "/page/0", "If-None-Match", list).Code, list)
}

func TestServerIfNoneMatch(t *testing.T)     { t.Parallel(); rapid.Check(t, propIfNoneMatch) }
func FuzzServerIfNoneMatchList(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propIfNoneMatch)) }

// Whatever the header says, the answer is the page or 304, and 304 only if the header holds its
// ETag or a star.
func FuzzServerIfNoneMatch(f *testing.F) {
	for _, seed := range []string{"", "*", `"0-1"`, `W/"0-1"`, `"a", "0-1"`, `"`, `W/`, `"0-1`, `,,"0-1"`, `"a" "0-1"`, "\x00"} {
		f.Add(seed)
	}
	s, _ := serverOf(f, webtest.Replay(f, nil), Config{})
	f.Fuzz(func(t *testing.T, header string) {
		switch code := do(s, "GET", "/page/0", "If-None-Match", header).Code; code {
		case 200:
			require.NotEqual(t, `"0-1"`, header)
		case 304:
			require.True(t, strings.Contains(header, `"0-1"`) || strings.Contains(header, "*"))
		default:
			t.Fatalf("%q: status %d", header, code)
		}
	})
}

// A server without settings serves in real time.
func TestServerInRealTime(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Second)
	s, err := New(webtest.Replay(t, []float64{1e9}, []float64{1e12}), Config{})
	require.NoError(t, err)
	w := do(s, "GET", "/page/0")
	date, err := http.ParseTime(w.Header().Get("Date"))
	require.NoError(t, err)
	require.False(t, date.Before(before))
	require.WithinDuration(t, before, date, time.Hour)
	require.Equal(t, time.Unix(1e9, 0).UTC().Format(http.TimeFormat), w.Header().Get("Last-Modified"))
	require.Equal(t, 1, s.PageTruth(1).Version)
}
