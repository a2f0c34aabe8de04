package binpack

// Bounds are lower bounds on the number of bins. L1 and L2 ignore conflicts and pins, and L2 takes
// all bins for as large as the largest.
type Bounds struct {
	// L1 = ⌈Σw/C⌉; with different capacities, the fewest bins that could hold the sum.
	L1 int
	// L2 of Martello & Toth (1990): large items fill bins alone, the rest is bounded by its
	// sum. L2 ≥ L1 for bins of one capacity, and at least 2/3·OPT.
	L2 int
	// DFF is the best bound by the dual feasible functions of Fekete & Schepers (2001) and
	// Carlier, Clautiaux & Moukrim (2007), at least L2. With different capacities, by a function or
	// by the weights, it is the fewest of the largest bins that hold the sum of the values. With
	// conflicts or pins it is at least the number of items found of which no two may share a bin.
	DFF int
	// Best is the largest of the three.
	Best int
	// Certificate proves DFF; see CheckBound.
	Certificate Certificate
}

// A Certificate proves that at least ⌈ΣValue/Max⌉ bins are needed: no set of items that may share a
// bin has more than Max of value in sum, so every bin takes at most that much of the total. Where
// small bins take less, more are needed. [CheckBound] verifies it.
type Certificate struct {
	Value []int64 // of each item, at least 0
	Max   int64   // positive
}

// LowerBounds returns bounds on the number of bins. Errors are those of the problem.
//
// # Cost
//
// Time: O(n + m·k), where m is the number of different weights and k that of the functions
// tried: at most 1024, fewer where m is above 32,768, so that it takes some seconds at most.
//
// # How it works
//
// A function f is dual feasible if no set of weights that fits C has more than U of f in sum;
// then ⌈Σf(w)/U⌉ bins are needed. For k ≤ C/2 the functions are
//
//	f0(x) = C if x > C−k, 0 if x < k, else x                       U = C
//	h(x)  = 1 if x > C/2, else 0                                   U = 1
//	f1(x) = M(C)−M(C−x) if x > C/2, 1 if k ≤ x ≤ C/2, else 0       U = M(C)
//	f2(x) = 2(⌊C/k⌋−⌊(C−x)/k⌋) if x > C/2, ⌊C/k⌋ if x = C/2,
//	        2⌊x/k⌋ else                                            U = 2⌊C/k⌋
//
// where M(y) is the largest number of items of weight in [k, C/2] that fit y.
func LowerBounds[W Weight](p Problem[W]) (Bounds, error) {
	in, err := inUnits(p)
	if err != nil {
		return Bounds{}, err
	}
	b := in.Bounds()
	return Bounds{b.L1, b.L2, b.DFF, b.Best(), Certificate(b.Certificate)}, nil
}
