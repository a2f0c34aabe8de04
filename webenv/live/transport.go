package live

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Transport is an [http.RoundTripper] that finds out whether pages changed. Wrap the
// transport of any client with it, and take what it reports to OnPoll:
//
//	client := &http.Client{Transport: &live.Transport{OnPoll: found}}
//
// The zero value is ready to use. Forget drops a URL; MarshalBinary saves what is remembered. A
// Transport is safe for concurrent use once its fields are set. Requests for one URL that
// overlap are compared in the order in which they end.
//
// # How it works
//
// It remembers the ETag, the Last-Modified and a fingerprint of the content of each page and
// makes GETs conditional with them. An answer 304 means unchanged. Otherwise the page has not
// changed where the contents of both copies are known and equal, whatever ETag and Last-Modified
// say: some servers have an ETag for each backend. And it has changed where the contents are known
// and differ in more than noise: some ETags and dates stay for ever. Where the contents cannot be
// compared the ETags decide if both copies have one, and else Last-Modified. A GET is reported when
// its body has been read to the end or closed, or at once if it has none, as 304, which the caller
// is handed as it came. Other methods, and GETs with Range or Upgrade, pass through unseen. An
// answer 200 without a content is a page that is empty; 205 and 206 are errors.
//
// A Last-Modified may stay while the page changes, and with it the answer 304. So, of a page
// without an ETag, a copy is fetched without a condition after 1, 2, 4, … 64 answers 304, and then
// after each 64; of a page with a strong ETag, which is rarely wrong, after each 64 from the start.
// If its content has changed, nothing is named again until the ETag moves, or the date of a page
// without one. A weak ETag is not doubted like that, as the copies that it stands for may differ in
// noise: one that stays for ever is found out by copies that the server sends anyway, and not if
// it always answers 304.
//
// An answer 304 with another ETag than the one that the Transport named is about another copy (RFC
// 9111, section 4.3.4). The page is then fetched at once without a condition, and that is the
// answer. If it has the ETag that was named after all, nothing is named until it moves.
//
// Redirects that an http.Client follows belong to the page that it asked for, and one copy is
// remembered for all of them: that at the end. It is compared with the copy before, wherever
// that was, by the contents if it was at another URL; so a page with a session in its URL stays
// one page. Each request on the way is a poll of its own, and a redirect has changed if it
// leads elsewhere than before. [Begin] makes one poll of them. A redirect that is not followed is
// the page itself: a copy that comes after it is a change, whatever came before it.
//
// A request that has a condition of its own (If-None-Match, If-Modified-Since, …) gets none
// added. Its answer is compared with the copy that the condition names. With a list of ETags,
// any answer but 304 is a change.
//
// Contents are compared by a [fingerprint.Page], which learns which blocks of text change by
// themselves; Exact and Fingerprint choose otherwise. It reads HTML and XML, by the Content-Type or,
// without one, by how the body begins; others are compared byte by byte. It may report a change late,
// at a poll whose answer is the same as before, or 304: one that it first took for noise, and that
// has stayed. Such a poll is decided ByContent. Who keeps copies has none of a page whose change is
// found at a 304, and gets it by another client. [Poll].Changed is about the body of the page, Minor
// about menus, headers and footers. A page is learnt faster with a second copy fetched within
// seconds, for which [Poll].Again asks and which [Teaching] marks.
//
// The end of a body is io.EOF, or as many bytes as Content-Length says. Of a body that is closed
// early, as by a limit on its size, the first N bytes are compared with those of the copy before,
// if that was closed after N bytes too or was not longer. Otherwise, and if neither ETag nor
// Last-Modified decide, the poll is reported with [ErrClosedEarly]; the second time in a row that
// the body is closed after N bytes, they are what is compared from there on.
//
// Leave Accept-Encoding to Base, which decompresses then. A body that is handed on compressed by
// gzip, because the request asked for it, is held until its end and then decompressed to be
// compared, up to 10 MiB each; one that is closed early is not compared. Other codings are compared
// as they come, with the noise in them.
//
// A Last-Modified less than a second before the Date of the answer is not used: the page may
// change once more in that second, or is made anew for each request (RFC 9110, section
// 8.8.2.2). Bytes are compared by SHA-256 cut to 128 bits. Unlike hash/maphash it is the same in
// the next process, so it can be saved, and no page can hide its changes from it.
//
// The copies of a URL are compared whatever headers they were asked for with. Use one Transport
// for each language, say.
//
// # Cost
//
// Memory, until Forget: 150 to 270 bytes a page, up to 256 more for its ETag (a longer one is not
// used), and, unless Exact or Fingerprint is set, what a fingerprint.Page needs: 1.5 KB in the
// median of real pages, 12.5 KB at 99 %, at most 54 KB. The content is hashed as it streams by and
// never held, except for Fingerprint and where it comes compressed. Time: 4 ns a byte; 1 with
// Exact.
type Transport struct {
	// Base sends the requests; nil is [http.DefaultTransport].
	Base http.RoundTripper
	// OnPoll, if not nil, is told of every poll, in the goroutine that reads or closes the
	// body. It must be safe for concurrent use if the client is used so.
	OnPoll func(Poll)
	// Now is the clock of the wire times; nil is [time.Now].
	Now func() time.Time

	// Exact compares contents byte by byte, where otherwise a [fingerprint.Page] learns which of
	// a page's changes are noise. Take it to save memory.
	Exact bool
	// Numbers says that the numbers of the pages are their content, as prices are. They are then
	// never taken for noise; clocks are not either.
	Numbers bool
	// Fingerprint, if not nil, is used instead: contents are equal if it returns the same bytes
	// for them. It is given the body as far as it was read, which is held for it. An error is that
	// of the poll. It must be safe for concurrent use if the client is used so.
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
	if r.Method != http.MethodGet && r.Method != "" || r.Header == nil || hasAny(r.Header, "Range", "Upgrade") {
		return t.base().RoundTrip(r)
	}
	p := t.newPoll(r)
	if p.redirected {
		p.follow()
	}
	sent := p.condition(r)
	p.Start = t.now()
	resp, err := t.base().RoundTrip(sent)
	if err == nil && p.isForeign(resp) {
		p.foreign, p.conditional = true, false
		if r.Body == nil || r.Body == http.NoBody { // else it has gone
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
		resp.Request = sent // newPoll of a redirect goes back by it
	}
	p.resp = resp
	p.read(resp)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
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
	for first.Response != nil && first.Response.Request != nil { // an http.Client was redirected
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

// Forget forgets a page, by its URL or the name that [Begin] was given: its next poll is a first
// one.
func (t *Transport) Forget(page string) {
	t.copies.forget(keyOf(page))
	if url, _, ok := strings.Cut(page, "#"); ok {
		t.copies.forget(keyOf(url))
	}
}

// Len returns the number of pages that are remembered.
func (t *Transport) Len() int { return t.copies.len() }

// MarshalBinary implements [encoding.BinaryMarshaler]. It saves what is remembered of all URLs,
// in the order of their hashes.
func (t *Transport) MarshalBinary() ([]byte, error) { return t.copies.save() }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It replaces what is remembered and
// leaves the fields. An error wraps [ErrCorrupt] and changes nothing.
func (t *Transport) UnmarshalBinary(data []byte) error { return t.copies.restore(data) }
