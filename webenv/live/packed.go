package live

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// packed is the content of a body that the caller is handed compressed by gzip. As much is held as may
// be compared, and decompressed at the end.
type packed struct {
	content
	held   bytes.Buffer
	longer bool // than what is held
}

// unpacked returns a content that is what a body with a header is to be compared by, decompressed if
// need be.
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

// unpack returns the content with the decompressed body written to it, and whether that is only
// its beginning. Some bodies are not compressed whatever their header says.
func (c *packed) unpack() (plain content, longer bool, err error) {
	z, err := gzip.NewReader(bytes.NewReader(c.held.Bytes()))
	if err != nil {
		_, err = c.content.Write(c.held.Bytes())
		return c.content, c.longer, err
	}
	limited := &io.LimitedReader{R: z, N: defaultMaxBytes}
	_, err = io.Copy(c.content, limited)
	if c.longer && errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return c.content, c.longer || limited.N == 0, err
}
