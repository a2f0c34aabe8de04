package live

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv"
)

// Config describes [Pages]. The zero value can be used.
type Config struct {
	// Client makes the requests; nil is one with a time limit of 30 seconds. Its Transport is
	// wrapped as a [Transport] does, so it should not be one.
	Client *http.Client
	// Header is sent with each request. A crawler should say who it is, in User-Agent.
	Header http.Header
	// Calendar gives the time of a Last-Modified. The times passed to Poll must be by this
	// calendar: seconds since 1970, for the zero value.
	Calendar webenv.Calendar
	// MaxBytes is the most that is read of a body; 0 means 10 MiB. A longer one is compared by
	// its beginning.
	MaxBytes int64
	// Exact, Numbers and Fingerprint are those of the [Transport].
	Exact, Numbers bool
	Fingerprint    func(*http.Response, []byte) ([]byte, error)
	// OnPoll, if not nil, is told of each request, redirects included. It must be safe for
	// concurrent use if the Pages are used so.
	OnPoll func(page int, poll Poll)
	// Now is the clock of the wire times; nil is [time.Now].
	Now func() time.Time
}

const (
	// defaultMaxBytes is what a body may have. HTML pages above 10 MiB are not seen in crawls;
	// what is longer is a download.
	defaultMaxBytes = 10 << 20
	// defaultTimeout ends a request where the caller gave no client.
	defaultTimeout = 30 * time.Second
)

// Pages is an environment ([webenv.Env]) of real pages: page i is at the i-th URL given to
// [New]. Use PollContext to poll a page and get the error; Poll and Err serve
// [webenv.Run]. A poll waits for its answer.
//
// A page has changed if the answer to a conditional GET differs from the copy before, as a
// [Transport] decides. Redirects are followed: a page has also changed if it redirects
// elsewhere than before, or to a page that has changed. The first poll of a page takes the
// first copy and is no change. A poll that fails is no change either; the next one finds what
// it may have missed.
//
// Pages does not read robots.txt and does not pause between requests: the caller decides which
// page to poll, and when. It is safe for concurrent use, but polls of one page should not
// overlap.
//
// # Cost
//
// Memory: what a Transport keeps, 25 bytes a page and a request for each URL.
type Pages struct {
	cfg       Config
	transport Transport
	requests  []*http.Request // templates

	mu   sync.Mutex
	last []float64 // time of the previous poll that did not fail, −Inf if none
	owed []bool    // a request of a poll that failed later found a change
	err  []error   // of the latest poll
}

// New returns an environment of the pages at the given URLs. It sends nothing yet.
func New(urls []string, cfg Config) (*Pages, error) {
	if len(urls) == 0 {
		return nil, fmt.Errorf("%w: no URLs", ErrConfig)
	}
	if cfg.MaxBytes < 0 || cfg.Calendar.Unit < 0 {
		return nil, fmt.Errorf("%w: at most %d bytes, calendar unit %v", ErrConfig, cfg.MaxBytes, cfg.Calendar.Unit)
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: defaultTimeout}
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	p := &Pages{
		cfg: cfg,
		transport: Transport{Base: cfg.Client.Transport, Now: cfg.Now,
			Exact: cfg.Exact, Numbers: cfg.Numbers, Fingerprint: cfg.Fingerprint},
		requests: make([]*http.Request, len(urls)),
		last:     slices.Repeat([]float64{math.Inf(-1)}, len(urls)),
		owed:     make([]bool, len(urls)),
		err:      make([]error, len(urls)),
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
		p.requests[i] = r
	}
	return p, nil
}

// Len returns the number of pages.
func (p *Pages) Len() int { return len(p.requests) }

// hops makes the requests of one poll of one page. The copies are kept by page and URL, since
// pages may redirect to one another.
type hops struct {
	pages   *Pages
	page    int
	changed bool // of any request
	poll    Poll // the latest
}

// RoundTrip implements [http.RoundTripper].
func (h *hops) RoundTrip(r *http.Request) (*http.Response, error) {
	url := pageURL(r)
	return h.pages.transport.roundTrip(r, url, h.pages.key(h.page, url), func(found Poll) {
		h.poll = found
		h.changed = h.changed || found.Changed
		if h.pages.cfg.OnPoll != nil {
			h.pages.cfg.OnPoll(h.page, found)
		}
	})
}

