package webenv

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Decision tells how it was decided whether a page changed.
type Decision uint8

const (
	Undecided      Decision = iota // there was nothing to compare, or an error
	ByStatus                       // status 304, Not Modified
	ByETag                         // the ETags of both copies, compared weakly
	ByLastModified                 // their Last-Modified
	ByContent                      // the hashes of their contents
	ByLocation                     // where the page redirects to, or that it does
)

var decisionNames = [...]string{"undecided", "status", "etag", "last-modified", "content", "location"}

// String returns the name of the decision in small letters, such as "etag".
func (d Decision) String() string {
	if int(d) < len(decisionNames) {
		return decisionNames[d]
	}
	return fmt.Sprintf("Decision(%d)", uint8(d))
}

var (
	// ErrStatus reports an answer that is neither a page, nor 304 to a
	// conditional request, nor a redirect.
	ErrStatus = errors.New("webenv: bad status")
	// ErrClosedEarly reports that the body of a page was closed before its end,
	// so that its content could not be compared, and there was nothing else to
	// compare.
	ErrClosedEarly = errors.New("webenv: body closed before its end")
)

// An HTTPPoll is what a [Transport] found out in one request.
type HTTPPoll struct {
	URL      string   // of this request, without a fragment
	Status   int      // 0 if no answer came
	Changed  bool     // the page differs from the copy before
	First    bool     // there was nothing to compare it with; Changed is false
	Decision Decision // how Changed was decided
	// LastModified is that of the answer, zero if it has none that is sure: see
	// Transport.
	LastModified time.Time
	Start        time.Time     // when the request was sent
	Header       time.Duration // from then to the header of the answer
	Total        time.Duration // and to the end of the body
	Bytes        int64         // of the body as the caller read it, decompressed
	// Err is an error of the network, one that wraps [ErrStatus], or
	// [ErrClosedEarly]. Changed is then false, and the next poll is compared
	// with the copy from before the error.
	Err error
}

// A Transport is an [http.RoundTripper] that tells whether pages changed. It
// wraps that of any client:
//
//	client := &http.Client{Transport: &webenv.Transport{OnPoll: found}}
//
// It remembers the ETag, the Last-Modified and a hash of the content of each
// URL, makes GETs conditional with them, and compares the answer: 304 means
// unchanged; else the ETags decide, if both copies have one; else
// Last-Modified, likewise; else the hashes. Each GET is reported to OnPoll when
// its body has been read to the end or closed, or at once if there is none: so
// for 304, which the caller is handed as it came. Each hop of a redirect is a
// request of its own, and has changed if it leads elsewhere than before. Other
// methods, and GETs with Range or Upgrade, pass through unseen.
//
// If the request has If-None-Match, If-Modified-Since or another condition of
// its own, none is added, and the answer is compared with the copy that they
// name. With a list of ETags, any other answer than 304 is a change.
//
// A body may be closed early if ETag or Last-Modified decide; otherwise the
// poll is reported as [ErrClosedEarly]. The end is io.EOF, or as many bytes as
// Content-Length says.
//
// A Last-Modified less than a second before the Date of the answer is not used:
// the page may change once more in that second, or is made anew for each
// request (RFC 9110, section 8.8.2.2). The hash is SHA-256, cut to 128 bits:
// unlike hash/maphash it is the same in the next process, so it can be saved,
// and no page can hide its changes from it. The content is hashed as it streams
// by, never held.
//
// A URL is known by a hash, so it takes 100 to 160 bytes until Forget, and at
// most 256 more for its ETag (a longer one is not used). The copies of a URL are
// compared whatever headers they were asked for with; use one Transport for
// each language, say.
//
// The zero value is ready to use. A Transport is safe for concurrent use once
// its fields are set; requests for one URL that overlap are compared in the
// order in which they end.
type Transport struct {
	// Base sends the requests; nil is [http.DefaultTransport].
	Base http.RoundTripper
	// OnPoll, if not nil, is told of every poll, in the goroutine that reads or
	// closes the body. It must be safe for concurrent use if the client is used
	// so.
	OnPoll func(HTTPPoll)
	// Now is the clock of the wire times; nil is [time.Now].
	Now func() time.Time

	mu   sync.Mutex
	seen map[key]validators
}

// key is SHA-256 of a URL, cut to 128 bits.
type key [16]byte

// validators are what is remembered of a copy of a page.
type validators struct {
	etag     string
	modified int64 // Last-Modified in Unix seconds, 0 if none
	hash     [16]byte
	hashed   bool // hash is known
	redirect bool // the page was a redirect, hash is that of Location
}

// maxETag is the length of the longest ETag that is remembered.
const maxETag = 256

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

// pageURL returns the URL that a request is for, as the server sees it.
func pageURL(r *http.Request) string {
	u := *r.URL
	u.Fragment, u.RawFragment = "", ""
	if r.Host != "" {
		u.Host = r.Host
	}
	return u.String()
}

