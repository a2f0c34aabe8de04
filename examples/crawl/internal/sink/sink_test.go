package sink

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/webenv/live"
)

func version(body string) fetch.Version {
	return fetch.Version{
		URL: "http://a.test/x/../y?q=1", At: time.Date(2025, 3, 1, 0, 0, 0, 5, time.UTC), Proto: "HTTP/1.1",
		Poll: live.Poll{Status: 200, Changed: true}, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: []byte(body),
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep, err := Folder(dir)
	require.NoError(t, err)
	require.NoError(t, keep(t.Context(), version("one")))
	require.NoError(t, keep(t.Context(), version("one"))) // after a crash
	files, err := filepath.Glob(filepath.Join(dir, "a.test", "*", "*.html"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Equal(t, "one", string(content))
	require.Equal(t, "_", safe("../..", 10)[:1])
}

// The media type is found in a header that has more in it than it should.
func TestExtension(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"text/html": ".html", " Text/HTML ;charset": ".html", "text/html; charset=utf-8; charset=latin1": ".html",
		"text/html, text/html": ".html", "text/html; charset=utf-8, text/html": ".html", "text/html;=": ".html",
		"": ".bin", ";": ".bin", "no/such-type": ".bin", "html": ".bin",
	} {
		require.Equal(t, want, extension(header), header)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, Lines(&out)(t.Context(), version("one")))
	var n note
	require.NoError(t, json.Unmarshal(out.Bytes(), &n))
	require.Equal(t, 3, n.Bytes)
}

// A fullDisk takes so many bytes, and then none until there is more room.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.room)])
	if d.room -= n; n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

// What could be written of a line does not spoil the next one.
func TestLineIsCut(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	require.NoError(t, Lines(&whole)(t.Context(), version("one")))
	for cut := range whole.Len() {
		disk := &fullDisk{room: cut}
		keep := Lines(disk)
		require.Error(t, keep(t.Context(), version("one")))
		require.Error(t, keep(t.Context(), version("one")))
		disk.room = 1 // less than there is to write
		require.Error(t, keep(t.Context(), version("one")))
		disk.room = 1 << 20
		require.NoError(t, keep(t.Context(), version("one")))
		require.NoError(t, keep(t.Context(), version("one")))
		require.True(t, strings.HasSuffix(disk.String(), "\n"+whole.String()+whole.String()), "%d: %s", cut, disk.String())
	}
}

func TestWARC(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.warc.gz")
	for range 2 { // it is appended to
		w, err := NewWARC(name, "my-bot/1")
		require.NoError(t, err)
		require.NoError(t, w.Keep(t.Context(), version("<p>one")))
		require.NoError(t, w.Close())
	}
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	r := bufio.NewReader(f)
	var kinds []string
	for {
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		z.Multistream(false)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		head, block, ok := strings.Cut(string(text), "\r\n\r\n")
		require.True(t, ok)
		_, kind, _ := strings.Cut(head, "WARC-Type: ")
		kind, _, _ = strings.Cut(kind, "\r\n")
		kinds = append(kinds, kind)
		if kind == "response" {
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(block)), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, "<p>one", string(body))
			require.Contains(t, head, "WARC-Target-URI: http://a.test/x/../y?q=1\r\n")
		}
	}
	require.Equal(t, []string{"warcinfo", "response", "warcinfo", "response"}, kinds)
}

// archived returns what an archive of one version holds.
func archived(t *testing.T, v fetch.Version) string {
	name := filepath.Join(t.TempDir(), "a.warc.gz")
	w, err := NewWARC(name, "my-bot/1")
	require.NoError(t, err)
	require.NoError(t, w.Keep(t.Context(), v))
	require.NoError(t, w.Close())
	return unpacked(t, name)
}

// unpacked returns what a file holds.
func unpacked(t *testing.T, name string) string {
	f, err := os.Open(name)
	require.NoError(t, err)
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, errors.Join(err, f.Close()))
	return string(text)
}

