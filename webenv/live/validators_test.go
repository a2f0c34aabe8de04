package live

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stuck is a server whose page has validators, 304 for who names one unless it is deaf, and a text.
type stuck struct {
	etag, modified, text string
	deaf                 bool
	foreign              string // the ETag of an answer 304, if not that of the page
	asked                []bool // with a condition
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	match, since := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")
	s.asked = append(s.asked, match != "" || since != "")
	a := answer{status: http.StatusOK, body: s.text}
	header := http.Header{}
	if s.etag != "" {
		header.Set("ETag", s.etag)
	}
	if s.modified != "" {
		header.Set("Last-Modified", s.modified)
	}
	if (match != "" && (match == s.etag || s.foreign != "") || match == "" && since != "" && since == s.modified) && !s.deaf {
		a = answer{status: http.StatusNotModified}
		if s.foreign != "" {
			header.Set("ETag", s.foreign)
		}
	}
	return &http.Response{StatusCode: a.status, Header: header, Request: r, ContentLength: -1, Body: a.reader()}, nil
}

// polling returns a function that polls a page of a server, which must not fail, and saves and
// restores what is remembered of it.
func (s *stuck) polling(t *testing.T, exact bool) func() Poll {
	var got Poll
	reports := 0
	transport := &Transport{Base: s, Exact: exact, OnPoll: func(p Poll) { got = p; reports++ }}
	return func() Poll {
		reports = 0
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.NoError(t, got.Err)
		require.Equal(t, 1, reports)
		data, err := transport.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, transport.UnmarshalBinary(data))
		return got
	}
}

// A copy is fetched whatever a date says after 1, 2, 4, … 64 answers 304, and then after each 64,
// and whatever an ETag says after each 64. A change that it hides is found then, and all that follow
// at once, until it moves.
func TestTransportDoubtsValidators(t *testing.T) {
	t.Parallel()
	const monday, tuesday = "Mon, 01 Jan 2001 00:00:00 GMT", "Tue, 02 Jan 2001 00:00:00 GMT"
	for _, c := range []struct {
		name       string
		web, moved stuck
		exact      bool
	}{
		{"date", stuck{modified: monday}, stuck{modified: tuesday}, false},
		{"date, exact", stuck{modified: monday}, stuck{modified: tuesday}, true},
		{"etag", stuck{etag: `"a"`}, stuck{etag: `"b"`}, false},
		{"etag, exact", stuck{etag: `"a"`}, stuck{etag: `"b"`}, true},
		{"both", stuck{etag: `"a"`, modified: monday}, stuck{etag: `"b"`, modified: monday}, false},
		{"the date moves", stuck{etag: `"a"`, modified: monday}, stuck{etag: `"a"`, modified: tuesday}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &c.web
			server.text = "<p>one"
			poll := server.polling(t, c.exact)
			var copies []int
			for k := range 270 {
				require.False(t, poll().Changed)
				if !server.asked[k] {
					copies = append(copies, k)
				}
			}
			want, left := []int{0, 2, 5, 10, 19, 36, 69, 134, 199, 264}, 59
			if server.etag != "" {
				want, left = []int{0, 65, 130, 195, 260}, 55
			}
			require.Equal(t, want, copies)

			server.text = "<p>two"
			hidden := 0
			for hidden < 100 && !poll().Changed {
				hidden++
			}
			require.Equal(t, left, hidden, "until 64 answers 304")
			for k := range 4 {
				for range 3 {
					require.False(t, poll().Changed)
				}
				server.text += "<p>la" + strings.Repeat(" la", k)
				p := poll()
				require.True(t, p.Changed, "change %d", k)
				if c.name != "the date moves" {
					require.Equal(t, ByContent, p.Decision)
				}
			}

			server.etag, server.modified, server.text = c.moved.etag, c.moved.modified, "<p>another"
			require.True(t, poll().Changed)
			require.False(t, server.asked[len(server.asked)-1])
			require.False(t, poll().Changed)
			require.Equal(t, c.name != "the date moves", server.asked[len(server.asked)-1], "the validator is named again")
		})
	}
}

