package recrawl_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
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

// A crawler polls pages, some at the same time. Its fields are what a file keeps of it.
type crawler struct {
	Copies *live.Transport         // finds out what changed
	Pages  *knapsack.Keyed[string] // says which page to poll, by URL
}

// open goes on from the file, or begins anew if there is none.
func open(file string) (*crawler, error) {
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	if err != nil {
		return nil, err
	}
	c := &crawler{new(live.Transport), knapsack.NewKeyed[string](filter)}
	saved, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	return c, gob.NewDecoder(bytes.NewReader(saved)).Decode(c)
}

// save may be called at any time. After a restart, polls that were in flight count as failed.
func (c *crawler) save(file string) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(c); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// poll spends one poll of the budget.
func (c *crawler) poll(ctx context.Context) error {
	url, err := c.Pages.Next(time.Now()) // ask
	if errors.Is(err, knapsack.ErrNoPage) {
		return nil // all pages are being fetched, or wait for a failure to pass: this poll is saved
	}
	if err != nil {
		return err
	}
	ctx, fetch := live.Begin(ctx, url)
	found := fetch.End(c.get(ctx, url))
	return live.Tell(c.Pages, url, time.Now(), found) // tell
}

// get is the crawler's own fetching.
func (c *crawler) get(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "my-crawler (+https://example.org/crawler)")
	client := http.Client{Transport: c.Copies, Timeout: 30 * time.Second}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// Or into a store, which a 304 has no body for. If the store fails, the page is fetched again.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 10<<20))
	return err
}

func Example_quickStart() {
	// A web in which only the news change stands in for yours, and a poll a millisecond for
	// your budget.
	var requests, stories atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/news" {
			for k := stories.Add(1); k > 0; k-- {
				fmt.Fprintf(w, "<p>Story %d\n", k)
			}
		}
	}))
	defer web.Close()
	dir, err := os.MkdirTemp("", "recrawl")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "crawler.state")

	for range 2 { // runs: the second goes on where the first ended
		c, err := open(file)
		if err != nil {
			log.Fatal(err)
		}
		for _, page := range []string{"/news", "/terms", "/about", "/jobs"} {
			c.Pages.Add(web.URL + page) // what is there already stays as it is
		}
		var polls sync.WaitGroup
		for range 2 { // polls at a time
			polls.Go(func() {
				for range 100 {
					time.Sleep(2 * time.Millisecond)
					if err := c.poll(context.Background()); err != nil {
						log.Print(err)
					}
				}
			})
		}
		polls.Wait()
		if err := c.save(file); err != nil {
			log.Fatal(err)
		}
		fmt.Println("a third of the requests and more are for the news:", 3*stories.Load() > requests.Load())
	}
	// Output:
	// a third of the requests and more are for the news: true
	// a third of the requests and more are for the news: true
}
