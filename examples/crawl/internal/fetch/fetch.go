package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/webenv/live"
)

// ErrRobots reports that robots.txt forbids a page, or one that it redirects to.
var ErrRobots = errors.New("fetch: forbidden by robots.txt")

// ErrNoRobots reports that the robots.txt of a page's host, or of one that it redirects to, could not be
// fetched: until it can be nothing of the host is asked for.
var ErrNoRobots = errors.New("fetch: robots.txt could not be fetched")

// ErrElsewhere reports a host that another process polls: one request at a time is all that a host
// gets, and nothing is known here of that process's.
var ErrElsewhere = errors.New("fetch: another node polls the host")

// ErrNotKept reports that a page was fetched and has a new version, which could not be kept. The poll
// does not count, and it is not the page's failure.
var ErrNotKept = errors.New("fetch: new version not kept")

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
	// Before, if not nil, returns the delay of a host as it was known before this process began, 0 if it was
	// not: it counts until a robots.txt of the host is read. It is called while the host is asked for, and must
	// not wait.
	Before func(host string) time.Duration
	// Header is added to each request for a page, with the number of the poll if IDHeader is not
	// empty.
	IDHeader string
	// Keep, if not nil, is handed each new version of a page, before it counts as found. If it
	// fails the poll has the error ErrNotKept, and the next one finds the version again.
	Keep func(context.Context, Version) error
	Seed uint64
}

// A Version is a copy of a page that differs from the one before, or the first.
type Version struct {
	URL       string // of the page
	Location  string // from where it came, if redirects led there
	Redirects []Redirect
	Poll      live.Poll
	At        time.Time
	Header    http.Header
	Body      []byte
	Proto     string
	Cut       bool // it is longer than what was read
}

// A Redirect is an answer on the way to a page.
type Redirect struct {
	URL    string
	Status int
	Header http.Header
	Proto  string
}

// A Result is what a poll came to.
type Result struct {
	live.Poll
	At        time.Time
	Copy      []byte        // what is to be remembered of the copy, nil if that did not change
	Forbidden bool          // by robots.txt: nothing was asked
	Delay     time.Duration // from one poll of the host to the next; −1 while its robots.txt is not known
	// Elsewhere is the host to which a redirect led, if it is another one than the page's: Status and
	// RetryAfter are its word. It was not asked if the error is an ErrRests.
	Elsewhere string
}

// A Fetcher makes polls. It is safe for concurrent use.
type Fetcher struct {
	cfg    Config
	gate   *gate
	robots *robots
	points *points
	rest   resting
	log    func() *slog.Logger
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
	f := &Fetcher{cfg: cfg, points: newPoints(cfg.Points, cfg.Part, cfg.Seed), log: slog.Default}
	f.robots = newRobots(cfg.UserAgent, cfg.Clock, f.getRobots)
	f.gate = newGate(cfg.Clock, f.delay, cfg.Ours)
	return f, nil
}

// client returns a client for the requests of a poll. The limit of time is that of a context, as the
// client's own would hide what error it ended, and would count the waits before redirects. Cookies are
// kept until the poll ends: some hosts redirect to the same page again and again without them.
func (f *Fetcher) client(redirect func(*http.Request, []*http.Request) error) *http.Client {
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // never fails
	return &http.Client{Jar: jar, Transport: timed{router{}, f.cfg.Timeout}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		r.URL.RawQuery = sendable(r.URL.RawQuery)
		input.KeepUser(r.URL, via[0].URL)
		return redirect(r, via)
	}}
}

// getRobots fetches a robots.txt, from wherever up to five redirects lead (RFC 9309, section
// 2.3.1.2). The turn is then at the host of the last one.
func (f *Fetcher) getRobots(ctx context.Context, url string) (answer robotsAnswer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer, err
	}
	r.Header.Set("User-Agent", f.cfg.UserAgent)
	resp, err := f.client(f.redirectRobots).Do(r)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if coding := resp.Header.Get("Content-Encoding"); resp.StatusCode/100 == 2 && isCoding(coding) { // no rule would be found in it
		return answer, fmt.Errorf("%s: it has the Content-Encoding %.100q, which was not asked for", url, coding)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, robotsBytes+1))
	if resp.StatusCode/100 != 2 && !errors.Is(err, ErrLost) {
		err = nil // the status says all, also where the text with it breaks off
	}
	if len(body) > robotsBytes { // the rule that is cut off may allow what it does not as a whole
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	return robotsAnswer{resp.StatusCode, string(body), restUntil(resp.Header, f.cfg.Clock.Now())}, err
}

