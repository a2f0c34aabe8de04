package binpack

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the index or id and the value at fault. A
// call that returns an error has changed nothing.
var (
	// ErrConfig reports a setting out of its range, also a weight that is negative, not finite or too
	// large to add up, and a capacity that is not positive and finite or out of the range that the
	// quantum allows. In the latter case the message names the quantum.
	ErrConfig = errors.New("binpack: setting out of range")
	// ErrUnknown reports a site, node or page that is unknown or was removed.
	ErrUnknown = errors.New("binpack: unknown or removed site, node or page")
	// ErrNotAsked reports an answer about a page that was not asked for.
	ErrNotAsked = errors.New("binpack: answer about a page that was not asked for")
	// ErrProblem reports a problem without items or bins, or with a conflict or pin that makes no
	// sense.
	ErrProblem = errors.New("binpack: no items, no bins, or a conflict or pin that makes no sense")
	// ErrNoRoom reports that there is no room for an item or a site, or that the item or site is
	// larger than every bin.
	ErrNoRoom = errors.New("binpack: no room")
	// ErrInvalid reports a packing, a certificate or a proof that does not hold.
	ErrInvalid = errors.New("binpack: packing, certificate or proof does not hold")
	// ErrTooHard reports a check that would take too long.
	ErrTooHard = errors.New("binpack: check takes too long")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or
	// version.
	ErrCorrupt = codec.ErrCorrupt
)
