package fingerprint

import "github.com/recrawl/recrawl/internal/codec"

// Errors of this package, wrapped with what is wrong.
var (
	// ErrCorrupt reports saved state that is truncated, altered or of another type.
	ErrCorrupt = codec.ErrCorrupt
	// ErrVersion reports saved state of another version.
	ErrVersion = codec.ErrVersion
)
