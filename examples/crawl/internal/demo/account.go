package demo

import (
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// An Account compares what a crawler learns with what the web knows, poll by poll. It is safe for
// concurrent use.
type Account struct {
	web *Web

	mu    sync.Mutex
	known map[string]copied
	Sums
}

// copied is the crawler's copy of a page.
type copied struct {
	version int
	at      time.Time
}

// Sums are what an Account counts.
type Sums struct {
	Polls     int // that were learnt from
	Failed    int
	Vetoed    int
	Forbidden int // pages that robots.txt forbids, not asked for
	Reported  int // changes that the crawler reports
	False     int // of them, where the page had not changed
	Missed    int // copies taken that had changed, and the crawler did not see it
	Found     int // changes of pages in what was found, also more than one in a poll
	Delay     float64
}

// NewAccount returns an account of a web.
func NewAccount(web *Web) *Account {
	return &Account{web: web, known: map[string]copied{}}
}

// Applied takes an event that the crawler has learnt.
func (a *Account) Applied(_ int, e *shard.Event) {
	if e.Kind != shard.Polled {
		return
	}
	served, ok := a.web.Witness.Take(e.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.Result == shard.Forbidden:
		a.Forbidden++
		return
	case e.Result == shard.Vetoed:
		a.Vetoed++
		return
	case !e.Result.Answered() && e.Result != shard.First:
		a.Failed++
		return
	}
	before, known := a.known[e.URL]
	changed := ok && known && served.Version > before.version
	if e.Result != shard.First {
		a.Polls++
		reported := e.Result == shard.Changed
		switch {
		case reported:
			a.Reported++
			if !changed {
				a.False++
			}
		case changed:
			a.Missed++
		}
	}
	if changed {
		n, delay := a.web.changes(e.URL, before.at, e.At)
		a.Found += n
		a.Delay += delay
	}
	if v := max(before.version, served.Version); v > 0 {
		at := before.at
		if !known || changed {
			at = e.At
		}
		a.known[e.URL] = copied{v, at}
	}
}

// Now returns the sums so far, with the delays until now of the changes that are not found, and how
// many changes there were since the first copies.
func (a *Account) Now(now time.Time) (sums Sums, changes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	sums = a.Sums
	changes = sums.Found
	for url, c := range a.known {
		n, delay := a.web.changes(url, c.at, now)
		changes += n
		sums.Delay += delay
	}
	return sums, changes
}