// A page that was reached by redirects is archived where they led, behind a record of each of them. In the JSON
// it has the URL of the list.
func TestRedirected(t *testing.T) {
	t.Parallel()
	v := version("<p>one")
	v.Location = "http://a.test/new"
	v.Redirects = []fetch.Redirect{
		{URL: v.URL, Status: 301, Header: http.Header{"Location": {"/mid"}, "Content-Length": {"20"}}, Proto: "HTTP/1.1"},
		{URL: "http://a.test/mid", Status: 302, Header: http.Header{"Location": {"/new"}}, Proto: "HTTP/2.0"},
	}
	_, text, _ := strings.Cut(archived(t, v), "WARC-Type: response")
	records := strings.Split(text, "WARC-Type: response")
	require.Len(t, records, 3)
	for i, want := range []struct {
		url, location string
		status        int
		body          string
	}{{v.URL, "/mid", 301, ""}, {"http://a.test/mid", "/new", 302, ""}, {v.Location, "", 200, "<p>one"}} {
		head, block, ok := strings.Cut(records[i], "\r\n\r\n")
		require.True(t, ok)
		require.Contains(t, head, "WARC-Target-URI: "+want.url+"\r\n")
		require.Equal(t, i == 1, strings.Contains(head, "WARC-Protocol: h2\r\n"))
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(block)), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, want.body, string(body))
		require.Equal(t, want.status, resp.StatusCode)
		require.Equal(t, want.location, resp.Header.Get("Location"))
	}
	require.Equal(t, "20", v.Redirects[0].Header.Get("Content-Length"))
	n := noteOf(v)
	require.Equal(t, []string{v.URL, v.Location}, []string{n.URL, n.Location})
}

// An answer by HTTP/2 has the status line of HTTP/1.1, as many readers of archives know no other, and says by what
// it came beside it.
func TestWARCOfHTTP2(t *testing.T) {
	t.Parallel()
	for proto, want := range map[string][2]string{
		"HTTP/1.0": {"HTTP/1.0", ""}, "HTTP/1.1": {"HTTP/1.1", ""}, "HTTP/2.0": {"HTTP/1.1", "h2"}, "": {"HTTP/1.1", ""},
	} {
		v := version("text")
		v.Proto = proto
		_, record, _ := strings.Cut(archived(t, v), "WARC-Type: response\r\n")
		head, block, _ := strings.Cut(record, "\r\n\r\n")
		require.True(t, strings.HasPrefix(block, want[0]+" 200 OK\r\n"), "%s: %.20s", proto, block)
		_, protocol, _ := strings.Cut(head, "WARC-Protocol: ")
		protocol, _, _ = strings.Cut(protocol, "\r\n")
		require.Equal(t, want[1], protocol)
	}
}

// A body that nobody decoded has its coding beside it, without which it cannot be read.
func TestWARCOfACodedBody(t *testing.T) {
	t.Parallel()
	for coding, want := range map[string]string{"br": "br", "": ""} {
		v := version("coded")
		v.Header = http.Header{"Content-Length": {"1"}}
		if coding != "" {
			v.Header.Set("Content-Encoding", coding)
		}
		text := archived(t, v)
		at := strings.Index(text, "HTTP/1.1 200")
		require.GreaterOrEqual(t, at, 0)
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text[at:])), nil)
		require.NoError(t, err)
		require.Equal(t, want, resp.Header.Get("Content-Encoding"))
		require.EqualValues(t, len("coded"), resp.ContentLength)
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	}))
	defer web.Close()
	hook := Webhook(web.URL, "my-bot/1")
	require.ErrorContains(t, hook(t.Context(), version("one")), "503")
	require.NoError(t, hook(t.Context(), version("one")))
	require.EqualValues(t, 2, calls.Load())
}

