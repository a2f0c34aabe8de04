package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/input"
)

// errTurn reports that a poll's turn at a host that it was redirected to did not come.
var errTurn = errors.New("its turn did not come in time")

// A turn is what lets the requests of a poll through to a host. A poll has a turn at one host at a
// time and gives it up before it waits for another: so hosts that redirect to each other do not keep
// each other waiting.
type turn struct {
	gate    *gate
	host    string // at which it is; empty if at none
	leave   func()
	anyones bool          // hosts that another process polls are asked, too
	spare   time.Duration // for how long the poll may still wait for delays, see longestWait
}

// longestWait is for how long a poll that was redirected waits for the delays of hosts, in all, and a look at
// robots.txt from the start: a worker that waits polls nothing else. Crawl-delays of a minute are not rare, and
// redirects come in pairs.
const longestWait = 2 * time.Minute

// longestWait returns that time; a user who wants long delays has redirects followed all the same.
func (f *Fetcher) longestWait() time.Duration { return max(longestWait, 2*f.cfg.Delay) }

// enter waits for the turn at the first host.
func (t *turn) enter(ctx context.Context, host string, anyones bool) error {
	leave, err := t.gate.enter(ctx, host, anyones)
	if err == nil {
		t.host, t.leave = host, leave
	}
	return err
}

// end gives the turn up, if there is one.
func (t *turn) end() {
	if t.host != "" {
		t.leave()
		t.host = ""
	}
}

// move goes on to another host.
func (t *turn) move(ctx context.Context, host string, patience time.Duration) error {
	if t.host == host {
		return nil
	}
	t.end()
	c := t.gate.clock
	if t.gate.closed(host) > t.spare {
		return fmt.Errorf("%s: %w", host, errTurn)
	}
	// Others that wait there are given their delays first.
	short, cancel := context.WithTimeout(ctx, patience+c.Real(min(t.gate.delayOf(host), t.spare)))
	defer cancel()
	began := c.Now()
	err := t.enter(short, host, t.anyones)
	if took := c.Now().Sub(began); c.Real(took) > patience {
		t.spare -= took
	}
	if err != nil && !errors.Is(err, ErrElsewhere) && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", host, errTurn)
	}
	return err
}

// wait waits for the delay of the host at which the turn is.
func (t *turn) wait(ctx context.Context) error {
	took, err := t.gate.wait(ctx, t.host, t.spare)
	t.spare -= took
	return err
}

// sendable returns the query of a redirect with escapes for what cannot be sent without, as browsers send it: net/http
// writes them for a path only. All else stays as the host has it, which may look for that very spelling.
func sendable(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c > '~' || strings.IndexByte(`"<>`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// followable returns a Location with an escape for each % that begins none, as in /100%, if net/url takes it for no
// URL: browsers follow it.
func followable(location string) string {
	if _, err := url.Parse(location); err == nil {
		return location
	}
	return percents.ReplaceAllStringFunc(location, func(percent string) string {
		if percent == "%" {
			return "%25"
		}
		return percent
	})
}

// percents finds escapes, and each % that begins none.
var percents = regexp.MustCompile("%([0-9A-Fa-f]{2})?")

// hostOf returns the host of a URL by which it is known to the gate.
func hostOf(u *url.URL) (string, error) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%w: %s", input.ErrURL, u.Redacted())
	}
	return input.Host(u)
}

// patience is for how long a poll waits for its turn at a host that it was redirected to.
func (f *Fetcher) patience() time.Duration { return f.cfg.Timeout / 2 }

// redirect follows a redirect once robots.txt of its host allows it and its delay is over, unless
// another host named a time before which it is not to be asked for documents. The turn at another host is kept
// until the body is read.
func (f *Fetcher) redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	ctx, to := r.Context(), r.URL
	way := routeOf(ctx)
	defer way.waits(f.cfg.Clock.Now)()
	host, err := hostOf(to)
	if err != nil {
		return err
	}
	err = way.turn.move(ctx, host, f.patience())
	if errors.Is(err, ErrElsewhere) {
		return fmt.Errorf("redirect to %s: another node polls it; put that page on the list instead", to.Redacted())
	}
	if err != nil {
		return late(to, err)
	}
	found, _, err := f.rules(ctx, to, true)
	if err != nil {
		return late(to, err)
	}
	if err := f.robots.refuses(found, to.String()); err != nil {
		return fmt.Errorf("redirect to %s: %w", to.Redacted(), err)
	}
	if first, err := hostOf(via[0].URL); err == nil && first != host { // else it was asked for already
		if err := f.rest.refuses(host, f.cfg.Clock.Now()); err != nil {
			return fmt.Errorf("redirect to %s: %w", to.Redacted(), err)
		}
	}
	return late(to, way.turn.wait(ctx))
}

