package webenv

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// clock is a time of an environment that a test sets.
type clock struct {
	mu  sync.Mutex
	now float64
}

func (c *clock) get() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// year2001 is an epoch in the past, so that dates are not those of the wall clock.
var year2001 = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// inProcess sends requests straight to a handler.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func replayOf(t require.TestingT, times ...[]float64) *Replay {
	h := &History{Times: times}
	for i := range times {
		h.Names = append(h.Names, fmt.Sprintf("page %d/é&?", i))
	}
	env, err := NewReplay(h, 0)
	require.NoError(t, err)
	return env
}

func serverOf(t require.TestingT, env Env, cfg ServerConfig) (*Server, *clock) {
	c := new(clock)
	cfg.Now = c.get
	if cfg.Calendar.Epoch.IsZero() {
		cfg.Calendar.Epoch = year2001
	}
	s, err := NewServer(env, cfg)
	require.NoError(t, err)
	return s, c
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

func dateOf(t float64) string {
	return Calendar{Epoch: year2001}.Date(t).Format(http.TimeFormat)
}

// The precedence of RFC 9110, section 13.2.2, on a page that changed at 10.5 and
// is now, at 100, in its second version.
func TestServerConditions(t *testing.T) {
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
		{"not modified since its second", 304, []string{"If-Modified-Since", dateOf(10)}},
		{"not modified since later", 304, []string{"If-Modified-Since", dateOf(after)}},
		{"modified since", 200, []string{"If-Modified-Since", dateOf(before)}},
		{"no date", 200, []string{"If-Modified-Since", "yesterday"}},
		{"etag wins over date: changed", 200, []string{"If-None-Match", `"0-1"`, "If-Modified-Since", dateOf(after)}},
		{"etag wins over date: unchanged", 304, []string{"If-None-Match", etag, "If-Modified-Since", dateOf(before)}},
		{"if-match fails first", 412, []string{"If-Match", `"0-1"`, "If-None-Match", etag}},
		{"if-match is strong", 412, []string{"If-Match", "W/" + etag}},
		{"if-match", 200, []string{"If-Match", etag}},
		{"if-unmodified-since fails", 412, []string{"If-Unmodified-Since", dateOf(before)}},
		{"range", 206, []string{"Range", "bytes=0-3"}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if method == "HEAD" && c.status == 206 {
				continue // Range is for GET only (RFC 9110, section 14.2)
			}
			t.Run(method+" "+c.name, func(t *testing.T) {
				s, now := serverOf(t, replayOf(t, []float64{10.5}, nil), ServerConfig{})
				now.set(100)
				w := do(s, method, "/page/0", c.header...)
				require.Equal(t, c.status, w.Code)
				require.Equal(t, dateOf(100), w.Header().Get("Date"))
				if w.Code < 400 {
					require.Equal(t, etag, w.Header().Get("ETag"))
				}
				if w.Code == 200 {
					require.Equal(t, dateOf(10), w.Header().Get("Last-Modified"))
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

// A server and a map from bodies and Last-Modified to versions: equal exactly if
// the versions are.
func TestServerVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := historyGen.Draw(t, "changes")
		s, now := serverOf(t, replayOf(t, times), ServerConfig{})
		twin := replayOf(t, times)
		version := 1
		bodies, dates := map[string]int{}, map[string]int{}
		gaps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 30).Draw(t, "gaps")
		for _, gap := range gaps {
			now.set(now.get() + float64(gap)/4)
			if _, changed := twin.Poll(0, now.get()); changed {
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

// historyGen draws changes of a page at quarters of a second up to 15, so that
// several often fall into one second.
var historyGen = rapid.Custom(func(t *rapid.T) []float64 {
	quarters := rapid.SliceOfNDistinct(rapid.IntRange(1, 60), 0, 20, rapid.ID[int]).Draw(t, "quarters")
	slices.Sort(quarters)
	times := make([]float64, len(quarters))
	for i, q := range quarters {
		times[i] = float64(q) / 4
	}
	return times
})

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

func TestServerPaths(t *testing.T) {
	env := replayOf(t, []float64{1}, []float64{2}, nil)
	s, _ := serverOf(t, env, ServerConfig{Names: env.history.Names})
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
	s, _ := serverOf(t, replayOf(t, make([][]float64, 37)...), ServerConfig{Base: "http://web.test/sim", Size: 500})
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
	env := replayOf(t, []float64{1.5, 7}, []float64{30}, nil)
	s, now := serverOf(t, env, ServerConfig{Names: env.history.Names})
	now.set(20)
	m := readSitemap(t, s, "/sitemap.xml")
	require.Equal(t, "urlset", m.XMLName.Local)
	require.Len(t, m.Entries, 3)
	for page, seconds := range []float64{7, 0, 0} {
		require.Equal(t, "http://web.test"+s.URL(page), m.Entries[page].Loc)
		require.True(t, m.Entries[page].Lastmod.Equal(Calendar{Epoch: year2001}.Date(seconds)), "page %d", page)
	}
	require.Equal(t, m, readSitemap(t, s, "/sitemap-0.xml"))
	require.Empty(t, do(s, "HEAD", "/sitemap.xml").Body.Bytes())
}

func TestServerSitemapIndex(t *testing.T) {
	rates := make([]float64, 2*maxSitemap+1)
	rates[maxSitemap+2] = 1
	env, err := NewPoisson(rates, source(1))
	require.NoError(t, err)
	s, now := serverOf(t, env, ServerConfig{Base: "https://example.org/web"})
	now.set(1000)
	m := readSitemap(t, s, "/sitemap.xml")
	require.Equal(t, "sitemapindex", m.XMLName.Local)
	require.Len(t, m.Entries, 3)
	require.True(t, m.Entries[1].Lastmod.After(year2001))
	require.True(t, m.Entries[0].Lastmod.Equal(year2001))
	require.Equal(t, "https://example.org/web/sitemap-2.xml", m.Entries[2].Loc)
	last := readSitemap(t, s, "/sitemap-2.xml")
	require.Len(t, last.Entries, 1)
	require.Equal(t, "https://example.org/web/page/100000", last.Entries[0].Loc)
	require.Len(t, readSitemap(t, s, "/sitemap-0.xml").Entries, maxSitemap)
}

// A crawler's totals are those that Run gives for the same polls.
func TestServerTruth(t *testing.T) {
	times := [][]float64{{3, 4, 9.5, 20, 30}, {1}, nil, {2, 4, 6, 8, 10, 12, 14, 16, 18, 31}}
	env := replayOf(t, times...)
	want, err := Run(env, &cycle{pages: 4}, Options{Rate: 0.75, Duration: 32})
	require.NoError(t, err)

	env = replayOf(t, times...)
	s, now := serverOf(t, env, ServerConfig{})
	client := &http.Client{Transport: &Transport{Base: inProcess{s}}}
	for k := 1; k <= want.Polls; k++ {
		now.set(float64(k) / 0.75)
		fetch(t, client, fmt.Sprintf("http://web.test/page/%d", (k-1)%4))
		if k%2 == 0 {
			do(s, "GET", "/truth") // looks change nothing
			do(s, "GET", "/sitemap.xml")
			do(s, "HEAD", "/page/0")
		}
	}
	now.set(32)
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

	require.NoError(t, json.Unmarshal(do(s, "GET", "/truth?page=3").Body.Bytes(), &truth))
	require.Equal(t, []PageTruth{s.PageTruth(3)}, truth.Pages)
}

// A page that changes in every slot has an infinite rate, which JSON cannot hold.
func TestServerTruthInfiniteRate(t *testing.T) {
	env, err := NewSlots([]float64{1}, AtMostOnce, 0, source(1))
	require.NoError(t, err)
	s, _ := serverOf(t, env, ServerConfig{})
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

func fetch(t require.TestingT, client *http.Client, url string) {
	resp, err := client.Get(url)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}

// The account of a server starts when it is made, not with its environment.
func TestServerMadeLate(t *testing.T) {
	env, err := NewReplay(&History{Names: []string{"a"}, Times: [][]float64{{1, 3}}}, 2)
	require.NoError(t, err)
	now := 4.0
	cfg := ServerConfig{Now: func() float64 { return now }, Calendar: Calendar{Epoch: year2001}}
	s, err := NewServer(env, cfg)
	require.NoError(t, err)
	now = 8
	require.Equal(t, 0.0, s.Totals().Freshness)
	require.Equal(t, 2.0, s.Totals().Age) // from 0 at time 4 to 4 at time 8
	require.Equal(t, 3.0, s.PageTruth(0).Modified)

	// A replay knows changes from before the start too.
	env, err = NewReplay(env.history, 3)
	require.NoError(t, err)
	s, err = NewServer(env, cfg)
	require.NoError(t, err)
	w := do(s, "GET", "/page/0")
	require.Equal(t, `"0-1"`, w.Header().Get("ETag"))
	require.Equal(t, dateOf(3), w.Header().Get("Last-Modified"))
}

// forgetful hides that a replay is a LastChanger.
type forgetful struct{ Env }

func TestServerLastChanger(t *testing.T) {
	times := []float64{3, 5, 7}
	s, now := serverOf(t, forgetful{replayOf(t, times)}, ServerConfig{})
	known, now2 := serverOf(t, replayOf(t, times), ServerConfig{})
	now.set(6)
	now2.set(6)
	require.Equal(t, dateOf(3), do(s, "GET", "/page/0").Header().Get("Last-Modified"))
	require.Equal(t, dateOf(5), do(known, "GET", "/page/0").Header().Get("Last-Modified"))
	now2.set(7.5)
	require.Empty(t, do(known, "GET", "/page/0").Header().Get("Last-Modified"), "within the second of the change")
	now2.set(8)
	require.Equal(t, dateOf(7), do(known, "GET", "/page/0").Header().Get("Last-Modified"))
}

func TestServerFailuresAndLatency(t *testing.T) {
	var slept []time.Duration
	cfg := ServerConfig{
		ErrorRate: 0.25,
		Latency:   func(page int, rng *rand.Rand) time.Duration { return time.Duration(rng.IntN(1000)+page) * time.Second },
		Sleep:     func(_ context.Context, d time.Duration) { slept = append(slept, d) },
		Source:    source(7),
	}
	s, _ := serverOf(t, replayOf(t, nil, nil), cfg)
	const n = 4000
	var failures, latency sample
	for range n {
		code := do(s, "GET", "/page/1").Code
		require.Contains(t, []int{200, 503}, code)
		failures.addBool(code == 503)
	}
	for _, d := range slept {
		latency.add(d.Seconds())
	}
	require.Len(t, slept, n)
	for _, m := range []struct {
		want float64
		got  sample
	}{{0.25, failures}, {1 + 499.5, latency}} {
		require.InDelta(t, m.want, m.got.mean(), critical*math.Sqrt(m.got.variance()/n))
	}
	totals := s.Totals()
	require.Equal(t, int(failures.sum), totals.Failed)
	require.Equal(t, n-totals.Failed, totals.Polls)
	require.Equal(t, 200, do(s, "GET", "/robots.txt").Code)
	require.Len(t, slept, n, "only pages are slow")
}

// The copy is the one at the time of the answer.
func TestServerLatencyThenCopy(t *testing.T) {
	c := new(clock)
	s, err := NewServer(replayOf(t, []float64{5}), ServerConfig{
		Now:     c.get,
		Latency: func(int, *rand.Rand) time.Duration { return time.Second },
		Sleep:   func(context.Context, time.Duration) { c.set(6) },
		Source:  source(1),
	})
	require.NoError(t, err)
	require.Equal(t, `"0-2"`, do(s, "GET", "/page/0").Header().Get("ETag"))
}

func TestServerRealSleepEndsWithRequest(t *testing.T) {
	s, _ := serverOf(t, replayOf(t, nil), ServerConfig{
		Latency: func(int, *rand.Rand) time.Duration { return time.Hour }, Source: source(1),
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/page/0", nil).WithContext(ctx))
}

// Time that goes back or is no number counts as the time before.
func TestServerTimeGoesBack(t *testing.T) {
	s, now := serverOf(t, replayOf(t, []float64{5}), ServerConfig{})
	for _, at := range []float64{10, 3, math.NaN(), math.Inf(1), math.Inf(-1)} {
		now.set(at)
		require.Equal(t, `"0-2"`, do(s, "GET", "/page/0").Header().Get("ETag"))
		require.Equal(t, 10.0, s.Totals().Now)
	}
}

func TestNewServerErrors(t *testing.T) {
	env := replayOf(t, nil, nil)
	for name, c := range map[string]struct {
		want error
		env  Env
		cfg  ServerConfig
	}{
		"no pages":       {ErrNoPages, &Memoryless{}, ServerConfig{}},
		"error rate":     {ErrProbability, env, ServerConfig{ErrorRate: 1.5}},
		"error rate NaN": {ErrProbability, env, ServerConfig{ErrorRate: math.NaN()}},
		"size":           {ErrParameter, env, ServerConfig{Size: -1}},
		"unit":           {ErrParameter, env, ServerConfig{Calendar: Calendar{Unit: -1}}},
		"few names":      {ErrParameter, env, ServerConfig{Names: []string{"a"}}},
		"a name twice":   {ErrParameter, env, ServerConfig{Names: []string{"a", "a"}}},
		"an empty name":  {ErrParameter, env, ServerConfig{Names: []string{"a", ""}}},
		"relative base":  {ErrParameter, env, ServerConfig{Base: "/sim"}},
		"base with /":    {ErrParameter, env, ServerConfig{Base: "http://a/"}},
	} {
		c.cfg.Now = func() float64 { return 0 }
		_, err := NewServer(c.env, c.cfg)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := NewServer(env, ServerConfig{Now: func() float64 { return math.NaN() }})
	require.ErrorIs(t, err, ErrParameter)
	now := func() float64 { return 0 }
	require.Panics(t, func() { _, _ = NewServer(nil, ServerConfig{Now: now}) })
	require.Panics(t, func() { _, _ = NewServer(env, ServerConfig{}) })
	require.Panics(t, func() { _, _ = NewServer(env, ServerConfig{Now: now, ErrorRate: 0.1}) })
}

func TestCalendar(t *testing.T) {
	day := Calendar{Epoch: year2001, Unit: 24 * time.Hour}
	require.Equal(t, "2001-01-03T12:00:00Z", day.Date(2.5).Format(time.RFC3339))
	require.Equal(t, 2.5, day.Time(day.Date(2.5)))
	require.Equal(t, "2000-12-31T12:00:00Z", day.Date(-0.5).Format(time.RFC3339))
	require.Equal(t, int64(1784161805), Calendar{}.Date(1784161805.25).Unix())
	require.InDelta(t, 1784161805.25, Calendar{}.Time(Calendar{}.Date(1784161805.25)), 1e-6)
	for _, far := range []float64{1e12, -1e12, 1e300, math.Inf(1), math.NaN()} {
		require.True(t, Calendar{}.Date(far).IsZero(), "%v", far)
	}
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
	s, _ := serverOf(t, replayOf(t, nil), ServerConfig{})
	list, names := etagList(t)
	want := 200
	if names(`"0-1"`) {
		want = 304
	}
	require.Equal(t, want, do(s, "GET", "/page/0", "If-None-Match", list).Code, list)
}

func TestServerIfNoneMatch(t *testing.T)     { rapid.Check(t, propIfNoneMatch) }
func FuzzServerIfNoneMatchList(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propIfNoneMatch)) }

// Whatever the header says, the answer is the page or 304, and 304 only if the
// header holds its ETag or a star.
func FuzzServerIfNoneMatch(f *testing.F) {
	for _, seed := range []string{"", "*", `"0-1"`, `W/"0-1"`, `"a", "0-1"`, `"`, `W/`, `"0-1`, `,,"0-1"`, `"a" "0-1"`, "\x00"} {
		f.Add(seed)
	}
	s, _ := serverOf(f, replayOf(f, nil), ServerConfig{})
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
