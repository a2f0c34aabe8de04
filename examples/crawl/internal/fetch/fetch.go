package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/webenv/live"
)

// ErrRobots reports that robots.txt forbids a page, or one that it redirects to.
var ErrRobots = errors.New("fetch: forbidden by robots.txt")

// ErrElsewhere reports a host that another process polls: one request at a time is all that a host
// gets, and nothing is known here of that process's.
var ErrElsewhere = errors.New("fetch: another node polls the host")

// Config describes a Fetcher.
type Config struct {
	UserAgent string
	Clock     clock.Clock
	Points    []Point // of this machine, one at least
	// Part divides the hosts into those of which the access points are learnt together, see Open;
	// nil means that all are.
	Part func(host string) int
	// Delay is the least time between two requests to a host, where its robots.txt asks for no
	// longer one.
	Delay time.Duration
	// Timeout is that of a request, in real time; 0 means 30 s.
	Timeout time.Duration
	// MaxBytes is what is read of a page; 0 means 10 MiB.
	MaxBytes int64
	// Exact compares pages byte by byte.
	Exact bool
	// Ours, if not nil, says whether a host is this process's, and since when. It is given its
	// delay before the first request, as those of a process before are not known.
	Ours func(host string) (since time.Time, ok bool)
	// Header is added to each request for a page, with the number of the poll if IDHeader is not
	// empty.
	IDHeader string
	// Keep, if not nil, is handed each new version of a page, before it counts as found. If it
	// fails the poll has failed, and the next one finds the version again.
	Keep func(context.Context, Version) error
	Seed uint64
}

// A Version is a copy of a page that differs from the one before, or the first.
type Version struct {
	URL    string
	Poll   live.Poll
	At     time.Time
	Header http.Header
	Body   []byte
	Proto  string
	Cut    bool // it is longer than what was read
}

// A Result is what a poll came to.
type Result struct {
	live.Poll
	At        time.Time
	Copy      []byte        // what is to be remembered of the copy, nil if that did not change
	Forbidden bool          // by robots.txt: nothing was asked
	Delay     time.Duration // from one poll of the host to the next, if it is newly known; −1 if not
}

// A Fetcher makes polls. It is safe for concurrent use.
type Fetcher struct {
	cfg    Config
	gate   *gate
	robots *robots
	points *points
}

// New returns a fetcher.
func New(cfg Config) (*Fetcher, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 10 << 20
	}
	if len(cfg.Points) == 0 {
		return nil, errors.New("fetch: no access point")
	}
	f := &Fetcher{cfg: cfg, gate: newGate(cfg.Clock, cfg.Delay, cfg.Ours), points: newPoints(cfg.Points, cfg.Part, cfg.Seed)}
	f.robots = newRobots(cfg.UserAgent, cfg.Clock, f.getRobots)
	return f, nil
}

// getRobots fetches a robots.txt, from wherever up to five redirects lead (RFC 9309, section
// 2.3.1.2). The limit of time is that of a context here and for pages, as a client's own would hide
// what error it ended.
func (f *Fetcher) getRobots(ctx context.Context, url string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	client := http.Client{Transport: router{}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("User-Agent", f.cfg.UserAgent)
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, robotsBytes))
	return resp.StatusCode, string(body), err
}

// Allowed reports whether robots.txt allows a page, and whether it is known to. It sends nothing.
func (f *Fetcher) Allowed(page string) (allowed, known bool) {
	u, err := url.Parse(page)
	if err != nil {
		return false, true
	}
	rules, ok := f.robots.known(u.Host)
	return ok && f.robots.allows(rules, page), ok
}

// Check finds out whether robots.txt allows a page, and fetches it if need be.
func (f *Fetcher) Check(ctx context.Context, page string) (bool, error) {
	u, err := url.Parse(page)
	if err != nil {
		return false, err
	}
	leave, err := f.gate.enter(ctx, u.Host)
	if err != nil {
		return false, err
	}
	defer leave()
	way, err := f.points.next(u.Host)
	if err != nil {
		return false, err
	}
	rules, _, err := f.rules(withRoute(ctx, way), u)
	f.hold(way)
	return err == nil && f.robots.allows(rules, page), err
}

// rules returns the rules of a host, whose gate the caller is through.
func (f *Fetcher) rules(ctx context.Context, u *url.URL) (found rules, fetched bool, err error) {
	if _, ok := f.robots.known(u.Host); !ok {
		if err := f.gate.wait(ctx, u.Host); err != nil {
			return found, false, err
		}
	}
	found, fetched, err = f.robots.of(ctx, u.Scheme, u.Host)
	if fetched && err == nil {
		f.gate.setDelay(u.Host, f.delay(found))
	}
	return found, fetched, err
}

