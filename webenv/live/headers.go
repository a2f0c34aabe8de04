package live

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// seconds reads a number of seconds in a header (RFC 9111, section 1.2.2), and reports whether it
// is one. A number that is too large becomes the largest duration.
func seconds(text string) (time.Duration, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}

// RetryAfter returns the time in the header Retry-After of an answer that came now, or the zero
// time if there is none. It is for requests without a Transport, such as those for robots.txt;
// Poll.RetryAfter is the same. The time is as the server stated it and may be centuries ahead. A
// date is read by the server's clock, which the header Date shows.
func RetryAfter(h http.Header, now time.Time) time.Time {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := seconds(text); ok {
		return now.Add(d)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return time.Time{}
	}
	return now.Add(until.Sub(dateOf(h, now)))
}

// dateOf returns the Date of an answer, now if there is none.
func dateOf(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// freshness returns how much longer an answer that came now is fresh in a private cache (RFC 9111,
// section 4.2). It returns 0 if the answer does not say.
func freshness(h http.Header, now time.Time) time.Duration {
	lifetime, explicit := time.Duration(0), false
	for name, value := range directives(h) {
		switch name {
		case "no-store":
			return 0
		case "no-cache":
			if value == "" { // with a value, no-cache is only about the headers named
				return 0
			}
		case "max-age":
			if explicit { // given twice, so it is unclear which one is valid
				return 0
			}
			lifetime, _ = seconds(value)
			explicit = true
		}
	}
	if expires := h.Get("Expires"); !explicit && expires != "" {
		if t, err := http.ParseTime(expires); err == nil {
			lifetime = t.Sub(dateOf(h, now))
		}
	}
	age, _ := seconds(h.Get("Age"))
	return max(max(lifetime, 0)-age, 0) // the inner max: the least lifetime minus age would wrap round
}

// directives yields the directives of Cache-Control, their names in small letters and their values
// without quotes.
func directives(h http.Header) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		rest := strings.Join(h["Cache-Control"], ",")
		for rest != "" {
			quoted := false
			end := strings.IndexFunc(rest, func(c rune) bool {
				if c == '"' {
					quoted = !quoted
				}
				return c == ',' && !quoted
			})
			var one string
			if end < 0 {
				one, rest = rest, ""
			} else {
				one, rest = rest[:end], rest[end+1:]
			}
			name, value, _ := strings.Cut(one, "=")
			if !yield(strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(value), `"`)) {
				return
			}
		}
	}
}
