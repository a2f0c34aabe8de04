package live

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// A Transport is an [http.RoundTripper] that finds out whether pages changed. Wrap the transport of
// any client with it. It calls OnPoll with what it finds:
//
//	client := &http.Client{Transport: &live.Transport{OnPoll: found}}
//
// The zero value is ready to use. Forget forgets a page; MarshalBinary saves what is remembered. A
// Transport is safe for concurrent use once its fields are set. Requests for one URL that overlap
// are compared in the order in which they end.
//
// Leave Accept-Encoding to Base, which then decompresses. Copies of a URL are compared whatever
// headers they were requested with, so use a Transport of its own for each language, for instance.
//
// # What is reported
//
// A GET is reported when its body has been read to the end or closed. If it has no body, it is
// reported at once; the caller gets an answer 304 as it came. Other methods, and GETs with Range or
// Upgrade, pass through unseen. An answer 200 without content is an empty page; 101, 205, 206 and
// 226 are errors. A 101 has no body, as nobody asked for another protocol.
//
// [Poll].Changed is about the body of the page, Minor about menus, headers and footers. A change
// may be reported late, at a poll whose answer is 304 or the same as before: the change first
// looked like noise, and it has stayed. Such a poll is decided ByContent. If the change is found at
// a 304, there is no copy of the page in the answer; a crawler that keeps copies must get one with
// another client.
//
// # How a change is decided
//
// It remembers the ETag, the Last-Modified and a fingerprint of the content of each page, and makes
// GETs conditional with them.
//
//   - An answer 304 means unchanged.
//   - If the contents of both copies are known and equal, the page has not changed, whatever ETag
//     and Last-Modified say. Some servers have an ETag for each backend.
//   - If the contents of both copies are known and differ in more than noise, the page has changed.
//     Some ETags and dates never change.
//   - If the contents cannot be compared, the ETags decide if both copies have one. Otherwise
//     Last-Modified decides.
//
// Contents are compared by a [fingerprint.Page], which learns which blocks of text change by
// themselves; Exact and Fingerprint replace it. It reads HTML, XML and JSON, which it recognises by
// the Content-Type or, without one, by the beginning of the body. Other contents are compared byte by
// byte. In JSON it takes only times and identifiers for noise; an example leaves out a value by its
// name. It learns a page faster from a second copy that is fetched within seconds: [Poll].Again asks
// for one, and [Teaching] marks it.
//
// Bytes are compared by SHA-256 cut to 128 bits. Unlike hash/maphash it is the same in the next
// process, so it can be saved, and no page can hide its changes from it.
//
// # Validators that are wrong
//
// A Last-Modified may stay the same while the page changes, and then the server goes on to answer
// 304. So a copy is fetched without a condition now and then. For a page without an ETag this
// happens after 1, 2, 4, … 64 answers 304, and then after every 64. A strong ETag is rarely wrong,
// so for a page with one it happens after every 64 from the start. If the content has changed, no
// validator is named any more until the ETag changes, or the date if the page has no ETag.
//
// A weak ETag is not doubted in this way, because the copies that it stands for may differ in
// noise. A weak ETag that never changes is detected by the copies that the server sends anyway. If
// the server always answers 304, it is not detected.
//
// An answer 304 with another ETag than the one that the Transport named is about another copy (RFC
// 9111, section 4.3.4). The page is then fetched at once without a condition, and the caller gets
// that answer. If it has the ETag that was named after all, no validator is named until the ETag
// changes. So it is with an answer 412 to a condition of the Transport, which no GET should get.
//
// A Last-Modified less than a second before the Date of the answer is not used. The page may change
// again in that second, or it may be made anew for each request (RFC 9110, section 8.8.2.2).
//
// # Redirects and conditions of the caller
//
// Redirects of a GET that an http.Client follows belong to the page that it requested. One copy is
// remembered for all of them: the one at the end. It is compared with the copy before, wherever
// that was. If that was at another URL, only the contents are compared. So a page with a session in
// its URL stays one page. Each request on the way is a poll of its own, and a redirect has changed
// if it leads to another place than before. [Begin] combines them into one poll. A redirect that is
// not followed is the page itself: a copy that comes after it is a change, whatever came before it.
//
// If a request has a condition of its own (If-None-Match, If-Modified-Since, …), the Transport adds
// none. The answer is compared with the copy that the condition names. With a list of ETags, any copy
// that has an ETag is a change.
//
// # Bodies that are cut or compressed
//
// A body ends with io.EOF, or after as many bytes as Content-Length says. If a body is closed early
// after N bytes, for instance by a limit on its size, its first N bytes are compared with those of
// the copy before, provided that copy was closed after N bytes too or was not longer. Otherwise the
// ETag or Last-Modified may decide. If they do not, the poll is First if more was read than before,
// and it is reported with [ErrClosedEarly] if less was. If the body is closed after N bytes twice in
// a row, its first N bytes are compared from then on. So read each body to its end, or up to the
// same limit: a json.Decoder may stop before the end.
//
// If a request asked for gzip itself, the caller gets the body compressed. The Transport then holds
// it until its end and decompresses it for the comparison, up to 10 MiB each. A compressed body
// that is closed early is not compared. Bodies in other codings are compared as they come,
// including the noise in them.
//
// # Cost
//
// Time: 4 ns a byte, 8 in JSON; 1 ns with Exact.
//
// Memory, until Forget: 180 to 320 bytes a page, and up to 256 for its ETag (a longer one is not
// used). Unless Exact or Fingerprint is set, add what a fingerprint.Page needs: 1.5 KB in the
// median of real pages, 12.5 KB at 99 %, at most 58 KB. The content is hashed as it streams by. It
// is held only for Fingerprint, or if it comes compressed. A [Fetch] holds what was remembered of
// its page before.
type Transport struct {
	// Base sends the requests; nil means [http.DefaultTransport].
	Base http.RoundTripper
	// OnPoll, if not nil, is called with every poll, in the goroutine that reads or closes the
	// body. It must be safe for concurrent use if the client is used concurrently.
	OnPoll func(Poll)
	// Now is the clock for the times of requests; nil means [time.Now].
	Now func() time.Time

	// Exact compares contents byte by byte. Otherwise a [fingerprint.Page] learns which changes of
	// a page are noise. Take Exact to save memory.
	Exact bool
	// Numbers says that the numbers of the pages are their content, such as prices. Numbers are
	// then never taken for noise, and neither are clocks, visitor counters and the prices of offers
	// that rotate. On pages with these every poll is a change; take a Fingerprint that picks out
	// the price. In JSON, dates and identifiers may still be noise. Look at Poll.Minor too: a price in a
	// form, a button or an aside is not in the body of the page ([fingerprint.Copy]).
	Numbers bool
	// Fingerprint, if not nil, replaces the [fingerprint.Page]: contents are equal if it returns
	// the same bytes for them. It gets the body as far as it was read; the body is held for that.
	// Its error becomes the error of the poll. It must be safe for concurrent use if the client is
	// used concurrently.
	Fingerprint func(*http.Response, []byte) ([]byte, error)

	copies copies
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
	if !isGet(r) || r.Header == nil || hasAny(r.Header, "Range", "Upgrade") {
		return t.base().RoundTrip(r)
	}
	p := t.newPoll(r)
	if p.fetch != nil && !p.teaching {
		p.fetch.begin(p.redirected)
	}
	if p.redirected {
		p.follow()
	}
	sent := p.condition(r)
	p.Start = t.now()
	resp, err := t.base().RoundTrip(sent)
	if err == nil && p.isForeign(resp) {
		p.foreign, p.conditional = true, false
		if r.Body == nil || r.Body == http.NoBody { // any other body has been consumed
			if resp.Body != nil {
				resp.Body.Close()
			}
			sent = r
			resp, err = t.base().RoundTrip(r)
		}
	}
	p.Latency = t.now().Sub(p.Start)
	if err != nil {
		p.Duration = p.Latency
		p.end(err)
		return resp, err
	}
	if resp.Request == nil {
		resp.Request = sent // newPoll finds the earlier requests of a redirect by it
	}
	p.resp = resp
	p.read(resp)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols: // its body is the connection, which no timeout of a client ends
		if resp.Body != nil {
			resp.Body.Close()
		}
		resp.Body = http.NoBody
		p.end(nil)
	case resp.StatusCode == http.StatusNotModified || resp.Body == nil || resp.Body == http.NoBody:
		p.end(io.EOF)
	default:
		p.body = resp.Body
		p.length = resp.ContentLength
		p.content = unpacked(t.newContent(resp), resp.Header)
		resp.Body = p
	}
	return resp, nil
}

