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

// A Move takes a site from a node to another; all are ids.
type Move struct {
	Site, From, To int
	Weight         float64 // of the site
	// Why is "overload" if the node was above its capacity or near it, "drain" if it is
	// being drained, "consolidation" if it is being closed to save it, "rule" if its SiteConfig
	// does not allow the node any more, and "lost" if the node was removed.
	Why string
}

// RebalanceConfig limits a rebalance. Zero means no limit.
type RebalanceConfig struct {
	MaxMoves  int     // the most moves
	MaxWeight float64 // the most weight moved in sum
	// MaxRelief is the most of these moves that relieve nodes, MaxClosing the most that close
	// some. If MaxRelief is 0, relief leaves a fifth of MaxMoves and of MaxWeight to drains and to
	// closing, where there is something to drain or to close.
	MaxRelief, MaxClosing int
	// Elapsed is the time since the last call, in the unit of PackerConfig.NodeCost. 0 means 1, a
	// negative number that no time has passed.
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
	// othersShare is the share of the moves under a limit that drains and closing are left.
	othersShare = 1. / 5
	// passes is how often a rebalance looks at everything: a move can make room for a site that
	// had found none. What is left to do after them is left to the next call.
	passes = 3
)

// Rebalance relieves nodes above their capacity, or near it, the fullest first; moves sites off
// nodes being drained and off those where they must not be; and closes nodes that the rest can do
// without. It returns the moves in the order in which they were made: the packer has made them
// already, and the caller carries them out. Two sites that change places are two moves, one after
// the other.
//
// Call it at regular intervals, or after every few changes: what changed since the last call is
// what [PackerConfig.Headroom] is measured in, and time is what nodes cost. [ErrConfig] for a
// negative or NaN limit.
//
// # Guarantees
//
// There are never more moves than the limits allow. A node may stay overloaded where a limit
// stops it, or no node has the room. A move overloads no node, unless the site is larger than
// every node, and it breaks no rule of [SiteConfig]. An exchange is two moves; these promises
// hold once both are made.
//
// Where load leaves and stays away, the nodes in use come down to those that the rest needs and a
// fortieth, or one, within the payback of an average node: what it costs to move all its sites
// over PackerConfig.NodeCost, 32 calls by default. The last ones are closed within it as well if more
// than twice as many have become superfluous at once and weights change by less than 1 % of a node's
// capacity in a call; else they pay for themselves, which takes as long again. A limit stretches
// that to the calls that the moves take, of which there are few more than there are sites on the
// nodes that are closed. Large sites that fit nowhere, and rules, can keep a node open.
//
// # Cost
//
// Time: O((moves + nodes)·log(sites + nodes)), a shock included; O(nodes) if there is nothing to
// do, without an allocation. Where sites have rules or further resources, O(nodes) more for each
// site that the emptiest nodes cannot take.
func (p *Packer) Rebalance(cfg RebalanceConfig) ([]Move, error) {
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
		if r.others > 0 { // what is left of the others' share goes to relief
			r.others, before = 0, -1
		}
	}
	return r.moves, nil
}

// run is a rebalance in progress.
type run struct {
	*Packer
	limit    RebalanceConfig
	moved    float64 // weight
	moves    []Move
	relieved int     // moves that relieve nodes
	weighed  float64 // and their weight
	closed   int     // moves that close nodes
	others   int     // moves kept from relief
	halted   bool    // the limit forbade a move
	many     bool    // more than a few nodes are to be closed
	only     int     // 1 + the resource to relieve of, 0 for that which a node uses most
}

// share sets how many of the moves are kept for drains and closing. A fifth of one move in a
// call is a move in every fifth.
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

// undo takes all moves back.
func (r *run) undo() {
	for _, m := range slices.Backward(r.moves) {
		n, _ := r.nodes.Slot(m.From)
		r.detach(Slot(m.Site))
		r.attach(Slot(m.Site), n)
	}
}

// obey moves the sites that are where their rules do not allow them.
func (r *run) obey() {
	kept := r.unruly[:0]
	for _, s := range r.unruly {
		if s := int(s); !r.sites.Live(s) || r.allowed(r.candidate(s), int(r.home[s])) {
			continue
		}
		c := r.candidate(int(s))
		if to := r.choose(c, int(r.home[s])); to < 0 || r.fill(to, c.need, 1) > 1 || !r.move(int(s), to, ruled) {
			kept = append(kept, s)
		}
	}
	r.unruly = kept
}

