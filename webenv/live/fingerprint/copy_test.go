package fingerprint

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// blocksOf returns the blocks of HTML that is written in chunks of at most n bytes, without their kinds.
func blocksOf(body string, n int) []block { return blocksAs("text/html", body, n) }

func blocksAs(mediaType, body string, n int) []block {
	c := &Copy{Type: mediaType}
	for chunk := range slices.Chunk([]byte(body), n) {
		_, _ = c.Write(chunk)
	}
	return blocksIn(c)
}

// blocksIn ends a copy and returns its blocks without their kinds.
func blocksIn(c *Copy) []block {
	c.finish()
	for i := range c.text.blocks {
		c.text.blocks[i].kind = 0
	}
	return c.text.blocks
}

// text returns the block of a text without markup, with _ for a space before a number.
func text(s string, flags uint8) block {
	h := uint64(0)
	for _, r := range strings.ReplaceAll(s, "_", " ") {
		h = (h ^ uint64(r)) * fnvPrime
	}
	return block{hash: mix(h), flags: flags}
}

// texts returns the blocks of texts that are separated by spaces: "-" is before those in boilerplate,
// and "#" before those with a number.
func texts(s string) (blocks []block) {
	for word := range strings.FieldsSeq(s) {
		flags := inBody
		if rest, ok := strings.CutPrefix(word, "-"); ok {
			word, flags = rest, 0
		}
		if rest, ok := strings.CutPrefix(word, "#"); ok {
			word, flags = rest, flags|hasNumber
		}
		blocks = append(blocks, text(word, flags))
	}
	return blocks
}

