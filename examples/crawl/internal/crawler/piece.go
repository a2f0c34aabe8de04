package crawler

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// A piece is a shard that this process crawls.
type piece struct {
	number int
	part   Part
	loop   *shard.Loop
	opened time.Time                // nothing is known of requests of those who had the shard before
	slow   map[string]time.Duration // hosts with a Crawl-delay, as was known then
	once   sync.Once
	stop   chan struct{} // closed to end it in peace
	wake   chan struct{} // pages were added
	copied chan struct{} // closed when those there were at the beginning are fetched
	cancel context.CancelFunc
	ended  chan struct{}

	// At the latest quote.
	quoted  time.Time // by the clock of the process
	spent   uint64
	unspent float64
	most    float64 // where it could not spend its budget, else 0
}

// ShardOf returns the shard of a host among n. A host goes with its "www." name, as they redirect
// to each other.
func ShardOf(host string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.TrimPrefix(host, "www.")))
	return int(h.Sum32() % uint32(n))
}

// Open makes a shard part of the crawl, with a share of the budget; before Run or while it runs.
func (c *Crawler) Open(number int, part Part, perSecond float64) {
	slow := c.slow(part.State)
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &piece{
		number: number, part: part, opened: c.cfg.Clock.Now(), slow: slow, stop: make(chan struct{}), wake: make(chan struct{}, 1),
		copied: make(chan struct{}), ended: make(chan struct{}), cancel: func() {},
	}
	part.State.Vacated = func(host string) {
		c.Fleet.Forget(host)
		c.Fetcher.Vacated(host)
	}
	p.loop = shard.NewLoop(shard.Config{
		State: part.State, Log: part.Log, Clock: c.cfg.Clock, PerSecond: perSecond, Window: c.window(),
		Submit: c.Fleet.Submit, Stop: p.stop, FreeCopies: c.cfg.CopyFirst,
		IDs: c.cfg.IDs(number),
		Applied: func(e *shard.Event) {
			if e.Kind == shard.Add || e.Kind == shard.Pause {
				select {
				case p.wake <- struct{}{}:
				default:
				}
			}
			if e.Kind == shard.Polled {
				c.counting.Lock()
				c.made.Add(e)
				c.counting.Unlock()
			}
			if c.cfg.Applied != nil {
				c.cfg.Applied(number, e)
			}
		},
		Saving: func(s *shard.State) {
			points, err := c.Fetcher.Saved(number)
			if err != nil {
				slog.Error("what was learnt of access points is not saved", "shard", number, "error", err)
				return
			}
			s.Points = points
		},
		Behind: c.setBehind,
	})
	if err := c.Fetcher.Open(number, part.State.Points); err != nil {
		slog.Warn("access points are learnt anew", "shard", number, "error", err)
	}
	c.pieces[number] = p
	if c.running != nil {
		c.start(p)
	}
}

// start lets a piece run; the caller holds the lock.
func (c *Crawler) start(p *piece) {
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(c.running)
	c.wait.Go(func() { c.firstCopies(ctx, p) })
	c.wait.Go(func() {
		err := p.loop.Run(ctx)
		p.cancel()
		for h := range p.part.State.Hosts() {
			c.Fleet.Forget(h.Name)
		}
		c.Fetcher.Close(p.number)
		if err != nil && !errors.Is(err, context.Canceled) {
			c.failed(p.number, err)
		}
		c.mu.Lock()
		if !c.stopping { // from here on it may be opened again
			delete(c.pieces, p.number)
		}
		c.mu.Unlock()
		close(p.ended)
	})
	c.resize()
}

// Close ends the crawl of a shard when its polls in flight have ended, and saves it.
func (c *Crawler) Close(number int) {
	c.mu.Lock()
	p := c.pieces[number]
	c.mu.Unlock()
	if p != nil {
		p.halt()
		<-p.ended
	}
}

// halt ends a piece in peace; it may be called again.
func (p *piece) halt() { p.once.Do(func() { close(p.stop) }) }

// Has reports whether a shard is part of the crawl here.
func (c *Crawler) Has(number int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pieces[number] != nil
}

// all returns the shards that are here, in order.
func (c *Crawler) all() (pieces []*piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.cfg.Shards {
		if p := c.pieces[i]; p != nil {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// window returns the number of polls of a shard that may be in flight; the caller holds the lock.
func (c *Crawler) window() int {
	return max(window*c.cfg.Groups*c.cfg.Workers/max(len(c.pieces), 1), 1)
}

// resize gives the shards that are here their windows; the caller holds the lock.
func (c *Crawler) resize() {
	n, running := c.window(), c.running
	for _, p := range c.pieces {
		go func() { _ = p.loop.Do(running, func(*shard.State) { p.loop.SetWindow(n) }) }() // or it has ended
	}
}

// ours reports whether a host is this process's, and since when.
func (c *Crawler) ours(host string) (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pieces[ShardOf(host, c.cfg.Shards)]
	if p == nil {
		return since, false
	}
	return p.opened, true
}

// slow returns the delays of the hosts that are to be left alone for longer than all are: these are few.
func (c *Crawler) slow(s *shard.State) map[string]time.Duration {
	slow := map[string]time.Duration{}
	for h := range s.Hosts() {
		if seconds := min(h.Delay, fetch.LongestRest.Seconds()); seconds > c.cfg.Fetch.Delay.Seconds() {
			slow[h.Name] = time.Duration(seconds * float64(time.Second))
		}
	}
	return slow
}

// before returns the delay of a host when its shard was opened, 0 if it is not known or not longer than that of all.
func (c *Crawler) before(host string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pieces[ShardOf(host, c.cfg.Shards)]; p != nil {
		return p.slow[host]
	}
	return 0
}

// poll makes a poll and tells the shard, and reports whether it was made.
func (c *Crawler) poll(ctx context.Context, j shard.Job) bool {
	polling, cancel := context.WithCancel(fetch.WithGuard(ctx, j.Loop.Sure))
	defer cancel()
	defer context.AfterFunc(j.Loop.Held(), cancel)()
	defer context.AfterFunc(j.Loop.Alive(), cancel)()
	if !c.rested(polling) {
		j.Loop.Abandon(ctx, j)
		return false
	}
	res := c.Fetcher.Poll(polling, j.ID, j.URL, j.Copy)
	if delay := res.Delay.Seconds(); polling.Err() == nil && delay >= 0 && delay != j.Delay { // also if the poll does not count
		j.Loop.Tell(ctx, shard.Event{Kind: shard.Limit, URL: j.Host, At: res.At, Seconds: delay})
	}
	switch {
	case ctx.Err() != nil: // it is asked again after a restart
		return false
	case polling.Err() != nil, errors.Is(res.Err, fetch.ErrElsewhere), errors.Is(res.Err, fetch.ErrLost), errors.Is(res.Err, fetch.ErrHere), errors.Is(res.Err, fetch.ErrNotKept):
		j.Loop.Abandon(ctx, j)
		return false
	default:
		j.Loop.Tell(ctx, shard.Found(j, res))
		if veto, ok := shard.Vetoes(res); ok {
			c.Tell(ctx, []shard.Event{veto})
		}
	}
	return true
}

// rested waits while this machine can send no request, and reports whether the crawl goes on.
func (c *Crawler) rested(ctx context.Context) bool {
	for {
		rest := c.Fetcher.Rests()
		if rest <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-c.stop:
			return false
		case <-time.After(rest):
		}
	}
}