// drain empties drained nodes, as far as there is room within the capacities.
func (r *run) drain() {
	for n := range r.state {
		if r.nodes.Live(n) && r.state[n].drained && r.state[n].sites > 0 {
			r.empty(n)
		}
	}
}

// empty moves the sites of a node being drained, heaviest first. Of sites that differ in their
// weight alone, those too large for the room left are skipped together, so that its cost is that
// of the moves.
func (r *run) empty(n int) {
	if !r.plain() {
		for _, s := range r.heaviest(n) {
			if !r.evict(s, n) && r.halted {
				return
			}
		}
		return
	}
	w := &r.resource[0]
	for most := int64(math.MaxInt64 / 2); ; {
		s := w.sites.Below(n, most, w.weight, nil)
		if s < 0 {
			return
		}
		if r.evict(s, n) {
			continue
		}
		b, room := r.roomiest.Least()
		if b < 0 || r.halted {
			return
		}
		if most = min(w.weight[s]-1, int64(-room)); most < 0 {
			return
		}
	}
}

// evict moves a site off a node being drained. One that is too large for every node is better off on
// an empty one; one for which there is only no room now stays.
func (r *run) evict(s, n int) bool {
	c := r.candidate(s)
	to := r.choose(c, n)
	return to >= 0 && (r.fill(to, c.need, 1) <= 1 || r.state[to].sites == 0 && !r.holds(c, to)) && r.move(s, to, drain)
}

// filled returns the node slots filled above a share of their capacity, the fullest first.
func (r *run) filled(share float64) []int {
	if _, least := r.fullest.Least(); -least <= share {
		return nil
	}
	var over []int
	r.fullest.Ascend(func(n int) bool {
		if -r.fullest.Key(n) <= share {
			return false
		}
		over = append(over, n)
		return true
	})
	return over
}

// relieve brings nodes below their capacity.
func (r *run) relieve() {
	over := r.filled(1)
	if over == nil {
		return
	}
	t := r.inUse()
	for _, n := range over {
		r.relieveNode(n, &t)
	}
}

// relieveNode brings one below its capacity, and keeps account of the nodes in use.
func (r *run) relieveNode(n int, t *totals) {
	// Invariant: nothing leaves either of its nodes as full as the first was, so this ends.
	for r.fill(n, nil, 1) > 1 && r.relieveOnce(n, t) {
	}
	r.relieveEach(n, t)
	if r.state[n].sites == 0 {
		t.add(r.Packer, n, -1)
	}
}

// relieveEach relieves a node of each further resource of which it is overloaded, where there was no
// help for the one that it uses most, or it uses two alike.
func (r *run) relieveEach(n int, t *totals) {
	if len(r.resource) == 1 || r.fill(n, nil, 1) <= 1 {
		return
	}
	for k := range r.resource {
		// Invariant: each move takes some of this resource off the node and overloads none.
		for r.only = 1 + k; r.level(n, nil, 1) > 1 && r.relieveOnce(n, t); {
		}
	}
	r.only = 0
}

// level is fill, or the share of the one resource to relieve of.
func (r *run) level(n int, need []int64, sign int64) float64 {
	if r.only == 0 {
		return r.fill(n, need, sign)
	}
	k := r.only - 1
	load := r.resource[k].load[n]
	if need != nil {
		load += sign * need[k]
	}
	return float64(load) / float64(r.resource[k].capacity[n])
}

// relieveOnce makes the move or exchange that relieves overloaded node n, and reports whether
// there was one. While the fleet has its headroom, one of the nodes in use takes a
// site or exchanges it; else, or if none can, a spare does.
func (r *run) relieveOnce(n int, t *totals) bool {
	most := 1 - r.headroom()
	first, _ := r.spares.Least()
	spare, site, on := first >= 0, -1, -1
	if spare && r.state[n].sites == 1 { // it is no better off there, unless it fits
		site, on = r.bestSpare(n)
		spare = site >= 0
	}
	if !spare || t.within(most) {
		if s, to := r.best(n, most); s >= 0 {
			return r.move(s, to, overload)
		}
		if give, take := r.bestExchange(n, most); give >= 0 {
			to := int(r.home[take])
			return r.move(give, to, overload) && r.move(take, n, overload)
		}
	}
	if spare && site < 0 {
		site, on = r.bestSpare(n)
	}
	if site >= 0 {
		if !r.move(site, on, overload) {
			return false
		}
		t.add(r.Packer, on, 1)
		return true
	}
	s, to := r.best(n, 1)
	return s >= 0 && r.move(s, to, overload)
}

