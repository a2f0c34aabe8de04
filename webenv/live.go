package webenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
)

// ErrURL reports a URL that is not absolute, not http or https, or not the
// first of its kind in the list.
var ErrURL = errors.New("webenv: bad URL")

// LiveConfig describes a [Live] environment. The zero value can be used.
type LiveConfig struct {
	// Client makes the requests; nil is one with a time limit of 30 seconds.
	// Its Transport is wrapped as a [Transport] does, so it should not be one.
	Client *http.Client
	// Header is sent with each request. A crawler should say who it is, in
	// User-Agent.
	Header http.Header
	// Calendar tells what time a Last-Modified is. The times passed to Poll must
	// be by this calendar: seconds since 1970, for the zero value.
	Calendar Calendar
	// MaxBytes is the most that is read of a body; 0 means 10 MiB. A longer one
	// gives [ErrClosedEarly], unless ETag or Last-Modified decide.
	MaxBytes int64
	// OnPoll, if not nil, is told of each request, redirects included. It must
	// be safe for concurrent use if the Live is used so.
	OnPoll func(page int, poll HTTPPoll)
	// Clock is the clock of the wire times; nil is [time.Now].
	Clock func() time.Time
}

const maxLiveBytes = 10 << 20

// Live is an environment of real pages. Page i is at the i-th URL, and has
// changed if the answer to a conditional GET differs from the copy before, as a
// [Transport] decides. Redirects are followed: a page has also changed if it
// redirects elsewhere than before, or to a page that has changed.
//
// The first poll of a page takes the first copy and is no change. A poll that
// fails is no change either; what it may have missed is found by the next one.
//
// A poll waits for its answer. Live does not read robots.txt and does not pause
// between requests: which page to poll, and when, is up to the caller. It is safe
// for concurrent use, but polls of one page should not overlap. It keeps what a
// Transport keeps, 25 bytes a page and a request for each URL.
type Live struct {
	cfg       LiveConfig
	transport Transport
	requests  []*http.Request // templates

	mu     sync.Mutex
	last   []float64 // time of the previous poll that did not fail, −Inf if none
	owed   []bool    // a request of a poll that failed later found a change
	err    []error   // of the latest poll
	failed int
}

// NewLive returns an environment of the pages at the given URLs. It sends
// nothing yet.
func NewLive(urls []string, cfg LiveConfig) (*Live, error) {
	if len(urls) == 0 {
		return nil, ErrNoPages
	}
	if cfg.MaxBytes < 0 || cfg.Calendar.Unit < 0 {
		return nil, fmt.Errorf("%w: at most %d bytes, calendar unit %v", ErrParameter, cfg.MaxBytes, cfg.Calendar.Unit)
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: 30 * time.Second}
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = maxLiveBytes
	}
	l := &Live{
		cfg:       cfg,
		transport: Transport{Base: cfg.Client.Transport, Now: cfg.Clock},
		requests:  make([]*http.Request, len(urls)),
		last:      slices.Repeat([]float64{math.Inf(-1)}, len(urls)),
		owed:      make([]bool, len(urls)),
		err:       make([]error, len(urls)),
	}
	pages := make(map[string]int, len(urls))
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%w: page %d: %q", ErrURL, i, text)
		}
		r := &http.Request{Method: http.MethodGet, URL: u, Header: cfg.Header, Host: u.Host}
		if other, seen := pages[pageURL(r)]; seen {
			return nil, fmt.Errorf("%w: page %d: %q is page %d", ErrURL, i, text, other)
		}
		pages[pageURL(r)] = i
		l.requests[i] = r
	}
	return l, nil
}

// Len returns the number of pages.
func (l *Live) Len() int { return len(l.requests) }

// hops makes the requests of one poll of one page. The copies are kept by
// page and URL, since pages may redirect to one another.
type hops struct {
	live    *Live
	page    int
	changed bool     // of any request
	poll    HTTPPoll // the latest
}

// RoundTrip implements [http.RoundTripper].
func (h *hops) RoundTrip(r *http.Request) (*http.Response, error) {
	url := pageURL(r)
	return h.live.transport.roundTrip(r, url, h.live.key(h.page, url), func(p HTTPPoll) {
		h.poll = p
		h.changed = h.changed || p.Changed
		if h.live.cfg.OnPoll != nil {
			h.live.cfg.OnPoll(h.page, p)
		}
	})
}