// TestTokenizer compares the blocks of markup, well formed or not, with those expected, in small
// letters.
func TestTokenizer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, html string
		want       string // see texts
	}{
		{"paragraphs", "<p>One, two!</p><p>Three", "onetwo three"},
		{"inline tags", "<p>a<b>b</b><a href=x>c</a><span>d</span>e<img src=x>f", "abcdef"},
		{"breaks", "<div>a<br>b<hr>c<my-tag>d", "a b c d"},
		{"capitals", "<P>ÄÖÜ ÇA <B>ΣΑ</B> ЖЫ</P>", "äöüçaσαжы"},
		{"entities", "<p>&auml;&Auml;&#228;&#xe4;&#XE4;&eacute;&amp;&nbsp;&lt;x&gt;&ouml", "äääääéxö"},
		{"numbers without a semicolon", "<p>&#169Acme<p>he&#39s 5<p>&#x41xy<p>&#65;b<p>&#65b<p>&#X4Ag<p>&#xyz<p>&#z<p>&#228",
			"©acme #hes_5 axy ab ab jg yz z ä"},
		{"entities of html", "<p>&alpha;&Zcaron;&notit;&copy2&#0;&#x110000;&#99999999999;&;&x", "#αž¬it©2x"}, // ¬it;
		{"ampersands", "<p>AT&T a&b?c=1&d=2 & x", "#attabc=1d=2x"},
		{"long entity", "<p>&" + strings.Repeat("a", 40) + ";b", strings.Repeat("a", 40) + "b"},
		{"scripts", "<p>a<script>if (a<b) '</p>' </scripty></ script></script >b<style>c</style><STYLE>d</StyLe>e<style></sty</style>f", "a b e f"},
		{"noscript and iframe", "a<noscript><p>b</noscript>c<iframe><p>d</iframe>e", "a c e"},
		{"open script", "<p>a<script>b</p><p>c", "a"},
		{"template and object", "<p>a<template>b<template>c</template>d</template>e<object>f<p>g", "a b c d e f g"},
		{"svg", "a<svg><title>b</title></svg>c<svg/>d<svg><text>e<p>f", "a c d f"},
		{"svg in svg", "a<svg>b<svg>c</svg>d<script></svg></script></svg>e", "a e"},
		{"svg that is left open", "a<svg><path d=x><g>b</g><b>c</b><svg><dl><dt>d</dt></dl></svg><svg>e<h5>f</h5><svg><pre>g", "a c d f g"},
		{"empty elements in svg", "a<svg><defs><style/><script href=x /><title/>b</defs></svg>c<svg><style>d</svg></style>e</svg>f<style/>g", "a c f"},
		{"empty elements in math", "a<math><mi>b</mi><style/><mn/>c</math>d<style/>e</style>f<math/><script/>g</script>h<math>i<p><style/>j", "a b c d f h i"},
		{"title", "<title>the <script> &lt;b&gt; tag</title><p>a", "thescriptbtag a"},
		{"textarea", "<p>a<textarea>b<script>c</p>d</textarea>e", "a bscriptcd e"},
		{"comments", "a<!-- b <p> -- > c -->d<!-->e<!--->f<!----!>g<!--x--!>h<!-", "adefgh"},
		{"bogus comments", "a<!DOCTYPE x>b<?php y?>c</ z>d<!x>e</>f<!>g", "abcdefg"},
		{"less", "a < b <3 c<", "#ab_3c"},
		{"no letter behind less", "<p>a<{b>c<é>d<~e", "abcéd~e"},
		{"less in a script", "<script>a<</script>b<script><<<</script>c", "b c"},
		{"cdata", "<item><![CDATA[a <b>b</b> c]]></item><![CDAT a>d", "abc d"},
		{"attributes", `<p title="a > b" class='c"' id=d>e<p x=y"z>f<p =">g<p a = ">">h`, "e f g h"},
		{"= where a name begins", `<p ="a>b<p/=">c<p a="x"=">d<p a=x =">e<p ==">">f<p a/b=">">g<p a==">h<p =a=">">i<p a=/=">j<p a>k<p =">l`, "b c d e f g h i j k l"},
		{"a slash that is not the last", "a<svg/x=>b</svg>c<svg/ x>d</svg>e", "a c e"},
		{"quotes in names", `<p "a>b`, "b"},
		{"open tag", "a<p", "a"},
		{"boilerplate", "<nav>a</nav>b<header>c<footer>d</footer>e</header>f<FORM>g<button>h</button></form>i</form>j", "-a b -c -d -e f -g -h i j"},
		{"nested forms", "<p>a<p>a<p>a<form>b<form>c</form>d</form>e", "a a a -b -c d e"},
		{"form around everything", "<p>a<form><nav>b</nav><p>c<p>d</form>", "a -b c d"},
		{"form of half", "<p>a<form><p>c</form>", "a -c"},
		{"open nav", "<p>a<div><nav>b<div>c</div>d</div>e", "a -b -c -d e"},
		{"nav ends in nav", "<p>a<div><nav><div>b</nav>c</div>d<nav>e</div>f</nav>", "a -b c d -e -f"},
		{"open header", "<a>a</a><header><nav>b</nav><p>c<p>d<footer>e</footer>", "a -b c d -e"},
		{"open header with less", "<p>a<p>a<header>b<p>c<p>d", "a a -b -c -d"},
		{"open header and nav", "a<header><nav>b<p>c", "a b c"},
		{"open aside", "a<aside>b<p>c<aside>d<p>e</aside>", "a b c -d -e"},
		{"open nav in header", "a<header><nav>b<p>c</header>", "a -b -c"},
		{"open header and footer", "a<footer>b<p>c<header>d<p>e", "a -b -c -d -e"},
		{"open footer in open header", "a<header>b<footer>c<p>d<p>e", "a -b -c -d -e"},
		{"open header before the body", "<div><header>a<p>b<p>c</div>d", "-a -b -c d"},
		{"open header at the end of a div", "a<div><header>b<p>c</div><footer>d</footer>", "a b c -d"},
		{"open header before a form", "<div><header>a<p>b<p>c</div><form>d</form>", "-a -b -c d"},
		{"open header in a form", "<form>a<header><nav>x</nav>b<p>c</form>", "a -x b c"},
		{"form in open header", "a<header>b<p>c<form>d</form>", "a b c -d"},
		{"open aside behind main", "<main>a</main><aside>b<p>c<p>d", "a -b -c -d"},
		{"headline in open header", "a<header>b<article><header>c</header>d</article>", "a b c d"},
		{"open footer", "<p>a<article>b<footer>c</article>d", "a b -c d"},
		{"footer in nav", "<p>a<nav>b<footer>c</nav>d", "a -b -c d"},
		{"headline", "<header>a</header><article><header>b</header>c<aside><header>d</header>e</aside></article><header>f", "-a b c -d -e -f"},
		{"headline in main", "<header>a<main>b<header>c</header></main><header>d</header>e", "-a b c -d e"},
		{"header around main", "<p>a<header>b<article>c<header>d</header>e</article>f</header>g", "a -b -c -d -e -f g"},
		{"many open", "<p>a" + strings.Repeat("<nav>", maxOpen+9) + "b" + strings.Repeat("</nav>", maxOpen) + "c", "a -b c"},
		{"others of it", "<aside>a</aside><select><option>b</select><dialog>c</dialog><menu>d</menu>e", "-a -b -c -d e"},
		{"head", "<head><title>a</title><meta x><script>b</script></head><body>c", "-a c"},
		{"head without an end", "<head><title>a</title><p>b", "-a b"},
		{"main", "<form><header>a</header><main>b</main>c</form><nav>d", "-a b c -d"},
		{"all is boilerplate", "<form><p>a<p>b</form>", "a b"},
		{"numbers", "<p>a 12 b<p>a12 b<p>12<p>1a<p>7&euro;<p>٣", "#a_12b #a12b #12 #1a #7€ #٣"},
		{"numbers with letters", "<p>1980円<p>99kr<p>99zł<p>只要10元<p>10원<p>USD10<p>v10<p>a1b<p>1a2<p>a3e8", "#1980円 #99kr #99zł #只要10元 #10원 #usd10 #v10 a1b 1a2 a3e8"},
		{"signs in numbers", "<p>1.5<p>1,5<p>1 5<p>1 : 5<p>1/12<p> 5<p>-5<p>x -5<p>x - 5<p>x: 5<p>(5)", "#1.5 #1,5 #1_5 #1_5 #1/12 #5 #-5 #x-5 #x_5 #x_5 #5"},
		{"dashes", "<p>–5<p>&ndash;5<p>&#8212;5<p>‐5<p>－5<p>5–6<p>a – b<p>a–b<p>a &mdash; 5<p>−5<p>− 5", "#-5 #-5 #-5 #-5 #-5 #5-6 ab ab #a_5 #−5 #−_5"},
		{"minus before a symbol", "<p>-$5<p>–€5.00 x<p>&ndash;&euro;5<p>- $5<p>x-£5<p>x -£5<p>$-5<p>-é5<p>-日5", "#-$5 #-€5.00x #-€5 #$5 #x-£5 #x-£5 #$-5 #é5 #日5"},
		{"symbols", "<p>$5<p>€5<p>✓<p>🟢<p>C++<p>C<p>a > b<p>x&shy;y&#8203;z", "#$5 #€5 ✓ 🟢 c++ c ab xyz"},
		{"number in the title", "<head><title>a 1</title></head>b", "-#a_1 b"},
		{"no letters", "<p>… — !<p>a", "a"},
		{"beyond the basic plane", "<p>𐐀𝄞", "𐐨𝄞"},
		{"marks", "<p>कि", "कि"},
	} {
		want := texts(c.want)
		for _, n := range []int{1, 2, 3, 1000} {
			require.Equal(t, want, blocksOf(c.html, n), "%s in chunks of %d", c.name, n)
		}
	}
}

