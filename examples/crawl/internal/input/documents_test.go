package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"
)

// of reads a document.
func of(read func(Get, string) ([]Entry, error), body string) (urls []string, err error) {
	entries, err := read(func(url string) ([]byte, string, error) { return []byte(body), url, nil }, "http://a.test/news/feed.xml")
	for _, e := range entries {
		urls = append(urls, e.URL)
	}
	return urls, err
}

// The page of an entry is found however a feed names it.
func TestLinksOfFeeds(t *testing.T) {
	t.Parallel()
	rss := func(item string) string {
		return `<rss xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><channel><link>http://a.test/</link>
			<atom:link rel="self" href="http://a.test/self"/><item>` + item + `</item></channel></rss>`
	}
	atom := func(base, entry string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"` + base + `><link href="http://a.test/"/><entry>` + entry + `</entry></feed>`
	}
	for feed, want := range map[string]string{
		rss(`<link>http://a.test/1</link><atom:link rel="self" href="http://a.test/s"/>`):          "http://a.test/1",
		rss(`<atom:link href="http://a.test/s"/><link> http://a.test/2 </link>`):                   "http://a.test/2",
		rss(`<link/><link><![CDATA[http://a.test/3]]></link>`):                                     "http://a.test/3",
		rss(`<link>/4?a=1&amp;b=2</link>`):                                                         "http://a.test/4?a=1&b=2",
		rss(`<link>5</link><guid>http://a.test/g</guid>`):                                          "http://a.test/news/5",
		rss(`<guid>http://a.test/6</guid>`):                                                        "http://a.test/6",
		rss(`<guid isPermaLink="true">http://a.test/7</guid><link></link>`):                        "http://a.test/7",
		rss(`<guid isPermaLink="false">http://a.test/no</guid>`):                                   "",
		rss(`<guid>4711</guid>`):                                                                   "",
		rss(`<title>none</title>`):                                                                 "",
		rss(`<atom:link href="http://a.test/8"/>`):                                                 "http://a.test/8",
		rss(`<atom:link href="http://a.test/no"/><guid>http://a.test/9</guid>`):                    "http://a.test/9",
		rss(`<media:group><media:link>http://a.test/no</media:link></media:group><link>10</link>`): "http://a.test/news/10",
		`<RDF><item><link>http://a.test/11</link></item></RDF>`:                                    "http://a.test/11",
		atom(``, `<link rel="self" href="x"/><link href="12"/>`):                                   "http://a.test/news/12",
		atom(` xml:base="http://b.test/blog/"`, `<link rel="Alternate" href="13"/>`):               "http://b.test/blog/13",
		atom(` xml:base="/blog/"`, `<link xml:base="x/" href="14"/>`):                              "http://a.test/blog/x/14",
		atom(``, `<id>http://a.test/no</id>`):                                                      "",
	} {
		urls, err := of(Feed, feed)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(urls, " "), feed)
	}
}

// A page of a sitemap is what its own loc says, and not one of an extension, as that of its picture.
func TestExtensionsOfSitemaps(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "s:"} {
		own := "<" + prefix + "loc>http://a.test/1</" + prefix + "loc>"
		for _, entry := range []string{
			own + "<image:image><image:loc>http://a.test/no</image:loc></image:image>", own + "<image:loc>http://a.test/no</image:loc>",
			"<image:loc>http://a.test/no</image:loc>" + own,
		} {
			urls, err := of(whole, "<"+prefix+"urlset><"+prefix+"url>"+entry+"</"+prefix+"url></"+prefix+"urlset>")
			require.NoError(t, err)
			require.Equal(t, []string{"http://a.test/1"}, urls, entry)
		}
	}
}

