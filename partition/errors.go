package partition

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors, which the functions of this package wrap with the index and the value.
var (
	// ErrParameter reports a setting outside its range.
	ErrParameter = errors.New("partition: parameter out of range")
	// ErrObject reports an object or site that does not exist or was removed.
	ErrObject = errors.New("partition: no such object")
	// ErrArm reports an arm that does not exist or was removed.
	ErrArm = errors.New("partition: no such arm")
	// ErrDuration reports a duration that is negative, NaN or infinite.
	ErrDuration = errors.New("partition: not a duration")
	// ErrNotAsked reports a duration that nobody asked for.
	ErrNotAsked = errors.New("partition: answer without a question")
	// ErrWeight reports a weight that is negative, NaN or infinite.
	ErrWeight = errors.New("partition: not a weight")
	// ErrCorrupt reports saved state that is truncated or altered.
	ErrCorrupt = codec.ErrCorrupt
	// ErrVersion reports state saved by a later version.
	ErrVersion = codec.ErrVersion
	// ErrSource reports that the source of randomness cannot be saved; PCG and
	// ChaCha8 of math/rand/v2 can.
	ErrSource = codec.ErrSource
)

func checkDuration(object int, d float64) error {
	if !(d >= 0 && d <= math.MaxFloat64) {
		return fmt.Errorf("%w: object %d: %v", ErrDuration, object, d)
	}
	return nil
}

func checkSource(src rand.Source) {
	if src == nil {
		panic("partition: nil source of randomness")
	}
}

func noObject(object int) error { return fmt.Errorf("%w: %d", ErrObject, object) }

func noArm(arm int) error { return fmt.Errorf("%w: %d", ErrArm, arm) }

// checkPair checks two objects of n.
func checkPair(i, j, n int) error {
	for _, object := range [2]int{i, j} {
		if object < 0 || object >= n {
			return noObject(object)
		}
	}
	if i == j {
		return fmt.Errorf("%w: pair (%d, %d) of one object", ErrObject, i, j)
	}
	return nil
}