// Bytes that are not UTF-8 count, each for itself.
func TestOtherEncodings(t *testing.T) {
	t.Parallel()
	all := map[uint32]bool{}
	bodies := []string{"<p>caf\xe9", "<p>caf\xe8", "<p>caf", "<p>caf\xe2\x82", "<p>caf\xe2", "<p>\x83\x65", "<p>\x83\x66", "<p>caf\xe2\x82x", "<p>caf\xe2x",
		"<p>\x805", "<p>-\x805", "<p>\xa35", "<p>-\xa35"}
	for _, body := range bodies {
		for _, n := range []int{1, 2, 9} {
			b := blocksOf(body, n)
			require.Len(t, b, 1)
			all[b[0].hash] = true
		}
	}
	require.Len(t, all, len(bodies))
}

// The second byte of a character in Shift_JIS, GBK or Big5 may be a letter or a sign of ASCII, and so
// may be the one behind it.
func TestSecondBytes(t *testing.T) {
	t.Parallel()
	for _, lead := range []string{"\x83", "\xff", "\xe3\x81", "\xe3", "\xf0\x9f\x98", "\x8b\x83"} {
		sign := blocksOf("<p>"+lead+"?A", 99)
		require.Equal(t, sign, blocksOf("<p>"+lead+"\x7fA", 99))
		all := map[uint32]byte{sign[0].hash: '?'}
		for c := byte(0x40); c <= 0x7e; c++ {
			body := "<p>" + lead + string(rune(c)) + "A"
			b := blocksOf(body, 99)
			require.Len(t, b, 1, "%q", body)
			require.Zero(t, all[b[0].hash], "%q", body)
			all[b[0].hash] = c
			require.Equal(t, b, blocksOf("<p>"+lead+string(rune(c))+"a", 99), "one letter behind is one of a word")
			for n := 1; n < 9; n++ {
				require.Equal(t, b, blocksOf(body, n), "%q in chunks of %d", body, n)
			}
		}
		for _, end := range []string{"<p>a", " a", "&nbsp;a", "1a", "\x1b(Ba"} { // the second byte is none of these
			for n := range 9 {
				upper := strings.ToUpper(end)
				require.Equal(t, blocksOf("<p>"+lead+end, 99), blocksOf("<p>"+lead+strings.Replace(upper, "NBSP", "nbsp", 1), n+1), "%q", end)
			}
		}
	}
	require.Equal(t, blocksOf("<p>\xe3\x81\x82a", 99), blocksOf("<p>\xe3\x81\x82A", 1), "this is UTF-8")
}

