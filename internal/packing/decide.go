package packing

import (
	"maps"
	"slices"

	"github.com/recrawl/recrawl/internal/packing/pairs"
)

// A Proof shows that items do not fit into Bins bins; package pairs says how.
type Proof struct {
	Bins int
	pairs.Proof
}

const (
	// pairsItems is the most items for the search by pairs, which has a row for each; pairsRepeats
	// is the number of them up to which it may have many of equal weight.
	pairsItems, pairsRepeats = 1100, 200
	// pairsFirst is the number of different weights from which on the search by pairs comes first, if
	// there is no waste to speak of, or nearly all weights differ and the waste is at most 1/pairsWaste
	// of a bin: there the linear programme of the kinds, with its dense inverse, takes seconds. Where a
	// third of the weights repeat, as with 500 of 100 to 700 in bins of 1000, dives find a packing in
	// 1 to 3 seconds, and the search by pairs does not in 25.
	pairsFirst, pairsWaste = 240, 50
	// From pairsSoon different weights on, two thirds of all, it comes first, too, if there is
	// no waste to speak of, but for pairsNodes at most.
	pairsSoon, pairsNoWaste = 120, 1000
	// cutsOfRepeats is the most rounds of cuts where most weights come several times: each cut sets
	// items apart that are equal, which takes 100 times as long with 10 rounds as with 2.
	cutsOfRepeats = 2
	// pairsLate is the number of dives before the search by pairs where it does not come first: if
	// dives find a packing, they do so in a tenth of the time.
	pairsLate = 8
	// pairsNodes is the most nodes of the search by pairs before the others go on, and
	// pairsNodesToProve the most to prove what another search found out.
	pairsNodes, pairsNodesToProve = 1000, 60
)

// paired reports whether the search by pairs can take the problem.
func (s *solver) paired() bool {
	n := 0
	for _, d := range s.count {
		n += d
	}
	p := pairs.Problem{Weights: make([]int64, n), Capacity: s.c}
	return n <= pairsItems && (n <= pairsRepeats || n <= 2*len(s.w)) && p.InReach()
}

// tight reports whether the search by pairs comes first, and how many nodes it has; 0 means all.
func (s *solver) tight() (nodes int, ok bool) {
	waste := int64(s.lower)*s.c - s.weight(s.count)
	switch {
	case !s.in.exact() || !s.paired():
		return 0, false
	case len(s.w) >= pairsFirst:
		return 0, waste <= s.c/pairsNoWaste || waste <= s.c/pairsWaste && len(s.w) >= number(s.count)*7/8
	}
	return pairsNodes, len(s.w) >= max(pairsSoon, number(s.count)*2/3) && waste <= s.c/pairsNoWaste
}

// decide looks for a packing into target bins, or the proof that there is none, by the search by
// pairs.
func (s *solver) decide(target, nodes int) (found, complete bool) {
	return s.decideBy(target, pairs.Config{Nodes: nodes})
}

// decideBy does so within limits.
func (s *solver) decideBy(target int, cfg pairs.Config) (found, complete bool) {
	p := &pairs.Problem{Capacity: s.c, Bins: target}
	var item, kind []int32 // of each one of the problem
	first := make([]int32, len(s.w))
	for j := range s.w {
		first[j] = int32(len(item))
		for _, i := range s.items(j) {
			p.Weights = append(p.Weights, s.w[j])
			item, kind = append(item, i), append(kind, int32(j))
		}
	}
	cfg.Patterns = s.seeds(first)
	if len(p.Weights) > 2*len(s.w) {
		cfg.Cuts = cutsOfRepeats
	}
	if left := s.limit - s.nodes; cfg.Nodes == 0 || left < cfg.Nodes {
		cfg.Nodes = max(left, 1)
	}
	a := pairs.Decide(s.ctx, p, cfg)
	s.nodes += a.Nodes
	switch a.Verdict {
	case pairs.Packed:
		var packing []pattern
		for _, bin := range a.Packing {
			count := make(map[int32]int32)
			for _, i := range bin {
				count[kind[i]]++
			}
			packing = append(packing, newPattern(count))
		}
		s.keep(nil, packing)
		return true, true
	case pairs.Impossible:
		if s.in.exact() {
			s.lower = target + 1
			s.proof = &Proof{target, a.Proof.Named(len(s.in.Weights), item)}
		}
		return false, true
	}
	return false, false
}

// seeds returns the columns of the linear programme and the best packing as sets of items, of each
// kind those that were used least.
func (s *solver) seeds(first []int32) [][]int32 {
	next := make([]int, len(s.w))
	var sets [][]int32
	add := func(p pattern) {
		var set []int32
		for _, e := range p {
			for range e.count {
				set = append(set, first[e.kind]+int32(next[e.kind]%s.count[e.kind]))
				next[e.kind]++
			}
		}
		sets = append(sets, set)
	}
	for _, p := range s.best {
		add(p)
	}
	if s.lp != nil {
		for _, c := range s.lp.columns {
			if c.cost > 0 {
				fits := true
				for _, e := range c.pattern {
					fits = fits && int(e.count) <= s.count[e.kind]
				}
				if fits {
					add(c.pattern)
				}
			}
		}
	}
	return sets
}

// prove makes a proof of what another search found out: that there is no packing into target bins.
func (s *solver) prove(target int) {
	if !s.bare && s.in.exact() && s.paired() && s.ctx.Err() == nil {
		s.decideBy(target, pairs.Config{Nodes: pairsNodesToProve, NoPool: true})
	}
}

// newPattern returns the pattern of the given numbers of kinds.
func newPattern(count map[int32]int32) pattern {
	p := make(pattern, 0, len(count))
	for _, j := range slices.Sorted(maps.Keys(count)) {
		p = append(p, entry{j, count[j]})
	}
	return p
}
