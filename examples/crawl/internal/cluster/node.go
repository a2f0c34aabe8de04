// Package cluster shares the shards of a crawl out among the nodes of a cluster, by means of the
// board of package engine.
//
// # How it works
//
// All nodes see who is there. The first by name among them, which is no office that anyone holds,
// brings the plan up to date, which says which shard is to live where; the board takes it only
// if it follows the one before. Each node closes the shards that are to live elsewhere, and
// opens those that are to live with it once nobody owns them any more.
//
// Which node reaches which host fastest plays no part in the plan: a shard has hosts from
// everywhere, so that nodes hardly differ in the mean of their durations. A node that offers itself
// as a relay (package relay) is an access point for the others instead, and for each host package
// partition finds the fastest one. Delays and robots.txt are the affair of who has the shard.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// ErrLost reports that this node was declared dead by another one: it has to join anew.
var ErrLost = errors.New("cluster: this node was silent for too long, and others have its shards")

const (
	// gather is for how long a node waits for others before it makes plans.
	gather = 2 * time.Second
	// look is how often a node looks at the board even if nothing seems to change.
	look = 500 * time.Millisecond
	// retry is the time after which a shard is tried again that could not be opened.
	retry = time.Second
	// openings is the number of shards that are opened at a time.
	openings = 4
	// hearing is for how long quotes are waited for.
	hearing = 2 * time.Second
)

// Config describes a Node.
type Config struct {
	Engine *engine.Engine
	Name   string
	About
	Every time.Duration // how often loads are looked at
	// Open makes a shard part of this node's crawl; Close ends that in peace, and gives it up. They
	// may be called at the same time for different shards.
	Open  func(ctx context.Context, shard int, perSecond float64) error
	Close func(ctx context.Context, shard int)
	Has   func(shard int) bool
}

// A Node is this process in a cluster.
type Node struct {
	cfg    Config
	board  *engine.Board
	shards int
	warned bool
	wait   sync.WaitGroup

	mu   sync.Mutex
	busy map[int]bool      // shards that are being opened or closed
	wake map[int]time.Time // when a shard may be tried again
}

// New returns a node.
func New(cfg Config) *Node {
	n := &Node{cfg: cfg, board: cfg.Engine.Board(), shards: cfg.Engine.Shards(), busy: map[int]bool{}, wake: map[int]time.Time{}}
	cfg.Engine.Session().Say(cfg.About)
	return n
}

// Run takes part until the context ends. It returns ErrLost when the node was declared dead.
func (n *Node) Run(ctx context.Context) error {
	defer n.wait.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	began, planned := time.Now(), time.Time{}
	for {
		_, changed := n.board.View("plan")
		if n.cfg.Engine.Session().Sure() {
			members := n.members()
			if time.Since(began) > gather && n.steward(members) {
				if n.plan(ctx, members, time.Since(planned) > n.cfg.Every) {
					planned = time.Now()
				}
			}
			n.settle(ctx, members)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Engine.Session().Lost():
			return ErrLost
		case <-tick.C:
		case <-changed:
		}
	}
}

// Leave tells the others that this node is not to be given anything more.
func (n *Node) Leave() {
	about := n.cfg.About
	about.Leaves = true
	n.cfg.Engine.Session().Say(about)
}

// steward reports whether it is this node that makes plans.
func (n *Node) steward(members map[string]About) bool {
	names := sorted(members)
	return len(names) > 0 && names[0] == n.cfg.Name
}

// current returns the plan.
func (n *Node) current() (p Plan, revision uint64) {
	notes, _ := n.board.View("plan")
	note := notes[""]
	if json.Unmarshal(note.Value, &p) != nil || len(p.Homes) != n.shards {
		p = Plan{}
	}
	return p, note.Revision
}

// plan makes the next plan, if nodes came or went, or it is time to look at the loads.
func (n *Node) plan(ctx context.Context, members map[string]About, due bool) bool {
	before, revision := n.current()
	powers := map[string]float64{}
	for name, about := range members {
		powers[name] = min(max(about.Power, least), most)
	}
	if slices.Equal(sorted(powers), sorted(before.Nodes)) && !due {
		return false
	}
	next, err := before.Next(powers, n.weights())
	if err != nil {
		slog.Error("the plan of the cluster cannot be carried on; a new one is made", "error", err)
		if next, err = (Plan{Moves: before.Moves}).Next(powers, n.weights()); err != nil {
			slog.Error("no plan", "error", err)
			return false
		}
	}
	value, err := json.Marshal(next)
	if err != nil {
		return false
	}
	short, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	if _, err := n.board.Write(short, "plan", value, revision); err != nil {
		return false // another one was faster, or the engine elects
	}
	if next.Moves > before.Moves {
		slog.Info("plan", "nodes", len(powers), "moves", next.Moves-before.Moves)
	}
	return true
}