// Whatever begins and ends, a nest knows what is open.
func TestNest(t *testing.T) {
	t.Parallel()
	kinds := rapid.IntRange(int(mainTag), int(boilerplate)+len(boilerplateTags)-1)
	rapid.Check(t, func(t *rapid.T) {
		var s nest
		for range rapid.IntRange(0, 200).Draw(t, "tags") {
			kind := tagKind(kinds.Draw(t, "kind"))
			if rapid.IntRange(0, 3).Draw(t, "end") == 0 {
				s.end(kind)
			} else {
				s.start(kind, 0)
			}
			forms, others, firm := 0, 0, 0
			for k, o := range s.open[:s.n] {
				switch {
				case o.kind == formTag:
					forms++
				case !o.body:
					others++
					if !slices.Contains([]string{"header", "nav", "aside"}, boilerplateTags[o.kind-boilerplate]) {
						firm++
					}
				}
				for i, n := range o.containers {
					require.LessOrEqual(t, n, s.containers[i], "it is in containers that have ended")
					require.True(t, k == 0 || s.open[k-1].containers[i] <= n)
				}
			}
			require.Equal(t, []int{forms, others, firm}, []int{s.forms, s.others, s.firm})
			require.LessOrEqual(t, forms, 1)
		}
		s.start(mainTag, 0)
		require.Zero(t, s.n+s.forms+s.others+s.firm)
	})
}

// In ISO-2022-JP the bytes of two that make a character may be those of markup.
func TestISO2022JP(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 99} {
		old := blocksOf("<p>x\x1b$B<R$N\x1b(B a<p>b\x1b$(D<!--\n</p>\x1b-c<p>d", n)
		require.Len(t, old, 4)
		require.Equal(t, []block{text("c", inBody), text("d", inBody)}, old[2:])
		other := blocksOf("<p>x\x1b$B<R$O\x1b(B a<p>b\x1b$(D<!-/\n</p>\x1b-c<p>d", n)
		require.Equal(t, old[2:], other[2:])
		require.NotEqual(t, old[0], other[0])
		require.NotEqual(t, old[1], other[1])
		feed := blocksAs("text/xml", "<i><![CDATA[\x1b$B]]>!\x1b(B<!-- a]]>b", n)
		require.Len(t, feed, 2, "the comment ends with the section, and that does not end among characters")
		require.Equal(t, text("b", inBody), feed[1])
	}
}

