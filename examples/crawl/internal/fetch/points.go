package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// points choose the access point for each host. Each part of the hosts has a choice of its own, so
// that it can be saved with what else is known of them.
type points struct {
	part func(host string) int
	seed uint64

	mu      sync.Mutex
	own     []Point              // of this machine, one at least
	resting map[string]time.Time // those of them that refused, until they are tried again
	others  []Point              // other machines, as they come and go
	choices map[int]*choice
	reaches map[string]*reach // of those of this machine
	halt    halt
}

// pointRest is for how long an access point of this machine that takes no request is not used, while
// there is another.
const pointRest = time.Minute

// mostOthers is the number of other machines among which the hosts of a part are shared out: each
// host tries each of them once before it knows, and again whenever it changed.
const mostOthers = 7

func newPoints(own []Point, part func(string) int, seed uint64) *points {
	if part == nil {
		part = func(string) int { return 0 }
	}
	return &points{own: own, resting: map[string]time.Time{}, part: part, seed: seed, choices: map[int]*choice{}, reaches: map[string]*reach{}}
}

// awake returns the access points of this machine that do not rest.
func (p *points) awake() (awake []Point) {
	for _, q := range p.own {
		if _, rests := p.resting[q.Name]; !rests {
			awake = append(awake, q)
		}
	}
	return awake
}

// instead returns an access point for a request that one refused, if there is one. It is of this
// machine. One of this machine that refused, own, is to rest; if all do another machine's refusal still
// has one of them tried.
func (p *points) instead(of string, now time.Time) (other Point, ok, own bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own = slices.ContainsFunc(p.own, func(q Point) bool { return q.Name == of })
	if own {
		if _, rests := p.resting[of]; !rests && len(p.own) > 1 {
			slog.Warn("an access point takes no request; it rests, and another one is taken", "access point", of, "for", pointRest)
		}
		p.resting[of] = now.Add(pointRest)
		if err := p.offer(now); err != nil {
			slog.Error("access points", "error", err)
		}
	}
	if awake := p.awake(); len(awake) > 0 {
		return awake[0], true, own
	}
	return p.own[0], !own, own
}

// wake has the access points used again that rested for long enough; the caller holds the lock.
func (p *points) wake(now time.Time) error {
	before := len(p.resting)
	maps.DeleteFunc(p.resting, func(_ string, until time.Time) bool { return now.After(until) })
	if len(p.resting) == before {
		return nil
	}
	return p.offer(now)
}

// offer tells all choices what there is to choose from; the caller holds the lock.
func (p *points) offer(now time.Time) error {
	for part, c := range p.choices {
		if err := c.offer(p.ways(part), now); err != nil {
			return err
		}
	}
	return nil
}

// ways returns the access points of a part: those of this machine that do not rest, one at least,
// and some others, such that few change when one comes or goes.
func (p *points) ways(part int) []Point {
	rank := func(q Point) uint64 {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d %s", part, q.Name)
		return h.Sum64()
	}
	others := slices.Clone(p.others)
	slices.SortFunc(others, func(a, b Point) int { return cmp.Compare(rank(a), rank(b)) })
	own := p.awake()
	if len(own) == 0 {
		own = slices.Clone(p.own)
	}
	return append(own, others[:min(len(others), mostOthers)]...)
}

// of returns the choice of a part; the caller holds the lock.
func (p *points) of(part int) (*choice, error) {
	c := p.choices[part]
	if c == nil {
		c = newChoice(p.seed, part)
		p.choices[part] = c
		return c, c.offer(p.ways(part), time.Now())
	}
	return c, nil
}

// next returns the access point for a host. A host has one request at a time.
func (p *points) next(host string) (*route, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.wake(time.Now()); err != nil {
		return nil, err
	}
	c, err := p.of(p.part(host))
	if err != nil {
		return nil, err
	}
	point, err := c.next(host)
	return &route{Point: point, chosen: point.Name, points: p}, err
}

// took tells how long a host took.
func (p *points) took(host string, way *route, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.of(p.part(host))
	if err != nil {
		return err
	}
	return c.took(host, way, d)
}

// Offer replaces the access points that are other machines. Those that are not ready must not be
// among them.
func (f *Fetcher) Offer(others []Point) error {
	p := f.points
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others = others
	return p.offer(time.Now())
}

// Open restores what is known of the access points for a part of the hosts, as Saved returned it,
// and Close forgets it.
func (f *Fetcher) Open(part int, saved []byte) error {
	p := f.points
	p.mu.Lock()
	defer p.mu.Unlock()
	c := newChoice(p.seed, part)
	err := c.restore(saved, time.Now())
	p.choices[part] = c
	return errors.Join(err, c.offer(p.ways(part), time.Now()))
}

