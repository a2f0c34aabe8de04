package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/recrawl/recrawl/examples/internal/report"
)

const (
	// together is how many requests are under way at the same time at most.
	together = 8
	// attempts is how often something is asked for at most.
	attempts = 5
	// firstWait is the time before the second attempt; it doubles from then on.
	firstWait = 500 * time.Millisecond
	// longestWait is how long a Retry-After is waited for.
	longestWait = 5 * time.Minute
	// longestList, in bytes: some hundred thousand versions.
	longestList = 4 << 20
	// longestInfo, in bytes: the two fields that are read, and what else a proxy may say.
	longestInfo = 256 << 10
	// longestAnswer is how long an answer may take, and slowest, in bytes a second, how slowly a long one may come.
	longestAnswer, slowest = time.Minute, 1 << 20

	userAgent = "recrawl-releases (+https://github.com/recrawl/recrawl)"
)

var (
	// errUnserved is an answer that says that there is no such module or version, or none to be had.
	errUnserved = errors.New("not served")
	// errUnreadable is an answer without a time that can be read.
	errUnreadable = errors.New("no time that can be read")
)

// A passing error is one after which it is worth trying again.
type passing struct{ error }

// Unwrap returns the error.
func (p passing) Unwrap() error { return p.error }

// A proxy is a module proxy, https://go.dev/ref/mod#goproxy-protocol.
type proxy struct {
	base   *url.URL
	client *http.Client
	now    func() time.Time
	wait   func(context.Context, time.Duration) error

	mu    sync.Mutex
	until time.Time // nothing is asked for before, as an answer with Retry-After said
}

func newProxy(base *url.URL) *proxy {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = together // else only two are kept for the next requests
	return &proxy{
		base:   base,
		client: &http.Client{Transport: transport},
		now:    time.Now,
		wait:   wait,
	}
}

// wait waits for a time, or until a context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// A listing is what a proxy says of a module.
type listing struct {
	path     string
	served   bool
	more     bool      // there are versions before these
	versions []version // in ascending order
}

// A version of a module, and when it was released. err is errUnserved or errUnreadable if nothing
// says when.
type version struct {
	name string
	time time.Time
	err  error
}

// releases asks for the latest versions of each module, most at most, and when they were released.
func (p *proxy) releases(ctx context.Context, paths []string, most int) ([]listing, error) {
	modules := make([]listing, len(paths))
	err := each(ctx, "modules", together, len(paths), func(ctx context.Context, i int) (err error) {
		modules[i], err = p.list(ctx, paths[i], most)
		return err
	})
	if err != nil {
		return nil, err
	}
	type job struct {
		path string
		*version
	}
	var jobs []job
	for _, m := range modules {
		for k := range m.versions {
			jobs = append(jobs, job{m.path, &m.versions[k]})
		}
	}
	err = each(ctx, "versions", together, len(jobs), func(ctx context.Context, i int) error {
		at, err := p.info(ctx, jobs[i].path, jobs[i].name)
		if errors.Is(err, errUnserved) || errors.Is(err, errUnreadable) {
			jobs[i].err = err
			return nil
		}
		jobs[i].time = at
		return err
	})
	return modules, err
}

// at returns when the version was released, in Unix seconds.
func (v version) at() float64 { return float64(v.time.Unix()) }

// each calls f(0..n−1), some at a time, with a progress bar. The first error ends it, and the
// context of the other calls.
func each(ctx context.Context, label string, some, n int, f func(ctx context.Context, i int) error) error {
	if n == 0 {
		return nil // no bar either
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bar := report.NewProgress(label, n)
	defer bar.Done()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, some) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
					return
				}
				bar.Add(1)
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// list asks for the versions of a module.
func (p *proxy) list(ctx context.Context, path string, most int) (listing, error) {
	m := listing{path: path}
	escaped, err := module.EscapePath(path)
	if err != nil {
		return m, err
	}
	err = p.get(ctx, longestList, func(body []byte) error {
		if !isList(string(body)) {
			return fmt.Errorf("the answer is no list of versions; it begins with %.40q", bytes.TrimSpace(body))
		}
		names := releasesOf(string(body))
		m.served, m.more = true, len(names) > most
		for _, name := range names[max(len(names)-most, 0):] {
			m.versions = append(m.versions, version{name: name})
		}
		return nil
	}, escaped, "@v", "list")
	if errors.Is(err, errUnserved) {
		return m, nil
	}
	return m, err
}

