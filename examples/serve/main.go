// Command serve is a web of known truth for a crawler in any language. Its pages change at
// random, and some misbehave: nonces, clocks, lying dates, failures, vetoes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/serve"
)

func main() { report.Main("serve", run) }

const intro = `Serves a simulated web over HTTP, for any crawler, until it is interrupted. It then prints
how the crawler did, by kind of page. Pages change at log-normally distributed rates, once
a day on average. A second is an hour of the web (-speed), but dates, Crawl-delay and
Retry-After are by the crawler's own clock. Every kind of misbehaviour has a share of the
pages:

  go run ./examples/serve
  go run ./examples/serve -faults nonce=0.1,dying=0.3 -n 1000 -for 10m

A crawler can begin at / or with /sitemap.xml. /robots.txt has the Crawl-delay. While the
server runs, /truth says what each page is and whether its latest copy is current.

With -crawl it serves nobody. It crawls such webs itself, one for each kind of misbehaviour,
in simulated time, and prints which polls it takes for changes:

  go run ./examples/serve -crawl`

// A kind is a way to misbehave.
type kind struct {
	name   string
	faults serve.Faults
}

// kinds are what -faults names. Times are in hours of the web.
var kinds = []kind{
	{"nonce", serve.Faults{Nonce: true}},
	{"clock", serve.Faults{Clock: true}},
	{"advertisements", serve.Faults{Advertisements: 5}},
	{"backends", serve.Faults{Backends: 3}},
	{"fresh-date", serve.Faults{FreshDate: true}},
	{"stuck-date", serve.Faults{StuckDate: true}},
	{"gzip", serve.Faults{Gzip: true}},
	{"session", serve.Faults{Session: true}},
	{"unavailable", serve.Faults{Unavailable: 0.5}},
	{"silent", serve.Faults{Silent: 0.5}},
	{"cut", serve.Faults{Cut: 0.5}},
	{"slow", serve.Faults{Slow: 5 * time.Second}},
	{"busy", serve.Faults{Busy: 6}},
	{"dying", serve.Faults{Dying: 100}},
}

// Bounds on the web. So many pages take a gigabyte, and each request has its page in memory.
const (
	mostPages = 10_000_000
	mostBytes = 100_000_000
)

// Bounds on the speed, within which a time.Duration can hold an hour of the web.
const leastSpeed, mostSpeed = 1e-6, 1e6

type settings struct {
	*report.Program
	addr   string
	pages  int
	size   int
	speed  float64 // hours of the web in a second
	delay  float64
	length time.Duration
	shares []float64 // of the kinds
	crawls bool
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{Program: report.NewProgram("serve", intro, "serve for one second only; crawl for ten days", stdout, stderr)}
	var faults string
	s.Flags.Lookup("seed").Usage = "`seed` of all random numbers: same seed, same web; with -crawl, same figures"
	s.Flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`address` to listen on")
	s.Flags.IntVar(&s.pages, "n", 500, fmt.Sprintf("`pages` of the web, up to %d", mostPages))
	s.Flags.IntVar(&s.size, "size", 2000, fmt.Sprintf("least `bytes` of a page, up to %d", mostBytes))
	s.Flags.Float64Var(&s.speed, "speed", 1, "`hours` of the web in a second")
	s.Flags.Float64Var(&s.delay, "delay", 0, "Crawl-delay in `seconds` of the crawler's clock")
	s.Flags.DurationVar(&s.length, "for", 0, "`time` to serve; 0 until interrupted")
	s.Flags.BoolVar(&s.crawls, "crawl", false, "crawl in simulated time, and compare bytes, text and the learnt fingerprint")
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	s.Flags.StringVar(&faults, "faults", "all=0.04", "`kind=share` of the pages, separated by commas; kinds are "+strings.Join(names, ", ")+", and all for each kind that is not named; the shares sum to at most 1; empty for none")
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	if err := s.OnlyIf(!s.crawls, "without -crawl", "addr", "n", "speed", "delay", "for", "faults", "out"); err != nil {
		return nil, err
	}
	if s.Quick && !s.Given("for") {
		s.length = time.Second
	}
	_, port, err := net.SplitHostPort(s.addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	switch {
	case err != nil:
		return nil, report.Usagef("-addr %s: %w", s.addr, err)
	case s.pages < 1 || s.pages > mostPages:
		return nil, report.Usagef("-n %d: want 1 to %d", s.pages, mostPages)
	case s.size < 0 || s.size > mostBytes:
		return nil, report.Usagef("-size %d: want 0 to %d", s.size, mostBytes)
	case !(s.delay >= 0 && s.delay <= math.MaxFloat64):
		return nil, report.Usagef("-delay %v: want no less than 0", s.delay)
	case !(s.speed >= leastSpeed && s.speed <= mostSpeed):
		return nil, report.Usagef("-speed %v: want %v to %v", s.speed, leastSpeed, mostSpeed)
	case s.length < 0:
		return nil, report.Usagef("-for %v: want no less than 0", s.length)
	}
	if s.shares, err = shares(faults); err != nil {
		return nil, err
	}
	if s.crawls {
		return s, s.Start("a minute")
	}
	return s, s.Start("")
}

// slack is how far a sum of shares may be above 1, as the last bits of 0.33+0.56+0.11 are.
const slack = 1e-9

// shares reads the value of -faults. Wherever all stands, it is the share of each kind without one
// of its own.
func shares(text string) ([]float64, error) {
	given := map[string]float64{}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		share, err := strconv.ParseFloat(value, 64)
		_, twice := given[name]
		switch {
		case err != nil || !(share >= 0 && share <= 1):
			return nil, report.Usagef("-faults: %q: want kind=share, the share from 0 to 1", part)
		case name != "all" && !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name }):
			return nil, report.Usagef("-faults: unknown kind %q", name)
		case twice:
			return nil, report.Usagef("-faults: %s twice", name)
		}
		given[name] = share
	}
	shares, sum := make([]float64, len(kinds)), 0.0
	for i, k := range kinds {
		share, named := given[k.name]
		if !named {
			share = given["all"]
		}
		shares[i] = share
		sum += share
	}
	if sum > 1+slack {
		return nil, report.Usagef("-faults: the shares sum to %.3g: want 1 at most", sum)
	}
	return shares, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	if s.crawls {
		return s.crawl()
	}
	kindOf := s.kinds()
	server, err := s.web(kindOf)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	// Whoever reads the address may end the server at once, and wants the figures also then.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pages := "pages"
	if s.pages == 1 {
		pages = "page"
	}
	fmt.Fprintf(stderr, "serve: %d %s at http://%s/, the truth at /truth\n", s.pages, pages, listener.Addr())

	if s.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.length)
		defer cancel()
	}
	web := &http.Server{Handler: server}
	go func() {
		<-ctx.Done()
		_ = web.Close() // silent and slow answers must not hold it up
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := s.Print("", s.rows(server, kindOf)); err != nil {
		return err
	}
	if err := s.End(); err != nil {
		return err
	}
	return s.WritePage("serve.html", report.Page{Title: "How the crawler did",
		Sections: []report.Section{report.RowsSection("Figures", s.Rows())}})
}

