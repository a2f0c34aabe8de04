package input

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

const (
	// MaxDocument is what is read of a document, compressed or not: 50 MB, as sitemaps.org has it.
	MaxDocument = 50 << 20
	// deepest is more than any document nests, and bounds what the decoder remembers.
	deepest = 1000
	// mostText is what is kept of a text: more than there can be of a URL, which is refused then.
	mostText = 2 * LongestURL
	// mostTag is what is read of a tag, in bytes: a feed may have a picture in one, but each attribute takes the
	// decoder many times its own.
	mostTag = 512 << 10
	// mostAttributes is how many are kept of an element while it is open: more than any has.
	mostAttributes = 100
)

var (
	errLong = fmt.Errorf("longer than %d MB", MaxDocument>>20)
	errNone = errors.New("there is no XML in it")
	errTag  = fmt.Errorf("a tag longer than %d KB", mostTag>>10)
	errDeep = fmt.Errorf("more than %d elements within each other", deepest)
)

// A limited reads a document as far as MaxDocument.
type limited struct {
	io.Reader
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left == 0 {
		var more [1]byte
		if n, err := io.ReadFull(l.Reader, more[:]); n == 0 {
			return 0, err
		}
		return 0, errLong
	}
	n, err := l.Reader.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

// open returns what is in a document, which may be compressed.
func open(body []byte) (io.Reader, error) {
	l := &limited{Reader: bytes.NewReader(body), left: MaxDocument}
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		l.Reader = z
	}
	return unmarked(l), nil
}

// An element is one of those that are open, the root first.
type element struct {
	xml.StartElement
	text []byte // the beginning
}

func (e *element) attr(name string) string {
	for _, a := range e.Attr {
		if a.Name.Space == "" && strings.EqualFold(a.Name.Local, name) { // some write xmlurl
			return a.Value
		}
	}
	return ""
}

// base returns the URL that relative links within the elements refer to.
func base(document *url.URL, path []element) *url.URL {
	for _, e := range path {
		for _, a := range e.Attr {
			if a.Name.Local != "base" || a.Name.Space != "xml" && a.Name.Space != "http://www.w3.org/XML/1998/namespace" {
				continue
			}
			if u, err := document.Parse(strings.TrimSpace(a.Value)); err == nil {
				document = u
			}
		}
	}
	return document
}

// is reports whether the elements below the root have these names.
func is(path []element, names ...string) bool {
	if len(path) != len(names)+1 {
		return false
	}
	for i, name := range names {
		if path[i+1].Name.Local != name {
			return false
		}
	}
	return true
}

// mostMistakes is how many mistakes of a document are passed over: each has a decoder made anew.
const mostMistakes = 1000

// walk reads the elements of a document one after the other, so that it takes no more memory than what
// is kept of them. Begins, which may be nil, is told of each when it begins, and of an error of its own
// it returns that; ends when it ends, with its text. An end tag ends what was left open within its element, and
// nothing if there is no such element, as in HTML. Behind a mistake it goes on, and returns the first one at the end.
func walk(doc io.Reader, begins func(path []element) error, ends func(path []element)) error {
	in := &text{from: bufio.NewReader(doc)}
	x := in.decoder(nil)
	var path []element
	begun := map[xml.Name]int{} // how many there are in the path
	var mistake error
	for mistakes := 0; ; {
		in.begins(x)
		token, err := x.RawToken() // Token would have an end tag without a beginning end all that is open
		switch {
		case err != nil && in.ended == nil && mistakes < mostMistakes:
			mistakes++
			mistake = cmp.Or(mistake, err)
			if n := len(path); n > 0 {
				path[n-1].text = append(path[n-1].text, 0) // part of it is lost: it is no URL
			}
			x = in.decoder(x)
			continue
		case errors.Is(err, io.EOF) && len(path) > 0:
			return cmp.Or(mistake, io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF):
			return cmp.Or(mistake, errNone)
		case err != nil:
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if len(path) == deepest {
				return errDeep
			}
			token.Attr = token.Attr[:min(len(token.Attr), mostAttributes)]
			path = append(path, element{StartElement: token.Copy()})
			begun[token.Name]++
			if begins == nil {
				continue
			}
			if err := begins(path); err != nil {
				return err
			}
		case xml.CharData:
			if n := len(path); n > 0 {
				e := &path[n-1]
				e.text = append(e.text, token[:min(len(token), max(mostText-len(e.text), 0))]...)
			}
		case xml.EndElement:
			if begun[token.Name] == 0 {
				continue
			}
			for last := (xml.Name{}); last != token.Name; path = path[:len(path)-1] {
				if ends != nil {
					ends(path)
				}
				if last = path[len(path)-1].Name; begun[last] > 1 {
					begun[last]--
				} else {
					delete(begun, last)
				}
			}
			if len(path) == 0 {
				return mistake // what follows the root is not part of the document
			}
		}
	}
}
