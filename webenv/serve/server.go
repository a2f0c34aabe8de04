package serve

import (
	"context"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"slices"
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
	// If it returns a time before one that it returned earlier, the time stands still. Nil means
	// the time of the Calendar at [time.Now].
	Now func() float64
	// Calendar gives the dates in Last-Modified, Date and the sitemap, and the seconds of
	// Crawl-delay and Retry-After. A crawler that uses the real clock needs a Calendar that does so
	// too. To let a unit of the environment pass in a second, leave Now nil and take
	//
	//	Calendar: webenv.Calendar{Epoch: time.Now(), Unit: time.Second}
	Calendar webenv.Calendar

	// Names, if not nil, are the names of the pages. Each is used once, and none is empty, "." or
	// "..". The URL of page 17 is then /name/NAME; /page/17 gives the same page. Slashes in NAME
	// are escaped if the path might otherwise be cleaned on its way: an [http.ServeMux], for
	// instance, cleans two slashes in a row.
	Names []string
	// Base is the absolute URL, http or https, under which the server is reached. Set it if that is
	// not the host of the request, and with a path if the server is mounted with
	// [http.StripPrefix]. It has no slash at its end, no query and no fragment. No character of its
	// path may need an escape, because StripPrefix finds no names with escaped slashes under such a
	// prefix.
	Base string
	// Size is the least number of bytes of a page; pages are filled up to it.
	Size int

	// NoETag and NoLastModified omit the header.
	NoETag, NoLastModified bool

	// Latency, if not nil, draws how long the answer to a request for a page takes. The copy is
	// that of the time of the answer.
	Latency func(page int, rng *rand.Rand) time.Duration
	// Sleep waits for the latency, or less if the context is done. Nil means a real wait.
	Sleep func(ctx context.Context, d time.Duration)
	// Faults, if not nil, returns the ways in which a page misbehaves. It must always return the
	// same for a page.
	Faults func(page int) Faults
	// CrawlDelay is the Crawl-delay in robots.txt, in seconds of the Calendar; 0 means none. A
	// request for a page that comes sooner than that after the request before counts in
	// Totals.Violations.
	CrawlDelay float64
	// Source is the randomness of faults and latencies. They are drawn in the order in which
	// requests come in. It may be nil if there are neither.
	Source rand.Source
}

// A Server serves the pages of an environment over HTTP. Make it with [New] and mount it like any
// [http.Handler]. Totals and PageTruth return the truth about what a crawler has reached. It is
// safe for concurrent use, but nothing else may poll its environment.
//
//	/page/17          page 17, whose body changes when and only when the page does, unless
//	                  it misbehaves ([Faults])
//	/name/NAME        the same by name, if there are names
//	/                 a start page; from it links lead to every page
//	/robots.txt       forbids /truth only, names the sitemap
//	/sitemap.xml      all pages with lastmod, or an index of /sitemap-0.xml and on
//	/truth            the truth as JSON, a [Truth]; /truth?page=17 for one page
//
// Other paths give 404, and methods other than GET and HEAD give 405. Pages answer conditional
// requests and ranges according to RFC 9110 (see [http.ServeContent]).
//
// # How it works
//
// Versions: [New] looks at every page, and every request looks at the pages that it is about. A
// page that has changed since the last look gets its next version; all changes between two looks
// make one version. So two answers differ exactly if the page changed between them, for any number
// of crawlers. If a poll has effects of its own in the environment, as in [webenv.NewZipf] with
// swaps, each look counts as a poll.
//
// Validators: the strong ETag names page and version. Last-Modified is the time of the last change
// if the environment has LastChange (see [webenv.Env]); otherwise it is that of the first change
// since the look before. Until the first change it is the time at which the server was made.
//
// Last-Modified has a resolution of one second of the [webenv.Calendar], and time may run fast. So
// the header is omitted until that second is over, and no two versions have the same date.
// Meanwhile a crawler that relies only on it must compare the content. The header Date is in the
// time of the environment too.
//
// # Cost
//
// Memory: 24 bytes a page besides the environment, and the names.
type Server struct {
	cfg    Config
	path   string // path part of Base
	byName map[string]int

	mu       sync.Mutex
	env      webenv.Env
	rng      *rand.Rand
	start    float64
	now      float64
	version  []uint32          // from 1
	modified []float64         // see Last-Modified
	requests []uint32          // of each page
	stale    []float64         // time of the first change since the last copy given to a GET, +Inf if none
	second   float64           // one second in units of the environment
	asked    float64           // time of the latest request for a page
	quota    map[int]quota     // of busy pages
	underWay map[int][]*answer // of pages: those with copies, in turn, whose bodies have not come to their ends
	totals   Totals
	staleSum float64 // page-time in which copies that have been replaced were not current
	ageSum   float64 // integral of the age of these copies over that time
}

// New returns a server of an environment. The error is [ErrConfig] for settings out of range, and
// for a start time at which env refuses to be polled. After an error env is as it was, unless some
// of its pages had been polled at later times than others. New panics if env is nil, or if Source
// is nil and needed.
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
		version: make([]uint32, n), requests: make([]uint32, n), modified: make([]float64, n), stale: make([]float64, n),
	}
	if s.byName, err = numbered(cfg.Names); err != nil {
		return nil, err
	}
	s.cfg.Names = slices.Clone(cfg.Names)
	for page := range n {
		if err := s.faults(page).check(); err != nil {
			return nil, fmt.Errorf("%w (page %d)", err, page)
		}
	}
	if cfg.Faults != nil || cfg.Latency != nil {
		source.Require(cfg.Source, "serve")
		s.rng = rand.New(cfg.Source)
	}
	if s.start = cfg.Now(); math.IsNaN(s.start) || math.IsInf(s.start, 0) {
		return nil, fmt.Errorf("%w: time %v", ErrConfig, s.start)
	}
	s.now, s.asked = s.start, math.Inf(-1)
	s.quota, s.underWay = make(map[int]quota), make(map[int][]*answer)
	s.second = cfg.Calendar.Time(cfg.Calendar.Date(0).Add(time.Second))
	for i := range s.version {
		s.version[i], s.modified[i], s.stale[i] = 1, s.start, math.Inf(1)
	}
	if err := begin(env, s.start); err != nil {
		return nil, err
	}
	s.totals.Pages = n
	return s, nil
}

