package crawler

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fleet"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

const (
	// copyPause is the time between two attempts at first copies that were abandoned.
	copyPause = 200 * time.Millisecond
	// copyRound is the time after which first copies are planned anew. A plan has no more pages than
	// the budget allows in that time, so that those that were added have their turn, too.
	copyRound = 10 * time.Minute
	// copyLook is how often it is looked at least whether the budget allows another first copy: it is
	// divided anew now and then.
	copyLook = time.Second
)

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
		again, later, err := c.copyAll(ctx, p)
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
		var rested <-chan time.Time
		if later > 0 {
			rested = time.After(min(c.cfg.Clock.Real(later), copyRound))
		}
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-rested:
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// copyAll makes one attempt at each page that waits, as far as the budget allows in a round, and reports
// whether some are left; later is when the first host that rests may be asked, 0 if there is none.
func (c *Crawler) copyAll(ctx context.Context, p *piece) (again bool, later time.Duration, err error) {
	c.mu.Lock()
	clients := max(c.window()/window, 1)
	c.mu.Unlock()
	hosts, again, later, err := c.waiting(ctx, p, clients)
	if err != nil {
		return false, 0, err
	}
	plan, err := fleet.NewPlan(sorted(hosts), clients)
	if err != nil {
		return false, 0, err
	}
	round, cancel := context.WithTimeout(ctx, 2*copyRound)
	defer cancel()
	var abandoned atomic.Bool
	turn := make(chan struct{}, 1) // one waits for the budget at a time
	err = plan.Run(round, func(ctx context.Context, url string) error {
		turn <- struct{}{}
		job, ok, err := c.afford(ctx, p, url)
		<-turn
		// Where there was none to make the host may rest since the plan: then it is later's turn.
		if err == nil && (!ok || !c.poll(c.running, job)) {
			abandoned.Store(true)
		}
		return err
	})
	if round.Err() != nil && ctx.Err() == nil {
		return true, 0, nil
	}
	return again || abandoned.Load(), later, err
}

// waiting returns pages that wait for their first copy, no more than the budget allows in a round, and
// reports whether there are others. Those of hosts that rest are left out; later is when the first of
// these has rested, 0 if there is none or the user is to say so.
func (c *Crawler) waiting(ctx context.Context, p *piece, clients int) (hosts map[string]*fleet.Site, more bool, later time.Duration, err error) {
	hosts = map[string]*fleet.Site{}
	err = p.loop.Do(ctx, func(s *shard.State) {
		most := max(p.loop.Rate()*copyRound.Seconds(), float64(clients))
		if c.cfg.CopyFirst {
			most = math.Inf(1)
		}
		n, now := 0.0, c.cfg.Clock.Now()
		for page := range s.All() {
			if page.Stage != shard.Waiting {
				continue
			}
			if left, rests := page.Host.Rests(now); rests {
				if later == 0 || left > 0 && left < later {
					later = left
				}
				continue
			}
			if n++; n > most {
				more = true
				return
			}
			site := hosts[page.Host.Name]
			if site == nil {
				site = &fleet.Site{Host: page.Host.Name, Delay: max(page.Host.Delay, c.cfg.Fetch.Delay.Seconds())}
				hosts[page.Host.Name] = site
			}
			site.URLs = append(site.URLs, page.URL)
		}
	})
	return hosts, more, later, err
}

// afford waits until the budget allows the first copy of a page, and takes it. It is not ok if there is
// none to make any more.
func (c *Crawler) afford(ctx context.Context, p *piece, url string) (job shard.Job, ok bool, err error) {
	for ctx.Err() == nil {
		wait := copyPause // while the engine elects
		if p.loop.Sure() {
			if err := p.loop.Do(ctx, func(*shard.State) { job, wait, ok = p.loop.Take(url) }); err != nil || wait == 0 {
				return job, ok, err
			}
			wait = c.cfg.Clock.Real(wait)
		}
		pause(ctx, min(wait, copyLook))
	}
	return job, false, ctx.Err()
}
