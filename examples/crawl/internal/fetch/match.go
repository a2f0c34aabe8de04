package fetch

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/jimsmart/grobotstxt"

	"github.com/recrawl/recrawl/examples/crawl/internal/input"
)

// distil returns the rules of a robots.txt that count for an agent: those of its own groups, else of those for
// all. Each is a line: "+" or "-", as it allows or forbids, and the rule as [comparableRule] returns it. So a
// page is compared with little text, and that is not parsed at each poll.
func distil(text, agent string) string {
	d := distilled{section: section{agent: agent}}
	grobotstxt.Parse(capitals(text), &d)
	if d.named {
		return strings.Clone(d.own.String()) // without the room for more
	}
	return strings.Clone(d.all.String())
}

// A section follows whom the lines of a robots.txt are for as it is parsed, by the rules of
// [grobotstxt.RobotsMatcher].
type section struct {
	agent          string
	named          bool // there is a group for the agent
	forOwn, forAll bool // the group that is being read
	ends           bool // the next User-agent begins another
}

func (s *section) HandleUserAgent(_ int, value string) {
	if s.ends {
		s.forOwn, s.forAll, s.ends = false, false, false
	}
	switch token := value[:len(value)-len(strings.TrimLeftFunc(value, isToken))]; {
	case value == "*", strings.HasPrefix(value, "*") && unicode.IsSpace(rune(value[1])):
		s.forAll = true
	case strings.EqualFold(token, s.agent):
		s.forOwn, s.named = true, true
	}
}

func (*section) HandleRobotsStart()        {}
func (*section) HandleRobotsEnd()          {}
func (*section) HandleSitemap(int, string) {}

// distilled takes the rules out of a robots.txt as it is parsed.
type distilled struct {
	section
	own, all strings.Builder
}

func (d *distilled) HandleUnknownAction(int, string, string) {}

// isToken reports whether a character may be in the name of an agent, as the library has it.
func isToken(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("~#$%'*+-.^_`|", c)
}

func (d *distilled) HandleAllow(_ int, value string) {
	d.add('+', value)
	if slash := strings.LastIndexByte(value, '/'); slash >= 0 && strings.HasPrefix(value[slash:], "/index.htm") {
		d.add('+', value[:slash+1]+"$") // such a page is that of its folder
	}
}

func (d *distilled) HandleDisallow(_ int, value string) { d.add('-', value) }

func (d *distilled) add(sign byte, rule string) {
	if !d.forOwn && !d.forAll {
		return
	}
	d.ends = true
	to := &d.own
	if !d.forOwn {
		to = &d.all
	}
	if rule = comparableRule(rule); rule != "" { // one without a path is about nothing
		to.WriteByte(sign)
		to.WriteString(rule)
		to.WriteByte('\n')
	}
}

// mostSteps is the work of a comparison of one page with all rules, in bytes that are looked at: some
// milliseconds. With 1,000 rules that have a *, that is enough for a URL of the longest kind.
const mostSteps = 16 << 20

// A comparison compares a page with rules.
type comparison struct {
	path  string // as comparablePath returns it
	steps int    // bytes looked at
}

// allowed reports whether the longest rule that a page matches allows it, or none forbids it. A page for which
// that cannot be found out in mostSteps is not allowed.
func (c *comparison) allowed(rules string) bool {
	allow, forbid := 0, 0
	for line := range strings.Lines(rules) {
		sign, rule := line[0], line[1:len(line)-1]
		if c.steps > mostSteps {
			return false
		}
		switch {
		case !c.matches(rule):
		case sign == '+':
			allow = max(allow, len(rule))
		default:
			forbid = max(forbid, len(rule))
		}
	}
	return forbid <= allow
}

// matches reports whether the page matches a rule. What is between two * is where it comes first: so the page
// is gone through once.
func (c *comparison) matches(rule string) bool {
	rule, end := strings.CutSuffix(rule, "$")
	part, rest, star := strings.Cut(rule, "*")
	c.steps += len(rule)
	path, ok := strings.CutPrefix(c.path, part)
	if !star {
		return ok && (!end || path == "")
	}
	for ok && star {
		if part, rest, star = strings.Cut(rest, "*"); !star && end {
			return strings.HasSuffix(path, part)
		}
		at := strings.Index(path, part)
		if ok = at >= 0; ok {
			c.steps += at + len(part)
			path = path[at+len(part):]
		} else {
			c.steps += len(path)
		}
	}
	return ok
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
	path, _, _ := strings.Cut(rule, "?")
	if i := strings.LastIndexByte(path, '/'); i >= 0 && !strings.Contains(rule, "*") {
		rule = input.RemoveDots(rule[:i+1]) + rule[i+1:] // what follows is the beginning of a name, or a query
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
