package fingerprint

import (
	"bytes"
	"unicode/utf8"
)

// A language is what the tokenizer reads.
type language uint8

const (
	unknown language = iota // a body that begins with < is XML or HTML
	asHTML
	asXHTML // HTML, where /> ends an element
	asXML   // any other XML: all tags are alike, and the values of attributes are text
	asJSON
)

// A state is the position of the tokenizer in the markup.
type state uint8

const (
	atStart   state = iota // before the first sign of the body
	startLess              // behind a < there
	inText
	inEntity
	inEscape       // behind an escape, by which ISO-2022-JP changes its character set
	afterLess      // <
	afterLessSlash // </
	inName         // <x or </x
	inTag          // behind the name, before an attribute or in its name
	beforeValue    // behind =
	inValue        // in a value without quotes
	inQuotes
	afterLessBang // <!
	afterBangDash // <!-
	inCDATA       // <![
	inComment
	inBogus      // <!x, <?x or </!x, up to the next >
	inRaw        // in the content of a script or the like
	rawLess      // < in there
	rawLessSlash // </ in there
	inJSON
	numberOfStates // keep last
)

// A tokenizer divides HTML, XML or JSON into blocks as it is written, in chunks of any size. It treats
// malformed markup mostly as browsers do, and it never fails. Its memory is bounded.
type tokenizer struct {
	state    state
	language language
	plain    bool // the body is none of them
	quote    byte
	closing  bool   // the tag is an end tag
	slash    bool   // the latest byte of the tag was a slash
	attr     bool   // an attribute has begun, so a = comes before its value
	name     uint64 // of the tag, packed; 0 if it is longer than longestName
	nameLen  uint8

	raw    uint64 // name of the end tag that ends inRaw
	text   uint64 // name of the open element that holds only text, 0 if none
	svgs   int    // how many svg are open; they are skipped
	math   bool   // a math is open
	dashes int8   // number of dashes at the end of a comment so far; −1 for --!
	cdata  uint8  // how much of [CDATA[ has been read

	section  bool // in a CDATA section of XML
	brackets int8 // number of brackets at the end of it so far, at most two

	head bool
	nest nest
	tags int

	before    uint64 // hash of the tags since the block before, with those in the block
	column    uint64 // cells of the table's row so far
	hash      uint64 // of the block so far
	some      bool   // it has something that counts
	sign      byte   // sign before the next word; 0 if there is none
	last      uint8  // kind of the latest character of the word, 0 before the first
	turns     uint32 // changes of kind in the word, added up; see separate
	number    bool   // a word was a number
	shifted   bool   // the characters have two bytes each, in a set of ISO-2022-JP
	entity    [longestEntity]byte
	entityLen uint8
	part      [utf8.UTFMax]byte // beginning of a character in which the chunk before ended
	partLen   uint8
	lead      bool // the latest byte is not UTF-8, and the next one has not been looked at

	blocks []block
	body   rest // the blocks beyond maxBlocks
	form   rest
	others rest

	json jsonReader
}

func (t *tokenizer) reset() {
	t.json.reset()
	*t = tokenizer{blocks: t.blocks[:0], json: t.json}
}

// steps has the function that reads a chunk in each state. It returns how many bytes it took, and
// takes none only if it changes the state.
var steps = [numberOfStates]func(*tokenizer, []byte) int{
	atStart:        (*tokenizer).readStart,
	startLess:      (*tokenizer).readStartLess,
	inEscape:       (*tokenizer).readEscape,
	inText:         (*tokenizer).readText,
	inEntity:       (*tokenizer).readEntity,
	afterLess:      (*tokenizer).readLess,
	afterLessSlash: (*tokenizer).readLessSlash,
	inName:         (*tokenizer).readName,
	inTag:          (*tokenizer).readTag,
	beforeValue:    (*tokenizer).readBeforeValue,
	inValue:        (*tokenizer).readValue,
	inQuotes:       (*tokenizer).readQuotes,
	afterLessBang:  (*tokenizer).readLessBang,
	afterBangDash:  (*tokenizer).readBangDash,
	inCDATA:        (*tokenizer).readCDATA,
	inComment:      (*tokenizer).readComment,
	inBogus:        (*tokenizer).readBogus,
	inRaw:          (*tokenizer).readRaw,
	rawLess:        (*tokenizer).readRawLess,
	rawLessSlash:   (*tokenizer).readRawName,
	inJSON:         (*tokenizer).readJSON,
}

