package binpack

import "math"

const (
	// freeTrials is how many sites a call may try to place in vain, for nodes that then cannot be
	// closed, in addition to one site a node. That costs about as much as a rebalance of some
	// hundred moves. If trials take more than that, the next calls make up for it by trying none.
	freeTrials = 1024
	// few is the share of the nodes in use above which superfluous nodes are many and pay for
	// closing together. A fortieth plus the headroom is less than 5 %.
	few = 1. / 40
)

// totals are sums over the nodes in use that take sites, for each resource.
type totals struct {
	nodes, sites   int
	cost           float64 // cost of moving all their sites, in moves
	load, capacity [1 + mostResources]float64
	resources      int
}

func (p *Packer) inUse() (t totals) {
	t.resources = len(p.resource)
	for n := range p.state {
		if p.state[n].sites > 0 && !p.state[n].drained && p.nodes.Live(n) {
			t.add(p, n, 1)
			for k := range t.resources {
				t.load[k] += float64(p.resource[k].load[n])
			}
			t.sites += p.state[n].sites
			t.cost += float64(p.state[n].cost) / moveUnits
		}
	}
	return t
}

// add counts a node in (sign 1) or out (sign −1), without the sites on it.
func (t *totals) add(p *Packer, n int, sign float64) {
	t.nodes += int(sign)
	for k := range t.resources {
		t.capacity[k] += float64(sign * float64(p.resource[k].capacity[n]))
	}
}

// within reports whether the nodes together are filled to at most the given share.
func (t *totals) within(share float64) bool {
	for k := range t.resources {
		if t.load[k] > share*t.capacity[k] {
			return false
		}
	}
	return true
}

// many reports whether k superfluous nodes are more than a few.
func (t *totals) many(k float64) bool { return k > max(1, float64(few*float64(t.nodes))) }

// superfluous returns how many of the nodes in use are superfluous: the others have the room to do
// without them and still keep the headroom. any reports whether there is one.
func (p *Packer) superfluous(t totals) (k float64, any bool) {
	if t.nodes < 2 || p.cfg.KeepMaximum || p.cfg.NodeCost == 0 {
		return 0, false
	}
	k = float64(t.nodes - 1)
	for r := range t.resources {
		room := 1 - float64(t.load[r]/((1-p.headroom())*t.capacity[r]))
		k = min(k, math.Floor(float64(room*float64(t.nodes))+1e-9))
	}
	return k, k >= 1
}

// moveCost returns what an average move costs: PackerConfig.MoveCost.
func (t *totals) moveCost(cfg PackerConfig) float64 {
	switch {
	case cfg.MoveCost > 0:
		return cfg.MoveCost
	case cfg.MoveCost < 0 || t.cost == 0:
		return 0
	}
	return defaultPayback * cfg.NodeCost * float64(t.nodes) / t.cost
}

// filling is how full consolidate fills a node at most. It leaves early free as well: otherwise
// nodes that a limit left half-closed would be relieved as too full, and the moves undone, again
// and again.
func (r *run) filling() float64 { return 1 - max(r.headroom(), r.early()) }

// consolidate closes nodes once the cost of superfluous nodes pays for the moves. It begins with
// the node whose sites are cheapest to move. elapsed is the time since the last call.
func (r *run) consolidate(elapsed float64) {
	r.debt = max(r.debt-int(min(elapsed, 1)*float64(len(r.state)+freeTrials)), -len(r.state)-freeTrials)
	t := r.inUse()
	k, any := r.superfluous(t)
	each := t.moveCost(r.cfg)
	r.save(t, k, each, elapsed)
	if r.closing >= 0 {
		leaving := r.leave(int(k) - 1)
		r.many = t.many(k)
		closed := r.close(r.closing)
		r.stay(leaving)
		if !closed {
			return
		}
		t = r.inUse()
		k, any = r.superfluous(t)
	}
	if any {
		r.closeAll(r.affordable(each), each, t, int(k))
	}
}

// save adds up what k superfluous nodes have cost: for each node since it became superfluous and,
// if they are many, for all together.
//
// The common savings grow by the cost of as many nodes as there were at first, even after some were
// closed. So K nodes, all but a few, are closed within one payback and not within ln K paybacks. If
// weights hardly change, the last few pay together as well, provided that at first there were more
// than twice as many superfluous nodes as count as few.
//
// The common savings are bounded by twice what closing all of them would cost on average. Otherwise
// a fleet whose sites do not fit on fewer nodes would save without end.
func (r *run) save(t totals, k, each, elapsed float64) {
	if t.many(k) || k >= 1 && t.many(r.surplus/2) && r.volatility <= initialVolatility {
		r.surplus = max(r.surplus, k)
		most := float64(2 * k * float64(each*t.cost/float64(t.nodes)))
		r.saved = min(r.saved+float64(r.cfg.NodeCost*r.surplus*elapsed), max(most, r.saved))
	} else {
		r.saved, r.surplus = 0, 0
	}
	if r.closing >= 0 {
		k-- // the node that is being closed is paid for
	}
	r.spells.needed(r.opened)
	r.opened = 0
	r.spells.become(int(max(k, 0)))
	r.spells.lengthen(float64(r.cfg.NodeCost * elapsed))
}