func (p *Pages) key(page int, url string) key {
	return keyOf(pageURL(p.requests[page]) + "\n" + url)
}

// PollContext polls a page at time now and waits for the answer. The results are those of
// [webenv.Env]. The true time of a change is not known: since is Last-Modified, if that is
// after the previous poll that did not fail and not after now, and else now. An error is one of
// the client, wraps [ErrStatus], or is [ErrClosedEarly].
//
// Like Poll it panics if there is no such page or time went back.
func (p *Pages) PollContext(ctx context.Context, page int, now float64) (since float64, changed bool, err error) {
	last := p.lastPoll(page)
	if !(now >= last && now <= math.MaxFloat64) {
		panic(fmt.Sprintf("live: poll of page %d at time %v after time %v", page, now, last))
	}

	h := hops{pages: p, page: page}
	err = h.get(ctx)

	p.mu.Lock()
	defer p.mu.Unlock()
	p.err[page] = err
	changed = h.changed || p.owed[page]
	p.owed[page] = changed && err != nil
	if err != nil {
		return 0, false, err
	}
	p.last[page] = now
	if !changed {
		return 0, false, nil
	}
	if d := h.poll.LastModified; !d.IsZero() {
		if t := p.cfg.Calendar.Time(d); t > last && t <= now {
			return t, true, nil
		}
	}
	return now, true, nil
}

// lastPoll returns the time of the previous poll of a page that did not fail.
func (p *Pages) lastPoll(page int) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[page]
}

// get makes the requests and reads the page.
func (h *hops) get(ctx context.Context) error {
	p := h.pages
	client := *p.cfg.Client
	client.Transport = h
	// Clone: the client may add cookies to the header.
	r := p.requests[h.page].Clone(ctx)
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, p.cfg.MaxBytes))
	if err == nil && n == p.cfg.MaxBytes {
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

// Poll implements [webenv.Env]. An error counts as no change; Err tells it.
func (p *Pages) Poll(page int, now float64) (since float64, changed bool) {
	since, changed, _ = p.PollContext(context.Background(), page, now)
	return since, changed
}

// Err returns the error of the latest poll of a page, nil if it did not fail.
func (p *Pages) Err(page int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err[page]
}

var pagesFormat = codec.Format{Magic: "recrawl/webenv/live.Pages", Version: 1}

// AppendBinary implements [encoding.BinaryAppender]; see MarshalBinary.
func (p *Pages) AppendBinary(b []byte) ([]byte, error) { return pagesFormat.Append(b, p.encode) }

// MarshalBinary implements [encoding.BinaryMarshaler]. It saves what is remembered of the
// copies, so that after a restart a poll finds what changed since the poll before it.
func (p *Pages) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler], for an environment made by [New].
// Its list of URLs may be another than the one saved: a page is known by its URL, and one that
// was not there starts anew. An error wraps [ErrCorrupt] and changes nothing.
func (p *Pages) UnmarshalBinary(data []byte) error {
	var saved savedPages
	if err := codec.Load(&saved, pagesFormat, data, (*savedPages).decode); err != nil {
		return err
	}
	if err := p.transport.UnmarshalBinary(saved.copies); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for page, r := range p.requests {
		state, ok := saved.pages[keyOf(pageURL(r))]
		if !ok {
			state.last = math.Inf(-1)
		}
		p.last[page], p.owed[page], p.err[page] = state.last, state.owed, nil
	}
	return nil
}

func (p *Pages) encode(e *codec.Encoder) {
	copies, _ := p.transport.MarshalBinary() // has no source, so it cannot fail
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Bytes(copies)
	e.Int(len(p.requests))
	for page, r := range p.requests {
		k := keyOf(pageURL(r))
		e.Bytes(k[:])
		e.Float64(p.last[page])
		e.Bool(p.owed[page])
	}
}

// savedPages is what is saved of Pages.
type savedPages struct {
	copies []byte
	pages  map[key]savedPage
}

type savedPage struct {
	last float64
	owed bool
}

func (s *savedPages) decode(d *codec.Decoder) {
	s.copies = d.Bytes()
	n := d.Count(1)
	d.Require(n > 0, "no pages")
	s.pages = make(map[key]savedPage, n)
	for range n {
		k := key(decodeHash(d))
		s.pages[k] = savedPage{d.Float64In(math.Inf(-1), math.MaxFloat64), d.Bool()}
	}
}
