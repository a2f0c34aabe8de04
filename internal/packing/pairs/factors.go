package pairs

import (
	"math"
	"slices"
)

// factors is the sparse LU factorization of a basis (Gilbert & Peierls 1988), and the pivots since
// as a product of elementary matrices. Rows and columns that are alone are pivoted first; in a
// basis of patterns these are most.
type factors struct {
	m     int
	row   []int32 // pivoted at each step
	place []int32 // of the basis, pivoted at each step
	diag  []float64
	lower lists // multipliers of each step, by row
	upper lists // entries of each step above the diagonal, by row
	etas  lists // directions of the pivots, by place, that of the pivot first
	work  []float64

	// Scratch of factor.
	rowCount, colCount, heads, byRow []int32
	step                             []int32 // of each row, −1 before it is pivoted
	order, touched                   []int32
}

// lists is a list of sparse vectors.
type lists struct {
	start []int32
	index []int32
	value []float64
}

func (l *lists) reset() {
	l.start = append(l.start[:0], 0)
	l.index, l.value = l.index[:0], l.value[:0]
}

func (l *lists) add(i int32, v float64) {
	l.index = append(l.index, i)
	l.value = append(l.value, v)
}

// end ends the present vector.
func (l *lists) end() { l.start = append(l.start, int32(len(l.index))) }

func (l *lists) len() int { return len(l.start) - 1 }

func (l *lists) at(k int) ([]int32, []float64) {
	a, b := l.start[k], l.start[k+1]
	return l.index[a:b], l.value[a:b]
}

const (
	// leastPivot is the least pivot, relativePivot its least share of the largest entry that could
	// take its place, and droppedEntry what counts as 0.
	leastPivot    = 1e-9
	relativePivot = .1
	droppedEntry  = 1e-14
)

// factor factors the basis whose columns are given by place. It reports whether it is regular.
func (f *factors) factor(m int, column func(place int32) (rows []int32, value float64)) bool {
	f.m = m
	f.row, f.place, f.diag = f.row[:0], f.place[:0], f.diag[:0]
	f.lower.reset()
	f.upper.reset()
	f.etas.reset()
	f.work = slices.Grow(f.work[:0], m)[:m]
	clear(f.work)
	f.count(column)
	f.peel(column)
	slices.SortStableFunc(f.order, func(a, b int32) int { return int(f.colCount[a] - f.colCount[b]) })
	for _, place := range f.order {
		if !f.eliminate(place, column) {
			return false
		}
	}
	return len(f.row) == m
}

// count counts the entries of rows and columns and lists the columns of each row.
func (f *factors) count(column func(int32) ([]int32, float64)) {
	m := f.m
	f.rowCount = slices.Grow(f.rowCount[:0], m)[:m]
	f.colCount = slices.Grow(f.colCount[:0], m)[:m]
	f.heads = slices.Grow(f.heads[:0], m+1)[:m+1]
	f.step = slices.Grow(f.step[:0], m)[:m]
	clear(f.rowCount)
	total := int32(0)
	for c := range int32(m) {
		rows, _ := column(c)
		f.colCount[c] = int32(len(rows))
		total += int32(len(rows))
		for _, r := range rows {
			f.rowCount[r]++
		}
	}
	f.heads[0] = 0
	for r := range m {
		f.heads[r+1] = f.heads[r] + f.rowCount[r]
		f.step[r] = -1
	}
	f.byRow = slices.Grow(f.byRow[:0], int(total))[:total]
	next := slices.Clone(f.heads[:m])
	for c := range int32(m) {
		rows, _ := column(c)
		for _, r := range rows {
			f.byRow[next[r]] = c
			next[r]++
		}
	}
}

// peel pivots the columns with one row left and the rows with one column left, as long as there
// are any; f.order has the places of the others. It is long because it does for rows what it does
// for columns, and only the columns need no elimination.
func (f *factors) peel(column func(int32) ([]int32, float64)) {
	m := f.m
	done := make([]bool, m) // by place
	var singles []int32
	for c := range int32(m) {
		if f.colCount[c] == 1 {
			singles = append(singles, c)
		}
	}
	// A column with one row left needs no elimination: its other entries are above the diagonal.
	for len(singles) > 0 {
		c := singles[len(singles)-1]
		singles = singles[:len(singles)-1]
		if done[c] || f.colCount[c] != 1 {
			continue
		}
		rows, v := column(c)
		pivot := int32(-1)
		for _, r := range rows {
			if f.step[r] < 0 {
				pivot = r
			} else {
				f.upper.add(r, v)
			}
		}
		f.pivot(pivot, c, v)
		done[c] = true
		for _, o := range f.byRow[f.heads[pivot]:f.heads[pivot+1]] {
			if f.colCount[o]--; f.colCount[o] == 1 && !done[o] {
				singles = append(singles, o)
			}
		}
	}
	for r := range int32(m) {
		f.rowCount[r] = 0
		for _, c := range f.byRow[f.heads[r]:f.heads[r+1]] {
			if !done[c] {
				f.rowCount[r]++
			}
		}
		if f.step[r] < 0 && f.rowCount[r] == 1 {
			singles = append(singles, r)
		}
	}
	// Of a row with one column left no other column has an entry, so that nothing is eliminated.
	for len(singles) > 0 {
		r := singles[len(singles)-1]
		singles = singles[:len(singles)-1]
		if f.step[r] >= 0 || f.rowCount[r] != 1 {
			continue
		}
		pivot := int32(-1)
		for _, c := range f.byRow[f.heads[r]:f.heads[r+1]] {
			if !done[c] {
				pivot = c
			}
		}
		rows, v := column(pivot)
		for _, o := range rows {
			switch {
			case o == r:
			case f.step[o] < 0:
				f.lower.add(o, 1) // all entries of a column are equal
			default:
				f.upper.add(o, v)
			}
		}
		f.pivot(r, pivot, v)
		done[pivot] = true
		for _, o := range rows {
			if f.rowCount[o]--; f.rowCount[o] == 1 && f.step[o] < 0 {
				singles = append(singles, o)
			}
		}
	}
	f.order = f.order[:0]
	for c := range int32(m) {
		if !done[c] {
			f.order = append(f.order, c)
		}
	}
}