// isCoding reports whether a Content-Encoding, which the transport did not decode, is one. Some servers have utf-8 there.
func isCoding(header string) bool {
	last := header[strings.LastIndexByte(header, ',')+1:]
	switch strings.ToLower(strings.TrimSpace(last)) {
	case "br", "compress", "deflate", "gzip", "x-compress", "x-gzip", "zstd":
		return true
	}
	return false
}

// Allowed reports whether robots.txt allows a page, and whether it is known to. It sends nothing.
func (f *Fetcher) Allowed(page string) (allowed, known bool) {
	u, host, err := parse(page)
	if err != nil {
		return false, true
	}
	rules, ok := f.robots.known(siteOf(u.Scheme, host))
	return ok && f.robots.allows(rules, page), ok
}

// parse returns the URL of a page and the host by which it is known to the gate.
func parse(page string) (u *url.URL, host string, err error) {
	if u, err = url.Parse(page); err != nil {
		return nil, "", err
	}
	host, err = hostOf(u)
	return u, host, err
}

// begin waits for the turn at a host, and returns how it is asked. The turn is to be ended with end. Spare is for
// how long the host's delays may be waited for. Where that is bounded so is the wait for the turn, but for
// documents: at a busy host with a long delay that would end each time.
func (f *Fetcher) begin(ctx context.Context, host string, anyones bool, spare time.Duration) (*route, error) {
	t := turn{gate: f.gate, anyones: anyones, spare: spare}
	var err error
	if anyones || spare == forever {
		err = t.enter(ctx, host, anyones)
	} else if err = t.move(ctx, host, f.patience()); errors.Is(err, errTurn) {
		err = ErrLater
	}
	if err != nil {
		return nil, err
	}
	way, err := f.points.next(host)
	if err != nil {
		t.end()
		return nil, err
	}
	way.turn = t
	return way, nil
}

func (f *Fetcher) end(way *route) {
	f.hold(way)
	way.turn.end()
}

// Check finds out whether robots.txt allows a page, and fetches it if need be; ErrLater if that would take
// long.
func (f *Fetcher) Check(ctx context.Context, page string) (bool, error) {
	if allowed, known := f.Allowed(page); known {
		return allowed, nil
	}
	u, host, err := parse(page)
	if err != nil {
		return false, err
	}
	way, err := f.begin(ctx, host, false, f.longestWait())
	if err != nil {
		return false, err
	}
	defer f.end(way)
	rules, _, err := f.rules(withRoute(ctx, way), u, false)
	return err == nil && f.robots.allows(rules, page), err
}

// rules returns the rules of the site of a URL, at whose host it is the caller's turn. It is so afterwards,
// unless there is an error. Passing says that a redirect led there.
func (f *Fetcher) rules(ctx context.Context, u *url.URL, passing bool) (found rules, fetched bool, err error) {
	way := routeOf(ctx)
	host := way.turn.host
	site := siteOf(u.Scheme, host)
	if found, ok := f.robots.known(site); ok {
		if found.passing && !passing {
			f.robots.stays(site)
		}
		return found, false, nil
	}
	defer f.gate.leaves(f.gate.uses(host)) // its delay counts from this request on, also if that leads elsewhere
	if err := way.turn.wait(ctx); err != nil {
		return found, false, err
	}
	found, fetched, err = f.robots.of(ctx, site, passing)
	if err != nil {
		return found, fetched, err
	}
	if fetched { // also if the turn does not come again
		f.gate.setDelay(host, f.delay(host))
	}
	return found, fetched, way.turn.move(ctx, host, f.patience())
}

// delay returns the time between two requests to a host, as far as is known.
func (f *Fetcher) delay(host string) time.Duration {
	delay, read := f.robots.delay(host)
	if !read && f.cfg.Before != nil {
		delay = min(f.cfg.Before(host), longestDelay) // it may have been the user's own, of any length
	}
	return max(delay, f.cfg.Delay)
}

