package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv/live/fingerprint"
)

// key is the SHA-256 of a URL, cut to 128 bits.
type key [16]byte

// shortOf is the first half of keyOf. It only distinguishes the URLs at which one page was.
func shortOf(text string) uint64 {
	k := keyOf(text)
	return binary.LittleEndian.Uint64(k[:])
}

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

// validators are what is remembered of a copy of a page.
type validators struct {
	etag     string
	modified int64 // Last-Modified in Unix seconds, 0 if none
	copied
	from     uint64            // hash of the URL where the copy was
	location key               // hash of the first Location on the way there, zero if there is none
	redirect bool              // that redirect was not followed
	page     *fingerprint.Page // what is learnt of the page, nil if nothing
	refused  int64             // size in bytes of the last copy that could not be compared; not saved
	credit   credit
	owner    owner // of the version; not saved
}

// credit is how much the ETag of a page is trusted, or its Last-Modified if it has no ETag. Some
// servers send a validator that never changes, and answer 304 to everybody who names it. So a copy
// is fetched now and then in spite of the validator, and compared by its content.
type credit struct {
	quiet uint8 // answers 304 since the last copy
	trust uint8 // 2^trust answers 304 are believed before a copy is fetched
	lies  bool  // the content has changed under the validator, or an answer 304 was about another one
}

// mostTrust is the greatest trust in a validator. If the validator is honest, one poll in 65
// fetches a copy in vain in the long run. Dates earn the trust, with five copies in the first 64
// polls. So the first change that a date hides is found within about as many polls as the page had
// before. With dates that never change, 8 % of all changes in 60 days are missed, instead of 98 %
// without this rule (go run ./examples/serve -crawl). ETags are wrong far less often and have the
// greatest trust from the start.
const mostTrust = 6

// doubted reports whether the next poll should fetch a copy in spite of the validators. A weak ETag
// is not doubted only because of its age: the copies that it stands for may differ in noise, and
// that would count as changes until it is learnt.
func (v *validators) doubted() bool {
	c := v.credit
	if v.etag != "" {
		c.trust = mostTrust
	}
	return c.lies || !strings.HasPrefix(v.etag, "W/") && c.quiet >= 1<<c.trust
}

// heard notes an answer 304.
func (c *credit) heard() {
	if c.quiet < math.MaxUint8 {
		c.quiet++
	}
}

// after returns the credit after a copy. stayed reports whether the copy had the same validator as
// the one before. refuted reports whether its content was another one, or whether it came because
// of an answer 304 about another copy.
func (c credit) after(stayed, refuted bool) credit {
	return credit{trust: min(c.trust+1, mostTrust), lies: stayed && (c.lies || refuted)}
}

// copied is what is known about the content of a copy.
type copied struct {
	hash   [16]byte // if the page has none of its own
	hashed bool     // the content is known
	cut    bool     // only the beginning is known
	size   int64    // in bytes, decompressed
}

// comparable reports whether a content can be compared with the one found. If one of them is cut,
// only the first bytes are compared.
func (c *copied) comparable(found copied) bool {
	switch {
	case !c.hashed || !found.hashed:
		return false
	case c.cut && found.cut:
		return c.size == found.size
	case c.cut:
		return found.size <= c.size
	case found.cut:
		return c.size <= found.size
	}
	return true
}

// replaceable reports whether a content that cannot be compared with the one found is replaced by
// it.
func (v *validators) replaceable(found copied) bool {
	longer := !v.hashed || !found.cut || v.cut && found.size > v.size
	return found.hashed && (longer || found.size == v.refused)
}

// reached notes that the page was reached, through redirects or directly.
func (v *validators) reached(redirected bool) {
	v.redirect = false
	if !redirected {
		v.location = key{}
	}
}

// named reports whether there is anything that a condition can name.
func (v *validators) named() bool { return v.etag != "" || v.modified != 0 }

// same reports whether the validators that a caller named belong to the copy v.
func (v *validators) same(named *validators) bool {
	if named.etag != "" {
		return v.etag != "" && opaqueTag(v.etag) == opaqueTag(named.etag)
	}
	return named.modified != 0 && v.modified == named.modified
}

// opaqueTag returns the part of an ETag that weak comparison looks at.
func opaqueTag(etag string) string { return strings.TrimPrefix(etag, "W/") }

// maxETag is the length in bytes of the longest ETag that is remembered. The ETags of servers have
// 10 to 70 bytes. The bound only keeps a hostile server from filling the memory.
const maxETag = 256

