package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jimsmart/grobotstxt"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

const (
	// robotsAge is how long a robots.txt counts (RFC 9309, section 2.4), and robotsRetry how
	// long one that cannot be reached forbids all before it is tried again, if the host names no
	// later time.
	robotsAge   = 24 * time.Hour
	robotsRetry = 10 * time.Minute
	// robotsBytes is what is read of it (RFC 9309, section 2.5).
	robotsBytes = 500 << 10
	// longestDelay is the greatest Crawl-delay that is obeyed: a host that asks for more is
	// given up.
	longestDelay = 30 * time.Minute
	// passingBytes is what is kept of sites to which redirects alone lead: a page may lead to a new one
	// at each poll. passingSite is what one takes beside the text.
	passingBytes = 64 << 20
	passingSite  = 256
	// failureRunes is what is kept of why a robots.txt could not be fetched: it may name a URL of any
	// length, to which that redirected.
	failureRunes = 300
)

// rules are what the robots.txt of a site says.
type rules struct {
	text    string        // as distil returns it
	barred  bool          // all of the site, until it is tried again
	failure string        // why it could not be fetched, then; empty if its Crawl-delay bars the site
	delay   time.Duration // 0 if it says nothing
	until   time.Time     // when it is to be fetched again
	reached time.Time     // when it was fetched last and told rules
	fetched bool
	passing bool // redirects alone lead to the site
}

// size is what is kept of a site to which redirects alone lead, in bytes.
func (r rules) size() int { return passingSite + len(r.text) + len(r.failure) }

// robots has the rules of all sites.
type robots struct {
	agent string // product token
	clock clock.Clock
	get   func(ctx context.Context, url string) (robotsAnswer, error)

	mu      sync.Mutex
	sites   map[string]rules
	passing int // bytes of those that are
}

// A robotsAnswer is what a host says when it is asked for its robots.txt.
type robotsAnswer struct {
	status     int
	text       string
	retryAfter time.Time // zero if it does not say
}

func newRobots(userAgent string, c clock.Clock, get func(context.Context, string) (robotsAnswer, error)) *robots {
	return &robots{agent: productToken(userAgent), clock: c, get: get, sites: map[string]rules{}}
}

// productToken returns the name by which robots.txt knows a crawler. One that calls itself Mozilla, as browsers do,
// has its own name behind "compatible;".
func productToken(userAgent string) string {
	name := strings.TrimSpace(userAgent)
	if _, own, ok := strings.Cut(name, "compatible;"); ok && strings.HasPrefix(name, "Mozilla/") {
		name = strings.TrimSpace(own)
	}
	if end := strings.IndexFunc(name, func(c rune) bool { return !isToken(c) }); end > 0 {
		name = name[:end]
	}
	return name
}

// siteOf returns the site of a host: pages by http and https have robots.txt of their own (RFC 9309, section
// 2.3).
func siteOf(scheme, host string) string {
	return scheme + "://" + strings.ReplaceAll(host, "%", "%25") // before the zone of an IPv6 address
}

// known returns the rules of a site, and whether they still count.
func (r *robots) known(site string) (rules, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.sites[site]
	return known, ok && r.clock.Now().Before(known.until)
}

// delay returns the Crawl-delay of a host, the longer one of its sites; 0 if there is none; and whether a
// robots.txt was read at all. One for which a site is barred does not count: the site is asked for nothing but its
// robots.txt, once in a robotsAge.
func (r *robots) delay(host string) (longest time.Duration, read bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, scheme := range []string{"http", "https"} {
		known := r.sites[siteOf(scheme, host)]
		if !known.barred {
			longest = max(longest, known.delay)
		}
		read = read || !known.reached.IsZero()
	}
	return longest, read
}

// stays takes note of a site that has a page of its own.
func (r *robots) stays(site string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.sites[site]; known.passing {
		known.passing = false
		r.keep(site, known)
	}
}

// goes takes note of a host that has no page any more: from now on redirects alone lead to it.
func (r *robots) goes(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, scheme := range []string{"http", "https"} {
		site := siteOf(scheme, host)
		if known, ok := r.sites[site]; ok && !known.passing {
			known.passing = true
			r.keep(site, known)
		}
	}
}

// keep keeps the rules of a site, for which it may forget others that are passing; the caller holds the
// lock.
func (r *robots) keep(site string, found rules) {
	r.forget(site)
	if found.passing {
		if r.passing += found.size(); r.passing > passingBytes {
			for other, old := range r.sites {
				if old.passing {
					r.forget(other)
				}
				if r.passing <= passingBytes/2 {
					break
				}
			}
		}
	}
	r.sites[site] = found
}

