// Package crawler puts the parts together: shards that learn, a fleet that polls for them, the
// first copies, and a budget that all shards share.
package crawler

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/fleet"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// A Part is a shard that this process has.
type Part struct {
	State *shard.State
	Log   shard.Log // nil for none
}

// Config describes a Crawler.
type Config struct {
	Parts     []Part // shard i of len(Parts)
	Clock     clock.Clock
	PerSecond float64 // budget of all parts
	CopyFirst bool    // spend none of it before all first copies are there
	Groups    int     // of workers
	Workers   int     // of a group
	Fetch     fetch.Config
	// Applied, if not nil, is told of each event once it counts.
	Applied func(shard int, e *shard.Event)
	Behind  func(bool)
	// Copied, if not nil, is called when CopyFirst is over.
	Copied func()
	// IDs is added to the numbers of polls.
	IDs uint64
}

// A Crawler crawls. Make it with New, then Learn what is to be crawled, then Run.
type Crawler struct {
	cfg     Config
	Fetcher *fetch.Fetcher
	Fleet   *fleet.Fleet
	loops   []*shard.Loop
	stop    chan struct{}
	once    sync.Once
	polls   context.Context // of all polls: it ends after the loops

	mu     sync.Mutex
	behind int
	plan   *fleet.Plan
	copies int // first copies still to fetch
}

// window is the number of polls in flight for each worker: one that it makes, and one that waits.
const window = 2

// divideEvery is how often the budget is divided between the shards.
const divideEvery = time.Minute

// New returns a crawler.
func New(cfg Config) (*Crawler, error) {
	c := &Crawler{cfg: cfg, stop: make(chan struct{})}
	cfg.Fetch.Clock = cfg.Clock
	var err error
	if c.Fetcher, err = fetch.New(cfg.Fetch); err != nil {
		return nil, err
	}
	if c.Fleet, err = fleet.New(cfg.Groups, cfg.Workers, c.poll); err != nil {
		return nil, err
	}
	share := cfg.PerSecond / float64(len(cfg.Parts))
	if cfg.CopyFirst {
		share = 0
	}
	for i, part := range cfg.Parts {
		c.loops = append(c.loops, shard.NewLoop(shard.Config{
			State: part.State, Log: part.Log, Clock: cfg.Clock,
			PerSecond: share,
			Window:    max(window*cfg.Groups*cfg.Workers/len(cfg.Parts), 1),
			Submit:    c.Fleet.Submit, Stop: c.stop,
			IDs:     cfg.IDs + uint64(i)<<48,
			Applied: func(e *shard.Event) { c.applied(i, e) },
			Behind:  c.setBehind,
		}))
	}
	return c, nil
}

func (c *Crawler) applied(i int, e *shard.Event) {
	if c.cfg.Applied != nil {
		c.cfg.Applied(i, e)
	}
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

// ShardOf returns the shard of a host among n.
func ShardOf(host string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(host))
	return int(h.Sum32() % uint32(n))
}

// Of returns the loop of a host.
func (c *Crawler) Of(host string) *shard.Loop { return c.loops[ShardOf(host, len(c.loops))] }

// Spent returns the number of polls that the budget paid for; call it when Run has returned.
func (c *Crawler) Spent() (polls uint64) {
	for _, l := range c.loops {
		polls += l.Spent
	}
	return polls
}

// Each calls a function with the state of each shard, while nothing else happens to it.
func (c *Crawler) Each(ctx context.Context, do func(*shard.Loop, *shard.State)) error {
	for _, l := range c.loops {
		if err := l.Do(ctx, func(s *shard.State) { do(l, s) }); err != nil {
			return err
		}
	}
	return nil
}