// TestXML compares the blocks of XML with those expected. They hold the values of attributes.
func TestXML(t *testing.T) {
	t.Parallel()
	const prolog = "\ufeff\n<?xml version='1.0'?>"
	for _, c := range []struct {
		mediaType, xml string
		want           string
	}{
		{"text/xml; charset=utf-8", "<rss><title>A <b>b</b></title><script/>c</rss>", "a b c"},
		{"application/rss+xml", prolog + "<item><![CDATA[a<p>b</p>]]></item><nav>c</nav>", "a b c"},
		{"", prolog + "<Cube time='2026-11-27'><Cube currency=\"USD\" rate='1.25'/>", `#2026-11-27' #usd"1.25'`},
		{"text/xml", "<a ='b>c<a b ='d'/>", "c d'"},
		{"text/xml", "<i><![CDATA[a <!-- b]]></i><i><![CDATA[c]]></i>d", "a c d"},
		{"text/xml", "<i><![CDATA[a <!-- b --> c <!-- ]] ]> - -->d]]]]>e<!-- f ]]>g --></i>h", "acde h"},
		{"text/xml", "<i><![CDATA[a <p x='b]]>c</i><i><![CDATA[<p x=y]]>d]]>e<![CDATA[<p]]>f<![CDATA[<]]>g", "a b]]> c de fg"},
		{"text/xml", "<i><![CDATA[a <?php b]]>c<![CDATA[&copy]]>d<![CDATA[<![CDATA[e]]>f<!-- ]]> g -->h", "ac©defh"},
		{"text/xml", "<i><![CDATA[a <!-- b ]]", "a"},
		{"text/html", "<i><![CDATA[a<script>]]><!-- b</script>c", "a c"},
		{"application/xml", "<_a x='&amp;#A'/><ä>b</ä>", "&amp;#a' b"},
		{"application/octet-stream", "<x y=''>a", "a"},
		{"", prolog + "<!DOCTYPE html><html x='y'><head><title/><script src='a'/></head><nav>b</nav><textarea/><svg/><p/>c", "-b c"},
		{"text/xml", "<a><html x='y'/>b</a>", "y' b"},
		{"application/xhtml+xml", "<html><svg><script/></svg>b", "b"},
		{"application/xhtml+xml", "<html><script>a<p></script><p title='x'/>b", "b"},
		{"TEXT/HTML", prolog + "<html><p title='x'/>a<textarea/>b", "a b"},
	} {
		want := texts(c.want)
		for _, n := range []int{1, 2, 3, 1000} {
			require.Equal(t, want, blocksAs(c.mediaType, c.xml, n), "%s in chunks of %d", c.xml, n)
		}
	}
}

// What is compared by its bytes: other types, and what does not look like HTML.
func TestTypes(t *testing.T) {
	t.Parallel()
	const html, json = "\n<p>a", ` [{"a": "<p>"}]`
	for _, c := range []struct {
		mediaType, body string
		want            bool
	}{
		{"", html, false}, {"", json, true}, {"", "for (i=0;i<n;i++)", true}, {"", "%PDF-1.4 <</Type", true},
		{" Text/HTML;charset=utf-8", html, false},
		{"text/html charset=utf-8", html, false}, {"text/html, text/html; charset=utf-8", html, false}, {"text/html", json, true}, {"text/html", "text <p>", false},
		{"text/plain", html, true}, {"application/json", html, true}, {"text/csv", html, true}, {"image/svg+xml", html, false},
		{"application/octet-stream", html, false}, {"application/octet-stream", json, true}, {"nonsense", html, true},
	} {
		body := &Copy{Type: c.mediaType}
		_, _ = body.Write([]byte(c.body))
		body.finish()
		require.Equal(t, c.want, body.plain(), "%q, %q", c.mediaType, c.body)
	}
}

// pieces are what random markup is made of.
var pieces = []string{"<", ">", "</", "/>", "<!--", "-->", "-", "!", "<![CDATA[", "]]>", "]", "<script>", "</script>", "<svg", "</svg>",
	"<template>", "</template>", "<nav>", "</nav>", "<p>", "<b", " a=", `"`, "'", "&", "&auml;", "&#", "x", ";", "=", "ä", "\xe2\x82", "\xe2\x82\xac",
	"\x80", "\x83A", "\x1b", "$", "(B", "text ", "12 ", "<head>", "<body>", "<main>", "<header>", "</header>", "<aside>", "\x00", "?", "\n", "<form", "𝄞", strings.Repeat("n", 40)}

