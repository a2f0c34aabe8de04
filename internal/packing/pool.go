package packing

import (
	"math"
	"slices"
)

// priced solves the linear programme of the items left. It reports whether they may fit into the
// target number of bins, and if not, whether that is certain.
func (s *solver) priced(left []int, target int) (open, complete bool) {
	s.lp.setDemand(s.ctx, left)
	switch _, v := s.lp.generate(s.ctx, target, false); v {
	case exceeded:
		return false, true
	case undecided:
		if s.lp.failed {
			s.restart()
		}
		return false, false
	}
	return true, false
}

// choose looks for a packing into target bins among all patterns that it can
// consist of: those whose reduced cost fits into the gap between target and the value
// of the linear programme, and whose waste fits too. It reports whether it found one,
// and if not, whether there is none; it gives up if the patterns are too many, or
// after the given number of nodes.
//
// A degenerate linear programme has many optimal duals, and a pattern needs a
// reduced cost above the gap with one of them to be out. The mean of several optimal
// duals lies inside the optimal face, where most patterns cost something.
func (s *solver) choose(target, nodes int) (found, complete bool) {
	s.nodes++
	if open, complete := s.priced(s.count, target); !open {
		return false, complete
	}
	copy(s.lp.dual, s.lp.interior(s.ctx, interiorScale))
	defer s.lp.duals()
	if _, _, ok := s.lp.pricer.price(s.lp); !ok || s.lp.failed {
		return false, false
	}
	e := enumeration{solver: s, left: s.count, dual: s.lp.dual, gap: float64(target) - s.lp.bound(),
		waste: int64(target)*s.c - s.weight(s.count), steps: s.poolSteps, most: s.poolPatterns}
	if !e.all() {
		return false, false
	}
	q := newPool(s, target, nodes)
	for _, c := range e.children {
		q.add(c.pattern)
	}
	return q.run()
}

// pool is the choice of a given number of patterns that hold every kind exactly as
// often as there are: branch and bound by the linear programme of that, which has
// equations. A column that is switched off may not be chosen.
type pool struct {
	*solver
	target int
	limit  int     // nodes left
	lp     *master // surplus and the first basis are artificial
	with   [][]int // columns that hold a kind
	left   []int
	fixed  []pattern
	kept   int // numbers in inverses
}

func newPool(s *solver, target, limit int) *pool {
	q := &pool{solver: s, target: target, limit: limit, lp: s.newMaster(),
		with: make([][]int, len(s.w)), left: slices.Clone(s.count)}
	for k := range q.lp.columns {
		q.lp.columns[k].cost = prohibitive
	}
	return q
}

func (q *pool) add(p pattern) {
	k, _ := q.lp.add(p)
	q.lp.columns[k].cost = 1 // that of a column of the first basis is prohibitive
	for _, e := range p {
		q.with[e.kind] = append(q.with[e.kind], k)
	}
}

// run reports whether a packing was found, and if not, whether there is none.
func (q *pool) run() (found, complete bool) {
	q.lp.duals()
	q.lp.primal(q.ctx)
	return q.search()
}

// search searches below the present state, in which the linear programme is solved.
func (q *pool) search() (found, complete bool) {
	q.nodes++
	q.limit--
	bins := float64(q.target - len(q.fixed))
	var off []int
	defer func() {
		for _, k := range off {
			q.lp.columns[k].off = false
		}
	}()
	for {
		if q.lp.failed || q.limit <= 0 || q.over() {
			return false, false
		}
		gap := bins - q.lp.bound()
		if gap < -boundMargin {
			return false, true
		}
		for k := range q.lp.columns {
			if c := &q.lp.columns[k]; !c.off && c.cost == 1 && !q.lp.basic[k] && q.lp.reducedCost(k) > gap+tolerance {
				c.off = true
				off = append(off, k)
			}
		}
		k, only := q.pick()
		if k < 0 {
			return len(q.best) <= q.target, !q.lp.failed
		}
		var back basis
		if !only {
			back = q.lp.save(q.kept < keepLimit)
			q.kept += len(back.inverse)
		}
		found, complete := q.use(k)
		if found || !complete || only {
			return found, complete
		}
		// Invariant: no packing below this state has a pattern that is off.
		q.lp.restore(back)
		q.kept -= len(back.inverse)
		q.lp.columns[k].off = true
		off = append(off, k)
		if q.lp.basic[k] {
			q.lp.duals()
			q.lp.primal(q.ctx)
		}
	}
}

