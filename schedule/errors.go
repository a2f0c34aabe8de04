package schedule

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the value at fault, and its index if it has one.
var (
	// ErrConfig reports a setting out of its range.
	ErrConfig = errors.New("schedule: setting out of range")
	// ErrProblem reports a problem without sites or clients, slices whose lengths do not
	// match, or clients of a kind that an algorithm cannot take.
	ErrProblem = errors.New("schedule: invalid problem")
	// ErrDuration reports a duration, size, time or speed that is NaN, infinite or out of its
	// range, or that makes a sum infinite or out of its range.
	ErrDuration = errors.New("schedule: invalid duration")
	// ErrPlan reports a plan that does not give every site a valid client, a list that does not
	// name every site once, or a result that contradicts its problem or itself.
	ErrPlan = errors.New("schedule: invalid plan")
	// ErrUnknown reports a client or a site that is unknown or was removed.
	ErrUnknown = errors.New("schedule: unknown or removed client or site")
	// ErrNotAsked reports an answer about a site that the client does not hold.
	ErrNotAsked = errors.New("schedule: the client does not hold this site")
	// ErrBusy reports a client that asks while it still holds a site.
	ErrBusy = errors.New("schedule: the client still holds a site")
	// ErrTime reports a time that is not finite or lies before an earlier one.
	ErrTime = errors.New("schedule: time is not finite or goes backwards")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or version.
	ErrCorrupt = codec.ErrCorrupt
)
