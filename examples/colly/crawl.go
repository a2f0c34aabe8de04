package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv/live"
)

// A crawler is a colly collector that a learner drives: colly fetches and
// parses, a live.Transport under it finds out what changed, and the learner
// decides what to fetch next.
type crawler struct {
	collector *colly.Collector
	urls      []string       // by page
	pages     map[string]int // by URL

	mu      sync.Mutex // learners are not safe for concurrent use
	learner knapsack.Learner
	clock   *clock
	left    int        // polls that the budget still has
	asked   []bool     // by page: the learner waits for an answer
	answers []int      // by page
	busy    int        // workers that fetch
	free    *sync.Cond // one of them is done
	err     error      // of the learner
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

// newCrawler returns a crawler of the pages at the URLs, with a budget of polls. A
// poll is matched to its page by the URL that was sent, so these must be as colly
// writes them: absolute, with a path ("/" at least), no fragment and escaped. A page
// that redirects counts as changed when it redirects elsewhere.
func newCrawler(urls []string, learner knapsack.Learner, clock *clock, workers, polls int) *crawler {
	c := &crawler{
		collector: colly.NewCollector(colly.UserAgent("recrawl-example")),
		urls:      urls,
		pages:     make(map[string]int, len(urls)),
		learner:   learner,
		clock:     clock,
		left:      polls,
		asked:     make([]bool, len(urls)),
		answers:   make([]int, len(urls)),
	}
	c.free = sync.NewCond(&c.mu)
	for page, url := range urls {
		c.pages[url] = page
	}

	// By default colly fetches a URL once and then refuses it.
	c.collector.AllowURLRevisit = true
	// By default a status above 202 is an error, and so 304, the very answer
	// that says that a page has not changed.
	c.collector.ParseHTTPErrorResponse = true
	// CacheDir must stay empty: colly would answer from its files and ask nobody.
	c.collector.CacheDir = ""
	c.collector.IgnoreRobotsTxt = false
	c.collector.WithTransport(&live.Transport{
		Base:   &http.Transport{MaxIdleConnsPerHost: workers},
		OnPoll: c.found,
	})

	// What the crawl is for goes into callbacks as ever; a 304 has no body.
	c.collector.OnHTML("title", func(*colly.HTMLElement) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.parsed++
	})
	return c
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
				v, ok, err := c.ask()
				if err != nil || !ok {
					errs[w] = err
					return
				}
				errs[w] = c.fetch(v)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// A visit is one fetch of a page.
type visit struct{ page, answers int } // answers before it

// ask returns the page to fetch now; ok is false when the budget is spent.
func (c *crawler) ask() (v visit, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return v, false, nil
	}
	c.left--
	page, err := c.learner.Next(c.clock.tick())
	// Once pages are removed there may be fewer of them than workers.
	for errors.Is(err, knapsack.ErrNoPage) && c.busy > 0 {
		c.free.Wait()
		page, err = c.learner.Next(c.clock.now())
	}
	if err != nil {
		return v, false, err
	}
	c.busy++
	c.asked[page] = true
	return visit{page, c.answers[page]}, true, nil
}

// fetch lets colly fetch a page; the transport tells the learner what was
// found. Of a visit that colly refused the transport saw nothing: the page is given
// back here, or the learner would wait for ever; and removed if robots.txt forbids
// it, or the learner would ask for it again and again.
func (c *crawler) fetch(v visit) error {
	err := c.collector.Visit(c.urls[v.page])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	c.free.Broadcast()
	switch {
	case c.answers[v.page] != v.answers: // errors of the network are polls too
	case errors.Is(err, colly.ErrRobotsTxtBlocked):
		c.failed++
		c.remove(v.page)
	default:
		c.failed++
		c.giveBack(v.page)
	}
	return c.err
}

// found is told of each poll by the transport, in the goroutine of its worker.
func (c *crawler) found(p live.Poll) {
	c.mu.Lock()
	defer c.mu.Unlock()
	page, ok := c.pages[p.URL]
	switch {
	case !ok || !c.asked[page]: // robots.txt, or one of the first copies
	case p.Err != nil:
		c.failed++
		c.giveBack(page)
	case p.First: // nothing to compare with
		c.giveBack(page)
	default:
		c.answer(page, c.learner.Observe(page, c.clock.now(), p.Changed))
		c.polls++
		if p.Changed {
			c.changed++
		}
		c.progress = append(c.progress, float64(c.changed))
	}
}

func (c *crawler) giveBack(page int) { c.answer(page, c.learner.GiveBack(page, c.clock.now())) }

// remove lets the learner forget a page that must not be fetched. Colly reads
// robots.txt once; a crawler that reads it again would add the page when it may.
func (c *crawler) remove(page int) {
	c.forbidden++
	c.answer(page, c.learner.Remove(page))
}

// answer notes that the learner has its answer.
func (c *crawler) answer(page int, err error) {
	c.asked[page] = false
	c.answers[page]++
	c.err = errors.Join(c.err, err)
}

// copyAll fetches every page once, for a copy to compare with.
func (c *crawler) copyAll() error {
	for page, url := range c.urls {
		err := c.collector.Visit(url)
		if errors.Is(err, colly.ErrRobotsTxtBlocked) {
			c.remove(page)
		} else if err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
	}
	return c.err
}
