package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bodies gives each of them in turn, with an ETag of its own.
func bodies(bodies ...string) *scripted {
	s := new(scripted)
	for i, b := range bodies {
		s.answers = append(s.answers, &answer{status: 200, header: fmt.Sprintf("ETag: %q", fmt.Sprint(i)), body: b})
	}
	return s
}

// polls polls a page until nothing more is scripted, restarting in between, and sends a second
// request where that is asked for, if it may. It returns what was found but for the second copies.
func polls(t *testing.T, transport *Transport, again bool) (found []Poll) {
	s := transport.Base.(*scripted)
	var got Poll
	ctx := t.Context()
	for s.next < len(s.answers) {
		saved, err := transport.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, transport.UnmarshalBinary(saved))
		transport.OnPoll = func(p Poll) { got = p }
		roundTrip(t, transport, get(t, "http://web.test/").WithContext(ctx), -1)
		if ctx == t.Context() {
			found = append(found, Poll{Changed: got.Changed, Minor: got.Minor, First: got.First, Decision: got.Decision})
		} else {
			require.Equal(t, Undecided, got.Decision)
			require.False(t, got.Changed || got.First || got.Again)
			require.Empty(t, s.answers[s.next-1].sent.Get("If-None-Match"), "the copy is needed")
		}
		ctx = t.Context()
		if got.Again && again {
			ctx = Teaching(context.Background())
		}
	}
	return found
}

func clockAt(k int) string { return fmt.Sprintf("<nav>menu</nav><p>It is day %d.<p>Text", k) }

func TestTransportLearns(t *testing.T) {
	t.Parallel()
	var days []string
	for k := range 8 {
		days = append(days, clockAt(k))
	}
	first, same, changed := Poll{First: true}, Poll{Decision: ByContent}, Poll{Changed: true, Decision: ByETag}
	news := append(days, "<nav>menu</nav><p>It is day 8.<p>New", "<nav>other</nav><p>It is day 8.<p>New")
	minor := Poll{Minor: true, Decision: ByContent}

	require.Equal(t, []Poll{first, changed, changed, same, same, same, same, same, changed, minor},
		polls(t, &Transport{Base: bodies(news...)}, false))
	require.Equal(t, []Poll{first, same, same, same, same, same, same, changed, minor},
		polls(t, &Transport{Base: bodies(news...)}, true), "the second copy teaches")
	numbers := polls(t, &Transport{Base: bodies(days...), Numbers: true}, false)
	exact := polls(t, &Transport{Base: bodies(days...), Exact: true}, false)
	for k := range days {
		require.Equal(t, k > 0, numbers[k].Changed)
		require.Equal(t, k > 0, exact[k].Changed)
	}
}

// Without a first copy there is nothing to teach.
func TestTeachingFirst(t *testing.T) {
	t.Parallel()
	var got Poll
	transport := &Transport{Base: bodies("<p>a"), OnPoll: func(p Poll) { got = p }}
	roundTrip(t, transport, get(t, "http://web.test/").WithContext(Teaching(t.Context())), -1)
	require.True(t, got.First)
}

// A caller's own fingerprint decides, and is compared across a restart.
func TestTransportFingerprint(t *testing.T) {
	t.Parallel()
	refused := errors.New("not this one")
	firstLetter := func(resp *http.Response, body []byte) ([]byte, error) {
		require.NotEmpty(t, resp.Header.Get("ETag"))
		if bytes.HasPrefix(body, []byte("x")) {
			return nil, refused
		}
		return body[:1], nil
	}
	found := polls(t, &Transport{Base: bodies("abc", "abd", "bcd", "bce"), Fingerprint: firstLetter}, false)
	require.Equal(t, []Poll{{First: true}, {Decision: ByContent}, {Changed: true, Decision: ByETag}, {Decision: ByContent}}, found)

	var got Poll
	transport := &Transport{Base: bodies("a", "x", "a"), Fingerprint: firstLetter, OnPoll: func(p Poll) { got = p }}
	for _, want := range []error{nil, refused, nil} {
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.ErrorIs(t, got.Err, want)
	}
	require.Equal(t, ByContent, got.Decision, "the copy from before the error is kept")
	require.False(t, got.Changed)
}

