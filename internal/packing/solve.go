package packing

import (
	"context"
	"math"
	"math/rand/v2"
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
	if !in.plain() {
		return in.solveAny(ctx, nodes)
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
	best  []pattern // the best packing: patterns that hold all items exactly
	nodes int
	limit int
	lp    *master // nil if it is out of reach
	rng   *rand.Rand
	effort
}

func newSolver(ctx context.Context, in *Problem, nodes int) *solver {
	s := &solver{ctx: ctx, in: in, kinds: newKinds(in.Weights), c: in.Capacities[0], limit: nodes, effort: standard}
	if k := len(s.w) - 1; s.w[k] == 0 {
		s.w, s.count, s.items = s.w[:k], s.count[:k], s.items[:k]
	}
	s.rng = rand.New(rand.NewPCG(uint64(len(in.Weights)), uint64(s.c)))
	return s
}

func (s *solver) solve() {
	b := s.in.Bounds()
	s.lower, s.cert = b.Best(), b.Certificate
	s.search()
}

// search looks for a packing into as many bins as the lower bound says, or raises that.
func (s *solver) search() {
	if len(s.w) == 0 {
		return
	}
	s.improve(nil, s.count)
	if s.proved() {
		return
	}
	for s.tight() && !s.proved() {
		if _, complete := s.decide(s.lower, 0); !complete {
			break
		}
	}
	if s.proved() || s.over() {
		return
	}
	if len(s.w) <= kindsLimit {
		s.lp = newMaster(s.w, s.count, s.c, s.effort)
		for _, p := range s.best {
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
		if v == undecided {
			s.lp = nil
			return
		}
		if v == enough {
			return
		}
		if s.certify(); s.lower == before {
			return
		}
	}
}

func (s *solver) proved() bool { return s.lower >= len(s.best) }

func (s *solver) over() bool { return s.nodes >= s.limit || s.ctx.Err() != nil }

// certify makes the duals a certificate if they prove more than the one there is.
func (s *solver) certify() {
	c := Certificate{Value: make([]int64, len(s.in.Weights))}
	for j, items := range s.items {
		u := int64(math.Floor(max(s.lp.dual[j], 0) * (1 << dualBits)))
		for _, i := range items {
			c.Value[i] = u
		}
	}
	var ok bool
	if c.Max, ok = s.in.MostValue(c.Value, 0); ok && c.Max > 0 && c.Bound() > s.lower {
		s.lower, s.cert, s.proof = c.Bound(), c, nil
	}
}

// restart replaces a linear programme that came to numerical grief by one with
// the same columns.
func (s *solver) restart() {
	old := s.lp
	s.lp = newMaster(s.w, s.count, s.c, s.effort)
	for _, c := range old.columns {
		if c.cost > 0 {
			s.lp.add(c.pattern)
		}
	}
}

// solution assigns the items to the patterns.
func (s *solver) solution() Solution {
	bin := make([]int, len(s.in.Weights))
	next := make([]int, len(s.w))
	for b, p := range s.best {
		for _, e := range p {
			for range e.count {
				bin[s.items[e.kind][next[e.kind]]] = b
				next[e.kind]++
			}
		}
	}
	return Solution{Packing: Packing{Bin: bin, Bins: max(len(s.best), 1)}, Lower: s.lower,
		Proved: s.lower >= max(len(s.best), 1), Certificate: s.cert, Proof: s.proof, Nodes: s.nodes}
}

// improve packs what is left by heuristics and keeps the result with the fixed
// patterns if it is the best so far.
func (s *solver) improve(fixed []pattern, left []int) {
	var w []int64
	var kind []int32
	for j, n := range left {
		for range n {
			w = append(w, s.w[j])
			kind = append(kind, int32(j))
		}
	}
	if len(w) == 0 {
		s.keep(fixed, nil)
		return
	}
	in := &Problem{Weights: w, Capacities: []int64{s.c}, Uniform: true}
	for _, h := range [...]Heuristic{BestFitDecreasing, MinimumBinSlackPrime, MinimumBinSlack} {
		if len(s.best) > 0 && (s.lower >= len(s.best) || len(w) > slackItems || h == MinimumBinSlack && len(fixed) > 0) {
			return
		}
		packed, _ := in.Pack(h) // plain problems leave nothing over
		if len(s.best) > 0 && len(fixed)+packed.Bins >= len(s.best) {
			continue
		}
		rest := make([]pattern, packed.Bins)
		for i, b := range packed.Bin { // by decreasing weight, hence by kind
			if k := len(rest[b]) - 1; k >= 0 && rest[b][k].kind == kind[i] {
				rest[b][k].count++
			} else {
				rest[b] = append(rest[b], entry{kind[i], 1})
			}
		}
		s.keep(fixed, rest)
	}
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
