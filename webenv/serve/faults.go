package serve

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Faults are the ways in which a page misbehaves. They can be combined; a page with the zero value
// behaves well. The truth counts what was really served: an answer that fails, or that the client
// does not wait for, is no poll, and a copy that differs from the one before only in noise is no
// change.
type Faults struct {
	// Nonce puts a new token into the markup of every answer. Clock puts the time of the answer
	// into its text. Advertisements is the number of lines of which each answer has a random one.
	// Such a page has neither ETag nor Last-Modified.
	Nonce          bool `json:"nonce,omitempty"`
	Clock          bool `json:"clock,omitempty"`
	Advertisements int  `json:"advertisements,omitempty"`

	// Backends is the number of machines that serve the page. Each has its own ETags, and each
	// answer comes from a random one.
	Backends int `json:"backends,omitempty"`
	// FreshDate sets Last-Modified to two seconds before the answer, whether the page changed or
	// not. StuckDate leaves it at the start for ever, so that a conditional request hides changes.
	// Such a page has no ETag.
	FreshDate bool `json:"fresh_date,omitempty"`
	StuckDate bool `json:"stuck_date,omitempty"`
	// Gzip compresses the body for clients that accept it, into different bytes each time.
	Gzip bool `json:"gzip,omitempty"`
	// Session redirects to a URL with a new session in it.
	Session bool `json:"session,omitempty"`

	// Unavailable is the probability of an answer 503, Silent that of no answer at all, and Cut
	// that of an answer that breaks off in the middle of the body.
	Unavailable float64 `json:"unavailable,omitempty"`
	Silent      float64 `json:"silent,omitempty"`
	Cut         float64 `json:"cut,omitempty"`
	// Slow is how long the body takes, in nanoseconds in JSON.
	Slow time.Duration `json:"slow,omitempty"`
	// Busy is the least time between two answers, in the unit of the environment. An earlier
	// request gets 429 with Retry-After. Another request before that time is over counts in
	// Totals.Violations.
	Busy float64 `json:"busy,omitempty"`
	// Dying makes the page alternate between alive and dead (404). It is how long each state lasts,
	// in the unit of the environment. Pages start at different points of this cycle.
	Dying float64 `json:"dying,omitempty"`
}

const (
	// freshAge is more than the second after which RFC 9110, section 8.8.2.2, takes a date to be
	// reliable.
	freshAge = 2 * time.Second
	// silence is how long a request without an answer is held, unless the client gives up.
	silence = time.Hour
	// slowPieces is the number of pieces of a slow body. It is large enough that a time limit can
	// end in the middle of the body.
	slowPieces = 10
	// phase spreads the lives of the pages evenly. It is the fractional part of the golden ratio.
	phase = math.Phi - 1
)

func (f Faults) check() error {
	for _, p := range []struct {
		name  string
		value float64
		most  float64
	}{
		{"advertisements", float64(f.Advertisements), math.MaxInt32},
		{"backends", float64(f.Backends), math.MaxInt32},
		{"unavailable", f.Unavailable, 1},
		{"silent", f.Silent, 1},
		{"cut", f.Cut, 1},
		{"slow", float64(f.Slow), math.MaxInt64},
		{"busy", f.Busy, math.MaxFloat64},
		{"dying", f.Dying, math.MaxFloat64},
	} {
		if !(p.value >= 0 && p.value <= p.most) {
			return fmt.Errorf("%w: %s %v", ErrConfig, p.name, p.value)
		}
	}
	return nil
}

// changing reports whether the body may differ although the page did not change.
func (f Faults) changing() bool { return f.Nonce || f.Clock || f.Advertisements > 0 }

// dead reports whether a page is dead at a time since the start.
func (f Faults) dead(page int, t float64) bool {
	return f.Dying > 0 && math.Mod(t/f.Dying+2*math.Mod(phase*float64(page), 1), 2) >= 1
}

// write writes the parts of a body that change although the page does not.
func (f Faults) write(b *bytes.Buffer, a *answer) {
	if f.Nonce {
		fmt.Fprintf(b, "<input type=\"hidden\" name=\"token\" value=\"%016x\">\n", a.token)
	}
	if f.Clock {
		fmt.Fprintf(b, "<p>Made at %s.</p>\n", a.now.Format(time.RFC3339Nano))
	}
	if f.Advertisements > 0 {
		fmt.Fprintf(b, "<p>Advertisement: buy number %d.</p>\n", a.advertisement)
	}
}

// chance has the random numbers drawn for a request.
type chance struct {
	latency                  time.Duration
	unavailable, silent, cut bool
	token                    uint64
	advertisement, backend   int
}

func (s *Server) faults(page int) Faults {
	if s.cfg.Faults == nil {
		return Faults{}
	}
	return s.cfg.Faults(page)
}

