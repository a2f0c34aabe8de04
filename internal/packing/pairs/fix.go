package pairs

import (
	"cmp"
	"slices"
)

// relaxAndFix looks for a packing by fixing patterns that the linear programme uses most, and
// solving it again. It reports whether it found one; otherwise the linear programme is solved as
// before.
func (s *search) relaxAndFix() bool {
	base := len(s.fixed)
	for run := range s.fixRuns {
		for s.fixMore() {
			if s.packing != nil {
				return true
			}
			s.apply()
			if st := s.generate(); st != feasible {
				break
			}
			if s.rounded() {
				return true
			}
			if s.bins >= s.restLeast && 2*(s.bins-len(s.fixed)) <= s.bins {
				if s.rest() {
					return true
				}
				break
			}
		}
		if s.ctx.Err() != nil || s.lp.failed {
			break
		}
		keep := base
		if run < s.fixRuns-1 {
			keep += (len(s.fixed) - base) * (s.undoShare - 1) / s.undoShare
		}
		s.unfix(keep)
		s.apply()
		if s.generate() != feasible {
			break
		}
	}
	if len(s.fixed) > base {
		s.unfix(base)
		s.apply()
		s.generate()
	}
	return false
}

// sample draws a pool of patterns, where there are enough items and hardly any waste, and tries to
// find a packing in it. Otherwise the linear programme begins with the pool.
func (s *search) sample() bool {
	if s.cfg.NoPool || len(s.w) < sampleItems || s.window > s.c/sampleWaste ||
		s.c >= sampleTable/int64(len(s.w)+1) {
		return false
	}
	sets := newSpread(s.w, s.c, s.window, s.bins).pool(s.ctx, s.rng)
	if sets == nil {
		return false
	}
	s.pool = newCover(s.ctx, len(s.w), sets, s.rng)
	if s.covers(s.coverFirst) {
		return true
	}
	for k, p := range sets {
		if k%1024 == 0 && s.ctx.Err() != nil {
			return false
		}
		s.add(p)
	}
	return false
}

const (
	// sampleItems is the least number of items for which patterns are drawn; smaller problems are
	// decided as fast without. sampleWaste is the part of a bin that is wasted at most.
	sampleItems, sampleWaste = 100, 50
	// sampleTable is the largest table for that, in entries of 8 bytes: 256 MiB.
	sampleTable = 1 << 25
)

// covers tries to find a packing among the patterns of the pool. The decisions of the node do not
// count.
func (s *search) covers(tries int) bool {
	if s.pool == nil {
		return false
	}
	for range tries {
		chosen := s.pool.again().try(s.ctx, s.rng)
		if len(chosen) > 0 && len(chosen) <= s.bins {
			for _, k := range chosen {
				s.packing = append(s.packing, s.pool.sets[k])
			}
			return true
		}
		if s.ctx.Err() != nil {
			return false
		}
	}
	return false
}

// rest looks for a packing of what is not fixed, as a problem of its own. It has what the node
// joins as one item, but not what it keeps apart.
func (s *search) rest() bool {
	p := &Problem{Capacity: s.c, Bins: s.bins - len(s.fixed)}
	var members [][]int32
	at := make([]int32, len(s.w))
	for i, l := range s.leader {
		if s.isFixed[i] {
			continue
		}
		if int32(i) == first(s.leader, l) {
			members = append(members, nil)
			p.Weights = append(p.Weights, 0)
			at[l] = int32(len(members) - 1)
		}
		members[at[l]] = append(members[at[l]], int32(i))
		p.Weights[at[l]] += s.w[i]
	}
	var patterns [][]int32
	for k, off := range s.lp.off {
		if items := s.items(k); !off && !s.isFixed[items[0]] {
			var set []int32
			for _, i := range items {
				if a := at[s.leader[i]]; members[a][0] == i {
					set = append(set, a)
				}
			}
			patterns = append(patterns, set)
		}
	}
	a := Decide(s.ctx, p, Config{Nodes: s.restNodes, Patterns: patterns, Cuts: s.cfg.Cuts, NoPool: true, effort: &s.effort})
	s.below += a.Nodes
	if a.Verdict != Packed {
		return false
	}
	s.packing = slices.Clone(s.fixed)
	for _, set := range a.Packing {
		var bin []int32
		for _, g := range set {
			bin = append(bin, members[g]...)
		}
		s.packing = append(s.packing, bin)
	}
	return true
}

// first returns the first item of a group.
func first(leader []int32, l int32) int32 { return int32(slices.Index(leader, l)) }

// fixMore fixes patterns that obey the node: all that are used whole, or else those used most, as
// long as what they lack to be whole sums to at most one; at least one.
func (s *search) fixMore() bool {
	type use struct {
		column int
		x      float64
	}
	var uses []use
	for at, k := range s.lp.basis {
		if k >= 0 && !s.lp.off[k] && s.lp.x[at] > wholeLimit && !s.isFixed[s.lp.pattern[k][0]] {
			uses = append(uses, use{int(k), s.lp.x[at]})
		}
	}
	if len(uses) == 0 {
		return false
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(b.x, a.x), a.column-b.column) })
	lack := 0.0
	for k, u := range uses {
		lack += max(1-u.x, 0)
		if k > 0 && (u.x < s.leastFixed || lack > 1) {
			break
		}
		if uses[0].x > 1-wholeLimit && u.x <= 1-wholeLimit {
			break
		}
		s.fix(u.column)
	}
	return true
}

func (s *search) fix(column int) {
	items := s.items(column)
	for _, i := range items {
		if s.isFixed[i] {
			return
		}
	}
	s.fixed = append(s.fixed, slices.Clone(items))
	for _, i := range items {
		s.isFixed[i] = true
	}
}

// unfix keeps the first patterns that are fixed.
func (s *search) unfix(keep int) {
	for _, f := range s.fixed[keep:] {
		for _, i := range f {
			s.isFixed[i] = false
		}
	}
	s.fixed = s.fixed[:keep]
}
