// Package demo is a web of which the truth is known, to show and test a crawler with: some hosts
// behave well, others in each of the ways in which the web does not, and every request is seen.
package demo

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/serve"
)

// A Behaviour is how a host behaves.
type Behaviour struct {
	Name       string
	Faults     serve.Faults // times in seconds of the web
	CrawlDelay float64      // seconds
	Robots     string       // instead of the usual robots.txt
}

const hour = 3600.

// Behaviours are those of the hosts of the demonstration, by turns: a good half behaves well. Times
// are multiplied by scale.
func Behaviours(scale float64) []Behaviour {
	hour := hour * scale
	bad := []Behaviour{
		{Name: "clock", Faults: serve.Faults{Clock: true}},
		{Name: "nonce", Faults: serve.Faults{Nonce: true}},
		{Name: "ads", Faults: serve.Faults{Advertisements: 5}},
		{Name: "backends", Faults: serve.Faults{Backends: 3}},
		{Name: "fresh-date", Faults: serve.Faults{FreshDate: true}},
		{Name: "gzip", Faults: serve.Faults{Gzip: true}},
		{Name: "session", Faults: serve.Faults{Session: true}},
		{Name: "unavailable", Faults: serve.Faults{Unavailable: 0.3}},
		{Name: "silent", Faults: serve.Faults{Silent: 0.1}},
		{Name: "cut", Faults: serve.Faults{Cut: 0.3}},
		{Name: "slow", Faults: serve.Faults{Slow: time.Minute}},
		{Name: "busy", Faults: serve.Faults{Busy: 12 * hour}},
		{Name: "dying", Faults: serve.Faults{Dying: 60 * hour}},
		{Name: "delay", CrawlDelay: hour / 4},
		{Name: "closed", Robots: "User-agent: *\nDisallow: /\n"},
		{Name: "half-closed", Robots: "User-agent: *\nDisallow: /page/1\nDisallow: /page/3\n"},
	}
	var all []Behaviour
	for i, b := range bad {
		all = append(all, Behaviour{Name: fmt.Sprintf("good-%d", i+1)}, b)
	}
	return all
}

// Config describes a Web.
type Config struct {
	Hosts []Behaviour
	Pages int // of each host
	// Changes is the mean number of changes of a page in a day. Rates are log-normally
	// distributed.
	Changes float64
	// Span is for how long the web changes, and From when that begins.
	From time.Time
	Span time.Duration
	Now  func() time.Time
	// Patience is for how long, in real time, a request is held that is not answered or slow.
	Patience time.Duration
	Seed     uint64
}

// A Web is a number of hosts behind one port of the loopback interface. Its names resolve with
// Dial only. Make it with NewWeb and Close it.
type Web struct {
	Witness *Witness
	cfg     Config
	sites   []*site
	byHost  map[string]*site
	http    *http.Server
	addr    string
	conns   sync.WaitGroup
}

type site struct {
	Behaviour
	host    string
	server  *serve.Server
	history *webenv.History
}