// bestSpare returns the site of node n to move to a node without sites: the largest one that
// may take any.
func (r *run) bestSpare(n int) (site, to int) {
	site, tried := -1, 0
	r.spares.Ascend(func(b int) bool {
		site, _ = r.bestTo(n, b, 1, true)
		to = b
		tried++
		return site < 0 && !r.plain() && tried < trials
	})
	return site, to
}

// relieveEarly moves one site off each node that is about to be overloaded, if that
// brings it and keeps the other out of that range.
func (r *run) relieveEarly() {
	most := 1 - r.early()
	for _, n := range r.filled(most) {
		if r.fill(n, nil, 1) > 1 {
			continue
		}
		if s, to := r.best(n, most); s >= 0 && r.fill(n, r.needs(s), -1) <= most {
			r.move(s, to, overload)
		}
	}
}

// best returns the site of node a and the node in use to move it to that leave
// the fuller of the two the least full, with no node filled to more than most.
// −1 if there is none.
func (r *run) best(a int, most float64) (site, to int) {
	site, to = -1, -1
	least := r.level(a, nil, 1)
	tried := 0
	r.targets(a, everyNode, func(b int) bool {
		// The fuller of the two cannot be emptier than b is, and of those tried next none is
		// emptier.
		if r.emptiest.Key(b) >= least || site >= 0 && tried >= trials {
			return r.plain()
		}
		tried++
		if s, f := r.bestTo(a, b, most, tried <= trials); s >= 0 && f < least {
			site, to, least = s, b, f
		}
		return true
	})
	return site, to
}

// A choice is a site that may leave node a for node b, and what comes of it.
type choice struct {
	site int
	cost int64   // of its move, in moveUnits
	fill float64 // of the fuller node afterwards
	ends bool    // a is not overloaded any more
}

// before orders choices: those that end an overload at the least cost, then those that leave the
// fuller node the emptiest.
func (c choice) before(d choice) bool {
	switch {
	case d.site < 0:
		return c.site >= 0
	case c.site < 0:
		return false
	case c.ends && d.ends && c.cost != d.cost:
		return c.cost < d.cost
	case c.fill != d.fill:
		return c.fill < d.fill
	}
	return c.site < d.site
}

// bestTo is best for a given node b; fill is that of the fuller node. −1 if no
// site leaves both less full than a is. Sites without weight stay, and those that
// the limit forbids to move. With costs it looks further for one whose move costs less.
func (r *run) bestTo(a, b int, most float64, costs bool) (site int, fill float64) {
	best := choice{site: -1}
	try := func(s int) {
		if c, ok := r.try(a, b, s, most); ok && c.before(best) {
			best = c
		}
	}
	// Both are filled alike by a site of this weight. The fuller of them is the less full the
	// nearer to it the weight is, so that only those next to it can be the best.
	q := r.crowded(a)
	ca, cb := float64(q.capacity[a]), float64(q.capacity[b])
	even := (float64(q.load[a])/ca - float64(q.load[b])/cb) / (1/ca + 1/cb)
	room := min(int64(even), int64(most*cb)-q.load[b]+1, r.heaviestAllowed())
	if room < 0 {
		return best.site, best.fill
	}
	var may func(int) bool
	if !r.plain() {
		may = func(s int) bool { _, ok := r.try(a, b, s, most); return ok }
	}
	try(q.sites.Below(a, room, q.weight, may))
	try(q.sites.Above(a, room, q.weight, may))
	if costs && len(r.rules) > 0 { // the cheapest of those that end the overload
		q.sites.Some(a, func(s int) bool { try(s); return true })
	}
	return best.site, best.fill
}

