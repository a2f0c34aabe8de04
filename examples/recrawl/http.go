package main

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/live"
	"github.com/recrawl/recrawl/webenv/serve"
)

// httpPolicies are polled over HTTP unless others are named: all of them would
// take a minute.
const httpPolicies = "uniform,lakg-300,nutch,stormcrawler,rate-filter,true-rates"

// overHTTP does what webenv.Run does, but over real HTTP: a server on a loopback
// port has the pages of the environment, and a client polls them with conditional
// GETs. The server's clock stands still during a request, and jumps to the time
// of the next one after it.
func (w *world) overHTTP(env webenv.Env, scheduler webenv.Scheduler, o webenv.RunConfig) (r webenv.Result, err error) {
	web, err := serveWeb(w, env)
	if err != nil {
		return r, err
	}
	defer web.close()

	// The transport adds the validators, and tells whether the page had changed.
	var found live.Poll
	transport := &live.Transport{Base: &http.Transport{}, OnPoll: func(p live.Poll) { found = p }}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	poll := func(page int) error {
		if err := get(client, web.base+web.URL(page)); err != nil {
			return err
		}
		return found.Err
	}

	for page := range w.pages { // the copies to begin with
		if err := poll(page); err != nil {
			return r, err
		}
	}
	for k := 1; k <= o.Polls; k++ {
		now := o.Start + float64(k)/o.Rate
		web.advance(now)

		page, err := scheduler.Next(now)
		if err != nil {
			return r, err
		}
		if err := poll(page); err != nil {
			return r, err
		}
		if err := scheduler.Observe(page, now, found.Changed); err != nil {
			return r, err
		}

		if found.Changed {
			r.Detected++
			r.Value++
		}
		o.OnPoll(webenv.Poll{Page: page, Time: now, Changed: found.Changed})
		o.Progress(float64(k) / float64(o.Polls))
	}
	web.finish()

	truth := web.Totals()
	if truth.Detected != r.Detected {
		return r, fmt.Errorf("the client found %d changes, but the server showed it %d", r.Detected, truth.Detected)
	}
	r.Polls, r.Freshness, r.Age, r.Curve = o.Polls, truth.Freshness, truth.Age, web.curve
	return r, nil
}

func get(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	// Only what has been read to the end can be compared, and its connection
	// used again.
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// A servedWeb is a world behind a loopback port.
type servedWeb struct {
	*serve.Server
	base  string // URL without a slash at its end
	close func()

	world  *world
	clock  atomic.Uint64   // bits of the time
	curve  []webenv.Bucket // the parts of the run that are over
	before serve.Totals    // at the end of the last of them
}

func serveWeb(w *world, env webenv.Env) (*servedWeb, error) {
	s := &servedWeb{world: w}
	s.set(w.start)
	server, err := serve.New(env, serve.Config{
		Now:   func() float64 { return math.Float64frombits(s.clock.Load()) },
		Names: w.history.Names,
	})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Server, s.base = server, "http://"+listener.Addr().String()
	s.before = server.Totals()
	h := &http.Server{Handler: server}
	go func() { _ = h.Serve(listener) }() // ends when it is closed
	s.close = func() { _ = h.Close() }
	return s, nil
}

func (s *servedWeb) set(now float64) { s.clock.Store(math.Float64bits(now)) }

// advance sets the clock, and on the way draws up the account of each part of the
// run that ends before then.
func (s *servedWeb) advance(now float64) {
	for len(s.curve) < points && s.end() < now {
		s.cut()
	}
	s.set(now)
}

// finish sets the clock to the end of the run, and draws up the rest.
func (s *servedWeb) finish() {
	for len(s.curve) < points {
		s.cut()
	}
	s.set(s.world.start + s.world.duration)
}

// end returns the time at which the present part of the run ends.
func (s *servedWeb) end() float64 {
	return s.world.start + s.world.duration*float64(len(s.curve)+1)/points
}

// cut ends the present part of the run.
func (s *servedWeb) cut() {
	s.set(s.end())
	truth, before, start := s.Totals(), s.before, s.world.start
	// Freshness is a mean since the start.
	stale := (1-truth.Freshness)*(truth.Now-start) - (1-before.Freshness)*(before.Now-start)
	s.curve = append(s.curve, webenv.Bucket{
		End: s.end(), Freshness: 1 - stale/(truth.Now-before.Now),
		Polls: truth.Polls - before.Polls, Detected: truth.Detected - before.Detected,
	})
	s.before = truth
}