func (r *robots) forget(site string) {
	if old := r.sites[site]; old.passing {
		r.passing -= old.size()
	}
	delete(r.sites, site)
}

// of returns the rules of a site; it fetches them if need be, for which it must be the caller's turn
// at its host. Passing says that a redirect leads to it.
func (r *robots) of(ctx context.Context, site string, passing bool) (rules rules, fetched bool, err error) {
	rules, ok := r.known(site)
	if ok {
		return rules, false, nil
	}
	before := rules
	rules, err = r.fetch(ctx, site+"/robots.txt")
	if err != nil {
		return rules, true, err
	}
	if longest := before.reached.Add(2 * robotsAge); rules.failure != "" && !before.barred && r.clock.Now().Before(longest) {
		// One that was reached a day ago counts a day longer.
		before.until = rules.until
		if longest.Before(before.until) {
			before.until = longest
		}
		rules = before
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rules.passing = passing && (before.passing || !before.fetched)
	r.keep(site, rules)
	return rules, true, nil
}

// fetch fetches a robots.txt. The error is the context's, or says that the access point is lost, that none
// takes a request, that the host is another process's, or that the turn at another host did not come.
func (r *robots) fetch(ctx context.Context, url string) (found rules, err error) {
	answer, err := r.get(ctx, url)
	status, text := answer.status, answer.text
	switch {
	case ctx.Err() != nil:
		return found, ctx.Err()
	case errors.Is(err, ErrLost), errors.Is(err, ErrHere), errors.Is(err, ErrElsewhere), errors.Is(err, errTurn):
		return found, err
	case err != nil || status >= 500 || status == http.StatusTooManyRequests || status == http.StatusProxyAuthRequired: // a proxy's word
		failure := fmt.Sprintf("%s: %d %s", url, status, http.StatusText(status))
		if err != nil {
			failure = fmt.Sprintf("%.*s", failureRunes, err)
		}
		// Nothing may be polled until it is reached (RFC 9309, section 2.3.1.4).
		until := r.clock.Now().Add(robotsRetry)
		if answer.retryAfter.After(until) {
			until = answer.retryAfter
		}
		return rules{fetched: true, barred: true, failure: failure, until: until}, nil
	case status < 200 || status >= 300:
		text = "" // everything may (section 2.3.1.3)
	}
	now := r.clock.Now()
	found = rules{fetched: true, text: distil(text, r.agent), until: now.Add(robotsAge), reached: now}
	found.delay = crawlDelay(text, r.agent)
	found.barred = found.delay > longestDelay
	return found, nil
}

// allows reports whether a page may be polled.
func (r *robots) allows(found rules, page string) bool {
	if found.barred || found.text == "" {
		return !found.barred
	}
	u, err := url.Parse(page)
	if err != nil {
		return false
	}
	c := comparison{path: comparablePath(u)}
	return c.allowed(found.text)
}

// refuses returns why a page may not be polled: ErrRobots or ErrNoRobots; nil if it may.
func (r *robots) refuses(found rules, page string) error {
	switch {
	case found.failure != "":
		return fmt.Errorf("%w: %s", ErrNoRobots, found.failure)
	case !r.allows(found, page):
		return ErrRobots
	}
	return nil
}

// crawlDelay returns the Crawl-delay of a robots.txt for an agent: the longest of its own groups, else of
// those for all. It is no part of RFC 9309, so the library leaves it to us.
func crawlDelay(text, agent string) time.Duration {
	d := delays{section: section{agent: agent}, own: -1, all: -1}
	grobotstxt.Parse(text, &d)
	seconds := max(d.all, 0)
	if d.named {
		seconds = max(d.own, 0)
	}
	return time.Duration(min(seconds, 1e6) * float64(time.Second))
}

// delays picks the Crawl-delays out of a robots.txt as it is parsed. They end a group's names, like rules.
type delays struct {
	section
	own, all float64 // seconds, −1 if none
}

func (d *delays) HandleAllow(int, string)    { d.ends = true }
func (d *delays) HandleDisallow(int, string) { d.ends = true }

func (d *delays) HandleUnknownAction(_ int, action, value string) {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !strings.EqualFold(action, "crawl-delay") || err != nil || !(seconds >= 0) {
		return
	}
	d.ends = true
	if d.forOwn {
		d.own = max(d.own, seconds)
	}
	if d.forAll {
		d.all = max(d.all, seconds)
	}
}