// draw draws the random numbers for a request.
func (s *Server) draw(page int, f Faults) (c chance) {
	if s.rng == nil {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Latency != nil {
		c.latency = s.cfg.Latency(page, s.rng)
	}
	if s.cfg.Faults != nil {
		c.unavailable = s.rng.Float64() < f.Unavailable
		c.silent = s.rng.Float64() < f.Silent
		c.cut = s.rng.Float64() < f.Cut
		c.token = s.rng.Uint64()
		c.advertisement = s.rng.IntN(max(f.Advertisements, 1))
		c.backend = s.rng.IntN(max(f.Backends, 1))
	}
	return c
}

// quota is what a busy page allows.
type quota struct {
	next float64 // time of the next answer
	told bool    // a client was told to wait for it
}

// veto returns how many seconds too early a request is. It counts a violation if the Crawl-delay is
// not over, or if a client was told to wait for a later time. The lock is held.
func (s *Server) veto(page int) float64 {
	if s.now-s.asked < s.cfg.CrawlDelay*s.second {
		s.totals.Violations++
	}
	s.asked = s.now
	q, known := s.quota[page]
	if !known || s.now >= q.next {
		return 0
	}
	if q.told {
		s.totals.Violations++
	}
	return (q.next - s.now) / s.second
}

// answered notes the answer of a busy page. After 429 a client knows that it must wait. After any
// other answer the time to the next one begins. Silence is neither. The lock is held.
func (s *Server) answered(page int, f Faults, status int) {
	switch {
	case f.Busy == 0 || status < 0:
	case status == http.StatusTooManyRequests:
		s.quota[page] = quota{s.quota[page].next, true}
	default:
		if q, known := s.quota[page]; !known || s.now >= q.next {
			s.quota[page] = quota{next: s.now + f.Busy}
		}
	}
}

// refusal returns the status for a request that gets no page, −1 for one that gets no answer, and 0
// for one that gets its page. It also returns the seconds to wait.
func (s *Server) refusal(page int, f Faults, c chance) (status int, wait float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.requests[page]++
	wait = s.veto(page)
	switch {
	case c.silent:
		status = -1
	case f.dead(page, s.now-s.start):
		status = http.StatusNotFound
	case wait > 0:
		status = http.StatusTooManyRequests
	case c.unavailable:
		status = http.StatusServiceUnavailable
	}
	s.answered(page, f, status)
	if status != 0 {
		s.totals.Failed++
	}
	return status, wait
}

// refuse answers a request that gets no page, and reports whether it did.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, page int, f Faults, c chance) bool {
	status, wait := s.refusal(page, f, c)
	switch status {
	case 0:
		return false
	case -1:
		s.sleep(r.Context(), silence)
		panic(http.ErrAbortHandler)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(wait), 'f', 0, 64))
	}
	http.Error(w, "simulated failure", status)
	return true
}

// cutSession returns a path without its session, and whether there was one.
func cutSession(path string) (rest string, session bool) {
	if after, ok := strings.CutPrefix(path, "/session/"); ok {
		if _, rest, ok := strings.Cut(after, "/"); ok {
			return "/" + rest, true
		}
	}
	return path, false
}

// unconditional returns a request for the whole page.
func unconditional(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	for name := range r.Header {
		if strings.HasPrefix(name, "If-") || name == "Range" {
			delete(r.Header, name)
		}
	}
	return r
}

// acceptsGzip reports whether a request wants a body compressed (RFC 9110, section 12.5.3).
func acceptsGzip(h http.Header) bool {
	any := false
	for field := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		coding, weight, weighted := strings.Cut(field, ";")
		wanted := true
		if weighted {
			_, text, _ := strings.Cut(weight, "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			wanted = err == nil && q > 0
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			return wanted
		case "*":
			any = wanted
		}
	}
	return any
}

// compress replaces a body by its compressed form, which holds a token.
func compress(b *bytes.Buffer, token uint64) {
	plain := bytes.Clone(b.Bytes())
	b.Reset()
	z := gzip.NewWriter(b)
	z.Comment = strconv.FormatUint(token, 16)
	_, _ = z.Write(plain) // a Buffer takes all
	_ = z.Close()
}

// spoiled returns a writer for a body of n bytes. The writer is slow or breaks off if the faults
// demand it.
func (s *Server) spoiled(w http.ResponseWriter, r *http.Request, n int, f Faults, c chance) http.ResponseWriter {
	if r.Method != http.MethodGet || !c.cut && f.Slow == 0 {
		return w
	}
	sw := &spoiledWriter{ResponseWriter: w, left: math.MaxInt, piece: n, pause: func() error { return nil }}
	if c.cut {
		sw.left = n / 2
	}
	if f.Slow > 0 {
		sw.piece = max((n+slowPieces-1)/slowPieces, 1) // also of an error where the page is empty
		sw.pause = func() error {
			s.sleep(r.Context(), f.Slow/slowPieces)
			return r.Context().Err()
		}
	}
	return sw
}

// spoiledWriter writes in pieces, and breaks off when no bytes are left.
type spoiledWriter struct {
	http.ResponseWriter
	left  int // bytes left before it breaks off
	piece int
	rest  int          // of the present piece
	pause func() error // called before each piece; an error is that the client has gone
}

func (w *spoiledWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if w.rest == 0 { // a piece may be longer than b
			if err := w.pause(); err != nil {
				return n, err
			}
			w.rest = w.piece
		}
		m, err := w.ResponseWriter.Write(b[:min(len(b), w.rest, w.left)])
		w.rest -= m
		if n += m; err != nil {
			return n, err
		}
		_ = http.NewResponseController(w.ResponseWriter).Flush() // if the writer can do that
		if w.left -= m; w.left == 0 {
			panic(http.ErrAbortHandler)
		}
		b = b[m:]
	}
	return n, nil
}