// usableETag returns an ETag that can be remembered, or "". To name * would be to ask for a copy only if
// there is none (RFC 9110, section 13.1.2).
func usableETag(etag string) string {
	if etag == "*" || len(etag) > maxETag || strings.ContainsFunc(etag, func(c rune) bool { return c < ' ' || c == 0x7f }) {
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

// copies are the copies that are remembered. The zero value is empty.
type copies struct {
	mu       sync.Mutex
	seen     map[key]validators
	restored owner // of all that was restored last
}

func (c *copies) lookUp(k key) (validators, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current(k)
}

// current returns the copy under k, for a caller that holds the lock.
func (c *copies) current(k key) (v validators, known bool) {
	v, known = c.seen[k]
	if l := v.owner.Value(); l != nil && l.taken {
		return l.earlier()
	}
	return v, known
}

// settled returns the copy under k without what fetches have taught that have not ended, for a
// caller that holds the lock.
func (c *copies) settled(k key) (v validators, known bool) {
	v, known = c.seen[k]
	for l := v.owner.Value(); l != nil && (l.taken || !l.ended); l = l.prev {
		v, known = l.before, l.known
	}
	return v, known
}

// replace passes the copy under k to the function by. It stores the result if keep is true;
// another reports whether that is another version. Unless l is nil, all this is part of a lesson, which
// it returns: l or a later one. If teaching is set, nothing is done if another version than that of the
// lesson is there by now.
func (c *copies) replace(k key, l *lesson, teaching bool, by func(old validators, known bool) (found validators, keep, another bool)) *lesson {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.current(k)
	if teaching && l != nil && l.of != nil && old.owner != l.left {
		return l
	}
	if l != nil {
		l = l.begin(c, k, old, known)
	}
	found, keep, another := by(old, known)
	if !keep {
		return l
	}
	switch found.owner = old.owner; {
	case another && l != nil:
		found.owner = weak.Make(l)
	case another:
		found.owner = weak.Make(&lesson{ended: true}) // nobody's, and unlike all others
	}
	if l != nil {
		l.left = found.owner
	}
	c.store(k, found)
	return l
}

// follow notes that the redirect of a page is followed. So the redirect is not the page itself, nor
// another version, whatever it leads to. On the way to a second copy the version is that of the first.
// It returns the lesson as replace does.
func (c *copies) follow(k key, l *lesson, teaching bool) *lesson {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, known := c.current(k)
	if l != nil && !teaching {
		l = l.begin(c, k, v, known)
		if v.owner == weak.Make(l) {
			v.owner = l.before.owner
		}
		l.left = v.owner
	}
	if v.redirect = false; known {
		c.store(k, v)
	}
	return l
}

func (c *copies) store(k key, v validators) {
	if c.seen == nil {
		c.seen = make(map[key]validators)
	}
	c.seen[k] = v
}

func (c *copies) forget(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, k)
}

func (c *copies) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

var transportFormat = codec.Format{Magic: "recrawl/webenv/live.Transport", Version: 5}

// encode writes the copies in the order of their keys.
func (c *copies) encode(e *codec.Encoder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(c.seen), func(a, b key) int { return bytes.Compare(a[:], b[:]) })
	keys = slices.DeleteFunc(keys, func(k key) bool {
		_, known := c.settled(k)
		return !known
	})
	e.Int(len(keys))
	for _, k := range keys {
		v, _ := c.settled(k)
		e.Bytes(k[:])
		e.Bytes([]byte(v.etag))
		e.Uint64(uint64(v.modified))
		e.Byte(v.credit.quiet)
		e.Byte(v.credit.trust)
		e.Bool(v.credit.lies)
		e.Uint64(v.from)
		e.Bool(v.location != key{})
		if v.location != (key{}) {
			e.Bytes(v.location[:])
			e.Bool(v.redirect)
		}
		e.Bool(v.hashed)
		if v.hashed {
			e.Bytes(v.hash[:])
			e.Bool(v.cut)
			e.Uint64(uint64(v.size))
		}
		e.Bool(v.page != nil)
		if v.page != nil {
			page, _ := v.page.MarshalBinary() // has no source, so it cannot fail
			e.Bytes(page)
		}
	}
}

// decode reads what encode wrote.
func decode(seen *map[key]validators, d *codec.Decoder) {
	*seen = make(map[key]validators)
	var last key
	for i := range d.Count(1) {
		k := key(decodeHash(d))
		d.Require(i == 0 || bytes.Compare(k[:], last[:]) > 0, "URL %d out of order", i)
		v := validators{etag: string(d.Bytes()), modified: int64(d.Uint64())}
		v.credit = credit{d.Byte(), d.Byte(), d.Bool()}
		d.Require(v.credit.trust <= mostTrust, "trust %d in the validators of URL %d", v.credit.trust, i)
		v.from = d.Uint64()
		if d.Bool() {
			v.location, v.redirect = decodeHash(d), d.Bool()
		}
		if v.hashed = d.Bool(); v.hashed {
			v.hash, v.cut, v.size = decodeHash(d), d.Bool(), d.Int64In(0, math.MaxInt64)
		}
		if d.Bool() {
			v.page = new(fingerprint.Page)
			if saved := d.Bytes(); d.Err() == nil {
				d.Check(v.page.UnmarshalBinary(saved))
			}
		}
		d.Require(v.etag == usableETag(v.etag), "bad validators of URL %d", i)
		if d.Err() != nil {
			return
		}
		(*seen)[k], last = v, k
	}
}

func decodeHash(d *codec.Decoder) (h [16]byte) {
	copy(h[:], d.BytesLen(len(h)))
	return h
}

func (c *copies) save() ([]byte, error) { return transportFormat.Save(c.encode) }

// restore replaces the copies by those that save wrote. No lesson from before can be taken back.
func (c *copies) restore(data []byte) error {
	var seen map[key]validators
	if err := codec.Load(&seen, transportFormat, data, decode); err != nil {
		return err
	}
	nobodys := weak.Make(&lesson{ended: true})
	for k, v := range seen {
		v.owner = nobodys
		seen[k] = v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.restored = seen, nobodys
	return nil
}
