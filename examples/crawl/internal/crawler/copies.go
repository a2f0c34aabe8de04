package crawler

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fleet"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// copyPause is the time between two attempts at first copies that were abandoned.
const copyPause = 200 * time.Millisecond

// firstCopies fetches the first copies of a shard, to begin with and when pages are added.
func (c *Crawler) firstCopies(ctx context.Context, p *piece) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for first := true; ctx.Err() == nil; {
		again, err := c.copyAll(ctx, p)
		if err != nil && ctx.Err() == nil && !errors.Is(err, shard.ErrEnded) {
			slog.Error("the first copies stopped; a restart goes on with them", "error", err)
		}
		if again && err == nil {
			pause(ctx, copyPause)
			continue
		}
		if first {
			close(p.copied)
			first = false
		}
		select {
		case <-ctx.Done():
		case <-p.wake:
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// copyAll makes one attempt at each page that waits, and reports whether some were abandoned.
func (c *Crawler) copyAll(ctx context.Context, p *piece) (again bool, err error) {
	hosts := map[string]*fleet.Site{}
	if err := p.loop.Do(ctx, func(s *shard.State) {
		for page := range s.All() {
			if page.Stage != shard.Waiting {
				continue
			}
			site := hosts[page.Host.Name]
			if site == nil {
				site = &fleet.Site{Host: page.Host.Name, Delay: max(page.Host.Delay, c.cfg.Fetch.Delay.Seconds())}
				hosts[page.Host.Name] = site
			}
			site.URLs = append(site.URLs, page.URL)
		}
	}); err != nil {
		return false, err
	}
	c.mu.Lock()
	clients := max(c.window()/window, 1)
	c.mu.Unlock()
	plan, err := fleet.NewPlan(sorted(hosts), clients)
	if err != nil {
		return false, err
	}
	var abandoned atomic.Bool
	err = plan.Run(ctx, func(ctx context.Context, url string) error {
		for !p.loop.Sure() { // the engine elects
			if pause(ctx, copyPause); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		var job shard.Job
		var ok bool
		err := p.loop.Do(ctx, func(*shard.State) { job, ok = p.loop.Take(url, shard.Waiting) })
		if err == nil && ok && !c.poll(c.running, job) {
			abandoned.Store(true)
		}
		return err
	})
	return abandoned.Load(), err
}