// An ETag that stays hides no change from who holds both copies.
func TestTransportStuckETag(t *testing.T) {
	t.Parallel()
	for _, etag := range []string{`"x"`, `W/"x"`} {
		for _, exact := range []bool{false, true} {
			server := &stuck{etag: etag, deaf: true, text: "<p>text"}
			poll := server.polling(t, exact)
			for k := range 100 {
				p := poll()
				require.Equal(t, k > 0, p.Changed, "poll %d", k)
				require.Equal(t, k == 0, p.First)
				require.Equal(t, k == 1, server.asked[k], "it lies")
				server.text += fmt.Sprintf("<p>more of it %d", k)
			}
		}
	}
}

// A validator that lies is not named after a second copy either, so no change is hidden then.
func TestTransportSecondCopyKeepsDoubt(t *testing.T) {
	t.Parallel()
	for _, server := range []*stuck{{etag: `"x"`}, {etag: `W/"x"`}, {modified: "Mon, 01 Jan 2001 00:00:00 GMT"}} {
		var got Poll
		transport := &Transport{Base: server, OnPoll: func(p Poll) { got = p }}
		poll := func(ctx context.Context) {
			server.text += fmt.Sprintf("<p>more of it %d", len(server.asked))
			roundTrip(t, transport, get(t, "http://web.test/").WithContext(ctx), -1)
			require.NoError(t, got.Err)
		}
		poll(t.Context())
		server.deaf = true // for once, so that the lie is found
		poll(t.Context())
		server.deaf = false
		for range 20 {
			poll(t.Context())
			require.True(t, got.Changed)
			poll(Teaching(t.Context()))
			require.Equal(t, Undecided, got.Decision)
		}
	}
}

// Second copies, which come seconds after the first, earn a date no trust: as before, a copy is fetched after the
// first answer 304.
func TestTransportSecondCopyEarnsNoTrust(t *testing.T) {
	t.Parallel()
	server := &stuck{modified: "Mon, 01 Jan 2001 00:00:00 GMT", text: "<p>text"}
	transport := &Transport{Base: server}
	poll := func(ctx context.Context) {
		roundTrip(t, transport, get(t, "http://web.test/").WithContext(ctx), -1)
	}
	poll(t.Context())
	for range 5 {
		poll(Teaching(t.Context()))
	}
	server.asked = nil
	poll(t.Context())
	poll(t.Context())
	require.Equal(t, []bool{true, false}, server.asked)
}

// The copies of a weak ETag may differ in noise. No copy is fetched to see that, and what comes
// anyway is compared as contents are.
func TestTransportWeakETag(t *testing.T) {
	t.Parallel()
	server := &stuck{etag: `W/"x"`}
	poll := server.polling(t, false)
	for k := range 300 {
		server.text = clockAt(k)
		require.False(t, poll().Changed)
		require.Equal(t, k > 0, server.asked[k])
	}
	server.deaf = true
	changed := 0
	for k := range 40 {
		server.text = clockAt(300 + k)
		if poll().Changed {
			changed++
		}
	}
	require.LessOrEqual(t, changed, 3, "a text that stayed for long is no noise, and then until the clock is learnt")
	server.text += "<p>New"
	require.True(t, poll().Changed)
}

// A change that is reported late, at a copy that is the same, is no lie of the ETag.
func TestTransportLateIsNoLie(t *testing.T) {
	t.Parallel()
	server := &stuck{}
	poll := server.polling(t, false)
	for k := range 7 {
		server.etag, server.text = fmt.Sprintf("%q", fmt.Sprint(k)), clockAt(k)
		poll()
	}
	server.deaf = true
	var late []int
	for k := range 30 {
		if poll().Changed {
			late = append(late, k)
		}
		require.True(t, server.asked[len(server.asked)-1])
	}
	require.Equal(t, []int{10}, late)
}

// A change that is reported late is decided by the contents, though the ETag and the date move at each
// answer.
func TestTransportLateWhereNamesMove(t *testing.T) {
	t.Parallel()
	for _, dates := range []bool{false, true} {
		server := &stuck{}
		poll := server.polling(t, false)
		var found []string
		for k := range 30 {
			name := time.Unix(1e9+int64(k), 0).UTC().Format(http.TimeFormat)
			if server.modified = name; !dates {
				server.etag, server.modified = fmt.Sprintf("%q", name), ""
			}
			server.text = clockAt(min(k, 7))
			if p := poll(); p.Changed {
				found = append(found, fmt.Sprint(k, p.Decision))
			}
		}
		name := map[bool]string{false: "etag", true: "last-modified"}[dates]
		require.Equal(t, []string{"1 " + name, "2 " + name, "18 content"}, found)
	}
}

