package sink

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

const (
	// shortestPause is the time until a sink that failed is tried again; it doubles up to
	// longestPause, after which the version is not kept. That is a minute in all: no page is
	// fetched more often than that while its versions cannot be kept.
	shortestPause = time.Second
	longestPause  = 32 * time.Second
	// tellEvery is the least time between two warnings.
	tellEvery = time.Minute
	// longestKeep is the time that no sink needs, but one that hangs, such as a pipe that nobody reads; a
	// webhook has a shorter one of its own. lastKeep is that when the crawl is to end.
	longestKeep = 30 * time.Second
	lastKeep    = 5 * time.Second
)

// errHangs reports a sink that neither takes a version nor fails.
var errHangs = errors.New("it is not taken: does nobody read?")

// Sinks hand each version to all sinks, in order, and try those that fail again. The log says when
// they fail, and when they do not any more. Make them with New. They are safe for concurrent use if
// the sinks are.
type Sinks struct {
	all      []Sink
	failures atomic.Uint64
	stop     chan struct{}
	stopOnce sync.Once
	now      func() time.Time
	after    func(time.Duration) <-chan time.Time
	log      func() *slog.Logger

	mu      sync.Mutex
	told    time.Time
	failed  uint64 // attempts since then
	failing bool   // and that was told
	partly  map[string]partly
}

// A partly is a version that the first sinks have and the next did not take: those are not handed it again when its page
// is fetched again.
type partly struct {
	body [sha256.Size]byte // its hash
	by   int
}

// New returns sinks.
func New(all ...Sink) *Sinks {
	return &Sinks{all: all, partly: map[string]partly{}, stop: make(chan struct{}), now: time.Now, after: time.After, log: slog.Default}
}

// Sink returns what keeps a version in all sinks, nil if there are none.
func (s *Sinks) Sink() Sink {
	if len(s.all) == 0 {
		return nil
	}
	return func(ctx context.Context, v fetch.Version) error {
		p := s.before(v)
		for ; p.by < len(s.all); p.by++ {
			if err := s.keep(ctx, s.all[p.by], v); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.partly[v.URL] = p
				return err
			}
		}
		s.well(v.URL)
		return nil
	}
}

// before returns by how many sinks a version was kept before.
func (s *Sinks) before(v fetch.Version) partly {
	p := partly{body: sha256.Sum256(v.Body)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.partly[v.URL]; ok && before.body == p.body {
		return before
	}
	return p
}

// Failures returns the number of attempts to keep a version that failed.
func (s *Sinks) Failures() uint64 { return s.failures.Load() }

// Stop has no more second attempts made, as the crawl is to end.
func (s *Sinks) Stop() { s.stopOnce.Do(func() { close(s.stop) }) }

func (s *Sinks) keep(ctx context.Context, keep Sink, v fetch.Version) error {
	for pause := shortestPause; ; pause *= 2 {
		err := s.try(ctx, keep, v)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil: // nobody wants it any more
			return err
		}
		s.ill(err)
		if pause > longestPause {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-s.stop:
			return err
		case <-s.after(pause):
		}
	}
}

// try hands a version to a sink. One that hangs is told of and waited for, but not for long once the crawl, or
// the poll, is to end: what it hangs in, as a write, cannot be ended.
func (s *Sinks) try(ctx context.Context, keep Sink, v fetch.Version) error {
	kept := make(chan error, 1)
	go func() { kept <- keep(ctx, v) }()
	hangs := time.NewTimer(longestKeep)
	defer hangs.Stop()
	for waits := true; waits; {
		select {
		case err := <-kept:
			return err
		case <-s.stop:
			waits = false
		case <-ctx.Done():
			waits = false
		case <-hangs.C:
			s.ill(errHangs)
			hangs.Reset(longestKeep)
		}
	}
	hangs.Reset(lastKeep)
	select {
	case err := <-kept:
		return err
	case <-hangs.C:
		return errHangs
	}
}

// ill counts a failure and tells of it, if the latest one was not just told.
func (s *Sinks) ill(err error) {
	s.failures.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	if now := s.now(); s.told.IsZero() || now.Sub(s.told) >= tellEvery {
		s.log().Warn("new versions cannot be kept; their pages wait, and are fetched again if that lasts", "error", err, "failed attempts", s.failed)
		s.told, s.failed, s.failing = now, 0, true
	}
}

// well takes note that all sinks kept a version, and tells of it after failures.
func (s *Sinks) well(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.partly, url)
	if s.failing {
		s.log().Info("new versions are kept again")
		s.failing = false
	}
}