// begin polls all pages, so that changes before the start belong to version 1. The start time comes
// from the settings, so a panic of the environment because of it becomes an error. A fault of the
// program, such as an index out of range, stays a panic.
func begin(env webenv.Env, start float64) (err error) {
	defer func() {
		cause := recover()
		if _, fault := cause.(runtime.Error); fault {
			panic(cause)
		}
		if cause != nil {
			err = fmt.Errorf("%w: time of the start: %v", ErrConfig, cause)
		}
	}()
	for page := range env.Len() {
		env.Poll(page, start)
	}
	return nil
}

// check checks the settings for n pages and returns the base.
func (c *Config) check(n int) (base *url.URL, err error) {
	base, err = url.Parse(c.Base)
	switch {
	case n == 0:
		err = fmt.Errorf("%w: no pages", ErrConfig)
	case err != nil || c.Base != "" && !isBase(c.Base, base):
		err = fmt.Errorf("%w: base %q", ErrConfig, c.Base)
	case !(c.CrawlDelay >= 0 && c.CrawlDelay <= math.MaxFloat64):
		err = fmt.Errorf("%w: crawl delay %v", ErrConfig, c.CrawlDelay)
	case c.Size < 0:
		err = fmt.Errorf("%w: size %d", ErrConfig, c.Size)
	case c.Calendar.Unit < 0:
		err = fmt.Errorf("%w: calendar unit %v", ErrConfig, c.Calendar.Unit)
	case c.Names != nil && len(c.Names) != n:
		err = fmt.Errorf("%w: %d names for %d pages", ErrConfig, len(c.Names), n)
	}
	return base, err
}

// isBase reports whether a text that was read as the URL u is a base: one to which paths can be
// appended and which http.StripPrefix can remove from them.
func isBase(text string, u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(text, "?# ") &&
		!strings.HasSuffix(text, "/") && strings.HasSuffix(text, u.Path) && u.EscapedPath() == u.Path
}

// numbered returns the number of each name, nil if there are no names.
func numbered(names []string) (map[string]int, error) {
	if names == nil {
		return nil, nil
	}
	numbers := make(map[string]int, len(names))
	for i, name := range names {
		if name == "" || name == "." || name == ".." { // dots cannot be escaped
			return nil, fmt.Errorf("%w: page %d has the name %q", ErrConfig, i, name)
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
	const prefix = "/name/"
	u := url.URL{Path: prefix + s.cfg.Names[page]}
	escaped := u.EscapedPath()
	if path.Clean(escaped) != strings.TrimSuffix(escaped, "/") {
		escaped = prefix + url.PathEscape(s.cfg.Names[page])
	}
	return s.path + escaped
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
	asked, session := cutSession(r.URL.Path)
	if number, ok := strings.CutPrefix(asked, "/page/"); ok {
		if page, ok := index(number, len(s.version)); ok {
			s.servePage(w, r, page, session)
			return
		}
	} else if name, ok := strings.CutPrefix(asked, "/name/"); ok {
		if page, ok := s.byName[name]; ok {
			s.servePage(w, r, page, session)
			return
		}
	} else if number, ok := strings.CutPrefix(asked, "/sitemap-"); ok {
		number, ok = strings.CutSuffix(number, ".xml")
		if part, known := index(number, s.sitemaps()); ok && known {
			s.serveSitemap(w, r, part)
			return
		}
	}
	switch asked {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		pages := "pages"
		if len(s.version) == 1 {
			pages = "page"
		}
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%d %s</title>\n", len(s.version), pages)
		fmt.Fprintf(w, "<a href=\"%s\">first page</a>, <a href=\"%s/sitemap.xml\">sitemap</a>\n",
			html.EscapeString(s.URL(0)), html.EscapeString(s.path))
	case "/robots.txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "User-agent: *\nDisallow: %s/truth\n", s.path)
		if s.cfg.CrawlDelay > 0 {
			fmt.Fprintf(w, "Crawl-delay: %s\n", strconv.FormatFloat(s.cfg.CrawlDelay, 'f', -1, 64)) // no exponent
		}
		fmt.Fprintf(w, "\nSitemap: %s%s/sitemap.xml\n", s.base(r), s.path)
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

// A rater is an environment with the method Rate: see [webenv.Env].
type rater interface {
	Rate(page int, now float64) float64
}

// A lastChanger is an environment with the method LastChange: see [webenv.Env].
type lastChanger interface {
	LastChange(page int, now float64) (t float64, ok bool)
}

// look polls the environment and gives the page its next version if it has changed. The lock is
// held.
func (s *Server) look(page int) {
	since, changed := s.env.Poll(page, s.now)
	if changed {
		s.version[page]++
		s.modified[page] = since
		s.stale[page] = min(s.stale[page], since)
	}
	if env, ok := s.env.(lastChanger); ok && (changed || s.version[page] == 1) {
		if t, ok := env.LastChange(page, s.now); ok {
			s.modified[page] = t
		}
	}
}
