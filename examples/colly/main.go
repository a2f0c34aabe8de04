// Command colly shows the colly crawler driven by polling schedules that learn.
// It crawls a simulated web over real HTTP: once with each learner, and once
// visiting all pages equally often. It compares what was found with the truth.
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/serve"
)

func main() { report.Main("colly", run) }

const intro = `Crawls a simulated web with the colly crawler, over real HTTP on a loopback port. The
truth about the web is known. A learner says which page to visit next: the rate filter
in the first crawl, LAKG with 300 states in the second. A third crawl visits all pages
equally often, for comparison. Page k of the web changes with probability 0.9/k^1.5 in
each slot of time. There is one poll a slot: the web's time advances with the polls.

  go run ./examples/colly
  go run ./examples/colly -workers 1 -polls 50000`

type settings struct {
	*report.Program
	pages, polls, workers int
}

// mostPages bounds the web, which has a text for each page.
const mostPages = 1e6

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{Program: report.NewProgram("colly", intro, "fewer polls: a few seconds", stdout, stderr)}
	s.Flags.IntVar(&s.pages, "n", 200, "`pages` of the web")
	s.Flags.IntVar(&s.polls, "polls", 20_000, "`number` of polls; 5000 if -quick")
	s.Flags.IntVar(&s.workers, "workers", 8, "`number` of pages fetched at the same time; with more than one, answers come in any order and figures vary")
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	if s.Quick && !s.Given("polls") {
		s.polls = 5000
	}
	if !s.Given("workers") {
		s.workers = max(1, min(s.workers, s.pages))
	}
	switch {
	case s.pages < 1 || s.pages > mostPages:
		return nil, report.Usagef("-n %d: want 1 to %d", s.pages, int(mostPages))
	case s.polls < 1:
		return nil, report.Usagef("-polls %d: want 1 at least", s.polls)
	case s.workers < 1 || s.workers > s.pages:
		return nil, report.Usagef("-workers %d for -n %d pages: want 1 at least, and not more than pages", s.workers, s.pages)
	}
	return s, s.Start("some seconds")
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{Objective: knapsack.Detections})
	if err != nil {
		return err
	}
	lakg, err := knapsack.NewLAKG(0, knapsack.LAKGConfig{States: 300, Start: 1 / float64(s.pages)}, rand.NewPCG(s.Seed, 1))
	if err != nil {
		return err
	}
	uniform, err := knapsack.NewFixed(nil, knapsack.Even, nil)
	if err != nil {
		return err
	}

	chart := report.Chart{Title: "Changes found", X: "polls", Y: "changes found so far", Sums: true}
	for _, c := range []struct {
		name    string
		learner knapsack.Learner
	}{{"rate-filter", filter}, {"lakg-300", lakg}, {"uniform", uniform}} {
		found, truth, err := s.crawl(c.learner)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := s.Print("", s.rows(c.name, found, truth)); err != nil {
			return err
		}
		series := report.Series{Name: c.name, Y: found.progress}
		for k := range found.progress {
			series.X = append(series.X, float64(k+1))
		}
		chart.Series = append(chart.Series, thinned(series))
	}
	if err := s.End(); err != nil {
		return err
	}
	return s.picture(chart)
}

// crawl lets a learner crawl a web of its own, the same for each.
func (s *settings) crawl(learner knapsack.Learner) (*account, serve.Totals, error) {
	env, err := webenv.NewZipf(webenv.ZipfConfig{Pages: s.pages, Alpha: 0.9, Beta: 1.5}, rand.NewPCG(s.Seed, 2))
	if err != nil {
		return nil, serve.Totals{}, err
	}
	clock := new(clock)
	server, err := serve.New(env, serve.Config{Now: clock.now, Calendar: calendar})
	if err != nil {
		return nil, serve.Totals{}, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, serve.Totals{}, err
	}
	web := &http.Server{Handler: server}
	go func() { _ = web.Serve(listener) }() // ends when it is closed
	defer func() { _ = web.Close() }()

	urls := make([]string, s.pages)
	for page := range urls {
		urls[page] = "http://" + listener.Addr().String() + server.URL(page)
	}
	bar := report.NewProgress("polling", s.polls)
	defer bar.Done()
	clock.ticked = func() { bar.Add(1) }

	c := newCrawler(urls, learner, clock, s.workers, s.polls)
	if err := equal(c.pages); err != nil {
		return nil, serve.Totals{}, err
	}
	if err := c.copyAll(); err != nil {
		return nil, serve.Totals{}, err
	}
	err = c.crawl(s.workers)
	return &c.account, server.Totals(), err
}

// equal has the pages polled equally often if the learner is one that learns nothing. Weights and
// limits of a learner are set in the same way.
func equal(pages *knapsack.Keyed[string]) error {
	urls := slices.Collect(pages.All())
	err := knapsack.With(pages, func(f *knapsack.Fixed, page func(string) (int, error)) error {
		for _, url := range urls {
			p, err := page(url)
			if err != nil {
				return err
			}
			if err := f.SetFrequency(p, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errors.ErrUnsupported) { // of another type
		return nil
	}
	return err
}

// A clock is the time of the web, in slots. In a slot one poll is asked for: a
// crawler of the real web would wait for the next, here the clock jumps to it.
type clock struct {
	slots  atomic.Int64
	ticked func()
}

// calendar makes a slot an hour.
var calendar = webenv.Calendar{Unit: time.Hour}

func (c *clock) now() float64    { return float64(c.slots.Load()) }
func (c *clock) time() time.Time { return calendar.Date(c.now()) }

// tick goes to the next slot.
func (c *clock) tick() time.Time {
	c.ticked()
	c.slots.Add(1)
	return c.time()
}

// skip goes to the slot at or after a time. Only one worker moves the clock at a time.
func (c *clock) skip(to time.Time) {
	c.slots.Store(max(c.slots.Load()+1, int64(math.Ceil(calendar.Time(to)))))
}

// rows sets what the crawler found beside what the server knows.
func (s *settings) rows(name string, found *account, truth serve.Totals) []report.Row {
	row := func(quantity, unit string, v float64) report.Row {
		return report.Row{
			Source: "recrawl", Item: fmt.Sprintf("colly, %s, %s", report.Count(s.workers, "worker"), name),
			Quantity: quantity, Unit: unit, Measured: v, Runs: 1,
		}
	}
	return []report.Row{
		row("polls", "polls", float64(found.polls)),
		row("changes found", "polls", float64(found.changed)),
		row("changes found, as the server knows", "polls", float64(truth.Detected)),
		row("bodies parsed", "pages", float64(found.parsed)),
		row("polls answered with 304", "polls", float64(truth.NotModified)),
		row("polls that failed", "polls", float64(found.failed)),
		row("pages removed, as robots.txt forbids them", "pages", float64(found.forbidden)),
		row("freshness, as the server knows", "1", truth.Freshness),
	}
}

// thinned keeps some 500 points of a curve.
func thinned(s report.Series) report.Series {
	t := report.Series{Name: s.Name}
	step := max(int(math.Ceil(float64(len(s.X))/500)), 1)
	for k := step - 1; k < len(s.X); k += step {
		t.X, t.Y = append(t.X, s.X[k]), append(t.Y, s.Y[k])
	}
	return t
}

func (s *settings) picture(chart report.Chart) error {
	svg, err := s.WriteChart("colly.svg", chart)
	if err != nil {
		return err
	}
	return s.WritePage("colly.html", report.Page{Title: "colly driven by a learner",
		Sections: []report.Section{{SVG: svg}, report.RowsSection("Figures", s.Program.Rows())}})
}
