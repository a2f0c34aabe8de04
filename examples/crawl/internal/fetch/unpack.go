package fetch

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// AskGzip adds to the headers of a GET request that the answer may be compressed, and reports whether
// it did: not if they ask for a coding or for a part. Then Unpack is for the answer.
func AskGzip(h http.Header) bool {
	if h.Get("Accept-Encoding") != "" || h.Get("Range") != "" {
		return false
	}
	h.Set("Accept-Encoding", "gzip")
	return true
}

// Unpack has the body of an answer decompressed if it says that it is compressed, as a http.Transport
// does. Unlike that it takes a body that is not, and one with something else behind it, as browsers do:
// a server whose compressed text is followed by a line break would fail at each poll.
func Unpack(resp *http.Response) {
	switch strings.ToLower(resp.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip": // the same (RFC 9110, section 8.4.1.3)
	default:
		return
	}
	resp.Body = &unpacked{ReadCloser: resp.Body}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Uncompressed = true
}

// longestTail is what is read behind a compressed body, so that its connection can be kept.
const longestTail = 4 << 10

// An unpacked is the content of a body that should be compressed.
type unpacked struct {
	io.ReadCloser
	from *bufio.Reader
	gzip *gzip.Reader // nil if the body is its own content
	err  error
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.from == nil {
		u.from = bufio.NewReader(u.ReadCloser)
		u.err = u.member()
	}
	for n == 0 && u.err == nil && len(p) > 0 {
		if u.gzip == nil {
			return u.from.Read(p)
		}
		if n, u.err = u.gzip.Read(p); errors.Is(u.err, io.EOF) {
			u.err = u.member()
		}
	}
	return n, u.err
}

// member begins the next part of the body that is compressed by itself, or its end.
func (u *unpacked) member() error {
	start, err := u.from.Peek(2)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case string(start) == "\x1f\x8b":
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		err = u.gzip.Reset(u.from)
		u.gzip.Multistream(false) // or what comes after it would have to be another
		return err
	case u.gzip == nil:
		return nil
	}
	_, _ = io.CopyN(io.Discard, u.from, longestTail)
	return io.EOF
}