// RoundTrip implements [http.RoundTripper]. Its error is that of Base.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	url := pageURL(r)
	return t.roundTrip(r, url, keyOf(url), t.OnPoll)
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// CloseIdleConnections closes those of Base, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// conditions are the headers that make a request conditional.
var conditions = []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"}

func hasAny(h http.Header, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(h[name]) > 0 })
}

// roundTrip is RoundTrip with the copies of the page kept under k.
func (t *Transport) roundTrip(r *http.Request, url string, k key, report func(HTTPPoll)) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != "" || r.Header == nil || hasAny(r.Header, "Range", "Upgrade") {
		return t.base().RoundTrip(r)
	}
	p := &poll{t: t, key: k, report: report, HTTPPoll: HTTPPoll{URL: url}}
	if hasAny(r.Header, conditions...) {
		p.named = &validators{
			etag:     usableETag(r.Header.Get("If-None-Match")),
			modified: unixSeconds(r.Header.Get("If-Modified-Since")),
		}
		p.conditional = true
	} else if old, ok := t.lookUp(k); ok && (old.etag != "" || old.modified != 0) {
		// A RoundTripper must not modify the request.
		r = r.WithContext(r.Context())
		r.Header = r.Header.Clone()
		if old.etag != "" {
			r.Header.Set("If-None-Match", old.etag)
		}
		if old.modified != 0 {
			r.Header.Set("If-Modified-Since", time.Unix(old.modified, 0).UTC().Format(http.TimeFormat))
		}
		p.conditional = true
	}

	p.Start = t.now()
	resp, err := t.base().RoundTrip(r)
	p.Header = t.now().Sub(p.Start)
	if err != nil {
		p.Total = p.Header
		p.end(err)
		return resp, err
	}
	p.read(resp)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		p.end(nil)
	case resp.StatusCode == http.StatusNotModified || resp.Body == nil || resp.Body == http.NoBody:
		p.end(io.EOF)
	default:
		p.body = resp.Body
		p.length = resp.ContentLength
		p.content = sha256.New()
		resp.Body = p
	}
	return resp, nil
}

func (t *Transport) lookUp(k key) (validators, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.seen[k]
	return v, ok
}

// Forget forgets a URL: its next poll is a first one.
func (t *Transport) Forget(url string) {
	url, _, _ = strings.Cut(url, "#")
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.seen, keyOf(url))
}

// Len returns the number of URLs that are remembered.
func (t *Transport) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.seen)
}

// poll is a poll under way, and the body of its answer.
type poll struct {
	HTTPPoll
	t           *Transport
	key         key
	report      func(HTTPPoll)
	conditional bool        // the request was
	named       *validators // of the copy that the caller's own conditions name, else nil
	found       validators  // of the answer, hash yet to come

	body   io.ReadCloser
	length int64 // Content-Length, −1 if unknown

	mu      sync.Mutex // Close may come during Read
	content hash.Hash
	done    bool
}