// Learn logs and applies events, before or while the crawler runs.
func (c *Crawler) Learn(ctx context.Context, events []shard.Event) error {
	for i, part := range divide(events, len(c.loops)) {
		if err := c.loops[i].Learn(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func divide(events []shard.Event, n int) [][]shard.Event {
	parts := make([][]shard.Event, n)
	for _, e := range events {
		host := e.URL
		if e.Kind != shard.Pause && e.Kind != shard.Limit {
			host = shard.HostOf(e.URL)
		}
		i := ShardOf(host, n)
		parts[i] = append(parts[i], e)
	}
	return parts
}

// Tell takes events while the crawler runs.
func (c *Crawler) Tell(ctx context.Context, events []shard.Event) {
	for i, part := range divide(events, len(c.loops)) {
		for _, e := range part {
			c.loops[i].Tell(ctx, e)
		}
	}
}

// Stop ends the crawl when the polls in flight have ended: Run returns then.
func (c *Crawler) Stop() { c.once.Do(func() { close(c.stop) }) }

// Run crawls until the context ends, Stop is called, or a log fails.
func (c *Crawler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var polling, wait sync.WaitGroup
	c.polls = ctx
	polling.Go(func() { c.Fleet.Run(ctx) })
	errs := make([]error, len(c.loops))
	for i, l := range c.loops {
		wait.Go(func() {
			if errs[i] = l.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	var helpers sync.WaitGroup
	helping, stopHelping := context.WithCancel(ctx)
	helpers.Go(func() {
		c.FirstCopies(helping)
		if c.cfg.CopyFirst {
			if c.cfg.Copied != nil {
				c.cfg.Copied()
			}
			for _, l := range c.loops {
				_ = l.Do(helping, func(*shard.State) { l.SetRate(c.cfg.PerSecond / float64(len(c.loops))) })
			}
		}
	})
	helpers.Go(func() { c.divideBudget(helping) })
	go func() {
		select {
		case <-c.stop:
			stopHelping()
		case <-helping.Done():
		}
	}()
	wait.Wait()
	cancel()
	stopHelping()
	helpers.Wait()
	polling.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// poll makes a poll and tells the shard.
func (c *Crawler) poll(ctx context.Context, j shard.Job) {
	res := c.Fetcher.Poll(ctx, j.ID, j.URL, j.Copy)
	if ctx.Err() != nil {
		return // it is asked again after a restart
	}
	loop := c.Of(j.Host)
	if res.Delay >= 0 {
		loop.Tell(ctx, shard.Event{Kind: shard.Limit, URL: j.Host, At: res.At, Seconds: res.Delay.Seconds()})
	}
	loop.Tell(ctx, shard.Found(j, res))
}

// FirstCopies fetches the pages that wait for their first copy.
func (c *Crawler) FirstCopies(ctx context.Context) {
	if err := c.firstCopies(ctx); err != nil && ctx.Err() == nil {
		slog.Error("the first copies stopped; a restart goes on with them", "error", err)
	}
}

func (c *Crawler) firstCopies(ctx context.Context) error {
	hosts := map[string]*fleet.Site{}
	for _, l := range c.loops {
		if err := l.Do(ctx, func(s *shard.State) {
			for p := range s.All() {
				if p.Stage != shard.Waiting {
					continue
				}
				site := hosts[p.Host.Name]
				if site == nil {
					site = &fleet.Site{Host: p.Host.Name, Delay: max(p.Host.Delay, c.cfg.Fetch.Delay.Seconds())}
					hosts[p.Host.Name] = site
				}
				site.URLs = append(site.URLs, p.URL)
			}
		}); err != nil {
			return err
		}
	}
	plan, err := fleet.NewPlan(sorted(hosts), c.cfg.Groups*c.cfg.Workers)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.plan, c.copies = plan, 0
	for _, s := range hosts {
		c.copies += len(s.URLs)
	}
	c.mu.Unlock()
	return plan.Run(ctx, func(ctx context.Context, url string) error {
		var job shard.Job
		var ok bool
		loop := c.Of(shard.HostOf(url))
		err := loop.Do(ctx, func(*shard.State) { job, ok = loop.Take(url, shard.Waiting) })
		if err == nil && ok {
			c.poll(c.polls, job)
		}
		c.mu.Lock()
		c.copies--
		c.mu.Unlock()
		return err
	})
}

// FirstCopiesLeft returns how many first copies are still to be fetched, and how long all were
// planned to take.
func (c *Crawler) FirstCopiesLeft() (pages int, plan time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan == nil {
		return 0, 0
	}
	return c.copies, c.plan.Makespan
}

// divideBudget gives each shard so much of the budget that one more poll is worth the same in all:
// a shard whose price is above the mean gets more.
func (c *Crawler) divideBudget(ctx context.Context) {
	tick := time.NewTicker(divideEvery)
	defer tick.Stop()
	for len(c.loops) > 1 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		rates, prices := make([]float64, len(c.loops)), make([]float64, len(c.loops))
		for i, l := range c.loops {
			if l.Do(ctx, func(s *shard.State) {
				rates[i] = l.Rate()
				prices[i], _ = Price(s)
			}) != nil {
				return
			}
		}
		divided := Divide(rates, prices, c.cfg.PerSecond)
		for i, l := range c.loops {
			_ = l.Do(ctx, func(*shard.State) { l.SetRate(divided[i]) })
		}
	}
}

// Divide returns a budget divided anew: shares grow by the root of their price over the mean, which
// converges without swinging, as prices fall with the budget. A shard without a price, as it is
// new, keeps its share.
func Divide(rates, prices []float64, budget float64) []float64 {
	mean, n := 0.0, 0
	for i, p := range prices {
		if p > 0 && rates[i] > 0 {
			mean += p
			n++
		}
	}
	mean /= float64(max(n, 1))
	divided, sum := make([]float64, len(rates)), 0.0
	for i, r := range rates {
		factor := 1.0
		if prices[i] > 0 && mean > 0 {
			factor = min(max(math.Sqrt(prices[i]/mean), 0.5), 2)
		}
		divided[i] = r * factor
		sum += divided[i]
	}
	for i := range divided {
		if sum > 0 {
			divided[i] *= budget / sum
		}
	}
	return divided
}

// Price returns what one more poll is worth to a shard, and its Stats.
func Price(s *shard.State) (price float64, stats knapsack.Stats) {
	_ = knapsack.With(s.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		price, stats = f.Price(), f.Stats()
		return nil
	}) // other learners have no price
	return price, stats
}

// Recheck asks for the robots.txt of the hosts of barred pages again, and admits those that it now
// allows.
func (c *Crawler) Recheck(ctx context.Context) error {
	for _, l := range c.loops {
		var barred []string
		if err := l.Do(ctx, func(s *shard.State) {
			for p := range s.All() {
				if p.Stage == shard.Barred {
					barred = append(barred, p.URL)
				}
			}
		}); err != nil {
			return err
		}
		for _, url := range barred {
			if ok, err := c.Fetcher.Check(ctx, url); err == nil && ok {
				l.Tell(ctx, shard.Event{Kind: shard.Readmit, URL: url, At: c.cfg.Clock.Now()})
			}
		}
	}
	return ctx.Err()
}

// Restored is an owner's state, brought up to date with its log.
func Restored(ctx context.Context, e *engine.Engine, number int, cfg knapsack.RateFilterConfig) (Part, *engine.Shard, error) {
	log, err := e.Own(ctx, number)
	if err != nil {
		return Part{}, nil, err
	}
	filter, err := knapsack.NewRateFilter(0, cfg)
	if err != nil {
		return Part{}, nil, err
	}
	s := shard.NewState(filter)
	if err := shard.Restore(ctx, s, log); err != nil {
		log.Release(ctx)
		return Part{}, nil, fmt.Errorf("shard %d: %w", number, err)
	}
	return Part{s, log}, log, nil
}
