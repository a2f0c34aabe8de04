package input

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	entries, bad, err := URLs(strings.NewReader(`# mine
HTTPS://Example.org:443/a#top weight=2 min=10m max=24h

mailto:me@example.org
http://example.org
http://example.org/b weight=0
http://example.org/b min=2h max=1h
http://example.org/b colour=red
http://example.org/b weight=1e301
http://example.org/b weight=Inf
http://example.org/c weight=1e9
`), "list.txt")
	require.NoError(t, err)
	require.Equal(t, []Entry{
		{URL: "https://example.org/a", Settings: Settings{2, 10 * time.Minute, 24 * time.Hour}},
		{URL: "http://example.org/"},
		{URL: "http://example.org/c", Settings: Settings{Weight: 1e9}},
	}, entries)
	require.Len(t, bad, 6)
	require.ErrorIs(t, bad[0], ErrURL)
	require.ErrorContains(t, bad[0], "list.txt:4: ")
	require.ErrorContains(t, bad[3], "list.txt:8: ")
}

func TestMerge(t *testing.T) {
	t.Parallel()
	rules, err := Rules(strings.NewReader("http://a.test/ weight=2\nhttp://a.test/news/ weight=5\n"), "rules")
	require.NoError(t, err)
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	merged := Merge([]Entry{
		{URL: "http://a.test/x"}, {URL: "http://a.test/news/1"}, {URL: "http://b.test/"},
		{URL: "http://a.test/x", Modified: day}, {URL: "http://a.test/news/2", Settings: Settings{Weight: 9}},
	}, rules)
	require.Equal(t, []Entry{
		{URL: "http://a.test/x", Modified: day, Settings: Settings{Weight: 2}},
		{URL: "http://a.test/news/1", Settings: Settings{Weight: 5}},
		{URL: "http://b.test/"},
		{URL: "http://a.test/news/2", Settings: Settings{Weight: 9}},
	}, merged)
	_, err = Rules(strings.NewReader("http://a.test/ weight=no\n"), "rules")
	require.ErrorContains(t, err, "rules:1: ")
	_, err = Rules(strings.NewReader("http://a.test/ weight=1e301\n"), "rules")
	require.ErrorContains(t, err, "rules:1: ")
}

