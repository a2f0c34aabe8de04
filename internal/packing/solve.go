package packing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// A Solution is a packing with what is known of the least number of bins.
type Solution struct {
	Packing     // Bin is nil if none was found
	Certificate // of at most Lower bins
	Lower       int
	Proof       *Proof // of Lower bins, if a search made one
	Proved      bool   // Lower == Bins; without a packing, that there is none
	Nodes       int    // searched
}

// Solve packs the items into as few bins as possible and proves it, if it comes to an
// end before the context does and before the number of nodes is reached. Package binpack
// says how it works.
//
// Without a deadline the result is a function of the input.
func (in *Problem) Solve(ctx context.Context, nodes int) Solution {
	if !in.Plain() {
		return in.solveAny(work.NewWatch(ctx), nodes)
	}
	s := newSolver(ctx, in, nodes)
	s.solve()
	return s.solution()
}

// solver solves a problem of bins of one capacity.
type solver struct {
	ctx   context.Context
	in    *Problem
	kinds // of positive weight; items without weight go to bin 0
	c     int64
	lower int
	cert  Certificate
	proof *Proof    // of lower bins, if there is one
	best  []pattern // the best packing: patterns that hold all items exactly; first before the search
	nodes int
	limit int
	lp    *master  // nil if it is out of reach
	all   kinds    // with items without weight; empty if the context ended before they were grouped
	order []Ranked // items of positive weight, by decreasing weight
	first Packing  // the best of the heuristics that are tried before the patterns
	watch *work.Watch
	bare  bool // proofs are not wanted
	rng   *rand.Rand
	effort
}

// newSolver returns a solver with the items grouped by weight, unless the context ends before.
func newSolver(ctx context.Context, in *Problem, nodes int) *solver {
	s := &solver{ctx: ctx, in: in, c: in.Capacities[0], limit: nodes, effort: standard, watch: work.NewWatch(ctx),
		rng: rand.New(rand.NewPCG(uint64(len(in.Weights)), uint64(in.Capacities[0])))}
	s.watch.Spend(in.reading())
	ok := false
	if s.order, ok = decreasing(in.Weights, s.watch); !ok {
		return s
	}
	if s.kinds, ok = kindsOf(s.order, s.watch); !ok {
		return s
	}
	s.all = s.kinds
	if k := len(s.w) - 1; s.w[k] == 0 {
		s.order = s.order[:len(s.order)-s.count[k]]
		s.w, s.count, s.start = s.w[:k], s.count[:k], s.start[:k+1]
	}
	return s
}

func (s *solver) newMaster() *master {
	m := newMaster(s.w, s.count, s.c, s.effort)
	m.watch = s.watch
	return m
}

// solve tries the heuristics, then the bounds that take longer, and then it searches.
func (s *solver) solve() {
	s.watch.Spend(len(s.in.Weights))
	s.first, _ = s.in.nextFit(nil, nil)
	s.cert = s.in.bySum()
	s.lower = s.cert.Bound()
	b := s.bound()
	if b == nil {
		return
	}
	cheap := b.cheap()
	if cheap {
		b.functions()
	}
	s.lower = b.lower()
	s.tryAll()
	if s.prepare(); !cheap && !s.proved() {
		b.functions()
	}
	s.lower, s.cert = b.lower(), b.proof()
	s.search()
}

// tryAll keeps the best packing of the heuristics but Minimum Bin Slack, until one proves to be the
// best there is or the watch ends.
func (s *solver) tryAll() {
	for _, h := range trials {
		if s.proved() || s.watch.Over() {
			return
		}
		if h == NextFit || h == BestFitDecreasing || h >= MinimumBinSlack {
			continue // made before, or later
		}
		if p, left := s.in.pack(h, s.watch); left < 0 && p.Bins < s.first.Bins {
			s.first = p
		}
	}
}

// bound makes a packing by Best Fit Decreasing, and the quick bounds on the number of bins. It
// returns nil if the context ends before there is anything to bound.
func (s *solver) bound() *bounder {
	if len(s.all.w) > 0 {
		p := Packing{Bin: make([]int, len(s.in.Weights))}
		p.Bins = bestFitDecreasing(s.c, s.order, p.Bin, s.watch)
		if s.first.Bin == nil || p.Bins <= s.first.Bins {
			s.first = p
		}
	}
	low, ok := s.all, s.all.w != nil
	if ok && !s.in.exact() {
		var order []Ranked
		if order, ok = decreasing(s.in.Low, s.watch); ok {
			low, ok = kindsOf(order, s.watch)
		}
	}
	if !ok {
		return nil
	}
	b := newBounder(s.in, low, s.watch)
	b.quick()
	return b
}

