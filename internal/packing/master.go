package packing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/linalg"
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

// pivot brings column k into the basis for that of row r; s.dir is its direction.
func (s *master) pivot(k, r int) {
	m := s.m
	cost := s.reducedCost(k)
	row := s.inverse[r*m : (r+1)*m]
	f := 1 / s.dir[r]
	s.filled = s.filled[:0]
	for j, v := range row {
		if v *= f; math.Abs(v) < nothingInRow {
			row[j] = 0
		} else {
			row[j] = v
			s.filled = append(s.filled, int32(j))
		}
	}
	step := s.x[r] * f
	for i, d := range s.dir {
		if i == r || d == 0 {
			continue
		}
		other := s.inverse[i*m:][:len(row)]
		if 4*len(s.filled) < m {
			for _, j := range s.filled {
				other[j] -= float64(d * row[j])
			}
		} else {
			subtract(other, d, row)
		}
		s.x[i] -= float64(d * step)
	}
	s.x[r] = step
	for j, v := range row {
		s.dual[j] += float64(cost * v)
	}
	s.basic[s.basis[r]] = false
	s.basic[k] = true
	s.basis[r] = k
	s.pivots++
	if s.stale++; s.stale >= s.refreshAfter {
		s.stale = 0
		if s.drift() > driftLimit {
			s.refresh()
		}
	}
}

// subtract takes d times x off y, four at a time: it is the innermost loop of the solver, and
// so it takes half the time, wherever the linker puts it.
func subtract(y []float64, d float64, x []float64) {
	y = y[:len(x)]
	k := 0
	for ; k < len(x)-3; k += 4 {
		a, b := y[k:k+4:k+4], x[k:k+4:k+4]
		a[0] -= float64(d * b[0])
		a[1] -= float64(d * b[1])
		a[2] -= float64(d * b[2])
		a[3] -= float64(d * b[3])
	}
	for ; k < len(x); k++ {
		y[k] -= float64(d * x[k])
	}
}

// direction sets s.dir to the inverse times column k.
func (s *master) direction(k int) {
	for i := range s.dir {
		row := s.inverse[i*s.m : (i+1)*s.m]
		v := 0.0
		for _, e := range s.columns[k].pattern {
			v += float64(row[e.kind] * float64(e.count))
		}
		if math.Abs(v) < nothing {
			v = 0
		}
		s.dir[i] = v
	}
}

// drift returns how far the basis times x is from the demand, and the reduced
// costs of the basis from 0.
func (s *master) drift() float64 {
	left := make([]float64, s.m)
	for j := range left {
		left[j] = s.rhs(j)
	}
	worst := 0.0
	for i, k := range s.basis {
		for _, e := range s.columns[k].pattern {
			left[e.kind] -= float64(s.x[i] * float64(e.count))
		}
		worst = max(worst, math.Abs(s.reducedCost(k)))
	}
	for _, v := range left {
		worst = max(worst, math.Abs(v))
	}
	return worst
}

// refresh computes the inverse of the basis afresh.
func (s *master) refresh() {
	clear(s.inverse)
	for i, k := range s.basis {
		for _, e := range s.columns[k].pattern {
			s.inverse[int(e.kind)*s.m+i] = float64(e.count)
		}
	}
	if !linalg.Invert(s.inverse, s.m, tiny, s.watch.Spend) {
		s.failed = true
		return
	}
	s.duals()
	s.values()
}

// primal runs the primal simplex over the columns there are.
func (s *master) primal(ctx context.Context) {
	for !s.failed && ctx.Err() == nil {
		enter, worst := -1, -flat
		for k := range s.columns {
			if !s.basic[k] && !s.columns[k].off {
				if r := s.reducedCost(k); r < worst {
					enter, worst = k, r
				}
			}
		}
		if enter < 0 {
			return
		}
		s.direction(enter)
		leave, ratio := -1, math.Inf(1)
		for i, d := range s.dir {
			if d > tiny {
				q := max(s.x[i], 0) / d
				if q < ratio-tie || q < ratio+tie && leave >= 0 && d > s.dir[leave] {
					leave, ratio = i, q
				}
			}
		}
		if leave < 0 { // the programme is bounded, so this is rounding
			if s.stale == 0 {
				s.failed = true
				return
			}
			s.stale = 0
			s.refresh()
			continue
		}
		s.pivot(enter, leave)
	}
}