// Poll polls a page: id is the number of the poll, copy what is remembered of its copy.
func (f *Fetcher) Poll(ctx context.Context, id uint64, page string, copy []byte) Result {
	failed := func(err error) Result {
		return Result{Poll: live.Poll{Page: page, Err: err}, At: f.cfg.Clock.Now(), Delay: -1}
	}
	u, host, err := parse(page)
	if err != nil {
		return failed(err)
	}
	way, err := f.begin(ctx, host, false, forever)
	if err != nil {
		return failed(err)
	}
	defer f.end(way)
	ctx = withRoute(ctx, way)
	found, fetched, err := f.rules(ctx, u, false)
	var res Result
	if err != nil {
		if res = failed(err); fetched {
			res.Delay = f.delay(host)
		}
		return res
	}
	switch err := f.robots.refuses(found, page); {
	case errors.Is(err, ErrRobots):
		res = failed(err)
		res.Forbidden = true
	case err != nil:
		res = failed(err)
		res.RetryAfter = found.until
	default:
		if err := way.turn.wait(ctx); err != nil {
			res = failed(err)
			break
		}
		way.chosen, way.answered, way.reaching = way.Name, false, 0
		res = f.poll(ctx, id, page, copy)
		f.heed(host, &res)
		took := res.Duration - way.reaching
		if way.Name != way.chosen { // that it refused took its time, too
			took = res.Duration
		}
		if !way.answered { // what cannot reach a host at all may say so at once
			took = max(took, f.cfg.Timeout)
		}
		way.ended = ctx.Err() != nil || errors.Is(res.Err, ErrLost) || errors.Is(res.Err, ErrHere)
		if err := f.points.took(host, way, took); err != nil {
			return failed(err)
		}
	}
	res.Delay = f.delay(host)
	return res
}

// poll makes the requests of a poll. The transport remembers this one page, so that what is
// remembered changes when, and only when, the poll counts.
func (f *Fetcher) poll(ctx context.Context, id uint64, page string, remembered []byte) Result {
	transport := &live.Transport{Exact: f.cfg.Exact}
	if len(remembered) > 0 {
		if err := transport.UnmarshalBinary(remembered); err != nil {
			f.log().Warn("what is remembered of a page's copy cannot be read: it gets a first copy again", "url", page, "error", err)
		}
	}
	version, found := f.fetch(ctx, transport, id, page)
	res := Result{Poll: found, At: f.cfg.Clock.Now(), Delay: -1}
	if res.Err != nil {
		return res
	}
	if f.cfg.Keep != nil && (res.Changed || res.First) {
		var err error
		if res.Status == http.StatusNotModified {
			version, err = f.body(ctx, id, page)
			version.Poll.First, version.Poll.Changed, version.Poll.Minor, version.Poll.Decision = false, true, res.Minor, res.Decision
		}
		f.end(routeOf(ctx)) // the host need not wait for what follows
		if err == nil {
			err = f.cfg.Keep(ctx, version)
		}
		if err != nil {
			res.Err, res.Changed, res.First = fmt.Errorf("%w: %w", ErrNotKept, err), false, false
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

// body gets a page once more whose change was found at an answer 304, which has no body: until then
// the change was taken for noise. The page may be newer than what was found; the next poll finds that.
func (f *Fetcher) body(ctx context.Context, id uint64, page string) (v Version, err error) {
	_, host, err := parse(page)
	t := &routeOf(ctx).turn
	t.spare = forever // what the first fetch took does not count
	if err == nil {
		err = t.move(ctx, host, f.patience())
	}
	if err == nil {
		err = t.wait(ctx)
	}
	if err == nil {
		v, _ = f.fetch(ctx, &live.Transport{Exact: true}, id, page)
		err = v.Poll.Err
	}
	return v, err
}

// fetch makes the requests for a page. It is the turn for the first one.
func (f *Fetcher) fetch(ctx context.Context, transport *live.Transport, id uint64, page string) (Version, live.Poll) {
	client := f.client(f.redirectPage)
	transport.Base, transport.Now = &paced{RoundTripper: client.Transport}, f.cfg.Clock.Now
	client.Transport = transport
	fetching, fetch := live.Begin(ctx, page)
	version, err := f.get(fetching, client, id, page)
	found := fetch.End(err)
	if errors.Is(err, ErrRobots) || errors.Is(err, ErrNoRobots) || errors.Is(err, ErrLost) {
		found.Err = err
	}
	version.Poll, version.At = found, f.cfg.Clock.Now()
	return version, found
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
	if all, location := redirectsTo(resp); len(all) > 0 {
		v.Redirects, v.Location = all, location
	}
	limited := io.LimitReader(resp.Body, f.cfg.MaxBytes)
	if f.cfg.Keep == nil {
		_, err = io.Copy(io.Discard, limited)
		return v, err
	}
	v.Body, err = io.ReadAll(limited)
	v.Cut = int64(len(v.Body)) == f.cfg.MaxBytes && resp.ContentLength != f.cfg.MaxBytes
	return v, err
}
