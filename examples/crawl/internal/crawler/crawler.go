// Package crawler puts the parts together: shards that learn, a fleet that polls for them, the
// first copies, and a budget that all shards share.
package crawler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/fleet"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// A Part is the state of a shard, and where what happens to it is logged.
type Part struct {
	State *shard.State
	Log   shard.Log // nil for none
}

// Config describes a Crawler.
type Config struct {
	Shards    int // of the whole crawl
	Clock     clock.Clock
	PerSecond float64            // budget of all shards, those of other processes included
	Objective knapsack.Objective // what the budget is divided for
	CopyFirst bool               // spend none of it before all first copies are there, which are free then
	Groups    int                // of workers
	Workers   int                // of a group
	Fetch     fetch.Config
	// Settle gives hosts their delay before the first request, as those of processes before this
	// one are not known, and asks nothing of hosts of shards that are not here.
	Settle bool
	// Applied, if not nil, is told of each event once it counts.
	Applied func(shard int, e *shard.Event)
	Behind  func(bool)
	// Copied, if not nil, is called when CopyFirst is over.
	Copied func()
	// IDs returns what is added to the numbers of the polls of a shard, so that they differ from
	// those of its owners before. Nil means the number of the shard.
	IDs func(shard int) uint64
	// DivideEvery is how often the budget is divided between the shards; 0 means a minute.
	DivideEvery time.Duration
	// Exchange tells the other processes what the shards here would pay for a poll, and returns
	// what they say, and those here. Nil means that all shards are here.
	Exchange func(ctx context.Context, own []Quote) (all []Quote)
	// Failed is told of a shard of which the log failed: it is not part of the crawl any more. Nil
	// means that the crawl ends then.
	Failed func(shard int, err error)
}

// A Crawler crawls. Make it with New, Open shards, Learn what is to be crawled, and Run it.
type Crawler struct {
	cfg     Config
	Fetcher *fetch.Fetcher
	Fleet   *fleet.Fleet
	once    sync.Once
	stop    chan struct{}
	wait    sync.WaitGroup

	mu       sync.Mutex
	pieces   map[int]*piece
	running  context.Context // that of all polls: it ends after the shards
	fail     context.CancelCauseFunc
	stopping bool
	behind   int

	counting sync.Mutex
	made     shard.Totals
}

// window is the number of polls in flight for each worker: one that it makes, and one that waits.
const window = 2

// New returns a crawler without shards.
func New(cfg Config) (*Crawler, error) {
	c := &Crawler{stop: make(chan struct{}), pieces: map[int]*piece{}}
	cfg.Shards = max(cfg.Shards, 1)
	cfg.Fetch.Clock = cfg.Clock
	cfg.Fetch.Part = func(host string) int { return ShardOf(host, cfg.Shards) }
	if cfg.Settle {
		cfg.Fetch.Ours = c.ours
	}
	cfg.Fetch.Before = c.before
	if cfg.DivideEvery == 0 {
		cfg.DivideEvery = divideEvery
	}
	if cfg.IDs == nil {
		cfg.IDs = func(shard int) uint64 { return uint64(shard) << 48 }
	}
	c.cfg = cfg
	var err error
	if c.Fetcher, err = fetch.New(cfg.Fetch); err != nil {
		return nil, err
	}
	c.Fleet, err = fleet.New(cfg.Groups, cfg.Workers, func(ctx context.Context, j shard.Job) { c.poll(ctx, j) })
	return c, err
}

// setBehind tells the clock that one shard at least cannot keep up.
func (c *Crawler) setBehind(behind bool) {
	if c.cfg.Behind == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.behind > 0
	if behind {
		c.behind++
	} else {
		c.behind--
	}
	if after := c.behind > 0; after != before {
		c.cfg.Behind(after)
	}
}

// An elsewhere is the host of a shard that is not here. To those who ask it is as if the loop had ended.
type elsewhere string

// Error implements the interface.
func (e elsewhere) Error() string { return string(e) + " is crawled by another node" }

// Is reports whether an error is [shard.ErrEnded].
func (e elsewhere) Is(err error) bool { return err == shard.ErrEnded }

// Of returns the loop of a host; [shard.ErrEnded] if its shard is not here.
func (c *Crawler) Of(host string) (*shard.Loop, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pieces[ShardOf(host, c.cfg.Shards)]; p != nil {
		return p.loop, nil
	}
	return nil, elsewhere(host)
}

// Spent returns the number of polls that the budget paid for; call it when Run has returned.
func (c *Crawler) Spent() (polls uint64) {
	for _, p := range c.all() {
		polls += p.loop.Spent
	}
	return polls
}

// Made returns what the polls came to that this process made. Shards count what others made of them, too.
func (c *Crawler) Made() shard.Totals {
	c.counting.Lock()
	defer c.counting.Unlock()
	return c.made
}

// Each calls a function with the state of each shard that is here, while nothing else happens to
// it.
func (c *Crawler) Each(ctx context.Context, do func(*shard.Loop, *shard.State)) error {
	for _, p := range c.all() {
		err := p.loop.Do(ctx, func(s *shard.State) { do(p.loop, s) })
		if err != nil && !errors.Is(err, shard.ErrEnded) {
			return err
		}
	}
	return nil
}

