package fingerprint

import (
	"bytes"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A block is a run of text between tags that are not inline.
type block struct {
	hash  uint32 // of its letters and digits in small letters; never 0
	flags uint8  // inBody, hasNumber
}

// Flags of a block and, with others, of an entry.
const (
	inBody    uint8 = 1 << iota // not in boilerplate
	hasNumber                   // has a word of digits alone
)

// maxBlocks is the most blocks of a copy that are told apart. The others count as one block. Of
// 263 real pages 1 % had more than 1,040 blocks in the table, absent ones included (the Open Terms
// Archive collections genai-eu, genai-contrib, dating, demo and sante-numerique-france).
const maxBlocks = 2048

// A state is where in the markup the tokenizer is.
type state uint8

const (
	inText state = iota
	inEntity
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
	inBogus        // <!x, <?x or </!x, up to the next >
	inRaw          // in the content of a script or the like
	rawLess        // < in there
	rawLessSlash   // </ in there
	numberOfStates // keep last
)

// A tokenizer divides HTML into blocks as it is written, in chunks of any size. What browsers
// make of malformed markup it mostly does too; it never fails. Its memory is bounded.
type tokenizer struct {
	state   state
	quote   byte
	closing bool   // the tag is an end tag
	slash   bool   // the latest byte of the tag was a slash
	name    uint64 // of the tag, packed; 0 if it is longer than longestName
	nameLen uint8

	raw     uint64 // name of the end tag that ends inRaw
	skipped uint64 // name of the nested element that is skipped, 0 if none
	depth   int    // how many of that name are open
	dashes  int8   // at the end of a comment so far; −1 for --!
	cdata   uint8  // how much of [CDATA[ has been read

	head   bool
	open   [len(boilerplateTags)]int // how many of each are open
	opened int                       // their sum
	tags   int

	hash      uint64 // of the block so far
	some      bool   // it has a letter or a digit
	word      uint8  // kinds of characters of the word so far: letters, digits
	number    bool   // a word was digits alone
	entity    [longestEntity]byte
	entityLen uint8
	part      [utf8.UTFMax]byte // of a character that the chunk before ended in
	partLen   uint8

	blocks   []block
	rest     uint64 // hash of the blocks beyond maxBlocks
	restMore bool
	restFlag uint8
}

func (t *tokenizer) reset() { *t = tokenizer{blocks: t.blocks[:0]} }

// fnvPrime is the factor of the 64-bit FNV-1a hash. It costs one multiplication per letter, and no
// better hash is needed: 16, 24 and 32 bits found the same changes on real pages.
const fnvPrime = 1099511628211

// mix returns the 32 bits of a hash that are kept.
func mix(h uint64) uint32 {
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return max(1, uint32(h>>32))
}

// Kinds of characters in a word.
const (
	letters = 1
	digits  = 2
)

// ascii gives, for each byte, the letter or digit that it stands for in small letters, with its
// kind above it. It is 0 for a separator and special for a byte that means more than itself.
const special = 0xff

var ascii = func() (table [256]uint16) {
	for c := range table {
		switch {
		case c >= '0' && c <= '9':
			table[c] = digits<<8 | uint16(c)
		case c >= 'a' && c <= 'z':
			table[c] = letters<<8 | uint16(c)
		case c >= 'A' && c <= 'Z':
			table[c] = letters<<8 | uint16(c) | 0x20
		case c == '<' || c == '&' || c >= utf8.RuneSelf:
			table[c] = special
		}
	}
	return table
}()

// folded gives, for each character of the basic plane, what ascii does for bytes, with the kind
// above bit 24. The tables of package unicode would take three times as long.
var folded = sync.OnceValue(func() *[1 << 16]uint32 {
	table := new([1 << 16]uint32)
	for r := range rune(len(table)) {
		table[r] = fold(r)
	}
	return table
})

// fold returns the entry of a character in folded. Marks count as letters, since in many scripts
// they are vowels.
func fold(r rune) uint32 {
	switch {
	case unicode.IsNumber(r):
		return digits<<24 | uint32(r)
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letters<<24 | uint32(unicode.ToLower(r))
	}
	return 0
}

// rune adds a character of the text.
func (t *tokenizer) rune(r rune) {
	var c uint32
	switch {
	case r < utf8.RuneSelf:
		c = uint32(ascii[r]>>8)<<24 | uint32(ascii[r]&0xff)
	case r < 1<<16:
		c = folded()[r]
	default:
		c = fold(r)
	}
	kind := uint8(c >> 24)
	if kind == 0 {
		t.separate()
		return
	}
	t.hash = (t.hash ^ uint64(c&0xffffff)) * fnvPrime
	t.word |= kind
}

// byte adds a byte that is not UTF-8. In a page of another encoding it is a letter more often
// than not.
func (t *tokenizer) byte(c byte) {
	t.hash = (t.hash ^ uint64(utf8.MaxRune+1+rune(c))) * fnvPrime
	t.word |= letters
}

// separate ends a word.
func (t *tokenizer) separate() {
	if t.word != 0 {
		t.some = true
		t.number = t.number || t.word == digits
		t.word = 0
	}
}

// endBlock ends a block.
func (t *tokenizer) endBlock() {
	t.separate()
	if t.some {
		b := block{hash: mix(t.hash)}
		if !t.head && t.opened == 0 {
			b.flags |= inBody
		}
		if t.number {
			b.flags |= hasNumber
		}
		if len(t.blocks) < maxBlocks {
			t.blocks = append(t.blocks, b)
		} else {
			t.rest = (t.rest ^ uint64(b.hash)) * fnvPrime
			t.restFlag |= b.flags
			t.restMore = true
		}
	}
	t.hash, t.some, t.number = 0, false, false
}

// finish ends the text, and with it the last block unless the copy is cut there.
func (t *tokenizer) finish(cut bool) {
	if !cut {
		if t.state == inEntity {
			t.endEntity(false)
		}
		t.flushPart()
		t.endBlock()
	}
	if t.restMore {
		t.blocks = append(t.blocks, block{mix(t.rest), t.restFlag})
		t.restMore = false
	}
	body := uint8(0)
	for _, b := range t.blocks {
		body |= b.flags & inBody
	}
	if body == 0 { // a form around everything, say
		for i := range t.blocks {
			t.blocks[i].flags |= inBody
		}
	}
}

// steps are what is done with a chunk in each state: they return how many bytes they took,
// and take none only if they change the state.
var steps = [numberOfStates]func(*tokenizer, []byte) int{
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
}

func (t *tokenizer) write(b []byte) {
	for len(b) > 0 {
		b = b[steps[t.state](t, b):]
	}
}

// become changes the state.
func (t *tokenizer) become(s state, took int) int {
	t.state = s
	return took
}

func (t *tokenizer) readText(b []byte) int {
	if t.skipped != 0 {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			return len(b)
		}
		return t.become(afterLess, i+1)
	}
	i := 0
	if t.partLen > 0 {
		if i = t.readPart(b); i == len(b) {
			return i
		}
	}
	hash, word := t.hash, t.word
	for i < len(b) {
		c := ascii[b[i]]
		if c>>8 != 0 {
			hash = (hash ^ uint64(c&0xff)) * fnvPrime
			word |= uint8(c >> 8)
			i++
			continue
		}
		t.hash, t.word = hash, word
		if c == 0 {
			t.separate()
			i++
		} else {
			switch b[i] {
			case '<':
				return t.become(afterLess, i+1)
			case '&':
				t.entityLen = 0
				return t.become(inEntity, i+1)
			}
			n := t.readRune(b[i:])
			if n == 0 { // the chunk ends in it
				t.partLen = uint8(copy(t.part[:], b[i:]))
				return len(b)
			}
			i += n
		}
		hash, word = t.hash, t.word
	}
	t.hash, t.word = hash, word
	return i
}

