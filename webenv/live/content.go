package live

import (
	"bytes"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"sync"

	"github.com/recrawl/recrawl/webenv/live/fingerprint"
)

// Teaching returns a context that marks a request as one for a second copy of a page. Send it
// within seconds of the first, when [Poll].Again asks for it. Every difference between the two
// copies then counts as noise, and the poll is reported as [Undecided]. Without a first copy it is
// a poll like any other. Contents that are compared byte by byte, or by a Fingerprint, have no noise:
// the next poll finds what is new in the second copy.
//
//	if poll.Again {
//		request = request.Clone(live.Teaching(request.Context()))
//		...
//	}
func Teaching(ctx context.Context) context.Context {
	return context.WithValue(ctx, teaching{}, true)
}

type teaching struct{}

// A content is the content of a copy as it streams by.
type content interface {
	io.Writer
	// end ends the content and returns its hash, if it has one. If cut is set, the content is only
	// the beginning of the page.
	end(resp *http.Response, cut bool) ([16]byte, error)
	// compare compares the content with that of the copy before, whose validators are old, and
	// learns. If teach is set, all differences are noise.
	compare(t *Transport, found *validators, old validators, teach bool) fingerprint.Finding
	free()
}

// newContent returns the content of an answer that is yet to be read.
func (t *Transport) newContent(resp *http.Response) content {
	switch {
	case t.Fingerprint != nil:
		return &printed{of: t.Fingerprint}
	case t.Exact:
		return &hashed{Hash: sha256.New()}
	}
	c := contents.Get().(*learnt)
	c.Type = resp.Header.Get("Content-Type")
	return c
}

// unlearnt is what contents that are compared by their hashes have in common.
type unlearnt struct{}

func (unlearnt) compare(_ *Transport, found *validators, old validators, teach bool) fingerprint.Finding {
	found.page = nil
	return fingerprint.Finding{Body: found.hash != old.hash}
}

func (unlearnt) free() {}

// hashed is a content that is compared byte by byte.
type hashed struct {
	hash.Hash
	unlearnt
}

func (c *hashed) end(*http.Response, bool) ([16]byte, error) {
	var sum [sha256.Size]byte
	return [16]byte(c.Sum(sum[:0])[:16]), nil
}

// printed is a content whose fingerprint comes from a function of the caller.
type printed struct {
	bytes.Buffer
	unlearnt
	of func(*http.Response, []byte) ([]byte, error)
}

func (c *printed) end(resp *http.Response, _ bool) ([16]byte, error) {
	print, err := c.of(resp, c.Bytes())
	return keyOf(string(print)), err
}

// learnt is a content of a page whose noise is learnt.
type learnt struct{ fingerprint.Copy }

var contents = sync.Pool{New: func() any { return new(learnt) }}

func (c *learnt) end(_ *http.Response, cut bool) (none [16]byte, err error) {
	c.Cut = cut
	return none, nil
}

func (c *learnt) compare(t *Transport, found *validators, old validators, teach bool) fingerprint.Finding {
	if found.page == nil {
		found.page = new(fingerprint.Page)
	}
	found.page.Numbers = t.Numbers
	if teach {
		found.page.Teach(&c.Copy)
		return fingerprint.Finding{}
	}
	return found.page.Observe(&c.Copy)
}

func (c *learnt) free() {
	c.Reset()
	contents.Put(c)
}