var jsonPieces = []string{"{", "}", "[", "]", ",", ":", `"`, `\`, " ", "1", "true", "1764482400", `"2026-09-30"`, `"06:00:00"`, `"a":`, `{"a":`, `"b",`, "1764482400,", "é",
	strings.Repeat("n", longestScalar), `"` + strings.Repeat("0", longestScalar), "<p>", "\x00"}

var (
	types      = []string{"text/html", "", "text/xml", "application/xhtml+xml", "text/plain", "application/json"}
	mediaTypes = rapid.SampledFrom(types)
)

var markup = rapid.Custom(func(t *rapid.T) string {
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0, 1:
		return string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body"))
	case 2:
		return "[" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(jsonPieces), 0, 20).Draw(t, "pieces"), "") + "]"
	case 3: // in which times change
		at := rapid.IntRange(1764482400, 1764482409).Draw(t, "at")
		return marshal(t, []any{at, lasting(t, 2), at, map[string]any{"a": fmt.Sprint(at + 1)}}, rapid.Bool().Draw(t, "indent"))
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
})

// requireSame requires that the blocks do not depend on the chunks.
func requireSame(t require.TestingT, mediaType, body string, cuts func(left int) int) {
	whole, parts := &Copy{Type: mediaType}, &Copy{Type: mediaType}
	_, _ = whole.Write([]byte(body))
	for left := body; left != ""; {
		n := cuts(len(left))
		_, _ = parts.Write([]byte(left[:n]))
		left = left[n:]
	}
	whole.finish()
	parts.finish()
	require.Equal(t, whole.plain(), parts.plain())
	require.Equal(t, whole.sum(), parts.sum())
	if !whole.plain() {
		require.Equal(t, whole.text.blocks, parts.text.blocks)
	}
	require.LessOrEqual(t, len(whole.text.blocks), mostBlocks)
	for _, b := range whole.text.blocks {
		require.Zero(t, b.flags&^(inBody|hasNumber))
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		requireSame(t, mediaTypes.Draw(t, "type"), markup.Draw(t, "body"), func(left int) int { return rapid.IntRange(1, left).Draw(t, "chunk") })
	})
}

// FuzzBody writes any bytes in chunks of any size, and gives them to a page.
func FuzzBody(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte("<p>a"+p+"b<p>c"), uint64(len(p)))
	}
	for _, p := range jsonPieces {
		f.Add([]byte(`[1764482400,`+p+`{"a":"2026-09-30"}]`), uint64(len(p)))
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		requireSame(t, types[seed%uint64(len(types))], string(body), func(left int) int { return 1 + rng.IntN(left) })
		p := new(Page)
		for range 5 {
			p.Observe(copyOf(body))
			body = bytes.ReplaceAll(body, []byte("a"), []byte("ab"))
			p.Teach(copyOf(body[rng.IntN(len(body)+1):]))
		}
	})
}

// A cut copy leaves out the block in which it ends.
func TestCut(t *testing.T) {
	t.Parallel()
	c := copyOf([]byte("<p>one<p>two"))
	c.Cut = true
	require.Equal(t, []block{text("one", inBody)}, blocksIn(c))

	c = copyOf([]byte("<p>one<header>two<p>three<p>four")) // the header may end behind that
	c.Cut = true
	require.Equal(t, texts("one -two -three"), blocksIn(c))
}

func TestReset(t *testing.T) {
	t.Parallel()
	c := copyOf([]byte("<nav><p>one &am"))
	c.Cut = true
	c.finish()
	c.Reset()
	require.Empty(t, c.Type)
	_, _ = c.Write([]byte("<p>two"))
	require.Equal(t, blocksOf("<p>two", 99), blocksIn(c))
	require.Equal(t, copyOf([]byte("<p>two")).sum(), c.sum())
	c.Reset()
	_, _ = c.Write([]byte("<p>\x00two"))
	require.True(t, c.plain())
	c.Reset()
	c.finish()
	require.True(t, c.plain())
	require.Equal(t, new(Copy).sum(), c.sum())
}

// Beyond maxBlocks the end of the page is one block, in which every change is seen.
func TestManyBlocks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 2*maxBlocks + 1 {
		fmt.Fprintf(&b, "<p>block%dx", i)
	}
	blocks := blocksOf(b.String(), 1000)
	require.InDelta(t, maxBlocks+restBlocks(maxBlocks+1), len(blocks), 10)
	for _, i := range []int{maxBlocks, 2 * maxBlocks} {
		other := blocksOf(strings.Replace(b.String(), fmt.Sprintf("block%dx", i), "other", 1), 1000)
		require.Equal(t, blocks[:maxBlocks], other[:maxBlocks])
		var fresh int
		for _, b := range other {
			if !slices.Contains(blocks, b) {
				fresh++
			}
		}
		require.LessOrEqual(t, fresh, 2, "those put together with it")
		require.Positive(t, fresh)
	}
}

