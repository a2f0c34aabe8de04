package work

import (
	"math/bits"
	"slices"
)

// Comparison is what a comparison costs in Sorted, in steps of a watch, and block how many items it
// sorts from one look to the next.
const Comparison, block = 4, 1 << 10

// Sorted sorts items stably by merging, until the watch ends. What it returns holds all of them in
// any case, and is sorted if it is ok.
func Sorted[T any](x []T, cmp func(a, b T) int, watch *Watch) (all []T, ok bool) {
	n := len(x)
	for from := 0; from < n; from += block {
		part := x[from:min(from+block, n)]
		if watch.Spend(len(part) * Comparison * bits.Len(uint(len(part)))) {
			return x, false
		}
		slices.SortStableFunc(part, cmp)
	}
	if n <= block {
		return x, true
	}
	merged := make([]T, n)
	for width := block; width < n; width *= 2 {
		for from := 0; from < n; from += 2 * width {
			a, b, end := from, min(from+width, n), min(from+2*width, n)
			last := b
			for k := from; k < end; k++ {
				if k%block == 0 && watch.Spend(Comparison*block) {
					return x, false
				}
				if b == end || a < last && cmp(x[a], x[b]) <= 0 {
					merged[k] = x[a]
					a++
				} else {
					merged[k] = x[b]
					b++
				}
			}
		}
		x, merged = merged, x
	}
	return x, true
}
