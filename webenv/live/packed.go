package live

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// packed is the content of a body that the caller gets compressed by gzip. It holds as much as may
// be compared, and decompresses that at the end.
type packed struct {
	content
	held   bytes.Buffer
	longer bool // the body is longer than what is held
}

// unpacked returns the content by which a body with the given header is compared: c, or a packed
// one that decompresses for c.
func unpacked(c content, h http.Header) content {
	switch strings.ToLower(h.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		return &packed{content: c}
	}
	return c
}

// Write implements [io.Writer].
func (c *packed) Write(b []byte) (int, error) {
	room := defaultMaxBytes - c.held.Len()
	c.longer = c.longer || len(b) > room
	c.held.Write(b[:min(len(b), room)])
	return len(b), nil
}

// unpack returns the content with the decompressed body written to it, its size, and whether that is
// only the beginning. Some bodies are not compressed although their header says so.
func (c *packed) unpack() (plain content, size int64, longer bool, err error) {
	body := bytes.NewReader(c.held.Bytes())
	z, err := gzip.NewReader(body)
	if err != nil {
		n, err := c.content.Write(c.held.Bytes())
		return c.content, int64(n), c.longer, err
	}
	limited := &io.LimitedReader{R: z, N: defaultMaxBytes}
	for err == nil {
		z.Multistream(false) // the body may be several in a row, with anything behind them
		_, err = io.Copy(c.content, limited)
		rest := c.held.Bytes()[c.held.Len()-body.Len():]
		if err != nil || limited.N == 0 || !bytes.HasPrefix(rest, []byte("\x1f\x8b")) {
			break
		}
		err = z.Reset(body)
	}
	if c.longer && errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return c.content, defaultMaxBytes - limited.N, c.longer || limited.N == 0, err
}