// newPoll returns a poll for a request.
func (t *Transport) newPoll(r *http.Request) *poll {
	p := &poll{t: t, Poll: Poll{URL: pageURL(r), Request: r}}
	p.fetch, _ = r.Context().Value(fetching{}).(*Fetch)
	p.teaching = r.Context().Value(teaching{}) != nil
	first := r
	for first.Response != nil && first.Response.Request != nil && isGet(first.Response.Request) { // an http.Client was redirected
		first, p.redirected = first.Response.Request, true
	}
	if p.Page = p.URL; p.fetch != nil {
		p.Page = p.fetch.page
	} else if p.redirected {
		p.Page = pageURL(first)
	}
	p.key, p.found.from = keyOf(p.Page), shortOf(p.URL)
	return p
}

func isGet(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == "" }

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// CloseIdleConnections closes the idle connections of Base, if Base can do that.
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

// Forget forgets a page, given by its URL or by its name for [Begin]. Its next poll is a first one.
func (t *Transport) Forget(page string) {
	t.copies.forget(keyOf(page))
	if u, err := url.Parse(page); err == nil { // in a request the same URL may be escaped otherwise
		t.copies.forget(keyOf(pageURL(&http.Request{URL: u})))
	}
}

// Len returns the number of pages that are remembered.
func (t *Transport) Len() int { return t.copies.len() }

// MarshalBinary implements [encoding.BinaryMarshaler]. It saves what is remembered about all pages,
// in the order of their hashes. A version that a [Fetch] has found is saved after End.
func (t *Transport) MarshalBinary() ([]byte, error) { return t.copies.save() }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It replaces what is remembered and does
// not touch the fields. An error wraps [ErrCorrupt] and changes nothing.
func (t *Transport) UnmarshalBinary(data []byte) error { return t.copies.restore(data) }
