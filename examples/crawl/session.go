package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/cluster"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/examples/crawl/internal/sink"
	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

// drift is the number of divisions of the budget after which the loads of the nodes are looked at.
const drift = 5

// A session is a crawl from when the engine is opened until it is closed. Alone it has all shards;
// in a cluster those that it is given.
type session struct {
	*settings
	engine  *engine.Engine
	clock   *clock.Real
	sinks   *sink.Sinks
	relays  *relays // nil alone
	crawler *crawler.Crawler
	node    *cluster.Node // nil alone
	inputs  *inputs

	mu   sync.Mutex
	open map[int]opened
}

// opened is a shard that is open.
type opened struct {
	state *shard.State
	log   *engine.Shard
}

// session crawls until the context ends or the state fails.
func (s *settings) session(ctx context.Context, sinks *sink.Sinks) error {
	e, closeEngine, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer closeEngine()
	if err := s.agree(e); err != nil {
		return err
	}
	if s.Given("exchange") && s.engine.URL == "" && e.Shards() == 1 { // as a state that was begun before has
		return report.Usagef("-exchange: the crawl in %s has one shard, so that nothing is divided", s.engine.Dir)
	}
	n := &session{settings: s, engine: e, clock: clock.NewReal(), sinks: sinks, open: map[int]opened{}}
	if s.dryRun {
		return n.forecast(ctx)
	}
	points, err := s.points()
	if err != nil {
		return err
	}
	defer func() {
		for _, p := range points {
			p.Close()
		}
	}()
	if e.Session() != nil {
		if n.relays, err = newRelays(n, points); err != nil {
			return err
		}
		defer n.relays.close()
	}
	failures := newFailures()
	defer failures.tell()
	cfg := crawler.Config{
		Shards: e.Shards(), Clock: n.clock, PerSecond: s.perDay / 86400, Objective: s.objective, Groups: s.groups, Workers: s.workers, Settle: true,
		Fetch: fetch.Config{
			UserAgent: s.userAgent, Points: points, Delay: s.delay, Timeout: s.timeout, Exact: s.exact,
			IDHeader: s.idHeader, Keep: sinks.Sink(), Seed: s.Seed,
		},
		Applied:     func(i int, e *shard.Event) { n.applied(failures, i, e) },
		IDs:         func(int) uint64 { return uint64(rand.Uint32()) << 32 },
		DivideEvery: s.exchange,
	}
	if e.Session() != nil {
		cfg.Exchange = func(ctx context.Context, own []crawler.Quote) []crawler.Quote { return n.node.Exchange(ctx, own) }
		cfg.Failed = n.failed
	}
	if n.crawler, err = crawler.New(cfg); err != nil {
		return err
	}
	n.inputs = newInputs(n)
	if e.Session() != nil {
		return n.together(ctx)
	}
	return n.alone(ctx)
}

// open opens the state. A dry run where there is none begins a crawl in a folder that is removed.
func (s *settings) open(ctx context.Context) (e *engine.Engine, closeAll func(), err error) {
	if !s.dryRun {
		if e, err = engine.Open(ctx, s.engine); err != nil {
			return nil, nil, err
		}
		return e, e.Close, nil
	}
	cfg := s.engine
	cfg.LookOnly = true
	err = engine.ErrNone
	if cfg.URL != "" || engine.HasState(cfg.Dir) {
		if e, err = engine.Open(ctx, cfg); err == nil {
			return e, e.Close, nil
		}
	}
	if !errors.Is(err, engine.ErrNone) {
		if errors.Is(err, engine.ErrBusy) {
			err = fmt.Errorf("%w: -dry-run cannot look at a crawl that runs", err)
		}
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "crawl-dry-run-*")
	if err != nil {
		return nil, nil, err
	}
	e, err = engine.Open(ctx, engine.Config{Dir: dir, Shards: cfg.Shards, Kind: cfg.Kind, Objective: cfg.Objective})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, func() {
		e.Close()
		if err := os.RemoveAll(dir); err != nil {
			slog.Warn("a temporary folder is left", "error", err)
		}
	}, nil
}

// agree takes over the objective that a crawl was begun with. What was learnt serves that one, so
// another one on the command line is refused. From then on there is a state, which may be waited for and is not to
// be begun anew.
func (s *settings) agree(e *engine.Engine) error {
	s.engine.Known = true
	had := e.Objective()
	if had == "" || had == s.objective.String() {
		return nil
	}
	if s.Given("objective") {
		where, anew := s.engine.Dir, "in another folder, -state"
		if s.engine.URL != "" {
			where, anew = "the cluster", "on other servers"
		}
		return fmt.Errorf("-objective %v: what was learnt in %s is for the objective %s: leave the flag out, or begin anew %s", s.objective, where, had, anew)
	}
	if err := s.objective.UnmarshalText([]byte(had)); err != nil {
		return fmt.Errorf("%w: objective: %w", engine.ErrState, err)
	}
	return nil
}

