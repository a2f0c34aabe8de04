package input

import (
	"strconv"
	"strings"
)

// reserved are the characters that mean one thing as they are and another with an escape.
const reserved = ":/?#[]@!$&'()*+,;="

// escapes writes each octet of a path or query in one way: escapes in capitals, unreserved characters
// without one (RFC 3986, section 6.2.2), and what must not be in a URL with one: blanks, octets above 0x7f
// and a % that begins no escape, too. Reserved characters stay as they are, and so do escapes such as %u4e2d,
// which are no standard: the servers that read them do not take %25u4e2d for the same. It may be called for a whole URL,
// to find out whether it would change anything.
func escapes(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	done := 0 // what comes before is in b
	for i := 0; i < len(text); i++ {
		c, end := text[i], i+1
		if unreserved(c) || strings.IndexByte(reserved, c) >= 0 {
			continue
		}
		if old(text[i:]) {
			i += len("%u4e2d") - 1
			continue
		}
		octet, escaped := unescape(text[i:])
		if escaped {
			c, end = octet, i+3
		}
		as := []byte{'%', digits[c>>4], digits[c&15]}
		if unreserved(c) {
			as = []byte{c}
		}
		if text[i:end] != string(as) {
			b.WriteString(text[done:i])
			b.Write(as)
			done = end
		}
		i = end - 1
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// unescape returns the octet that an escape at the beginning of a text stands for.
func unescape(text string) (octet byte, ok bool) {
	if len(text) < 3 || text[0] != '%' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[1:3], 16, 8)
	return byte(n), err == nil
}

// old reports whether a text begins with an escape of the function escape in JavaScript, as queries of old sites
// have them. A path that has one is no URL.
func old(text string) bool {
	if len(text) < len("%u4e2d") || text[:2] != "%u" {
		return false
	}
	_, err := strconv.ParseUint(text[2:len("%u4e2d")], 16, 16)
	return err == nil
}

// Respell returns a URL that [Clean] of an earlier version returned as it returns it now.
func Respell(url string) string {
	if escapes(url) == url {
		return url
	}
	if clean, err := Clean(url); err == nil {
		return clean
	}
	return url
}
