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
	shards   map[int]bool    // that were
	late     *reading        // of files, while what begin left is to be read
	joined   map[string]bool // pages that joined since the sources were begun to be read
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

// errNone reports that neither the state nor the sources have a page.
var errNone = errors.New("there is no page to crawl")

// begin compares what is to be crawled with what is known, before the crawl runs. A list may have been
// cut short then, too. If it is not to wait for sitemaps and feeds, these are left to refresh: the pages that are
// known, or in lists, are polled meanwhile.
func (in *inputs) begin(ctx context.Context, wait bool) error {
	local, err := in.files()
	if err != nil {
		return err
	}
	if wait || !in.hasDocuments() {
		in.entries, in.whole, err = in.documents(ctx, in.crawler.Fetcher, local, func([]input.Entry) {})
	} else {
		in.late = &local
		in.again <- struct{}{}
		in.entries, in.whole = input.Merge(local.entries, local.rules), false
	}
	if err != nil {
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
	if err := in.crawler.Learn(ctx, events); err != nil || in.late != nil {
		return err
	}
	for _, o := range in.open {
		if o.state.Len() > 0 {
			return nil
		}
	}
	return errNone
}

// refresh reads the sources again at intervals, and robots.txt of what it forbids; shards that were
// opened meanwhile are told which pages were named last. It ends with the context, or if the sources that begin
// left to it name the first pages and name none.
func (in *inputs) refresh(ctx context.Context) error {
	tick := time.NewTicker(in.every)
	defer tick.Stop()
	for ctx.Err() == nil {
		var only map[int]bool
		late := in.late
		read := in.node != nil && in.entries == nil || late != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			read = true
		case <-in.again:
			if late != nil {
				break
			}
			in.mu.Lock()
			only, in.shards = in.shards, map[int]bool{}
			in.mu.Unlock()
		}
		if read {
			if err := in.reread(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				slog.Error("what is to be crawled cannot be read; it stays as it was", "error", err)
				continue
			}
		}
		each := func(look func(*shard.State)) error {
			return in.crawler.Each(ctx, func(_ *shard.Loop, s *shard.State) { look(s) })
		}
		events, err := in.events(only, in.mostRemoved, func(url string, look func(*shard.State)) error { return in.look(ctx, url, look) }, each)
		none := late != nil && len(in.entries) == 0
		if in.node == nil {
			in.entries = nil
		}
		if err != nil {
			continue // the crawl ends
		}
		in.crawler.Tell(ctx, events)
		if none {
			pages := 0
			if err := each(func(s *shard.State) { pages += s.Len() }); err == nil && pages == 0 {
				return errNone
			}
		}
		if only == nil && late == nil && in.rechecks.CompareAndSwap(false, true) {
			go func() { // hosts that do not answer take their time
				defer in.rechecks.Store(false)
				_ = in.crawler.Recheck(ctx) // ends with the context
			}()
		}
	}
	return nil
}

// look looks at the state of a page's shard while the crawl runs, if it is here.
func (in *inputs) look(ctx context.Context, url string, look func(*shard.State)) error {
	loop, err := in.crawler.Of(shard.HostOf(url))
	if err == nil {
		err = loop.Do(ctx, look)
	}
	if errors.Is(err, shard.ErrEnded) {
		return nil
	}
	return err
}

// reread reads all sources, or those that begin left. Pages that are not known yet join the crawl as they come.
func (in *inputs) reread(ctx context.Context) (err error) {
	var local reading
	if in.late != nil {
		local, in.late = *in.late, nil
	} else if local, err = in.files(); err != nil {
		return err
	}
	in.joined = map[string]bool{}
	entries, whole, err := in.documents(ctx, in.crawler.Fetcher, local, func(entries []input.Entry) { in.join(ctx, entries) })
	if err == nil {
		in.entries, in.whole = entries, whole
	}
	return err
}

// join adds those of some pages that are not known yet. Their other settings have to wait for what all sources
// say.
func (in *inputs) join(ctx context.Context, entries []input.Entry) {
	var events []shard.Event
	now := in.clock.Now()
	for _, e := range entries {
		here := false
		if err := in.look(ctx, e.URL, func(s *shard.State) { here = s.Page(e.URL) == nil }); err != nil {
			return // the crawl ends
		}
		if here && !in.joined[e.URL] {
			in.joined[e.URL] = true
			events = append(events, addition(e, now))
		}
	}
	in.crawler.Tell(ctx, events)
}

// addition returns the event of a page that is to be crawled.
func addition(e input.Entry, now time.Time) shard.Event {
	return shard.Event{Kind: shard.Add, URL: e.URL, At: now, Weight: e.Weight, Shortest: e.Shortest.Seconds(), Longest: e.Longest.Seconds()}
}

// events returns what changed in the list of pages, for some shards or, with nil, for all. Those that were
// just opened lose no page: the node that had them may have read a newer list. If more than a share of the
// pages is missing none is removed: a list that was cut short is not to cost what was learnt. At and each look
// at the state of a page's shard and of all that are here.
func (in *inputs) events(only map[int]bool, mostRemoved float64, at func(string, func(*shard.State)) error, each func(func(*shard.State)) error) (events []shard.Event, err error) {
	now := in.clock.Now()
	wanted := make(map[string]bool, len(in.entries))
	added, removed := len(in.joined), 0
	defer func() { in.joined = nil }()
	for _, e := range in.entries {
		wanted[e.URL] = true
		if only != nil && !only[crawler.ShardOf(shard.HostOf(e.URL), in.engine.Shards())] {
			continue
		}
		add := addition(e, now)
		here := false
		err := at(e.URL, func(s *shard.State) {
			here = true
			p := s.Page(e.URL)
			if p != nil {
				if w, shortest, longest := p.Settings(); w == add.Weight && shortest == add.Shortest && longest == add.Longest {
					return
				}
			} else if !in.joined[e.URL] { // or it is about to be known
				added++
			}
			events = append(events, add)
		})
		if err != nil {
			return nil, err
		}
		if was, known := in.modified[e.URL]; here && e.Modified.After(was) && !e.Modified.After(now) {
			in.modified[e.URL] = e.Modified
			hint := shard.Event{Kind: shard.Hint, URL: e.URL, At: e.Modified}
			if known {
				hint.At = latest(e.Modified, now)
			}
			events = append(events, hint)
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

// latest returns when a page changed at the latest whose date in a source moved to another one by now. Many a
// sitemap has days only: a page that was polled on such a day may have changed since.
func latest(modified, now time.Time) time.Time {
	end := modified.AddDate(0, 0, 1)
	switch hour, minute, second := modified.Clock(); {
	case hour != 0 || minute != 0 || second != 0:
		return modified
	case end.After(now):
		return now
	}
	return end
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