// Saved returns what is known of the access points for a part; nil if that is nothing.
func (f *Fetcher) Saved(part int) ([]byte, error) {
	p := f.points
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.choices[part]; c != nil {
		return c.saved()
	}
	return nil, nil
}

// Close is explained at Open.
func (f *Fetcher) Close(part int) {
	f.points.mu.Lock()
	defer f.points.mu.Unlock()
	delete(f.points.choices, part)
}

// Vacated takes note of a host of which no page is crawled any more: hosts come and go. What was learnt of its
// access points is forgotten, and its robots.txt is kept for as long as there is room.
func (f *Fetcher) Vacated(host string) {
	f.robots.goes(host)
	p := f.points
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.choices[p.part(host)]; c != nil {
		if err := c.forget(host); err != nil {
			slog.Error("access points", "error", err)
		}
	}
}

// Loads returns the number of hosts at each access point.
func (f *Fetcher) Loads() (names []string, hosts []int) {
	p := f.points
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range slices.Concat(p.own, p.others) {
		n := 0
		for _, c := range p.choices {
			n += c.load(q.Name)
		}
		names, hosts = append(names, q.Name), append(hosts, n)
	}
	return names, hosts
}

// A route is how the requests of a poll are sent.
type route struct {
	Point
	chosen   string // the point that was to take the requests; another one does if it refuses
	points   *points
	turn     turn
	refused  bool      // one of this machine did
	handed   time.Time // when the latest request was handed to the point
	lost     string    // host of a request of which nobody knows what became
	answered bool      // a host was reached
	ended    bool      // by who wanted the page
	reaching time.Duration
}

// Reached tells how much of the time of a request it took to reach the access point itself: that
// pays for many requests, and says nothing of the host.
func Reached(ctx context.Context, took time.Duration) {
	if way, ok := ctx.Value(via{}).(*route); ok {
		way.reaching += took
	}
}

// waits begins a wait that says nothing of the access point, and returns what ends it.
func (w *route) waits(now func() time.Time) (end func()) {
	began := now()
	return func() { w.reaching += now().Sub(began) }
}

// A router sends a request by the route of its context.
type router struct{}

type via struct{}

type guard struct{}

// WithGuard returns a context whose requests are sent only while a function returns true, and else end
// with ErrElsewhere.
func WithGuard(ctx context.Context, ours func() bool) context.Context {
	return context.WithValue(ctx, guard{}, ours)
}

// guarded reports whether requests of a context may be sent.
func guarded(ctx context.Context) bool {
	ours, ok := ctx.Value(guard{}).(func() bool)
	return !ok || ours()
}

func (router) RoundTrip(r *http.Request) (*http.Response, error) {
	if !guarded(r.Context()) {
		return nil, ErrElsewhere
	}
	way := routeOf(r.Context())
	way.handed = time.Now()
	resp, err := way.send(r)
	for errors.Is(err, ErrRefused) { // each one of this machine at most once
		other, ok, own := way.points.instead(way.Name, time.Now())
		way.refused = way.refused || own
		if !ok {
			break
		}
		way.Point = other
		resp, err = way.send(r)
	}
	if errors.Is(err, ErrRefused) && !wasCancelled(r) {
		way.points.rest(err, time.Now())
		err = fmt.Errorf("%w: %w", ErrHere, err)
	}
	if errors.Is(err, ErrLost) {
		way.lost = way.turn.host
	}
	way.answered = way.answered || err == nil
	return resp, err
}

// send sends a request by the access point.
func (w *route) send(r *http.Request) (*http.Response, error) {
	resp, err := w.Base.RoundTrip(r)
	if wasCancelled(r) {
		return resp, err
	}
	return resp, w.points.judge(w.Name, w.turn.host, err, time.Now())
}

// wasCancelled reports whether nobody waits for a request any more, so that its error says nothing.
func wasCancelled(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

func withRoute(ctx context.Context, way *route) context.Context {
	return context.WithValue(ctx, via{}, way)
}

func routeOf(ctx context.Context) *route { return ctx.Value(via{}).(*route) }

// hold has a host wait for a request of which nobody knows whether it is still to be sent.
func (f *Fetcher) hold(way *route) {
	if way.lost != "" && way.Hold != nil {
		f.gate.hold(way.lost, way.Hold()-time.Since(way.handed))
	}
}
