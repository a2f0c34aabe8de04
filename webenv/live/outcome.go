package live

import (
	"errors"
	"net/http"
	"time"

	"github.com/recrawl/recrawl/internal/enum"
)

// An Outcome is the result of a poll.
type Outcome uint8

const (
	// Answered means a copy of the page, 304, or a redirect that was not followed.
	Answered Outcome = iota
	// Failed means a failure that may be over soon: of the network, a time limit, 5xx, the caller's
	// own store and the like.
	Failed
	// Vetoed means that the server does not want to be asked: a failure with Retry-After, or 429,
	// 401, 403 or 451.
	Vetoed
	// Gone means 404 or 410.
	Gone
)

var outcomes = enum.Of[Outcome](ErrConfig, "answered", "failed", "vetoed", "gone")

// String returns the name of the outcome in small letters, such as "vetoed".
func (o Outcome) String() string { return outcomes.String(o) }

// MarshalText implements [encoding.TextMarshaler].
func (o Outcome) MarshalText() ([]byte, error) { return outcomes.MarshalText(o) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Outcome) UnmarshalText(text []byte) error { return outcomes.UnmarshalText(o, text) }

// Outcome returns the result of the poll.
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

// Unreachable reports whether no answer came, the answer broke off or was no whole page (101, 205,
// 206, 226), its status was 5xx, or the caller could not keep it ([Fetch].End). An answer that the
// caller closed early was reached.
//
// It matters for a robots.txt (RFC 9309, section 2.3.1). If that is unreachable, nothing may be
// polled until it is reached: half a robots.txt may lack the line that forbids. Any 4xx means that
// everything may be polled, but a server that answers 429, which is Vetoed, is better left alone.
func (p *Poll) Unreachable() bool {
	return p.Err != nil && (p.Status < 300 || p.Status >= 500) && !errors.Is(p.Err, ErrClosedEarly)
}

// A Learner is what [Tell] reports the results of polls to. A *knapsack.Keyed[K] is one. If it has
// a method
//
//	Defer(key K, until time.Time) error
//
// Tell also reports Retry-After to it.
type Learner[K any] interface {
	Observe(key K, now time.Time, changed bool) error
	GiveBack(key K, now time.Time) error
	Remove(key K) error
}

// mostDeferred is the longest time for which Retry-After puts a page off. Serious vetoes last
// minutes or hours, and some days for the longest maintenance. If a server states more than a week,
// one request a week is no burden for it.
const mostDeferred = 7 * 24 * time.Hour

// Tell reports the result of a poll to the learner that asked for it. It makes the call that fits:
//
//   - Observe, with Poll.Changed, if there was an answer. A first copy leads to GiveBack instead,
//     because it says nothing about changes. So the shortest interval of a page of a
//     knapsack.RateFilter does not count from its first copy on, but from the poll after that.
//   - GiveBack if there was no answer. The learner asks again, less and less often if it backs off.
//     This is also for 404, which comes and goes with a server's troubles.
//   - Defer before GiveBack, if the server named a time in Retry-After, but for a week at most.
//     Some servers write a date in seconds there, or a date thousands of years ahead, and the page
//     would never be polled again. Poll.RetryAfter has the time as the server stated it.
//   - Remove for 410, which is final.
//
// Each poll must have exactly one result, as those of [Fetch].End do.
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
