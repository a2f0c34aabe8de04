package live

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// packed is the content of a body that the caller is handed compressed by gzip. It is held, and
// decompressed at the end.
type packed struct {
	content
	held bytes.Buffer
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
func (c *packed) Write(b []byte) (int, error) { return c.held.Write(b) }

// unpack returns the content with the decompressed body written to it, and whether that is only
// its beginning. Some bodies are not compressed whatever their header says.
func (c *packed) unpack() (plain content, longer bool, err error) {
	z, err := gzip.NewReader(bytes.NewReader(c.held.Bytes()))
	if err != nil {
		_, err = c.content.Write(c.held.Bytes())
		return c.content, false, err
	}
	limited := &io.LimitedReader{R: z, N: defaultMaxBytes}
	_, err = io.Copy(c.content, limited)
	return c.content, limited.N == 0, err
}
