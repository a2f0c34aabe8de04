package binpack

import (
	"cmp"
	"fmt"
	"slices"
)

// Why sites are moved.
const (
	overload      = "overload"
	drain         = "drain"
	consolidation = "consolidation"
	lost          = "lost"
)

// A Move takes a site from a node to another; all are ids.
type Move struct {
	Site, From, To int
	Weight         float64 // of the site
	// Why is "overload" if the node was above its capacity or near it, "drain" if it is
	// being drained, "consolidation" if it is being closed to save it, and "lost" if it was
	// removed.
	Why string
}

// RebalanceConfig limits a rebalance. Zero means no limit.
type RebalanceConfig struct {
	MaxMoves  int     // the most moves
	MaxWeight float64 // the most weight moved in sum
}

// Rebalance relieves nodes above their capacity, or near it, the fullest first; moves sites off
// nodes being drained; and closes nodes that the rest can do without. It returns the moves in the
// order in which they were made: the packer has made them already, and the caller carries them
// out. Two sites that change places are two moves, one after the other.
//
// Call it at regular intervals, or after every few changes: what changed since the last call is
// what [PackerConfig.Headroom] is measured in. [ErrConfig] for a negative or NaN limit.
//
// # Guarantees
//
// There are never more moves than the limits allow. A node may stay overloaded where a limit
// stops it, or no node has the room. After a call that no limit stopped, the next one moves
// nothing unless something changed.
//
// # Cost
//
// Time: O(moves·sites·log sites) at most; O(nodes) if there is nothing to do, without an
// allocation.
func (p *Packer) Rebalance(cfg RebalanceConfig) ([]Move, error) {
	if cfg.MaxMoves < 0 || !(cfg.MaxWeight >= 0) {
		return nil, fmt.Errorf("%w: at most %d moves, of weight %v", ErrConfig, cfg.MaxMoves, cfg.MaxWeight)
	}
	p.measure()
	r := run{Packer: p, limit: cfg}
	// A move can make room for a site that had found none, and closing a node gives
	// a spare. Few passes are ever needed; their number is bounded all the same.
	before := -1
	for pass := 0; before < len(r.moves) && !r.halted && pass <= len(p.capacity); pass++ {
		before = len(r.moves)
		if p.cfg.KeepMaximum {
			r.keepMaximum()
			r.drain()
		} else {
			r.relieve()
			r.relieveEarly()
			r.drain()
			r.consolidate()
		}
	}
	return r.moves, nil
}

// run is a rebalance in progress.
type run struct {
	*Packer
	limit  RebalanceConfig
	moved  float64 // weight
	moves  []Move
	halted bool // the limit forbade a move
}

// allows reports whether the limit allows to move sites of these weights.
func (r *run) allows(weights ...int64) bool {
	moved := r.moved
	for _, w := range weights {
		moved += float64(float64(w) * r.cfg.Quantum)
	}
	return (r.limit.MaxMoves == 0 || len(r.moves)+len(weights) <= r.limit.MaxMoves) &&
		(r.limit.MaxWeight == 0 || moved <= r.limit.MaxWeight)
}

// move moves site slot s to node slot n, unless the limit forbids it.
func (r *run) move(s, n int, why string) bool {
	if !r.allows(r.weight[s]) {
		r.halted = true
		return false
	}
	w := float64(float64(r.weight[s]) * r.cfg.Quantum)
	r.moves = append(r.moves, Move{r.sites.ID(s), r.nodes.ID(int(r.home[s])), r.nodes.ID(n), w, why})
	r.moved += w
	r.detach(s)
	r.attach(s, n)
	return true
}

// heaviest returns the site slots of a node by decreasing weight, equal ones by
// slot.
func (p *Packer) heaviest(n int) []int {
	sites := make([]int, len(p.list[n]))
	for k, s := range p.list[n] {
		sites[k] = int(s)
	}
	slices.SortFunc(sites, func(a, b int) int {
		if c := cmp.Compare(p.weight[b], p.weight[a]); c != 0 {
			return c
		}
		return a - b
	})
	return sites
}

// drain empties drained nodes, as far as there is room within the capacities. It
// starts over after a move: the fuller the others are, the sooner a site too large for
// any node goes to an empty one. Every move takes a site off a drained node, so it ends.
func (r *run) drain() {
	for before := -1; before < len(r.moves) && !r.halted; {
		before = len(r.moves)
		for n := range r.capacity {
			if r.nodes.Live(n) && r.drained[n] && len(r.list[n]) > 0 {
				r.empty(n)
			}
		}
	}
}

