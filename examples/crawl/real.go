package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/examples/crawl/internal/sink"
	"github.com/recrawl/recrawl/knapsack"
)

// storagePause is how long the crawl rests when its state cannot be written, before it tries again.
const storagePause = 5 * time.Second

// crawl crawls the user's pages. While the state cannot be written it polls nothing: what is not
// logged is not learnt, and is found again.
func (s *settings) crawl() error {
	if err := s.Start(""); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(s.Stderr, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.length)
		defer cancel()
	}
	keep, closeSinks, err := s.sinks()
	if err != nil {
		return err
	}
	defer closeSinks()
	for begun := false; ; begun = true {
		err := s.session(ctx, keep)
		if ctx.Err() != nil || !errors.Is(err, engine.ErrStorage) || !begun && !s.hasState() {
			return err
		}
		slog.Error("the crawl rests until its state can be written again; nothing is lost", "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(storagePause):
		}
	}
}

// hasState reports whether there is a state to wait for.
func (s *settings) hasState() bool {
	_, err := os.Stat(s.engine.Dir)
	return err == nil
}

// sinks opens what new versions of pages go to.
func (s *settings) sinks() (keep sink.Sink, closeAll func(), err error) {
	var all []sink.Sink
	closeAll = func() {}
	if s.lines {
		all = append(all, sink.Lines(s.Stdout))
	}
	if s.folder != "" {
		f, err := sink.Folder(s.folder)
		if err != nil {
			return nil, closeAll, err
		}
		all = append(all, f)
	}
	if s.warc != "" {
		w, err := sink.NewWARC(s.warc, s.userAgent)
		if err != nil {
			return nil, closeAll, err
		}
		closeAll = func() {
			if err := w.Close(); err != nil {
				slog.Error("WARC", "error", err)
			}
		}
		all = append(all, w.Keep)
	}
	if s.webhook != "" {
		all = append(all, sink.Webhook(s.webhook, s.userAgent))
	}
	return sink.All(all), closeAll, nil
}

// opened are the shards of a session.
type opened struct {
	engine *engine.Engine
	parts  []crawler.Part
	logs   []*engine.Shard
	clock  *clock.Real
}

// open opens the state.
func (s *settings) open(ctx context.Context) (*opened, error) {
	began := time.Now()
	e, err := engine.Open(ctx, s.engine)
	if err != nil {
		return nil, err
	}
	o := &opened{engine: e}
	var latest time.Time
	pages := 0
	for i := range max(s.engine.Shards, 1) {
		part, log, err := crawler.Restored(ctx, e, i, knapsack.RateFilterConfig{Objective: s.objective})
		if err != nil {
			e.Close()
			return nil, err
		}
		o.parts, o.logs = append(o.parts, part), append(o.logs, log)
		pages += part.State.Len()
		if part.State.Latest.After(latest) {
			latest = part.State.Latest
		}
	}
	o.clock = clock.NewReal(latest)
	if ahead := o.clock.Ahead(); ahead > time.Second {
		slog.Warn("this machine's clock is behind the latest poll: it was set back; the crawl goes on from that poll's time and lets the clock catch up", "behind", ahead.Round(time.Second))
	}
	slog.Info("state opened", "folder", s.engine.Dir, "pages", pages, "took", time.Since(began).Round(time.Millisecond))
	return o, nil
}

// close gives the shards up.
func (o *opened) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, l := range o.logs {
		l.Release(ctx)
	}
	o.engine.Close()
}