var documents = map[string]string{
	"http://a.test/index.xml": `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.test/1.xml</loc></sitemap>
		<sitemap><loc>http://a.test/index.xml</loc></sitemap></sitemapindex>`,
	"http://a.test/some.xml": `<sitemapindex><sitemap><loc>http://a.test/html</loc></sitemap><sitemap><loc>http://a.test/none/1</loc></sitemap>
		<sitemap><loc>http://a.test/none/2</loc></sitemap><sitemap><loc>http://a.test/none/3</loc></sitemap>
		<sitemap><loc>http://a.test/none/4</loc></sitemap><sitemap><loc>http://a.test/1.xml</loc></sitemap></sitemapindex>`,
	"http://a.test/1.xml": `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>http://a.test/p</loc><lastmod>2025-03-01</lastmod></url>
		<url><loc>not a URL</loc></url></urlset>`,
	"http://a.test/rss": `<rss><channel><link>http://a.test/</link><item><link>http://a.test/q</link><pubDate>Sat, 01 Mar 2025 00:00:00 GMT</pubDate></item></channel></rss>`,
	"http://a.test/atom": `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link rel="edit" href="http://a.test/e"/><link href="http://a.test/r"/>
		<updated>2025-03-01T00:00:00Z</updated></entry></feed>`,
	"http://a.test/html": `<html><body></body></html>`,
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	get := func(url string) ([]byte, string, error) {
		if d, ok := documents[url]; ok {
			return []byte(d), url, nil
		}
		return nil, "", errors.New("404")
	}
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		read func(Get, string) ([]Entry, error)
		from string
		want string
	}{{whole, "http://a.test/index.xml", "http://a.test/p"}, {Feed, "http://a.test/rss", "http://a.test/q"}, {Feed, "http://a.test/atom", "http://a.test/r"}} {
		entries, err := c.read(get, c.from)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, c.want, entries[0].URL)
		require.True(t, entries[0].Modified.Equal(day))
		for _, bad := range []string{"http://a.test/html", "http://a.test/none"} {
			_, err = c.read(get, bad)
			require.ErrorContains(t, err, bad)
		}
	}
	// An index of which some sitemaps cannot be read has the others.
	entries, err := whole(get, "http://a.test/some.xml")
	require.Len(t, entries, 1)
	require.Equal(t, "http://a.test/p", entries[0].URL)
	require.ErrorContains(t, err, "http://a.test/html")
	require.ErrorContains(t, err, "http://a.test/none/2")
	require.NotContains(t, err.Error(), "http://a.test/none/3")
	require.ErrorContains(t, err, "and 2 more")
	entries, err = OPML([]byte(`<opml><body><outline text="x"><outline xmlUrl="http://a.test/rss"/></outline><outline xmlUrl="http://a.test/atom"/>
		<outline xmlurl="feed://b.test/rss"/><outline xmlUrl=" feed:https://b.test/atom"/>
		<outline xmlUrl="feed://https://b.test/news"/></body></opml>`), "list")
	require.NoError(t, err)
	require.Equal(t, []Entry{{URL: "http://a.test/rss"}, {URL: "http://a.test/atom"}, {URL: "http://b.test/rss"}, {URL: "https://b.test/atom"},
		{URL: "https://b.test/news"}}, entries)
	for text, want := range map[string]string{
		documents["http://a.test/rss"]: `OPML feeds.opml: it is a "rss"`,
		"":                             "OPML feeds.opml: there is no XML in it",
	} {
		_, err = OPML([]byte(text), "feeds.opml")
		require.EqualError(t, err, want)
	}
}

// All spellings of a URL are one page.
func TestClean(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]string{
		"http://xn--bcher-kva.test/": {"http://bücher.test/", "http://BÜCHER.test", "http://xn--bcher-kva.test/", "http://XN--bcher-kva.TEST.:80/",
			"http://bücher.test./", "http://b%C3%BCcher.test/", "http://bücher。test/", "http://me:secret@bücher.test/#top"},
		"http://localhost:18900/":  {"http://localhost:18900", "http://localhost:018900", "HTTP://LOCALHOST.:18900/"},
		"https://a.test/":          {"https://a.test:443/", "https://a.test:0443", "https://a.test:/", " https://a.test "},
		"https://a.test:80/":       {"https://a.test:80/"},
		"http://a_b.test/":         {"http://A_b.test"},
		"http://127.0.0.1:8080/":   {"http://127.0.0.1:8080", "http://127.0.0.1.:8080", "http://[::ffff:127.0.0.1]:8080/", "http://１２７.0.0.1:8080/"},
		"http://[::1]:8080/":       {"http://[::1]:8080", "http://[0:0::0:1]:08080/"},
		"http://[2001:db8::a]/":    {"http://[2001:DB8:0::A]:80"},
		"http://[fe80::1%25eth0]/": {"http://[fe80::1%25eth0]:80/"},
		"http://a.test/private/y":  {"http://a.test/x/../private/y", "http://a.test/./private/y", "http://a.test/../%2e%2E/private/y", "http://a.test/private/z/../y"},
		"http://a.test/b/":         {"http://a.test/b/.", "http://a.test/b/c/..", "http://a.test/b/c/%2E."},
		"http://a.test/.a/...?/..": {"http://a.test/.a/...?/.."},
		"http://a.test//b%2Fc/":    {"http://a.test//b%2Fc/d/.."},
	} {
		for _, raw := range all {
			clean, err := Clean(raw)
			require.NoError(t, err, raw)
			require.Equal(t, want, clean, raw)
		}
		again, err := Clean(want)
		require.NoError(t, err, want)
		require.Equal(t, want, again)
	}
	for _, bad := range []string{"http://a.test:0/", "http://a.test:65536/", "http://a.test:x/", "http://127.1/", "http://0x7f.1/", "http://2130706433/",
		"http://127.0.0.01/", "http://0x7f000001/", "http://[::1", "http://./", "http://../", "http://a.test../", "http://", "http:/a", "//a.test/", "http://ü .test/",
		"http://[fe80::1%25\xff]/", "http://[fe80::1%25a%20b]/",
		"http://a.test]:8080/", "http://a.test]/", "http://]:8080/"} {
		_, err := Clean(bad)
		require.ErrorIs(t, err, ErrURL, bad)
	}
	entries, bad, err := URLs(strings.NewReader("http://bücher.test/\nhttp://xn--bcher-kva.test/\nhttp://bücher.test./\n"), "list")
	require.NoError(t, err)
	require.Empty(t, bad)
	require.Len(t, Merge(entries, nil), 1)
}