// funds returns the most that closing one node may cost now.
func (r *run) funds() float64 {
	if r.surplus > 0 {
		return max(r.saved, r.spells.longest())
	}
	return r.spells.longest()
}

// pay pays for closing a node.
func (r *run) pay(cost float64) {
	if cost <= r.saved {
		r.saved -= cost
	}
	r.spells.needed(1)
}

// closeAll closes those of the given nodes that are paid for, the cheapest first. As long as they
// fit, their sites go to nodes that are not among the k cheapest. The k cheapest are to be closed
// as well, and each site should move only once.
func (r *run) closeAll(nodes []int, each float64, t totals, k int) {
	if len(nodes) == 0 {
		return
	}
	leaving := r.leave(k)
	r.many = t.many(float64(k))
	defer func() { r.stay(leaving) }()
	for _, n := range nodes {
		cost := float64(each * float64(r.state[n].cost) / moveUnits)
		if r.halted || r.debt > 0 || cost > r.funds() {
			return
		}
		without := t
		without.add(r.Packer, n, -1)
		if without.nodes == 0 || !without.within(1-r.headroom()) {
			continue
		}
		fits := r.fits(n)
		if !fits && len(leaving) > 1 {
			r.stay(leaving)
			leaving = nil
			fits = r.fits(n)
		}
		if !fits {
			continue
		}
		r.pay(cost)
		r.closing = n
		r.touch(n)
		t = without
		if !r.close(n) {
			return
		}
	}
}

// leave makes the k cheapest nodes take no sites, and returns them.
func (r *run) leave(k int) (leaving []int) {
	if k < 1 {
		return nil
	}
	r.sync()
	r.cheapest.Ascend(func(n int) bool {
		leaving = append(leaving, n)
		return len(leaving) < k
	})
	for _, n := range leaving {
		r.state[n].leaving = true
		r.touch(n)
	}
	return leaving
}

// stay makes the given nodes take sites again.
func (r *run) stay(leaving []int) {
	for _, n := range leaving {
		r.state[n].leaving = false
		r.touch(n)
	}
}

// stayer returns the node for a site of a node that is being closed, or −1. It is the emptiest
// node. If many nodes are to be closed it is the first node with enough room, so that large sites
// find room as well.
func (r *run) stayer(c candidate, except int) int {
	if r.many {
		if n := r.firstWith(c, 1-r.filling()); n >= 0 && n != except && r.fill(n, c.need, 1) <= r.filling() {
			return n
		}
	}
	return r.keeps(c, except, r.filling(), someNodes)
}

// affordable returns the nodes whose closing is paid for, the cheapest first.
func (r *run) affordable(each float64) []int {
	funds := r.funds()
	if _, least := r.cheapest.Least(); each*least/moveUnits > funds {
		return nil
	}
	var all []int
	r.cheapest.Ascend(func(n int) bool {
		if each*r.cheapest.Key(n)/moveUnits > funds {
			return false
		}
		all = append(all, n)
		return true
	})
	return all
}

// close moves the sites of a node elsewhere, and reports whether the node is empty now. If there is
// no longer room for them, the node stays in use.
func (r *run) close(n int) bool {
	for _, s := range r.heaviest(n) {
		to := r.stayer(r.candidate(s), n)
		if to < 0 {
			r.closing = -1
			r.touch(n)
			return false
		}
		if !r.move(s, to, consolidation) {
			if len(r.moves) == 0 { // the limit forbids it even as the first move of a call
				r.closing = -1
				r.touch(n)
			}
			return false
		}
	}
	r.closing = -1
	r.touch(n)
	r.sync()
	return true
}

// fits tries whether the sites of a node find room on the other nodes in use, and reports the
// result.
func (r *run) fits(n int) bool {
	q := &r.resource[0]
	largest := q.sites.Below(n, math.MaxInt64, q.weight, nil)
	if r.tooHeavy(largest) || r.stayer(r.candidate(largest), n) < 0 {
		return false // most nodes that do not fit fail here
	}
	sites := r.heaviest(n)
	placed := sites[:0:0]
	put := func(s, to int, sign int64) {
		for k := range r.resource {
			r.resource[k].load[to] += sign * r.resource[k].weight[s]
		}
		r.touch(to)
	}
	for _, s := range sites {
		to := r.stayer(r.candidate(s), n)
		if to < 0 {
			break
		}
		put(s, to, 1)
		placed = append(placed, to)
	}
	for k, to := range placed {
		put(sites[k], to, -1)
	}
	r.sync()
	if len(placed) < len(sites) {
		r.debt += len(sites)
		return false
	}
	return true
}

// tooHeavy reports whether the weight of the site alone is above the limit.
func (r *run) tooHeavy(s int) bool {
	return r.limit.MaxWeight > 0 && r.resource[0].value(r.resource[0].weight[s]) > r.limit.MaxWeight
}
