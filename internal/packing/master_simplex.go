package packing

import (
	"context"
	"math"

	"github.com/recrawl/recrawl/internal/linalg"
)

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
