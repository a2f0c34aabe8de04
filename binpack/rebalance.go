package binpack

import (
	"fmt"
	"math"
	"slices"
)

// Why sites are moved.
const (
	overload      = "overload"
	drain         = "drain"
	consolidation = "consolidation"
	lost          = "lost"
	ruled         = "rule"
)

// A Move takes a site from one node to another. Site, From and To are ids.
type Move struct {
	Site, From, To int
	Weight         float64 // of the site
	// Why is the reason: "overload" if node From was above its capacity or near it, "drain" if that
	// node is being drained, "consolidation" if it is being closed to save its cost, "lost" if it
	// was removed, and "rule" if the SiteConfig of the site no longer allows it.
	Why string
}

// RebalanceConfig limits a rebalance. Zero means no limit.
type RebalanceConfig struct {
	MaxMoves  int     // the most moves
	MaxWeight float64 // the most weight moved in sum
	// MaxRelief is the most moves that relieve nodes, MaxClosing the most that close nodes. Both
	// count towards MaxMoves. If MaxRelief is 0, relief leaves a fifth of MaxMoves and of MaxWeight
	// to draining and closing, as long as there is something to drain or to close.
	MaxRelief, MaxClosing int
	// Elapsed is the time since the last call, in the unit of time of PackerConfig.NodeCost. 0
	// means 1; a negative number means that no time has passed.
	Elapsed float64
}

// check returns an error unless the limits are in range.
func (c RebalanceConfig) check() error {
	if c.MaxMoves < 0 || !(c.MaxWeight >= 0) || c.MaxRelief < 0 || c.MaxClosing < 0 {
		return fmt.Errorf("%w: at most %d moves, of weight %v, %d of relief and %d of closing",
			ErrConfig, c.MaxMoves, c.MaxWeight, c.MaxRelief, c.MaxClosing)
	}
	if math.IsNaN(c.Elapsed) || math.IsInf(c.Elapsed, 1) {
		return fmt.Errorf("%w: elapsed %v", ErrConfig, c.Elapsed)
	}
	return nil
}

const (
	// othersShare is the share of the moves under a limit that relief leaves to draining and
	// closing.
	othersShare = 1. / 5
	// passes is how often a rebalance looks at everything. A move can make room for a site that had
	// found none before. What remains after the last pass is left to the next call.
	passes = 3
)

// Rebalance relieves nodes that are above their capacity or near it, the fullest first. It moves
// sites off nodes that are being drained and off nodes where they must not be. It closes nodes that
// the rest can do without. It returns the moves in order: the packer has already made them in its
// own account, and the caller carries them out. Two sites that change places are two moves, one
// after the other.
//
// Call it at regular intervals or after every few changes. The changes between two calls determine
// the headroom (see [PackerConfig.Headroom]), and the time between them is what open nodes cost.
// The error is [ErrConfig] for a negative or NaN limit.
//
// # Guarantees
//
// Moves: there are never more moves than the limits allow. A move overloads no node, unless the
// site is larger than every node that it may be on. A move breaks no rule of [SiteConfig]. An
// exchange is two moves, and these promises hold once both are made. A node may stay overloaded if
// a limit forbids its relief or if no node has the room; Node reports that.
//
// Closing: if load leaves and stays away, superfluous nodes are closed within the payback of an
// average node. The payback is the cost of moving all its sites divided by PackerConfig.NodeCost,
// 32 calls by default. Four things can keep nodes open for longer:
//
//   - If spares have to be opened meanwhile, one node or a fortieth of the nodes in use may stay
//     superfluous.
//   - Nodes that hold the headroom stay until the volatility assumed at the start has faded.
//   - Under a limit, closing takes as many calls as its moves need. There are few more moves than
//     sites on the nodes that are closed.
//   - Large sites that fit nowhere else, and rules, can keep a node open for good.
//
// # Cost
//
// Time: O((moves + nodes)·log(sites + nodes)), also after a shock; O(nodes) and no allocation if
// there is nothing to do. With rules or further resources, O(nodes) more for each site that the
// emptiest nodes cannot take. Under a limit each call sorts the sites of the node that it goes on to
// close.
func (p *Packer) Rebalance(cfg RebalanceConfig) ([]Move, error) {
	p.made()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	elapsed := orDefault(cfg.Elapsed, 1)
	p.measure(elapsed)
	p.sync()
	r := run{Packer: p, limit: cfg}
	r.share()
	before := -1
	for pass := 0; before < len(r.moves) && !r.halted && pass < passes; pass++ {
		before = len(r.moves)
		r.obey()
		if p.cfg.KeepMaximum {
			r.keepMaximum()
			r.drain()
		} else {
			r.relieve()
			r.relieveEarly()
			r.drain()
			r.consolidate(elapsed)
			elapsed = 0
		}
		if r.others > 0 { // the rest of the others' share goes to relief
			r.others, before = 0, -1
		}
	}
	return r.moves, nil
}

