package fetch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// A gate lets one request at a time through to each host, and the next not before its delay is
// over. The learner's own limits ask for no more than that; the gate is what holds when they do
// not, as for robots.txt, redirects, polls on a user's request and right after a restart.
type gate struct {
	clock clock.Clock
	delay time.Duration // of a host whose robots.txt is not known
	// ours, if not nil, says since when a host is this process's: nothing is known of requests
	// before, so that hosts are given their delay first.
	ours func(host string) (since time.Time, ok bool)

	mu    sync.Mutex
	hosts map[string]*door
}

type door struct {
	turn  chan struct{} // holds one token while nobody is through
	delay time.Duration
	since time.Time // the host is this process's
	next  time.Time // the delay after the end of the latest request
	held  time.Time // see hold; under the lock of the gate
}

func newGate(c clock.Clock, delay time.Duration, ours func(string) (time.Time, bool)) *gate {
	return &gate{clock: c, delay: delay, ours: ours, hosts: map[string]*door{}}
}

func (g *gate) door(host string) *door {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.hosts[host]
	if d == nil {
		d = &door{turn: make(chan struct{}, 1), delay: g.delay}
		d.turn <- struct{}{}
		g.hosts[host] = d
	}
	return d
}

// setDelay sets the delay of a host, from robots.txt. It is called by who is through.
func (g *gate) setDelay(host string, delay time.Duration) {
	d := g.door(host)
	d.delay = delay
	d.settle()
}

// settle keeps the delay from whatever was asked by others.
func (d *door) settle() {
	if after := d.since.Add(d.delay); !d.since.IsZero() && after.After(d.next) {
		d.next = after
	}
}

// enter waits for its turn at a host, and returns what ends it.
func (g *gate) enter(ctx context.Context, host string) (leave func(), err error) {
	d := g.door(host)
	select {
	case <-d.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if g.ours != nil {
		since, ok := g.ours(host)
		if !ok {
			d.turn <- struct{}{}
			return nil, fmt.Errorf("%w: %s", ErrElsewhere, host)
		}
		if since.After(d.since) {
			d.since = since
			d.settle()
		}
	}
	return func() {
		d.next = g.clock.Now().Add(d.delay)
		d.turn <- struct{}{}
	}, nil
}

// hold leaves a host alone for some time, whoever is through.
func (g *gate) hold(host string, rest time.Duration) {
	d := g.door(host)
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.clock.Now().Add(rest); until.After(d.held) {
		d.held = until
	}
}

// open returns the time from which on a host may be asked; who is through calls it.
func (g *gate) open(d *door) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.held.After(d.next) {
		return d.held
	}
	return d.next
}

// wait waits for the delay of a host; who is through calls it before each request.
func (g *gate) wait(ctx context.Context, host string) error {
	d := g.door(host)
	for ctx.Err() == nil {
		left := g.open(d).Sub(g.clock.Now())
		if left <= 0 {
			break
		}
		g.clock.Sleep(ctx, left)
	}
	d.next = g.clock.Now().Add(d.delay)
	return ctx.Err()
}
