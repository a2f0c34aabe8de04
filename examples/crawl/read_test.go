package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

// files is a web of documents by URLs; all others are 404.
type files map[string]string

func (f files) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := f[r.URL.String()]
	status := http.StatusOK
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// What cannot be read of the sources, and a source that robots.txt forbids, leaves what the others
// name; the list is then not whole. A read that is interrupted says so.
func TestRead(t *testing.T) {
	t.Parallel()
	web := files{
		"http://a.test/index.xml": `<sitemapindex><sitemap><loc>http://a.test/1.xml</loc></sitemap><sitemap><loc>http://a.test/none.xml</loc></sitemap>
			<sitemap><loc>http://b.test/2.xml</loc></sitemap></sitemapindex>`,
		"http://a.test/1.xml":      `<urlset><url><loc>http://a.test/x</loc></url></urlset>`,
		"http://b.test/2.xml":      `<urlset><url><loc>http://b.test/x</loc></url></urlset>`,
		"http://b.test/robots.txt": "User-agent: *\nDisallow: /rss",
		"http://b.test/rss":        `<rss><channel><item><link>http://b.test/y</link></item></channel></rss>`,
	}
	f, err := fetch.New(fetch.Config{UserAgent: demoAgent, Clock: clock.NewReal(), Points: []fetch.Point{{Name: "web", Base: web}}})
	require.NoError(t, err)
	s := &settings{sitemaps: list{"http://a.test/index.xml"}}
	named := func(ctx context.Context) (urls []string, whole bool) {
		t.Helper()
		entries, whole, err := s.read(ctx, f)
		require.NoError(t, err)
		for _, e := range entries {
			urls = append(urls, e.URL)
		}
		return urls, whole
	}
	urls, whole := named(t.Context())
	require.False(t, whole)
	require.Equal(t, []string{"http://a.test/x", "http://b.test/x"}, urls)
	web["http://a.test/none.xml"] = `<urlset/>`
	_, whole = named(t.Context())
	require.True(t, whole)
	s.feeds = list{"http://b.test/rss"}
	urls, whole = named(t.Context())
	require.False(t, whole)
	require.Len(t, urls, 2)
	file := filepath.Join(t.TempDir(), "urls.txt")
	require.NoError(t, os.WriteFile(file, []byte("http://c.test/"), 0o600))
	s.urls = list{file}
	urls, _ = named(t.Context())
	require.Len(t, urls, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.read(ctx, f)
	require.ErrorIs(t, err, context.Canceled)
}

// When the crawler is to stop it does not say of what is left of a sitemap index that it is read.
func TestReadIsStopped(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	index := "<sitemapindex>"
	for i := range 10 * tellAfter {
		index += fmt.Sprintf("<sitemap><loc>http://a.test/%d.xml</loc></sitemap>", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	web := stopping{files{"http://a.test/index.xml": index + "</sitemapindex>"}, cancel}
	f, err := fetch.New(fetch.Config{UserAgent: demoAgent, Clock: clock.NewReal(), Points: []fetch.Point{{Name: "web", Base: web}}})
	require.NoError(t, err)
	_, _, err = (&settings{sitemaps: list{"http://a.test/index.xml"}}).read(ctx, f)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, out.String(), "so far")
}

// A stopping web has the crawler stopped at the first sitemap of an index.
type stopping struct {
	files
	stop func()
}

func (s stopping) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/0.xml" {
		s.stop()
	}
	return s.files.RoundTrip(r)
}

// Several lists are one, which is whole if each of them is.
func TestReadLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	bad, good := write("bad", "gopher://x\nhttp://a.test/"), write("good", "http://a.test/ weight=2\nhttp://b.test/")
	s, err := parse([]string{"-user-agent", demoAgent, "-urls", bad, "-urls", good}, io.Discard, io.Discard)
	require.NoError(t, err)
	for _, c := range []bool{false, true} {
		entries, whole, err := s.read(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, c, whole)
		require.Len(t, entries, 2)
		require.Equal(t, "http://a.test/", entries[0].URL)
		require.EqualValues(t, 2, entries[0].Weight)
		require.Equal(t, "http://b.test/", entries[1].URL)
		write("bad", "http://a.test/")
	}
	s.urls = append(s.urls, filepath.Join(dir, "none"))
	_, _, err = s.read(t.Context(), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
