package fingerprint

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A block is a run of text between tags that are not inline.
type block struct {
	hash  uint32 // of its letters, digits and symbols in small letters; never 0
	flags uint8  // inBody, hasNumber
	kind  kind
}

// Flags of a block. An entry has these and others.
const (
	inBody    uint8 = 1 << iota // not in boilerplate
	hasNumber                   // has a number
)

// Flags that a block has only until the copy ends.
const (
	inOpen uint8 = 1 << 6 // its only boilerplate is headers, navs and asides that have not been closed
	inForm uint8 = 1 << 7 // in a form and in no other boilerplate
)

// maxBlocks is the most blocks of a copy that are distinguished. The others are put together in
// groups of about 32 or more. Of 263 real pages 1 % had more than 1,040 blocks in the table,
// including absent ones (the Open Terms Archive collections genai-eu, genai-contrib, dating, demo
// and sante-numerique-france).
const maxBlocks = 2048

// The functions below make blocks of the characters that the tokenizer finds.

// fnvPrime is the factor of the 64-bit FNV-1a hash. It costs one multiplication per letter, and no
// better hash is needed: 16, 24 and 32 bits found the same changes on real pages.
const fnvPrime = 1099511628211

// mix returns the 32 bits of a hash that are kept.
func mix(h uint64) uint32 {
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return max(1, uint32(h>>32))
}

// Kinds of characters. Zero is a separator.
const (
	letters = 1 // of a word
	digits  = 2
	symbols = 3 // each counts by itself
	nothing = 4 // such as a soft hyphen
)

// ascii gives the letter or digit that each byte stands for, as a small letter, with its kind in
// the higher bits. It gives 0 for a separator, and special for a byte that means more than itself.
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
		case c == '<' || c == '&' || c == escape || c >= utf8.RuneSelf || fold(rune(c)) != 0:
			table[c] = special
		}
	}
	return table
}()

const escape = 0x1b

// signs gives the sign that each separator stands for before a number. Separators that are used to
// write numbers, dates and times stand for themselves; all others stand for a space.
var signs = func() (table [256]byte) {
	for c := range table {
		table[c] = ' '
	}
	for _, c := range []byte(".,/:-") {
		table[c] = c
	}
	return table
}()

// folded gives for each character of the basic plane what ascii gives for bytes, with the kind
// above bit 24. The tables of package unicode would take three times as long.
var folded = sync.OnceValue(func() *[1 << 16]uint32 {
	table := new([1 << 16]uint32)
	for r := range rune(len(table)) {
		table[r] = fold(r)
	}
	return table
})

// fold returns the entry of a character in folded. Marks count as letters, because in many scripts
// they are vowels. Every dash is the same separator as -, so –5 and -5 are the same number.
func fold(r rune) uint32 {
	switch {
	case unicode.IsNumber(r):
		return digits<<24 | uint32(r)
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letters<<24 | uint32(unicode.ToLower(r))
	case r != '<' && r != '>' && unicode.In(r, unicode.Sc, unicode.Sm, unicode.So):
		return symbols<<24 | uint32(r)
	case unicode.Is(unicode.Cf, r):
		return nothing << 24
	case r >= utf8.RuneSelf && unicode.Is(unicode.Pd, r):
		return '-'
	}
	return 0
}

// unspaced is the first letter of the scripts that are written without spaces: Thai and those after
// it. A number may stand between such letters, so they are not part of a word.
const unspaced = 0x0e00

// rune adds a character of the text.
func (t *tokenizer) rune(r rune) {
	var c uint32
	if r < 1<<16 {
		c = folded()[r]
	} else {
		c = fold(r)
	}
	switch kind := uint8(c >> 24); {
	case kind == nothing:
	case kind == 0 && c != 0:
		t.separator(rune(c))
	case kind == 0:
		t.separator(r)
	case kind == symbols:
		t.symbol(uint64(c & 0xffffff))
	case kind == letters && r >= unspaced:
		t.alone(uint64(c & 0xffffff))
	default:
		if t.sign != 0 {
			t.startWord(kind)
		}
		t.hash = (t.hash ^ uint64(c&0xffffff)) * fnvPrime
		t.turns += uint32(kind ^ t.last)
		t.last = kind
	}
}

// byte adds a byte that is not UTF-8. It may be a letter or a sign.
func (t *tokenizer) byte(c byte) { t.symbol(uint64(utf8.MaxRune+1) + uint64(c)) }

// symbol adds a character that may be a currency sign, with the dash before it: -$5 is not $5.
func (t *tokenizer) symbol(c uint64) {
	if t.sign == '-' {
		t.hash = (t.hash ^ '-') * fnvPrime
	}
	t.alone(c)
}