// empty moves the sites of a node being drained.
func (r *run) empty(n int) {
	for _, s := range r.heaviest(n) {
		to := r.choose(r.weight[s], n)
		// One that is too large for any node is better off on an empty one.
		if to >= 0 && (r.load[to]+r.weight[s] <= r.capacity[to] || len(r.list[to]) == 0) {
			r.move(s, to, drain)
		}
	}
}

// filled returns the node slots filled above a share of their capacity, the fullest first.
func (r *run) filled(share float64) []int {
	var over []int
	for n := range r.capacity {
		if r.nodes.Live(n) && !r.drained[n] && r.fill(n, 0) > share {
			over = append(over, n)
		}
	}
	slices.SortStableFunc(over, func(a, b int) int { return cmp.Compare(r.fill(b, 0), r.fill(a, 0)) })
	return over
}

// relieve brings nodes below their capacity.
func (r *run) relieve() {
	for _, n := range r.filled(1) {
		// Invariant: nothing leaves either of its nodes as full as the first was, so
		// this ends.
		for r.load[n] > r.capacity[n] && r.relieveOnce(n) {
		}
	}
}

// relieveOnce makes the move or exchange that relieves overloaded node n, and reports whether
// there was one. While the fleet has its headroom, one of the nodes in use takes a
// site or exchanges it; else, or if none can, a spare does.
func (r *run) relieveOnce(n int) bool {
	most := 1 - r.headroom()
	spare := r.spare()
	if len(r.list[n]) < 2 {
		spare = -1 // an only site is no better off there
	}
	if t := r.inUse(); spare < 0 || t.load <= most*t.capacity {
		if s, to := r.best(n, most); s >= 0 {
			return r.move(s, to, overload)
		}
		if give, take := r.bestExchange(n, most); give >= 0 {
			to := int(r.home[take])
			return r.move(give, to, overload) && r.move(take, n, overload)
		}
	}
	if spare >= 0 {
		s, _ := r.bestTo(n, spare, 1)
		return s >= 0 && r.move(s, spare, overload)
	}
	s, to := r.best(n, 1)
	return s >= 0 && r.move(s, to, overload)
}

// relieveEarly moves one site off each node that is about to be overloaded, if that
// brings it and keeps the other out of that range.
func (r *run) relieveEarly() {
	most := 1 - r.cfg.Early
	for _, n := range r.filled(most) {
		if r.load[n] > r.capacity[n] {
			continue
		}
		if s, to := r.best(n, most); s >= 0 && r.fill(n, -r.weight[s]) <= most {
			r.move(s, to, overload)
		}
	}
}

// best returns the site of node a and the node in use to move it to that leave
// the fuller of the two the least full, with no node filled to more than most.
// −1 if there is none.
func (r *run) best(a int, most float64) (site, to int) {
	site, to = -1, -1
	least := r.fill(a, 0)
	for b := range r.capacity {
		// The fuller of the two cannot be emptier than b is.
		if b == a || r.drained[b] || len(r.list[b]) == 0 || !r.nodes.Live(b) || r.fill(b, 0) >= least {
			continue
		}
		if s, f := r.bestTo(a, b, most); s >= 0 && f < least {
			site, to, least = s, b, f
		}
	}
	return site, to
}

// bestTo is best for a given node b; fill is that of the fuller node. −1 if no
// site leaves both less full than a is. Sites without weight stay, and those that
// the limit forbids to move.
func (r *run) bestTo(a, b int, most float64) (site int, fill float64) {
	site, fill = -1, r.fill(a, 0)
	for _, s := range r.list[a] {
		w := r.weight[s]
		f := r.fill(b, w)
		if f > most || w == 0 || !r.allows(w) {
			continue
		}
		if f = max(f, r.fill(a, -w)); f < fill || f == fill && site >= 0 && int(s) < site {
			site, fill = int(s), f
		}
	}
	return site, fill
}

