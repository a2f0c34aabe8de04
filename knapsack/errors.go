package knapsack

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the page and the value at fault. A call that
// returns an error has changed nothing; but a Next of a Keyed that returns ErrNoPage counts as a call at
// its time.
var (
	// ErrConfig reports a setting out of its range: of a Config, or a rate, weight, cost, frequency or
	// interval of a page.
	ErrConfig = errors.New("knapsack: setting out of range")
	// ErrNoPage reports that no page may be polled now, as a [NoPageError] that says when
	// to ask again.
	ErrNoPage = errors.New("knapsack: no page may be polled now")
	// ErrUnknown reports a page, or a group, that is unknown or was removed.
	ErrUnknown = errors.New("knapsack: unknown or removed page or group")
	// ErrNotAsked reports an answer to a poll that is not in flight.
	ErrNotAsked = errors.New("knapsack: answer to a poll that is not in flight")
	// ErrTime reports a time that is NaN, ±1e299 or beyond, or before an earlier one.
	ErrTime = errors.New("knapsack: time is out of range or goes backwards")
	// ErrNoChange reports that too few changes were found for WhatIf and PollsFor.
	ErrNoChange = errors.New("knapsack: too few changes have been found yet")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or
	// version.
	ErrCorrupt = codec.ErrCorrupt
)

// A NoPageError is the ErrNoPage of all learners: it wraps that, and says when to ask again.
type NoPageError struct {
	// At is the earliest time at which Next can succeed unless something else happens: the time
	// of the call or later; +Inf if only an answer, a new page or the end of a limit can help.
	At float64
}

// Time returns At where times are Unix time in seconds, as in a Keyed; the zero time for +Inf.
func (e *NoPageError) Time() time.Time { return moment(e.At) }

// Error implements error.
func (e *NoPageError) Error() string {
	if math.IsInf(e.At, 1) {
		return ErrNoPage.Error()
	}
	return fmt.Sprintf("%v: not before %v", ErrNoPage, e.At)
}

// NoPage marks the error for webenv.Run, which then makes no poll and goes on.
func (e *NoPageError) NoPage() {}

// Unwrap returns ErrNoPage.
func (e *NoPageError) Unwrap() error { return ErrNoPage }

// noPageByClock is the NoPageError of a Keyed, whose text has a time of day.
type noPageByClock struct{ *NoPageError }

// Error implements error.
func (e noPageByClock) Error() string {
	at := e.Time()
	if at.IsZero() {
		return e.NoPageError.Error()
	}
	return fmt.Sprintf("%v: not before %v", ErrNoPage, at.UTC().Format(time.RFC3339))
}

// Unwrap returns the NoPageError.
func (e noPageByClock) Unwrap() error { return e.NoPageError }