// Those put together are boilerplate, whether the header that they are in is closed or not.
func TestManyBlocksInHeader(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range maxBlocks + 900 {
		fmt.Fprintf(&b, "<p>block%dx", i)
	}
	for _, end := range []string{"", "</header>"} {
		blocks := blocksOf("<p>a<header>"+b.String()+end, 1000)
		require.Equal(t, inBody, blocks[0].flags)
		for i, b := range blocks[1:] {
			require.Equal(t, end == "" && i+1 < maxBlocks, b.flags == inBody)
		}
	}
}

// restBlocks returns how many blocks n blocks are put together to, in the mean.
func restBlocks(n int) (ended int) {
	for n > 0 {
		n -= restSize << (ended / restGrows)
		ended++
	}
	return ended
}

// However long the page is, a clock in its footer hides nothing but itself.
func TestLongPage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2000, 3000, 20_000} {
		p := new(Page)
		var b strings.Builder
		for j := range n {
			fmt.Fprintf(&b, "<p>paragraph x%dx", j)
		}
		at := fmt.Sprintf("x%dx", n-100)
		for k := range 60 {
			body := strings.Replace(b.String(), at, fmt.Sprint("edit ", k/10), 1)
			f := observe(p, []byte(body+fmt.Sprintf("<footer>Generated %d</footer>", 977*k)))
			require.Equal(t, k > 0 && k%10 == 0, f.Body, "copy %d of %d paragraphs", k, n)
		}
	}
}

// article is a page of about n bytes, with as much markup as pages have.
func article(n int, words string) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	list := strings.Fields(words)
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html><html><head><title>x</title></head><body>")
	for b.Len() < n {
		fmt.Fprintf(&b, "<div class=\"card card-%d js-x\" data-id='%d'><h3><a href=\"/path/to/%x?utm=%x\" title=\"t\">", rng.IntN(9), b.Len(), rng.Uint64(), rng.Uint64())
		for range 20 + rng.IntN(60) {
			b.WriteString(list[rng.IntN(len(list))])
			b.WriteByte(' ')
		}
		b.WriteString("</a></h3>\n\t\t<!-- end -->\n<p>&nbsp;Text &ldquo;of&rdquo; it&#8217;s <em>own</em></p></div>\n")
		if rng.IntN(10) == 0 {
			b.WriteString("<script>window.x = {" + strings.Repeat("\"key\": \"value\", ", 40) + "}</script>")
		}
	}
	return b.Bytes()
}

// BenchmarkCopy measures the reading of a body, its hash included.
func BenchmarkCopy(b *testing.B) {
	for name, words := range map[string]string{
		"english": "the quick brown Fox jumps over a lazy Dog and nothing else is new today",
		"russian": "съешь ещё этих мягких французских булок да выпей чаю Москва",
		"chinese": "视野无限广 窗外有蓝天 微风带着花香 轻轻吹过",
		"german":  "Fu&szlig; &Auml;pfel und &Uuml;bel fr&ouml;hlich der die das wenn aber",
	} {
		b.Run(name, func(b *testing.B) {
			body := article(500_000, words)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			c := new(Copy)
			for b.Loop() {
				c.Reset()
				_, _ = c.Write(body)
				c.finish()
			}
			b.ReportMetric(float64(len(c.text.blocks)), "blocks")
		})
	}
}

// What is beyond Unicode is no character.
func TestNumericEntities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rune{"228": 'ä', "xe4": 'ä', "XE4": 'ä', "x": 0, "": 0,
		"1114111": 0x10ffff, "1114112": 0, "x10FFFF": 0x10ffff, "x110000": 0} {
		require.Equal(t, want, numeric([]byte(text)), text)
	}
}

// As io.Writer has it, Write says how much it took.
func TestCopyWrites(t *testing.T) {
	t.Parallel()
	var c Copy
	for _, b := range [][]byte{nil, {}, []byte("<p>one"), nil, make([]byte, 3000)} {
		n, err := c.Write(b)
		require.NoError(t, err)
		require.Equal(t, len(b), n)
	}
	require.EqualValues(t, 3006, c.size)
}
