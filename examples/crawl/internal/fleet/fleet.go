// Package fleet is the workers that make polls. They work in groups, each host belongs to one, and
// package binpack decides to which: it moves few hosts when loads drift, and uses no more groups
// than are needed. Package schedule plans the first copy of all pages.
package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

const (
	// period is how often loads are measured and hosts moved.
	period = 5 * time.Second
	// newLoad is what is assumed of a host: a worker for a fiftieth of its time.
	newLoad = 0.02
	// target is the share of its workers that a group is to keep busy: above it polls wait for each
	// other while other groups have nothing to do.
	target = 0.5
	// memory is the weight of the load before in the average.
	memory = 0.7
)

// A Group is some workers, and the polls that wait for one.
type group struct {
	mu      sync.Mutex
	arrived *sync.Cond
	queue   []shard.Job
	closed  bool
	busy    time.Duration // of workers, since the latest period
	polls   uint64
}

// A Fleet is all groups. Make it with New, and Run it.
type Fleet struct {
	poll    func(context.Context, shard.Job)
	workers int // of a group
	groups  []*group

	mu     sync.Mutex
	packer *binpack.Packer
	nodes  map[int]int // node → group
	hosts  map[string]*placed
	moves  uint64
}

// placed is a host in a group.
type placed struct {
	site  int
	group *group
	busy  time.Duration // since the latest period
	load  float64       // workers that it keeps busy
}

// New returns a fleet of groups of so many workers each, which call poll.
func New(groups, workers int, poll func(context.Context, shard.Job)) (*Fleet, error) {
	packer, err := binpack.NewPacker(binpack.PackerConfig{})
	if err != nil {
		return nil, err
	}
	f := &Fleet{poll: poll, workers: workers, packer: packer, nodes: map[int]int{}, hosts: map[string]*placed{}}
	for i := range groups {
		node, err := packer.AddNode(target*float64(workers), binpack.NodeConfig{})
		if err != nil {
			return nil, err
		}
		f.nodes[node] = i
		g := &group{}
		g.arrived = sync.NewCond(&g.mu)
		f.groups = append(f.groups, g)
	}
	return f, nil
}

// Submit hands a poll to the group of its host. It does not wait.
func (f *Fleet) Submit(j shard.Job) {
	g := f.groupOf(j.Host)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, j)
	g.arrived.Signal()
}

func (f *Fleet) groupOf(host string) *group {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.hosts[host]
	if p == nil {
		p = &placed{group: f.groups[0], load: newLoad}
		site, node, err := f.packer.AddSite(newLoad, binpack.SiteConfig{})
		if err == nil {
			p.site, p.group = site, f.groups[f.nodes[node]]
		} else {
			p.site = -1 // all are full: it stays where it is
		}
		f.hosts[host] = p
	}
	return p.group
}

// Forget takes a host out of its group, as another process polls it from now on.
func (f *Fleet) Forget(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.hosts[host]; p != nil && p.site >= 0 {
		_ = f.packer.RemoveSite(p.site) // it is there
	}
	delete(f.hosts, host)
}

// Run works until the context ends.
func (f *Fleet) Run(ctx context.Context) {
	var wait sync.WaitGroup
	for _, g := range f.groups {
		for range f.workers {
			wait.Go(func() { f.work(ctx, g) })
		}
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for last := time.Now(); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case now := <-tick.C:
			f.rebalance(now.Sub(last))
			last = now
		}
	}
	for _, g := range f.groups {
		g.mu.Lock()
		g.closed = true
		g.arrived.Broadcast()
		g.mu.Unlock()
	}
	wait.Wait()
}

func (f *Fleet) work(ctx context.Context, g *group) {
	for {
		g.mu.Lock()
		for len(g.queue) == 0 && !g.closed {
			g.arrived.Wait()
		}
		if g.closed {
			g.mu.Unlock()
			return
		}
		j := g.queue[0]
		g.queue = g.queue[1:]
		g.mu.Unlock()

		began := time.Now()
		f.poll(ctx, j)
		took := time.Since(began)
		g.mu.Lock()
		g.busy += took
		g.polls++
		g.mu.Unlock()
		f.mu.Lock()
		if p := f.hosts[j.Host]; p != nil {
			p.busy += took
		}
		f.mu.Unlock()
	}
}

// rebalance tells the packer the loads of the latest period and moves hosts. What they have in a
// queue stays there.
func (f *Fleet) rebalance(elapsed time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.hosts {
		p.load = memory*p.load + (1-memory)*p.busy.Seconds()/elapsed.Seconds()
		p.busy = 0
		if p.site >= 0 {
			_ = f.packer.SetWeight(p.site, max(p.load, 1e-4))
		}
	}
	moves, err := f.packer.Rebalance(binpack.RebalanceConfig{})
	if err != nil || len(moves) == 0 {
		return
	}
	f.moves += uint64(len(moves))
	for _, p := range f.hosts {
		if node, err := f.packer.NodeOf(p.site); p.site >= 0 && err == nil {
			p.group = f.groups[f.nodes[node]]
		}
	}
}

// A Load is what a group does.
type Load struct {
	Hosts   int     `json:"hosts"`
	Workers int     `json:"workers"`
	Busy    float64 `json:"busy"` // workers, on average of late
	Queue   int     `json:"queue"`
	Polls   uint64  `json:"polls"`
}

// Loads returns what the groups do, and how many hosts were moved.
func (f *Fleet) Loads() (loads []Load, moves uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	loads = make([]Load, len(f.groups))
	for i, g := range f.groups {
		g.mu.Lock()
		loads[i] = Load{Workers: f.workers, Queue: len(g.queue), Polls: g.polls}
		g.mu.Unlock()
		for _, p := range f.hosts {
			if p.group == g {
				loads[i].Hosts++
				loads[i].Busy += p.load
			}
		}
	}
	return loads, f.moves
}

// GroupOf returns the number of the group in which a host is, −1 if it is new.
func (f *Fleet) GroupOf(host string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.hosts[host]; p != nil {
		for i, g := range f.groups {
			if g == p.group {
				return i
			}
		}
	}
	return -1
}