// An end tag in the wrong place, as those of HTML that was not escaped, ends nothing but what is open within its element.
func TestEndTagsThatDoNotMatch(t *testing.T) {
	t.Parallel()
	for _, within := range []string{"</p>", "<p>a</i>b", "<b><i>a</b></i>", "<br>", "<title>a</title></title>", "<x:a></y:a>"} {
		urls, err := of(whole, "</p><urlset><url>"+within+"</url><url>"+within+"<loc>http://a.test/1</loc></url><url><loc>http://a.test/2</loc></url></urlset></url>")
		require.NoError(t, err, within)
		require.Contains(t, urls, "http://a.test/2", within)
		urls, err = of(Feed, "<rss><channel><item><description>"+within+"</description><link>/1</link></item><item><link>/2</link></item></channel></rss>")
		require.NoError(t, err, within)
		require.Equal(t, []string{"http://a.test/1", "http://a.test/2"}, urls, within)
	}
	_, err := of(Feed, "<rss><channel><item><link>/1</link></item></channel>")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// An entry without its end has those behind it within itself. They are left out, and that is an error: or else their
// pages would be removed.
func TestEntriesWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		read func(Get, string) ([]Entry, error)
		body string
	}{
		{whole, "<urlset><url><loc>http://a.test/1</loc><url><loc>http://a.test/2</loc></url></urlset>"},
		{whole, "<s:urlset><s:url><s:loc>http://a.test/1</s:loc><s:url><s:loc>http://a.test/2</s:loc></s:url></s:urlset>"},
		{whole, "<sitemapindex><sitemap><loc>http://a.test/news/feed.xml</loc><sitemap><loc>http://a.test/2</loc></sitemap></sitemapindex>"},
		{Feed, "<rss><channel><item><link>/1</link><item><link>/2</link></item></channel></rss>"},
		{Feed, "<RDF><item><link>/1</link><item><link>/2</link></item></RDF>"},
		{Feed, "<feed><entry><link href='/1'/><entry><link href='/2'/></entry></feed>"},
	} {
		_, err := of(c.read, c.body)
		require.ErrorContains(t, err, "has no end", c.body)
	}
	_, err := of(Feed, "<rss><channel><item><link>/1</link><media:item><x:item/></media:item></item></channel></rss>")
	require.NoError(t, err)
}

// What is no XML takes no other page away, and is an error all the same. A text that is not read as a whole is no URL.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, mistake := range []string{
		"1 < 2", "1 <", "1 <<b>2</b>", "I <3 you", "me <me@a.test>", "<![CDATA[a <![CDATA[b]]> c]]>", "<!-- a -- b -->", "<a b='<'/>", "<1></1>", "<? a ?>", "<![if IE]>", "&#1;",
	} {
		urls, err := of(Feed, "<rss><channel><item><title>"+mistake+"</title><link>/1</link></item><item><link>/2</link></item></channel></rss>")
		require.ErrorContains(t, err, "2 pages taken", mistake)
		require.Equal(t, []string{"http://a.test/1", "http://a.test/2"}, urls, mistake)
		urls, _ = of(Feed, "<rss><channel><item><link>/1"+mistake+"3</link></item><item><link>/2</link></item></channel></rss>")
		require.Equal(t, []string{"http://a.test/2"}, urls, mistake)
	}
	urls, err := of(Feed, "<?xml version='1.1'?><rss><channel><item><link>/1</link></item></channel></rss>")
	require.ErrorContains(t, err, "version")
	require.Equal(t, []string{"http://a.test/1"}, urls)
	_, err = of(Feed, "<rss>"+strings.Repeat("< ", mostMistakes+1)+"</rss>")
	require.ErrorContains(t, err, "expected element name")
}

