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
	// Calendar gives the dates in Last-Modified, Date and the sitemap, and the seconds of Crawl-delay
	// and Retry-After. A crawler that goes by the real clock needs one that does so too: to let a unit
	// of the environment pass in a second, leave Now nil and take
	//
	//	Calendar: webenv.Calendar{Epoch: time.Now(), Unit: time.Second}
	Calendar webenv.Calendar

	// Names, if not nil, are the names of the pages, each used once and not empty, "." or "..".
	// The URL of page 17 is then /name/NAME; /page/17 gives the same page. Slashes in NAME are
	// escaped if the path would otherwise be cleaned on its way, as an [http.ServeMux] does with
	// two slashes in a row.
	Names []string
	// Base is the absolute URL, http or https, under which the server is reached, without a slash
	// at its end, if that is not the host of the request; with a path if it is mounted with
	// [http.StripPrefix]. No character of the path needs an escape: under such a prefix StripPrefix
	// finds no names with escaped slashes. Base has neither a query nor a fragment.
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
	// Faults, if not nil, gives the ways in which a page misbehaves, always the same for a
	// page.
	Faults func(page int) Faults
	// CrawlDelay is the Crawl-delay in robots.txt, in seconds of the Calendar; 0 for none. A
	// request for a page that comes sooner after the one before counts in Totals.Violations.
	CrawlDelay float64
	// Source is where faults and latencies are drawn from, in the order in which requests come
	// in. It may be nil if there are neither.
	Source rand.Source
}

// A Server serves the pages of an environment over HTTP. Make it with [New] and mount it like
// any [http.Handler]; Totals and PageTruth are the truth about what a crawler has reached. It
// is safe for concurrent use; nothing else may poll its environment.
//
//	/page/17          page 17, whose body changes when and only when the page does, unless
//	                  it misbehaves ([Faults])
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
// [New] looks at every page, and every request at the pages that it is about. A page that has
// changed since the last look gets its next version; changes between two looks make one version. So
// two answers differ exactly if the page changed between them, for any number of crawlers. In an
// environment where a poll has effects of its own ([webenv.NewZipf] that swaps ranks) each look
// counts as a poll.
//
// The strong ETag names page and version. Last-Modified is the time of the last change if the
// environment has LastChange (see [webenv.Env]), and else of the first change since the look
// before. Until the first change it is the time at which the server was made. Its resolution is
// one second of the [webenv.Calendar], and time may run fast, so it is left away until that second
// is over: no two versions have the same one. A crawler that relies on it alone must then
// compare the content. The Date is that of the environment too.
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
	version  []uint32      // from 1
	modified []float64     // see Last-Modified
	requests []uint32      // of each page
	stale    []float64     // time of the first change since the last copy that a GET was given, +Inf if none
	second   float64       // in units of the environment
	asked    float64       // time of the latest request for a page
	quota    map[int]quota // of busy pages
	totals   Totals
	staleSum float64 // page-time for which copies replaced by now were not current
	ageSum   float64 // and the integral of their age over it
}

// New returns a server of an environment. [ErrConfig] for settings out of range, and for a time of
// the start at which env refuses to be polled: nothing has changed then, unless env was polled
// before, some pages at later times than others. New panics if env is nil, or if Source is nil
// and needed.
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
	for page := range n {
		if err := s.faults(page).check(); err != nil {
			return nil, fmt.Errorf("page %d: %w", page, err)
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
	s.quota = make(map[int]quota)
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

// begin polls all pages, so that what changed before the start belongs to version 1. The time of the
// start comes from the settings, so that an environment that panics because of it makes an error. A
// fault of the program, as an index out of range, stays a panic.
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

// isBase reports whether a text that was read as a URL is one that paths can be appended to, and that
// http.StripPrefix removes from them.
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
		if name == "" || name == "." || name == ".." { // the dots cannot be escaped
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
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%d pages</title>\n", len(s.version))
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

// A rater is an environment with this method: see [webenv.Env].
type rater interface {
	Rate(page int, now float64) float64
}

// A lastChanger is an environment with this method: see [webenv.Env].
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