// alone crawls all shards.
func (n *session) alone(ctx context.Context) error {
	began := time.Now()
	defer n.release()
	pages := 0
	for i := range n.engine.Shards() {
		if err := n.Open(ctx, i, n.perDay/86400/float64(n.engine.Shards())); err != nil {
			return err
		}
		pages += n.open[i].state.Len()
	}
	slog.Info("state opened", "folder", n.settings.engine.Dir, "pages", pages, "took", time.Since(began).Round(time.Millisecond))
	if err := n.inputs.begin(ctx, false); err != nil {
		return err
	}
	closePage, err := n.show()
	if err != nil {
		return err
	}
	defer closePage()
	running, cancel := context.WithCancel(context.Background())
	defer cancel()
	context.AfterFunc(ctx, n.crawler.Stop)
	reading, end := context.WithCancel(ctx) // nothing that is read is waited for when the crawl is to stop
	defer end()
	read := make(chan error, 1)
	go func() {
		err := n.inputs.refresh(reading)
		if err != nil {
			n.crawler.Stop()
		}
		read <- err
	}()
	err = n.crawler.Run(running)
	end()
	return cmp.Or(err, <-read)
}

// together crawls the shards that this node of a cluster is given. When the context ends it hands
// them over.
func (n *session) together(ctx context.Context) error {
	closePage, err := n.show()
	if err != nil {
		return err
	}
	defer closePage()
	n.node = cluster.New(cluster.Config{
		Engine: n.engine, Name: n.engine.Name(), Every: drift * n.exchange,
		About: n.relays.about(cluster.About{Power: float64(n.groups * n.workers), Budget: n.perDay / 86400}),
		Open:  n.Open, Close: n.Close, Has: n.crawler.Has,
	})
	slog.Info("joined the cluster", "node", n.engine.Name(), "shards", n.engine.Shards())
	running, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.crawler.Run(running) }()
	go func() { _ = n.inputs.refresh(running) }() // it has nothing that begin left
	var serving sync.WaitGroup
	serving.Go(func() { n.relays.run(running) })
	defer serving.Wait()
	defer cancel()
	err = n.node.Run(ctx)
	if err == nil {
		slog.Info("this node leaves, and hands its shards over", "node", n.engine.Name())
		n.node.Leave()
		var wait sync.WaitGroup
		for i := range n.engine.Shards() {
			wait.Go(func() { n.Close(running, i) })
		}
		wait.Wait()
	}
	cancel()
	<-ended
	return err
}

// show opens the live page.
func (n *session) show() (stop func(), err error) {
	return n.settings.show(&watcher{crawler: n.crawler, clock: n.clock, objective: n.objective, sinks: n.sinks, began: time.Now()})
}

// Open takes a shard over, restores it and makes it part of the crawl.
func (n *session) Open(ctx context.Context, i int, perSecond float64) error {
	state, log, err := crawler.Restored(ctx, n.engine, i, knapsack.RateFilterConfig{Objective: n.objective})
	if err != nil {
		return err
	}
	if behind := n.clock.NotBefore(state.Latest); behind > time.Second {
		slog.Warn("this machine's clock is behind the latest poll: it was set back, or another machine's is ahead; the crawl goes on from that poll's time and lets the clock catch up", "behind", behind.Round(time.Second))
	}
	n.mu.Lock()
	n.open[i] = opened{state, log}
	n.mu.Unlock()
	n.crawler.Open(i, crawler.Part{State: state, Log: log}, perSecond)
	n.inputs.opened(i)
	if n.node != nil {
		slog.Info("shard opened", "shard", i, "pages", state.Len())
	}
	return nil
}

// Close ends the crawl of a shard and gives it up.
func (n *session) Close(ctx context.Context, i int) {
	n.crawler.Close(i)
	n.mu.Lock()
	o, ok := n.open[i]
	delete(n.open, i)
	n.mu.Unlock()
	if ok {
		o.log.Release(ctx)
		slog.Info("shard handed over", "shard", i)
	}
}

// failed takes note of a shard that this node has no more.
func (n *session) failed(i int, err error) {
	slog.Warn("this node does not have the shard any more", "shard", i, "error", err)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, i)
}

// applied is called when an event of a shard was applied. Of a host of which no page is crawled any more nothing
// is to be told.
func (n *session) applied(failures *failures, i int, e *shard.Event) {
	failures.count(e)
	if e.Kind != shard.Remove {
		return
	}
	n.mu.Lock()
	o, ok := n.open[i]
	n.mu.Unlock()
	if !ok {
		return
	}
	name := shard.HostOf(e.URL)
	if h := o.state.Host(name); h == nil || h.Pages == 0 {
		failures.forget(name)
	}
}

// release gives all shards up.
func (n *session) release() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, o := range n.open {
		o.log.Release(ctx)
	}
}
