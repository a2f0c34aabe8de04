package recrawl_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv/live"
)

// A crawler polls pages, some at the same time.
type crawler struct {
	mu      sync.Mutex // learners are not safe for concurrent use
	learner *knapsack.RateFilter
	pages   *live.Pages // fetches and finds out what changed; safe for concurrent use
}

// state is what a file keeps of a crawler.
type state struct {
	Learner *knapsack.RateFilter
	Pages   *live.Pages
}

// open goes on from the file, or begins anew if there is none.
func open(ctx context.Context, urls []string, file string) (*crawler, error) {
	header := http.Header{"User-Agent": {"my-crawler (+https://example.org/crawler)"}}
	pages, err := live.New(urls, live.Config{Header: header})
	if err != nil {
		return nil, err
	}
	saved, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		for i := range urls { // the first copies, to compare with
			if _, _, err := pages.PollContext(ctx, i, now()); err != nil {
				log.Print(err) // then the first poll that gets an answer takes the copy
			}
		}
		learner, err := knapsack.NewRateFilter(len(urls), knapsack.RateFilterConfig{})
		return &crawler{learner: learner, pages: pages}, err
	}
	if err != nil {
		return nil, err
	}
	s := state{new(knapsack.RateFilter), pages}
	if err := gob.NewDecoder(bytes.NewReader(saved)).Decode(&s); err != nil {
		return nil, err
	}
	for page := range s.Learner.All() { // polls in flight when it was saved get no answer
		err := s.Learner.GiveBack(page, now())
		if err != nil && !errors.Is(err, knapsack.ErrNotAsked) {
			return nil, err
		}
	}
	return &crawler{learner: s.Learner, pages: s.Pages}, nil
}

// save may be called at any time.
func (c *crawler) save(file string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(state{c.learner, c.pages}); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// poll spends one poll of the budget.
func (c *crawler) poll(ctx context.Context) error {
	c.mu.Lock()
	asked := now()
	page, err := c.learner.Next(asked) // ask
	c.mu.Unlock()
	if errors.Is(err, knapsack.ErrNoPage) {
		return nil // all pages are being fetched: this poll is saved
	}
	if err != nil {
		return err
	}

	_, changed, err := c.pages.PollContext(ctx, knapsack.Slot(page), asked)

	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return errors.Join(err, c.learner.GiveBack(page, now())) // no answer
	}
	return c.learner.Observe(page, now(), changed) // tell
}

var start = time.Now()

// now is Unix time in seconds, which means the same after a restart. Within a run it does
// not go back when the clock is set.
func now() float64 { return float64(start.UnixNano())/1e9 + time.Since(start).Seconds() }

func Example_quickStart() {
	// A web in which only the news change stands in for yours, and a poll a millisecond for
	// your budget.
	var stories atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/news" {
			for k := stories.Add(1); k > 0; k-- {
				fmt.Fprintf(w, "<p>Story %d\n", k)
			}
		}
	}))
	defer web.Close()
	urls := []string{web.URL + "/news", web.URL + "/terms", web.URL + "/about", web.URL + "/jobs"}
	dir, err := os.MkdirTemp("", "recrawl")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "crawler.state")
	ctx := context.Background()

	for range 2 { // runs: the second goes on where the first ended
		c, err := open(ctx, urls, file)
		if err != nil {
			log.Fatal(err)
		}
		var polls sync.WaitGroup
		for range 200 {
			time.Sleep(time.Millisecond)
			polls.Go(func() {
				if err := c.poll(ctx); err != nil {
					log.Print(err)
				}
			})
		}
		polls.Wait()
		if err := c.save(file); err != nil {
			log.Fatal(err)
		}
		news, _ := c.learner.Rate(0)
		terms, _ := c.learner.Rate(1)
		fmt.Println("the news change more often than the terms:", news.Median > terms.Median)
	}
	// Output:
	// the news change more often than the terms: true
	// the news change more often than the terms: true
}
