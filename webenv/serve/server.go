package serve

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recrawl/recrawl/internal/source"
	"github.com/recrawl/recrawl/webenv"
)

// Config describes a [Server]. The zero value serves in real time.
type Config struct {
	// Now returns the time of the environment. It is called under a lock and may run at any
	// speed, for example a day a second:
	//
	//	began := time.Now()
	//	Now: func() float64 { return start + 86400*time.Since(began).Seconds() }
	//
	// A time before one that it returned earlier counts as the earlier one. Nil means the time
	// of the Calendar at [time.Now].
	Now func() float64
	// Calendar gives the dates in Last-Modified, Date and the sitemap.
	Calendar webenv.Calendar

	// Names, if not nil, are the names of the pages, each used once and not empty. The URL of
	// page 17 is then /name/NAME; /page/17 gives the same page.
	Names []string
	// Base is the absolute URL under which the server is reached, without a slash at its end,
	// if that is not the host of the request; with a path if it is mounted with
	// [http.StripPrefix].
	Base string
	// Size is the least number of bytes of a page; pages are filled up to it.
	Size int

	// NoETag and NoLastModified leave the header away.
	NoETag, NoLastModified bool

	// Latency, if not nil, draws how long the answer to a request for a page takes. The copy
	// given is the one at the time of the answer.
	Latency func(page int, rng *rand.Rand) time.Duration
	// Sleep waits for the latency, or less if the context is done; nil is a real wait.
	Sleep func(ctx context.Context, d time.Duration)
	// ErrorRate is the probability with which a request for a page is answered with status 503
	// instead.
	ErrorRate float64
	// Source is where errors and latencies are drawn from, in the order in which requests come
	// in. It may be nil if there are neither.
	Source rand.Source
}

// A Server serves the pages of an environment over HTTP. Make it with [New] and mount it like
// any [http.Handler]; Totals and PageTruth are the truth about what a crawler has reached. It
// is safe for concurrent use; nothing else may poll its environment.
//
//	/page/17          page 17, whose body changes when and only when the page does
//	/name/NAME        the same by name, if there are names
//	/                 a start page; from it links lead to every page
//	/robots.txt       forbids /truth only, names the sitemap
//	/sitemap.xml      all pages with lastmod, or an index of /sitemap-0.xml and on
//	/truth            the truth as JSON, a [Truth]; /truth?page=17 for one page
//
// Other paths give 404, and methods other than GET and HEAD 405. Pages answer conditional
// requests and ranges as RFC 9110 has it ([http.ServeContent]).
//
// # How it works
//
// Every request looks at the pages that it is about. A page that has changed since the last
// look gets its next version; changes between two looks make one version. So two answers differ
// exactly if the page changed between them, for any number of crawlers. In an environment where
// a poll has effects of its own ([webenv.Zipf] that swaps ranks) each look counts as a poll.
//
// The strong ETag names page and version. Last-Modified is the time of the last change if the
// environment is a [webenv.LastChanger], and else of the first change since the look before.
// Until the first change it is the time at which the server was made. Its resolution is one
// second of the [webenv.Calendar], and time may run fast, so it is left away until that second
// is over: no two versions have the same one. A crawler that relies on it alone must then
// compare the content. The Date is that of the environment too.
//
// # Cost
//
// Memory: 20 bytes a page besides the environment, and the names.
type Server struct {
	cfg    Config
	path   string // path part of Base
	byName map[string]int

	mu       sync.Mutex
	env      webenv.Env
	rng      *rand.Rand
	start    float64
	now      float64
	version  []uint32  // from 1
	modified []float64 // see Last-Modified
	stale    []float64 // time of the first change since the last GET, +Inf if none
	totals   Totals
	staleSum float64 // page-time for which copies replaced by now were not current
	ageSum   float64 // and the integral of their age over it
}