// bestExchange returns the site of node a and the lighter one of a node in use that
// leave the fuller of the two nodes the least full when they change places, with a
// below its capacity and the other filled to no more than most. −1 if there are none.
// O(sites·log sites).
func (r *run) bestExchange(a int, most float64) (give, take int) {
	give, take = -1, -1
	least := 1.
	heavy := r.heaviest(a)
	for b := range r.capacity {
		if b == a || r.drained[b] || len(r.list[b]) == 0 || !r.nodes.Live(b) || r.fill(b, 0) >= least {
			continue
		}
		// Both are filled alike if the sites differ by even, and b has room for so much
		// more. So of all of b only the two whose difference from s is next to the lesser of
		// these, on either side, can be the best for s.
		room := int64(most*float64(r.capacity[b])) - r.load[b]
		if r.fill(b, room) > most {
			room-- // which was rounded up
		}
		even := (r.fill(a, 0) - r.fill(b, 0)) / (1/float64(r.capacity[a]) + 1/float64(r.capacity[b]))
		even = min(even, float64(room))
		light := r.heaviest(b)
		k := 0 // light[:k] differ by less; more do for the next s, which is lighter
		for _, s := range heavy {
			for k < len(light) && float64(r.weight[s]-r.weight[light[k]]) < even {
				k++
			}
			for _, t := range light[max(k-1, 0):min(k+1, len(light))] {
				d := r.weight[s] - r.weight[t]
				f := max(r.fill(a, -d), r.fill(b, d))
				if d > 0 && r.fill(b, d) <= most && f < least && r.allows(r.weight[s], r.weight[t]) {
					give, take, least = s, t, f
				}
			}
		}
	}
	return give, take
}

// filling is how full consolidate fills a node at most. Without Early, what a limit cut
// short would be taken back as too full, again and again.
func (r *run) filling() float64 { return 1 - max(r.headroom(), r.cfg.Early) }

// consolidate closes nodes, the one of fewest sites first, as long as the rest
// keeps its headroom and margin and the disruption is worth it.
func (r *run) consolidate() {
	for r.cfg.Disruption > 0 && !r.halted {
		n := r.closable()
		if n < 0 {
			return
		}
		for _, s := range r.heaviest(n) {
			if to := r.keeps(r.weight[s], n, r.filling()); to < 0 || !r.move(s, to, consolidation) {
				return
			}
		}
	}
}

// closable returns the node to close next, or −1.
func (r *run) closable() int {
	t := r.inUse()
	if t.nodes < 2 {
		return -1
	}
	for last := -1; ; {
		// The next node by number of sites.
		n := -1
		for k, list := range r.list {
			if len(list) == 0 || r.drained[k] || !r.nodes.Live(k) {
				continue
			}
			after := last < 0 || len(list) > len(r.list[last]) || len(list) == len(r.list[last]) && k > last
			if after && (n < 0 || len(list) < len(r.list[n])) {
				n = k
			}
		}
		if n < 0 || r.cfg.Disruption/float64(t.nodes) < float64(len(r.list[n]))/float64(t.sites) {
			return -1
		}
		margin := r.cfg.Margin * float64(len(r.list[n])*t.nodes) / float64(t.sites)
		if t.load <= (1-r.headroom()-margin)*(t.capacity-float64(r.capacity[n])) && r.fits(n) {
			return n
		}
		last = n
	}
}

// fits reports whether the sites of a node find room on the others in use, by
// trying.
func (r *run) fits(n int) bool {
	sites := r.heaviest(n)
	placed := sites[:0:0]
	ok := true
	for _, s := range sites {
		to := r.keeps(r.weight[s], n, r.filling())
		if to < 0 {
			ok = false
			break
		}
		r.load[to] += r.weight[s]
		placed = append(placed, to)
	}
	for k, to := range placed {
		r.load[to] -= r.weight[sites[k]]
	}
	return ok
}

// keepMaximum is PackerConfig.KeepMaximum.
func (r *run) keepMaximum() {
	var out []int
	for _, n := range r.filled(1) {
		sites := r.heaviest(n)
		w := make([]int64, len(sites))
		for k, s := range sites {
			w[k] = r.weight[s]
		}
		for _, k := range leftOut(w, r.capacity[n]) {
			out = append(out, sites[k])
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(r.weight[b], r.weight[a]) })
	for _, s := range out {
		best := -1
		for n := range r.capacity {
			if n != int(r.home[s]) && r.nodes.Live(n) && !r.drained[n] && len(r.list[n]) > 0 && r.load[n]+r.weight[s] <= r.capacity[n] &&
				(best < 0 || r.capacity[n]-r.load[n] < r.capacity[best]-r.load[best]) {
				best = n
			}
		}
		if best < 0 {
			if n := r.spare(); n >= 0 && (r.weight[s] <= r.capacity[n] || len(r.list[r.home[s]]) > 1) {
				best = n
			}
		}
		if best >= 0 {
			r.move(s, best, overload)
		}
	}
}