func (t *tokenizer) write(b []byte) {
	for len(b) > 0 && !t.plain {
		if t.section {
			b = b[t.writeSection(b):]
		} else {
			b = b[steps[t.state](t, b):]
		}
	}
}

// writeSection writes a CDATA section up to its end, and returns how many bytes it took. Comments
// and tags in the section that have no end of their own end with it.
func (t *tokenizer) writeSection(b []byte) int {
	n, ends := t.sectionEnd(b)
	for part := b[:n]; len(part) > 0; {
		part = part[steps[t.state](t, part):]
	}
	if !ends || t.shifted { // among characters of two bytes, ]]> may be one and a half of them
		return n
	}
	t.section = false
	if t.state != inText {
		t.endBlock()
		t.state = inText
	}
	return n
}

// sectionEnd returns how much of b is in the section, and whether the section ends there.
func (t *tokenizer) sectionEnd(b []byte) (n int, ends bool) {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == ']':
			t.brackets = min(2, t.brackets+1)
		case c == '>' && t.brackets == 2:
			t.brackets = 0
			return i + 1, true
		default:
			t.brackets = 0
			next := bytes.IndexByte(b[i:], ']')
			if next < 0 {
				return len(b), false
			}
			i += next - 1
		}
	}
	return len(b), false
}

// become changes the state.
func (t *tokenizer) become(s state, took int) int {
	t.state = s
	return took
}

// readStart looks for the first sign of the body, behind a byte order mark and spaces. HTML and XML
// begin with <, JSON with { or [. Other text in HTML is a mistake that browsers forgive. JSON is often
// labelled as HTML.
func (t *tokenizer) readStart(b []byte) int {
	switch c := b[0]; {
	case isSpace(c) || c == 0xef || c == 0xbb || c == 0xbf:
		return 1
	case c == '<' && t.language == unknown:
		return t.become(startLess, 1)
	case (c == '{' || c == '[') && (t.language == unknown || t.language == asHTML || t.language == asJSON):
		t.language = asJSON
		return t.become(inJSON, 0)
	case t.language == unknown || t.language == asJSON:
		t.plain = true
		return len(b)
	}
	return t.become(inText, 0)
}

func (t *tokenizer) readStartLess(b []byte) int {
	t.language = asHTML
	if b[0] == '?' {
		t.language = asXML
	}
	return t.become(afterLess, 0)
}

func (t *tokenizer) readText(b []byte) int {
	if t.svgs > 0 {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			return len(b)
		}
		return t.become(afterLess, i+1)
	}
	if t.shifted {
		return t.readShifted(b)
	}
	i := 0
	if t.partLen > 0 {
		if i = t.readPart(b); i == len(b) {
			return i
		}
	}
	if t.lead {
		i += t.readTrail(b[i:])
	}
	for i < len(b) {
		c := ascii[b[i]]
		if kind := uint8(c >> 8); kind != 0 {
			if t.sign != 0 {
				t.startWord(kind)
			}
			hash, turns, last := t.hash, t.turns, t.last
			for {
				hash = (hash ^ uint64(c&0xff)) * fnvPrime
				turns += uint32(kind ^ last)
				last = kind
				if i++; i == len(b) {
					break
				}
				c = ascii[b[i]]
				if kind = uint8(c >> 8); kind == 0 {
					break
				}
			}
			t.hash, t.turns, t.last = hash, turns, last
			continue
		}
		if c == 0 {
			t.separate()
			t.sign = signs[b[i]]
			i++
			continue
		}
		switch b[i] {
		case '<':
			return t.become(afterLess, i+1)
		case '&':
			t.entityLen = 0
			return t.become(inEntity, i+1)
		case escape:
			t.separator(escape)
			return t.become(inEscape, i+1)
		}
		n := t.readRune(b[i:])
		if n == 0 { // the chunk ends within a character
			t.partLen = uint8(copy(t.part[:], b[i:]))
			return len(b)
		}
		i += n
	}
	return i
}

