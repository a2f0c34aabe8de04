package pairs

import (
	"context"
	"math"
	"slices"
)

// simplex is a linear programme with one row per item and one per cut,
//
//	min Σ c·x   subject to   Σ_{p∋i} x_p + under_i − over_i = 1      for every item i
//	                         Σ_p g_c(p)·x_p + slack_c − excess_c = r_c  for every cut c
//
// where x_p is the use of a pattern, and x ≥ 0. What is under, over or in excess costs: the
// programme is always feasible, whatever is added or switched off. Hence the primal simplex is all
// that is needed, and it goes on from where it was.
//
// The right sides are perturbed by a little, so that ratios seldom tie; the duals of the optimal
// basis are optimal for the true ones as well.
type simplex struct {
	right []float64 // as it is
	x     []float64 // by place
	y     []float64 // duals, by row
	noise []float64
	more  [2][]float64 // cost of a unit of +1 and of −1, by row

	pattern [][]int32 // rows of each pattern: items, then cuts
	off     []bool    // may not be used
	place   []int32   // in the basis, −1 outside
	units   [2][]int32
	basis   []int32 // columns by place: a pattern, or −1−2·row−sign for a unit

	factors
	dir, cost []float64
	offCost   float64 // of a pattern that is off
	best      []candidate
	pivots    int
	failed    bool
	unitRow   [1]int32
}

type candidate struct {
	column int32
	reduce float64
}

const (
	// prohibitive is the cost of a pattern that is off, at first.
	prohibitive = 16
	// reducedLimit is what counts as 0 in a reduced cost, directionLimit in a direction.
	reducedLimit, directionLimit = 1e-10, 1e-11
	// tieLimit is by how much two ratios differ that are not equal.
	tieLimit = 1e-12
	// refactorAfter is the number of pivots after which the basis is factored anew.
	refactorAfter = 64
	// candidates is the most columns of one scan that are tried before the next.
	candidates = 40
	// noiseScale is the perturbation.
	noiseScale = 1e-7
)

// addRow adds a row whose units cost this much. One of the units is in the basis.
func (s *simplex) addRow(right, noise, plus, minus float64) {
	r := int32(len(s.right))
	s.right = append(s.right, right)
	s.noise = append(s.noise, noise)
	s.more[0] = append(s.more[0], plus)
	s.more[1] = append(s.more[1], minus)
	s.units[0] = append(s.units[0], -1)
	s.units[1] = append(s.units[1], -1)
	load := right + noise
	for k, p := range s.pattern {
		if at := s.place[k]; at >= 0 && slices.Contains(p, r) {
			load -= s.x[at]
		}
	}
	sign := int32(0)
	if load < 0 {
		sign = 1
	}
	s.units[sign][r] = int32(len(s.basis))
	s.basis = append(s.basis, -1-2*r-sign)
	s.factors.m = -1 // to be factored
	s.x = append(s.x, math.Abs(load))
	s.y = append(s.y, 0)
	s.dir = append(s.dir, 0)
	s.cost = append(s.cost, 0)
}

// dropRows drops the rows, those of cuts, of which drop reports true: their slack must be in the
// basis.
func (s *simplex) dropRows(drop func(row int32) bool) {
	name := make([]int32, len(s.right))
	n := int32(0)
	gone := make([]bool, len(s.basis))
	for r := range name {
		name[r] = n
		if drop(int32(r)) {
			name[r] = -1
			gone[s.units[0][r]] = true
			continue
		}
		s.right[n], s.noise[n] = s.right[r], s.noise[r]
		for g := range 2 {
			s.more[g][n] = s.more[g][r]
		}
		n++
	}
	s.right, s.noise, s.y = s.right[:n], s.noise[:n], s.y[:n]
	for g := range 2 {
		s.more[g], s.units[g] = s.more[g][:n], slices.Repeat([]int32{-1}, int(n))
	}
	places := 0
	for at, k := range s.basis {
		if gone[at] {
			continue
		}
		if k < 0 {
			r, sign := (-1-k)/2, (-1-k)%2
			k = -1 - 2*name[r] - sign
			s.units[sign][name[r]] = int32(places)
		} else {
			s.place[k] = int32(places)
		}
		s.basis[places], s.x[places] = k, s.x[at]
		places++
	}
	s.factors.m = -1
	s.basis, s.x, s.dir, s.cost = s.basis[:places], s.x[:places], s.dir[:places], s.cost[:places]
	for k, p := range s.pattern {
		kept := p[:0]
		for _, r := range p {
			if name[r] >= 0 {
				kept = append(kept, name[r])
			}
		}
		s.pattern[k] = kept
	}
}

// addPattern adds a pattern, which is on, and returns its column.
func (s *simplex) addPattern(rows []int32) int {
	s.pattern = append(s.pattern, rows)
	s.off = append(s.off, false)
	s.place = append(s.place, -1)
	return len(s.pattern) - 1
}

// dropPatterns keeps the patterns of the basis, and those of which keep reports true. It calls
// moved with the old and the new column of each.
func (s *simplex) dropPatterns(keep func(column int) bool, moved func(from, to int)) {
	n := 0
	for k := range s.pattern {
		at := s.place[k]
		if at < 0 && !keep(k) {
			continue
		}
		s.pattern[n], s.off[n], s.place[n] = s.pattern[k], s.off[k], at
		if at >= 0 {
			s.basis[at] = int32(n)
		}
		moved(k, n)
		n++
	}
	clear(s.pattern[n:])
	s.pattern, s.off, s.place = s.pattern[:n], s.off[:n], s.place[:n]
}

