package binpack

import "math"

// drain empties drained nodes, as far as there is room within the capacities.
func (r *run) drain() {
	for n := range r.state {
		if r.nodes.Live(n) && r.state[n].drained && r.state[n].sites > 0 {
			r.empty(n)
		}
	}
}

// empty moves the sites of a node that is being drained, the heaviest first. If sites differ only
// in their weights, it skips all sites that are too large for the room left at once, so that the
// cost is that of the moves.
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

// evict moves a site off a node that is being drained. A site that is too large for every node
// moves to an empty one. A site for which there is no room at present stays.
func (r *run) evict(s, n int) bool {
	c := r.candidate(s)
	to := r.choose(c, n)
	return to >= 0 && (r.fill(to, c.need, 1) <= 1 || r.state[to].sites == 0 && !r.holds(c, to)) && r.move(s, to, drain)
}