func (f *Fetcher) delay(r rules) time.Duration { return max(r.delay, f.cfg.Delay) }

// Poll polls a page: id is the number of the poll, copy what is remembered of its copy.
func (f *Fetcher) Poll(ctx context.Context, id uint64, page string, copy []byte) Result {
	failed := func(err error) Result {
		return Result{Poll: live.Poll{Page: page, Err: err}, At: f.cfg.Clock.Now(), Delay: -1}
	}
	u, err := url.Parse(page)
	if err != nil {
		return failed(err)
	}
	leave, err := f.gate.enter(ctx, u.Host)
	if err != nil {
		return failed(err)
	}
	defer leave()
	way, err := f.points.next(u.Host)
	if err != nil {
		return failed(err)
	}
	defer f.hold(way)
	ctx = withRoute(ctx, way)
	found, fetched, err := f.rules(ctx, u)
	if err != nil {
		return failed(err)
	}
	var res Result
	switch {
	case !f.robots.allows(found, page):
		res = failed(ErrRobots)
		if res.Forbidden = found.text != "" || found.delay > longestDelay; !res.Forbidden {
			res.Poll.Err = fmt.Errorf("%w: it cannot be reached", ErrRobots)
			res.RetryAfter = found.until
		}
	default:
		if err := f.gate.wait(ctx, u.Host); err != nil {
			return failed(err)
		}
		way.answered, way.reaching = false, 0
		res = f.poll(ctx, id, page, copy)
		took := res.Duration - way.reaching
		if !way.answered { // what cannot reach a host at all may say so at once
			took = max(took, f.cfg.Timeout)
		}
		way.ended = ctx.Err() != nil || errors.Is(res.Err, ErrLost)
		if err := f.points.took(u.Host, way, took); err != nil {
			return failed(err)
		}
	}
	if fetched {
		res.Delay = f.delay(found)
	}
	return res
}

// poll makes the requests of a poll. The transport remembers this one page, so that what is
// remembered changes when, and only when, the poll counts.
func (f *Fetcher) poll(ctx context.Context, id uint64, page string, remembered []byte) Result {
	transport := &live.Transport{Base: router{}, Now: f.cfg.Clock.Now, Exact: f.cfg.Exact}
	if len(remembered) > 0 {
		if err := transport.UnmarshalBinary(remembered); err != nil {
			transport.Forget(page) // a first copy again
		}
	}
	client := http.Client{Transport: transport, CheckRedirect: f.redirect}
	limited, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	fetching, fetch := live.Begin(limited, page)
	version, err := f.get(fetching, &client, id, page)
	res := Result{Poll: fetch.End(err), At: f.cfg.Clock.Now(), Delay: -1}
	if errors.Is(err, ErrRobots) || errors.Is(err, ErrLost) {
		res.Err = err
	}
	if res.Err != nil {
		return res
	}
	if f.cfg.Keep != nil && (res.Changed || res.First) {
		version.Poll, version.At = res.Poll, res.At
		if err := f.cfg.Keep(ctx, version); err != nil {
			res.Err, res.Changed, res.First = fmt.Errorf("fetch: new version not kept: %w", err), false, false
			return res
		}
	}
	now, err := transport.MarshalBinary()
	if err != nil {
		res.Err = err
	} else if !bytes.Equal(now, remembered) {
		res.Copy = now
	}
	return res
}

// get gets a page, with its body if somebody is to keep it.
func (f *Fetcher) get(ctx context.Context, client *http.Client, id uint64, page string) (v Version, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return v, err
	}
	r.Header.Set("User-Agent", f.cfg.UserAgent)
	if f.cfg.IDHeader != "" {
		r.Header.Set(f.cfg.IDHeader, fmt.Sprint(id))
	}
	resp, err := client.Do(r)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	v = Version{URL: page, Header: resp.Header, Proto: resp.Proto}
	limited := io.LimitReader(resp.Body, f.cfg.MaxBytes)
	if f.cfg.Keep == nil {
		_, err = io.Copy(io.Discard, limited)
		return v, err
	}
	v.Body, err = io.ReadAll(limited)
	v.Cut = int64(len(v.Body)) == f.cfg.MaxBytes
	return v, err
}