// run is a rebalance in progress.
type run struct {
	*Packer
	limit    RebalanceConfig
	moved    float64 // weight moved
	moves    []Move
	relieved int     // moves that relieve nodes
	weighed  float64 // weight of the sites in these moves
	closed   int     // moves that close nodes
	others   int     // moves kept for draining and closing
	crowd    int     // nodes that are overloaded together
	halted   bool    // the limit forbade a move
	many     bool    // more than a few nodes are to be closed
	only     int     // 1 + the resource to relieve; 0 means the resource that a node uses most
}

// share sets how many of the moves are kept for draining and closing. If a call may make one move,
// a fifth of it means one move in every fifth call.
func (r *run) share() {
	if r.limit.MaxMoves == 0 || r.limit.MaxRelief > 0 || r.cfg.KeepMaximum {
		return
	}
	if !r.neglected() {
		r.owed = 0
		return
	}
	most := float64(r.limit.MaxMoves)
	r.owed = min(r.owed+float64(othersShare*most), most)
	r.others = int(r.owed)
}

// neglected reports whether there is something to drain or to close.
func (r *run) neglected() bool {
	if r.closing >= 0 {
		return true
	}
	for n := range r.state {
		if r.state[n].drained && r.state[n].sites > 0 && r.nodes.Live(n) {
			return true
		}
	}
	_, room := r.superfluous(r.inUse())
	return room
}

// allows reports whether the limit allows to move sites of these weights for a reason.
func (r *run) allows(why string, weights ...int64) bool {
	sum := 0.
	for _, w := range weights {
		sum += r.resource[0].value(w)
	}
	within := func(moves, most int, weight, heaviest float64) bool {
		return (most == 0 || moves+len(weights) <= most) && (heaviest == 0 || weight+sum <= heaviest)
	}
	if !within(len(r.moves), r.limit.MaxMoves, r.moved, r.limit.MaxWeight) {
		return false
	}
	switch why {
	case overload:
		if r.others > 0 && (r.relieved+len(weights) > r.limit.MaxMoves-r.others ||
			r.limit.MaxWeight > 0 && r.weighed+sum > float64((1-othersShare)*r.limit.MaxWeight)) {
			return false
		}
		return within(r.relieved, r.limit.MaxRelief, 0, 0)
	case consolidation:
		return within(r.closed, r.limit.MaxClosing, 0, 0)
	}
	return true
}

// move moves site slot s to node slot n, unless the limit forbids it.
func (r *run) move(s, n int, why string) bool {
	weight := r.resource[0].weight[s]
	if !r.allows(why, weight) {
		r.halted = r.halted || r.limit.MaxMoves > 0 && len(r.moves) >= r.limit.MaxMoves
		return false
	}
	w := r.resource[0].value(weight)
	r.moves = append(r.moves, Move{r.sites.ID(s), r.nodes.ID(int(r.home[s])), r.nodes.ID(n), w, why})
	r.moved += w
	switch why {
	case overload:
		r.relieved++
		r.weighed += w
	case consolidation:
		r.closed++
		r.owed = max(r.owed-1, 0)
	case drain:
		r.owed = max(r.owed-1, 0)
	}
	r.detach(s)
	r.attach(s, n)
	r.sync()
	return true
}

// undo takes back all moves.
func (r *run) undo() {
	for _, m := range slices.Backward(r.moves) {
		n, _ := r.nodes.Slot(m.From)
		r.detach(Slot(m.Site))
		if to, _ := r.nodes.Slot(m.To); r.state[to].sites == 0 {
			r.opened--
		}
		r.attach(Slot(m.Site), n)
	}
}

// obey moves the sites that are where their rules do not allow them.
func (r *run) obey() {
	kept := r.unruly[:0]
	for _, s := range r.unruly {
		site, home := int(s), int(r.home[s])
		if !r.sites.Live(site) || r.allowed(r.candidate(site), home) {
			delete(r.listed, s)
			continue
		}
		c := r.candidate(site)
		if to := r.choose(c, home); to < 0 || r.fill(to, c.need, 1) > 1 || !r.move(site, to, ruled) {
			kept = append(kept, s)
		} else {
			delete(r.listed, s)
		}
	}
	r.unruly = kept
}