// NewWeb starts a web.
func NewWeb(cfg Config) (*Web, error) {
	w := &Web{cfg: cfg, byHost: map[string]*site{}, Witness: newWitness()}
	calendar := webenv.Calendar{Epoch: cfg.From, Unit: time.Second}
	for i, b := range cfg.Hosts {
		h := history(cfg, uint64(i))
		env, err := webenv.NewReplay(h, 0)
		if err != nil {
			return nil, err
		}
		s := &site{Behaviour: b, host: b.Name + ".test", history: h}
		s.server, err = serve.New(env, serve.Config{
			Now: func() float64 { return calendar.Time(cfg.Now()) }, Calendar: calendar,
			Size: 1500, CrawlDelay: b.CrawlDelay, Source: rand.NewPCG(cfg.Seed, uint64(i)<<8+1),
			Faults: func(int) serve.Faults { return b.Faults },
			Sleep:  w.sleep,
		})
		if err != nil {
			return nil, err
		}
		w.sites = append(w.sites, s)
		w.byHost[s.host] = s
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.addr = listener.Addr().String()
	w.http = &http.Server{Handler: w, ErrorLog: log.New(io.Discard, "", 0)}
	w.conns.Go(func() { _ = w.http.Serve(listener) }) // ends when it is closed
	return w, nil
}

// history draws when the pages of a host change.
func history(cfg Config, host uint64) *webenv.History {
	const sigma = 2
	rates := webenv.LogNormalLaw(cfg.Pages, cfg.Changes/(24*hour), sigma, rand.NewPCG(cfg.Seed, host<<8+2))
	rng := rand.New(rand.NewPCG(cfg.Seed, host<<8+3))
	h := &webenv.History{}
	for page, rate := range rates {
		var times []float64
		for t := rng.ExpFloat64() / rate; t < cfg.Span.Seconds(); t += rng.ExpFloat64() / rate {
			times = append(times, t)
		}
		h.Names = append(h.Names, fmt.Sprint(page))
		h.Times = append(h.Times, times)
	}
	return h
}

// sleep stands for waits of the web: they are as long as patience has it.
func (w *Web) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(min(d, w.cfg.Patience))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Proxy is the URL under which the web is a proxy to itself, for crawlers in other processes.
func (w *Web) Proxy() string { return "http://" + w.addr }

// Close ends the web.
func (w *Web) Close() {
	_ = w.http.Close()
	w.conns.Wait()
}

// URLs returns the URLs of all pages.
func (w *Web) URLs() (urls []string) {
	for _, s := range w.sites {
		for page := range s.history.Times {
			urls = append(urls, "http://"+s.host+s.server.URL(page))
		}
	}
	return urls
}

// Transport returns a transport for which the names of the web resolve.
func (w *Web) Transport() *http.Transport {
	return &http.Transport{
		MaxIdleConns: 256, MaxIdleConnsPerHost: 2,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, w.addr)
		},
	}
}

// ServeHTTP implements [http.Handler].
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s := w.byHost[r.Host]
	switch {
	case s == nil:
		http.Error(rw, "no such host", http.StatusMisdirectedRequest)
	case s.Robots != "" && r.URL.Path == "/robots.txt":
		_, _ = io.WriteString(rw, s.Robots)
	default:
		if s.Robots != "" && w.forbidden(s, r.URL.Path) {
			w.Witness.trespass()
		}
		w.Witness.serve(s.server, rw, r)
	}
}

func (w *Web) forbidden(s *site, path string) bool {
	for line := range strings.SplitSeq(s.Robots, "\n") {
		if prefix, ok := strings.CutPrefix(line, "Disallow: "); ok && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// Allowed reports whether robots.txt allows a page.
func (w *Web) Allowed(url string) bool {
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	s := w.byHost[host]
	return s != nil && !w.forbidden(s, "/"+path)
}

// Totals are those of all hosts that may be crawled.
func (w *Web) Totals() (all serve.Totals) {
	for _, s := range w.sites {
		if s.Name == "closed" {
			continue
		}
		t := s.server.Totals()
		all.Pages += t.Pages
		all.Polls += t.Polls
		all.NotModified += t.NotModified
		all.Detected += t.Detected
		all.Failed += t.Failed
		all.Violations += t.Violations
		all.Freshness += t.Freshness * float64(t.Pages)
		all.Age += t.Age * float64(t.Pages)
	}
	all.Freshness /= float64(max(all.Pages, 1))
	all.Age /= float64(max(all.Pages, 1))
	return all
}

// changes returns the changes of a page between two times, and the sum of their times until the
// second.
func (w *Web) changes(url string, since, now time.Time) (n int, delay float64) {
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	s := w.byHost[host]
	var page int
	if s == nil {
		return 0, 0
	}
	if _, err := fmt.Sscanf(path, "page/%d", &page); err != nil || page >= len(s.history.Times) {
		return 0, 0
	}
	times := s.history.Times[page]
	from, to := since.Sub(w.cfg.From).Seconds(), now.Sub(w.cfg.From).Seconds()
	begin, _ := slices.BinarySearch(times, math.Nextafter(from, math.Inf(1)))
	for _, t := range times[begin:] {
		if t > to {
			break
		}
		n++
		delay += to - t
	}
	return n, delay
}