// What was remembered in one way is not compared in another.
func TestTransportChangesItsWay(t *testing.T) {
	t.Parallel()
	var got Poll
	base := &scripted{}
	for k := range 6 {
		base.answers = append(base.answers, &answer{status: 200, body: clockAt(k / 2)})
	}
	transport := &Transport{Base: base, OnPoll: func(p Poll) { got = p }}
	for k := range 6 {
		transport.Exact = k/2 == 1
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.Equal(t, k%2 == 0, got.First, "poll %d", k)
		require.False(t, got.Changed, "poll %d", k)
	}
}

// What is learnt of a page outlives an answer to a condition of the caller's own.
func TestLearntOutlivesOwnConditions(t *testing.T) {
	t.Parallel()
	var got Poll
	base := &scripted{}
	for k := range 8 {
		base.answers = append(base.answers, &answer{status: 200, body: clockAt(k)})
	}
	base.answers[5] = &answer{status: 304}
	transport := &Transport{Base: base, OnPoll: func(p Poll) { got = p }}
	for k := range 8 {
		r := get(t, "http://web.test/")
		if k == 5 {
			r.Header.Set("If-None-Match", `"own"`)
			base.answers[k].header = `ETag: "own"`
		}
		roundTrip(t, transport, r, -1)
		require.Equal(t, k == 1 || k == 2, got.Changed, "poll %d", k)
		require.Equal(t, k == 0 || k == 6, got.First, "poll %d", k)
	}
}

// BenchmarkContent measures what a body costs that is compared by its content: the learnt
// fingerprint, and bytes.
func BenchmarkContent(b *testing.B) {
	body := []byte("<html><body>")
	for k := range 2000 {
		body = fmt.Appendf(body, "<div class=\"item item-%d\"><a href=\"/path/%d\">The text of item %d, of usual length.</a></div>\n", k, k, k)
	}
	for _, exact := range []bool{false, true} {
		b.Run(fmt.Sprint("exact=", exact), func(b *testing.B) {
			nonce := 0
			transport := &Transport{Exact: exact, Base: roundTripper(func(r *http.Request) *http.Response {
				nonce++
				all := io.MultiReader(bytes.NewReader(body), bytes.NewReader(fmt.Appendf(nil, "<p>%d", nonce)))
				return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, ContentLength: -1, Body: io.NopCloser(all)}
			})}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				roundTrip(b, transport, get(b, "http://web.test/"), -1)
			}
		})
	}
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// zipped compresses a text.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// A body that comes compressed is handed on as it is, and compared by what is in it.
func TestTransportCompressed(t *testing.T) {
	t.Parallel()
	nonce := func(k int, text string) string { return fmt.Sprintf("<meta name=csrf content=%d><p>%s", k, text) }
	long := "<p>" + strings.Repeat("0123456789abcdef", defaultMaxBytes/16)
	ok := func(body string) *answer {
		return &answer{status: 200, header: "Content-Encoding: GZIP", body: body}
	}
	base := &scripted{answers: []*answer{
		ok(zipped(nonce(1, "one"))), ok(zipped(nonce(2, "one"))), ok(zipped(nonce(3, "two"))),
		ok(zipped(nonce(4, "two"))[:30]), ok(zipped(nonce(5, "two"))), // breaks off
		ok(nonce(6, "two")), ok("<p>two<p>3"), ok("<p>two<p>3"), // not compressed
		ok(zipped(nonce(7, "two<p>four")) + "\n"), ok(zipped(nonce(8, "two")) + zipped("<p>four")), // the second one closed early
		ok(zipped(nonce(8, "two")) + zipped("<p>four") + "\n<p>five"),                   // not of the content
		ok(zipped(nonce(9, "kept"+long))), ok(zipped(nonce(10, "kept"+long+"<p>more"))), // ends elsewhere
	}}
	var got Poll
	transport := &Transport{Base: base, OnPoll: func(p Poll) { got = p }}
	for k, c := range []struct {
		read           int64
		first, changed bool
		err            error
	}{{-1, true, false, nil}, {-1, false, false, nil}, {-1, false, true, nil},
		{-1, false, false, io.ErrUnexpectedEOF}, {-1, false, false, nil},
		{-1, false, false, nil}, {-1, false, true, nil}, {-1, false, false, nil},
		{-1, false, true, nil}, {30, false, false, ErrClosedEarly}, {-1, false, false, nil},
		{-1, false, true, nil}, {-1, false, false, nil}} {
		roundTrip(t, transport, get(t, "http://web.test/"), c.read)
		require.ErrorIs(t, got.Err, c.err, "poll %d", k)
		require.Equal(t, [2]bool{c.first, c.changed}, [2]bool{got.First, got.Changed}, "poll %d", k)
		if c.read < 0 {
			require.Equal(t, int64(len(base.answers[k].body)), got.Bytes)
		}
	}

	// The caller's own fingerprint is given what is in it.
	base = &scripted{answers: []*answer{ok(zipped("one"))}}
	transport = &Transport{Base: base, Fingerprint: func(_ *http.Response, body []byte) ([]byte, error) {
		require.Equal(t, "one", string(body))
		return nil, nil
	}}
	resp, err := transport.RoundTrip(get(t, "http://web.test/"))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, zipped("one"), string(body))
}