// points are the access points of the command line.
func (s *settings) points() (all []fetch.Point, err error) {
	for _, text := range s.access {
		p, err := fetch.ParsePoint(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// session crawls until the context ends or the state fails.
func (s *settings) session(ctx context.Context, keep sink.Sink) error {
	o, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	points, err := s.points()
	if err != nil {
		return err
	}
	c, err := crawler.New(crawler.Config{
		Parts: o.parts, Clock: o.clock, PerSecond: s.perDay / 86400, Groups: s.groups, Workers: s.workers,
		Fetch: fetch.Config{
			UserAgent: s.userAgent, Points: points, Delay: s.delay, Timeout: s.timeout, Exact: s.exact, Settle: true,
			IDHeader: s.idHeader, Keep: keep, Seed: s.Seed,
		},
		Applied: func(_ int, e *shard.Event) { logPoll(e) },
		IDs:     uint64(rand.Uint32()) << 24,
	})
	if err != nil {
		return err
	}
	in := &inputs{settings: s, crawler: c, parts: o.parts, clock: o.clock}
	if err := in.begin(ctx); err != nil {
		return err
	}
	if s.dryRun {
		return s.forecast(o)
	}
	closePage, err := s.show(&watcher{crawler: c, clock: o.clock, objective: s.objective, began: time.Now()})
	if err != nil {
		return err
	}
	defer closePage()
	running, cancel := context.WithCancel(context.Background())
	defer cancel()
	context.AfterFunc(ctx, c.Stop)
	go in.refresh(running)
	return c.Run(running)
}

// logPoll says what went wrong with a poll.
func logPoll(e *shard.Event) {
	switch {
	case e.Kind != shard.Polled, e.Reason == nil:
	case e.Result == shard.Forbidden:
		slog.Info("robots.txt forbids a page: it is not asked for", "page", e.URL)
	default:
		slog.Debug("poll failed", "page", e.URL, "result", e.Result, "error", e.Reason)
	}
}

// inputs keep the list of pages up to date.
type inputs struct {
	*settings
	crawler  *crawler.Crawler
	parts    []crawler.Part
	clock    clock.Clock
	modified map[string]time.Time // what hints have been given
}

// begin compares what is to be crawled with what is known.
func (in *inputs) begin(ctx context.Context) error {
	in.modified = map[string]time.Time{}
	events, err := in.events(ctx, func(url string, look func(*shard.State)) error {
		look(in.parts[crawler.ShardOf(shard.HostOf(url), len(in.parts))].State)
		return nil
	}, func(look func(*shard.State)) error {
		for _, p := range in.parts {
			look(p.State)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := in.crawler.Learn(ctx, events); err != nil {
		return err
	}
	pages := 0
	for _, p := range in.parts {
		pages += p.State.Len()
	}
	if pages == 0 {
		return errors.New("there is no page to crawl")
	}
	return nil
}

// refresh reads the sources again at intervals, and robots.txt of what it forbids.
func (in *inputs) refresh(ctx context.Context) {
	tick := time.NewTicker(in.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		events, err := in.events(ctx, func(url string, look func(*shard.State)) error {
			return in.crawler.Of(shard.HostOf(url)).Do(ctx, look)
		}, func(look func(*shard.State)) error {
			return in.crawler.Each(ctx, func(_ *shard.Loop, s *shard.State) { look(s) })
		})
		if err != nil {
			slog.Error("what is to be crawled cannot be read again; it stays as it was", "error", err)
			continue
		}
		in.crawler.Tell(ctx, events)
		in.crawler.FirstCopies(ctx)
		_ = in.crawler.Recheck(ctx) // ends with the context
	}
}

// events returns what changed in the list of pages.
func (in *inputs) events(ctx context.Context, at func(string, func(*shard.State)) error, each func(func(*shard.State)) error) (events []shard.Event, err error) {
	entries, whole, err := in.read(ctx)
	if err != nil {
		return nil, err
	}
	now := in.clock.Now()
	wanted := make(map[string]bool, len(entries))
	added, removed := 0, 0
	for _, e := range entries {
		wanted[e.URL] = true
		add := shard.Event{Kind: shard.Add, URL: e.URL, At: now, Weight: e.Weight, Shortest: e.Shortest.Seconds(), Longest: e.Longest.Seconds()}
		err := at(e.URL, func(s *shard.State) {
			p := s.Page(e.URL)
			if p != nil {
				if w, shortest, longest := p.Settings(); w == add.Weight && shortest == add.Shortest && longest == add.Longest {
					return
				}
			} else {
				added++
			}
			events = append(events, add)
		})
		if err != nil {
			return nil, err
		}
		if e.Modified.After(in.modified[e.URL]) && !e.Modified.After(now) {
			in.modified[e.URL] = e.Modified
			events = append(events, shard.Event{Kind: shard.Hint, URL: e.URL, At: e.Modified})
		}
	}
	if whole {
		err = each(func(s *shard.State) {
			for p := range s.All() {
				if !wanted[p.URL] {
					removed++
					events = append(events, shard.Event{Kind: shard.Remove, URL: p.URL, At: now})
				}
			}
		})
	}
	if added+removed > 0 {
		slog.Info("pages", "new", added, "removed", removed)
	}
	return events, err
}
