package packing

import (
	"cmp"
	"slices"
)

// guided looks for patterns of the most value, depth first, where the capacity is too large for a
// table of all rooms. A table of rounded ones bounds what the kinds to come can add: weights are
// rounded down, so that whatever fits fits in it as well.
type guided struct {
	*pricer
	s           *master
	lightest    int64
	nodes       int // left
	path, found pattern
	best        float64 // value of what was found
}

// start is a pattern's heaviest kind, by position, and how much a pattern of these may be worth.
type start struct {
	k     int
	value float64
}

// search looks for the best pattern with each kind as its heaviest, the most promising kinds first, until
// it has enough of them. Of a kind whose search takes too long it takes what was found so far, if
// anything; ok is false if there was such a kind, or no time for all.
func (p *pricer) search(s *master) (patterns []pattern, best float64, ok bool) {
	g := guided{pricer: p, s: s, lightest: s.w[p.kinds[len(p.kinds)-1]]}
	best, ok = 1, true
	left := pricingNodes
	for _, b := range g.starts() {
		if len(patterns) == s.columnsPerRound || left <= 0 {
			best = max(best, b.value) // nor are those that come after it worth more
			return patterns, best, false
		}
		g.nodes, g.best, g.found = pricingNodes/s.columnsPerRound, 1, nil
		left -= g.nodes
		g.take(b.k, s.c, 0, 1)
		if g.found != nil {
			patterns = append(patterns, g.found)
		}
		if g.nodes < 0 {
			ok, g.best = false, b.value
		}
		left += max(g.nodes, 0)
		best = max(best, g.best)
	}
	return patterns, best, ok
}

// starts returns those that may be worth more than 1, by decreasing value.
func (g *guided) starts() []start {
	var all []start
	for k, j := range g.kinds {
		b := start{k: k}
		for t := int64(1); t <= int64(g.s.demand[j]) && t*g.s.w[j] <= g.s.c; t++ {
			b.value = max(b.value, float64(float64(t)*g.s.dual[j])+g.more(k+1, g.s.c-t*g.s.w[j]))
		}
		if b.value > 1+epsilon/10 {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b start) int { return cmp.Compare(b.value, a.value) })
	return all
}

// take tries all numbers of the kind at position k, from least on. Invariant: the path has this value,
// and leaves this room.
func (g *guided) take(k int, room int64, value float64, least int64) {
	if k == len(g.kinds) || room < g.lightest {
		if value > g.best+epsilon/10 {
			g.best, g.found = value, slices.Clone(g.path)
		}
		return
	}
	if g.nodes--; g.nodes < 0 || g.s.watch.Spend(8) {
		g.nodes = -1
		return
	}
	j := g.kinds[k]
	w := g.s.w[j]
	for t := min(int64(g.s.demand[j]), room/w); t >= least && g.nodes >= 0; t-- {
		x, left := value+float64(float64(t)*g.s.dual[j]), room-t*w
		if x+g.more(k+1, left) <= g.best+epsilon/10 {
			continue
		}
		if t > 0 {
			g.path = append(g.path, entry{j, int32(t)})
		}
		g.take(k+1, left, x, 0)
		if t > 0 {
			g.path = g.path[:len(g.path)-1]
		}
	}
}