// setDemand changes the demand and restores x ≥ 0 by the dual simplex. That can
// be, as surplus is never off.
func (s *master) setDemand(ctx context.Context, demand []int) {
	copy(s.demand, demand)
	s.values()
	for limit := stallAfter * s.m; !s.failed && ctx.Err() == nil && limit > 0; limit-- {
		leave, worst := -1, -flat
		for i, v := range s.x {
			if v < worst {
				leave, worst = i, v
			}
		}
		if leave < 0 {
			return
		}
		row := s.inverse[leave*s.m : (leave+1)*s.m]
		enter, ratio, size := -1, math.Inf(1), 0.0
		for k := range s.columns {
			if s.basic[k] || s.columns[k].off {
				continue
			}
			alpha := 0.0
			for _, e := range s.columns[k].pattern {
				alpha -= float64(row[e.kind] * float64(e.count))
			}
			if alpha < noPivot {
				continue
			}
			q := max(s.reducedCost(k), 0) / alpha
			if q < ratio-tie || q < ratio+tie && alpha > size {
				enter, ratio, size = k, q, alpha
			}
		}
		fresh := s.stale == 0
		if enter >= 0 {
			s.direction(enter)
			if math.Abs(s.dir[leave]) >= tiny {
				s.pivot(enter, leave)
				continue
			}
		}
		if fresh {
			return // rounding
		}
		s.stale = 0
		s.refresh()
	}
}

// interior returns the mean of several optimal duals, got by perturbing the demand.
// The linear programme must be solved, and is solved again with the demand as
// it was.
func (s *master) interior(ctx context.Context, scale float64) []float64 {
	noise := slices.Clone(s.noise)
	mean := slices.Clone(s.dual)
	n := 1.0
	for range s.interiorDuals {
		s.perturb(scale)
		s.setDemand(ctx, s.demand)
		if _, v := s.generate(ctx, math.MaxInt, false); v != optimal {
			break
		}
		for j, d := range s.dual {
			mean[j] += d
		}
		n++
	}
	for j := range mean {
		mean[j] /= n
	}
	copy(s.noise, noise)
	s.setDemand(ctx, s.demand)
	return mean
}

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

// verdict is how generate came to an end.
type verdict int

const (
	optimal   verdict = iota // no pattern improves the duals
	enough                   // a stop rule held
	exceeded                 // the bound is above the target
	undecided                // the context ended, or the pricing gave up
)

// generate adds columns until the duals are optimal, or the bound shows that more
// than target bins are needed. With hasty set it also stops as soon as the
// fractional patterns are no more than target. It returns a valid lower bound.
func (s *master) generate(ctx context.Context, target int, hasty bool) (bound float64, v verdict) {
	for {
		s.primal(ctx)
		if s.failed || ctx.Err() != nil {
			return bound, undecided
		}
		z := s.bound()
		if hasty && z <= float64(target)+epsilon {
			return bound, enough
		}
		patterns, best, ok := s.pricer.price(s)
		if !ok {
			return bound, undecided
		}
		bound = max(bound, z/max(best, 1))
		if best <= 1+epsilon {
			return bound, optimal
		}
		if bound > float64(target)+boundMargin {
			return bound, exceeded
		}
		added := false
		for _, p := range patterns {
			if _, fresh := s.add(p); fresh {
				added = true
			}
		}
		if !added { // it was priced wrongly: numerical trouble
			s.refresh()
			if s.drift() > driftFatal || s.failed {
				return bound, undecided
			}
			return bound, optimal
		}
	}
}