// isList reports whether an answer is a list of versions: one at least, unless it is blank.
func isList(answer string) bool {
	blank := true
	for line := range strings.Lines(answer) {
		if fields := strings.Fields(line); len(fields) > 0 {
			if semver.IsValid(fields[0]) {
				return true
			}
			blank = false
		}
	}
	return blank
}

// releasesOf returns the releases of a list of versions, in ascending order. As for the go command,
// what follows a version does not count, nor do pseudo-versions and what is no version.
func releasesOf(list string) (names []string) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) > 0 && module.CanonicalVersion(fields[0]) == fields[0] && !module.IsPseudoVersion(fields[0]) {
			names = append(names, fields[0])
		}
	}
	semver.Sort(names)
	return slices.Compact(names)
}

// info asks when a version was released.
func (p *proxy) info(ctx context.Context, path, name string) (at time.Time, err error) {
	err = p.getVersion(ctx, longestInfo, func(body []byte) error {
		var answer struct{ Version, Time string }
		if err := json.Unmarshal(body, &answer); err != nil {
			err := fmt.Errorf("%w: %w", errUnreadable, err)
			if errors.As(err, new(*json.SyntaxError)) { // it may have been cut
				return passing{err}
			}
			return err
		}
		at, err = time.Parse(time.RFC3339, answer.Time)
		if err != nil || at.IsZero() || answer.Version != name {
			return errUnreadable
		}
		return nil
	}, path, name, ".info")
	return at, err
}

// getVersion gets something about a version.
func (p *proxy) getVersion(ctx context.Context, limit int64, read func(body []byte) error, path, name, what string) error {
	escapedPath, err := module.EscapePath(path)
	if err != nil {
		return err
	}
	escaped, err := module.EscapeVersion(name)
	if err != nil {
		return err
	}
	return p.get(ctx, limit, read, escapedPath, "@v", escaped+what)
}

// get asks for something until an answer can be read, some times at most.
func (p *proxy) get(ctx context.Context, limit int64, read func(body []byte) error, elements ...string) error {
	address := p.base.JoinPath(elements...)
	for attempt := 1; ; attempt++ {
		if err := p.turn(ctx); err != nil {
			return err
		}
		err := p.ask(ctx, address.String(), limit, read)
		switch {
		case err == nil:
			return nil
		case attempt == attempts || !errors.As(err, new(passing)):
			return fmt.Errorf("%s: %w", address.Redacted(), err)
		}
		if err := p.wait(ctx, firstWait<<(attempt-1)); err != nil {
			return err
		}
	}
}

// turn waits for as long as an answer asked for.
func (p *proxy) turn(ctx context.Context) error {
	for {
		p.mu.Lock()
		left := p.until.Sub(p.now())
		p.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if err := p.wait(ctx, left); err != nil {
			return err
		}
	}
}

// ask asks once.
func (p *proxy) ask(ctx context.Context, address string, limit int64, read func(body []byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, longestAnswer+time.Duration(limit/slowest)*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := p.client.Do(request)
	if err != nil {
		if inner := new(url.Error); errors.As(err, &inner) {
			err = inner.Err // get names the address
		}
		return passing{err}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusSwitchingProtocols { // reading that would end with nothing, not even the context
		return fmt.Errorf("the answer is %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch status := response.StatusCode; {
	case status == http.StatusForbidden, status == http.StatusNotFound, status == http.StatusGone,
		status == http.StatusUnavailableForLegalReasons:
		return errUnserved
	case status == http.StatusTooManyRequests || status >= 500:
		return p.later(response)
	case status != http.StatusOK:
		return fmt.Errorf("the answer is %s", response.Status)
	case err != nil:
		return passing{err}
	case int64(len(body)) > limit:
		return fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return read(body)
}

// later returns the error of an answer that asks to come again, and has nothing asked for before the
// time that it names.
func (p *proxy) later(response *http.Response) error {
	err := fmt.Errorf("the answer is %s", response.Status)
	after := retryAfter(response.Header, p.now())
	if after > longestWait {
		return fmt.Errorf("%w, and to try again after %v", err, after)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.now().Add(after); until.After(p.until) {
		p.until = until
	}
	return passing{err}
}

// retryAfter returns the time to wait by Retry-After, 0 if there is none. A date is taken by the
// server's clock.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // the greatest, then
		return time.Duration(n) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(until.Sub(now), 0)
}