// A rule is about the pages of a host, however its name is written.
func TestRuleOfHost(t *testing.T) {
	t.Parallel()
	rules, err := Rules(strings.NewReader("http://Bücher.test/ weight=3\nhttp://a.t weight=2\nHTTP://B.te weight=4\nhttp://Köln.test weight=5\nHTTP://C.test?Q=1 weight=6\n"), "rules")
	require.NoError(t, err)
	merged := Merge([]Entry{{URL: "http://xn--bcher-kva.test/x"}, {URL: "http://a.test/"}, {URL: "http://b.test/"}, {URL: "http://xn--kln-sna.test/"}, {URL: "http://c.test/?Q=1"}}, rules)
	for i, want := range []float64{3, 2, 4, 5, 6} {
		require.EqualValues(t, want, merged[i].Weight, merged[i].URL)
	}
}

// A URL that no record has room for is left out, whoever names it, and its error is no longer than a
// line.
func TestLongURL(t *testing.T) {
	t.Parallel()
	long := "http://a.test/" + strings.Repeat("a", 1_100_000)
	within := "http://a.test/" + strings.Repeat("a", LongestURL-len("http://a.test/"))
	for _, tooLong := range []string{long, within + "a", within[:len(within)-2] + "ü"} {
		_, err := Clean(tooLong)
		require.ErrorIs(t, err, ErrURL)
		require.Less(t, len(err.Error()), 500)
	}
	get := func(url string) ([]byte, string, error) {
		return []byte("<urlset><url><loc>" + long + "</loc></url><url><loc>" + within + "</loc></url></urlset>"), url, nil
	}
	entries, err := whole(get, "http://a.test/map.xml")
	require.NoError(t, err)
	require.Equal(t, []Entry{{URL: within}}, entries)
	entries, bad, err := URLs(strings.NewReader(within+"a\n"+long+long+"\n"+within), "list.txt")
	require.NoError(t, err)
	require.Len(t, bad, 2)
	require.ErrorIs(t, bad[0], ErrURL)
	require.ErrorIs(t, bad[1], ErrURL)
	require.Equal(t, []Entry{{URL: within}}, entries)
}

// A rule that is about no page is told of; one that another goes before is not.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	rules, err := Rules(strings.NewReader("http://a.test/ weight=2\nhttp://a.test/news/ weight=5\nhttps://a.test/ weight=3\nhttp://z.test weight=1\n"), "rules")
	require.NoError(t, err)
	entries := []Entry{{URL: "http://b.test/"}, {URL: "http://a.test/news/1"}}
	require.Equal(t, []string{"https://a.test/", "http://z.test"}, Unmatched(entries, rules))
	require.Len(t, Unmatched(nil, rules), 4)
	require.Empty(t, Unmatched(entries, nil))
}
