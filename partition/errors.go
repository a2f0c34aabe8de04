package partition

import (
	"errors"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the object or arm and the value at fault.
// A call that returns an error has changed nothing.
var (
	// ErrConfig reports a setting out of its range, also a weight.
	ErrConfig = errors.New("partition: setting out of range")
	// ErrUnknown reports an object, site or arm that is unknown or was removed.
	ErrUnknown = errors.New("partition: unknown or removed object or arm")
	// ErrNotAsked reports an answer to a question that is not open.
	ErrNotAsked = errors.New("partition: answer to a question that is not open")
	// ErrDuration reports a duration that is negative, not finite or too large.
	ErrDuration = errors.New("partition: duration is negative, not finite or too large")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or
	// version.
	ErrCorrupt = codec.ErrCorrupt
)

func checkDuration(object int, d float64) error {
	if !(d >= 0 && d <= math.MaxFloat64) {
		return fmt.Errorf("%w: object %d: %v", ErrDuration, object, d)
	}
	return nil
}

func unknownObject(object int) error { return fmt.Errorf("%w: object %d", ErrUnknown, object) }

// checkObject checks an object of n that are never added or removed.
func checkObject(object, n int) error {
	if object < 0 || object >= n {
		return unknownObject(object)
	}
	return nil
}

// checkPair checks two objects of n.
func checkPair(i, j, n int) error {
	if err := checkObject(i, n); err != nil {
		return err
	}
	if err := checkObject(j, n); err != nil {
		return err
	}
	if i == j {
		return fmt.Errorf("%w: no second object in (%d, %d)", ErrUnknown, i, j)
	}
	return nil
}