// New returns a server of an environment. It panics if env is nil, or if Source is nil and
// needed.
func New(env webenv.Env, cfg Config) (*Server, error) {
	if env == nil {
		panic("serve: nil environment")
	}
	if cfg.Now == nil {
		calendar := cfg.Calendar
		cfg.Now = func() float64 { return calendar.Time(time.Now()) }
	}
	n := env.Len()
	base, err := cfg.check(n)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, path: base.EscapedPath(), env: env,
		version: make([]uint32, n), modified: make([]float64, n), stale: make([]float64, n),
	}
	if s.byName, err = numbered(cfg.Names); err != nil {
		return nil, err
	}
	if cfg.ErrorRate > 0 || cfg.Latency != nil {
		source.Require(cfg.Source, "serve")
		s.rng = rand.New(cfg.Source)
	}
	if s.start = cfg.Now(); math.IsNaN(s.start) || math.IsInf(s.start, 0) {
		return nil, fmt.Errorf("%w: time %v", ErrConfig, s.start)
	}
	s.now = s.start
	for i := range s.version {
		s.version[i], s.modified[i], s.stale[i] = 1, s.start, math.Inf(1)
	}
	s.totals.Pages = n
	return s, nil
}

// check checks the settings for n pages and returns the base.
func (c *Config) check(n int) (base *url.URL, err error) {
	base, err = url.Parse(c.Base)
	switch {
	case n == 0:
		err = fmt.Errorf("%w: no pages", ErrConfig)
	case err != nil || strings.HasSuffix(c.Base, "/"), c.Base != "" && (base.Scheme == "" || base.Host == ""):
		err = fmt.Errorf("%w: base %q", ErrConfig, c.Base)
	case !(c.ErrorRate >= 0 && c.ErrorRate <= 1):
		err = fmt.Errorf("%w: error rate %v", ErrConfig, c.ErrorRate)
	case c.Size < 0:
		err = fmt.Errorf("%w: size %d", ErrConfig, c.Size)
	case c.Calendar.Unit < 0:
		err = fmt.Errorf("%w: calendar unit %v", ErrConfig, c.Calendar.Unit)
	case c.Names != nil && len(c.Names) != n:
		err = fmt.Errorf("%w: %d names for %d pages", ErrConfig, len(c.Names), n)
	}
	return base, err
}

// numbered returns the number of each name, nil if there are no names.
func numbered(names []string) (map[string]int, error) {
	if names == nil {
		return nil, nil
	}
	numbers := make(map[string]int, len(names))
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("%w: page %d has an empty name", ErrConfig, i)
		}
		if other, seen := numbers[name]; seen {
			return nil, fmt.Errorf("%w: page %d: name %q of page %d", ErrConfig, i, name, other)
		}
		numbers[name] = i
	}
	return numbers, nil
}

// URL returns the URL of a page without the host.
func (s *Server) URL(page int) string {
	if s.byName == nil {
		return s.path + "/page/" + strconv.Itoa(page)
	}
	u := url.URL{Path: "/name/" + s.cfg.Names[page]}
	return s.path + u.EscapedPath()
}

// base returns the absolute URL of the server for a request.
func (s *Server) base(r *http.Request) string {
	if s.cfg.Base != "" {
		return strings.TrimSuffix(s.cfg.Base, s.path)
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	path := r.URL.Path
	if number, ok := strings.CutPrefix(path, "/page/"); ok {
		if page, ok := index(number, len(s.version)); ok {
			s.servePage(w, r, page)
			return
		}
	} else if name, ok := strings.CutPrefix(path, "/name/"); ok {
		if page, ok := s.byName[name]; ok {
			s.servePage(w, r, page)
			return
		}
	} else if number, ok := strings.CutPrefix(path, "/sitemap-"); ok {
		number, ok = strings.CutSuffix(number, ".xml")
		if part, known := index(number, s.sitemaps()); ok && known {
			s.serveSitemap(w, r, part)
			return
		}
	}
	switch path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%d pages</title>\n", len(s.version))
		fmt.Fprintf(w, "<a href=\"%s\">first page</a>, <a href=\"%s/sitemap.xml\">sitemap</a>\n",
			html.EscapeString(s.URL(0)), html.EscapeString(s.path))
	case "/robots.txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "User-agent: *\nDisallow: %s/truth\n\nSitemap: %s%s/sitemap.xml\n", s.path, s.base(r), s.path)
	case "/sitemap.xml":
		if s.sitemaps() == 1 {
			s.serveSitemap(w, r, 0)
		} else {
			s.serveIndex(w, r)
		}
	case "/truth":
		s.serveTruth(w, r)
	default:
		http.NotFound(w, r)
	}
}

// index reads a number in [0, n) in its only form: no sign, no leading zero.
func index(text string, n int) (int, bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == text
}

