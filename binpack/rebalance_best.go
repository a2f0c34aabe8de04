package binpack

import "math"

// best returns the best move off node a: a site and a node in use. It is the move that minimises
// the fill of the fuller of the two nodes, with the other node filled to no more than most. It
// returns −1 if there is none.
func (r *run) best(a int, most float64) (site, to int) {
	site, to = -1, -1
	least := r.level(a, nil, 1)
	tried := 0
	r.targets(a, everyNode, func(b int) bool {
		// The fuller of the two nodes is at least as full as b, and the nodes tried next are no
		// emptier than b.
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

// A choice is a site that may move from node a to node b, and what the move does.
type choice struct {
	site int
	cost int64   // cost of the move, in moveUnits
	fill float64 // fill of the fuller node afterwards
	ends bool    // node a is no longer overloaded
}

// before orders choices. Of two choices that end an overload at different costs, the cheaper comes
// first. Otherwise the one with the lower fill of the fuller node does.
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

// bestTo is best for a given node b. fill is the fill of the fuller node afterwards. site is −1 if
// no move leaves both nodes less full than a is now. Sites without weight stay, and so do sites
// that the limit forbids to move. If costs is set, it also looks for a site whose move costs less.
func (r *run) bestTo(a, b int, most float64, costs bool) (site int, fill float64) {
	best := choice{site: -1}
	try := func(s int) {
		if c, ok := r.try(a, b, s, most); ok && c.before(best) {
			best = c
		}
	}
	// The nearer a weight is to even, the less full is the fuller node. So only the sites next to even
	// can be the best.
	q := r.crowded(a)
	room := min(int64(q.even(a, b)), int64(most*float64(q.capacity[b]))-q.load[b]+1, r.heaviestAllowed())
	if room < 0 {
		return best.site, best.fill
	}
	var may func(int) bool
	if !r.plain() {
		may = func(s int) bool { _, ok := r.try(a, b, s, most); return ok }
	}
	try(q.sites.Below(a, room, q.weight, may))
	try(q.sites.Above(a, room, q.weight, may))
	if costs && len(r.rules) > 0 { // look for the cheapest move that ends the overload
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

// bestExchange returns the best exchange of a site of node a with a lighter site of a node in use.
// It is the exchange that minimises the fill of the fuller of the two nodes, with a below its
// capacity and the other node filled to no more than most. It returns −1 if there is none. It looks
// only at a few sites of each class of weights.
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
		// If the two sites differ by even, both nodes are equally full. The difference must not
		// exceed the room of b, so even is limited to that. For a site s only two sites of b can be
		// the best: those whose differences from s are next to even on either side.
		even := min(q.even(a, b), math.Floor(most*float64(q.capacity[b]))-float64(q.load[b]))
		light = light[:0]
		q.sites.Some(b, func(s int) bool { light = append(light, s); return true })
		byWeight(light, q.weight)
		k := 0 // light[:k] differ from s by less than even; k grows, because the next s is lighter
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

// exchanged returns how full the fuller of two nodes is after sites s and t have changed places. ok
// reports whether they may.
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
			return 0, false // node a would be more overloaded in another resource
		}
		into = max(into, float64(q.load[b]+d)/float64(q.capacity[b]))
	}
	if into > most || !r.allowed(r.candidate(s), b) || !r.allowed(r.candidate(t), a) {
		return 0, false
	}
	return max(fill, into), true
}
