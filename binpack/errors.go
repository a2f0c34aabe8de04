package binpack

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the index or id and the value at fault. A
// call that returns an error has changed nothing.
var (
	ErrWeight   = errors.New("binpack: weight is negative, not finite, or too large to add up")
	ErrCapacity = errors.New("binpack: capacity is not positive and finite")
	ErrProblem  = errors.New("binpack: no items, or a conflict or pin that makes no sense")
	ErrNoRoom   = errors.New("binpack: no room") // for an item or a site, or it is larger than every bin
	ErrInvalid  = errors.New("binpack: packing or certificate does not hold")
	ErrTooHard  = errors.New("binpack: check takes too long")
	ErrConfig   = errors.New("binpack: setting out of range")
	ErrUnknown  = errors.New("binpack: unknown or removed site, node or page")
	ErrNotAsked = errors.New("binpack: answer about a page that was not asked for")
	ErrCorrupt  = codec.ErrCorrupt // saved state is truncated, altered, or of another type or version
)