// tick brings the time up to date. The lock is held.
func (s *Server) tick() {
	if now := s.cfg.Now(); now > s.now && now <= math.MaxFloat64 {
		s.now = now
	}
}

// look polls the environment and gives the page its next version if it has changed. The lock is
// held.
func (s *Server) look(page int) {
	since, changed := s.env.Poll(page, s.now)
	if changed {
		s.version[page]++
		s.modified[page] = since
		s.stale[page] = min(s.stale[page], max(since, s.start))
	}
	if env, ok := s.env.(webenv.LastChanger); ok && (changed || s.version[page] == 1) {
		if t, ok := env.LastChange(page, s.now); ok {
			s.modified[page] = t
		}
	}
}

// copied counts a GET. The lock is held.
func (s *Server) copied(page int) {
	s.totals.Polls++
	if since := s.stale[page]; since <= s.now {
		d := s.now - since
		s.totals.Detected++
		s.staleSum += d
		s.ageSum += float64(d * d / 2)
		s.stale[page] = math.Inf(1)
	}
}

// lastModified returns the date of the last change of a page for its Last-Modified, zero if
// there is none to give. The lock is held.
//
// No two versions of a page get the same: version v is given second k only after second k, so
// that later versions, whose changes come after the look that gave it, have later seconds.
func (s *Server) lastModified(page int) time.Time {
	d := s.cfg.Calendar.Date(s.modified[page]).Truncate(time.Second)
	if s.cfg.NoLastModified || s.cfg.Calendar.Date(s.now).Sub(d) < time.Second {
		return time.Time{}
	}
	return d
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// draw draws what is simulated for a request.
func (s *Server) draw(page int) (latency time.Duration, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Latency != nil {
		latency = s.cfg.Latency(page, s.rng)
	}
	if failed = s.rng.Float64() < s.cfg.ErrorRate; failed {
		s.totals.Failed++
	}
	return latency, failed
}

// take looks at a page and, for a GET, counts a copy as taken.
func (s *Server) take(page int, get bool) (version uint32, now, modified time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.look(page)
	if get {
		s.copied(page)
	}
	return s.version[page], s.cfg.Calendar.Date(s.now), s.lastModified(page)
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, page int) {
	if s.rng != nil {
		latency, failed := s.draw(page)
		if latency > 0 {
			s.sleep(r.Context(), latency)
		}
		if failed {
			http.Error(w, "simulated failure", http.StatusServiceUnavailable)
			return
		}
	}
	version, now, modified := s.take(page, r.Method == http.MethodGet)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	// A cache on the way must ask again, or it would hide changes.
	h.Set("Cache-Control", "no-cache")
	if !now.IsZero() {
		h.Set("Date", now.Format(http.TimeFormat))
	}
	if !s.cfg.NoETag {
		h.Set("ETag", `"`+strconv.Itoa(page)+"-"+strconv.FormatUint(uint64(version), 10)+`"`)
	}
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	s.write(body, page, version)
	sw := statusWriter{w, 0}
	http.ServeContent(&sw, r, "", modified, bytes.NewReader(body.Bytes()))

	if r.Method == http.MethodGet && sw.status == http.StatusNotModified {
		s.mu.Lock()
		s.totals.NotModified++
		s.mu.Unlock()
	}
}

func (s *Server) sleep(ctx context.Context, d time.Duration) {
	if s.cfg.Sleep != nil {
		s.cfg.Sleep(ctx, d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// write writes the body of a version of a page. Page i links to pages 2i+1 and 2i+2, so that
// all pages hang in a tree under page 0.
func (s *Server) write(b *bytes.Buffer, page int, version uint32) {
	title := "page " + strconv.Itoa(page)
	if s.byName != nil {
		title = html.EscapeString(s.cfg.Names[page])
	}
	fmt.Fprintf(b, "<!DOCTYPE html>\n<title>%s</title>\n<h1>%s</h1>\n<p>Version %d.</p>\n", title, title, version)
	for next := 2*page + 1; next <= 2*page+2 && next < len(s.version); next++ {
		fmt.Fprintf(b, "<a href=\"%s\">page %d</a>\n", html.EscapeString(s.URL(next)), next)
	}
	const filler = "The quick brown fox jumps over the lazy dog, and nothing else is new.\n"
	for b.Len() < s.cfg.Size {
		b.WriteString(filler[:min(len(filler), s.cfg.Size-b.Len())])
	}
}