// prepare makes patterns of the first packing and tries Minimum Bin Slack: in the end
// with all its nodes, unless the solver answers one of many questions.
func (s *solver) prepare() {
	if s.proved() || s.watch.Over() {
		return
	}
	w, kind := s.expand(s.count)
	if s.watch.Spend(2 * len(w)) {
		return
	}
	bin := make([]int, len(w))
	for k, x := range s.order {
		bin[k] = s.first.Bin[x.Item]
	}
	if s.watch.Spend(2 * len(w)) {
		return
	}
	var ok bool
	if s.best, ok = patternsOf(Packing{bin, s.first.Bins}, kind, s.watch); !ok {
		return
	}
	s.slack(nil, w, kind, s.slackNodes())
	if !s.bare && s.slackNodes() < slackNodes {
		s.slack(nil, w, kind, slackNodes)
	}
}

// search looks for a packing into as many bins as the lower bound says, or raises that.
func (s *solver) search() {
	if s.proved() || s.over() || s.watch.Over() {
		return
	}
	for !s.proved() {
		nodes, first := s.tight()
		if !first {
			break
		}
		if _, complete := s.decide(s.lower, nodes); !complete {
			break
		}
	}
	if s.proved() || s.over() {
		return
	}
	if len(s.w) <= kindsLimit {
		s.lp = s.newMaster()
		for _, p := range s.best {
			if s.watch.Spend(16 * (1 + len(p))) {
				return
			}
			s.lp.add(p)
		}
		s.nodes++
		s.raise()
	}
	for target := s.lower; target < len(s.best); target++ {
		found, complete := s.reach(target)
		if found || !complete {
			return
		}
		if s.lower == target {
			s.prove(target)
		}
		if s.in.exact() && s.lower == target {
			s.lower, s.proof = target+1, nil
		}
	}
}

// reach looks for a packing into target bins by all means, the quick ones first. It
// reports whether it found one, and if not, whether there is none.
func (s *solver) reach(target int) (found, complete bool) {
	if s.lp != nil {
		for try := range s.dives {
			if try == s.divesBefore {
				if found, complete := s.choose(target, s.nodesAtRoot); found || complete {
					return found, complete
				}
			}
			if try == pairsLate && s.paired() {
				if found, complete := s.decide(target, pairsNodes); found || complete {
					return found, complete
				}
			}
			if s.dive(target, try > 0) {
				return true, true
			}
			if s.over() {
				return false, false
			}
		}
	}
	return s.tree(nil, s.count, target)
}

// raise raises the lower bound by the linear programme, as far as it goes: it
// need not be solved once its value shows that the bound cannot rise any more.
func (s *solver) raise() {
	for !s.proved() {
		before := s.lower
		_, v := s.lp.generate(s.ctx, s.lower, true)
		for v == undecided && !s.lp.failed && s.ctx.Err() == nil && s.lp.pricer.refine(s.lp) {
			_, v = s.lp.generate(s.ctx, s.lower, true)
		}
		if v == undecided {
			s.lp = nil
			return
		}
		s.lp.pricer.finer = 0 // what follows does without what a coarser table does not find
		if v == enough {
			return
		}
		if s.certify(); s.lower == before {
			return
		}
	}
}

// proved reports whether the best packing is optimal.
func (s *solver) proved() bool {
	if len(s.best) == 0 {
		return s.lower >= s.first.Bins
	}
	return s.lower >= len(s.best)
}

func (s *solver) over() bool { return s.nodes >= s.limit || s.ctx.Err() != nil }

// certify makes the duals a certificate if they prove more than the one there is.
func (s *solver) certify() {
	c := Certificate{Value: make([]int64, len(s.in.Weights))}
	for j := range s.w {
		u := int64(math.Floor(max(s.lp.dual[j], 0) * (1 << dualBits)))
		for _, i := range s.items(j) {
			c.Value[i] = u
		}
	}
	var ok bool
	if c.Max, ok = s.in.mostValue(c.Value, s.in.high()[0], 0, s.watch); ok && c.Max > 0 && c.Bound() > s.lower {
		s.lower, s.cert, s.proof = c.Bound(), c, nil
	}
}

// restart replaces a linear programme that came to numerical grief by one with
// the same columns.
func (s *solver) restart() {
	old := s.lp
	s.lp = s.newMaster()
	for _, c := range old.columns {
		if c.cost > 0 {
			s.lp.add(c.pattern)
		}
	}
}

