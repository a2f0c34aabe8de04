package live

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
)

// variety is a web of a page with an ETag, one with a Last-Modified, one with neither, a redirect,
// and nothing else.
func variety() http.Handler {
	web := http.NewServeMux()
	web.HandleFunc("/etag", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("ETag", `"1"`) })
	web.HandleFunc("/date", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", webtest.DateOf(1))
		w.Header().Set("Date", webtest.DateOf(9))
	})
	web.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("plain")) })
	web.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) })
	return web
}

func TestSaved(t *testing.T) {
	t.Parallel()
	pages, transport := savedCases(t)
	codectest.Run(t, "pages", pages)
	codectest.Run(t, "transport", transport)
}

func FuzzSaved(f *testing.F) {
	pages, transport := savedCases(new(testing.T)) // f must not be used within the target
	codectest.Fuzz(f, pages, transport)
}

// A state of one type is none of the other.
func TestSavedOfAnotherType(t *testing.T) {
	t.Parallel()
	data, err := new(Transport).MarshalBinary()
	require.NoError(t, err)
	require.ErrorIs(t, liveOf(t, variety(), Config{}, "/etag").UnmarshalBinary(data), ErrCorrupt)
}

func savedCases(t *testing.T) (_, _ *codectest.Case) {
	web := variety()
	paths := []string{"/etag", "/date", "/plain", "/moved", "/missing"}
	pages := liveOf(t, web, Config{}, paths...)
	poll := func(p *Pages) any {
		var changed []bool
		for page := range paths {
			_, c := p.Poll(page, max(p.last[page], 10)+1)
			changed = append(changed, c)
		}
		return changed
	}
	poll(pages)

	transport := &Transport{Base: webtest.InProcess{Handler: web}}
	get := func(tr *Transport) any {
		var polls []Poll
		tr.Base, tr.OnPoll = transport.Base, func(p Poll) {
			polls = append(polls, Poll{Changed: p.Changed, First: p.First, Decision: p.Decision})
		}
		for _, path := range paths {
			webtest.Fetch(t, &http.Client{Transport: tr}, "http://web.test"+path)
		}
		return polls
	}
	get(transport)
	// Pages that are not in the list of URLs are left out.
	return codectest.Of(pages, func() *Pages { return liveOf(t, web, Config{}, paths...) }, poll, codectest.Partial),
		codectest.Of(transport, func() *Transport { return new(Transport) }, get)
}

// A forged number of pages takes no more memory than the state has bytes for.
func TestSavedNumberOfPages(t *testing.T) {
	copies, err := new(Transport).MarshalBinary()
	require.NoError(t, err)
	const filler = 1 << 20
	forged, err := pagesFormat.Save(func(e *codec.Encoder) {
		e.Bytes(copies)
		e.Int(filler)
		for range filler {
			e.Byte(0xff)
		}
	})
	require.NoError(t, err)
	pages := liveOf(t, variety(), Config{}, "/etag")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.ErrorIs(t, pages.UnmarshalBinary(forged), ErrCorrupt)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*filler))
}
