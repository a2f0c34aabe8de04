package input

import (
	"bufio"
	"encoding/xml"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// unmarked reads a text that may begin with a byte order mark, without it. One in UTF-16 does, and is read as UTF-8.
func unmarked(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.BOMOverride(transform.Nop))
}

// A text reads the characters of an XML document, as UTF-8. Where there is none, or one that XML forbids, it reads
// another in its place: the links around it are not to be lost.
type text struct {
	from  *bufio.Reader
	left  []byte // of a character
	coded bool   // an encoding was declared
	ended error  // with which it ended
	read  int64  // bytes that the decoder has read
	last  byte   // of them
	token int    // of those, of the latest token
	tag   bool   // it is a tag
}

// begins takes note that the decoder is to read a token. It may have read its first byte, to see where the one
// before ends.
func (t *text) begins(x *xml.Decoder) { t.token, t.tag = int(t.read-x.InputOffset()), false }

// declared goes on in the encoding that the document declares. One that nobody knows is hardly another than UTF-8,
// nor is UTF-16 where the declaration itself could be read. The first declaration counts: a decoder for each within
// the others would take all memory.
func (t *text) declared(label string, _ io.Reader) (io.Reader, error) {
	e, name := charset.Lookup(label)
	if e == nil || strings.HasPrefix(name, "utf-16") || t.coded {
		return t, nil
	}
	t.coded = true
	t.from = bufio.NewReader(transform.NewReader(t.from, e.NewDecoder()))
	return t, nil
}

// decoder returns one that reads on, a byte at a time. Before, if not nil, is the one that read until here: it may
// have read one byte too many, to look at it.
func (t *text) decoder(before *xml.Decoder) *xml.Decoder {
	if before != nil && before.InputOffset() < t.read {
		t.left = append([]byte{t.last}, t.left...)
	}
	t.read = 0
	x := xml.NewDecoder(t)
	x.Strict, x.CharsetReader = false, t.declared
	return x
}

// ReadByte is what the decoder reads with.
func (t *text) ReadByte() (byte, error) {
	if len(t.left) == 0 {
		c, _, err := t.from.ReadRune() // the replacement character where there is none
		if err != nil {
			t.ended = err
			return 0, err
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff {
			c = ' '
		}
		t.left = utf8.AppendRune(t.left[:0], c)
	}
	t.read++
	if t.token++; t.token == 2 {
		t.tag = t.last == '<' && t.left[0] != '!' && t.left[0] != '?'
	}
	if t.tag && t.token > mostTag {
		t.ended = errTag
		return 0, errTag
	}
	t.last, t.left = t.left[0], t.left[1:]
	return t.last, nil
}

func (t *text) Read(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		if b[n], err = t.ReadByte(); err == nil {
			n++
		}
	}
	return n, err
}
