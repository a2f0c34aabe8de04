package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recrawl/recrawl/schedule"
)

// A Site is a host of which pages are to be fetched for the first time.
type Site struct {
	Host  string
	URLs  []string
	Delay float64 // seconds from one page to the next, as far as is known
}

// A Plan is how the first copy of all pages is divided over clients, each of which fetches one host
// at a time, page after page.
type Plan struct {
	Clients  int
	Makespan time.Duration // expected
	sites    []Site
	dispatch *schedule.Dispatcher
}

// assumed is the time that is assumed for a page of an unknown host, in seconds.
const assumed = 0.2

// NewPlan plans the first copy of all pages of the sites.
func NewPlan(sites []Site, clients int) (*Plan, error) {
	p := &Plan{Clients: min(max(clients, 1), max(len(sites), 1)), sites: sites}
	if len(sites) == 0 {
		return p, nil
	}
	durations := make([]float64, len(sites))
	for i, s := range sites {
		durations[i] = float64(len(s.URLs)+1) * max(s.Delay, assumed) // robots.txt is one more
	}
	problem, err := schedule.NewIdentical(durations, p.Clients)
	if err != nil {
		return nil, err
	}
	plan := schedule.LPT(problem)
	p.Makespan = time.Duration(problem.Makespan(plan) * float64(time.Second))
	// A host is polled by one client at a time, and all clients are in this process.
	p.dispatch, err = schedule.NewDispatcher(problem, plan, schedule.DispatcherConfig{Copies: 1, Patience: -1})
	return p, err
}

// Run carries the plan out. Fetch fetches one page; clients that are through help the others.
func (p *Plan) Run(ctx context.Context, fetch func(ctx context.Context, url string) error) error {
	if p.dispatch == nil {
		return nil
	}
	var (
		mu    sync.Mutex // the dispatcher is not safe for concurrent use
		began = time.Now()
		wait  sync.WaitGroup
		errs  = make([]error, p.Clients)
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := func() float64 { return time.Since(began).Seconds() }
	next := func(client int) (site int, done bool, err error) {
		mu.Lock()
		defer mu.Unlock()
		site, err = p.dispatch.Next(client, now())
		return site, p.dispatch.Open() == 0, err
	}
	observe := func(client, site int) error {
		mu.Lock()
		defer mu.Unlock()
		_, _, err := p.dispatch.Observe(client, site, now())
		return err
	}
	work := func(client int) error {
		for ctx.Err() == nil {
			site, done, err := next(client)
			if err != nil || done {
				return err
			}
			if site == schedule.None { // until another client is late
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
				continue
			}
			for _, url := range p.sites[site].URLs {
				if err := fetch(ctx, url); err != nil {
					return err
				}
			}
			if err := observe(client, site); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	for c := range p.Clients {
		wait.Go(func() {
			if errs[c] = work(c); errs[c] != nil {
				cancel()
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}