// An answer 304 about another copy than the one that was named is no match: a copy is fetched at
// once, and once only.
func TestTransportForeign304(t *testing.T) {
	t.Parallel()
	const monday = "Mon, 01 Jan 2001 00:00:00 GMT"
	server := &stuck{modified: monday, text: "<p>text"}
	poll := server.polling(t, false)
	for k := range 20 {
		server.etag = fmt.Sprintf("%q", fmt.Sprint(k))
		server.foreign = server.etag
		server.text += fmt.Sprintf("<p>more of it %d", k)
		p := poll()
		require.Equal(t, k > 0, p.Changed)
		require.Equal(t, 200, p.Status)
		require.False(t, p.LastModified.IsZero())
		require.Len(t, server.asked, 1+2*k)
	}

	// Weak and strong ETags match, and one where none was named tells nothing.
	server = &stuck{etag: `"a"`, foreign: `W/"a"`}
	poll = server.polling(t, false)
	poll()
	require.Equal(t, 304, poll().Status)
	server = &stuck{modified: monday, foreign: `"a"`}
	poll = server.polling(t, false)
	poll()
	require.Equal(t, 304, poll().Status)

	// The copy has the ETag that was named: no answer 304 of this page can be believed.
	server = &stuck{etag: `"a"`, foreign: `"b"`, text: "<p>text"}
	poll = server.polling(t, false)
	for range 5 {
		require.False(t, poll().Changed)
	}
	require.Equal(t, []bool{false, true, false, false, false, false}, server.asked)
}

// Where a copy cannot be fetched again, or the server insists, an answer 304 about another copy is
// an error, and the body of a request is sent once.
func TestTransportForeign304Fails(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "x"} {
		base := &scripted{answers: []*answer{{status: 200, header: `ETag: "a"`, body: "x"}, {status: 304, header: `ETag: "b"`}, {status: 304, header: `ETag: "b"`}, {status: 200, header: `ETag: "a"`, body: "x"}}}
		var got []Poll
		transport := &Transport{Base: base, OnPoll: func(p Poll) { got = append(got, p) }}
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		r := get(t, "http://web.test/")
		if body != "" {
			r.Body = io.NopCloser(strings.NewReader(body))
			base.answers = append(base.answers[:2:2], base.answers[3])
		}
		roundTrip(t, transport, r, -1)
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.Equal(t, len(base.answers), base.next)
		require.Len(t, got, 3)
		require.ErrorIs(t, got[1].Err, ErrStatus)
		require.Equal(t, ByContent, got[2].Decision)
		require.False(t, got[2].Changed)
	}
}

// Some servers answer a condition with 412, which is wrong for a GET. The page is then fetched without one, from
// then on at once.
func TestConditionThatFails(t *testing.T) {
	t.Parallel()
	for _, validator := range []string{`ETag: "a"`, "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"} {
		page, failed := func() *answer { return &answer{status: 200, header: validator, body: "text"} }, &answer{status: 412, body: "no"}
		s := &scripted{answers: []*answer{page(), failed, page(), page(), {status: 412}}}
		var got Poll
		transport := &Transport{Base: s, OnPoll: func(p Poll) { got = p }}
		for poll := range 3 {
			roundTrip(t, transport, get(t, "http://web.test/"), -1)
			require.NoError(t, got.Err)
			require.Equal(t, 200, got.Status)
			require.Equal(t, poll == 0, got.First)
			require.False(t, got.Changed)
		}
		require.True(t, hasAny(failed.sent, conditions...))
		require.True(t, failed.closed)
		require.False(t, hasAny(s.answers[2].sent, conditions...) || hasAny(s.answers[3].sent, conditions...))
		// One to a request without a condition, or with the caller's own, is an error.
		roundTrip(t, transport, get(t, "http://web.test/"), -1)
		require.ErrorIs(t, got.Err, ErrStatus)
		require.Equal(t, 5, s.next)
	}
	s := &scripted{answers: []*answer{{status: 412}}}
	var got Poll
	r := get(t, "http://web.test/")
	r.Header.Set("If-None-Match", `"a"`)
	roundTrip(t, &Transport{Base: s, OnPoll: func(p Poll) { got = p }}, r, -1)
	require.ErrorIs(t, got.Err, ErrStatus)
}
