package binpack

// Bounds are lower bounds on the number of bins. L1 and L2 ignore conflicts and pins. L2 treats all
// bins as if they were as large as the largest.
type Bounds struct {
	// L1 is ⌈Σw/C⌉; with different capacities, the fewest bins that could hold the sum.
	L1 int
	// L2 is the bound of Martello & Toth (1990): each large item has a bin of its own, and the rest
	// is bounded by its sum. For bins of one capacity it is at least L1 and at least 2/3·OPT.
	L2 int
	// DFF is the best bound by the dual feasible functions of Fekete & Schepers (2001) and Carlier,
	// Clautiaux & Moukrim (2007). It is at least L2. With different capacities it is the fewest of
	// the largest bins that hold the sum of the values, where the values are those of a function or
	// the weights. With conflicts or pins, LowerBounds also looks for items of which no two may
	// share a bin, and DFF is at least their number.
	DFF int
	// Best is the largest of the three.
	Best int
	// Certificate proves DFF; see CheckBound.
	Certificate Certificate
}

// A Certificate proves that at least ⌈ΣValue/Max⌉ bins are needed. [CheckBound] verifies it.
//
// The items of one bin have a total value of at most Max, whichever items they are. So every bin
// takes at most Max of the sum of all values. If small bins can take less than Max, more bins are
// needed.
type Certificate struct {
	Value []int64 // value of each item, at least 0
	Max   int64   // positive
}

// LowerBounds returns lower bounds on the number of bins. Take it for a quick bound; [Solve] proves
// more. Errors are those of the problem.
//
// # Cost
//
// Time: O(n + bins + conflicts + m·k·log m), where m is the number of different weights and k the
// number of functions tried, and a constant. k is at most 1024, and smaller if m is above 32,768, so
// that a call takes some seconds at most. The constant is some milliseconds: given bins take up to
// 10⁶ steps of knapsack problems, conflicts and pins up to 2·10⁷ steps of a search for items of which
// no two may share a bin.
//
// # How it works
//
// A function f is dual feasible with the bound U if Σf(w) ≤ U for every set of weights that fits C.
// Then ⌈Σf(w)/U⌉ bins are needed for all items. For k ≤ C/2 the functions are
//
//	f0(x) = C if x > C−k, 0 if x < k, else x                       U = C
//	h(x)  = 1 if x > C/2, else 0                                   U = 1
//	f1(x) = M(C)−M(C−x) if x > C/2, 1 if k ≤ x ≤ C/2, else 0       U = M(C)
//	f2(x) = 2(⌊C/k⌋−⌊(C−x)/k⌋) if x > C/2, ⌊C/k⌋ if x = C/2,
//	        2⌊x/k⌋ else                                            U = 2⌊C/k⌋
//
// M(y) is the largest number of items with weights in [k, C/2] that fit y.
func LowerBounds[W Weight](p Problem[W]) (Bounds, error) {
	in, err := inUnits(p)
	if err != nil {
		return Bounds{}, err
	}
	b := in.Bounds()
	return Bounds{b.L1, b.L2, b.DFF, b.Best(), Certificate(b.Certificate)}, nil
}
