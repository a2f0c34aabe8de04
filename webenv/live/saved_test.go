package live

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

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
	codectest.Run(t, "pages", pages, func() *Pages { return liveOf(t, web, Config{}, paths...) }, poll)

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
	codectest.Run(t, "transport", transport, func() *Transport { return new(Transport) }, get)

	other, err := transport.MarshalBinary()
	require.NoError(t, err)
	require.ErrorIs(t, pages.UnmarshalBinary(other), ErrCorrupt, "that of a Transport")
}
