// Package linalg inverts the small dense matrices of the simplex methods.
package linalg

import "math"

// Invert replaces the n×n matrix a, stored by rows, by its inverse, by Gauss–Jordan
// elimination with partial pivoting. It reports false, and leaves a destroyed, if a pivot
// is below least in magnitude: the matrix is singular, or numerically so. O(n³) time;
// zeros below and above a pivot are skipped, so a sparse matrix takes less.
//
// With spend not nil, every pivot tells it the steps that it took. Where it says true, the work
// ends as for a singular matrix.
func Invert(a []float64, n int, least float64, spend func(steps int) bool) bool {
	from := make([]int, n) // row exchanged with row k
	for k := range n {
		steps := n
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i*n+k]) > math.Abs(a[pivot*n+k]) {
				pivot = i
			}
		}
		from[k] = pivot
		if !(math.Abs(a[pivot*n+k]) >= least) { // NaN fails too
			return false
		}
		top := a[k*n : (k+1)*n]
		if pivot != k {
			for c, v := range a[pivot*n : (pivot+1)*n] {
				top[c], a[pivot*n+c] = v, top[c]
			}
		}
		scale := 1 / top[k]
		top[k] = 1
		for c := range top {
			top[c] *= scale
		}
		// Invariant: column c of a holds, up to k, column c of the inverse so far, and
		// beyond k the matrix still to be eliminated.
		for i := range n {
			if i == k {
				continue
			}
			row := a[i*n : (i+1)*n]
			f := row[k]
			if f == 0 {
				continue
			}
			row[k] = 0
			steps += n
			for c := range row {
				row[c] -= float64(f * top[c])
			}
		}
		if spend != nil && spend(steps) {
			return false
		}
	}
	for k := n - 1; k >= 0; k-- { // exchanges of rows become exchanges of columns
		if p := from[k]; p != k {
			for i := range n {
				a[i*n+k], a[i*n+p] = a[i*n+p], a[i*n+k]
			}
		}
	}
	return true
}