// column returns the rows of a column and the value that it has in each.
func (s *simplex) column(k int32) ([]int32, float64) {
	if k >= 0 {
		return s.pattern[k], 1
	}
	s.unitRow[0] = (-1 - k) / 2
	return s.unitRow[:], 1 - 2*float64((-1-k)%2)
}

func (s *simplex) costOf(k int32) float64 {
	switch {
	case k < 0:
		return s.more[(-1-k)%2][(-1-k)/2]
	case s.off[k]:
		return s.offCost
	}
	return 1
}

// reduced returns the reduced cost of a column.
func (s *simplex) reduced(k int32) float64 {
	if k < 0 {
		r, sign := (-1-k)/2, (-1-k)%2
		return s.more[sign][r] - float64((1-float64(2*sign))*s.y[r])
	}
	c := 1.0
	for _, r := range s.pattern[k] {
		c -= s.y[r]
	}
	return c
}

// refactor factors the basis and computes x and the duals afresh.
func (s *simplex) refactor() {
	if !s.factor(len(s.basis), func(place int32) ([]int32, float64) { return s.column(s.basis[place]) }) {
		s.failed = true
		return
	}
	rows := make([]float64, len(s.right))
	for r := range rows {
		rows[r] = s.right[r] + s.noise[r]
	}
	s.solve(rows, 0, s.x)
	s.duals()
}

func (s *simplex) duals() {
	for at, k := range s.basis {
		s.cost[at] = s.costOf(k)
	}
	s.backward(s.cost, s.y)
}

// value returns Σ right·y: the value of the programme as it is without perturbation.
func (s *simplex) value() float64 {
	z := 0.0
	for r, b := range s.right {
		z += float64(b * s.y[r])
	}
	return z
}

// optimize runs the primal simplex. The basis must be feasible. After a failure it does nothing:
// the factors are those of no basis.
func (s *simplex) optimize(ctx context.Context) {
	if s.failed {
		return
	}
	if s.factors.m != len(s.basis) {
		s.refactor()
	} else {
		s.duals() // costs may have changed
	}
	for !s.failed {
		enter := s.enter()
		if enter == none {
			return
		}
		if s.pivots++; s.pivots%16 == 0 && ctx.Err() != nil {
			return
		}
		rows, v := s.column(enter)
		s.forward(rows, v, s.dir)
		leave, ratio := -1, math.Inf(1)
		for at, d := range s.dir {
			if d > directionLimit*100 {
				q := max(s.x[at], 0) / d
				if q < ratio-tieLimit || q < ratio+tieLimit && d > s.dir[leave] {
					leave, ratio = at, q
				}
			} else if math.Abs(d) < directionLimit {
				s.dir[at] = 0
			}
		}
		if leave < 0 {
			if s.etas.len() == 0 {
				s.failed = true // all costs are positive: this is rounding
				return
			}
			s.refactor()
			continue
		}
		s.exchange(enter, leave, ratio)
	}
}

func (s *simplex) exchange(enter int32, leave int, step float64) {
	for at, d := range s.dir {
		if d != 0 {
			s.x[at] -= float64(d * step)
		}
	}
	s.x[leave] = step
	s.setPlace(s.basis[leave], -1)
	s.setPlace(enter, int32(leave))
	s.basis[leave] = enter
	s.update(int32(leave), s.dir)
	if s.etas.len() >= refactorAfter {
		s.refactor()
		return
	}
	s.duals()
}

func (s *simplex) setPlace(k, at int32) {
	if k < 0 {
		s.units[(-1-k)%2][(-1-k)/2] = at
	} else {
		s.place[k] = at
	}
}

const none = math.MinInt32

// enter returns the column of the least reduced cost among the candidates of the last scan, or of a
// new one; none if no column pays.
func (s *simplex) enter() int32 {
	for range 2 {
		column, least := int32(none), -reducedLimit
		n := 0
		for _, c := range s.best {
			c.reduce = s.reduced(c.column)
			if c.reduce >= -reducedLimit || c.column >= 0 && s.off[c.column] {
				continue
			}
			s.best[n] = c
			n++
			if c.reduce < least {
				column, least = c.column, c.reduce
			}
		}
		s.best = s.best[:n]
		if column != none {
			return column
		}
		s.scan()
	}
	return none
}

// scan finds the candidates: those of the least reduced cost.
func (s *simplex) scan() {
	s.best = s.best[:0]
	limit := -reducedLimit
	try := func(k int32, c float64) {
		if c >= limit {
			return
		}
		s.best = append(s.best, candidate{k, c})
		if len(s.best) >= 4*candidates {
			limit = s.keepBest()
		}
	}
	for r, y := range s.y {
		try(int32(-1-2*r), s.more[0][r]-y)
		try(int32(-1-2*r-1), s.more[1][r]+y)
	}
	for k, p := range s.pattern {
		if s.off[k] || s.place[k] >= 0 {
			continue
		}
		c := 1.0
		for _, r := range p {
			c -= s.y[r]
		}
		try(int32(k), c)
	}
	if len(s.best) > candidates {
		s.keepBest()
	}
}

// keepBest keeps the best candidates and returns the worst of them.
func (s *simplex) keepBest() float64 {
	slices.SortFunc(s.best, func(a, b candidate) int {
		switch {
		case a.reduce < b.reduce:
			return -1
		case a.reduce > b.reduce:
			return 1
		}
		return int(a.column - b.column)
	})
	s.best = s.best[:candidates]
	return s.best[candidates-1].reduce
}
