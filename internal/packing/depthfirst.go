package packing

import "github.com/recrawl/recrawl/internal/work"

// search assigns items to bins of any kind, depth first.
type search struct {
	*table
	watch   *work.Watch
	order   []int
	largest int64
	lower   int
	used    int   // bins that hold an item
	total   int64 // weight of all items
	opened  int64 // capacity of the bins that hold an item, at most MaxTotal
	best    []int
	bins    int // of best
	nodes   int
	limit   int

	certificate Certificate // of at most lower bins
}

// solveAny searches for the fewest bins of different capacities, with conflicts
// and pins. The heuristics come before the bounds, which take longer.
func (in *Problem) solveAny(watch *work.Watch, nodes int) Solution {
	if watch.Spend(in.reading()) || !in.Conflicts.index(len(in.Weights), watch) {
		return in.rough()
	}
	s := &search{watch: watch, limit: nodes, bins: in.Bins() + 1, certificate: in.bySum()}
	s.lower = in.needs(s.certificate, watch)
	s.tryAll(in)
	if s.bins == s.lower || watch.Over() {
		return s.solution(in, nil, s.bins == s.lower)
	}
	if b := in.hastyBounds(watch); b.Best() >= s.lower {
		s.lower, s.certificate = b.Best(), b.Certificate
	}
	if s.bins == s.lower || watch.Over() {
		return s.solution(in, nil, s.bins == s.lower)
	}
	s.table = in.newTable()
	order, ok := decreasing(in.Weights, watch)
	if !ok {
		return s.solution(in, nil, false)
	}
	for _, x := range order {
		if s.bin[x.Item] < 0 {
			s.order = append(s.order, int(x.Item))
		}
	}
	for _, w := range in.Weights {
		s.total += w
	}
	for b, open := range s.open {
		s.largest = max(s.largest, in.Capacity(b))
		if open {
			s.used++
			s.opened = addRoom(s.opened, in.Capacity(b))
		}
	}
	proof := s.relax()
	complete := s.bins == s.lower || s.branch(0)
	return s.solution(in, proof, complete)
}

// tryAll keeps the best packing of the heuristics, until one proves to be the best there is or the
// watch ends. Next Fit is always tried.
func (s *search) tryAll(in *Problem) {
	for _, h := range trials {
		if p, left := in.pack(h, s.watch); left < 0 && p.Bins < s.bins {
			s.best, s.bins = p.Bin, p.Bins
		}
		if s.watch.Spend(len(in.Weights)) || s.bins == s.lower {
			return
		}
	}
}

// solution is what is known after a search that was complete or not.
func (s *search) solution(in *Problem, proof *Proof, complete bool) Solution {
	if s.best == nil {
		return Solution{Proved: complete, Nodes: s.nodes}
	}
	sol := Solution{Packing: Packing{s.best, s.bins}, Lower: s.lower, Certificate: s.certificate, Proof: proof, Nodes: s.nodes}
	if complete && in.exact() {
		if sol.Lower < s.bins {
			sol.Proof = nil // of less
		}
		sol.Lower = s.bins
	}
	sol.Proved = sol.Lower == sol.Bins
	return sol
}

// relax raises the lower bound by that of the problem without conflicts and pins.
func (s *search) relax() *Proof {
	if !s.in.Uniform || s.bins <= s.lower || s.watch.Over() {
		return nil
	}
	in := *s.in
	in.Conflicts, in.Pins = nil, nil
	r := in.Solve(s.watch.Context(), min(s.limit, relaxedNodes))
	s.nodes += r.Nodes
	if r.Lower <= s.lower {
		return nil
	}
	if r.Certificate.Bound() > s.lower {
		s.certificate = r.Certificate
	}
	s.lower = r.Lower
	return r.Proof
}

// relaxedNodes is the most nodes of the search without conflicts and pins.
const relaxedNodes = 100

// branch places the items from position k on, and reports whether it tried all that
// could be better than the best.
func (s *search) branch(k int) (complete bool) {
	if s.nodes++; s.nodes > s.limit || s.watch.Spend(len(s.room)) {
		return false
	}
	// Bins needed for what the open ones cannot take.
	need := s.used
	if over := s.total - s.opened; over > 0 {
		need += ceilDiv(over, s.largest)
	}
	if need >= s.bins {
		return true
	}
	if k == len(s.order) {
		s.best, s.bins = append(s.best[:0:0], s.bin...), s.used
		return true
	}
	i := s.order[k]
	w, before := s.in.Weights[i], s.opened
	complete = true
	empty := make(map[int64]bool) // capacities of empty bins tried: one of each will do
	for b := range s.room {
		if s.watch.Over() {
			return false
		}
		if s.room[b] < w || s.enemy(i, b) {
			continue
		}
		opened := !s.open[b]
		if opened {
			if empty[s.room[b]] {
				continue
			}
			empty[s.room[b]] = true
			s.used++
			s.opened = addRoom(before, s.room[b])
		}
		s.open[b] = true
		s.bin[i] = b
		s.room[b] -= w
		complete = s.branch(k+1) && complete
		s.room[b] += w
		s.bin[i] = -1
		if opened {
			s.open[b] = false
			s.used--
			s.opened = before
		}
		if s.bins == s.lower {
			return true
		}
		if !complete {
			return false
		}
	}
	return complete
}

// addRoom adds a capacity to a sum of them that counts up to MaxTotal, as all items fit that.
func addRoom(sum, c int64) int64 {
	if c > MaxTotal-sum {
		return MaxTotal
	}
	return sum + c
}

func (s *search) enemy(i, bin int) bool {
	s.watch.Spend(s.enemies(i))
	return s.clash(i, bin)
}
