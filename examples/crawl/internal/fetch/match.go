package fetch

import (
	"net/url"
	"strings"

	"github.com/jimsmart/grobotstxt"

	"github.com/recrawl/recrawl/examples/crawl/internal/input"
)

// longest finds the longest rule of a robots.txt that a page matches. Paths and rules are compared
// once all spellings of an octet are one (RFC 9309, section 2.2.2), for which the library leaves
// paths as they are.
type longest struct {
	path string // of the page, as comparablePath returns it
}

// MatchAllow implements [grobotstxt.MatchStrategy].
func (l longest) MatchAllow(_, rule string) int { return l.match(rule) }

// MatchDisallow implements [grobotstxt.MatchStrategy].
func (l longest) MatchDisallow(_, rule string) int { return l.match(rule) }

// match returns the length of a rule, or −1 if the page does not match it.
func (l longest) match(rule string) int {
	rule = comparableRule(rule)
	if !grobotstxt.Matches(l.path, rule) {
		return -1
	}
	return len(rule)
}

// comparablePath returns the path and query of a page, as they are compared with rules.
func comparablePath(u *url.URL) string {
	path, query := octets(u.EscapedPath(), ""), ""
	if path = input.RemoveDots(path); path == "" {
		path = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		query = "?" + octets(u.RawQuery, "")
	}
	return path + query
}

// comparableRule returns a rule likewise. In it * matches anything, and $ at the end nothing more.
func comparableRule(rule string) string {
	rule, end := strings.CutSuffix(rule, "$")
	rule = octets(rule, "*")
	if i := strings.LastIndexByte(rule, '/'); i >= 0 && !strings.Contains(rule, "*") {
		rule = input.RemoveDots(rule[:i+1]) + rule[i+1:] // what follows is the beginning of a name
	}
	if end {
		rule += "$"
	}
	return rule
}

// capitals writes escapes with capital letters: the library, which would do that, makes other octets
// of the digits in those that have both.
func capitals(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	b := []byte(text)
	for i := range b {
		if i >= 1 && b[i-1] == '%' || i >= 2 && b[i-2] == '%' {
			b[i] = upper(b[i])
		}
	}
	return string(b)
}

const (
	unreserved = "-._~"
	reserved   = ":/?#[]@!&'()+,;="
)

// octets writes each octet of a path in one way: those that need no escape without, those that mean
// something as they are, and all others, * and $ too, with an escape in capitals. Some may be kept.
func octets(path, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			high, low := strings.IndexByte(digits, upper(path[i+1])), strings.IndexByte(digits, upper(path[i+2]))
			if high >= 0 && low >= 0 {
				c, escaped = byte(high<<4|low), true
				i += 2
			}
		}
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(unreserved, c) >= 0,
			!escaped && strings.IndexByte(reserved+keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'f' {
		return c - 'a' + 'A'
	}
	return c
}
