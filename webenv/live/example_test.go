package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/recrawl/recrawl/knapsack"
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

// A crawler whose learner is told what became of each poll, over redirects and failures.
func ExampleTell() {
	gone := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/news", http.StatusFound)
		case gone:
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer web.Close()

	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	pages := knapsack.NewKeyed[string](filter)
	pages.Add(web.URL + "/moved")
	client := &http.Client{Transport: &live.Transport{}}
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for day := range 3 {
		gone = day == 2
		now := start.AddDate(0, 0, day) // time.Now() in a crawler
		url, err := pages.Next(now)
		if err != nil {
			panic(err)
		}
		ctx, fetch := live.Begin(context.Background(), url)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		poll := fetch.End(err)
		fmt.Println(poll.Outcome(), strings.TrimPrefix(poll.URL, web.URL), "first:", poll.First, "changed:", poll.Changed)
		if err := live.Tell(pages, url, now, poll); err != nil {
			panic(err)
		}
	}
	fmt.Println(pages.Len(), "pages left")
	// Output:
	// answered /news first: true changed: false
	// answered /news first: false changed: false
	// gone /news first: false changed: false
	// 0 pages left
}

// A second copy within seconds tells what changes at each request: here the number of visitors, by which
// the third copy is then not taken for changed.
func ExampleTeaching() {
	visitors := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitors++
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><body><h1>News</h1><p>Nothing happened today.</p><p>You are visitor %d.</p></body></html>", visitors)
	}))
	defer web.Close()

	client := &http.Client{Transport: &live.Transport{}}
	get := func(ctx context.Context) live.Poll {
		ctx, fetch := live.Begin(ctx, web.URL)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return fetch.End(err)
	}
	for range 2 {
		poll := get(context.Background())
		fmt.Println("first:", poll.First, "changed:", poll.Changed)
		if poll.Again {
			poll = get(live.Teaching(context.Background()))
			fmt.Println("  a second copy:", poll.Decision)
		}
	}
	// Output:
	// first: true changed: false
	//   a second copy: undecided
	// first: false changed: false
}

// Where a captcha comes instead of the page, the fetch ends with an error. So neither the captcha nor the
// page after it is a change.
func ExampleFetch_End() {
	polls := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if polls++; polls%3 == 0 {
			fmt.Fprintf(w, "<title>Just a moment</title><p>Are you human? Type %d", polls*7919)
			return
		}
		fmt.Fprint(w, "<title>News</title><p>Nothing happened today.")
	}))
	defer web.Close()

	client := &http.Client{Transport: &live.Transport{}}
	for range 6 {
		ctx, fetch := live.Begin(context.Background(), web.URL)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(request)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && strings.Contains(string(body), "<title>Just a moment</title>") {
				err = errors.New("a captcha instead of the page")
			}
		}
		poll := fetch.End(err)
		fmt.Println(poll.Outcome(), "first:", poll.First, "changed:", poll.Changed)
	}
	// Output:
	// answered first: true changed: false
	// answered first: false changed: false
	// failed first: false changed: false
	// answered first: false changed: false
	// answered first: false changed: false
	// failed first: false changed: false
}

// The answers of an API in JSON are compared by their values. By itself a Transport takes only times and
// identifiers for noise. This API counts its answers too, names members in any order and writes numbers in
// several ways.
func ExampleTransport_json() {
	answer := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}))
	defer api.Close()

	values := func(_ *http.Response, body []byte) ([]byte, error) {
		var v map[string]any
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err // the poll fails, as an error page is no answer of the API
		}
		delete(v, "answer") // changes at each request
		return json.Marshal(v)
	}
	client := &http.Client{Transport: &live.Transport{Fingerprint: values, OnPoll: func(poll live.Poll) {
		fmt.Println("changed:", poll.Changed, "error:", poll.Err != nil)
	}}}
	for _, answer = range []string{
		`{"answer": 1, "price": 9.50, "name": "apples"}`,
		`{"name": "apples", "price": 9.5, "answer": 2}`,
		`<html>Try again later</html>`,
		`{"name": "apples", "price": 9.75, "answer": 4}`,
	} {
		resp, err := client.Get(api.URL)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	// Output:
	// changed: false error: false
	// changed: false error: false
	// changed: false error: true
	// changed: true error: false
}

// Where a page differs in its numbers at each poll they are soon taken for noise, unless they are what
// it is about.
func ExampleTransport_numbers() {
	price := 0
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<p>Apples, a pound<p>$%d", price)
	}))
	defer shop.Close()
	for _, numbers := range []bool{false, true} {
		changes := 0
		client := &http.Client{Transport: &live.Transport{Numbers: numbers, OnPoll: func(poll live.Poll) {
			if poll.Changed {
				changes++
			}
		}}}
		for price = range 10 {
			resp, err := client.Get(shop.URL)
			if err != nil {
				panic(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		fmt.Println("numbers:", numbers, "changes of 9:", changes)
	}
	// Output:
	// numbers: false changes of 9: 2
	// numbers: true changes of 9: 9
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

// Each copy goes into a store as it comes, and whether it is a new version is known afterwards. An answer
// 304 has no copy.
func ExamplePages_onBody() {
	version := 1
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, version))
		http.ServeContent(w, r, "page.html", time.Time{}, strings.NewReader(fmt.Sprint("Version ", version)))
	}))
	defer web.Close()

	copies := map[int]string{}
	pages, err := live.New([]string{web.URL}, live.Config{
		OnBody: func(page int, resp *http.Response) {
			body, err := io.ReadAll(resp.Body) // of at most MaxBytes
			if err == nil && resp.StatusCode == http.StatusOK {
				copies[page] = string(body)
			}
		},
		OnPoll: func(page int, poll live.Poll) {
			fmt.Printf("%d, changed %v, in store: %s\n", poll.Status, poll.Changed, copies[page])
		},
	})
	if err != nil {
		panic(err)
	}
	for now, v := range []int{1, 1, 2} {
		version = v
		if _, _, err := pages.PollContext(context.Background(), 0, float64(now)); err != nil {
			panic(err)
		}
	}
	// Output:
	// 200, changed false, in store: Version 1
	// 304, changed false, in store: Version 1
	// 200, changed true, in store: Version 2
}
