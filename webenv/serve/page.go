package serve

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An answer is the answer to a request for a page.
type answer struct {
	chance
	version       uint32
	now, modified time.Time
	pending       bool // it is not yet known whether the answer gives a copy

	polled    bool    // counted as a poll whose body has not come to its end
	since, at float64 // of its copy: the first change that the copy before lacked, and when it was taken
}

// conditions are the headers because of which a request may get no copy of an existing page, but
// 304, 412 or 416.
var conditions = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Range"}

// take looks at a page. For a GET whose answer is sure to give a copy, it counts the copy as taken.
func (s *Server) take(r *http.Request, page int, f Faults, c chance) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.look(page)
	a := &answer{chance: c, version: s.version[page], now: s.cfg.Calendar.Date(s.now), modified: s.lastModified(page, f)}
	if r.Method != http.MethodGet {
		return a
	}
	a.pending = slices.ContainsFunc(conditions, func(name string) bool { return len(r.Header[name]) > 0 })
	switch {
	case a.pending:
	case c.cut:
		s.totals.Failed++
	default:
		s.totals.Polls++
		s.copied(page, a)
		a.polled = true
	}
	return a
}

// begun counts a GET when its status shows whether it gets a copy. A client that gets 304 keeps its
// copy, which is an old one if the page hides a change. If the page has changed since take, the
// copy is an old one too.
func (s *Server) begun(page int, a *answer, status int) {
	if !a.pending {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if status >= http.StatusBadRequest {
		s.totals.Failed++
		return
	}
	s.totals.Polls++
	switch {
	case status == http.StatusNotModified:
		s.totals.NotModified++
		return
	case s.version[page] == a.version:
		s.copied(page, a)
	}
	a.polled = true
}

// copied counts a copy that was taken. The lock is held.
func (s *Server) copied(page int, a *answer) {
	a.since, a.at = s.stale[page], s.now
	s.underWay[page] = append(s.underWay[page], a)
	if s.detected(a, 1) {
		s.stale[page] = math.Inf(1)
	}
}

// detected counts the change that a copy found, if any, n times. The lock is held.
func (s *Server) detected(a *answer, n int) bool {
	d := a.at - a.since
	if d < 0 {
		return false
	}
	s.totals.Detected += n
	s.staleSum += float64(float64(n) * d)
	s.ageSum += float64(float64(n) * d * d / 2)
	return true
}

// ended takes note of the end of a body. If the client has gone before it, the poll and its copy do
// not count, and what the copy found is found by the next one that was taken meanwhile, if any.
func (s *Server) ended(page int, a *answer, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !whole && a.polled {
		s.totals.Polls--
		s.totals.Failed++
	}
	all := s.underWay[page]
	i := slices.Index(all, a)
	switch {
	case i < 0: // it had no copy
		return
	case whole: // what copies before it found stays found
		for _, before := range all[:i] {
			before.since = math.Inf(1)
		}
	case !s.detected(a, -1):
	case i+1 < len(all):
		next := all[i+1]
		s.detected(next, -1)
		next.since = a.since
		s.detected(next, 1)
	default:
		s.stale[page] = a.since
	}
	if s.underWay[page] = slices.Delete(all, i, i+1); len(all) == 1 {
		delete(s.underWay, page)
	}
}

// lastModified returns the date of the last change of a page for its Last-Modified, or zero if it
// gives none. The lock is held.
//
// No two versions of a page that behaves well get the same date. Version v gets second k only after
// second k is over. Changes of later versions come after the look that gave that date, so they get
// later seconds.
func (s *Server) lastModified(page int, f Faults) time.Time {
	now, modified := s.cfg.Calendar.Date(s.now), s.modified[page]
	switch {
	case s.cfg.NoLastModified, f.changing() && !f.FreshDate:
		return time.Time{}
	case f.FreshDate:
		return now.Add(-freshAge).Truncate(time.Second)
	case f.StuckDate:
		modified = s.start
	}
	d := s.cfg.Calendar.Date(modified).Truncate(time.Second)
	if now.Sub(d) < time.Second {
		return time.Time{}
	}
	return d
}

// etag returns the ETag of an answer, or "".
func (s *Server) etag(page int, f Faults, a *answer) string {
	if s.cfg.NoETag || f.changing() || f.FreshDate || f.StuckDate {
		return ""
	}
	name := strconv.Itoa(page) + "-" + strconv.FormatUint(uint64(a.version), 10)
	if f.Backends > 1 {
		name += "-" + strconv.Itoa(a.backend)
	}
	return `"` + name + `"`
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// servePage answers a request for a page. session reports whether its URL has a session in it.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, page int, session bool) {
	f := s.faults(page)
	c := s.draw(page, f)
	if c.latency > 0 {
		s.sleep(r.Context(), c.latency)
		c.silent = c.silent || r.Context().Err() != nil // nobody waits for the answer any more
	}
	if f.Session && !session {
		url := s.path + fmt.Sprintf("/session/%016x", c.token) + strings.TrimPrefix(s.URL(page), s.path)
		http.Redirect(w, r, url, http.StatusFound)
		return
	}
	if s.refuse(w, r, page, f, c) {
		return
	}
	if c.cut {
		r = unconditional(r)
	}
	a := s.take(r, page, f, c)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	// A cache on the way must ask again; otherwise it would hide changes.
	h.Set("Cache-Control", "no-cache")
	if !a.now.IsZero() {
		h.Set("Date", a.now.Format(http.TimeFormat))
	}
	if etag := s.etag(page, f, a); etag != "" {
		h.Set("ETag", etag)
	}
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	s.write(body, page, f, a)
	if f.Gzip && acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		compress(body, c.token)
	}
	sw := statusWriter{s.spoiled(w, r, body.Len(), f, c), func(status int) { s.begun(page, a, status) }, true}
	http.ServeContent(&sw, r, "", a.modified, bytes.NewReader(body.Bytes()))
	s.ended(page, a, sw.whole)
}