// The length of a body is that of its content, whether it came compressed or not.
func TestTransportCompressedSometimes(t *testing.T) {
	t.Parallel()
	body := "<p>one<p>two" + strings.Repeat(" and two", 100) + "<p>three"
	zip := &answer{status: 200, header: "Content-Encoding: gzip", body: zipped(body)}
	plain := &answer{status: 200, body: body}
	var got Poll
	transport := &Transport{Base: &scripted{answers: []*answer{zip, plain, plain, plain, zip}}, OnPoll: func(p Poll) { got = p }}
	for k, c := range []struct {
		read int64
		want Poll
	}{
		{-1, Poll{First: true}},
		{400, Poll{Err: ErrClosedEarly}}, // more than the compressed body has, but half of the content
		{-1, Poll{Decision: ByContent}},
		{400, Poll{Err: ErrClosedEarly}},
		{-1, Poll{Decision: ByContent}},
	} {
		roundTrip(t, transport, get(t, "http://web.test/"), c.read)
		require.Equal(t, c.want, Poll{Changed: got.Changed, First: got.First, Decision: got.Decision, Err: got.Err}, "poll %d", k)
	}
}

// Of a body whose compressed form is longer than what is held, that is compared.
func TestTransportCompressedLong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	random := make([]byte, defaultMaxBytes+1)
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(random)
	text := string(random)
	ok := func(body string) *answer {
		return &answer{status: 200, header: "Content-Encoding: gzip", body: body}
	}
	var got Poll
	transport := &Transport{Exact: true, OnPoll: func(p Poll) { got = p }, Base: &scripted{answers: []*answer{
		ok(zipped(text)), ok(zipped(text)), ok(zipped("x" + text)), ok(text + text),
	}}}
	for k, changed := range []bool{false, false, true} {
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.NoError(t, got.Err)
		require.Equal(t, changed, got.Changed, "poll %d", k)
	}
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.NoError(t, got.Err)
	require.True(t, got.Changed, "it is not compressed")
}

// The block in which a cut copy ends is left out, as the cut may lie elsewhere in the next one.
func TestCutContent(t *testing.T) {
	t.Parallel()
	transport := new(Transport)
	for _, cut := range []bool{true, false} {
		var page validators
		var changed bool
		for _, body := range []string{"<p>one<p>tw", "<p>one<p>twist"} {
			c := transport.newContent(&http.Response{})
			_, err := c.Write([]byte(body))
			require.NoError(t, err)
			_, err = c.end(nil, cut)
			require.NoError(t, err)
			changed = c.compare(transport, &page, page, false).Body
			c.free()
		}
		require.Equal(t, !cut, changed)
	}
}

