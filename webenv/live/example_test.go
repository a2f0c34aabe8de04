package live_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/recrawl/recrawl/webenv/live"
)

// A transport tells what it found, and how. It goes into any client; with colly
// it is collector.WithTransport(transport).
func ExampleTransport() {
	content := "one"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, content) // no ETag, no Last-Modified
	}))
	defer web.Close()

	client := &http.Client{Transport: &live.Transport{OnPoll: func(poll live.Poll) {
		fmt.Println(poll.Status, "first:", poll.First, "changed:", poll.Changed, "by:", poll.Decision)
	}}}
	for _, content = range []string{"one", "one", "two"} {
		resp, err := client.Get(web.URL)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	// Output:
	// 200 first: true changed: false by: undecided
	// 200 first: false changed: false by: content
	// 200 first: false changed: true by: content
}

// A live environment polls real pages, here those of a local server.
func ExamplePages() {
	version := 1
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, version))
		fmt.Fprintf(w, "<p>Version %d</p>", version)
	}))
	defer web.Close()

	pages, err := live.New([]string{web.URL + "/news", web.URL + "/gone"}, live.Config{
		Header: http.Header{"User-Agent": {"example-crawler (https://example.org/crawler)"}},
	})
	if err != nil {
		panic(err)
	}
	for now := 1.0; now <= 3; now++ { // in a crawler, the seconds since 1970
		if now == 3 {
			version = 2
		}
		for page := range pages.Len() {
			_, changed := pages.Poll(page, now)
			fmt.Print("page ", page, ": changed ", changed, ", error ", pages.Err(page), "\n")
		}
	}
	// Output:
	// page 0: changed false, error <nil>
	// page 1: changed false, error live: bad status: 404 Not Found
	// page 0: changed false, error <nil>
	// page 1: changed false, error live: bad status: 404 Not Found
	// page 0: changed true, error <nil>
	// page 1: changed false, error live: bad status: 404 Not Found
}