// Characters that are none, or that XML forbids, do not take the links around them away.
func TestForbiddenCharacters(t *testing.T) {
	t.Parallel()
	const begin, end = "<rss><channel><item><title>", "</title><link>1</link></item><item><link>/\xd0\xb6</link></item></channel></rss>"
	for what, title := range map[string]string{
		"of another encoding":  "\xc6\xf3\xf0",
		"cut":                  "\xd0",
		"control":              "a\x08\x00b\x0b",
		"in a comment":         "<!--\xff\x01-->",
		"in a list of its own": "<![CDATA[\xff\x01]]>",
		"not in the Unicode":   "\xed\xa0\x80\xf4\x90\x80\x80",
		"no character":         "\uffff\ufffe",
		"ampersands":           "a & b &nbsp;",
	} {
		urls, err := of(Feed, begin+title+end)
		require.NoError(t, err, what)
		require.Equal(t, []string{"http://a.test/news/1", "http://a.test/%D0%B6"}, urls, what)
	}
	for encoding, link := range map[string]string{"windows-1251": "\xe6", "utf-16": "\xd0\xb6", "UTF8": "\xd0\xb6", "none": "\xd0\xb6"} {
		urls, err := of(Feed, `<?xml version="1.0" encoding="`+encoding+`"?>`+begin+"\x01\x98</title><link>/"+link+"</link></item></channel></rss>")
		require.NoError(t, err)
		require.Equal(t, []string{"http://a.test/%D0%B6"}, urls, encoding)
	}
	// Each decoder within another takes memory, and all of them the stack.
	urls, err := of(Feed, strings.Repeat(`<?xml version="1.0" encoding="windows-1251"?>`, 200_000)+"<rss><channel><item><link>/\xe6</link></item></channel></rss>")
	require.NoError(t, err)
	require.Equal(t, []string{"http://a.test/%D0%B6"}, urls)
}

// A document or a list may be in UTF-16, of either order, as its first bytes tell.
func TestUTF16(t *testing.T) {
	t.Parallel()
	for _, order := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
		encoder := unicode.UTF16(order, unicode.UseBOM).NewEncoder()
		for text, read := range map[string]func(Get, string) ([]Entry, error){
			`<?xml version="1.0" encoding="UTF-16"?><rss><channel><item><link>/ж</link></item></channel></rss>`: Feed,
			`<urlset><url><loc>http://a.test/ж</loc></url></urlset>`:                                            whole,
			"http://a.test/ж\r\n": whole,
		} {
			body, err := encoder.String(text)
			require.NoError(t, err)
			urls, err := of(read, body)
			require.NoError(t, err, text)
			require.Equal(t, []string{"http://a.test/%D0%B6"}, urls, text)
		}
		list, err := encoder.String("http://a.test/ж weight=2\r\nhttp://b.test/\r\n")
		require.NoError(t, err)
		entries, bad, err := URLs(strings.NewReader(list), "list.txt")
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, []Entry{{URL: "http://a.test/%D0%B6", Settings: Settings{Weight: 2}}, {URL: "http://b.test/"}}, entries)
	}
}

// Of entries that are left out the first is told, with no more of it than fits in a line.
func TestFirstLeftOut(t *testing.T) {
	t.Parallel()
	var found pages
	found.add("", "http://a.test/")
	found.add("")
	require.Empty(t, found.first)
	found.add("", "\nfeed://a.test/rss"+strings.Repeat("ü", 1000))
	found.add("", "other")
	require.Equal(t, 3, found.omitted)
	require.Equal(t, "feed://a.test/rss"+strings.Repeat("ü", 83), found.first)
}

