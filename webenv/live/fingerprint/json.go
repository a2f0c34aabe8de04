package fingerprint

import (
	"crypto/sha256"
	"hash"
)

// A jsonReader reads JSON as it is written, in chunks of any size: one document, or several in a row.
// It divides it into the values that may change by themselves, which are blocks, and the rest, of
// which it makes a hash. Its memory is bounded.
type jsonReader struct {
	next      jsonToken
	documents uint64
	depth     int
	open      [jsonDepth]jsonLevel // objects and arrays

	scalar scalar

	rest hash.Hash
	out  [512]byte // what is yet to be hashed
	outN int
}

// A jsonToken is what may come next.
type jsonToken uint8

const (
	jsonTop   jsonToken = iota // an object or array, at the top
	jsonValue                  // a value; in an array also its end
	jsonName                   // the name of a member, or the end of the object
	jsonColon
	jsonComma // or the end of the object or array
)

// A jsonLevel is an open object or array.
type jsonLevel struct {
	object bool
	index  uint64 // position in the array
	outer  uint64 // hash of the names and positions that lead to it
	path   uint64 // of those that lead to the next value in it
	name   uint64 // hash of the nearest name on that path
}

// A scalar is one that is being read: a string without its quotes, or a number, true, false or null.
type scalar struct {
	state scalarState
	hash  uint64
	text  [longestScalar]byte
	len   int
	long  bool // it is longer than that, and what was read of it is in the rest
}

type scalarState uint8

const (
	noScalar scalarState = iota
	inBare               // in a number, true, false or null
	inString
	inStringEscape // behind a backslash
)

const (
	// jsonDepth is how deeply values may be nested. JSON that is nested more deeply is compared byte
	// by byte.
	jsonDepth = 32
	// longestScalar is the length in bytes of the longest value that may be a random name.
	longestScalar = 128
)

// readJSON reads a chunk. What is not JSON is compared byte by byte.
func (t *tokenizer) readJSON(b []byte) int {
	r := &t.json
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case r.scalar.state == noScalar:
			if !isSpace(c) && !r.read(c) {
				t.plain = true
				return len(b)
			}
			i++
		case r.scalar.state != inBare:
			i += t.readJSONString(b[i:])
		case isBare(c):
			r.hold(b[i : i+1])
			i++
		default: // c is behind it
			t.endJSONValue()
		}
	}
	return len(b)
}

