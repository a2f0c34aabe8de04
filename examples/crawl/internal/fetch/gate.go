package fetch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// ErrLater reports a host that is not to be asked within the time that was to be waited for it.
var ErrLater = errors.New("fetch: the host is not to be asked for some time yet")

// forever is the bound of a wait that has none.
const forever time.Duration = math.MaxInt64

// A gate lets one request at a time through to each host, and the next not before its delay is
// over. The learner's own limits ask for no more than that; the gate is what holds when they do
// not, as for robots.txt, redirects, polls on a user's request and right after a restart.
type gate struct {
	clock clock.Clock
	delay func(host string) time.Duration // as far as is known
	// ours, if not nil, says since when a host is this process's: nothing is known of requests
	// before, so that hosts are given their delay first.
	ours func(host string) (since time.Time, ok bool)

	mu    sync.Mutex
	hosts map[string]*door
	idle  []*door // those that may be taken out of hosts, see tidy
}

// A door is a host's. All but host and turn is under the lock of the gate.
type door struct {
	host  string
	turn  chan struct{} // holds one token while nobody is through
	users int           // who is through, those who wait for it, and those who come back
	idle  bool          // it is among those of the gate
	used  bool          // who is through has asked
	delay time.Duration
	since time.Time // the host is this process's
	asked time.Time // the latest request began, or ended if it has; zero if there was none
	next  time.Time // the delay after that
	held  time.Time // see hold
}

func newGate(c clock.Clock, delay func(host string) time.Duration, ours func(string) (time.Time, bool)) *gate {
	return &gate{clock: c, delay: delay, ours: ours, hosts: map[string]*door{}}
}

func (g *gate) door(host string) *door {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.doorOf(host)
}

// doorOf likewise; the caller holds the lock.
func (g *gate) doorOf(host string) *door {
	d := g.hosts[host]
	if d == nil {
		d = &door{host: host, turn: make(chan struct{}, 1), delay: g.delay(host)}
		d.turn <- struct{}{}
		g.hosts[host] = d
		g.rests(d)
	}
	return d
}

// rests puts a door with those that tidy looks at; the caller holds the lock.
func (g *gate) rests(d *door) {
	if !d.idle {
		d.idle = true
		g.idle = append(g.idle, d)
	}
}

// tidy forgets doors that nobody uses and whose delays are over: the next request makes them anew. Redirects
// may lead to a new host at each poll. It looks at two, while one is added: so it keeps up, and never takes
// long. The caller holds the lock.
func (g *gate) tidy() {
	now := g.clock.Now()
	for range min(2, len(g.idle)) {
		d := g.idle[0]
		g.idle = g.idle[1:]
		d.idle = false
		switch {
		case d.users > 0: // it comes back when its turn ends
		case d.next.After(now), d.held.After(now):
			g.rests(d)
		default:
			delete(g.hosts, d.host)
		}
	}
}

// uses returns the door of a host, which is not forgotten until leaves is called.
func (g *gate) uses(host string) *door {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.doorOf(host)
	d.users++
	return d
}

// leaves takes note that a door has a user less.
func (g *gate) leaves(d *door) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.users--; d.users == 0 {
		g.rests(d)
	}
	g.tidy()
}

// setDelay sets the delay of a host, from robots.txt: it counts from the latest request on. It is
// called by who uses the door.
func (g *gate) setDelay(host string, delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.doorOf(host)
	d.delay = delay
	d.settle()
}

// settle keeps the delay from the latest request, and from whatever was asked by others.
func (d *door) settle() {
	for _, from := range []time.Time{d.since, d.asked} {
		if after := from.Add(d.delay); !from.IsZero() && after.After(d.next) {
			d.next = after
		}
	}
}

// begins takes note that a request begins; who is through calls it.
func (g *gate) begins(d *door) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d.used, d.asked = true, g.clock.Now()
	d.settle()
}

// ended takes note that the requests of who is through have ended; he calls it.
func (g *gate) ended(d *door) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.used {
		d.used, d.asked = false, g.clock.Now()
		d.settle()
	}
}

// delayOf returns the delay of a host.
func (g *gate) delayOf(host string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.doorOf(host).delay
}

// enter waits for its turn at a host, and returns what ends it. A host that is not this process's is
// an error, unless anyone's is wanted.
func (g *gate) enter(ctx context.Context, host string, anyones bool) (leave func(), err error) {
	d := g.uses(host)
	select {
	case <-d.turn:
	case <-ctx.Done():
		g.leaves(d)
		return nil, ctx.Err()
	}
	if g.ours != nil {
		since, ok := g.ours(host)
		if !ok && !anyones {
			d.turn <- struct{}{}
			g.leaves(d)
			return nil, fmt.Errorf("%w: %s", ErrElsewhere, host)
		}
		g.mu.Lock()
		if ok && since.After(d.since) {
			d.since, d.delay = since, max(d.delay, g.delay(host)) // it may be known since the host is ours
			d.settle()
		}
		g.mu.Unlock()
	}
	return func() {
		g.ended(d)
		d.turn <- struct{}{}
		g.leaves(d)
	}, nil
}

// hold leaves a host alone for some time, whoever is through.
func (g *gate) hold(host string, rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.doorOf(host)
	if until := g.clock.Now().Add(rest); until.After(d.held) {
		d.held = until
	}
}

// open returns the time from which on a host may be asked.
func (g *gate) open(d *door) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.held.After(d.next) {
		return d.held
	}
	return d.next
}

// closed returns for how long a host is not to be asked.
func (g *gate) closed(host string) time.Duration {
	g.mu.Lock()
	d := g.hosts[host]
	g.mu.Unlock()
	if d == nil {
		return 0
	}
	return max(g.open(d).Sub(g.clock.Now()), 0)
}

// wait waits for the delay of a host, and returns how long that was to take; if that is too long it does not
// wait, and returns ErrLater. Who is through calls it before each request.
func (g *gate) wait(ctx context.Context, host string, most time.Duration) (took time.Duration, err error) {
	d := g.door(host)
	g.ended(d)
	if took = g.closed(host); took > most {
		return 0, ErrLater
	}
	for ctx.Err() == nil {
		left := g.open(d).Sub(g.clock.Now())
		if left <= 0 {
			break
		}
		g.clock.Sleep(ctx, left)
	}
	if ctx.Err() == nil {
		g.begins(d)
	}
	return took, ctx.Err()
}
