package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
)

// Totals are what a crawler has reached so far. They assume that it is the only crawler, and that
// it took a copy of each page when the server was made.
type Totals struct {
	Now         float64 `json:"now"` // time of the environment
	Pages       int     `json:"pages"`
	Polls       int     `json:"polls"`        // GETs of a page that were answered
	NotModified int     `json:"not_modified"` // those answered with 304
	Detected    int     `json:"detected"`     // polls that found the page changed since the poll before
	Failed      int     `json:"failed"`       // requests for a page that did not get it, including 412 and 416
	Violations  int     `json:"violations"`   // requests before the time given by Retry-After or Crawl-delay
	Freshness   float64 `json:"freshness"`    // as in webenv.Result, by the last poll of each page
	Age         float64 `json:"age"`
}

// PageTruth is the truth about one page.
type PageTruth struct {
	Page     int      `json:"page"`
	URL      string   `json:"url"`              // as in the sitemap, without the host
	Version  int      `json:"version"`          // from 1
	Modified float64  `json:"modified"`         // time of the change as in Last-Modified, not rounded
	Requests int      `json:"requests"`         // requests for the page, answered or not, without redirects
	Current  bool     `json:"current"`          // no change since the last copy given to a GET
	Faults   *Faults  `json:"faults,omitempty"` // if it has any
	Rate     *float64 `json:"rate,omitempty"`   // if the environment knows it; at most math.MaxFloat64
}

// Truth is the answer of /truth.
type Truth struct {
	Totals Totals      `json:"totals"`
	Pages  []PageTruth `json:"pages"`
}

// Totals looks at all pages and returns what a crawler has reached so far. O(pages).
func (s *Server) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	stale, age := s.staleSum, s.ageSum
	for page := range s.version {
		s.look(page)
		if since := s.stale[page]; since <= s.now {
			d := s.now - since
			stale += d
			age += float64(d * d / 2)
		}
	}
	t := s.totals
	t.Now, t.Freshness = s.now, 1
	if span := s.now - s.start; span > 0 {
		t.Freshness, t.Age = 1-perPage(stale, t.Pages)/span, perPage(age, t.Pages)/span
	}
	return t
}

// perPage divides a sum by a number of pages. A sum that has overflowed, as that of ages does after
// 10^154 units of time, counts as the largest float, because JSON has no infinity.
func perPage(sum float64, pages int) float64 { return min(sum, math.MaxFloat64) / float64(pages) }

// PageTruth looks at a page and returns the truth about it.
func (s *Server) PageTruth(page int) PageTruth {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.look(page)
	t := PageTruth{
		Page: page, URL: s.URL(page), Version: int(s.version[page]), Requests: int(s.requests[page]),
		Modified: s.modified[page], Current: s.stale[page] > s.now,
	}
	if f := s.faults(page); f != (Faults{}) {
		t.Faults = &f
	}
	if env, ok := s.env.(rater); ok {
		rate := min(env.Rate(page, s.now), math.MaxFloat64)
		t.Rate = &rate
	}
	return t
}

// serveTruth writes a Truth page by page, so that a million pages need no memory.
func (s *Server) serveTruth(w http.ResponseWriter, r *http.Request) {
	from, to := 0, len(s.version)
	if text := r.URL.Query().Get("page"); text != "" {
		page, ok := index(text, to)
		if !ok {
			http.NotFound(w, r)
			return
		}
		from, to = page, page+1
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	if r.Method == http.MethodHead {
		return
	}
	b := bufio.NewWriter(w)
	totals, _ := json.Marshal(s.Totals()) // plain numbers cannot fail
	fmt.Fprintf(b, "{\"totals\":%s,\n\"pages\":[", totals)
	for page := from; page < to; page++ {
		if page > from {
			io.WriteString(b, ",\n")
		}
		truth, _ := json.Marshal(s.PageTruth(page))
		b.Write(truth)
	}
	io.WriteString(b, "]}\n")
	_ = b.Flush()
}