// Learn logs and applies events of shards that are here, before the crawler runs.
func (c *Crawler) Learn(ctx context.Context, events []shard.Event) error {
	parts := divide(events, c.cfg.Shards)
	for _, p := range c.all() {
		if err := p.loop.Learn(ctx, parts[p.number]); err != nil {
			return err
		}
	}
	return nil
}

func divide(events []shard.Event, n int) [][]shard.Event {
	parts := make([][]shard.Event, n)
	for _, e := range events {
		host := e.URL
		if e.Kind != shard.Pause && e.Kind != shard.Limit && e.Kind != shard.Veto {
			host = shard.HostOf(e.URL)
		}
		i := ShardOf(host, n)
		parts[i] = append(parts[i], e)
	}
	return parts
}

// Tell takes events while the crawler runs. Those of shards that are not here are dropped.
func (c *Crawler) Tell(ctx context.Context, events []shard.Event) {
	parts := divide(events, c.cfg.Shards)
	for _, p := range c.all() {
		for _, e := range parts[p.number] {
			p.loop.Tell(ctx, e)
		}
	}
}

// Stop ends the crawl when the polls in flight have ended: Run returns then.
func (c *Crawler) Stop() { c.once.Do(func() { close(c.stop) }) }

// Run crawls until the context ends, Stop is called, or a log fails.
func (c *Crawler) Run(ctx context.Context) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	var polling, helpers sync.WaitGroup
	polling.Go(func() { c.Fleet.Run(running) })
	c.mu.Lock()
	c.running, c.fail = running, end
	for _, p := range c.pieces {
		c.start(p)
	}
	c.mu.Unlock()
	helping, stopHelping := context.WithCancel(running)
	defer stopHelping()
	helpers.Go(func() {
		if c.cfg.CopyFirst {
			c.awaitCopies(helping)
		}
	})
	helpers.Go(func() { c.divideBudget(helping) })
	select {
	case <-c.stop:
	case <-running.Done():
	}
	c.mu.Lock()
	c.stopping = true
	for _, p := range c.pieces {
		p.halt()
	}
	c.mu.Unlock()
	stopHelping()
	c.wait.Wait()
	failed := context.Cause(running)
	end(nil)
	helpers.Wait()
	polling.Wait()
	return failed
}

// awaitCopies begins to spend the budget when all first copies are there.
func (c *Crawler) awaitCopies(ctx context.Context) {
	pieces := c.all()
	for _, p := range pieces {
		select {
		case <-p.copied:
		case <-ctx.Done():
			return
		}
	}
	if c.cfg.Copied != nil {
		c.cfg.Copied()
	}
	for _, p := range pieces {
		_ = p.loop.Do(ctx, func(*shard.State) { p.loop.SetRate(c.cfg.PerSecond / float64(c.cfg.Shards)) }) // or it ends
	}
}

// failed is called when a shard's log failed.
func (c *Crawler) failed(number int, err error) {
	if c.cfg.Failed != nil {
		c.cfg.Failed(number, err)
		return
	}
	c.fail(err)
}

// Recheck asks for the robots.txt of the hosts of barred pages again, and admits those that it now
// allows.
func (c *Crawler) Recheck(ctx context.Context) error {
	for _, p := range c.all() {
		var barred []string
		if err := p.loop.Do(ctx, func(s *shard.State) {
			for page := range s.All() {
				if page.Stage == shard.Barred {
					barred = append(barred, page.URL)
				}
			}
		}); err != nil && !errors.Is(err, shard.ErrEnded) {
			return err
		}
		slow := map[string]bool{} // hosts that had one page wait are not to have all wait
		for _, url := range barred {
			host := shard.HostOf(url)
			if slow[host] {
				continue
			}
			ok, err := c.Fetcher.Check(ctx, url)
			slow[host] = errors.Is(err, fetch.ErrLater)
			if err == nil && ok {
				p.loop.Tell(ctx, shard.Event{Kind: shard.Readmit, URL: url, At: c.cfg.Clock.Now()})
			}
		}
	}
	return ctx.Err()
}

// Restored takes a shard over and returns its state, brought up to date with its log.
func Restored(ctx context.Context, e *engine.Engine, number int, cfg knapsack.RateFilterConfig) (*shard.State, *engine.Shard, error) {
	log, err := e.Own(ctx, number)
	if err != nil {
		return nil, nil, err
	}
	s, err := restore(ctx, log, number, cfg)
	if err != nil {
		log.Release(context.WithoutCancel(ctx)) // a node that stops gives it up, too
		return nil, nil, err
	}
	return s, log, nil
}

// Seen is Restored for who only looks, as the shard may be another node's.
func Seen(ctx context.Context, e *engine.Engine, number int, cfg knapsack.RateFilterConfig) (*shard.State, error) {
	log, err := e.Look(ctx, number)
	if err != nil {
		return nil, err
	}
	return restore(ctx, log, number, cfg)
}

func restore(ctx context.Context, log *engine.Shard, number int, cfg knapsack.RateFilterConfig) (*shard.State, error) {
	filter, err := knapsack.NewRateFilter(0, cfg)
	if err != nil {
		return nil, err
	}
	s := shard.NewState(filter)
	if err := shard.Restore(ctx, s, log); err != nil {
		return nil, fmt.Errorf("shard %d: %w", number, err)
	}
	return s, nil
}