// solution assigns the items to the patterns.
func (s *solver) solution() Solution {
	p := s.first
	if len(s.best) > 0 && (p.Bin == nil || len(s.best) < p.Bins) {
		p = Packing{make([]int, len(s.in.Weights)), len(s.best)}
		next := slices.Clone(s.start)
		for b, q := range s.best {
			for _, e := range q {
				for range e.count {
					p.Bin[s.item[next[e.kind]]] = b
					next[e.kind]++
				}
			}
		}
	}
	p.Bins = max(p.Bins, 1) // items without weight are in bin 0
	return Solution{Packing: p, Lower: s.lower, Proved: s.lower >= p.Bins, Certificate: s.cert, Proof: s.proof, Nodes: s.nodes}
}

// number returns how many items are left.
func number(left []int) int {
	n := 0
	for _, d := range left {
		n += d
	}
	return n
}

// expand returns the weights of what is left one by one, in decreasing order, and their kinds.
func (s *solver) expand(left []int) (w []int64, kind []int32) {
	n := number(left)
	w, kind = make([]int64, 0, n), make([]int32, 0, n)
	for j, d := range left {
		for range d {
			w, kind = append(w, s.w[j]), append(kind, int32(j))
		}
	}
	return w, kind
}

// improve packs what is left by heuristics and keeps the result with the fixed
// patterns if it is the best so far.
func (s *solver) improve(fixed []pattern, left []int) {
	if s.settled(number(left)) {
		return
	}
	w, kind := s.expand(left)
	if len(w) == 0 {
		s.keep(fixed, nil)
		return
	}
	order := make([]Ranked, len(w))
	for k, x := range w {
		order[k] = Ranked{x, int32(k)}
	}
	bin := make([]int, len(w))
	s.offer(fixed, Packing{bin, bestFitDecreasing(s.c, order, bin, s.watch)}, kind)
	s.slack(fixed, w, kind, s.slackNodes())
}

// settled reports whether heuristics are of no use: nothing better is possible, or there are too
// many items.
func (s *solver) settled(items int) bool {
	return len(s.best) > 0 && (s.lower >= len(s.best) || items > slackItems)
}

// slackNodes is the number of nodes of Minimum Bin Slack for a bin where it is tried often.
func (s *solver) slackNodes() int { return min(slackNodes, slackAll/max(len(s.best), 1)) }

// slack does what improve does by Minimum Bin Slack, with so many nodes for a bin.
func (s *solver) slack(fixed []pattern, w []int64, kind []int32, nodes int) {
	in := &Problem{Weights: w, Capacities: []int64{s.c}, Uniform: true}
	for _, prime := range [...]bool{true, false} {
		if s.settled(len(w)) || !prime && len(fixed) > 0 {
			return
		}
		packed, left := in.minimumSlack(prime, nodes, s.watch)
		if left >= 0 {
			return // the context ended
		}
		s.offer(fixed, packed, kind)
	}
}

// offer keeps the fixed patterns and a packing of the items of these kinds if it is the best so
// far.
func (s *solver) offer(fixed []pattern, packed Packing, kind []int32) {
	if len(s.best) == 0 || len(fixed)+packed.Bins < len(s.best) {
		if patterns, ok := patternsOf(packed, kind, s.watch); ok {
			s.keep(fixed, patterns)
		}
	}
}

// patternsOf returns the patterns of a packing of items of these kinds, equal ones together, unless
// the watch ends before.
func patternsOf(packed Packing, kind []int32, watch *work.Watch) (patterns []pattern, ok bool) {
	start, last := make([]int32, packed.Bins+1), make([]int32, packed.Bins) // last kind, plus 1
	if !watch.Chunks(len(kind), 2, func(from, to int) {
		for i, b := range packed.Bin[from:to] {
			if k := kind[from+i]; last[b] != k+1 {
				last[b] = k + 1
				start[b+1]++
			}
		}
	}) {
		return nil, false
	}
	for b := range packed.Bins {
		start[b+1] += start[b]
	}
	entries := make([]entry, start[packed.Bins])
	patterns = make([]pattern, packed.Bins)
	for b := range patterns {
		patterns[b] = entries[start[b]:start[b]:start[b+1]]
	}
	ok = watch.Chunks(len(kind), 4, func(from, to int) {
		for i, b := range packed.Bin[from:to] {
			kind := kind[from+i]
			if k := len(patterns[b]) - 1; k >= 0 && patterns[b][k].kind == kind {
				patterns[b][k].count++
			} else {
				patterns[b] = append(patterns[b], entry{kind, 1})
			}
		}
	})
	return patterns, ok
}

func (s *solver) keep(fixed, rest []pattern) {
	if n := len(fixed) + len(rest); len(s.best) == 0 || n < len(s.best) {
		s.best = append(append(make([]pattern, 0, n), fixed...), rest...)
	}
}

// weight returns the weight of what is left.
func (s *solver) weight(left []int) int64 {
	sum := int64(0)
	for j, n := range left {
		sum += int64(n) * s.w[j]
	}
	return sum
}
