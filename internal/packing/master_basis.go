package packing

import "slices"

// basis is one to come back to.
type basis struct {
	columns []int
	demand  []int
	inverse []float64 // nil to compute it again
	stale   int
}

func (s *master) save(withInverse bool) basis {
	b := basis{columns: slices.Clone(s.basis), demand: slices.Clone(s.demand), stale: s.stale}
	if withInverse {
		b.inverse = slices.Clone(s.inverse)
	}
	return b
}

func (s *master) restore(b basis) {
	for _, k := range s.basis {
		s.basic[k] = false
	}
	for _, k := range b.columns {
		s.basic[k] = true
	}
	copy(s.basis, b.columns)
	copy(s.demand, b.demand)
	if b.inverse == nil {
		s.stale = 0
		s.refresh()
		return
	}
	copy(s.inverse, b.inverse)
	s.stale = b.stale
	s.values()
	s.duals()
}