// heaviestAllowed returns the most weight that the limit allows to move off an overloaded node.
func (r *run) heaviestAllowed() int64 {
	most := r.limit.MaxWeight
	if most == 0 || len(r.resource) > 1 {
		return math.MaxInt64
	}
	left := most - r.moved
	if r.others > 0 {
		left = min(left, float64((1-othersShare)*most)-r.weighed)
	}
	return int64(min(r.resource[0].quanta(max(left, 0)), mostQuanta))
}

// try judges the move of a site from a to b.
func (r *run) try(a, b, s int, most float64) (choice, bool) {
	if s < 0 {
		return choice{}, false
	}
	c := r.candidate(s)
	f := r.fill(b, c.need, 1)
	if f > most || r.crowded(a).weight[s] == 0 || !r.allowed(c, b) || !r.allows(overload, c.need[0]) {
		return choice{}, false
	}
	left := r.level(a, c.need, -1)
	f = max(f, left)
	return choice{s, r.moveCost(s), f, left <= 1}, f < r.level(a, nil, 1)
}

// crowded returns the resource to relieve a node of, which is the one that it uses most.
func (r *run) crowded(n int) *resource {
	if r.only > 0 {
		return &r.resource[r.only-1]
	}
	best, most := 0, -1.
	for k := range r.resource {
		if f := float64(r.resource[k].load[n]) / float64(r.resource[k].capacity[n]); f > most {
			best, most = k, f
		}
	}
	return &r.resource[best]
}

// bestExchange returns the site of node a and the lighter one of a node in use that
// leave the fuller of the two nodes the least full when they change places, with a
// below its capacity and the other filled to no more than most. −1 if there are none. Of each
// class of weights only a few sites are looked at.
func (r *run) bestExchange(a int, most float64) (give, take int) {
	give, take = -1, -1
	least := 1.
	q := r.crowded(a)
	var heavy, light []int
	q.sites.Some(a, func(s int) bool { heavy = append(heavy, s); return true })
	byWeight(heavy, q.weight)
	tried := 0
	r.targets(a, someNodes, func(b int) bool {
		if tried++; r.emptiest.Key(b) >= least || tried > trials+trials/2 {
			return r.plain()
		}
		// Both are filled alike if the sites differ by even, and b has room for so much
		// more. So of all of b only the two whose difference from s is next to the lesser of
		// these, on either side, can be the best for s.
		ca, cb := float64(q.capacity[a]), float64(q.capacity[b])
		even := (float64(q.load[a])/ca - float64(q.load[b])/cb) / (1/ca + 1/cb)
		even = min(even, math.Floor(most*cb)-float64(q.load[b]))
		light = light[:0]
		q.sites.Some(b, func(s int) bool { light = append(light, s); return true })
		byWeight(light, q.weight)
		k := 0 // light[:k] differ by less; more do for the next s, which is lighter
		for _, s := range heavy {
			for k < len(light) && float64(q.weight[s]-q.weight[light[k]]) < even {
				k++
			}
			for _, t := range light[max(k-1, 0):min(k+1, len(light))] {
				if f, ok := r.exchanged(a, b, s, t, most); ok && f < least {
					give, take, least = s, t, f
				}
			}
		}
		return true
	})
	return give, take
}

// exchanged returns how full the fuller of two nodes is once sites s and t have changed places, and
// whether they may.
func (r *run) exchanged(a, b, s, t int, most float64) (fill float64, ok bool) {
	if r.crowded(a).weight[s] <= r.crowded(a).weight[t] ||
		!r.allows(overload, r.resource[0].weight[s], r.resource[0].weight[t]) {
		return 0, false
	}
	into := 0.
	for k := range r.resource {
		q := &r.resource[k]
		d := q.weight[s] - q.weight[t]
		left := float64(q.load[a]-d) / float64(q.capacity[a])
		if r.only == 0 || r.only == 1+k {
			fill = max(fill, left)
		} else if left > 1 && d < 0 {
			return 0, false // it would be overloaded more of another
		}
		into = max(into, float64(q.load[b]+d)/float64(q.capacity[b]))
	}
	if into > most || !r.allowed(r.candidate(s), b) || !r.allowed(r.candidate(t), a) {
		return 0, false
	}
	return max(fill, into), true
}