// late returns the error of a redirect. That of a host that is not to be asked yet is the page's failure: it
// is no better the next time.
func late(to *url.URL, err error) error {
	if errors.Is(err, ErrLater) || errors.Is(err, errTurn) {
		return fmt.Errorf("redirect to %s: %w; put that page on the list instead", to.Redacted(), errTurn)
	}
	return err
}

// redirectPage is redirect for who polls a page.
func (f *Fetcher) redirectPage(r *http.Request, via []*http.Request) error {
	t := &routeOf(r.Context()).turn
	t.spare = min(t.spare, f.longestWait())
	return f.redirect(r, via)
}

// redirectRobots follows a redirect of a robots.txt when it is its turn there. A host that another
// process polls is asked without that one's knowledge: of robots.txt there is no other copy.
func (f *Fetcher) redirectRobots(r *http.Request, via []*http.Request) error {
	if len(via) > 5 {
		return errors.New("too many redirects")
	}
	ctx := r.Context()
	host, err := hostOf(r.URL)
	if err != nil {
		return err
	}
	way := routeOf(ctx)
	defer func(before bool) { way.turn.anyones = before }(way.turn.anyones)
	way.turn.anyones = true
	longest := f.longestWait()
	if host == way.turn.host { // once a day its own delay, and that of one more, are worth the rules
		longest = max(longest, 2*f.gate.delayOf(host))
	}
	before, most := way.turn.spare, min(way.turn.spare, longest)
	way.turn.spare = most
	defer func() { way.turn.spare = before - (most - way.turn.spare) }()
	if err := way.turn.move(ctx, host, f.patience()); err != nil {
		return late(r.URL, err)
	}
	return late(r.URL, way.turn.wait(ctx))
}

// A paced sends the requests of a poll. The client waits before those to which it is redirected; second
// tries, which a [live.Transport] makes, wait here.
type paced struct {
	http.RoundTripper
	sent int // redirects before the latest request, and 1
}

func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	before := p.sent
	p.sent = 1
	for first := r; first.Response != nil && first.Response.Request != nil; first = first.Response.Request {
		p.sent++
	}
	if p.sent <= before {
		if err := again(r.Context()); err != nil {
			return nil, err
		}
	}
	return p.RoundTripper.RoundTrip(r)
}

// again waits until the host of a request may be asked again.
func again(ctx context.Context) error {
	way := routeOf(ctx)
	gate := way.turn.gate
	defer way.waits(gate.clock.Now)()
	_, err := gate.wait(ctx, way.turn.host, forever)
	return err
}

// A timed sends requests each of which has its own time, until its body is closed. What comes before
// it, as the wait for a turn, does not count. One that the host may have seen is sent again after its
// delay.
type timed struct {
	base http.RoundTripper
	time time.Duration
}

// tries is how often a request is sent whose connection the host closes: the first one may have been
// kept for too long.
const tries = 2

// redirects are the statuses of redirects that an http.Client follows.
var redirects = map[int]bool{
	http.StatusMovedPermanently: true, http.StatusFound: true, http.StatusSeeOther: true,
	http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true,
}

// redirectBody is what is read of the body of a redirect, as much as an http.Client does.
const redirectBody = 2 << 10

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.try(r)
	for n := 1; n < tries && errors.Is(err, ErrAgain); n++ {
		if err := again(r.Context()); err != nil {
			return nil, err
		}
		resp, err = t.try(r)
	}
	return resp, err
}

func (t timed) try(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.time)
	resp, err := t.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Request = r
	if resp.StatusCode == http.StatusSwitchingProtocols { // nobody asked for that; its body would have no limit of time
		_ = resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("the host answers with status %d", resp.StatusCode)
	}
	if redirects[resp.StatusCode] { // the client would close it later, after the wait for the next
		if to := resp.Header.Get("Location"); followable(to) != to {
			resp.Header.Set("Location", followable(to))
		}
		start, _ := io.ReadAll(io.LimitReader(resp.Body, redirectBody)) // or else it is closed early
		_ = resp.Body.Close()
		cancel()
		resp.Body = io.NopCloser(bytes.NewReader(start))
		return resp, nil
	}
	resp.Body = timedBody{resp.Body, cancel}
	return resp, nil
}

// redirectsTo returns the redirects that led to an answer, and the URL that it is of.
func redirectsTo(resp *http.Response) (all []Redirect, url string) {
	for before := resp.Request.Response; before != nil; before = before.Request.Response {
		all = append(all, Redirect{sent(before.Request.URL), before.StatusCode, before.Header, before.Proto})
	}
	slices.Reverse(all)
	return all, sent(resp.Request.URL)
}

// sent returns a URL without what is of the user's own, with its host as pages have theirs: net/url would write escapes
// for letters that are not ASCII, by which nobody finds it.
func sent(u *url.URL) string {
	v := *u
	v.User, v.Fragment, v.RawFragment = nil, "", ""
	if host, err := input.Host(u); err == nil {
		v.Host = host
	}
	return v.String()
}

type timedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b timedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
