package sink

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

// A WARC is a file of versions in the format of web archives, WARC 1.1 (ISO 28500), each record
// compressed by itself, so that it can be appended to and read from the middle.
type WARC struct {
	name, userAgent string
	lock            *flock.Flock

	mu   sync.Mutex
	file *os.File // nil while it cannot be opened
	good int64    // up to where it is whole
}

// ErrBusy reports a file that another process writes to: each would overwrite what the other wrote.
var ErrBusy = errors.New("sink: another process writes to the file")

// NewWARC opens a file to append to, and says in it who writes. It reads what is there, and cuts off
// a record at the end that was not written whole, as the machine went down: what is appended behind
// half a record cannot be read. So it does with zeros at the end, which a file system may leave then.
// A file that is damaged elsewhere, or is no such file, stays as it is. So does one that another
// process writes to: a file beside it, NAME.lock, says so. One that is moved or removed while the crawl
// runs, as by a rotation, is followed by a new one of the same name.
func NewWARC(name, userAgent string) (*WARC, error) {
	lock := flock.New(name + ".lock")
	if locked, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("WARC: %w", err)
	} else if !locked {
		return nil, fmt.Errorf("WARC %s: %w", name, ErrBusy)
	}
	w := &WARC{name: name, userAgent: userAgent, lock: lock}
	if err := w.open(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return w, nil
}

// open opens the file, makes it whole, and says in it who writes.
func (w *WARC) open() error {
	f, err := os.OpenFile(w.name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	w.file = f
	if w.good, err = whole(f); err == nil {
		err = f.Truncate(w.good)
	}
	if err == nil {
		info := fmt.Sprintf("software: recrawl/examples/crawl\r\nformat: WARC File Format 1.1\r\nhttp-header-user-agent: %s\r\n", w.userAgent)
		err = w.append(record("warcinfo", "", time.Now(), "application/warc-fields", []byte(info), ""))
	}
	if err != nil {
		_ = w.shut()
		return fmt.Errorf("WARC %s: %w", w.name, err)
	}
	return nil
}

// shut closes the file, if it is open.
func (w *WARC) shut() (err error) {
	if w.file != nil {
		err, w.file = w.file.Close(), nil
	}
	return err
}

// there reports whether what is written gets into the file of that name, behind what was: it may have been moved,
// removed or emptied.
func (w *WARC) there() bool {
	if w.file == nil {
		return false
	}
	named, err := os.Stat(w.name)
	if err != nil {
		return false
	}
	ours, err := w.file.Stat()
	return err == nil && os.SameFile(named, ours) && ours.Size() >= w.good
}

// whole returns up to where records are whole. Behind that there is nothing, or part of one more, or
// zeros.
func whole(f io.ReaderAt) (end int64, err error) {
	read := &counter{from: io.NewSectionReader(f, 0, math.MaxInt64)}
	r, z := bufio.NewReaderSize(read, 1<<20), new(gzip.Reader)
	for {
		err := z.Reset(r)
		begun := err == nil // or there is not even the head of a record
		if begun {
			z.Multistream(false)
			err = skip(z)
		}
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF && (begun || end > 0):
			return end, nil
		case err != nil && end > 0 && zeros(f, end):
			return end, nil
		case err != nil:
			return 0, fmt.Errorf("the record at byte %d: %w", end, err)
		}
		end = read.n - int64(r.Buffered())
	}
}

// skip reads a record to its end. What was compressed and is none is an error, also if it was cut off: it is
// somebody else's.
func skip(record io.Reader) error {
	const begins = "WARC/"
	head, err := io.ReadAll(io.LimitReader(record, int64(len(begins))))
	if !strings.HasPrefix(begins, string(head)) || err == nil && len(head) < len(begins) {
		return errors.New("it is none of a WARC")
	}
	if err == nil {
		_, err = io.Copy(io.Discard, record)
	}
	return err
}

// zeros reports whether all is 0 from a byte on.
func zeros(f io.ReaderAt, from int64) bool {
	r := bufio.NewReader(io.NewSectionReader(f, from, math.MaxInt64-from))
	for {
		if c, err := r.ReadByte(); err != nil || c != 0 {
			return err == io.EOF
		}
	}
}

// A counter counts what is read.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// Close closes the file.
func (w *WARC) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.shut(), w.lock.Close())
}

// Keep is the sink. A page that was reached by redirects has the URL to which they led, and each of them
// has a record of its own before it.
func (w *WARC) Keep(_ context.Context, v fetch.Version) error {
	var records []byte
	for _, r := range v.Redirects { // their bodies are not kept
		records = append(records, response(r.URL, v.At, r.Proto, r.Status, r.Header, nil, "")...)
	}
	extra := ""
	if v.Cut {
		extra = "WARC-Truncated: length\r\n"
	}
	return w.write(append(records, response(cmp.Or(v.Location, v.URL), v.At, v.Proto, v.Poll.Status, v.Header, v.Body, extra)...))
}

// response returns the record of an answer.
func response(url string, at time.Time, proto string, status int, header http.Header, body []byte, extra string) []byte {
	var b bytes.Buffer
	switch proto {
	case "HTTP/1.0", "HTTP/1.1":
	case "HTTP/2.0":
		extra += "WARC-Protocol: h2\r\n"
		fallthrough
	default: // readers know no other line than that of HTTP/1, in whose form the headers are
		proto = "HTTP/1.1"
	}
	fmt.Fprintf(&b, "%s %d %s\r\n", proto, status, http.StatusText(status))
	header = header.Clone()
	// The length is that of the body, which may have been decoded; its chunks are gone. What decoded it took the
	// Content-Encoding away: one that is there is of a body that is coded still, as by a server that was not asked.
	header.Del("Transfer-Encoding")
	header.Set("Content-Length", fmt.Sprint(len(body)))
	_ = header.Write(&b) // a Buffer takes all
	b.WriteString("\r\n")
	b.Write(body)
	sum := sha1.Sum(body)
	extra += "WARC-Payload-Digest: sha1:" + base32.StdEncoding.EncodeToString(sum[:]) + "\r\n"
	return record("response", url, at, "application/http;msgtype=response", b.Bytes(), extra)
}

// record returns a record, compressed by itself.
func record(kind, url string, at time.Time, media string, block []byte, extra string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:%s>\r\nWARC-Date: %s\r\n", kind, uuid(), at.UTC().Format(time.RFC3339Nano))
	if url != "" {
		fmt.Fprintf(z, "WARC-Target-URI: %s\r\n", url)
	}
	fmt.Fprintf(z, "%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n", extra, media, len(block))
	_, _ = z.Write(block)
	_, _ = z.Write([]byte("\r\n\r\n"))
	_ = z.Close()
	return b.Bytes()
}

// write appends records, to a new file if need be.
func (w *WARC) write(records []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.there() {
		_ = w.shut()
		if err := w.open(); err != nil {
			return err
		}
	}
	return w.append(records)
}

// append appends records. What is left of some that could not be written whole is cut off.
func (w *WARC) append(records []byte) error {
	if _, err := w.file.WriteAt(records, w.good); err != nil {
		_ = w.file.Truncate(w.good)
		return err
	}
	w.good += int64(len(records))
	return nil
}

// uuid returns a random UUID (RFC 9562, version 4).
func uuid() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