// readEscape reads what ISO-2022-JP has between an escape and text: ( and a letter before text with
// one byte for each character, $ and a letter before text with two bytes.
func (t *tokenizer) readEscape(b []byte) int {
	switch b[0] {
	case '$':
		t.shifted = true
	case '(':
	default:
		if isLetter(b[0]) || b[0] == '@' {
			return t.become(inText, 1)
		}
		t.shifted = false // this is no such escape
		return t.become(inText, 0)
	}
	return 1
}

// readShifted reads characters of two bytes each, up to an escape or the end of the line. Their
// bytes may look like markup.
func (t *tokenizer) readShifted(b []byte) int {
	for i, c := range b {
		switch c {
		case escape:
			t.shifted = false
			return t.become(inEscape, i+1)
		case '\n':
			t.shifted = false
			return i
		}
		t.byte(c)
	}
	return len(b)
}

// readRune adds the first character of b and returns its length, or 0 if b ends in it.
func (t *tokenizer) readRune(b []byte) int {
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		if !utf8.FullRune(b) {
			return 0
		}
		t.byte(b[0])
		t.lead = len(b) == 1
		return 1 + t.readTrail(b[1:])
	}
	t.rune(r)
	return n
}

// readTrail adds the byte after one that is not UTF-8 by itself, if it may be the second byte of a
// character. In Shift_JIS, GBK and Big5 A and a make different characters there.
func (t *tokenizer) readTrail(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	t.lead = false
	if b[0] < '@' || b[0] > '~' {
		return 0
	}
	t.byte(b[0])
	return 1
}

// readPart completes the character in which the chunk before ended.
func (t *tokenizer) readPart(b []byte) (took int) {
	for t.partLen > 0 && took < len(b) {
		if b[took] < utf8.RuneSelf {
			t.flushPart()
			t.lead = true
			return took
		}
		t.part[t.partLen] = b[took]
		t.partLen++
		took++
		for t.partLen > 0 {
			n := t.readRune(t.part[:t.partLen])
			if n == 0 {
				break
			}
			t.partLen = uint8(copy(t.part[:], t.part[n:t.partLen]))
		}
	}
	return took
}

// flushPart gives up on a character that is never completed.
func (t *tokenizer) flushPart() {
	for _, c := range t.part[:t.partLen] {
		t.byte(c)
	}
	t.partLen = 0
}