func TestDate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"2025-05-06T07:08:09.5Z": time.Date(2025, 5, 6, 7, 8, 9, 5e8, time.UTC),
		"2025-05-06T07:08:09,5Z": time.Date(2025, 5, 6, 7, 8, 9, 5e8, time.UTC),
		" 2025-05-06 ":           time.Date(2025, 5, 6, 0, 0, 0, 0, time.UTC),
		"2025-05":                time.Date(2025, 5, 1, 0, 0, 0, 0, time.UTC),
		"2025-05-06T07:08:09":    time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06 07:08:09":    time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06T07:08":       time.Date(2025, 5, 6, 7, 8, 0, 0, time.UTC),
		"2025-05-06 07:08":       time.Date(2025, 5, 6, 7, 8, 0, 0, time.UTC),
		"2025":                   time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),

		"2025-05-06T09:08:09+0200":         time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"Tue, 06 May 2025 07:08:09 GMT":    time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"Tue, 6 May 2025 09:08:09 +0200":   time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		" Tue, 06 May 2025 07:08:09 EST\n": time.Date(2025, 5, 6, 12, 8, 9, 0, time.UTC),
		"Tue, 06 May 2025 07:08:09 PDT":    time.Date(2025, 5, 6, 14, 8, 9, 0, time.UTC),
		"6 May 25 07:08 UT":                time.Date(2025, 5, 6, 7, 8, 0, 0, time.UTC),
		"Tuesday, 6 May 2025 07:08:09 GMT": time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"Tue,06 May 2025 07:08:09":         time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"Tue, 6 May 2025 09:08:09 +02:00":  time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"Tue, 6 May 2025 07:08:09 Z":       time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"6 February 2025 07:08:09 EST":     time.Date(2025, 2, 6, 12, 8, 9, 0, time.UTC),
		"6 February 2025 09:08:09 +0200":   time.Date(2025, 2, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06 09:08:09+02:00":        time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06 09:08:09 +0200":        time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06 07:08:09 UTC":          time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06T09:08+0200":            time.Date(2025, 5, 6, 7, 8, 0, 0, time.UTC),
		"2025-05-06T09:08:09+02":           time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06 09:08:09+02":           time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"2025-05-06T09:08:09 +02:00":       time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC),
		"Tue, 06 May 2025":                 time.Date(2025, 5, 6, 0, 0, 0, 0, time.UTC),
		"yesterday":                        {},
	} {
		require.True(t, want.Equal(date(text)), text)
	}
}

// A sitemap may be a list, which may be compressed; what names no URL is an error.
func TestTextSitemaps(t *testing.T) {
	t.Parallel()
	text := "\ufeffhttp://a.test/1\r\n\r\nhttps://a.test/2\nnothing\nhttp://a.test/3"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(text))
	require.NoError(t, z.Close())
	for _, body := range []string{text, packed.String()} {
		urls, err := of(whole, body)
		require.NoError(t, err)
		require.Equal(t, []string{"http://a.test/1", "https://a.test/2", "http://a.test/3"}, urls)
	}
	for _, bad := range []string{"", "not found", "not found, see http://a.test/", `{"error": "http://a.test/"}`} {
		_, err := of(whole, bad)
		require.ErrorIs(t, err, errNone, bad)
	}
}

// Of a document that is too long, or ends early, there is what came before, and the error says why.
func TestCutDocuments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const named = 1000
	var b, list strings.Builder
	for i := range named {
		fmt.Fprintf(&b, "<url><loc>http://a.test/%d</loc></url>", i)
		fmt.Fprintf(&list, "http://a.test/%d\n", i)
	}
	padding := strings.Repeat("<!-- nothing -->\n", MaxDocument/17+1)
	lines := strings.Repeat("# nothing either\n", MaxDocument/17+1)
	for body, want := range map[string]string{
		"<urlset>" + b.String() + padding + "<url><loc>http://a.test/beyond</loc></url></urlset>": "longer than 50 MB; 1000 pages taken",
		list.String() + "http://a.test/last\n" + lines + "http://a.test/beyond":                   "longer than 50 MB; 1000 pages taken",
		"<urlset>" + b.String() + "<url><loc>http://a.test/cut":                                   "unexpected EOF; 1000 pages taken",
		"<urlset>" + strings.Repeat("<a>", 2000):                                                  "elements within each other",
	} {
		urls, err := of(whole, body)
		require.ErrorContains(t, err, want)
		if strings.Contains(want, "taken") {
			require.Len(t, urls, named)
		}
	}
}