// isBare reports whether a byte may be part of a number, true, false or null.
func isBare(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// read reads a byte that is not part of a scalar, and reports whether it may stand there. A comma
// before the end of an object or array is forgiven.
func (r *jsonReader) read(c byte) bool {
	top := r.depth == 0
	switch {
	case c == '{' || c == '[':
		if r.next != jsonTop && r.next != jsonValue || r.depth == jsonDepth {
			return false
		}
		r.begin(c == '{')
	case !top && c == '}' && r.open[r.depth-1].object && (r.next == jsonName || r.next == jsonComma),
		!top && c == ']' && !r.open[r.depth-1].object:
		r.depth--
		r.endValue()
	case c == ':' && r.next == jsonColon:
		r.next = jsonValue
	case c == ',' && r.next == jsonComma:
		r.comma()
	case c == '"' && (r.next == jsonName || r.next == jsonValue):
		r.scalar = scalar{state: inString}
		return true
	case isBare(c) && r.next == jsonValue:
		r.scalar = scalar{state: inBare}
		r.hold([]byte{c})
		return true
	default:
		return false
	}
	r.emit([]byte{c})
	return true
}

// begin begins an object or array.
func (r *jsonReader) begin(object bool) {
	l := jsonLevel{object: object, outer: step(fnvPrime, r.documents)} // not 0, whose first step leads to itself
	if r.depth > 0 {
		outside := &r.open[r.depth-1]
		l.outer, l.name = outside.path, outside.name
	} else {
		r.documents++
	}
	l.path = step(l.outer, 0)
	r.open[r.depth] = l
	r.depth++
	r.next = jsonValue
	if object {
		r.next = jsonName
	}
}

// comma goes on to the next member or element.
func (r *jsonReader) comma() {
	l := &r.open[r.depth-1]
	if l.object {
		r.next = jsonName
		return
	}
	r.next = jsonValue
	l.index++
	l.path = step(l.outer, l.index)
}

// endValue is called behind a value.
func (r *jsonReader) endValue() {
	r.next = jsonComma
	if r.depth == 0 {
		r.next = jsonTop
	}
}

// step returns the hash of a path with one step more.
func step(path, by uint64) uint64 {
	h := (path ^ by) * fnvPrime
	return (h ^ h>>32) * 0x9e3779b97f4a7c15
}

// readJSONString reads a string as far as there is, and returns how many bytes it took.
func (t *tokenizer) readJSONString(b []byte) int {
	s := &t.json.scalar
	if s.state == inStringEscape {
		t.json.hold(b[:1])
		s.state = inString
		return 1
	}
	n := 0
	for n < len(b) && b[n] != '"' && b[n] != '\\' {
		n++
	}
	t.json.hold(b[:n])
	switch {
	case n == len(b):
		return n
	case b[n] == '\\':
		t.json.hold(b[n : n+1])
		s.state = inStringEscape
	case t.json.next == jsonName:
		t.json.endName()
	default:
		t.endJSONValue()
	}
	return n + 1
}

// hold takes more of a scalar.
func (r *jsonReader) hold(b []byte) {
	s := &r.scalar
	for _, c := range b {
		s.hash = (s.hash ^ uint64(c)) * fnvPrime
	}
	if !s.long && s.len+len(b) > longestScalar {
		r.emitScalar()
		s.long = true
	}
	if s.long {
		r.emit(b)
	} else {
		s.len += copy(s.text[s.len:], b)
	}
}

// emitScalar adds to the rest what is held of a scalar, with a quote before it if it is a string.
func (r *jsonReader) emitScalar() {
	if r.scalar.long {
		return
	}
	if r.scalar.state != inBare {
		r.emit([]byte{'"'})
	}
	r.emit(r.scalar.text[:r.scalar.len])
}

// endName ends the name of a member.
func (r *jsonReader) endName() {
	l := &r.open[r.depth-1]
	l.path, l.name = step(l.outer, r.scalar.hash), r.scalar.hash
	r.emitScalar()
	r.emit([]byte{'"'})
	r.scalar.state = noScalar
	r.next = jsonColon
}

// endJSONValue ends a scalar value. One that may change by itself becomes a block, behind a block for
// its path: so what is learnt is about that path alone. The block itself has the name but no positions
// in arrays, so that a value that moves in an array is no new one. Behind the first maxBlocks the paths
// decide where a group ends, because they stay.
func (t *tokenizer) endJSONValue() {
	r, s := &t.json, &t.json.scalar
	l := &r.open[r.depth-1]
	flags, may := mayChange(s.text[:s.len], s.state != inBare)
	if may && !s.long {
		path, value := block{hash: mix(l.path), flags: inBody}, block{hash: mix(step(l.name, s.hash)), flags: flags}
		if len(t.blocks)+2 <= maxBlocks {
			t.blocks = append(t.blocks, path, value)
		} else {
			t.body.add(value)
			if t.body.add(path) {
				t.blocks = append(t.blocks, t.body.end())
			}
		}
		r.emit([]byte{0})
	} else {
		r.emitScalar()
		if s.state != inBare {
			r.emit([]byte{'"'})
		}
	}
	s.state = noScalar
	r.endValue()
}

// emit adds to the rest.
func (r *jsonReader) emit(b []byte) {
	for len(b) > 0 {
		if r.outN == len(r.out) {
			r.flush()
		}
		n := copy(r.out[r.outN:], b)
		r.outN += n
		b = b[n:]
	}
}

func (r *jsonReader) flush() {
	if r.rest == nil {
		r.rest = sha256.New()
	}
	r.rest.Write(r.out[:r.outN])
	r.outN = 0
}

// whole reports whether all that began has ended.
func (r *jsonReader) whole() bool { return r.next == jsonTop }

// sum returns the hash of the rest, SHA-256 cut to 128 bits.
func (r *jsonReader) sum() [16]byte {
	r.flush()
	return shortSum(r.rest)
}

func (r *jsonReader) reset() {
	rest := r.rest
	if *r = (jsonReader{rest: rest}); rest != nil {
		rest.Reset()
	}
}

// mayChange reports whether a value may change by itself, and returns the flags of its block then. It
// is one that looks like a time or like a random name. Prices, counters, words and most sentences do not.
func mayChange(v []byte, quoted bool) (flags uint8, may bool) {
	switch {
	case isUnixTime(v):
		return inBody | hasNumber, true
	case quoted && (isNamedTime(v) || isRandomName(v)):
		return inBody, true
	}
	return 0, false
}

// isUnixTime reports whether a number may be a time between September 2020 and September 2039, in
// seconds since 1970 or in thousandths, millionths or billionths of them.
func isUnixTime(v []byte) bool {
	const first, last = 16e8, 22e8
	seconds, n := 0, 0
	for ; n < len(v) && isDigit(v[n]); n++ {
		if n < 10 {
			seconds = 10*seconds + int(v[n]-'0')
		}
	}
	if n != 10 && n != 13 && n != 16 && n != 19 || seconds < first || seconds >= last {
		return false
	}
	if n < len(v) && v[n] == '.' {
		for n++; n < len(v) && isDigit(v[n]); n++ {
		}
	}
	return n == len(v)
}

// longestTime is the length of the longest text that may be a time, such as
// Wed Sep 30 2026 06:00:00 GMT+1000 (Australian Eastern Standard Time).
const longestTime = 72

// isNamedTime reports whether a text may be a time. It begins with a date like 2026-09-30 or with
// 20260930T060000, or it has a time of the day with seconds; and it has nothing that the times of common languages do not have.
func isNamedTime(v []byte) bool {
	if len(v) > longestTime {
		return false
	}
	zone := false // in one like [Europe/Berlin]
	for i, c := range v {
		switch {
		case isDigit(c), isLetter(c), c == ' ', c == '-', c == ':', c == '.', c == ',', c == '+', c == '/', c == '\\', c == '(', c == ')':
		case c == '[' && i > 0:
			zone = true
		case zone && (c == '_' || c == ']'):
		case c == '=' && i > 0 && v[i-1] == 'm': // as in Go's m=+0.012345
		default:
			return false
		}
	}
	const date, basic, time, short = "0000-00-00", "00000000T000000", "00:00:00", " 0:00:00"
	if n := len(date); like(v, date) && (len(v) == n || v[n]|0x20 == 't' || v[n] == ' ') {
		return true
	}
	if like(v, basic) {
		return true
	}
	for i := range v {
		if like(v[i:], time) || like(v[i:], short) {
			return true
		}
	}
	return false
}

// like reports whether a text begins like a pattern, in which 0 stands for any digit.
func like(v []byte, pattern string) bool {
	if len(v) < len(pattern) {
		return false
	}
	for i, c := range v[:len(pattern)] {
		if isDigit(c) != (pattern[i] == '0') || !isDigit(c) && c != pattern[i] {
			return false
		}
	}
	return true
}

// isRandomName reports whether a text may be a name that a machine drew. It is long, and within its
// words it changes often between small letters, capitals and digits, as in 4Tq9zKp0Yv3LmX7c. A capital
// before a small letter is no such change. If it is hexadecimal, one change is enough: of the numbers
// with 16 digits 4 % have fewer than four.
func isRandomName(v []byte) bool {
	const shortest, turns = 16, 4
	const none, small, capital, digit = 0, 1, 2, 3
	turned, last, hasDigits, hex := 0, none, false, true
	for _, c := range v {
		hex = hex && (isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' || c == '-')
		now := none
		switch {
		case isDigit(c):
			now, hasDigits = digit, true
		case c >= 'a' && c <= 'z':
			now = small
		case c >= 'A' && c <= 'Z':
			now = capital
		case c == '-', c == '_', c == '+', c == '/', c == '=', c == '\\':
		default:
			return false
		}
		if now != none && last != none && now != last && !(last == capital && now == small) {
			turned++
		}
		last = now
	}
	return len(v) >= shortest && hasDigits && (turned >= turns || hex && turned > 0)
}