func (t *tokenizer) readEntity(b []byte) int {
	c := b[0]
	switch {
	case t.entityLen == longestEntity:
		t.state = inText
		for _, c := range t.entity {
			t.rune(rune(c))
		}
		return 0
	case c == ';':
		t.endEntity(true)
		return 1
	case c == '#' && t.entityLen == 0, ascii[c]>>8 != 0 && (t.entityLen == 0 || t.entity[0] != '#' || digitOf(t.entity[1:t.entityLen], c)):
		t.entity[t.entityLen] = c
		t.entityLen++
		return 1
	}
	t.endEntity(false)
	return 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' && c != '\v' }

func (t *tokenizer) readLess(b []byte) int {
	switch c := b[0]; {
	case t.text != 0 && c != '/':
	case isLetter(c) || t.language == asXML && (c == '_' || c >= utf8.RuneSelf):
		t.startName(false)
		return t.become(inName, 0)
	case c == '/':
		return t.become(afterLessSlash, 1)
	case c == '!':
		return t.become(afterLessBang, 1)
	case c == '?':
		return t.become(inBogus, 1)
	}
	t.separator('<')
	return t.become(inText, 0)
}

func (t *tokenizer) startName(closing bool) {
	if t.language == asXML {
		t.endBlock() // the values of attributes are another block
	}
	t.name, t.nameLen, t.closing, t.slash, t.attr = 0, 0, closing, false, false
}

func (t *tokenizer) readLessSlash(b []byte) int {
	if isLetter(b[0]) || t.language == asXML {
		t.startName(true)
		return t.become(inName, 0)
	}
	return t.become(inBogus, 0)
}

// nameByte adds a byte to the name, unless the name ends there.
func (t *tokenizer) nameByte(c byte) bool {
	if isSpace(c) || c == '/' || c == '>' {
		return false
	}
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	if t.nameLen < longestName {
		t.name = t.name<<8 | uint64(c)
		t.nameLen++
	} else {
		t.name = 0
	}
	return true
}

func (t *tokenizer) readName(b []byte) int {
	for i, c := range b {
		if !t.nameByte(c) {
			if t.language == asXML && t.tags == 0 && t.name == htmlName {
				t.language = asXHTML
			}
			return t.become(inTag, i)
		}
	}
	return len(b)
}

func (t *tokenizer) readTag(b []byte) int {
	attr := t.attr
	for i, c := range b {
		switch {
		case c == '>':
			if i > 0 {
				t.slash = b[i-1] == '/'
			}
			t.state = inText
			t.tag()
			return i + 1
		case c == '=' && attr:
			t.slash, t.attr = false, false
			return t.become(beforeValue, i+1)
		case !isSpace(c): // a name may begin with =
			attr = c != '/'
		}
	}
	t.attr, t.slash = attr, b[len(b)-1] == '/'
	return len(b)
}

func (t *tokenizer) readBeforeValue(b []byte) int {
	switch c := b[0]; {
	case isSpace(c):
		return 1
	case c == '"' || c == '\'':
		t.quote, t.slash = c, false
		return t.become(inQuotes, 1)
	case c == '>':
		return t.become(inTag, 0)
	}
	return t.become(inValue, 0)
}

func (t *tokenizer) readValue(b []byte) int {
	for i, c := range b {
		if isSpace(c) || c == '>' {
			t.slash = false
			return t.become(inTag, i)
		}
	}
	return len(b)
}

func (t *tokenizer) readQuotes(b []byte) int {
	i := bytes.IndexByte(b, t.quote)
	if i < 0 {
		t.value(b)
		return len(b)
	}
	t.value(b[:i+1])
	return t.become(inTag, i+1)
}

// value adds a part of the value of an attribute in XML, including its closing quote. All of it
// counts.
func (t *tokenizer) value(b []byte) {
	if t.language != asXML {
		return
	}
	for _, c := range b {
		if ascii[c]>>8 != 0 {
			t.rune(rune(c))
		} else {
			t.alone(uint64(c))
		}
	}
}

func (t *tokenizer) readLessBang(b []byte) int {
	switch b[0] {
	case '-':
		return t.become(afterBangDash, 1)
	case '[':
		t.cdata = 1
		return t.become(inCDATA, 1)
	}
	return t.become(inBogus, 0)
}

func (t *tokenizer) readBangDash(b []byte) int {
	if b[0] == '-' {
		t.dashes = 2
		return t.become(inComment, 1)
	}
	return t.become(inBogus, 0)
}

// readCDATA reads the beginning of a CDATA section, as feeds have them. Its content is read like
// the rest.
func (t *tokenizer) readCDATA(b []byte) int {
	const begin = "[CDATA["
	if b[0] != begin[t.cdata] {
		return t.become(inBogus, 0)
	}
	if t.cdata++; int(t.cdata) == len(begin) {
		t.state = inText
		t.section = t.language == asXML
	}
	return 1
}

func (t *tokenizer) readComment(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '-':
			t.dashes = min(2, max(0, t.dashes)+1)
		case c == '>' && (t.dashes == 2 || t.dashes < 0):
			return t.become(inText, i+1)
		case c == '!' && t.dashes == 2:
			t.dashes = -1
		default:
			t.dashes = 0
			next := bytes.IndexByte(b[i:], '-')
			if next < 0 {
				return len(b)
			}
			i += next - 1
		}
	}
	return len(b)
}

