package live

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv"
)

// Config describes [Pages]. The zero value can be used.
type Config struct {
	// Client makes the requests; nil means a client with a time limit of 30 seconds. Pages wraps
	// its Transport in a [Transport], so that should not be one already.
	Client *http.Client
	// Header is sent with each request. A crawler should name itself in User-Agent.
	Header http.Header
	// Calendar gives the time of a Last-Modified. The times passed to Poll must be times of this
	// calendar. For the zero value these are seconds since 1970.
	Calendar webenv.Calendar
	// MaxBytes is the most bytes that are read of a body; 0 means 10 MiB. A longer body is compared
	// by its beginning.
	MaxBytes int64
	// Exact, Numbers and Fingerprint are those of the [Transport].
	Exact, Numbers bool
	Fingerprint    func(*http.Response, []byte) ([]byte, error)
	// OnPoll, if not nil, is called for each request, including redirects. It must be safe for
	// concurrent use if the Pages are used concurrently.
	OnPoll func(page int, poll Poll)
	// OnBody, if not nil, is called with each copy of a page. The Body ends after MaxBytes and need
	// not be read to the end or closed. Whether the page has changed is known only after OnBody has
	// returned; then OnPoll is called. OnBody must be safe for concurrent use if the Pages are used
	// concurrently.
	OnBody func(page int, resp *http.Response)
	// Now is the clock for the times of requests; nil means [time.Now].
	Now func() time.Time
}

const (
	// defaultMaxBytes is the most bytes of a body. HTML pages above 10 MiB do not occur in crawls;
	// longer bodies are downloads.
	defaultMaxBytes = 10 << 20
	// defaultTimeout ends a request if the caller gave no client.
	defaultTimeout = 30 * time.Second
)

// Pages is an environment ([webenv.Env]) of real pages: page i is at the i-th URL given to [New].
// PollContext polls a page and returns the error. Poll and Err do the same for [webenv.Run]. A poll
// waits for its answer.
//
// A [Transport] decides whether a page has changed: whether the answer to a conditional GET differs
// from the copy before. Redirects are followed, and what they lead to is the page. The first poll
// of a page takes the first copy and is no change. A poll that fails is no change either; the next
// poll finds what it may have missed.
//
// Pages does not read robots.txt and does not pause between requests: the caller decides which
// page to poll, and when. It is safe for concurrent use, but polls of one page should not
// overlap.
//
// # Cost
//
// Memory: what a Transport keeps, 24 bytes a page and a request for each URL.
type Pages struct {
	cfg       Config
	transport Transport
	requests  []*http.Request // templates

	mu   sync.Mutex
	last []float64 // time of the previous poll that did not fail, −Inf if none
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
	cfg.Header = cfg.Header.Clone()
	p := &Pages{
		cfg: cfg,
		transport: Transport{Base: cfg.Client.Transport, Now: cfg.Now,
			Exact: cfg.Exact, Numbers: cfg.Numbers, Fingerprint: cfg.Fingerprint},
		requests: make([]*http.Request, len(urls)),
		last:     slices.Repeat([]float64{math.Inf(-1)}, len(urls)),
		err:      make([]error, len(urls)),
	}
	pages := make(map[string]int, len(urls))
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return nil, fmt.Errorf("%w: page %d: %q", ErrURL, i, text)
		}
		r := &http.Request{Method: http.MethodGet, URL: u, Header: cfg.Header, Host: u.Host}
		if other, seen := pages[plainURL(r)]; seen {
			return nil, fmt.Errorf("%w: page %d: %q is page %d", ErrURL, i, text, other)
		}
		pages[plainURL(r)] = i
		p.requests[i] = r
	}
	return p, nil
}

// plainURL returns the URL of a request in a form that is the same for all URLs of one page: the
// host in small letters, no default port, and a path that is not empty.
func plainURL(r *http.Request) string {
	u := *r.URL
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// Len returns the number of pages.
func (p *Pages) Len() int { return len(p.requests) }

// PollContext polls a page at time now and waits for the answer. The results are those of Poll of
// [webenv.Env]. The true time of a change is not known, so since is Last-Modified if that is after
// the previous poll that did not fail and not after now. Otherwise it is now. The error comes from
// the client, wraps [ErrStatus], or is [ErrClosedEarly].
//
// Like Poll it panics if there is no such page or if time went back.
func (p *Pages) PollContext(ctx context.Context, page int, now float64) (since float64, changed bool, err error) {
	last := p.lastPoll(page)
	if !(now >= last && now <= math.MaxFloat64) {
		panic(fmt.Sprintf("live: poll of page %d at time %v after time %v", page, now, last))
	}

	found := p.get(ctx, page)

	p.mu.Lock()
	defer p.mu.Unlock()
	p.err[page] = found.Err
	if found.Err != nil {
		return 0, false, found.Err
	}
	p.last[page] = now
	if !found.Changed {
		return 0, false, nil
	}
	if d := found.LastModified; !d.IsZero() {
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
func (p *Pages) get(ctx context.Context, page int) Poll {
	ctx, fetch := Begin(ctx, pageURL(p.requests[page]))
	var held []Poll
	if p.cfg.OnPoll != nil {
		fetch.report = func(found Poll) { held = append(held, found) } // OnPoll comes after OnBody
	}
	client := *p.cfg.Client
	client.Transport = &p.transport
	// Clone: the client may add cookies to the header.
	r := p.requests[page].Clone(ctx)
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	resp, err := client.Do(r)
	if err == nil {
		err = p.read(page, resp)
	}
	for _, found := range held {
		p.cfg.OnPoll(page, found)
	}
	return fetch.End(err)
}

// read reads a page, and lets the caller read it first if there is an OnBody.
func (p *Pages) read(page int, resp *http.Response) error {
	body := resp.Body
	limited := &io.LimitedReader{R: body, N: p.cfg.MaxBytes}
	if p.cfg.OnBody != nil && isPage(resp.StatusCode) {
		resp.Body = io.NopCloser(limited)
		p.cfg.OnBody(page, resp)
	}
	_, err := io.Copy(io.Discard, limited)
	if err == nil && limited.N == 0 {
		// At the limit only another read shows whether this was the end.
		_, _ = body.Read(make([]byte, 1))
	}
	_ = body.Close() // what has been read is a copy all the same
	return err
}

// Poll implements [webenv.Env]. An error counts as no change; Err returns it.
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

var pagesFormat = codec.Format{Magic: "recrawl/webenv/live.Pages", Version: 2}

// MarshalBinary implements [encoding.BinaryMarshaler]. It saves what is remembered of the
// copies, so that after a restart a poll finds what changed since the poll before it.
func (p *Pages) MarshalBinary() ([]byte, error) { return pagesFormat.Save(p.encode) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler], for an environment made by [New]. Its
// list of URLs may differ from the one saved: a page is known by its URL, and a page that was not
// saved starts anew. An error wraps [ErrCorrupt] and changes nothing.
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
		last, ok := saved.last[keyOf(pageURL(r))]
		if !ok {
			last = math.Inf(-1)
		}
		p.last[page], p.err[page] = last, nil
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
	}
}

// savedPages is what is saved of Pages.
type savedPages struct {
	copies []byte
	last   map[key]float64
}

func (s *savedPages) decode(d *codec.Decoder) {
	s.copies = d.Bytes()
	n := d.Count(8 + 16 + 8)
	d.Require(n > 0, "no pages")
	s.last = make(map[key]float64, n)
	for range n {
		k := key(decodeHash(d))
		s.last[k] = d.Float64In(math.Inf(-1), math.MaxFloat64)
	}
}
