package pairs

import (
	"cmp"
	"slices"
)

const (
	// fixRuns is the number of runs of relax and fix, of which each undoes the last share of
	// 1/undoShare of what the one before fixed.
	fixRuns, undoShare = 3, 4
	// leastFixed is the least use of a pattern to be fixed together with others.
	leastFixed = .51
)

// relaxAndFix looks for a packing by fixing patterns that the linear programme uses most, and
// solving it again. It reports whether it found one; otherwise the linear programme is solved as
// before.
func (s *search) relaxAndFix() bool {
	base := len(s.fixed)
	for run := range fixRuns {
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
		}
		if s.ctx.Err() != nil || s.lp.failed {
			break
		}
		keep := base
		if run < fixRuns-1 {
			keep += (len(s.fixed) - base) * (undoShare - 1) / undoShare
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
		if k > 0 && (u.x < leastFixed || lack > 1) {
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
