package packing

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// couples finds patterns by joining two couples of items to some items at random: the best four of
// all for the room that these leave, in a walk over the couples by weight. It finds what a search
// that is guided by rounded rooms does not, where all patterns of hardly any waste are worth nearly
// the same. It proves nothing.
type couples struct {
	all   []couple // by increasing weight
	front []offer  // by increasing weight and value; of the others none may be the best for a room
	mean  int64    // weight of an item in demand
	path  pattern  // the items at random
	room  int64    // that they leave
	value float64  // of theirs
}

// couple is an item of kind a and one of kind b, if that is not −1.
type couple struct {
	weight int64
	a, b   int32
}

// offer is a couple that may be the best, with its value.
type offer struct {
	couple
	value float64
}

// list lists the couples of all kinds, unless the watch ends.
func (c *couples) list(s *master) (ok bool) {
	for a, w := range s.w {
		if s.watch.Spend(s.m) {
			return false
		}
		c.all = append(c.all, couple{w, int32(a), -1})
		for b := a; b < s.m; b++ {
			if sum := w + s.w[b]; sum <= s.c {
				c.all = append(c.all, couple{sum, int32(a), int32(b)})
			}
		}
	}
	c.all, ok = work.Sorted(c.all, func(x, y couple) int {
		return cmp.Or(cmp.Compare(x.weight, y.weight), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	}, s.watch)
	return ok
}

// update computes the front for the demand and the duals, unless the watch ends.
func (c *couples) update(s *master) (ok bool) {
	if c.all == nil && !c.list(s) || s.watch.Spend(4*len(c.all)) {
		c.all = nil
		return false
	}
	c.front = append(c.front[:0], offer{couple{0, -1, -1}, 0})
	for _, p := range c.all {
		if s.demand[p.a] == 0 || p.b >= 0 && s.demand[p.b] == 0 || p.b == p.a && s.demand[p.a] == 1 {
			continue
		}
		v := s.dual[p.a]
		if p.b >= 0 {
			v += s.dual[p.b]
		}
		if v > c.front[len(c.front)-1].value {
			c.front = append(c.front, offer{p, v})
		}
	}
	sum, items := int64(0), int64(1)
	for j, d := range s.demand {
		sum += int64(d) * s.w[j]
		items += int64(d)
	}
	c.mean = max(sum/items, 1)
	return true
}

// find returns patterns of value above 1: joinedColumns at most, in about joinSteps steps.
func (c *couples) find(s *master, kinds []int32, rng *rand.Rand) (patterns []pattern) {
	if !c.update(s) {
		return nil
	}
	for steps := joinSteps; steps > 0 && len(patterns) < joinedColumns; {
		took := len(c.front)
		c.path, c.room, c.value = c.path[:0], s.c, 0
		for tries := len(kinds); 2*c.room > 7*c.mean && tries > 0; tries-- {
			j := kinds[rng.IntN(len(kinds))]
			if s.w[j] <= c.room && int(c.path.of(j)) < s.demand[j] {
				c.path, c.room, c.value = c.path.and(j), c.room-s.w[j], c.value+s.dual[j]
				took++
			}
		}
		if s.watch.Spend(took) {
			return nil
		}
		steps -= took
		if p := c.join(s); p != nil {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// join returns the path with the two couples that are worth the most, if that is more than 1.
// Invariant: f[q] is the heaviest couple that fits beside f[p].
func (c *couples) join(s *master) (best pattern) {
	f, most := c.front, 1+epsilon
	for p, q := 0, len(f)-1; p <= q; p++ {
		for q >= 0 && f[p].weight+f[q].weight > c.room {
			q--
		}
		if q < p {
			break
		}
		if v := c.value + f[p].value + f[q].value; v > most {
			if got := c.with(s, f[p].couple, f[q].couple); got != nil {
				most, best = v, got
			}
		}
	}
	return best
}

// with returns the path with these couples, or nil if it would hold more of a kind than the demand.
func (c *couples) with(s *master, couples ...couple) pattern {
	p := c.path
	for _, q := range couples {
		for _, j := range [...]int32{q.a, q.b} {
			if j < 0 {
				continue
			}
			if int(p.of(j)) == s.demand[j] {
				return nil
			}
			p = p.and(j)
		}
	}
	return p
}

// and returns the pattern with one more of the kind.
func (p pattern) and(kind int32) pattern {
	k, ok := slices.BinarySearchFunc(p, kind, func(e entry, j int32) int { return cmp.Compare(e.kind, j) })
	q := slices.Clone(p)
	if !ok {
		q = slices.Insert(q, k, entry{kind, 0})
	}
	q[k].count++
	return q
}