// site serves a body with an ETag and answers 304 to who names that.
type site struct{ mediaType, body string }

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	etag := fmt.Sprintf(`"%x"`, keyOf(s.body))
	resp := &http.Response{StatusCode: 304, Header: http.Header{"Etag": {etag}, "Content-Type": {s.mediaType}}, Body: http.NoBody, Request: r}
	if r.Header.Get("If-None-Match") != etag {
		resp.StatusCode, resp.ContentLength = 200, int64(len(s.body))
		resp.Body = io.NopCloser(strings.NewReader(s.body))
	}
	return resp, nil
}

// Of a page that is edited in place, and answers 304 while it is not, every edit is reported, and
// nothing else. So it is of other types than HTML.
func TestEditsInPlace(t *testing.T) {
	t.Parallel()
	for mediaType, format := range map[string]string{
		"text/html":             "<h1>Lamp</h1><p>Price: $%d<p>Fine",
		"application/json":      `[{"rendered": "<p>Video<\/p><iframe src=\"x\"><\/iframe>"}, {"price": %d}]`,
		"text/xml":              "<?xml version='1.0'?><Cube><Cube currency='USD' rate='1.%d'/></Cube>",
		"application/xhtml+xml": "<html><head><title>T</title><script src='a.js'/></head><body><p>News %d</p></body></html>",
		"text/plain":            "Maintainer: <john@example.com>\nrelease %d\n",
		"text/csv":              "name,html,price\nLamp,<b>x</b>,%d\n",
		"":                      "%%PDF-1.4\n1 0 obj\n<</Type /Catalog>>\nstream %d\n",
	} {
		var got Poll
		s := &site{mediaType: mediaType}
		transport := &Transport{Base: s, OnPoll: func(p Poll) { got = p }}
		for price := range 30 {
			s.body = fmt.Sprintf(format, 100+price)
			for poll := range 6 {
				roundTrip(t, transport, get(t, "http://web.test/"), -1)
				require.Equal(t, price > 0 && poll == 0, got.Changed, "%s, price %d, poll %d", mediaType, price, poll)
			}
		}
	}
}

// An edit that is taken for noise is reported once it has stayed, even if the answers are 304, to
// conditions of the Transport or of the caller.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		var got Poll
		s := &site{mediaType: "text/html"}
		transport := &Transport{Base: s, OnPoll: func(p Poll) { got = p }}
		etag := `"none"`
		poll := func() {
			r := get(t, "http://web.test/")
			if own {
				r.Header.Set("If-None-Match", etag)
			}
			roundTrip(t, transport, r, -1)
			etag = fmt.Sprintf(`"%x"`, keyOf(s.body))
		}
		for k := range 6 {
			s.body = clockAt(k)
			poll()
		}
		s.body = clockAt(99)
		var changed []int
		for k := range 30 {
			poll()
			if got.Changed {
				require.Equal(t, 304, got.Status)
				require.Equal(t, ByContent, got.Decision)
				changed = append(changed, k)
			}
		}
		require.Equal(t, []int{11}, changed)
	}
}

// A page in JSON that has a time and the identifier of the request in it changes when its content does. A
// second copy teaches that at once.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{false, true} {
		var got Poll
		s := &site{mediaType: "application/json; charset=utf-8"}
		transport := &Transport{Base: s, OnPoll: func(p Poll) { got = p }}
		requests := 0
		fetch := func(poll int, ctx context.Context) {
			requests++
			s.body = fmt.Sprintf(`{"request_id": "%08x-3f2a-4b1c-9d8e-0123456789ab", "generated_at": "2026-09-30T06:%02d:%02dZ", "timestamp": %d.5, "items": [{"price": %d}]}`,
				0x9e3779b9*uint32(requests), poll, requests%60, 1764482400+60*poll+requests, poll/10)
			roundTrip(t, transport, get(t, "http://web.test/").WithContext(ctx), -1)
		}
		for poll := range 60 {
			fetch(poll, t.Context())
			require.Equal(t, poll > 0 && poll%10 == 0 || !second && (poll == 1 || poll == 2), got.Changed, "poll %d", poll)
			require.Equal(t, poll == 0, got.Again)
			if got.Again && second {
				fetch(poll, Teaching(t.Context()))
			}
		}
	}
}

