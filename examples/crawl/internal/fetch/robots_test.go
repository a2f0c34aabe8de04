package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                              0,
		"User-agent: *\nCrawl-delay: 5": 5 * time.Second,
		"User-agent: *\nDisallow: /x\nCrawl-delay: 1.5\n":                                      1500 * time.Millisecond,
		"User-agent: *\nCrawl-delay: 5\n\nUser-agent: My-Bot\nDisallow: /\n":                   0,
		"User-agent: *\nCrawl-delay: 5\nUser-agent: my-bot\nUser-agent: other\ncrawl-delay: 7": 7 * time.Second,
		"User-agent: other\nCrawl-delay: 9\n":                                                  0,
		"User-agent: my-bot/2.0 (x)\nCrawl-delay: 3":                                           3 * time.Second,
		"User-agent: *\nDisallow:\n\nUser-agent: my-bot, other\nCrawl-delay: 6":                6 * time.Second,
		"User-agent: *\nCrawl-delay: minus\nCrawl-delay: -4":                                   0,
		"User-agent: my-bot\nDisallow: /a\nUser-agent: other\nDisallow: /\nCrawl-delay: 8":     0,
		// Of several the longest counts.
		"User-agent: my-bot\nCrawl-delay: 10\n\nUser-agent: my-bot\nCrawl-delay: 1": 10 * time.Second,
		"User-agent: *\nCrawl-delay: 10\nCrawl-delay: 1":                            10 * time.Second,
	} {
		require.Equal(t, want, crawlDelay(text, productToken("my-bot/1 (+https://example.org)")), text)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	r := newRobots("my-bot/1 (+https://example.org)", nil, nil)
	text := rules{text: distil("User-agent: *\nDisallow: /\n\nUser-agent: my-bot\nDisallow: /private\nAllow: /private/open\n", r.agent)}
	require.True(t, r.allows(text, "http://a.test/x"))
	require.False(t, r.allows(text, "http://a.test/private/x"))
	require.True(t, r.allows(text, "http://a.test/private/open"))
	require.False(t, r.allows(rules{barred: true}, "http://a.test/x"))
	require.True(t, r.allows(rules{}, "http://a.test/x"))
}

// The name in robots.txt is the crawler's own, also in a User-Agent that begins like that of a browser.
func TestProductToken(t *testing.T) {
	t.Parallel()
	for userAgent, want := range map[string]string{
		"my-bot":                           "my-bot",
		" my-bot (+https://example.org)":   "my-bot",
		"my-bot/1 (+https://example.org)":  "my-bot",
		"my-bot (compatible; other/1)":     "my-bot",
		"my-bot(+https://example.org)":     "my-bot",
		"my-bot, me@example.org":           "my-bot",
		"(+https://example.org)":           "(+https://example.org)", // no robots.txt has it
		"Mozilla/5.0 (+https://a.example)": "Mozilla",
		"Mozilla/5.0 (compatible; my-bot/1.0; +https://example.org/bot)":                                   "my-bot",
		"Mozilla/5.0 (compatible;my-bot; +https://example.org/bot)":                                        "my-bot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; my-bot) Chrome/99 https://a.test/": "my-bot",
	} {
		require.Equal(t, want, productToken(userAgent), userAgent)
	}
}

// A host that is an address with a zone is asked for its robots.txt.
func TestRobotsOfAZone(t *testing.T) {
	t.Parallel()
	const host = "[fe80::1%eth0]:8080"
	asked := ""
	r := newRobots("my-bot/1", clock.NewReal(), func(_ context.Context, url string) (robotsAnswer, error) {
		asked = url
		return robotsAnswer{status: http.StatusNotFound}, nil
	})
	_, _, err := r.of(t.Context(), siteOf("http", host), false)
	require.NoError(t, err)
	_, found, err := parse(asked)
	require.NoError(t, err)
	require.Equal(t, host, found)
}

