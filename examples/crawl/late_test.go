package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// A slowWeb has sitemaps on one host, some of which trickle until they are let go, and pages on another, which it
// counts.
type slowWeb struct {
	maps, pages *httptest.Server
	mu          sync.Mutex
	text        map[string]string // of sitemaps, by path
	slow        map[string]chan struct{}
	asked       map[string]int
}

func newSlowWeb(t *testing.T) *slowWeb {
	w := &slowWeb{text: map[string]string{}, slow: map[string]chan struct{}{}, asked: map[string]int{}}
	w.maps = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		text, slow := w.text[r.URL.Path], w.slow[r.URL.Path]
		w.asked[r.URL.Path]++
		w.mu.Unlock()
		if text == "" {
			http.NotFound(rw, r)
			return
		}
		for slow != nil {
			select {
			case <-slow:
				slow = nil
			case <-r.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
				_, _ = io.WriteString(rw, " ")
				_ = http.NewResponseController(rw).Flush()
			}
		}
		_, _ = io.WriteString(rw, text)
	}))
	w.pages = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked[r.URL.Path]++
		w.mu.Unlock()
		_, _ = io.WriteString(rw, "a page")
	}))
	t.Cleanup(func() {
		w.maps.CloseClientConnections()
		w.maps.Close()
		w.pages.Close()
	})
	return w
}

// index has an index name sitemaps.
func (w *slowWeb) index(path string, sitemaps ...string) {
	var b strings.Builder
	for _, s := range sitemaps {
		fmt.Fprintf(&b, "<sitemap><loc>%s%s</loc></sitemap>", w.maps.URL, s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text[path] = "<sitemapindex>" + b.String() + "</sitemapindex>"
}

// sitemap has a sitemap name pages, and trickle if there is a channel, until that is closed.
func (w *slowWeb) sitemap(path string, slow chan struct{}, pages ...string) {
	var b strings.Builder
	for _, p := range pages {
		fmt.Fprintf(&b, "<url><loc>%s%s</loc></url>", w.pages.URL, p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text[path], w.slow[path] = "<urlset>"+b.String()+"</urlset>", slow
}

func (w *slowWeb) times(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[path]
}

// Nobody waits for sitemaps: what is known and what lists name is polled while one trickles, also after a restart,
// and what the others name joins. A stop meanwhile saves. When all were read the pages that they name no more are
// removed.
func TestSitemapsAreRead(t *testing.T) {
	t.Parallel()
	web, dir := newSlowWeb(t), t.TempDir()
	list, rules, state := filepath.Join(dir, "list"), filepath.Join(dir, "rules"), filepath.Join(dir, "state")
	require.NoError(t, os.WriteFile(list, []byte(web.pages.URL+"/listed weight=2\n"), 0o600))
	require.NoError(t, os.WriteFile(rules, []byte(web.pages.URL+"/ weight=3\n"), 0o600))
	never, later := make(chan struct{}), make(chan struct{})
	web.index("/index.xml", "/1.xml", "/2.xml")
	web.sitemap("/1.xml", nil, "/one", "/listed")
	web.sitemap("/2.xml", never, "/two")
	web.sitemap("/other.xml", nil, "/other")
	elsewhere := strings.Replace(web.maps.URL, "127.0.0.1", "localhost", 1) // another host, for all that is known
	session := func(do func(log *output)) {
		t.Helper()
		var log output
		cmd := start(t, &log, "-urls", list, "-rules", rules, "-sitemap", web.maps.URL+"/index.xml", "-sitemap", elsewhere+"/other.xml", "-state", state,
			"-user-agent", demoAgent, "-delay", "1ms", "-per-day", "1e7", "-page", "", "-timeout", "2m", "-most-removed", "1")
		do(&log)
		began := time.Now()
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), log.String())
		require.Less(t, time.Since(began), 30*time.Second, log.String())
	}
	known := func(want ...string) {
		t.Helper()
		reopened(t, state, func(s *shard.State, _ *engine.Shard) {
			var urls []string
			for _, path := range want {
				urls = append(urls, web.pages.URL+path)
				weight, _, _ := s.Page(web.pages.URL + path).Settings()
				require.EqualValues(t, map[bool]int{true: 2, false: 3}[path == "/listed"], weight, path)
			}
			require.Equal(t, urls, pagesOf(s))
		})
	}
	session(func(log *output) {
		waitFor(t, log, func() bool {
			return web.times("/2.xml") > 0 && web.times("/listed") > 2 && web.times("/one") > 2 && web.times("/other") > 2
		})
	})
	known("/listed", "/one", "/other")

	web.sitemap("/1.xml", later, "/three")
	session(func(log *output) {
		one := web.times("/one")
		waitFor(t, log, func() bool { return web.times("/1.xml") > 1 && web.times("/one") > one+2 })
		require.Zero(t, web.times("/three"))
		web.sitemap("/2.xml", nil, "/two")
		close(later)
		waitFor(t, log, func() bool { return web.times("/two") > 2 && web.times("/three") > 2 })
		waitFor(t, log, func() bool { return strings.Contains(log.String(), "msg=pages new=2 removed=1") })
	})
	known("/listed", "/other", "/three", "/two")
}

// Where nothing is known and the sitemaps name no page there is nothing to crawl.
func TestSitemapsNameNoPage(t *testing.T) {
	t.Parallel()
	web := newSlowWeb(t)
	web.sitemap("/empty.xml", nil)
	for _, path := range []string{"/empty.xml", "/none.xml"} {
		err := run([]string{"-sitemap", web.maps.URL + path, "-state", filepath.Join(t.TempDir(), "state"), "-user-agent", demoAgent, "-delay", "1ms", "-page", ""}, io.Discard, io.Discard)
		require.ErrorIs(t, err, errNone)
	}
}
