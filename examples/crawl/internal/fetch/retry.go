package fetch

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/recrawl/recrawl/webenv/live"
)

// LongestRest is the longest that a server may have itself left alone by one answer. A page that is asked
// for once a week is no burden, and a Retry-After of a century is a mistake.
const LongestRest = 7 * 24 * time.Hour

// restUntil returns the time in Retry-After, LongestRest from now at most; the zero time if there is none.
func restUntil(h http.Header, now time.Time) time.Time {
	until := live.RetryAfter(h, now)
	if latest := now.Add(LongestRest); until.After(latest) {
		return latest
	}
	return until
}

// Impatience is the number of pages in a row that are not to be asked for after which the whole host is left
// alone until the time that the last one named: so many are not busy each by itself.
const Impatience = 3

// ErrRests reports a redirect to a host that does not want to be asked now.
var ErrRests = errors.New("fetch: the host does not want to be asked")

// A restError is an ErrRests.
type restError struct {
	host  string
	until time.Time
}

func (e *restError) Error() string {
	return fmt.Sprintf("%s does not want to be asked before %s", e.host, e.until.Format(time.RFC3339))
}

func (e *restError) Unwrap() error { return ErrRests }

// resting are the hosts that do not want to be asked, for documents or by redirects. When a host's own pages
// are asked for is the shards' matter.
type resting struct {
	mu        sync.Mutex
	documents map[string]said // by any that was asked for
	pages     map[string]said // by several in a row
}

// A said is what a host said the latest so many times in a row.
type said struct {
	until time.Time
	times int
}

// mostResting is the number of hosts that are remembered: a page may redirect to a new one at each poll.
const mostResting = 10_000

// document takes note of an answer of a host that is no document.
func (r *resting) document(host string, until, now time.Time) {
	if !until.After(now) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	remember(&r.documents, host, until, now)
}

// page takes note of an answer of a host that a page is not to be asked for.
func (r *resting) page(host string, until, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remember(&r.pages, host, until, now)
}

// answered takes note of a page of a host that was no such answer.
func (r *resting) answered(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pages, host)
}

func remember(hosts *map[string]said, host string, until, now time.Time) {
	all := *hosts
	if all == nil {
		all = map[string]said{}
		*hosts = all
	}
	if len(all) >= mostResting {
		maps.DeleteFunc(all, func(_ string, s said) bool { return !s.until.After(now) })
		for other := range all {
			if len(all) <= mostResting*9/10 { // not one by one, each of which would go through all
				break
			}
			delete(all, other)
		}
	}
	all[host] = said{until, all[host].times + 1}
}

// refuses returns an error if a host does not want to be asked now.
func (r *resting) refuses(host string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := r.documents[host].until
	if p := r.pages[host]; p.times >= Impatience && p.until.After(until) {
		until = p.until
	}
	if until.After(now) {
		return &restError{host, until}
	}
	return nil
}

// heed takes note of what a host said of a page. A redirect may have led to another host than the page's: what
// it said is no word of the page's host.
func (f *Fetcher) heed(host string, res *Result) {
	now, last := f.cfg.Clock.Now(), host
	if u, err := url.Parse(res.URL); err == nil && res.URL != "" {
		last, _ = hostOf(u) // it was asked
	}
	var rests *restError
	switch {
	case errors.As(res.Err, &rests):
		last, res.RetryAfter = rests.host, rests.until
	case res.Outcome() == live.Vetoed:
		until := res.RetryAfter
		if latest := now.Add(LongestRest); until.After(latest) {
			until = latest
		}
		f.rest.page(last, until, now)
	case res.Outcome() != live.Failed:
		f.rest.answered(last)
	}
	if last != host {
		res.Elsewhere = last
	}
}
