package binpack

// One move of a large site to a spare can relieve a node instead of many moves of small sites. The
// packer takes the cost of that to be spareMoves moves: a move there, as much again until the spare
// has paid for its own closing, and a move back. While the site stays large, the spare also costs a
// node for spareTime. All nodes that are overloaded at the same time share that cost.
//
// With a spareTime of 0 instead of 2, a fleet of 20 nodes takes .6 % more nodes in flash crowds. If
// the cost is not shared, a fleet of 2000 nodes takes two fifths more moves (go run
// ./examples/binpack -suite -only flash, seeds 1001 to 1006).
const (
	spareMoves = 3
	spareTime  = 2
)

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

// relieve brings overloaded nodes below their capacity.
func (r *run) relieve() {
	over := r.filled(1)
	if over == nil {
		return
	}
	t := r.inUse()
	r.crowd = len(over)
	for _, n := range over {
		r.relieveNode(n, &t)
	}
}

// relieveNode brings one node below its capacity, and updates the totals of the nodes in use.
func (r *run) relieveNode(n int, t *totals) {
	// Invariant: every move leaves both of its nodes less full than n was before, so this ends.
	for r.fill(n, nil, 1) > 1 && r.relieveOnce(n, t) {
	}
	r.relieveEach(n, t)
	if r.state[n].sites == 0 {
		t.add(r.Packer, n, -1)
	}
}

// relieveEach relieves a node that is still overloaded, one resource at a time. It helps if nothing
// could be done about the resource that the node uses most, or if the node uses two resources
// equally.
func (r *run) relieveEach(n int, t *totals) {
	if len(r.resource) == 1 || r.fill(n, nil, 1) <= 1 {
		return
	}
	for k := range r.resource {
		// Invariant: each move takes some of this resource off the node and overloads no node.
		for r.only = 1 + k; r.level(n, nil, 1) > 1 && r.relieveOnce(n, t); {
		}
	}
	r.only = 0
}

// level is fill, or the share of the single resource that is being relieved.
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

// relieveOnce makes the move or exchange that relieves overloaded node n, and reports whether there
// was one. As long as the fleet has its headroom, one of the nodes in use takes a site or exchanges
// it, unless that needs so many moves that a spare is cheaper. Otherwise, or if no node in use can
// help, a spare takes a site.
func (r *run) relieveOnce(n int, t *totals) bool {
	most := 1 - r.headroom()
	first, _ := r.spares.Least()
	spare, site, on := first >= 0, -1, -1
	if spare && r.state[n].sites == 1 { // a spare helps a single site only if the site fits it
		site, on = r.bestSpare(n)
		spare = site >= 0
	}
	if !spare || t.within(most) {
		s, to := r.best(n, most)
		if spare && s >= 0 && r.dearer(n, s, t) {
			if site < 0 {
				site, on = r.bestSpare(n)
			}
			if site >= 0 && r.movesOff(n, site) <= 1 {
				return r.open(site, on, t)
			}
		}
		if s >= 0 {
			return r.move(s, to, overload)
		}
		if give, take := r.bestExchange(n, most); give >= 0 {
			to, alone := int(r.home[take]), r.state[n].sites == 1
			if !r.move(give, to, overload) || !r.move(take, n, overload) {
				return false
			}
			if alone {
				r.opened-- // node n was empty only for a moment, and no spare was opened
			}
			return true
		}
	}
	if spare && site < 0 {
		site, on = r.bestSpare(n)
	}
	if site >= 0 {
		return r.open(site, on, t)
	}
	s, to := r.best(n, 1)
	return s >= 0 && r.move(s, to, overload)
}

// movesOff returns how many moves of sites like s would end the overload of a node, as a real
// number.
func (r *run) movesOff(n, s int) float64 {
	full := r.level(n, nil, 1)
	return float64(full-1) / float64(full-r.level(n, r.needs(s), -1))
}

// dearer reports whether relieving a node by moves of sites like s costs more than a spare.
func (r *run) dearer(n, s int, t *totals) bool {
	saved := float64((r.movesOff(n, s) - spareMoves) * t.moveCost(r.cfg))
	return saved > float64(spareTime*r.cfg.NodeCost)/float64(r.crowd)
}

// open moves a site of an overloaded node to a spare.
func (r *run) open(site, on int, t *totals) bool {
	if !r.move(site, on, overload) {
		return false
	}
	t.add(r.Packer, on, 1)
	return true
}

// bestSpare returns a site of node n and the spare to move it to: the largest spare that may take
// any site.
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

// relieveEarly moves one site off each node that is about to be overloaded, if the move brings that
// node out of this range and does not bring the other node into it.
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

// crowded returns the resource of a node to relieve: the one that the node uses most, unless only
// names another.
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
