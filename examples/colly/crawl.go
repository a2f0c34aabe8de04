package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv/live"
)

// A crawler is a colly collector that a learner drives: colly fetches and
// parses, a live.Transport under it finds out what changed, and the learner
// decides what to fetch next.
type crawler struct {
	collector *colly.Collector
	pages     *knapsack.Keyed[string] // by URL
	clock     *clock

	asking sync.Mutex
	left   int // polls that the budget still has

	mu sync.Mutex
	account
}

// An account is what a crawl came to.
type account struct {
	polls     int
	changed   int
	parsed    int       // bodies that colly parsed
	failed    int       // polls without an answer, or that colly refused
	forbidden int       // pages removed, as robots.txt forbids them
	progress  []float64 // changes found after each poll
}

// newCrawler returns a crawler of the pages at the URLs, with a budget of polls and a learner
// without pages.
func newCrawler(urls []string, learner knapsack.Learner, clock *clock, workers, polls int) *crawler {
	c := &crawler{
		collector: colly.NewCollector(colly.UserAgent("recrawl-example")),
		pages:     knapsack.NewKeyed[string](learner),
		clock:     clock,
		left:      polls,
	}
	for _, url := range urls {
		c.pages.Add(url)
	}

	// By default colly fetches a URL once and then refuses it.
	c.collector.AllowURLRevisit = true
	// By default a status above 202 is an error, and so 304, the very answer
	// that says that a page has not changed.
	c.collector.ParseHTTPErrorResponse = true
	// CacheDir must stay empty: colly would answer from its files and ask nobody.
	c.collector.CacheDir = ""
	c.collector.IgnoreRobotsTxt = false
	c.collector.WithTransport(&live.Transport{Base: &http.Transport{MaxIdleConnsPerHost: workers}})
	return c
}

// visit lets colly fetch a page, and returns what the transport found. Its request has a context
// of its own, so it is known which page it is for, however colly writes the URL.
func (c *crawler) visit(url string) (live.Poll, error) {
	ctx, fetch := live.Begin(context.Background(), url)
	collector := c.collector.Clone()
	collector.Context = ctx
	// What the crawl is for goes into callbacks as ever; a 304 has no body.
	collector.OnHTML("title", func(*colly.HTMLElement) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.parsed++
	})
	err := collector.Visit(url)
	return fetch.End(err), err
}

// crawl spends the budget with the given number of workers. Each asks for the next page
// when it is free to fetch it. A queue filled in advance, as with
// colly.Async(true) or colly's queue package, would hold decisions of the past.
func (c *crawler) crawl(workers int) error {
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for errs[w] == nil {
				url, ok, err := c.ask()
				if errs[w] = err; err != nil || !ok {
					return
				}
				poll, err := c.visit(url)
				errs[w] = c.tell(url, poll, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// ask returns the page to fetch now; ok is false when the budget is spent. If there is none, it
// waits for the answer to another poll, or, if there is none either, for the time that the learner
// names.
func (c *crawler) ask() (url string, ok bool, err error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.left == 0 {
		return "", false, nil
	}
	c.left--
	for now := c.clock.tick(); ; now = c.clock.time() {
		busy := false
		for range c.pages.InFlight() {
			busy = true
		}
		url, err = c.pages.Next(now)
		var none *knapsack.NoPageError
		switch {
		case !errors.As(err, &none):
			return url, err == nil, err
		case busy:
			time.Sleep(time.Millisecond)
		case none.Time().IsZero():
			return "", false, err
		default:
			c.clock.skip(none.Time())
		}
	}
}

// tell tells the learner what a poll found. A page that robots.txt forbids is removed, or the
// learner would ask for it again and again. Colly reads robots.txt once; a crawler that reads it
// again would add the page when it may.
func (c *crawler) tell(url string, poll live.Poll, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case poll.Err != nil:
		c.failed++
	case !poll.First:
		c.polls++
		if poll.Changed {
			c.changed++
		}
		c.progress = append(c.progress, float64(c.changed))
	}
	if errors.Is(err, colly.ErrRobotsTxtBlocked) {
		c.forbidden++
		return c.pages.Remove(url)
	}
	return live.Tell(c.pages, url, c.clock.time(), poll)
}

// copyAll fetches every page once, for a copy to compare with.
func (c *crawler) copyAll() error {
	for url := range c.pages.All() {
		_, err := c.visit(url)
		if errors.Is(err, colly.ErrRobotsTxtBlocked) {
			c.forbidden++
			err = c.pages.Remove(url)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
	}
	return nil
}
