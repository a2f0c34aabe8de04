package input

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever Clean takes can be asked for, and is left as it is by a second Clean.
func FuzzClean(f *testing.F) {
	for _, raw := range []string{
		"http://a.test", " HTTPS://me:secret@A.test:443/a/../b%7e?q=é#top", "http://M\u00fcnchen.test./", "http://[::1]:80/", "http://0x7f.1/", "http://[fe80::1%25en0]/", "ftp://a.test/", "//a.test",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean, err := Clean(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrURL)
			return
		}
		requireClean(t, clean)
	})
}

func requireClean(t *testing.T, clean string) {
	again, err := Clean(clean)
	require.NoError(t, err)
	require.Equal(t, clean, again)
	require.LessOrEqual(t, len(clean), LongestURL)
	require.Equal(t, clean, Respell(clean))
	_, err = http.NewRequest(http.MethodGet, clean, nil)
	require.NoError(t, err)
	u, err := url.Parse(clean)
	require.NoError(t, err)
	require.Nil(t, u.User)
	require.Empty(t, u.Fragment)
	host, err := Host(u)
	require.NoError(t, err)
	require.Equal(t, u.Host, host)
}

// A source may send anything: it is read to an end, and what is taken of it can be asked for.
func FuzzSources(f *testing.F) {
	const address = "http://a.test/news/feed.xml"
	readers := []func(Get) ([]Entry, error){
		func(get Get) ([]Entry, error) { return Sitemap(get, address, func([]Entry) {}) },
		func(get Get) ([]Entry, error) { return Feed(get, address) },
		func(get Get) ([]Entry, error) {
			body, _, _ := get(address)
			return OPML(body, "file")
		},
	}
	for i, body := range []string{
		"<sitemapindex><sitemap><loc>http://a.test/1</loc></sitemap></sitemapindex>",
		"<urlset><url><loc>http://a.test/1</loc><lastmod>2025-05-06T09:08+0200</lastmod></url></urlset>",
		"http://a.test/1\nhttp://a.test/2",
		"<rss><channel><item><link>/1</link><pubDate>Tue, 06 May 2025 09:08:09 EST</pubDate></item></channel></rss>",
		"<feed xml:base='/b/'><entry><link href='1'/><updated>2025-05-06</updated></entry></feed>",
		`{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/1", "date_modified": "2025-05-06T09:08:09Z"}]}`,
		"<opml><body><outline xmlUrl='feed://a.test/rss'/></body></opml>",
		"\xff\xfe<\x00a\x00/\x00>\x00",
		"<?xml version='1.0' encoding='windows-1252'?><urlset><url><loc>http://a.test/\xe9</loc></url></urlset>",
	} {
		f.Add([]byte(body), uint8(i/3))
	}
	log := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	f.Cleanup(func() { slog.SetDefault(log) })
	errGone := errors.New("gone")
	f.Fuzz(func(t *testing.T, body []byte, reader uint8) {
		asked := 0
		entries, _ := readers[int(reader)%len(readers)](func(url string) ([]byte, string, error) {
			if asked++; asked > 3 {
				return nil, "", errGone
			}
			return body, url, nil
		})
		require.LessOrEqual(t, asked, maxSitemaps)
		require.LessOrEqual(t, len(entries), 3*len(body))
		for _, e := range entries {
			requireClean(t, e.URL)
		}
	})
}
