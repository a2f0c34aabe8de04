package fingerprint

import "github.com/recrawl/recrawl/internal/codec"

// ErrCorrupt reports saved state that is truncated, altered, or of another type or version.
var ErrCorrupt = codec.ErrCorrupt