// alone adds a character that is not part of a word.
func (t *tokenizer) alone(c uint64) {
	t.separate()
	t.hash = (t.hash ^ c) * fnvPrime
	t.some, t.sign = true, 0
}

// separator adds a character that ends a word.
func (t *tokenizer) separator(r rune) {
	t.separate()
	t.sign = signs[min(r, 0xff)]
}

// startWord adds the sign before the word if the word begins with a digit: 1.5 is not 15. Between
// two words it makes no difference whether there is a space or a dash. At the beginning of a block
// a space makes no difference either.
func (t *tokenizer) startWord(kind uint8) {
	if kind == digits && (t.sign != ' ' || t.hash != 0) {
		t.hash = (t.hash ^ uint64(t.sign)) * fnvPrime
	}
	t.sign = 0
}

// separate ends a word. The word is a number if its digits stand together, with letters on at most
// one side: 10, 10kg, v10. Random names are seldom like that.
func (t *tokenizer) separate() {
	if t.last != 0 {
		const turn = letters ^ digits
		t.some = true
		t.number = t.number || t.turns == digits || t.turns == digits+turn || t.turns == letters+turn
		t.last, t.turns = 0, 0
	}
}

// endBlock ends a block.
func (t *tokenizer) endBlock() {
	t.separate()
	if t.some {
		b := block{hash: mix(t.hash), kind: kindOf(t.before, t.number)}
		t.before = 0
		rest := &t.others
		switch {
		case t.head:
		case t.nest.inOpen():
			b.flags = inOpen
		case t.nest.others > 0:
		case t.nest.forms > 0:
			b.flags, rest = inForm, &t.form
		default:
			b.flags, rest = inBody, &t.body
		}
		if t.number {
			b.flags |= hasNumber
		}
		if len(t.blocks) < maxBlocks {
			t.blocks = append(t.blocks, b)
		} else if rest.add(b) {
			t.blocks = append(t.blocks, rest.end())
		}
	}
	t.hash, t.some, t.number, t.sign = 0, false, false, 0
}

// A rest puts blocks together in groups. The blocks themselves decide where a group ends. So a
// block that is added or removed does not change the groups behind it.
type rest struct {
	block
	hash  uint64
	some  bool
	ended int
}

// The first 16 groups of a rest have some 32 blocks each, the next 16 twice as many, and so on.
const (
	maxRests  = 96 // of each kind
	restSize  = 32
	restGrows = 16
)

// mostBlocks is the most blocks of a copy.
const mostBlocks = maxBlocks + 3*maxRests

// add adds a block and reports whether it is the last of its group.
func (r *rest) add(b block) bool {
	r.hash = (r.hash ^ uint64(b.hash)) * fnvPrime
	r.flags |= b.flags &^ inOpen
	r.some = true
	return b.hash%(restSize<<(r.ended/restGrows)) == 0 && r.ended < maxRests-1
}

// end returns the group as one block.
func (r *rest) end() block {
	b := block{hash: mix(r.hash), flags: r.flags}
	*r = rest{ended: r.ended + 1}
	return b
}

// A form is the body if it has at least mostly times as many blocks as the rest of the body. The
// same holds for a header that somebody forgot to close. ASP.NET puts a form around everything but
// a link that skips the menu.
const mostly = 2

// finish ends the text. It also ends the last block, unless the copy is cut there. JSON that is cut is
// compared byte by byte.
func (t *tokenizer) finish(cut bool) {
	if t.language == asJSON {
		t.plain = t.plain || cut || !t.json.whole()
		if t.body.some {
			t.blocks = append(t.blocks, t.body.end())
		}
		return
	}
	if !cut {
		if t.state == inEntity {
			t.endEntity(false)
		}
		t.flushPart()
		t.endBlock()
	}
	for _, r := range []*rest{&t.body, &t.form, &t.others} {
		if r.some {
			t.blocks = append(t.blocks, r.end())
		}
	}
	count := func(flag uint8) (n int) {
		for _, b := range t.blocks {
			if b.flags&flag != 0 {
				n++
			}
		}
		return n
	}
	isBody := inBody
	body, form := count(inBody), count(inForm)
	if form >= mostly*body {
		isBody |= inForm
	}
	t.closeOpen(isBody)
	if open := count(inOpen); !cut && !t.nest.hasMain && open >= mostly*count(isBody) {
		isBody |= inOpen
	}
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.flags&isBody != 0 || body+form == 0 {
			b.flags |= inBody
		}
		b.flags &^= inForm | inOpen
	}
}

// closeOpen treats elements that were left open as closed if a block of the body comes after them.
func (t *tokenizer) closeOpen(isBody uint8) {
	open := true
	for i := range slices.Backward(t.blocks) {
		b := &t.blocks[i]
		open = open && b.flags&isBody == 0
		if !open {
			b.flags &^= inOpen
		}
	}
}
