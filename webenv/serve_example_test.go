package webenv_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recrawl/recrawl/webenv"
)

// A simulated web is served over HTTP, and crawled by a client that is told what
// changed. The crawler moves the time on by itself, a day a round; with a clock
// the time could run at any speed.
func ExampleServer() {
	env, err := webenv.NewPoisson([]float64{2, 0.5, 0.1}, rand.NewPCG(1, 2)) // changes a day
	if err != nil {
		panic(err)
	}
	day := 0.0
	server, err := webenv.NewServer(env, webenv.ServerConfig{
		Now:      func() float64 { return day },
		Calendar: webenv.Calendar{Epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Unit: 24 * time.Hour},
	})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()

	changes := 0
	client := &http.Client{Transport: &webenv.Transport{OnPoll: func(poll webenv.HTTPPoll) {
		if poll.Changed {
			changes++
		}
	}}}
	for ; day <= 30; day++ {
		for page := range env.Len() {
			resp, err := client.Get(web.URL + server.URL(page))
			if err != nil {
				panic(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	truth := server.Totals()
	fmt.Println("changes found:", changes, "by the truth:", truth.Detected)
	fmt.Println("polls:", truth.Polls, "answered with 304:", truth.NotModified)
	// Output:
	// changes found: 42 by the truth: 42
	// polls: 93 answered with 304: 48
}

// A transport tells what it found, and how. It goes into any client; with colly
// it is collector.WithTransport(transport).
func ExampleTransport() {
	content := "one"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, content) // no ETag, no Last-Modified
	}))
	defer web.Close()

	client := &http.Client{Transport: &webenv.Transport{OnPoll: func(poll webenv.HTTPPoll) {
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
func ExampleLive() {
	version := 1
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, version))
	}))
	defer web.Close()

	live, err := webenv.NewLive([]string{web.URL + "/news", web.URL + "/gone"}, webenv.LiveConfig{
		Header: http.Header{"User-Agent": {"example-crawler (https://example.org/crawler)"}},
	})
	if err != nil {
		panic(err)
	}
	for now := 1.0; now <= 3; now++ { // in a crawler, the seconds since 1970
		if now == 3 {
			version = 2
		}
		for page := range live.Len() {
			_, changed := live.Poll(page, now)
			fmt.Print("page ", page, ": changed ", changed, ", error ", live.Err(page), "\n")
		}
	}
	// Output:
	// page 0: changed false, error <nil>
	// page 1: changed false, error webenv: bad status: 404 Not Found
	// page 0: changed false, error <nil>
	// page 1: changed false, error webenv: bad status: 404 Not Found
	// page 0: changed true, error <nil>
	// page 1: changed false, error webenv: bad status: 404 Not Found
}
