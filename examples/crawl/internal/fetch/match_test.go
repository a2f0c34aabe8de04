package fetch

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
	"github.com/stretchr/testify/require"
)

// longest has the library choose and match the rules, for a path that is compared as ours are.
type longest struct{ path string }

func (l longest) MatchAllow(_, rule string) int    { return l.match(rule) }
func (l longest) MatchDisallow(_, rule string) int { return l.match(rule) }

func (l longest) match(rule string) int {
	if rule = comparableRule(rule); grobotstxt.Matches(l.path, rule) {
		return len(rule)
	}
	return -1
}

// Whatever a robots.txt has, the library finds the same of a page.
func TestLikeTheLibrary(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 12))
	drawn := func(n int, from ...string) (text string) {
		for range rng.IntN(n) {
			text += from[rng.IntN(len(from))]
		}
		return text
	}
	agents := []string{"*", "* all", "*bot", "my-bot", "MY-BOT/2.0", "my-bot2", "my-bot x", "other", ""}
	path := []string{"a", "b", "/", "*", "$", "%2A", "index.html", "\u00fc"}
	results := map[bool]int{}
	for range 20_000 {
		var text string
		for range rng.IntN(8) {
			switch rng.IntN(6) {
			case 0, 1:
				text += "User-agent: " + agents[rng.IntN(len(agents))] + "\n"
			case 2:
				text += drawn(2, "Crawl-delay: 5\n", "Sitemap: http://a.test/map\n", "\n", "nonsense\n")
			case 3:
				text += "Allow: " + drawn(2, "/") + drawn(6, path...) + "\n"
			default:
				text += "Disallow: " + drawn(2, "/") + drawn(6, path...) + "\n"
			}
		}
		page := "http://a.test/" + drawn(6, "a", "b", "/", "*", "$", "%2a", "index.html", "\u00fc", "?")
		u, err := url.Parse(page)
		require.NoError(t, err)
		m := grobotstxt.NewRobotsMatcher()
		m.MatchStrategy = longest{comparablePath(u)}
		want := m.AgentAllowed(text, "my-bot", page)
		c := comparison{path: comparablePath(u)}
		require.Equal(t, want, c.allowed(distil(text, "my-bot")), "%s of %q", page, text)
		results[want]++
	}
	require.Greater(t, min(results[true], results[false]), 500)
}

// Dots are resolved in the path of a rule, and not in its query, where they are part of the text.
func TestDotsOfARule(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"/a/../b":         "/b",
		"/a/./":           "/a/",
		"/go?to=/../x":    "/go?to=/../x",
		"/a/../go?to=/./": "/go?to=/./",
		"/a/.":            "/a/.",
	} {
		require.Equal(t, want, comparableRule(rule), rule)
	}
}

// A rule costs no more than the bytes of the rule and of the page's path, however many * it has.
func TestStepsOfARule(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 1000, 10_000} {
		path := "/" + strings.Repeat("a", n)
		for _, rule := range []string{
			"/" + strings.Repeat("*a", n) + "b", "/" + strings.Repeat("*a", n/2) + "*b*", "/" + strings.Repeat("*", n) + "b$", strings.Repeat("*aa", n/3),
			"/*" + strings.Repeat("a", n/2) + "b", path + "$", "/" + strings.Repeat("*a", n) + "$",
		} {
			c := comparison{path: path}
			c.matches(rule)
			require.LessOrEqual(t, c.steps, len(rule)+2*len(path), rule[:9])
			require.GreaterOrEqual(t, c.steps, len(rule)-1)
		}
	}
}

// All rules together cost no more than a bound, and a page that would take more is not asked for. An honest
// robots.txt is far from it.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("a", 16<<10)
	costly := distil("User-agent: *\n"+strings.Repeat("Allow: *b\n", robotsBytes/10), "my-bot")
	for path, allowed := range map[string]bool{"/a": true, long: false} {
		c := comparison{path: path}
		require.Equal(t, allowed, c.allowed(costly))
		require.LessOrEqual(t, c.steps, mostSteps+len(path)+10)
	}
	honest := distil("User-agent: *\n"+strings.Repeat("Disallow: /*?session=\nAllow: /folder/\n", 500), "my-bot")
	c := comparison{path: long}
	require.True(t, c.allowed(honest))
	c = comparison{path: long[:100]}
	require.True(t, c.allowed(honest))
	require.Less(t, c.steps, 100_000)
}