func (l *Live) key(page int, url string) key {
	return keyOf(pageURL(l.requests[page]) + "\n" + url)
}

// PollContext polls a page at time now and waits for the answer. The results
// are those of [Env]. The true time of a change is not known: since is
// Last-Modified, if that is after the previous poll that did not fail and not
// after now, and else now. An error is one of the client, wraps [ErrStatus], or
// is [ErrClosedEarly].
//
// Like Poll it panics if there is no such page or time went back.
func (l *Live) PollContext(ctx context.Context, page int, now float64) (since float64, changed bool, err error) {
	last := l.lastPoll(page)
	checkTime(page, now, last)

	h := hops{live: l, page: page}
	err = h.get(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.err[page] = err
	changed = h.changed || l.owed[page]
	l.owed[page] = changed && err != nil
	if err != nil {
		l.failed++
		return 0, false, err
	}
	l.last[page] = now
	if !changed {
		return 0, false, nil
	}
	if d := h.poll.LastModified; !d.IsZero() {
		if t := l.cfg.Calendar.Time(d); t > last && t <= now {
			return t, true, nil
		}
	}
	return now, true, nil
}

// lastPoll returns the time of the previous poll of a page that did not fail.
func (l *Live) lastPoll(page int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[page]
}

// get makes the requests and reads the page.
func (h *hops) get(ctx context.Context) error {
	l := h.live
	client := *l.cfg.Client
	client.Transport = h
	// Clone: the client may add cookies to the header.
	r := l.requests[h.page].Clone(ctx)
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, l.cfg.MaxBytes))
	if err == nil && n == l.cfg.MaxBytes {
		// At the limit only another read tells whether this was the end.
		_, _ = resp.Body.Read(make([]byte, 1))
	}
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if h.poll.Err != nil {
		return h.poll.Err
	}
	return err
}

// Poll implements [Env]. An error counts as no change; Err tells it.
func (l *Live) Poll(page int, now float64) (since float64, changed bool) {
	since, changed, _ = l.PollContext(context.Background(), page, now)
	return since, changed
}

// Err returns the error of the latest poll of a page, nil if it did not fail.
func (l *Live) Err(page int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err[page]
}

// Failed returns the number of polls that failed.
func (l *Live) Failed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

const (
	liveMagic   = "webenv.Live"
	liveVersion = 1
)

// AppendBinary implements [encoding.BinaryAppender].
func (l *Live) AppendBinary(b []byte) ([]byte, error) {
	copies, err := l.transport.MarshalBinary()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := codec.NewEncoder(b, liveMagic, liveVersion)
	e.Bytes(copies)
	e.Int(len(l.requests))
	for page, r := range l.requests {
		k := keyOf(pageURL(r))
		e.Bytes(k[:])
		e.Float64(l.last[page])
		e.Bool(l.owed[page])
	}
	return e.Finish()
}

// MarshalBinary implements [encoding.BinaryMarshaler]: it saves what is
// remembered of the copies, so that after a restart a poll tells what changed
// since the poll before it.
func (l *Live) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler], for an environment
// made by [NewLive]. Its list of URLs may be another than the one saved: a page
// is known by its URL, and one that was not there starts anew. An error wraps
// [ErrCorrupt] or [ErrVersion] and changes nothing.
func (l *Live) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, liveMagic, liveVersion)
	if err != nil {
		return err
	}
	pages := make(map[key]int, len(l.requests))
	for page, r := range l.requests {
		pages[keyOf(pageURL(r))] = page
	}
	last := slices.Repeat([]float64{math.Inf(-1)}, len(l.requests))
	owed := make([]bool, len(l.requests))
	copies := d.Bytes()
	n := d.Int()
	if n <= 0 {
		d.Fail("%d pages", n)
	}
	for i := 0; i < n && d.Err() == nil; i++ {
		k := key(decodeHash(d))
		time, owes := d.Float64(), d.Bool()
		if !(time <= math.MaxFloat64) {
			d.Fail("page %d polled at %v", i, time)
		}
		if page, ok := pages[k]; ok {
			last[page], owed[page] = time, owes
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	if err := l.transport.UnmarshalBinary(copies); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.owed = last, owed
	l.err, l.failed = make([]error, len(last)), 0
	return nil
}