// A rule holds however the octets of its path or of the page's are written (RFC 9309, section 2.2.2).
func TestSpellings(t *testing.T) {
	t.Parallel()
	r := newRobots("my-bot/1 (+https://example.org)", nil, nil)
	for _, c := range []struct {
		rule, path string
		forbidden  bool
	}{
		{"/a%c3%bc", "/a%c3%bc", true},
		{"/a%c3%bc", "/a%C3%BC", true},
		{"/a%C3%BC", "/a%c3%bc", true},
		{"/aü", "/a%c3%bc", true},
		{"/aü", "/aü", true},
		{"/a%C3%BC", "/aü", true},
		{"/~user", "/%7Euser", true},
		{"/%7Euser", "/~user", true},
		{"/%7euser", "/%7Euser", true},
		{"/foo/bar/baz", "/foo/bar/%62%61%7A", true},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz", true},
		{"/private/", "/x/../private/y", true},
		{"/private/", "/./private/y", true},
		{"/private/", "/%2e/private/y", true},
		{"/./private/", "/private/y", true},
		{"/private/", "/private/../y", false},
		{"/.", "/.git", true},
		{"/.", "/git", false},
		{"/a%2Fb", "/a/b", false},
		{"/a%2fb", "/a%2Fb", true},
		{"/a/b", "/a%2Fb", false},
		{"/?q=%c3%bc", "/?q=ü", true},
		{"/*?q=a b", "/x?q=a%20b", true},
		{"/100%", "/100%25", true},
		{"/private/", "//private/y", false},
		// The pairs of section 2.2.3.
		{"/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true},
		{"/path/file-with-a-%2A.html", "/path/file-with-a-b.html", false},
		{"/path/foo-%24", "/path/foo-$", true},
		{"/path/foo-%24", "/path/foo-", false},
		{"/a$b", "/a$b", true},
		{"/a$", "/a", true},
		{"/a$", "/ab", false},
		{"/*.gif$", "/x.gif", true},
		{"/*.gif$", "/x.gif?y", false},
		{"", "/", false},
	} {
		text := rules{text: distil("User-agent: *\nDisallow: "+c.rule+"\n", r.agent)}
		require.Equal(t, !c.forbidden, r.allows(text, "http://a.test"+c.path), "%s of %s", c.path, c.rule)
	}
	// The longer one counts, as both are written when they are compared.
	text := rules{text: distil("User-agent: *\nDisallow: /%61%62%63\nAllow: /abcd\n", r.agent)}
	require.False(t, r.allows(text, "http://a.test/abc"))
	require.True(t, r.allows(text, "http://a.test/abcd"))
	require.False(t, r.allows(text, "http://a.test/%zz"))
	require.True(t, r.allows(text, "http://a.test"))
	require.False(t, r.allows(rules{text: distil("User-agent: *\nDisallow: /", r.agent)}, "http://a.test"))
}

// What is kept of hosts to which redirects lead is bounded; those that have pages are kept.
func TestPassing(t *testing.T) {
	t.Parallel()
	text := "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("private", 1300)+"\n", 30)
	fetches := map[string]int{}
	r := newRobots("my-bot/1", clock.NewReal(), func(_ context.Context, url string) (robotsAnswer, error) {
		fetches[url]++
		return robotsAnswer{status: http.StatusOK, text: text}, nil
	})
	of := func(host string, passing bool) {
		_, _, err := r.of(t.Context(), siteOf("http", host), passing)
		require.NoError(t, err)
	}
	of("own.test", false)
	of("later.test", true)
	r.stays(siteOf("http", "later.test"))
	for k := range 400 {
		of(fmt.Sprintf("%d.test", k), true)
		kept := 0
		for _, known := range r.sites {
			kept += len(known.text)
		}
		require.Less(t, kept, passingBytes+3*len(text))
		require.Positive(t, kept)
	}
	for _, own := range []string{"own.test", "later.test"} {
		of(own, false)
		require.Equal(t, 1, fetches["http://"+own+"/robots.txt"])
	}
	sum := 0
	for _, known := range r.sites {
		if known.passing {
			sum += passingSite + len(known.text)
		}
	}
	require.Equal(t, sum, r.passing)
}

// The robots.txt of http and https count for their own pages, also where a redirect leads from one to the
// other. The host has the longer delay of both.
func TestSchemes(t *testing.T) {
	t.Parallel()
	web := newAsked(newManual(), func(url string) (int, string, string) {
		switch url {
		case "http://a.test/robots.txt":
			return http.StatusOK, "", "User-agent: *\nCrawl-delay: 9"
		case "https://a.test/robots.txt":
			return http.StatusOK, "", "User-agent: *\nDisallow: /private\nCrawl-delay: 5"
		case "http://a.test/old":
			return http.StatusMovedPermanently, "https://a.test/private/new", ""
		}
		return http.StatusOK, "", "a page"
	})
	f := web.fetcher(t, Config{})
	require.NoError(t, f.Poll(t.Context(), 1, "http://a.test/private", nil).Err)
	_, known := f.Allowed("https://a.test/private")
	require.False(t, known)
	res := f.Poll(t.Context(), 1, "https://a.test/private", nil)
	require.True(t, res.Forbidden)
	require.Equal(t, 9*time.Second, res.Delay)
	require.ErrorIs(t, f.Poll(t.Context(), 1, "http://a.test/old", nil).Err, ErrRobots)
	require.Equal(t, 9*time.Second, f.gate.delayOf("a.test"))
	require.Len(t, web.times["http://a.test/robots.txt"], 1)
	require.Len(t, web.times["https://a.test/robots.txt"], 1)
}

// Of a robots.txt that is too long the rules count that are there as a whole.
func TestCutRobots(t *testing.T) {
	t.Parallel()
	const head, last = "User-agent: *\nDisallow: /\n", "\nAllow: /"
	most := head + strings.Repeat("#", robotsBytes-len(head)-len(last)) + last
	for rest, forbidden := range map[string]bool{"public\n": true, "public\r": true, "public": true, "\n": false, "\rDisallow: /": false, "": false} {
		web := newAsked(newManual(), func(string) (int, string, string) { return http.StatusOK, "", most + rest })
		require.Equal(t, forbidden, web.fetcher(t, Config{}).Poll(t.Context(), 1, "http://a.test/p", nil).Forbidden, rest)
	}
}

// A proxy that wants other credentials says nothing of what the host forbids: that holds when it lets requests
// through again.
func TestRobotsBehindAProxyThatRefuses(t *testing.T) {
	t.Parallel()
	c := newManual()
	refuses := true
	web := newAsked(c, func(url string) (int, string, string) {
		switch {
		case refuses:
			return http.StatusProxyAuthRequired, "", ""
		case strings.HasSuffix(url, "/robots.txt"):
			return http.StatusOK, "", "User-agent: *\nDisallow: /private"
		}
		return http.StatusOK, "", "a page"
	})
	f := web.fetcher(t, Config{})
	require.ErrorIs(t, f.Poll(t.Context(), 1, "http://a.test/private", nil).Err, ErrNoRobots)
	refuses = false
	c.pass(robotsRetry)
	require.True(t, f.Poll(t.Context(), 1, "http://a.test/private", nil).Forbidden)
	require.NoError(t, f.Poll(t.Context(), 1, "http://a.test/", nil).Err)
	require.Empty(t, web.times["http://a.test/private"])
}

// A robots.txt in a coding that cannot be read may forbid anything. Only a success is read at all.
func TestCodedRobots(t *testing.T) {
	t.Parallel()
	for coding, want := range map[string]error{
		"br": ErrNoRobots, "X-GZIP": ErrNoRobots, "gzip, zstd": ErrNoRobots, "utf-8": ErrRobots, "identity": ErrRobots, "": ErrRobots,
	} {
		status := http.StatusOK
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Header().Set("Content-Encoding", coding)
				w.WriteHeader(status)
			}
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /")
		}))
		poll := func() error {
			return newTestFetcher(t, Point{Name: "web", Base: http.DefaultTransport}).Poll(t.Context(), 1, web.URL+"/page", nil).Err
		}
		require.ErrorIs(t, poll(), want, coding)
		status = http.StatusNotFound
		require.NoError(t, poll(), coding)
		web.Close()
	}
}

// Whether there is a robots.txt is said by the status. The text of an error page may break off.
func TestRobotsErrorPageBreaksOff(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{http.StatusNotFound: nil, http.StatusInternalServerError: ErrNoRobots, http.StatusOK: ErrNoRobots} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Header().Set("Content-Length", "100")
				w.WriteHeader(status)
			}
			_, _ = io.WriteString(w, "some text")
		}))
		err := newTestFetcher(t, Point{Name: "web", Base: http.DefaultTransport}).Poll(t.Context(), 1, web.URL+"/page", nil).Err
		require.ErrorIs(t, err, want, status)
		web.Close()
	}
}