// weights are the loads of the shards: half of it work, half of it memory.
func (n *Node) weights() []float64 {
	rate, pages, sumRate, sumPages := make([]float64, n.shards), make([]float64, n.shards), 0.0, 0.0
	for _, q := range n.quotes() {
		if q.Shard >= 0 && q.Shard < n.shards {
			rate[q.Shard], pages[q.Shard] = q.Rate, float64(q.Pages)
			sumRate += q.Rate
			sumPages += float64(q.Pages)
		}
	}
	weights := make([]float64, n.shards)
	for i := range weights {
		weights[i] = 0.5*rate[i]/max(sumRate, least) + 0.5*pages[i]/max(sumPages, least)
		if sumRate == 0 || sumPages == 0 {
			weights[i] = 1
		}
	}
	return weights
}

func (n *Node) quotes() (all []crawler.Quote) {
	notes, _ := n.board.View("price.")
	for _, key := range sorted(notes) {
		var q crawler.Quote
		if json.Unmarshal(notes[key].Value, &q) == nil {
			all = append(all, q)
		}
	}
	return all
}

// Pages returns the number of pages of all shards, as they were quoted last. It is not known before each was.
func (n *Node) Pages() (all int, known bool) {
	quoted := map[int]bool{}
	for _, q := range n.quotes() {
		if q.Shard >= 0 && q.Shard < n.shards && q.Pages >= 0 && !quoted[q.Shard] {
			quoted[q.Shard] = true
			all += q.Pages
		}
	}
	return all, len(quoted) == n.shards || n.shards == 1 // a single one is not quoted: who has it has all
}

// Exchange tells the others the quotes of the shards that are here, and returns all.
func (n *Node) Exchange(ctx context.Context, own []crawler.Quote) []crawler.Quote {
	short, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	for _, q := range own {
		if !n.cfg.Engine.Session().Sure() {
			break // the shard's quote may be another node's to give
		}
		value, err := json.Marshal(q)
		if err == nil {
			err = n.board.Put(short, "price."+strconv.Itoa(q.Shard), value)
		}
		if err != nil {
			break // the engine elects: the others go by the quotes before
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(hearing):
	}
	return n.quotes()
}

// rate is the share of a shard in the budget, to begin with. What was quoted may be of another budget, from before all
// nodes were started anew.
func (n *Node) rate(shard int) float64 {
	return crawler.Divide(n.quotes(), n.shards, n.cfg.Budget)[shard]
}

// settle opens and closes shards as the plan has it.
func (n *Node) settle(ctx context.Context, members map[string]About) {
	p, _ := n.current()
	owners := n.board.Owners()
	opening := 0
	n.mu.Lock()
	defer n.mu.Unlock()
	for range n.busy {
		opening++
	}
	for shard, home := range p.Homes {
		owner, owned := owners[shard]
		switch has := n.cfg.Has(shard); {
		case n.busy[shard] || time.Now().Before(n.wake[shard]):
		case has && home != n.cfg.Name:
			if _, there := members[home]; there {
				n.begin(shard, func() error {
					n.cfg.Close(context.WithoutCancel(ctx), shard) // a node that stops gives it up, too
					return nil
				})
			}
		case !has && home == n.cfg.Name && opening < openings && (!owned || owner == n.cfg.Name):
			opening++
			n.begin(shard, func() error { return n.cfg.Open(ctx, shard, n.rate(shard)) })
		case !has && home != n.cfg.Name && owned && owner == n.cfg.Name:
			n.begin(shard, func() error { return n.cfg.Engine.Disown(ctx, shard) })
		}
	}
}

// begin opens or closes a shard beside all else; the caller holds the lock.
func (n *Node) begin(shard int, do func() error) {
	n.busy[shard] = true
	n.wait.Go(func() {
		err := do()
		if err != nil && !errors.Is(err, engine.ErrBusy) && !errors.Is(err, context.Canceled) {
			slog.Warn("a shard cannot be opened or given up; trying again", "shard", shard, "error", err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.busy, shard)
		if err != nil {
			n.wake[shard] = time.Now().Add(retry)
		}
	})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
