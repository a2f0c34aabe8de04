package live

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/recrawl/recrawl/internal/enum"
	"github.com/recrawl/recrawl/webenv/live/fingerprint"
)

// A Decision says what decided whether a page changed.
type Decision uint8

const (
	Undecided      Decision = iota // there was nothing to compare, or an error
	ByStatus                       // status 304, Not Modified
	ByETag                         // the ETags of both copies, compared weakly
	ByLastModified                 // their Last-Modified
	ByContent                      // their contents
	ByLocation                     // where the page redirects to, or that it does
)

var decisions = enum.Of[Decision](ErrConfig, "undecided", "status", "etag", "last-modified", "content", "location")

// String returns the name of the decision in small letters, such as "etag".
func (d Decision) String() string { return decisions.String(d) }

// MarshalText implements [encoding.TextMarshaler].
func (d Decision) MarshalText() ([]byte, error) { return decisions.MarshalText(d) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Decision) UnmarshalText(text []byte) error { return decisions.UnmarshalText(d, text) }

// A Poll is what a [Transport] found out in one request.
type Poll struct {
	// Page is the name of the page: the name given to [Begin], or the URL that was requested first.
	Page string
	// URL is the URL of this request, without a fragment. After redirects it is the final one.
	URL string
	// Request is the request as it came, with its context; nil if none was sent.
	Request  *http.Request
	Status   int      // 0 if no answer came
	Changed  bool     // the page differs from the copy before, or from earlier copies; see Transport
	Minor    bool     // its menus, headers, footers or title differ, as far as is known
	First    bool     // there was nothing to compare it with; Changed is false
	Again    bool     // a second copy within seconds would help; see [Teaching]
	Decision Decision // how Changed was decided
	// LastModified is the Last-Modified of the answer, or zero if it has none that is reliable; see
	// Transport.
	LastModified time.Time
	// RetryAfter is the time before which the server does not want to be asked again, or zero if it
	// does not say.
	RetryAfter time.Time
	// Fresh is how much longer the answer calls itself fresh: max-age, or else Expires, minus Age
	// (RFC 9111, for a private cache). It is 0 if the answer does not say, or says
	// no-cache or no-store.
	Fresh    time.Duration
	Start    time.Time     // when the request was sent
	Latency  time.Duration // from Start to the header of the answer
	Duration time.Duration // from Start to the end of the body
	Bytes    int64         // of the body as the caller read it, decompressed
	// Err is an error of the network, an error that wraps [ErrStatus], or [ErrClosedEarly]. For a
	// [Fetch] it may also be [ErrNotSent] or an error given to End. Changed is then false, and the
	// next poll is compared with the copy from before the error. Outcome returns the kind of
	// failure.
	Err error
}

// poll is a poll under way, and the body of its answer.
type poll struct {
	Poll
	t           *Transport
	key         key
	fetch       *Fetch      // that it belongs to, if any
	redirected  bool        // an earlier request of the page redirected to this one
	conditional bool        // the request was conditional
	named       *validators // of the copy that the caller's own conditions name, else nil
	sent        string      // ETag that the Transport named, if any
	foreign     bool        // an answer 304 was about another copy, or one was 412
	teaching    bool        // see Teaching
	found       validators  // of the answer; its content is still to come

	resp   *http.Response
	body   io.ReadCloser
	length int64 // Content-Length, −1 if unknown

	mu      sync.Mutex // Close may come during Read
	content content
	done    bool
}

// condition makes a request conditional, unless it is so already.
func (p *poll) condition(r *http.Request) *http.Request {
	if hasAny(r.Header, conditions...) {
		p.named = &validators{
			etag:     usableETag(r.Header.Get("If-None-Match")),
			modified: unixSeconds(r.Header.Get("If-Modified-Since")),
			from:     p.found.from,
		}
		p.conditional = true
		return r
	}
	old, ok := p.t.copies.lookUp(p.key)
	if !ok || !old.named() || old.doubted() || p.teaching || old.from != p.found.from || old.redirect && !p.redirected {
		return r
	}
	// A RoundTripper must not modify the request.
	r = r.WithContext(r.Context())
	r.Header = r.Header.Clone()
	if p.sent = old.etag; p.sent != "" {
		r.Header.Set("If-None-Match", p.sent)
	}
	if old.modified != 0 {
		r.Header.Set("If-Modified-Since", time.Unix(old.modified, 0).UTC().Format(http.TimeFormat))
	}
	p.conditional = true
	return r
}

// isForeign reports whether an answer is 304 with another ETag than the one named. The page is then
// not the remembered copy (RFC 9111, section 4.3.4). So it is with 412: the answer to a condition of a
// GET is 304 or the page (RFC 9110, section 13.1.2), and such a server would send no page any more.
func (p *poll) isForeign(resp *http.Response) bool {
	if resp.StatusCode == http.StatusPreconditionFailed {
		return p.conditional && p.named == nil
	}
	etag := resp.Header.Get("ETag")
	return p.sent != "" && resp.StatusCode == http.StatusNotModified && etag != "" && opaqueTag(etag) != opaqueTag(p.sent)
}

