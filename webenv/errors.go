package webenv

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the index and the value at fault.
var (
	// ErrConfig reports a setting out of its range, also a rate or a probability of a page.
	ErrConfig = errors.New("webenv: setting out of range")
	// ErrUnknown reports that a scheduler asked for a page that the environment does not have,
	// or that a chooser named no access point.
	ErrUnknown = errors.New("webenv: no such page or access point")
	// ErrTime reports a time that is not finite, or not after the one before it, or a change later
	// than the poll that found it.
	ErrTime = errors.New("webenv: bad time")
	// ErrNoPages reports an environment or a history without any page.
	ErrNoPages = errors.New("webenv: no pages")
	// ErrName reports a page name that is blank, contains a comma or a line break, or is given
	// to two pages, or that some pages have names and some have none.
	ErrName = errors.New("webenv: bad page name")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or version.
	ErrCorrupt = codec.ErrCorrupt
)
