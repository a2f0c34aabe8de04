package schedule

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package; those returned wrap one of them and name the index
// and the value.
var (
	// ErrNoSites reports a problem without sites.
	ErrNoSites = errors.New("schedule: no sites")
	// ErrNoClients reports a problem without clients.
	ErrNoClients = errors.New("schedule: no clients")
	// ErrDuration reports a duration, size, time or speed that is NaN or
	// infinite, or not positive where it has to be.
	ErrDuration = errors.New("schedule: invalid duration")
	// ErrShape reports slices whose lengths do not match.
	ErrShape = errors.New("schedule: lengths do not match")
	// ErrOverflow reports times whose sum is not a finite number.
	ErrOverflow = errors.New("schedule: the sum of all times overflows")
	// ErrPlan reports a plan that does not give every site one of the clients.
	ErrPlan = errors.New("schedule: invalid plan")
	// ErrKind reports an algorithm asked for a kind of problem it cannot solve.
	ErrKind = errors.New("schedule: not for this kind of clients")
	// ErrResult reports a result that contradicts its problem or itself.
	ErrResult = errors.New("schedule: invalid result")
	// ErrLimit reports a limit that is negative or NaN.
	ErrLimit = errors.New("schedule: invalid limit")
	// ErrUnknown reports a client or a site that is not there.
	ErrUnknown = errors.New("schedule: unknown client or site")
	// ErrNotAsked reports an answer about a site that the client does not hold.
	ErrNotAsked = errors.New("schedule: the client does not hold this site")
	// ErrBusy reports a client that asks while it still holds a site.
	ErrBusy = errors.New("schedule: the client still holds a site")
	// ErrTime reports a time that is not finite or lies before an earlier one.
	ErrTime = errors.New("schedule: invalid time")
	// ErrCorrupt reports saved state that is truncated, altered or of another type.
	ErrCorrupt = codec.ErrCorrupt
	// ErrVersion reports saved state written by a later version.
	ErrVersion = codec.ErrVersion
)
