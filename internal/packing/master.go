package packing

import (
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// master is the linear programme of column generation (Gilmore & Gomory 1961):
// the fewest patterns, in fractions, that cover the demand of every kind,
//
//	min Σ_p x_p   subject to   Σ_p a_jp·x_p ≥ d_j,   x ≥ 0.
//
// An item may stand in for a lighter one, so the surplus of row j serves row j+1
// instead of being lost (the dual cuts of Valério de Carvalho 2005, which hold the
// duals in order: π_j ≥ π_{j+1}). The revised simplex keeps the inverse of the
// basis. The demand is perturbed by a little more or less than a millionth, so
// that ratios seldom tie and the simplex does not stall; bounds use the true
// demand, for which any duals are valid.
//
// When the demand changes, the duals stay feasible and the dual simplex
// restores the rest, so that a node of the search costs few pivots.
type master struct {
	m       int
	w       []int64
	c       int64
	demand  []int     // of each kind, now
	noise   []float64 // perturbation of each row
	columns []column
	key     map[string]int // column of each pattern
	basis   []int          // column of each row
	basic   []bool         // by column
	inverse []float64      // of the basis, m×m by rows
	x       []float64      // value of the column of each row
	dual    []float64
	pivots  int
	stale   int       // pivots since the inverse was computed afresh
	dir     []float64 // inverse times the entering column
	filled  []int32   // where the pivot row is not 0
	pricer  pricer
	rng     *rand.Rand
	failed  bool // numerically singular, or the watch ended; the master is of no more use
	watch   *work.Watch
	effort
}

// entry is a kind and how many of it.
type entry struct {
	kind  int32
	count int32
}

// pattern is what a bin may hold, by kind.
type pattern []entry

// column is a pattern, or a surplus that is passed on (cost 0).
type column struct {
	pattern
	cost float64
	off  bool // may not enter the basis, and is prohibitive in it
}

// prohibitive is the cost of a column that is off. Whatever the cost, a programme
// that has the column is a relaxation of the one that has it not.
const prohibitive = 16

// of returns how many of the kind the pattern holds.
func (p pattern) of(kind int32) int {
	for _, e := range p {
		if e.kind == kind {
			return int(e.count)
		}
	}
	return 0
}

func newMaster(w []int64, count []int, c int64, e effort) *master {
	m := len(w)
	s := &master{effort: e, m: m, w: w, c: c, demand: slices.Clone(count), key: make(map[string]int),
		basis: make([]int, m), inverse: make([]float64, m*m), x: make([]float64, m), dual: make([]float64, m),
		dir: make([]float64, m), noise: make([]float64, m), rng: rand.New(rand.NewPCG(uint64(m), uint64(c)))}
	s.perturb(epsilon)
	for j := range m {
		surplus := pattern{{int32(j), -1}}
		if j+1 < m {
			surplus = append(surplus, entry{int32(j + 1), 1})
		}
		s.columns = append(s.columns, column{pattern: surplus})
		s.basic = append(s.basic, false)
	}
	// The first basis: for each kind as many of it as fit.
	for j := range m {
		n := min(int64(count[j]), c/w[j])
		s.add(pattern{{int32(j), int32(n)}})
		s.basis[j] = m + j
		s.basic[m+j] = true
		s.inverse[j*m+j] = 1 / float64(n)
		s.dual[j] = 1 / float64(n)
	}
	s.values()
	return s
}

// perturb draws the perturbation anew, of one to two times the scale.
func (s *master) perturb(scale float64) {
	for j := range s.noise {
		s.noise[j] = scale * (1 + float64(s.rng.Float64()))
	}
}

// add makes a pattern a column, unless it is one; it returns which, and whether
// it is new.
func (s *master) add(p pattern) (k int, added bool) {
	b := make([]byte, 0, 8*len(p))
	for _, e := range p {
		b = append(b, byte(e.kind), byte(e.kind>>8), byte(e.kind>>16), byte(e.count), byte(e.count>>8), byte(e.count>>16))
	}
	if old, ok := s.key[string(b)]; ok {
		return old, false
	}
	s.key[string(b)] = len(s.columns)
	s.columns = append(s.columns, column{pattern: p, cost: 1})
	s.basic = append(s.basic, false)
	return len(s.columns) - 1, true
}

func (s *master) rhs(j int) float64 { return float64(s.demand[j]) + s.noise[j] }

// values computes x afresh.
func (s *master) values() {
	for i := range s.x {
		v := 0.0
		for j, b := range s.inverse[i*s.m : (i+1)*s.m] {
			v += float64(b * s.rhs(j))
		}
		s.x[i] = v
	}
}

// costOf returns the cost of a column.
func (s *master) costOf(k int) float64 {
	if s.columns[k].off {
		return prohibitive
	}
	return s.columns[k].cost
}

// duals computes the duals afresh.
func (s *master) duals() {
	clear(s.dual)
	for i, k := range s.basis {
		if c := s.costOf(k); c != 0 {
			for j, v := range s.inverse[i*s.m : (i+1)*s.m] {
				s.dual[j] += float64(c * v)
			}
		}
	}
}

// reducedCost returns cost − π·a.
func (s *master) reducedCost(k int) float64 {
	r := s.costOf(k)
	for _, e := range s.columns[k].pattern {
		r -= float64(s.dual[e.kind] * float64(e.count))
	}
	return r
}

// bound returns the value of the duals, Σ d_j·π_j.
func (s *master) bound() float64 {
	z := 0.0
	for j, d := range s.demand {
		z += float64(float64(d) * s.dual[j])
	}
	return z
}
