package input

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/transform"
)

// A text reads the characters of an XML document, as UTF-8. Where there is none, or one that XML forbids, it reads
// another in its place: the links around it are not to be lost.
type text struct {
	from *bufio.Reader
	left []byte // of a character
}

// declared goes on in the encoding that the document declares. One that nobody knows is hardly another than UTF-8,
// nor is UTF-16 where the declaration itself could be read.
func (t *text) declared(label string, _ io.Reader) (io.Reader, error) {
	e, name := charset.Lookup(label)
	if e == nil || strings.HasPrefix(name, "utf-16") {
		return t, nil
	}
	return &text{from: bufio.NewReader(transform.NewReader(t.from, e.NewDecoder()))}, nil
}

// ReadByte is what the decoder reads with.
func (t *text) ReadByte() (byte, error) {
	if len(t.left) == 0 {
		c, _, err := t.from.ReadRune() // the replacement character where there is none
		if err != nil {
			return 0, err
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff {
			c = ' '
		}
		t.left = utf8.AppendRune(t.left[:0], c)
	}
	b := t.left[0]
	t.left = t.left[1:]
	return b, nil
}

func (t *text) Read(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		if b[n], err = t.ReadByte(); err == nil {
			n++
		}
	}
	return n, err
}
