package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/demo"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/page"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

const (
	demoPolls   = 0.5 // of each page in a day
	demoChanges = 1.0 // likewise, on average
	demoAgent   = "recrawl-demo/1 (+https://example.org/demo)"
	// demoPatience is the real time for which hosts that are slow or silent keep a request.
	demoPatience = 8 * time.Millisecond
	demoTimeout  = time.Second
)

var demoBegin = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// A contestant crawls a web of its own, which changes as those of the others.
type contestant struct {
	name    string
	web     *demo.Web
	account *demo.Account
	part    crawler.Part
	crawler *crawler.Crawler
	budget  float64       // polls in a second of the web
	copied  chan struct{} // closed when all first copies are there
	began   time.Time     // of the polls
}

// demonstrate crawls three webs at the same time.
func (s *settings) demonstrate() error {
	length := s.length
	if length == 0 {
		length = time.Minute
		if s.Quick {
			length = 10 * time.Second
		}
	}
	if err := s.Start(length.String()); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "recrawl-crawl-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewTextHandler(s.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))

	e, err := engine.Open(ctx, engine.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer e.Close()
	fast := clock.NewFast(demoBegin, s.speed*3600)
	state, log, err := crawler.Restored(ctx, e, 0, knapsack.RateFilterConfig{Objective: s.objective})
	if err != nil {
		return err
	}
	uniform, err := knapsack.NewFixed(nil, knapsack.Even, nil)
	if err != nil {
		return err
	}
	nutch := knapsack.Nutch(1)
	nutch.Start = 86400 / demoPolls
	rule, err := knapsack.NewAdaptive(0, nutch)
	if err != nil {
		return err
	}
	all := []*contestant{
		{name: "rate-filter", part: crawler.Part{State: state, Log: log}},
		{name: "uniform", part: crawler.Part{State: shard.NewState(uniform)}},
		{name: "nutch", part: crawler.Part{State: shard.NewState(rule)}},
	}
	for _, c := range all {
		if err := s.enrol(ctx, c, fast, length); err != nil {
			return err
		}
		defer c.web.Close()
	}
	closePage, err := s.show(&watcher{
		crawler: all[0].crawler, clock: fast, objective: s.objective, began: time.Now(),
		truth: func(status *page.Status) { known(status, all, fast.Now()) },
	})
	if err != nil {
		return err
	}
	defer closePage()
	if err := s.race(ctx, all, length); err != nil {
		return err
	}
	end := fast.Now()
	for _, c := range all {
		if err := s.Print("", c.rows(end)); err != nil {
			return err
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	return s.WritePage("crawl.html", report.Page{Title: "A crawl of a web of known truth",
		Sections: []report.Section{report.RowsSection("Figures", s.Rows())}})
}

// enrol gives a contestant its web and its crawler.
func (s *settings) enrol(ctx context.Context, c *contestant, fast *clock.Fast, length time.Duration) (err error) {
	hosts := demo.Behaviours(1)
	c.web, err = demo.NewWeb(demo.Config{
		Hosts: hosts, Pages: s.hostPages, Changes: demoChanges,
		From: demoBegin, Span: time.Duration(float64(2*length) * s.speed * 3600), Now: fast.Now,
		Patience: demoPatience, Seed: s.Seed,
	})
	if err != nil {
		return err
	}
	c.account, c.copied = demo.NewAccount(c.web), make(chan struct{})
	urls := c.web.URLs()
	c.budget = demoPolls * float64(len(urls)) / 86400
	c.crawler, err = crawler.New(crawler.Config{
		Clock: fast, PerSecond: c.budget, Groups: s.groups, Workers: s.workers,
		Fetch: fetch.Config{
			UserAgent: demoAgent, Points: []fetch.Point{{Name: "loopback", Base: c.web.Transport()}},
			Timeout: demoTimeout, IDHeader: demo.IDHeader, Seed: s.Seed,
		},
		Applied: c.account.Applied, Behind: fast.Behind, CopyFirst: true,
		Copied: func() { c.began = fast.Now(); close(c.copied) },
	})
	if err != nil {
		return err
	}
	c.crawler.Open(0, c.part, 0) // until the first copies are there
	events := make([]shard.Event, len(urls))
	for i, url := range urls {
		events[i] = shard.Event{Kind: shard.Add, URL: url, At: demoBegin}
	}
	return c.crawler.Learn(ctx, events)
}

// race lets all crawl for a time.
func (s *settings) race(ctx context.Context, all []*contestant, length time.Duration) error {
	bar := report.NewProgress("crawling", int(length/time.Second))
	defer bar.Done()
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, c := range all {
		wait.Go(func() {
			if errs[i] = c.crawler.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for _, c := range all { // the first copies are no part of it
		select {
		case <-ctx.Done():
		case <-c.copied:
		}
	}
	for end := time.After(length); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-tick.C:
			bar.Add(1)
			continue
		case <-end:
		}
		break
	}
	for _, c := range all {
		c.crawler.Stop()
	}
	wait.Wait()
	err := errors.Join(errs...)
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if slices.ContainsFunc(all, func(c *contestant) bool { return c.began.IsZero() }) {
		return errors.New("stopped before all first copies were there: there are no figures")
	}
	return nil // interrupted: what there is is printed
}

// known fills in what the webs know.
func known(s *page.Status, all []*contestant, now time.Time) {
	s.Demo, s.Truth = true, true
	for i, c := range all {
		sums, changes := c.account.Now(now)
		totals := c.web.Totals()
		if i == 0 {
			s.Freshness = totals.Freshness
		}
		s.Rivals = append(s.Rivals, page.Rival{
			Name: c.name, Polls: sums.Polls, Found: totals.Detected, Freshness: totals.Freshness,
			Delay: sums.Delay / 3600 / float64(max(changes, 1)),
		})
	}
}

// rows are the summary of a contestant.
func (c *contestant) rows(now time.Time) (rows []report.Row) {
	sums, changes := c.account.Now(now)
	totals := c.web.Totals()
	row := func(quantity, unit string, measured float64) {
		rows = append(rows, report.Row{Source: "recrawl", Item: c.name, Quantity: quantity, Unit: unit, Measured: measured, Runs: 1})
	}
	row("time crawled", "days", now.Sub(c.began).Hours()/24)
	row("polls made, of the budget", "%", 100*float64(c.crawler.Spent())/(c.budget*now.Sub(c.began).Seconds()))
	row("polls learnt from", "polls", float64(sums.Polls))
	row("polls that failed", "polls", float64(sums.Failed))
	row("changes found, of all", "%", 100*float64(sums.Found)/float64(max(changes, 1)))
	row("polls that found a change", "polls", float64(totals.Detected))
	row("freshness", "1", totals.Freshness)
	row("mean delay of a change", "hours", sums.Delay/3600/float64(max(changes, 1)))
	row("false changes, of the changes reported", "%", 100*float64(sums.False)/float64(max(sums.Reported, 1)))
	row("changes missed, of the changes served", "%", 100*float64(sums.Missed)/float64(max(sums.Reported-sums.False+sums.Missed, 1)))
	row("vetoes", "polls", float64(sums.Vetoed))
	row("requests against a veto or a Crawl-delay", "requests", float64(totals.Violations))
	row("requests for what robots.txt forbids", "requests", float64(c.web.Witness.Trespasses()))
	row("requests to a host beside another one", "requests", float64(c.web.Witness.Crowded()))
	return rows
}
