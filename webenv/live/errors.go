package live

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package, wrapped with the index and the value.
var (
	// ErrConfig reports a setting out of its range.
	ErrConfig = errors.New("live: setting out of range")
	// ErrURL reports a URL that is not absolute, not http or https, or that stands in the list
	// twice, be it with other letters in the host, or with or without the usual port or the slash
	// of an empty path.
	ErrURL = errors.New("live: bad URL")
	// ErrStatus reports an answer that is neither a page, nor 304 to a conditional request, nor
	// a redirect. 205 is no page, nor are 206 and 226, which hold a part that nobody asked for.
	ErrStatus = errors.New("live: bad status")
	// ErrClosedEarly reports that the body of a page was closed before its end, elsewhere than
	// before, and that the headers decide nothing, so that nothing could be compared.
	ErrClosedEarly = errors.New("live: body closed before its end")
	// ErrNotSent reports that the client sent no request for a page, joined with the client's
	// error.
	ErrNotSent = errors.New("live: no request was sent")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or version.
	ErrCorrupt = codec.ErrCorrupt
)
