package fetch

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pack returns a text in gzip.
func pack(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// unpack returns what a body is unpacked to, however it is read.
func unpack(t require.TestingT, body string) (string, error) {
	read := func(from func(io.Reader) io.Reader, to func(io.Reader) io.Reader) (string, error) {
		resp := &http.Response{Header: http.Header{"Content-Encoding": {"GZIP"}}, Body: io.NopCloser(from(strings.NewReader(body)))}
		Unpack(resp)
		got, err := io.ReadAll(to(resp.Body))
		return string(got), err
	}
	same := func(r io.Reader) io.Reader { return r }
	got, err := read(same, same)
	for _, how := range [][2]func(io.Reader) io.Reader{{iotest.OneByteReader, same}, {iotest.DataErrReader, iotest.OneByteReader}, {iotest.HalfReader, iotest.HalfReader}} {
		again, failed := read(how[0], how[1])
		require.Equal(t, err, failed)
		if err == nil {
			require.Equal(t, got, again)
		}
	}
	return got, err
}

// The content of a body is that of its parts, whatever is behind them, and one that breaks off fails.
func TestUnpack(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("some text ", 3000)
	for _, body := range []string{"", "x", "\x1f", "plain text", text} { // not compressed at all
		got, err := unpack(t, body)
		require.NoError(t, err)
		require.Equal(t, body, got)
	}
	whole := pack(text)
	for cut := 2; cut < len(whole); cut++ {
		_, err := unpack(t, whole[:cut])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, cut)
	}
	wrong := []byte(whole)
	wrong[len(wrong)-5] ^= 1 // of the checksum
	_, err := unpack(t, string(wrong))
	require.ErrorIs(t, err, gzip.ErrChecksum)
	_, err = unpack(t, whole+"\x1f\x8bnothing")
	require.Error(t, err)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringN(0, 100, -1), 1, 4).Draw(t, "parts")
		tail := rapid.OneOf(rapid.Just(""), rapid.Just("\n"), rapid.Just(strings.Repeat("\x00", 2*longestTail)), rapid.String()).Draw(t, "tail")
		var body string
		for _, p := range parts {
			body += pack(p)
		}
		got, err := unpack(t, body+tail)
		require.NoError(t, err)
		require.Equal(t, strings.Join(parts, ""), got)
	})
}

// An access point unpacks what it asked to be packed, and keeps the connection where something comes
// behind it; who asks for a coding or a part gets it as it came.
func TestUnpacksByItself(t *testing.T) {
	t.Parallel()
	packed := pack("text") + "\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "x-gzip")
			_, _ = io.WriteString(w, packed)
			return
		}
		_, _ = io.WriteString(w, "as it is")
	}))
	defer server.Close()
	point, err := ParsePoint("direct", false)
	require.NoError(t, err)
	defer point.Close()
	for i, c := range []struct{ header, value, want string }{
		{"User-Agent", "test", "text"}, {"User-Agent", "test", "text"}, {"Accept-Encoding", "gzip", packed}, {"Range", "bytes=0-", "as it is"},
	} {
		reused := false
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		r.Header.Set(c.header, c.value)
		before := r.Header.Clone()
		resp, err := point.Base.RoundTrip(r)
		require.NoError(t, err)
		var got bytes.Buffer
		_, err = got.ReadFrom(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, c.want, got.String())
		require.Equal(t, before, r.Header)
		require.Equal(t, i > 0, reused)
		require.Equal(t, c.want == "text", resp.Uncompressed)
		require.Equal(t, c.want == packed, resp.Header.Get("Content-Encoding") != "")
	}
}