// A value that changes between the first copy and the second one is a change at the next poll, because the
// server is asked about the first one.
func TestChangeInSecondCopy(t *testing.T) {
	t.Parallel()
	copyOf := func(etag string, price int) *answer {
		return &answer{status: 200, header: "Content-Type: application/json; Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT; ETag: " + etag,
			body: fmt.Sprintf(`{"at": %d, "price": %d}`, 1764482400+price, price)}
	}
	s := &scripted{answers: []*answer{copyOf(`"one"`, 1), copyOf(`"two"`, 2), copyOf(`"two"`, 2), {status: 304}}}
	var got Poll
	transport := &Transport{Base: s, OnPoll: func(p Poll) { got = p }}
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.True(t, got.First && got.Again)
	roundTrip(t, transport, get(t, "http://web.test/").WithContext(Teaching(t.Context())), -1)
	require.False(t, got.Changed)
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.Equal(t, `"one"`, s.answers[2].sent.Get("If-None-Match"))
	require.True(t, got.Changed)
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.Equal(t, `"two"`, s.answers[3].sent.Get("If-None-Match"))
	require.False(t, got.Changed)
}

// A change in a second copy is found by the next one where nothing is learnt.
func TestSecondCopyExact(t *testing.T) {
	t.Parallel()
	var got Poll
	transport := &Transport{Base: bodies("<p>old", "<p>new", "<p>new", "<p>new"), Exact: true, OnPoll: func(p Poll) { got = p }}
	for k, want := range []Poll{{First: true}, {}, {Changed: true, Decision: ByETag}, {Decision: ByContent}} {
		r := get(t, "http://web.test/")
		if k == 1 {
			r = r.WithContext(Teaching(t.Context()))
		}
		roundTrip(t, transport, r, -1)
		require.Equal(t, want, Poll{Changed: got.Changed, First: got.First, Decision: got.Decision, Err: got.Err}, "poll %d", k)
	}
}

// A second copy that cannot be compared with the first, as it was closed early or came after a redirect that
// was not followed, teaches nothing: the next poll finds what was new in it.
func TestSecondCopyNotCompared(t *testing.T) {
	t.Parallel()
	page := func(etag, text string) *answer {
		return &answer{status: 200, header: "Content-Type: text/html; ETag: " + etag, body: "<p>" + text}
	}
	for _, first := range []*answer{page(`"one"`, "old"), {status: 302, header: "Location: /moved"}} {
		s := &scripted{answers: []*answer{first, page(`"two"`, "new"), page(`"two"`, "new")}}
		client := &http.Client{
			Transport:     &Transport{Base: s},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		ctx, fetch := Begin(t.Context(), "p")
		require.NoError(t, readAll(ctx, t, client, "http://web.test/"))
		resp, err := client.Do(get(t, "http://web.test/").WithContext(Teaching(ctx)))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.True(t, fetch.End(nil).First)
		require.True(t, fetched(t, client, "http://web.test/", "p").Changed)
		require.NotEqual(t, []string{`"two"`}, s.answers[2].sent["If-None-Match"])
	}
}

// A validator that lied is not named again because the second copy had another one.
func TestSecondCopyAfterLies(t *testing.T) {
	t.Parallel()
	copyOf := func(etag, text string) *answer {
		return &answer{status: 200, header: "Content-Type: text/html; ETag: " + etag, body: "<p>" + text}
	}
	s := &scripted{answers: []*answer{copyOf(`"one"`, "old"), copyOf(`"one"`, "new"), copyOf(`"two"`, "new"), copyOf(`"one"`, "newer")}}
	var got Poll
	transport := &Transport{Base: s, OnPoll: func(p Poll) { got = p }}
	for range 2 {
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
	}
	require.True(t, got.Changed)
	roundTrip(t, transport, get(t, "http://web.test/").WithContext(Teaching(t.Context())), -1)
	roundTrip(t, transport, get(t, "http://web.test/"), -1)
	require.Empty(t, s.answers[3].sent.Get("If-None-Match"))
	require.True(t, got.Changed)
}
