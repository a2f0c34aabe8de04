package packing

import (
	"cmp"
	"slices"
)

// tree looks for a packing of what is left into the given number of bins. It says
// whether it found one, and if not, whether the search was complete.
//
// Some bin holds the heaviest item left: the children are the patterns of that bin. Of all
// packings with so few bins there is one in which this bin is as full as
// exchanges with other bins can make it, so dominated patterns are left out. The
// waste of all bins is what is left of bins·c, and their reduced costs sum to
// bins − z where z is the value of the linear programme, so no pattern may have
// more than that of either.
func (s *solver) tree(fixed []pattern, left []int, target int) (found, complete bool) {
	bins := target - len(fixed)
	weight := s.weight(left)
	waste := int64(bins)*s.c - weight
	if waste < 0 {
		return false, true
	}
	if s.over() {
		return false, false
	}
	s.nodes++
	e := enumeration{solver: s, left: left, waste: waste, steps: s.nodeSteps, most: s.nodeChildren}
	if s.lp != nil {
		if open, complete := s.priced(left, bins); !open {
			return false, complete
		}
		e.dual, e.gap = s.lp.dual, float64(bins)-s.lp.bound()
		if e.gap < -boundMargin {
			return false, true
		}
	}
	s.improve(fixed, left)
	if len(s.best) <= target {
		return true, true
	}
	complete = e.heaviest()
	for _, c := range e.children {
		rest := slices.Clone(left)
		for _, t := range c.pattern {
			rest[t.kind] -= int(t.count)
		}
		f, done := s.tree(append(fixed[:len(fixed):len(fixed)], c.pattern), rest, target)
		if f {
			return true, true
		}
		complete = complete && done
		if s.over() {
			return false, false
		}
	}
	return false, complete
}

// enumeration lists patterns of what is left whose waste and reduced cost fit.
type enumeration struct {
	*solver
	left     []int
	waste    int64
	dual     []float64 // nil without a linear programme
	gap      float64
	steps    int  // left to take
	most     int  // children
	every    bool // dominated patterns as well
	path     pattern
	children []child
	suffix   []int64   // weight of the kinds from here on
	rate     []float64 // best dual per weight of the kinds from here on
	at       []int     // position in the pricing table of the first kind from here on
	table    bool
	stopped  bool // there are more
}

type child struct {
	pattern pattern
	cost    float64 // reduced cost
	room    int64
}

// prepare makes what bounds the rest of a pattern. The pricing table must be of the
// same duals.
func (e *enumeration) prepare() {
	m := len(e.w)
	e.suffix, e.rate, e.at = make([]int64, m+1), make([]float64, m+1), make([]int, m+1)
	if e.dual != nil {
		p := &e.lp.pricer
		e.table = len(p.kinds) > 0
		k := len(p.kinds)
		e.at[m] = k
		for j := m - 1; j >= 0; j-- {
			if k > 0 && int(p.kinds[k-1]) == j {
				k--
			}
			e.at[j] = k
		}
	}
	for j := m - 1; j >= 0; j-- {
		e.suffix[j] = e.suffix[j+1] + int64(e.left[j])*e.w[j]
		e.rate[j] = e.rate[j+1]
		if e.left[j] > 0 && e.dual != nil {
			e.rate[j] = max(e.rate[j], e.dual[j]/float64(e.w[j]))
		}
	}
}

// all lists all patterns, and reports whether these are all.
func (e *enumeration) all() bool {
	e.prepare()
	e.every = true
	e.extend(0, e.c, 0)
	return !e.stopped
}

// heaviest lists the patterns of the bin of the heaviest item left that are not
// dominated, the most promising first, and reports whether these are all.
func (e *enumeration) heaviest() bool {
	e.prepare()
	first := 0
	for e.left[first] == 0 {
		first++
	}
	value := 0.0
	if e.dual != nil {
		value = e.dual[first]
	}
	e.path = pattern{{int32(first), 1}}
	e.left[first]--
	e.extend(first, e.c-e.w[first], value)
	e.left[first]++
	slices.SortStableFunc(e.children, func(x, y child) int {
		if d := x.cost - y.cost; d < -tolerance || d > tolerance {
			return cmp.Compare(d, 0)
		}
		return cmp.Compare(x.room, y.room)
	})
	return !e.stopped
}

// extend adds copies of kinds from j on. e.left does not count what is on the path.
func (e *enumeration) extend(j int, room int64, value float64) {
	if e.steps--; e.steps < 0 || len(e.children) >= e.most || e.watch.Spend(8) {
		e.stopped = true
	}
	if e.stopped {
		return
	}
	from := j
	for j < len(e.w) && (e.left[j] == 0 || e.w[j] > room) {
		j++
	}
	e.watch.Spend(j - from)
	if j == len(e.w) {
		e.end(room, 1-value)
		return
	}
	if e.hopeless(j, room, value) {
		return
	}
	dual := 0.0
	if e.dual != nil {
		dual = e.dual[j]
	}
	for t := int(min(int64(e.left[j]), room/e.w[j])); t >= 0; t-- {
		if t > 0 {
			e.path = append(e.path, entry{int32(j), int32(t)})
		}
		e.left[j] -= t
		e.extend(j+1, room-int64(t)*e.w[j], value+float64(float64(t)*dual))
		e.left[j] += t
		if t > 0 {
			e.path = e.path[:len(e.path)-1]
		}
	}
}

// end adds the pattern on the path to the children, if its waste and reduced cost fit and it is
// not dominated.
func (e *enumeration) end(room int64, cost float64) {
	if len(e.path) == 0 || room > e.waste || e.dual != nil && cost > e.gap+tolerance || !e.every && e.dominated(room) {
		return
	}
	p := slices.Clone(e.path)
	if len(p) > 1 && p[0].kind == p[1].kind {
		p[1].count++
		p = p[1:]
	}
	e.children = append(e.children, child{p, cost, room})
}

// hopeless reports whether no copies of kinds from j on make a pattern whose waste and reduced
// cost fit.
func (e *enumeration) hopeless(j int, room int64, value float64) bool {
	if room-e.suffix[j] > e.waste {
		return true
	}
	if e.dual == nil {
		return false
	}
	more := float64(room) * e.rate[j]
	if e.table {
		more = e.lp.pricer.more(e.at[j], room)
	}
	return 1-value-more > e.gap+tolerance
}

// dominated reports whether an item outside fits in the room, or in the place of a
// lighter one on the path: the other bin can take that one instead.
func (e *enumeration) dominated(room int64) bool {
	e.watch.Spend(len(e.left))
	spare := -1 // lightest kind seen so far of which there is one outside, heavier than those to come
	next := 0
	for _, p := range e.path[1:] {
		for ; next < int(p.kind); next++ {
			if e.left[next] > 0 {
				spare = next
			}
		}
		if spare >= 0 && e.w[spare]-e.w[p.kind] <= room {
			return true
		}
	}
	for j := len(e.w) - 1; j >= 0; j-- {
		if e.left[j] > 0 {
			return e.w[j] <= room
		}
	}
	return false
}