// kinds draws the kind of each page; -1 if it behaves well.
func (s *settings) kinds() []int {
	kindOf := slices.Repeat([]int{-1}, s.pages)
	order := rand.New(rand.NewPCG(s.Seed, 1)).Perm(s.pages)
	for i, share := range s.shares {
		n := min(int(share*float64(s.pages)+0.5), len(order))
		for _, page := range order[:n] {
			kindOf[page] = i
		}
		order = order[n:]
	}
	return kindOf
}

// web returns the server. Its unit of time is an hour of the web, which the calendar takes for what it
// is to a crawler: a second, at speed 1. A crawler that waits out a Retry-After has then waited enough.
func (s *settings) web(kindOf []int) (*serve.Server, error) {
	const perHour = 1. / 24
	rates := webenv.LogNormalLaw(s.pages, perHour, 1.5, rand.NewPCG(s.Seed, 2))
	env, err := webenv.NewPoisson(rates, rand.NewPCG(s.Seed, 3))
	if err != nil {
		return nil, err
	}
	return serve.New(env, serve.Config{
		Calendar:   webenv.Calendar{Epoch: time.Now(), Unit: time.Duration(float64(time.Second) / s.speed)},
		Size:       s.size,
		CrawlDelay: s.delay,
		Source:     rand.NewPCG(s.Seed, 4),
		Faults: func(page int) serve.Faults {
			if kindOf[page] < 0 {
				return serve.Faults{}
			}
			return kinds[kindOf[page]].faults
		},
	})
}

// rows tells how the crawler did.
func (s *settings) rows(server *serve.Server, kindOf []int) (rows []report.Row) {
	type group struct{ pages, requests, current int }
	groups := make([]group, len(kinds)+1) // the first for pages that behave well
	for page, kind := range kindOf {
		truth, g := server.PageTruth(page), &groups[kind+1]
		g.pages++
		g.requests += truth.Requests
		if truth.Current {
			g.current++
		}
	}
	totals := server.Totals()
	row := func(item, quantity, unit string, measured float64) {
		rows = append(rows, report.Row{Source: "recrawl", Item: item, Quantity: quantity, Unit: unit, Measured: measured, Runs: 1})
	}
	row("all pages", "polls answered", "polls", float64(totals.Polls))
	row("all pages", "polls that found a change", "polls", float64(totals.Detected))
	row("all pages", "requests that got no page", "requests", float64(totals.Failed))
	row("all pages", "requests against a veto", "requests", float64(totals.Violations))
	row("all pages", "freshness", "1", totals.Freshness)
	for i, g := range groups {
		if g.pages == 0 {
			continue
		}
		name := "behaves well"
		if i > 0 {
			name = kinds[i-1].name
		}
		row(name, "pages", "pages", float64(g.pages))
		row(name, "requests", "requests", float64(g.requests))
		row(name, "share of pages current at the end", "1", float64(g.current)/float64(g.pages))
	}
	return rows
}
