package serve_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/live"
	"github.com/recrawl/recrawl/webenv/serve"
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
	server, err := serve.New(env, serve.Config{
		Now:      func() float64 { return day },
		Calendar: webenv.Calendar{Epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Unit: 24 * time.Hour},
	})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()

	changes := 0
	client := &http.Client{Transport: &live.Transport{OnPoll: func(poll live.Poll) {
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

// A page with a nonce in its markup differs at every poll. The truth is that it changed once.
func ExampleFaults() {
	history := &webenv.History{Names: []string{"shop"}, Times: [][]float64{{3.5}}}
	env, err := webenv.NewReplay(history, 0)
	if err != nil {
		panic(err)
	}
	day := 0.0
	server, err := serve.New(env, serve.Config{
		Now:    func() float64 { return day },
		Faults: func(page int) serve.Faults { return serve.Faults{Nonce: true} },
		Source: rand.NewPCG(1, 2),
	})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()

	changes := map[bool]int{}
	transport := func(exact bool) *live.Transport {
		return &live.Transport{Exact: exact, OnPoll: func(poll live.Poll) {
			if poll.Changed {
				changes[exact]++
			}
		}}
	}
	clients := []*http.Client{{Transport: transport(true)}, {Transport: transport(false)}}
	for ; day < 6; day++ {
		for _, client := range clients {
			resp, err := client.Get(web.URL + server.URL(0))
			if err != nil {
				panic(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	fmt.Println("the hash changed:", changes[true])
	fmt.Println("the learnt fingerprint changed:", changes[false])
	fmt.Println("the page changed:", server.Totals().Detected)
	// Output:
	// the hash changed: 5
	// the learnt fingerprint changed: 1
	// the page changed: 1
}
