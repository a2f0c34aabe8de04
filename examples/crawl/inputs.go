package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// inputs keep the list of pages up to date, as far as its shards are here.
type inputs struct {
	*session
	modified map[string]time.Time // what hints have been given
	again    chan struct{}        // shards were opened
	rechecks atomic.Bool          // robots.txt of what it forbids are read again
	mu       sync.Mutex
	shards   map[int]bool // that were
	// In a cluster, what was read last: shards come and go.
	entries []input.Entry
	whole   bool
	// pages returns how many all nodes have, if that is known.
	pages func() (all int, known bool)
}

func newInputs(n *session) *inputs {
	in := &inputs{session: n, modified: map[string]time.Time{}, again: make(chan struct{}, 1), shards: map[int]bool{}}
	in.pages = func() (int, bool) {
		if n.node == nil {
			return 0, true // those here are all
		}
		return n.node.Pages()
	}
	return in
}

// opened has the list applied to a shard that was opened while the crawl runs.
func (in *inputs) opened(shard int) {
	if in.node == nil {
		return
	}
	in.mu.Lock()
	in.shards[shard] = true
	in.mu.Unlock()
	select {
	case in.again <- struct{}{}:
	default:
	}
}

// begin compares what is to be crawled with what is known, before the crawl runs. A list may have been
// cut short then, too.
func (in *inputs) begin(ctx context.Context) error {
	if err := in.reread(ctx); err != nil {
		return err
	}
	events, err := in.events(nil, in.mostRemoved, func(url string, look func(*shard.State)) error {
		look(in.open[crawler.ShardOf(shard.HostOf(url), in.engine.Shards())].state)
		return nil
	}, func(look func(*shard.State)) error {
		for _, o := range in.open {
			look(o.state)
		}
		return nil
	})
	if err != nil {
		return err
	}
	in.entries = nil
	if err := in.crawler.Learn(ctx, events); err != nil {
		return err
	}
	for _, o := range in.open {
		if o.state.Len() > 0 {
			return nil
		}
	}
	return errors.New("there is no page to crawl")
}

// refresh reads the sources again at intervals, and robots.txt of what it forbids; shards that were
// opened meanwhile are told which pages were named last.
func (in *inputs) refresh(ctx context.Context) {
	tick := time.NewTicker(in.every)
	defer tick.Stop()
	for ctx.Err() == nil {
		var only map[int]bool
		read := in.node != nil && in.entries == nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			read = true
		case <-in.again:
			in.mu.Lock()
			only, in.shards = in.shards, map[int]bool{}
			in.mu.Unlock()
		}
		if read {
			if err := in.reread(ctx); err != nil {
				if ctx.Err() != nil {
					return
				}
				slog.Error("what is to be crawled cannot be read; it stays as it was", "error", err)
				continue
			}
		}
		events, err := in.events(only, in.mostRemoved, func(url string, look func(*shard.State)) error {
			loop, err := in.crawler.Of(shard.HostOf(url))
			if err == nil {
				err = loop.Do(ctx, look)
			}
			if errors.Is(err, shard.ErrEnded) {
				return nil
			}
			return err
		}, func(look func(*shard.State)) error {
			return in.crawler.Each(ctx, func(_ *shard.Loop, s *shard.State) { look(s) })
		})
		if in.node == nil {
			in.entries = nil
		}
		if err != nil {
			continue // the crawl ends
		}
		in.crawler.Tell(ctx, events)
		if only == nil && in.rechecks.CompareAndSwap(false, true) {
			go func() { // hosts that do not answer take their time
				defer in.rechecks.Store(false)
				_ = in.crawler.Recheck(ctx) // ends with the context
			}()
		}
	}
}

// reread reads all sources.
func (in *inputs) reread(ctx context.Context) error {
	entries, whole, err := in.read(ctx, in.crawler.Fetcher)
	if err == nil {
		in.entries, in.whole = entries, whole
	}
	return err
}

// events returns what changed in the list of pages, for some shards or, with nil, for all. Those that were
// just opened lose no page: the node that had them may have read a newer list. If more than a share of the
// pages is missing none is removed: a list that was cut short is not to cost what was learnt. At and each look
// at the state of a page's shard and of all that are here.
func (in *inputs) events(only map[int]bool, mostRemoved float64, at func(string, func(*shard.State)) error, each func(func(*shard.State)) error) (events []shard.Event, err error) {
	now := in.clock.Now()
	wanted := make(map[string]bool, len(in.entries))
	added, removed := 0, 0
	for _, e := range in.entries {
		wanted[e.URL] = true
		if only != nil && !only[crawler.ShardOf(shard.HostOf(e.URL), in.engine.Shards())] {
			continue
		}
		add := shard.Event{Kind: shard.Add, URL: e.URL, At: now, Weight: e.Weight, Shortest: e.Shortest.Seconds(), Longest: e.Longest.Seconds()}
		here := false
		err := at(e.URL, func(s *shard.State) {
			here = true
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
		if here && e.Modified.After(in.modified[e.URL]) && !e.Modified.After(now) {
			in.modified[e.URL] = e.Modified
			events = append(events, shard.Event{Kind: shard.Hint, URL: e.URL, At: e.Modified})
		}
	}
	if in.whole && only == nil {
		maps.DeleteFunc(in.modified, func(url string, _ time.Time) bool { return !wanted[url] })
		var gone []shard.Event
		pages := 0
		err = each(func(s *shard.State) {
			pages += s.Len()
			for p := range s.All() {
				if !wanted[p.URL] {
					gone = append(gone, shard.Event{Kind: shard.Remove, URL: p.URL, At: now})
				}
			}
		})
		if in.removable(len(gone), pages, len(wanted), mostRemoved) {
			removed = len(gone)
			events = append(events, gone...)
		}
	}
	if added+removed > 0 {
		slog.Info("pages", "new", added, "removed", removed)
	}
	return events, err
}

// removable reports whether pages that the sources do not name may be removed. The share of the missing is that of
// those that are here, and of all: a list that was cut short may lack none that is here. How many are missing of
// all nobody knows; it is as many as there are more than the list has, or more.
func (in *inputs) removable(gone, here, wanted int, mostRemoved float64) bool {
	if gone == 0 {
		return true
	}
	all, known := in.pages()
	if !known {
		slog.Info("pages that the sources do not name stay until these are read again: it is not known yet how many the other nodes have", "missing", gone)
		return false
	}
	for _, part := range []struct{ missing, pages int }{{gone, here}, {all - wanted, all}} {
		if float64(part.missing) > max(mostRemoved*float64(part.pages), 1) {
			slog.Error("the sources do not name so many pages any more that they may have been cut short; none is removed. If it is meant, start with -most-removed 1",
				"missing", part.missing, "pages", part.pages, "most-removed", mostRemoved)
			return false
		}
	}
	return true
}