// pivot ends a step.
func (f *factors) pivot(row, place int32, v float64) {
	f.step[row] = int32(len(f.row))
	f.row = append(f.row, row)
	f.place = append(f.place, place)
	f.diag = append(f.diag, v)
	f.lower.end()
	f.upper.end()
}

// eliminate pivots the column of a place, of its rows left the one with the fewest columns that is
// not too small.
func (f *factors) eliminate(place int32, column func(int32) ([]int32, float64)) bool {
	rows, v := column(place)
	x := f.work
	first := int32(len(f.row))
	f.touched = f.touched[:0] // rows left with an entry, some perhaps twice
	for _, r := range rows {
		x[r] = v
		if s := f.step[r]; s >= 0 {
			first = min(first, s)
		} else {
			f.touched = append(f.touched, r)
		}
	}
	for k := int(first); k < len(f.row); k++ {
		r := f.row[k]
		t := x[r]
		if t == 0 {
			continue
		}
		x[r] = 0
		f.upper.add(r, t)
		index, value := f.lower.at(k)
		for e, i := range index {
			if x[i] == 0 && f.step[i] < 0 {
				f.touched = append(f.touched, i)
			}
			x[i] -= float64(value[e] * t)
		}
	}
	largest := 0.0
	for _, r := range f.touched {
		largest = max(largest, math.Abs(x[r]))
	}
	if largest < leastPivot {
		clear(x)
		return false
	}
	best := int32(-1)
	for _, r := range f.touched {
		s := math.Abs(x[r])
		if s >= relativePivot*largest && (best < 0 || f.rowCount[r] < f.rowCount[best] ||
			f.rowCount[r] == f.rowCount[best] && s > math.Abs(x[best])) {
			best = r
		}
	}
	pivot := x[best]
	for _, r := range f.touched {
		if s := x[r]; r != best && math.Abs(s) > droppedEntry {
			f.lower.add(r, s/pivot)
			x[r] = 0
		}
	}
	for _, r := range f.touched {
		x[r] = 0
	}
	f.pivot(best, place, pivot)
	return true
}

// forward solves B·d = a. It takes a by row, as ones times value, and returns d by place in out.
func (f *factors) forward(rows []int32, value float64, out []float64) {
	x := f.work
	first := int32(f.m)
	for _, r := range rows {
		x[r] = value
		first = min(first, f.step[r])
	}
	f.solve(x, int(first), out)
}

// solve solves B·d = x by row and clears x; the first steps are known to be 0 before first.
func (f *factors) solve(x []float64, first int, out []float64) {
	for k := first; k < f.m; k++ {
		a, b := f.lower.start[k], f.lower.start[k+1]
		if a == b {
			continue
		}
		t := x[f.row[k]]
		if t == 0 {
			continue
		}
		value := f.lower.value[a:b]
		for e, i := range f.lower.index[a:b] {
			x[i] -= float64(value[e] * t)
		}
	}
	for k := f.m - 1; k >= 0; k-- {
		r := f.row[k]
		t := x[r]
		if t == 0 {
			out[f.place[k]] = 0
			continue
		}
		x[r] = 0
		t /= f.diag[k]
		out[f.place[k]] = t
		a, b := f.upper.start[k], f.upper.start[k+1]
		value := f.upper.value[a:b]
		for e, i := range f.upper.index[a:b] {
			x[i] -= float64(value[e] * t)
		}
	}
	for k := range f.etas.len() {
		index, value := f.etas.at(k)
		p := index[0]
		t := out[p]
		if t == 0 {
			continue
		}
		t /= value[0]
		out[p] = t
		for e, i := range index[1:] {
			out[i] -= float64(value[e+1] * t)
		}
	}
}

// backward solves yᵀ·B = cᵀ. It takes c by place, which it overwrites, and returns y by row.
func (f *factors) backward(c, y []float64) {
	for k := f.etas.len() - 1; k >= 0; k-- {
		index, value := f.etas.at(k)
		p := index[0]
		t := c[p]
		for e, i := range index[1:] {
			t -= float64(value[e+1] * c[i])
		}
		c[p] = t / value[0]
	}
	for k := range f.m {
		t := c[f.place[k]]
		a, b := f.upper.start[k], f.upper.start[k+1]
		value := f.upper.value[a:b]
		for e, i := range f.upper.index[a:b] {
			t -= float64(value[e] * y[i])
		}
		y[f.row[k]] = t / f.diag[k]
	}
	for k := f.m - 1; k >= 0; k-- {
		a, b := f.lower.start[k], f.lower.start[k+1]
		if a == b {
			continue
		}
		t := y[f.row[k]]
		value := f.lower.value[a:b]
		for e, i := range f.lower.index[a:b] {
			t -= float64(value[e] * y[i])
		}
		y[f.row[k]] = t
	}
}

// update replaces the column of a place by the one whose direction is given.
func (f *factors) update(place int32, direction []float64) {
	f.etas.add(place, direction[place])
	for i, v := range direction {
		if int32(i) != place && v != 0 {
			f.etas.add(int32(i), v)
		}
	}
	f.etas.end()
}