// A document takes no more memory than what it names.
func TestMemoryOfDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for what, body := range map[string]string{
		"entries":           "<urlset>" + strings.Repeat("<url/>", 16<<20/6) + strings.Repeat("<url>a<!-- -->", 10) + "</urlset>",
		"attributes":        "<urlset><url>a<url " + strings.Repeat("a ", 8<<20) + "/></url></urlset>",
		"of many elements":  "<urlset>" + strings.Repeat("<url "+strings.Repeat("a ", 16<<10)+">", 512),
		"in a row, in text": "<urlset>" + strings.Repeat("<url/>a<url "+strings.Repeat("a ", 16<<10)+">", 512),
	} {
		most := uint64(0)
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, _ = of(func(get Get, url string) ([]Entry, error) {
			entries, err := whole(get, url)
			runtime.ReadMemStats(&now)
			most = now.HeapSys - min(before.HeapSys, now.HeapSys)
			return entries, err
		}, body)
		require.Less(t, most, uint64(80<<20), what) // entries for all would take some 200 MB, and attributes 400
	}
	// A tag may be long, and what is no tag may be longer.
	for what, c := range map[string]struct {
		text string
		long bool
	}{
		"an attribute":      {"<a b='" + strings.Repeat("x", mostTag-100) + "'/>", false},
		"a longer one":      {"<a b='" + strings.Repeat("x", mostTag) + "'/>", true},
		"behind text":       {"x<a b='" + strings.Repeat("x", mostTag) + "'/>", true},
		"a comment":         {"<!--" + strings.Repeat("<a> ", mostTag) + "-->", false},
		"a text":            {"<![CDATA[" + strings.Repeat("<a ", mostTag) + "]]>", false},
		"one of characters": {strings.Repeat("a ", mostTag), false},
	} {
		_, err := of(whole, "<urlset>"+c.text+"</urlset>")
		require.Equal(t, c.long, errors.Is(err, errTag), "%s: %v", what, err)
	}
}

// Relative links of a feed that has moved are those of where it is now (RFC 3986, section 5.1.3).
func TestLinksOfAFeedThatMoved(t *testing.T) {
	t.Parallel()
	for _, feed := range []string{
		`<rss><channel><item><link>one</link></item></channel></rss>`,
		`<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="one"/></entry></feed>`,
		`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><entry><link href="one"/></entry></feed>`,
	} {
		entries, err := Feed(func(string) ([]byte, string, error) { return []byte(feed), "http://b.test/blog/feed.xml", nil }, "http://a.test/feed")
		require.NoError(t, err)
		require.Equal(t, []Entry{{URL: "http://b.test/blog/one"}}, entries)
	}
}

// whole reads a sitemap for who waits for all of it.
func whole(get Get, url string) ([]Entry, error) { return Sitemap(get, url, func([]Entry) {}) }

// Of an index with too many sitemaps those behind are left out, and it is an error: what they name is not to be
// removed.
func TestTooManySitemaps(t *testing.T) {
	t.Parallel()
	for sitemaps, want := range map[int]bool{maxSitemaps - 1: false, maxSitemaps: true, 3 * maxSitemaps: true} {
		asked := 0
		entries, err := whole(func(url string) ([]byte, string, error) {
			asked++
			if url != "http://a.test/index.xml" {
				return []byte("<urlset><url><loc>" + url + "/page</loc></url></urlset>"), url, nil
			}
			var b bytes.Buffer
			b.WriteString("<sitemapindex><sitemap><loc>" + url + "</loc></sitemap>")
			for k := range sitemaps {
				fmt.Fprintf(&b, "<sitemap><loc>http://a.test/%d</loc></sitemap>", k)
			}
			b.WriteString("</sitemapindex>")
			return b.Bytes(), url, nil
		}, "http://a.test/index.xml")
		require.Equal(t, maxSitemaps, asked)
		require.Len(t, entries, maxSitemaps-1)
		if want {
			require.ErrorContains(t, err, "more than 1000 sitemaps")
		} else {
			require.NoError(t, err)
		}
	}
}

