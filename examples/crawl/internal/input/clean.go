package input

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// ErrURL reports a URL that cannot be crawled.
var ErrURL = errors.New("not an absolute http or https URL")

// LongestURL is the length of the longest URL that is crawled, in bytes: that of -frontier. Each URL
// is part of records of the log, which have a limit.
const LongestURL = 16 << 10

// Clean returns a URL as the crawler knows it: without fragment and password, without "." and ".."
// in its path, with escapes for what needs them and for nothing else, at most LongestURL long, and with the
// host as [Host] returns it. Two spellings of a URL that differ in these are one page.
func Clean(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > LongestURL {
		return "", fmt.Errorf("%.100q…: %w, it has %d bytes, at most %d are taken", raw, ErrURL, len(raw), LongestURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("%q: %w", raw, ErrURL)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q: %w", raw, ErrURL)
	}
	if u.Host, err = Host(u); err != nil {
		return "", fmt.Errorf("%q: %w: %w", raw, ErrURL, err)
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	path := u.RawPath // net/url would make / of %2F where anything else has no escape and needs one
	if path == "" {
		path = u.EscapedPath()
	}
	if path = escapes(path); strings.Contains(path, "/.") {
		path = RemoveDots(path)
	}
	if path == "" {
		path = "/"
	}
	if u.Path, err = url.PathUnescape(path); err != nil {
		return "", fmt.Errorf("%q: %w", raw, ErrURL)
	}
	u.RawPath, u.RawQuery = path, escapes(u.RawQuery)
	clean := u.String()
	if len(clean) > LongestURL { // escapes make it longer
		return "", fmt.Errorf("%.100q…: %w, it has %d bytes, at most %d are taken", raw, ErrURL, len(clean), LongestURL)
	}
	return clean, nil
}

// Host returns the host of a URL with its port, such that all spellings of a host are one: in small
// letters, in ASCII (RFC 5891), without the dot at the end, without the usual port of the scheme and
// zeros before another, and with an IP address as package netip writes it. What looks like an IPv4
// address and is not written in the usual way, as 127.1, is an error.
func Host(u *url.URL) (string, error) {
	name, port := u.Hostname(), u.Port()
	if !strings.Contains(name, ":") {
		name = strings.ToLower(name)
		if !ascii(name) {
			var err error
			if name, err = idna.Lookup.ToASCII(name); err != nil {
				return "", err
			}
		}
		name = strings.TrimSuffix(name, ".")
	}
	if ip, err := netip.ParseAddr(name); err == nil && zoned.MatchString(ip.Zone()) {
		if name = ip.Unmap().String(); strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
	} else if label := name[strings.LastIndexByte(name, '.')+1:]; strings.Contains(name, ":") || numeric(label) {
		return "", fmt.Errorf("%q is not an IP address", name)
	}
	switch {
	case name == "":
		return "", errors.New("the host has no name")
	case strings.HasSuffix(name, "."), // it had two, and would be another host without the second
		strings.Contains(u.Hostname(), "]"): // and so it would be without that
		return "", fmt.Errorf("%q is no name of a host", u.Hostname())
	}
	if port == "" {
		return name, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 0:
		return "", fmt.Errorf("%q is not a port", port)
	case u.Scheme == "http" && n == 80, u.Scheme == "https" && n == 443:
		return name, nil
	}
	return net.JoinHostPort(strings.Trim(name, "[]"), strconv.FormatUint(n, 10)), nil
}

// zoned matches zones of IPv6 addresses that can be written in a URL and read again, and none.
var zoned = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7f }) < 0
}

// numeric reports whether the last label of a name is a number, of which some resolvers make an
// address. No domain has such a name.
func numeric(label string) bool {
	if _, err := strconv.ParseUint(strings.TrimPrefix(label, "0x"), 16, 64); err == nil && strings.HasPrefix(label, "0x") {
		return true
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// KeepUser gives a URL without a user the user and password of another, if that is at the same host by the same
// scheme.
func KeepUser(to, from *url.URL) {
	host, err := Host(to)
	before, wrong := Host(from)
	if to.User == nil && to.Scheme == from.Scheme && err == nil && wrong == nil && host == before {
		to.User = from.User
	}
}

// RemoveDots resolves "." and ".." in a path with its escapes (RFC 3986, section 5.2.4). A dot may
// be escaped.
func RemoveDots(path string) string {
	segments := strings.Split(path, "/")
	kept := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case ".":
			if last {
				kept = append(kept, "")
			}
		case "..":
			if len(kept) > 1 { // the first is what is before the first slash
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "/")
}
