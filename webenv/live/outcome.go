package live

import (
	"errors"
	"net/http"
	"time"

	"github.com/recrawl/recrawl/internal/enum"
)

// An Outcome is what became of a poll.
type Outcome uint8

const (
	// Answered is a copy of the page, 304, or a redirect that was not followed.
	Answered Outcome = iota
	// Failed is a failure that may be over soon: of the network, a time limit, 5xx and such.
	Failed
	// Vetoed is an answer of a server that does not want to be asked: a failure with Retry-After,
	// 429, 401, 403 and 451.
	Vetoed
	// Gone is 404 and 410.
	Gone
)

var outcomes = enum.Of[Outcome](ErrConfig, "answered", "failed", "vetoed", "gone")

// String returns the name of the outcome in small letters, such as "vetoed".
func (o Outcome) String() string { return outcomes.String(o) }

// MarshalText implements [encoding.TextMarshaler].
func (o Outcome) MarshalText() ([]byte, error) { return outcomes.MarshalText(o) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Outcome) UnmarshalText(text []byte) error { return outcomes.UnmarshalText(o, text) }

// Outcome returns what became of the poll.
func (p *Poll) Outcome() Outcome {
	switch {
	case p.Err == nil:
		return Answered
	case !p.RetryAfter.IsZero():
		return Vetoed
	}
	switch p.Status {
	case http.StatusNotFound, http.StatusGone:
		return Gone
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return Vetoed
	}
	return Failed
}

// Unreachable reports whether no answer came, one that broke off, or a 5xx. For a robots.txt it means that
// nothing may be polled until it is reached: half of one may lack the line that forbids. Any 4xx means that
// everything may (RFC 9309, section 2.3.1), but a server that answers 429, which is Vetoed, is better left alone.
// One that the caller closed early was reached.
func (p *Poll) Unreachable() bool {
	return p.Err != nil && (p.Status < 300 || p.Status >= 500) && !errors.Is(p.Err, ErrClosedEarly)
}

// A Learner is told by [Tell] what became of polls. A *knapsack.Keyed[K] is one. If it has a method
//
//	Defer(key K, until time.Time) error
//
// it is told of Retry-After too.
type Learner[K any] interface {
	Observe(key K, now time.Time, changed bool) error
	GiveBack(key K, now time.Time) error
	Remove(key K) error
}

// mostDeferred is how long a page is put off at most because of Retry-After. Vetoes that are meant are
// of minutes or hours, and of some days for the longest maintenance; after a longer one, one request
// a week is little to ask.
const mostDeferred = 7 * 24 * time.Hour

// Tell tells a learner what became of a poll that it asked for, with the call that fits:
//
//   - Observe if there was an answer, with Poll.Changed. A first copy is given back, as it tells
//     nothing of changes.
//   - GiveBack if there was none: the learner asks again, less and less often if it backs off. So
//     also for 404, which is no word for good: it comes and goes with a server's troubles.
//   - Defer before that, where the server named a time in Retry-After, for a week at most: some
//     servers put a date in seconds there, or one that is thousands of years ahead, and the page
//     would never be asked for again. Poll.RetryAfter has the time as it was named.
//   - Remove for 410, which is for good.
//
// It is for polls of which each has one answer, as those of [Fetch].End do.
func Tell[K any](learner Learner[K], key K, now time.Time, poll Poll) error {
	switch {
	case poll.Err == nil && !poll.First:
		return learner.Observe(key, now, poll.Changed)
	case poll.Status == http.StatusGone:
		return learner.Remove(key)
	}
	var deferred error
	if l, ok := learner.(interface {
		Defer(key K, until time.Time) error
	}); ok && poll.Outcome() == Vetoed && !poll.RetryAfter.IsZero() {
		until := poll.RetryAfter
		if latest := now.Add(mostDeferred); until.After(latest) {
			until = latest
		}
		if deferred = l.Defer(key, until); errors.Is(deferred, errors.ErrUnsupported) {
			deferred = nil
		}
	}
	return errors.Join(deferred, learner.GiveBack(key, now))
}