// Each sitemap of an index is read once, however often it is named, and an index that names itself has an end.
func TestSitemapsAreReadOnce(t *testing.T) {
	t.Parallel()
	const index, pages = "http://a.test/index", "http://a.test/pages"
	reads := map[string]int{}
	get := func(url string) ([]byte, string, error) {
		reads[url]++
		if url == pages {
			return []byte("<urlset><url><loc>http://a.test/x</loc></url></urlset>"), url, nil
		}
		again := "<sitemap><loc>" + pages + "</loc></sitemap>"
		return []byte("<sitemapindex>" + again + "<sitemap><loc>" + index + "</loc></sitemap>" + again + "</sitemapindex>"), url, nil
	}
	entries, err := Sitemap(get, index, func([]Entry) {})
	require.NoError(t, err)
	require.Equal(t, []Entry{{URL: "http://a.test/x"}}, entries)
	require.Equal(t, map[string]int{index: 1, pages: 1}, reads)
}

// The password in the URL of a document is in no message.
func TestPasswordsAreNotTold(t *testing.T) {
	t.Parallel()
	const url = "http://me:secret@a.test/x"
	told := func(err error) {
		require.ErrorContains(t, err, "http://me:xxxxx@a.test/x")
		require.NotContains(t, err.Error(), "secret")
	}
	html := func(url string) ([]byte, string, error) { return []byte("<html/>"), url, nil }
	_, err := whole(html, url)
	told(err)
	_, err = Feed(html, url)
	told(err)
	var found pages
	require.NoError(t, found.feed([]byte("<rss><channel><item><link>"+strings.Repeat("a", LongestURL)+"</link></item></channel></rss>"), url))
	require.Equal(t, 1, found.omitted)
	require.NotContains(t, found.first, "secret")
	var index strings.Builder
	for k := range 2 * maxSitemaps {
		fmt.Fprintf(&index, "<sitemap><loc>http://a.test/%d</loc></sitemap>", k)
	}
	_, err = whole(func(asked string) ([]byte, string, error) {
		if asked != url {
			return []byte("<urlset></urlset>"), asked, nil
		}
		return []byte("<sitemapindex>" + index.String() + "</sitemapindex>"), asked, nil
	}, url)
	told(err)
}

// A sitemap of an index that cannot be read, as its URL is none, is an error like one that cannot be fetched: or else
// its pages would be removed.
func TestIndexWithoutURL(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"<loc>/2.xml</loc>", "<loc>ftp://a.test/2.xml</loc>", "<loc/>", ""} {
		urls, err := of(func(get Get, url string) ([]Entry, error) {
			return Sitemap(func(asked string) ([]byte, string, error) {
				if asked == "http://a.test/1.xml" {
					return []byte("<urlset><url><loc>http://a.test/1</loc></url></urlset>"), asked, nil
				}
				return get(asked)
			}, url, func([]Entry) {})
		}, "<sitemapindex><sitemap>"+bad+"</sitemap><sitemap><loc>http://a.test/1.xml</loc></sitemap></sitemapindex>")
		require.ErrorIs(t, err, ErrURL, bad)
		require.Equal(t, []string{"http://a.test/1"}, urls, bad)
	}
}

// The user and password of an index are for its sitemaps, too, but for no other host.
func TestUserOfIndex(t *testing.T) {
	t.Parallel()
	var asked []string
	_, err := Sitemap(func(url string) ([]byte, string, error) {
		if asked = append(asked, url); len(asked) > 1 {
			return []byte("<urlset/>"), url, nil
		}
		var index strings.Builder
		for _, at := range []string{"https://a.test/1.xml", "https://A.test:443/2.xml", "http://a.test/3.xml", "https://a.test.b.test/4.xml", "https://a.test:8443/5.xml"} {
			index.WriteString("<sitemap><loc>" + at + "</loc></sitemap>")
		}
		return []byte("<sitemapindex>" + index.String() + "</sitemapindex>"), url, nil
	}, "https://me:secret@a.test/index.xml", func([]Entry) {})
	require.NoError(t, err)
	require.Equal(t, []string{
		"https://me:secret@a.test/index.xml", "https://me:secret@a.test/1.xml", "https://me:secret@a.test/2.xml",
		"http://a.test/3.xml", "https://a.test.b.test/4.xml", "https://a.test:8443/5.xml",
	}, asked)
}