// read reads the header of the answer.
func (p *poll) read(resp *http.Response) {
	p.Status = resp.StatusCode
	now := p.Start.Add(p.Latency)
	p.RetryAfter, p.Fresh = RetryAfter(resp.Header, now), freshness(resp.Header, now)
	p.found.etag = usableETag(resp.Header.Get("ETag"))
	p.found.modified = unixSeconds(resp.Header.Get("Last-Modified"))
	if date := unixSeconds(resp.Header.Get("Date")); date != 0 && date <= p.found.modified {
		p.found.modified = 0
	}
	if p.found.modified != 0 {
		p.LastModified = time.Unix(p.found.modified, 0).UTC()
	}
	if location := resp.Header.Get("Location"); isRedirect(p.Status) && location != "" {
		if to, err := resp.Location(); err == nil { // some hosts have it now relative, now absolute
			location = to.String()
		}
		p.found = validators{location: keyOf(location), redirect: true}
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

// isPage reports whether an answer has a whole copy of a page.
func isPage(status int) bool {
	switch status {
	case http.StatusResetContent, http.StatusPartialContent, http.StatusIMUsed:
		return false
	}
	return status/100 == 2
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

// finish ends the poll once, with the reason why the body ended.
func (p *poll) finish(err error) {
	p.mu.Lock()
	first := !p.done
	p.done = true
	p.mu.Unlock()
	if first {
		p.end(err)
	}
}

// end decides the poll and reports it. err is io.EOF if the content is complete.
func (p *poll) end(err error) {
	if p.Status != 0 {
		p.Duration = p.t.now().Sub(p.Start)
	}
	switch {
	case p.Status == 0: // no answer
		p.Err = err
	case p.Status == http.StatusNotModified && p.conditional:
		p.Decision = ByStatus
		p.arrive()
		if p.named != nil && p.found.etag != "" {
			p.named.etag = p.found.etag
			p.adopt()
		}
	case !isPage(p.Status) && !p.found.redirect:
		p.Err = fmt.Errorf("%w: %d %s", ErrStatus, p.Status, http.StatusText(p.Status))
	case err != io.EOF && err != ErrClosedEarly:
		p.Err = err
	default:
		if p.Err = p.take(err != io.EOF); p.Err == nil {
			p.decide()
		}
	}
	if p.content != nil {
		p.content.free()
	}
	if p.fetch != nil {
		p.fetch.add(p.Poll, p.teaching)
	}
	if p.t.OnPoll != nil {
		p.t.OnPoll(p.Poll)
	}
}

// take takes the content as far as it was read, unless it is the body of a redirect.
func (p *poll) take(cut bool) error {
	if p.found.redirect || cut && p.Bytes == 0 {
		return nil
	}
	if p.content == nil {
		p.content = p.t.newContent(p.resp)
	}
	size, longer := p.Bytes, false
	if z, ok := p.content.(*packed); ok {
		if cut { // the same number of compressed bytes may hold more or less of the page another time
			return nil
		}
		var err error
		if p.content, size, longer, err = z.unpack(); err != nil {
			return err
		}
	}
	hash, err := p.content.end(p.resp, cut || longer)
	p.found.copied = copied{hash: hash, hashed: err == nil, cut: cut, size: size}
	return err
}

// replace replaces the remembered copy of the page. If the poll belongs to a Fetch, that can take it
// back.
func (p *poll) replace(by func(old validators, known bool) (found validators, keep, another bool)) {
	p.fetch.teach(&p.t.copies, func(l *lesson) *lesson { return p.t.copies.replace(p.key, l, p.teaching, by) })
}

// arrive notes in the remembered copy that the page was reached.
func (p *poll) arrive() {
	p.replace(func(old validators, known bool) (validators, bool, bool) {
		v := old
		v.reached(p.redirected)
		if p.named == nil {
			v.credit.heard()
		}
		if p.named == nil || old.same(p.named) {
			p.stay(v.page)
		}
		return v, known, p.Changed
	})
}

// follow notes that the redirect of a page is followed. So the redirect is not the page itself,
// whatever it leads to.
func (p *poll) follow() {
	p.fetch.teach(&p.t.copies, func(l *lesson) *lesson { return p.t.copies.follow(p.key, l, p.teaching) })
}

// stay notes that the page is the same. It reports earlier changes that were taken for noise and
// have stayed since.
func (p *poll) stay(page *fingerprint.Page) {
	if page == nil || p.teaching {
		return
	}
	f := page.Same()
	if f.Changed() {
		p.Decision, p.Changed, p.Minor = ByContent, f.Body, f.Minor
	}
}

// adopt remembers the copy that the caller named and the server confirmed, unless it is remembered
// already.
func (p *poll) adopt() {
	p.replace(func(old validators, known bool) (validators, bool, bool) {
		return p.namedCopy(old), !known || !old.same(p.named), false
	})
}

// namedCopy returns the copy that the caller named, with what is known about the page.
func (p *poll) namedCopy(old validators) validators {
	v := *p.named
	v.page, v.location = old.page, old.location
	return v
}

// decide compares the copy found with the one before, and remembers it. What a caller named on the way
// is about the copy at the end.
func (p *poll) decide() {
	p.replace(func(old validators, known bool) (found validators, keep, another bool) {
		if p.named != nil && p.named.named() && !(known && old.same(p.named)) {
			if known = true; !p.found.redirect {
				old = p.namedCopy(old)
			}
		}
		found, keep = p.compare(old, known)
		return found, keep, p.Changed || p.First
	})
}

// compare decides whether the copy found differs from the one before. It returns what should be
// remembered, and false if that is nothing. If no copy is known, old is empty and nothing can be
// compared.
func (p *poll) compare(old validators, known bool) (found validators, keep bool) {
	if p.found.redirect {
		return p.compareLocation(old, known)
	}
	found = p.found
	found.page, found.location = old.page, old.location
	found.reached(p.redirected)
	direct := old.redirect && !p.redirected // the page was a redirect before
	byContent := !direct && p.comparable(&old)
	switch {
	case p.teaching && known && (!byContent || old.page == nil): // nothing is learnt, and the next poll finds the change
		return old, false
	case direct:
		p.Decision, p.Changed = ByLocation, true
	case p.teaching && byContent:
	case p.compareNames(&old, byContent):
	case byContent:
		p.Decision = ByContent
		p.Changed = true // until the contents are compared
	case old.replaceable(found.copied), !(old.hashed || old.named()) && found.named():
		p.First = true
	default:
		p.Err = ErrClosedEarly
		old.refused = found.size
		return old, known
	}
	late := false
	switch {
	case found.hashed:
		late = p.compareContent(&found, old, byContent)
	case !p.Changed && old.hashed:
		found.copied = old.copied
	}
	if p.teaching && byContent { // a 304 to those of the second copy would hide what is new in it
		found.etag, found.modified, found.from = old.etag, old.modified, old.from
	}
	if known {
		stayed := old.from == found.from && found.same(&old)
		found.credit = old.credit.after(stayed, byContent && p.Changed && !late || p.foreign)
		if p.teaching { // seconds after the first copy no validator earns trust
			found.credit.trust = old.credit.trust
		}
	}
	return found, true
}

// compareLocation compares a redirect with the one before. The copy at its end stays remembered,
// because the client may follow the redirect. Only the first redirect of a page is compared, so
// that one page is remembered, whichever way leads to it. A redirect in place of a second copy teaches
// nothing; what it shows is left to the next poll.
func (p *poll) compareLocation(old validators, known bool) (found validators, keep bool) {
	if p.redirected || p.teaching && known {
		return old, false
	}
	if p.First = !known; known {
		p.Decision, p.Changed = ByLocation, old.location != p.found.location
	}
	old.location, old.redirect = p.found.location, true
	return old, true
}

// comparable reports whether the content found can be compared with that of the copy before.
func (p *poll) comparable(old *validators) bool {
	_, learns := p.content.(*learnt)
	return learns == (old.page != nil) && old.comparable(p.found.copied)
}

// compareNames compares the ETags, or else the dates, and reports whether they decide. They decide
// only if both copies have one and come from the same URL. Equal ones decide nothing if the
// contents can be compared.
func (p *poll) compareNames(old *validators, byContent bool) bool {
	switch found := &p.found; {
	case old.from != found.from:
		return false
	case old.etag != "" && found.etag != "":
		p.Decision, p.Changed = ByETag, opaqueTag(old.etag) != opaqueTag(found.etag)
	case old.modified != 0 && found.modified != 0:
		p.Decision, p.Changed = ByLastModified, old.modified != found.modified
	default:
		return false
	}
	return p.Changed || !byContent
}

// compareContent compares the contents and learns. It revises the decision by the validators if the
// contents turn out to be equal. It reports whether the change happened in earlier copies.
func (p *poll) compareContent(found *validators, old validators, comparable bool) (late bool) {
	f := p.content.compare(p.t, found, old, p.teaching && comparable)
	p.Again = f.Again
	if !comparable || !p.Changed {
		return false
	}
	p.Minor = f.Minor
	if p.Changed = f.Body; !f.Body || f.Late { // the validators are only about this copy
		p.Decision = ByContent
	}
	return f.Late
}