func (t *tokenizer) readBogus(b []byte) int {
	i := bytes.IndexByte(b, '>')
	if i < 0 {
		return len(b)
	}
	return t.become(inText, i+1)
}

func (t *tokenizer) readRaw(b []byte) int {
	i := bytes.IndexByte(b, '<')
	if i < 0 {
		return len(b)
	}
	return t.become(rawLess, i+1)
}

func (t *tokenizer) readRawLess(b []byte) int {
	if b[0] == '/' {
		t.startName(true)
		return t.become(rawLessSlash, 1)
	}
	return t.become(inRaw, 0)
}

func (t *tokenizer) readRawName(b []byte) int {
	for i, c := range b {
		if !t.nameByte(c) {
			if t.name != t.raw {
				return t.become(inRaw, i)
			}
			return t.become(inTag, i)
		}
		if !isLetter(c) {
			return t.become(inRaw, i)
		}
	}
	return len(b)
}

// tag does what the tag that has been read asks for.
func (t *tokenizer) tag() {
	t.tags++
	if t.language == asXML {
		t.endBlock()
		t.hashTag()
		return
	}
	if t.text != 0 && !(t.closing && t.name == t.text) {
		return
	}
	t.text = 0
	kind := tagKinds[t.name]
	if (t.svgs > 0 || t.math) && !t.closing && leaves[t.name] {
		t.svgs, t.math = 0, false
	}
	switch {
	case t.svgs > 0:
		t.skip(kind)
		return
	case kind == inline:
		t.hashTag()
		return
	case t.name == mathName:
		t.math = !t.closing && !t.slash
	}
	t.endBlock()
	t.hashTag()
	if t.head && (kind == breaks || kind >= mainTag) {
		t.head = false // its end tag may be left out
	}
	empty := t.slash && (t.language == asXHTML || kind == svgTag || t.math)
	switch {
	case t.closing:
		if kind == head {
			t.head = false
		}
		if n := t.nest.end(kind); n >= 0 {
			for i := range t.blocks[n:] {
				t.blocks[n+i].flags &^= inOpen
			}
		}
	case empty:
	case kind == head:
		t.head = true
	case kind >= mainTag:
		t.nest.start(kind, len(t.blocks))
	case kind == raw:
		t.raw, t.state = t.name, inRaw
	case kind == textOnly:
		t.text = t.name
	case kind == svgTag:
		t.svgs = 1
	}
}

// hashTag adds a tag to those before and in the next block; a cell of a table with its column.
func (t *tokenizer) hashTag() {
	name := t.name
	switch {
	case t.closing:
		name = ^name
	case name == rowName:
		t.column = 0
	case name == cellName:
		t.column++
		name += t.column << 32
	}
	t.before = (t.before ^ name) * fnvPrime
	t.before ^= t.before >> 32 // or the high bits of names would never reach the low ones
}

// skip does what a tag in an svg asks for. There /> ends an element even in HTML.
func (t *tokenizer) skip(kind tagKind) {
	switch {
	case kind == svgTag && t.closing:
		t.svgs--
	case t.closing || t.slash:
	case kind == raw:
		t.raw, t.state = t.name, inRaw
	case kind == svgTag:
		t.svgs++
	}
}