// pick returns the column to decide on, and whether it is the only one of a kind. The kind is, of
// those for which the linear programme is undecided, that with the fewest columns. If there is
// none, the solution is a packing and is kept, or some kind cannot be packed; then pick returns −1.
func (q *pool) pick() (column int, only bool) {
	rest, whole := q.whole()
	kind, fewest := -1, 0
	for j, n := range q.left {
		if n == 0 || whole[j] {
			continue
		}
		alive := 0
		for _, k := range q.with[j] {
			if !q.lp.columns[k].off {
				alive++
			}
		}
		if alive == 0 {
			return -1, false
		}
		if kind < 0 || alive < fewest {
			kind, fewest = j, alive
		}
	}
	if kind < 0 {
		if q.lp.failed = !q.holds(rest); !q.lp.failed {
			q.keep(q.fixed, rest)
		}
		return -1, false
	}
	return q.promising(kind), fewest == 1
}

// whole returns the patterns that the linear programme uses whole, and the kinds of which they
// hold all that is left.
func (q *pool) whole() (patterns []pattern, kinds []bool) {
	kinds = make([]bool, q.lp.m)
	for i, k := range q.lp.basis {
		n := math.Round(q.lp.x[i])
		if n < 1 || math.Abs(q.lp.x[i]-n) > wholeMargin || q.lp.costOf(k) > 1 {
			continue
		}
		p := q.lp.columns[k].pattern
		for range int(n) {
			patterns = append(patterns, p)
		}
		for _, e := range p {
			kinds[e.kind] = int(e.count)*int(n) == q.left[e.kind]
		}
	}
	return patterns, kinds
}

// wholeMargin is how far from whole a use of a pattern may be and count as whole: what rounding
// and the perturbed demand make of it. Wrong ones are found by holds.
const wholeMargin = 1e-3

// promising returns the column with the kind that the linear programme uses most, of equals that
// of the least reduced cost.
func (q *pool) promising(kind int) (column int) {
	value := make(map[int]float64, q.lp.m)
	for i, k := range q.lp.basis {
		value[k] = q.lp.x[i]
	}
	column = -1
	for _, k := range q.with[kind] {
		if !q.lp.columns[k].off && (column < 0 || value[k] > value[column]+tolerance ||
			value[k] > value[column]-tolerance && q.lp.reducedCost(k) < q.lp.reducedCost(column)) {
			column = k
		}
	}
	return column
}

// holds reports whether the patterns hold exactly what is left; rounding could deceive.
func (q *pool) holds(patterns []pattern) bool {
	left := slices.Clone(q.left)
	for _, p := range patterns {
		for _, e := range p {
			left[e.kind] -= int(e.count)
		}
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}

// use searches with one of column k in the packing.
func (q *pool) use(k int) (found, complete bool) {
	p := q.lp.columns[k].pattern
	for _, e := range p {
		q.left[e.kind] -= int(e.count)
	}
	q.fixed = append(q.fixed, p)
	// What is left must hold every column that is on.
	var off []int
	for _, e := range p {
		for _, o := range q.with[e.kind] {
			if c := &q.lp.columns[o]; !c.off && c.of(e.kind) > q.left[e.kind] {
				c.off = true
				off = append(off, o)
			}
		}
	}
	q.lp.setDemand(q.ctx, q.left)
	q.lp.duals()
	q.lp.primal(q.ctx)
	found, complete = q.search()
	for _, o := range off {
		q.lp.columns[o].off = false
	}
	q.fixed = q.fixed[:len(q.fixed)-1]
	for _, e := range p {
		q.left[e.kind] += int(e.count)
	}
	return found, complete
}
