package fetch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		"User-agent: *\nCrawl-delay: minus\nCrawl-delay: -4":                                   0,
		"User-agent: my-bot\nDisallow: /a\nUser-agent: other\nDisallow: /\nCrawl-delay: 8":     0,
	} {
		require.Equal(t, want, crawlDelay(text, productToken("my-bot/1 (+https://example.org)")), text)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	r := newRobots("my-bot/1 (+https://example.org)", nil, nil)
	text := rules{text: "User-agent: *\nDisallow: /\n\nUser-agent: my-bot\nDisallow: /private\nAllow: /private/open\n"}
	require.True(t, r.allows(text, "http://a.test/x"))
	require.False(t, r.allows(text, "http://a.test/private/x"))
	require.True(t, r.allows(text, "http://a.test/private/open"))
	require.False(t, r.allows(rules{barred: true}, "http://a.test/x"))
	require.True(t, r.allows(rules{}, "http://a.test/x"))
}