// statusWriter calls a function with the status before it is sent, and notes whether all could be
// written.
type statusWriter struct {
	http.ResponseWriter
	begin func(status int)
	whole bool
}

func (w *statusWriter) Write(b []byte) (n int, err error) {
	n, err = w.ResponseWriter.Write(b)
	w.whole = w.whole && err == nil
	return n, err
}

func (w *statusWriter) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (s *Server) sleep(ctx context.Context, d time.Duration) {
	if s.cfg.Sleep != nil {
		s.cfg.Sleep(ctx, d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// listed is how many versions a page lists, the newest first, like a page of news. A single number
// that is replaced in place would look like a clock to the fingerprints of package live.
const listed = 24

// write writes the body of a version of a page. Page i links to pages 2i+1 and 2i+2, so all pages
// form a tree under page 0.
func (s *Server) write(b *bytes.Buffer, page int, f Faults, a *answer) {
	title := "page " + strconv.Itoa(page)
	if s.byName != nil {
		title = html.EscapeString(s.cfg.Names[page])
	}
	fmt.Fprintf(b, "<!DOCTYPE html>\n<title>%s</title>\n<h1>%s</h1>\n", title, title)
	for v := a.version; ; v-- {
		b.WriteString("<p>Version ")
		b.Write(strconv.AppendUint(b.AvailableBuffer(), uint64(v), 10))
		b.WriteString(".</p>\n")
		if v == 0 || a.version-v == listed-1 {
			break
		}
	}
	b.WriteString("<h2>More</h2>\n")
	f.write(b, a)
	for next := 2*page + 1; next <= 2*page+2 && next < len(s.version); next++ {
		fmt.Fprintf(b, "<a href=\"%s\">page %d</a>\n", html.EscapeString(s.URL(next)), next)
	}
	const filler = "The quick brown fox jumps over the lazy dog, and nothing else is new.\n"
	for b.Len() < s.cfg.Size {
		b.WriteString(filler[:min(len(filler), s.cfg.Size-b.Len())])
	}
}