// readRune adds the first character of b and returns its length, or 0 if b ends in it.
func (t *tokenizer) readRune(b []byte) int {
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		if !utf8.FullRune(b) {
			return 0
		}
		t.byte(b[0])
		return 1
	}
	t.rune(r)
	return n
}

// readPart completes the character that the chunk before ended in.
func (t *tokenizer) readPart(b []byte) (took int) {
	for t.partLen > 0 && took < len(b) {
		if b[took] < utf8.RuneSelf {
			t.flushPart()
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
	case ascii[c]>>8 != 0, c == '#' && t.entityLen == 0:
		t.entity[t.entityLen] = c
		t.entityLen++
		return 1
	}
	t.endEntity(false)
	return 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' && c != '\v' }

func (t *tokenizer) readLess(b []byte) int {
	switch c := b[0]; {
	case isLetter(c):
		t.startName(false)
		return t.become(inName, 0)
	case c == '/':
		return t.become(afterLessSlash, 1)
	case c == '!':
		return t.become(afterLessBang, 1)
	case c == '?':
		return t.become(inBogus, 1)
	}
	t.separate()
	return t.become(inText, 0)
}

func (t *tokenizer) startName(closing bool) {
	t.name, t.nameLen, t.closing, t.slash = 0, 0, closing, false
}

func (t *tokenizer) readLessSlash(b []byte) int {
	if isLetter(b[0]) {
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
			return t.become(inTag, i)
		}
	}
	return len(b)
}

func (t *tokenizer) readTag(b []byte) int {
	for i, c := range b {
		switch c {
		case '>':
			t.state = inText
			t.tag()
			return i + 1
		case '=':
			return t.become(beforeValue, i+1)
		}
		t.slash = c == '/'
	}
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
		return len(b)
	}
	return t.become(inTag, i+1)
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

// readCDATA reads the beginning of a section of text, as feeds have them. What is in it is read
// like the rest.
func (t *tokenizer) readCDATA(b []byte) int {
	const begin = "[CDATA["
	if b[0] != begin[t.cdata] {
		return t.become(inBogus, 0)
	}
	if t.cdata++; int(t.cdata) == len(begin) {
		t.state = inText
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
	kind := tagKinds[t.name]
	if t.skipped != 0 && t.skip(kind) || kind == inline {
		return
	}
	t.endBlock()
	if t.head && (kind == breaks || kind >= mainTag) {
		t.head = false // its end tag may be left out
	}
	switch {
	case kind == head:
		t.head = !t.closing
	case kind >= boilerplate:
		t.nest(int(kind - boilerplate))
	case t.closing:
	case kind == mainTag:
		t.open, t.opened = [len(boilerplateTags)]int{}, 0
	case kind == raw:
		t.raw, t.state = t.name, inRaw
	case kind == nested && !t.slash:
		t.skipped, t.depth = t.name, 1
	}
}

// nest begins or ends a boilerplate element.
func (t *tokenizer) nest(tag int) {
	switch {
	case !t.closing:
		t.open[tag]++
		t.opened++
	case t.open[tag] > 0:
		t.open[tag]--
		t.opened--
	}
}

// skip reports whether the tag is part of what is skipped.
func (t *tokenizer) skip(kind tagKind) bool {
	switch {
	case kind == raw && !t.closing:
		t.raw, t.state = t.name, inRaw
	case t.name == t.skipped && t.closing:
		if t.depth--; t.depth == 0 {
			t.skipped = 0
		}
	case t.name == t.skipped && !t.slash:
		t.depth++
	case t.skipped == svg && kind == flow && !t.closing:
		t.skipped = 0 // as in browsers
		return false
	}
	return true
}
