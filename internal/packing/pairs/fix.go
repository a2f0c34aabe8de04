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
	a := Decide(s.ctx, p, Config{Nodes: s.restNodes, Patterns: patterns, Cuts: s.cfg.Cuts, effort: &s.effort})
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
