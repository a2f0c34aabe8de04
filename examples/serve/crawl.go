package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/internal/noisypage"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/live"
	"github.com/recrawl/recrawl/webenv/serve"
)

// Sizes of a crawl: a poll a page and a day, and half a change.
const (
	crawlPages   = 300
	crawlBad     = 30 // that misbehave
	crawlDays    = 60
	crawlQuick   = 10
	changesADay  = 0.5
	pollsADay    = crawlPages
	hoursPerPoll = 24. / pollsADay
)

// ways are how a crawler compares the contents of two copies.
var ways = []struct {
	name      string
	transport live.Transport
}{
	{"bytes", live.Transport{Exact: true}},
	{"text", live.Transport{Fingerprint: func(_ *http.Response, body []byte) ([]byte, error) { return noisypage.Letters(body), nil }}},
	{"learnt", live.Transport{}},
}

// A tally is what a crawl came to.
type tally struct {
	polls, bad, failed int // all; of pages that misbehave; without an answer
	same, falsely      int // polls of the latter that found the page as it was, and those reported as changes
	changes, missed    int // and those that found it changed, and those that were not
	violations         int
}

// crawl compares the ways, by kind of misbehaviour.
func (s *settings) crawl() error {
	days := crawlDays
	if s.Quick {
		days = crawlQuick
	}
	all := append([]kind{{name: "behaves well"}}, kinds...)
	bar := report.NewProgress("crawls", len(all)*len(ways))
	defer bar.Done()
	var usual [3]float64 // the share of the polls that the same pages take if they behave well
	for _, k := range all {
		var rows []report.Row
		for w := range ways {
			t, err := s.crawlOne(k.faults, w, days*pollsADay)
			if err != nil {
				return err
			}
			bar.Add(1)
			share := percent(t.bad, t.polls)
			if k.faults == (serve.Faults{}) {
				usual[w] = share
			}
			row := func(quantity string, measured float64, unit string) {
				rows = append(rows, report.Row{Source: "recrawl", Item: k.name + ": " + ways[w].name, Quantity: quantity, Unit: unit, Measured: measured, Runs: 1})
			}
			row("false changes, of the polls without a change", percent(t.falsely, t.same), "%")
			row("missed, of the changes", percent(t.missed, t.changes), "%")
			row("budget wasted: polls of these pages beyond those of good ones", max(share-usual[w], 0), "%")
			row("polls that failed", percent(t.failed, t.polls), "%")
			row("vetoes violated", float64(t.violations), "requests")
		}
		if err := s.Print(k.name, rows); err != nil {
			return err
		}
	}
	return s.End()
}

func percent(part, of int) float64 { return 100 * float64(part) / float64(max(of, 1)) }

// A desk is a crawler and the web that it crawls, with the time that both have.
type desk struct {
	hours  float64
	server *serve.Server
	client *http.Client
	pages  *knapsack.Keyed[int]
	known  []int // versions
	tally
}

// crawlOne crawls a web in which crawlBad pages have the faults.
func (s *settings) crawlOne(faults serve.Faults, way, polls int) (tally, error) {
	env, err := webenv.NewPoisson(webenv.LogNormalLaw(crawlPages, changesADay/24, 1.5, rand.NewPCG(s.Seed, 2)), rand.NewPCG(s.Seed, 3))
	if err != nil {
		return tally{}, err
	}
	d := &desk{known: make([]int, crawlPages)}
	calendar := webenv.Calendar{Epoch: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), Unit: time.Hour}
	now := func() time.Time { return calendar.Date(d.hours) }
	d.server, err = serve.New(env, serve.Config{
		Now: func() float64 { return d.hours }, Calendar: calendar, Size: s.size, Source: rand.NewPCG(s.Seed, 4),
		Sleep: func(context.Context, time.Duration) {},
		Faults: func(page int) serve.Faults {
			if bad(page) {
				return faults
			}
			return serve.Faults{}
		},
	})
	if err != nil {
		return tally{}, err
	}
	// With Detections bad pages tempt most: one that seems to change at every poll is worth each.
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{Objective: knapsack.Detections})
	if err != nil {
		return tally{}, err
	}
	d.pages = knapsack.NewKeyed[int](filter)
	transport := &live.Transport{Base: inProcess{d.server}, Now: now, Exact: ways[way].transport.Exact, Fingerprint: ways[way].transport.Fingerprint}
	d.client = &http.Client{Transport: transport}
	for page := range crawlPages {
		d.pages.Add(page)
		d.poll(page) // the first copy
	}
	d.tally = tally{}
	rng := rand.New(rand.NewPCG(s.Seed, 5))
	for range polls {
		d.hours += hoursPerPoll * (0.5 + rng.Float64())
		page, err := d.pages.Next(now())
		if errors.Is(err, knapsack.ErrNoPage) {
			continue
		}
		if err != nil {
			return tally{}, err
		}
		if err := live.Tell(d.pages, page, now(), d.poll(page)); err != nil {
			return tally{}, err
		}
	}
	d.violations = d.server.Totals().Violations
	return d.tally, nil
}

// bad reports whether a page misbehaves. Rates fall with the number of the page, and every kind of
// page is to be among them.
func bad(page int) bool { return page%(crawlPages/crawlBad) == 0 }

// poll polls a page and counts what was found.
func (d *desk) poll(page int) live.Poll {
	url := "http://web.test" + d.server.URL(page)
	ctx, fetch := live.Begin(context.Background(), url)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err == nil {
		var resp *http.Response
		if resp, err = d.client.Do(r); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	p := fetch.End(err)
	d.polls++
	if bad(page) {
		d.bad++
	}
	if p.Err != nil {
		d.failed++
		return p
	}
	version := d.server.PageTruth(page).Version // as the time is the same
	if !p.First && bad(page) {
		d.judge(version > d.known[page], p.Changed)
	}
	d.known[page] = version
	return p
}

func (t *tally) judge(changed, reported bool) {
	switch {
	case !changed:
		t.same++
		if reported {
			t.falsely++
		}
	default:
		t.changes++
		if !reported {
			t.missed++
		}
	}
}

// inProcess sends requests straight to a handler. A handler that aborts leaves what it has sent.
type inProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	err := h.serve(w, sent)
	if err != nil && w.Body.Len() == 0 {
		return nil, err
	}
	resp := w.Result()
	resp.Request = r
	body := w.Body.Bytes()
	if err == nil && resp.Header.Get("Content-Encoding") == "gzip" && len(body) > 0 {
		z, zerr := gzip.NewReader(bytes.NewReader(body))
		if zerr != nil {
			return nil, zerr
		}
		resp.Body, resp.ContentLength = z, -1
		return resp, nil
	}
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{}))
	}
	return resp, nil
}

// serve calls the handler, and returns an error if it aborts.
func (h inProcess) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler {
			err = io.ErrUnexpectedEOF
		} else if cause != nil {
			panic(cause)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// broken is a connection that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
