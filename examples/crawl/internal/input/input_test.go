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
	"http://a.test/1.xml": `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>http://a.test/p</loc><lastmod>2025-03-01</lastmod></url>
		<url><loc>not a URL</loc></url></urlset>`,
	"http://a.test/rss": `<rss><channel><link>http://a.test/</link><item><link>http://a.test/q</link><pubDate>Sat, 01 Mar 2025 00:00:00 GMT</pubDate></item></channel></rss>`,
	"http://a.test/atom": `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link rel="edit" href="http://a.test/e"/><link href="http://a.test/r"/>
		<updated>2025-03-01T00:00:00Z</updated></entry></feed>`,
	"http://a.test/html": `<html><body></body></html>`,
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	get := func(url string) ([]byte, error) {
		if d, ok := documents[url]; ok {
			return []byte(d), nil
		}
		return nil, errors.New("404")
	}
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		read func(Get, string) ([]Entry, error)
		from string
		want string
	}{{Sitemap, "http://a.test/index.xml", "http://a.test/p"}, {Feed, "http://a.test/rss", "http://a.test/q"}, {Feed, "http://a.test/atom", "http://a.test/r"}} {
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
	entries, err := OPML([]byte(`<opml><body><outline text="x"><outline xmlUrl="http://a.test/rss"/></outline><outline xmlUrl="http://a.test/atom"/></body></opml>`))
	require.NoError(t, err)
	require.Equal(t, []Entry{{URL: "http://a.test/rss"}, {URL: "http://a.test/atom"}}, entries)
	_, err = OPML([]byte(documents["http://a.test/rss"]))
	require.Error(t, err)
}
