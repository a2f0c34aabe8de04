package fingerprint

import (
	"html"
	"strings"
	"unicode/utf8"
)

// longestEntity is the most bytes after & that are read as a name. The longest one in HTML,
// CounterClockwiseContourIntegral;, has 32.
const longestEntity = 32

// commonEntities are the names that pages use. They are decoded without an allocation; the
// others are left to package html. Zero stands for a sign that is neither letter nor digit.
var commonEntities = func() map[string]rune {
	names := make(map[string]rune)
	for name := range strings.FieldsSeq(`amp lt gt quot apos nbsp hellip lsquo rsquo sbquo ldquo rdquo bdquo
		laquo raquo lsaquo rsaquo bull middot sect para ensp emsp thinsp`) {
		names[name] = 0
	}
	for name, r := range map[string]rune{"copy": '©', "reg": '®', "trade": '™', "euro": '€', "pound": '£', "cent": '¢',
		"yen": '¥', "deg": '°', "rarr": '→', "larr": '←', "ndash": '–', "mdash": '—', "shy": 0xad, "zwnj": 0x200c, "zwj": 0x200d} {
		names[name] = r
	}
	r := 'À'
	for name := range strings.FieldsSeq(`Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml
		Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute
		THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml
		eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`) {
		names[name] = r
		r++
	}
	return names
}()

// digitOf reports whether a byte continues the number of a reference: a digit of its base, or the x
// that gives the base.
func digitOf(number []byte, c byte) bool {
	switch {
	case isDigit(c):
		return true
	case len(number) == 0:
		return c|0x20 == 'x'
	}
	return number[0]|0x20 == 'x' && c|0x20 >= 'a' && c|0x20 <= 'f'
}

// endEntity decodes the entity that has been read, without the & before it.
func (t *tokenizer) endEntity(semicolon bool) {
	name := t.entity[:t.entityLen]
	t.state = inText
	if len(name) == 0 {
		t.separator('&')
		return
	}
	if name[0] == '#' {
		t.rune(numeric(name[1:]))
		return
	}
	if r, ok := commonEntities[string(name)]; ok && semicolon {
		t.rune(r)
		return
	}
	text := "&" + string(name)
	if semicolon {
		text += ";"
	}
	for _, r := range html.UnescapeString(text) {
		t.rune(r)
	}
}

// numeric returns the character that a reference such as 228 or xe4 names, or 0.
func numeric(digits []byte) rune {
	base := rune(10)
	if len(digits) > 0 && digits[0]|0x20 == 'x' {
		base, digits = 16, digits[1:]
	}
	var r rune
	for _, c := range digits {
		d := rune(c - '0')
		if !isDigit(c) {
			d = rune(c|0x20-'a') + 10
		}
		if r = r*base + d; r > utf8.MaxRune {
			return 0
		}
	}
	return r
}
