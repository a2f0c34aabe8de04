package live

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the index and the value at fault.
var (
	// ErrConfig reports a setting out of its range.
	ErrConfig = errors.New("live: setting out of range")
	// ErrURL reports a URL that is not absolute, that is not http or https, or that is in the list
	// twice. Two URLs are the same if they differ only in the case of the host, in the default
	// port, in the slash of an empty path, or in the fragment.
	ErrURL = errors.New("live: bad URL")
	// ErrStatus reports an answer that is neither a page, nor 304 to a conditional request, nor a
	// redirect. 205 is no page. 206 and 226 are no pages either: they hold a part that nobody asked
	// for.
	ErrStatus = errors.New("live: bad status")
	// ErrClosedEarly reports that nothing could be compared: the body of a page was closed before
	// its end, at another place than before, and the headers do not decide.
	ErrClosedEarly = errors.New("live: body closed before its end")
	// ErrNotSent reports that no GET with the context of Begin went through a Transport, or that End
	// was called before the body of the answer was closed. It is joined with the error given to End.
	ErrNotSent = errors.New("live: no GET with the context of Begin went through a Transport, or its body is still open")
	// ErrCorrupt reports saved state that is truncated, altered, or of another type or version.
	ErrCorrupt = codec.ErrCorrupt
)