// The status says that a version was taken, also where the text with it breaks off: it would be sent again and again.
func TestWebhookBreaksOff(t *testing.T) {
	t.Parallel()
	for status, ok := range map[int]bool{200: true, 503: false} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "taken")
		}))
		err := Webhook(web.URL, "my-bot/1")(t.Context(), version("one"))
		web.Close()
		if ok {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "503")
		}
	}
}

// A version counts as taken only where its JSON arrived: a redirect that makes a GET of the request is a failure.
func TestWebhookRedirects(t *testing.T) {
	t.Parallel()
	for status, ok := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		var taken bytes.Buffer
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/to" {
				http.Redirect(w, r, "/to", status)
				return
			}
			_, _ = taken.ReadFrom(r.Body)
		}))
		err := Webhook(web.URL, "my-bot/1")(t.Context(), version("one"))
		web.Close()
		if !ok {
			require.ErrorContains(t, err, fmt.Sprint(status))
			continue
		}
		require.NoError(t, err, status)
		require.Contains(t, taken.String(), version("one").URL, status)
	}
}

// A file that a crawl writes to is left alone by another one, also if that is begun by mistake.
func TestWARCTwice(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.warc.gz")
	one, err := NewWARC(name, "my-bot/1")
	require.NoError(t, err)
	require.NoError(t, one.Keep(t.Context(), version("one")))
	before, err := os.ReadFile(name)
	require.NoError(t, err)
	_, err = NewWARC(name, "my-bot/1")
	require.ErrorIs(t, err, ErrBusy)
	after, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, one.Close())
	two, err := NewWARC(name, "my-bot/1")
	require.NoError(t, err)
	require.NoError(t, two.Close())
}

// A file whose last record is cut off anywhere, as by a machine that went down, is read whole after
// more was appended. A file that is not one is left alone.
func TestWARCAfterHalfARecord(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.warc.gz")
	size := func() int64 {
		s, err := os.Stat(name)
		require.NoError(t, err)
		return s.Size()
	}
	keep := func(body string) (before int64) {
		w, err := NewWARC(name, "my-bot/1")
		require.NoError(t, err)
		before = size()
		require.NoError(t, w.Keep(t.Context(), version(body)))
		require.NoError(t, w.Close())
		return before
	}
	for _, part := range []float64{0, 0.001, 0.3, 0.99} {
		require.NoError(t, os.RemoveAll(name))
		from := keep("first")
		require.NoError(t, os.Truncate(name, from+int64(part*float64(size()-from))))
		keep("second")
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		all, err := io.ReadAll(z)
		require.NoError(t, err, "%v of a record", part)
		require.Equal(t, 3, strings.Count(string(all), "WARC/1.1\r\n"), "%v of a record", part)
		require.NotContains(t, string(all), "first")
		require.Contains(t, string(all), "second")
	}
	// Zeros behind whole records, as after a loss of power, and a first record that was cut off.
	from := size()
	for _, zeros := range []int64{1, 9, 10, 5000} {
		require.NoError(t, os.Truncate(name, from))
		require.NoError(t, os.Truncate(name, from+zeros))
		w, err := NewWARC(name, "my-bot/1")
		require.NoError(t, err, "%d zeros", zeros)
		require.Equal(t, from, w.good-(size()-from))
		require.NoError(t, w.Close())
	}
	require.NoError(t, os.Truncate(name, 40))
	w, err := NewWARC(name, "my-bot/1")
	require.NoError(t, err)
	require.Equal(t, size(), w.good)
	require.NoError(t, w.Close())
	zipped := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(text))
		require.NoError(t, errors.Join(err, z.Close()))
		return b.String()
	}
	backup := zipped("a backup of the only copy")
	for _, other := range []string{
		"no", "no archive", "\x1f\x8b", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		backup, backup[:len(backup)-4], zipped(""), zipped("WARC"),
	} {
		require.NoError(t, os.WriteFile(name, []byte(other), 0o644))
		_, err := NewWARC(name, "my-bot/1")
		require.ErrorContains(t, err, "the record at byte 0")
		left, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, other, string(left))
	}
}
