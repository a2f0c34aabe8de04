package input

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// All spellings of an octet are one, and what may not be in a URL has an escape.
func TestEscapes(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]string{
		"/~user":            {"/~user", "/%7Euser", "/%7euser", "/%7e%75%73%65%72"},
		"/%C3%A9":           {"/é", "/%C3%A9", "/%c3%a9", "/%c3\xa9"},
		"/a/c":              {"/a/b/../c", "/a/b/%2e%2E/c", "/a/%2E/c"},
		"/a%20b":            {"/a b", "/a%20b"},
		"/a%2Fb%20c":        {"/a%2Fb c", "/a%2fb%20c"},
		"/a(b)%20c":         {"/a(b) c", "/a(b)%20c"},
		"/a%28b":            {"/a%28b"},
		"/a[b]!$&'*+,;=:@":  {"/a[b]!$&'*+,;=:@"},
		"/%22%3C%3E%5C%5E":  {`/"<>\^`, "/%22%3c%3e%5c%5e"},
		"/%60%7B%7C%7D":     {"/`{|}"},
		"/?q=a%20b&r=%C3":   {"/?q=a b&r=\xc3", "/?q=%61 b&r=%c3"},
		"/?q=%22%3C%3E%60":  {"/?q=\"<>`"},
		"/?a[]=1&b=/?:@+'*": {"/?a[]=1&b=/?:@+'*"},
		"/?a%5B%5D=%2B%26":  {"/?a%5b%5D=%2b%26"},
		"/?../%25":          {"/?../%25", "/?%2e%2e/%25"},
		"/?q=100%25":        {"/?q=100%", "/?q=100%25"},
		"/?%25zz%25A":       {"/?%zz%25A", "/?%zz%%41"},
		"/?q=%u4e2d&%25u4e": {"/?q=%u4e2d&%u4e", "/?q=%u4e2d&%25u4e"},
		"/?%25u4e2d":        {"/?%25u4e2d"},
		"/?":                {"/?"},
	} {
		for _, raw := range append(all, want) {
			clean, err := Clean("http://a.test" + raw)
			require.NoError(t, err, raw)
			require.Equal(t, "http://a.test"+want, clean, raw)
			require.Equal(t, clean, Respell("http://a.test"+want))
		}
	}
	for _, bad := range []string{"/a\tb", "/?q=a\nb", "/?q=\x00", "/?q=\x7f", "/%zz", "/%2"} {
		_, err := Clean("http://a.test" + bad)
		require.ErrorIs(t, err, ErrURL, bad)
	}
	for from, want := range map[string]string{
		"http://a.test/%7euser?q=a b": "http://a.test/~user?q=a%20b",
		"[fe80::1%25eth0]":            "[fe80::1%25eth0]",
		"[fe80::1%25%7E]:80":          "[fe80::1%25%7E]:80", // a host, and no URL
		"http://a.test/%zz":           "http://a.test/%zz",  // no version returned that
	} {
		require.Equal(t, want, Respell(from))
	}
}

// What Clean returns it returns again. It can be sent in a request, and names the same page.
func TestCleanIsSent(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"/", "/", "?", "#", "a", "B", "7e", "c3", ".", "..", "~", " ", "%", "%", "%2", "%20", "%2e", "%2F", "%u4e2d", "%u4e", "%7E", "%c3", "%C3%A9", "%25", "é", "\xff",
		`"`, "<", "`", "{", "|", "^", `\`, "[", "]", "(", "*", "+", "&", "=", ";", ":", "@", "'", "\t", "\x7f", "\u00a0",
	})
	rapid.Check(t, func(t *rapid.T) {
		raw := "http://a.test" + rapid.SampledFrom([]string{"/", "?"}).Draw(t, "begin") + strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		clean, err := Clean(raw)
		if err != nil {
			return
		}
		again, err := Clean(clean)
		require.NoError(t, err)
		require.Equal(t, clean, again)
		require.Equal(t, clean, Respell(clean))

		r, err := http.NewRequest(http.MethodGet, clean, nil)
		require.NoError(t, err)
		var sent bytes.Buffer
		require.NoError(t, r.Write(&sent))
		got, err := http.ReadRequest(bufio.NewReader(&sent))
		require.NoError(t, err)
		require.Equal(t, clean, "http://a.test"+got.RequestURI)
		require.NotContains(t, got.RequestURI, " ")
		require.True(t, ascii(got.RequestURI))

		u, err := url.Parse(strings.TrimSpace(raw))
		require.NoError(t, err)
		require.Equal(t, meant(u.RawQuery), meant(got.URL.RawQuery))
		if !strings.Contains(u.Path, "/.") {
			require.Equal(t, "/"+strings.TrimPrefix(u.Path, "/"), got.URL.Path)
		}
	})
}

// meant returns a text without its escapes.
func meant(text string) string {
	var b []byte
	for i := 0; i < len(text); i++ {
		c, ok := unescape(text[i:])
		if ok {
			i += 2
		} else {
			c = text[i]
		}
		b = append(b, c)
	}
	return string(b)
}