// read takes what the header of the answer tells.
func (p *poll) read(resp *http.Response) {
	p.Status = resp.StatusCode
	p.found.etag = usableETag(resp.Header.Get("ETag"))
	p.found.modified = unixSeconds(resp.Header.Get("Last-Modified"))
	if date := unixSeconds(resp.Header.Get("Date")); date != 0 && date <= p.found.modified {
		p.found.modified = 0
	}
	if p.found.modified != 0 {
		p.LastModified = time.Unix(p.found.modified, 0).UTC()
	}
	if location := resp.Header.Get("Location"); isRedirect(p.Status) && location != "" {
		p.found = validators{hash: keyOf(location), hashed: true, redirect: true}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Read implements [io.Reader].
func (p *poll) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	p.mu.Lock()
	if !p.done {
		p.content.Write(b[:n])
		p.Bytes += int64(n)
	}
	p.mu.Unlock()
	if err != nil {
		p.finish(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (p *poll) Close() error {
	err := p.body.Close()
	p.mu.Lock()
	complete := p.Bytes == p.length
	p.mu.Unlock()
	if complete {
		p.finish(io.EOF)
	} else {
		p.finish(ErrClosedEarly)
	}
	return err
}

// finish ends the poll once, with the reason why the body is over.
func (p *poll) finish(err error) {
	p.mu.Lock()
	first := !p.done
	p.done = true
	p.mu.Unlock()
	if first {
		p.end(err)
	}
}

// end decides and reports. err is io.EOF if the content is complete.
func (p *poll) end(err error) {
	if p.Status != 0 {
		p.Total = p.t.now().Sub(p.Start)
	}
	switch {
	case p.Status == 0: // no answer
		p.Err = err
	case p.Status == http.StatusNotModified && p.conditional:
		p.Decision = ByStatus
		if p.named != nil && p.found.etag != "" {
			p.named.etag = p.found.etag
			p.adopt()
		}
	case p.Status/100 != 2 && !p.found.redirect:
		p.Err = fmt.Errorf("%w: %d %s", ErrStatus, p.Status, http.StatusText(p.Status))
	case err != io.EOF && err != ErrClosedEarly:
		p.Err = err
	default:
		if err == io.EOF && !p.found.redirect {
			p.found.hash, p.found.hashed = p.sum(), true
		}
		p.decide()
	}
	if p.report != nil {
		p.report(p.HTTPPoll)
	}
}

// sum returns the cut hash of the content.
func (p *poll) sum() [16]byte {
	if p.content == nil {
		return keyOf("")
	}
	var sum [sha256.Size]byte
	return [16]byte(p.content.Sum(sum[:0])[:16])
}

// adopt remembers the copy that the caller has been told is current, unless it
// is the one remembered.
func (p *poll) adopt() {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	if old, ok := p.t.seen[p.key]; !ok || !sameCopy(old, *p.named) {
		p.t.remember(p.key, *p.named)
	}
}

// sameCopy tells whether the validators of the caller name the copy old.
func sameCopy(old, named validators) bool {
	if named.etag != "" {
		return old.etag != "" && weak(old.etag) == weak(named.etag)
	}
	return named.modified != 0 && old.modified == named.modified
}

// decide compares the copy found with the one before, and remembers it.
func (p *poll) decide() {
	t := p.t
	t.mu.Lock()
	defer t.mu.Unlock()
	old, known := t.seen[p.key]
	if p.named != nil && (p.named.etag != "" || p.named.modified != 0) && !(known && sameCopy(old, *p.named)) {
		old, known = *p.named, true
	}
	// If no copy is known, old is empty and nothing can be compared.
	found := p.found
	switch {
	case known && (old.redirect || found.redirect):
		p.Decision = ByLocation
		p.Changed = old.redirect != found.redirect || old.hash != found.hash
	case old.etag != "" && found.etag != "":
		p.Decision = ByETag
		p.Changed = weak(old.etag) != weak(found.etag)
	case old.modified != 0 && found.modified != 0:
		p.Decision = ByLastModified
		p.Changed = old.modified != found.modified
	case old.hashed && found.hashed:
		p.Decision = ByContent
		p.Changed = old.hash != found.hash
	case found.hashed || !known && (found.etag != "" || found.modified != 0):
		p.First = true
	default:
		p.Err = ErrClosedEarly
		return
	}
	if !p.Changed && !found.hashed && old.hashed {
		found.hash, found.hashed = old.hash, true
	}
	t.remember(p.key, found)
}

// remember stores a copy. The lock is held.
func (t *Transport) remember(k key, v validators) {
	if t.seen == nil {
		t.seen = make(map[key]validators)
	}
	t.seen[k] = v
}

// weak returns the part of an ETag that weak comparison looks at.
func weak(etag string) string { return strings.TrimPrefix(etag, "W/") }

// usableETag returns an ETag that can be remembered, or "".
func usableETag(etag string) string {
	if len(etag) > maxETag || strings.ContainsFunc(etag, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return ""
	}
	return etag
}

// unixSeconds returns the date in a header, or 0 if it holds none.
func unixSeconds(header string) int64 {
	if d, err := http.ParseTime(header); err == nil {
		return d.Unix()
	}
	return 0
}

const (
	transportMagic   = "webenv.Transport"
	transportVersion = 1
)

// AppendBinary implements [encoding.BinaryAppender]; it appends what is
// remembered of all URLs, in the order of their hashes.
func (t *Transport) AppendBinary(b []byte) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := make([]key, 0, len(t.seen))
	for k := range t.seen {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return bytes.Compare(a[:], b[:]) })
	e := codec.NewEncoder(b, transportMagic, transportVersion)
	e.Int(len(keys))
	for _, k := range keys {
		v := t.seen[k]
		e.Bytes(k[:])
		e.Bytes([]byte(v.etag))
		e.Uint64(uint64(v.modified))
		e.Bool(v.hashed)
		e.Bool(v.redirect)
		if v.hashed {
			e.Bytes(v.hash[:])
		}
	}
	return e.Finish()
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (t *Transport) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]: it replaces what is
// remembered, and leaves the fields. An error wraps [ErrCorrupt] or
// [ErrVersion] and changes nothing.
func (t *Transport) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, transportMagic, transportVersion)
	if err != nil {
		return err
	}
	seen := make(map[key]validators)
	n := d.Int()
	var last key
	for i := 0; i < n && d.Err() == nil; i++ {
		k := key(decodeHash(d))
		if i > 0 && bytes.Compare(k[:], last[:]) <= 0 {
			d.Fail("URL %d out of order", i)
		}
		last = k
		v := validators{etag: string(d.Bytes()), modified: int64(d.Uint64()), hashed: d.Bool(), redirect: d.Bool()}
		if v.hashed {
			v.hash = decodeHash(d)
		}
		if v.etag != usableETag(v.etag) || v.redirect && !v.hashed {
			d.Fail("bad validators of URL %d", i)
		}
		seen[k] = v
	}
	if n < 0 {
		d.Fail("%d URLs", n)
	}
	if err := d.Done(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = seen
	return nil
}

func decodeHash(d *codec.Decoder) (h [16]byte) {
	if b := d.Bytes(); len(b) == len(h) {
		return [16]byte(b)
	}
	d.Fail("a hash of the wrong length")
	return h
}
