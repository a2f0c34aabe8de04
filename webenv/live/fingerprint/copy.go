package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"hash"
)

// A Copy is a copy of a page as it is read. Write the body to it, decompressed, in chunks of any
// size; give it to [Page.Observe] or [Page.Teach]; and Reset it for the next copy. The zero value
// is ready.
//
// Cost: 4 ns a byte and 17 KB, whatever the size of the body, which is not held.
//
// # How it works
//
// The text between two tags that are not inline is a block. Of a block its letters, digits and
// marks count, in small letters and with entities decoded; attributes, scripts, styles, comments,
// noscript, template, svg, iframe and object do not. Blocks in nav, header, footer, aside, form,
// button, select, dialog, menu and head are boilerplate, unless they are in a main within, or
// nothing else is there. Bytes that are not UTF-8 count as letters.
//
// A body without any tag or text, or with a NUL among its first 1,024 bytes (an image, UTF-16),
// is compared byte by byte. Of more than 2,048 blocks those at the end count as one.
type Copy struct {
	// Cut says that the body written is only the beginning of the page. The block in which it
	// ends is then left out.
	Cut bool

	sha    hash.Hash
	size   int64
	binary bool
	done   bool
	text   tokenizer
}

// binaryPrefix is where a NUL makes a body binary. Browsers look at 1,445 bytes (the WHATWG's
// MIME sniffing standard); git at 8,000.
const binaryPrefix = 1024

// Reset makes the copy empty, for the next body.
func (c *Copy) Reset() {
	c.Cut, c.size, c.binary, c.done = false, 0, false, false
	if c.sha != nil {
		c.sha.Reset()
	}
	c.text.reset()
}

// Write implements [io.Writer]. It never fails.
func (c *Copy) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if c.sha == nil {
		c.sha = sha256.New()
	}
	c.sha.Write(b)
	if left := binaryPrefix - c.size; left > 0 {
		c.binary = c.binary || bytes.IndexByte(b[:min(left, int64(len(b)))], 0) >= 0
	}
	c.size += int64(len(b))
	if !c.binary {
		c.text.write(b)
	}
	return len(b), nil
}

// finish ends the copy, once.
func (c *Copy) finish() {
	if !c.done {
		c.text.finish(c.Cut)
		c.done = true
	}
}

// plain reports whether the copy has to be compared byte by byte.
func (c *Copy) plain() bool { return c.binary || c.text.tags == 0 || len(c.text.blocks) == 0 }

// sum returns the hash of the bytes, SHA-256 cut to 128 bits.
func (c *Copy) sum() (h [16]byte) {
	if c.sha == nil {
		c.sha = sha256.New()
	}
	var sum [sha256.Size]byte
	copy(h[:], c.sha.Sum(sum[:0]))
	return h
}
