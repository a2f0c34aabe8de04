package binpack

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/packing"
)

// A Subset is a set of items that fits a capacity.
//
// Proved and Gap refer to sums in whole units (see [Weight]). Floats that are neither short
// decimals nor multiples of the quantum are rounded. A better subset may then fit by its exact sum
// and yet be too large in whole units, by up to a quantum per item. With more than 44 items
// [MaxSubset] uses no finer quantum than 2^−40 of the capacity.
type Subset[W Weight] struct {
	Items  []int // increasing
	Sum    W     // the sum of their weights, added in this order
	Proved bool  // no subset that fits has a larger sum
	// Gap is the most by which another subset could be better, in the unit of the weights: 0 if
	// Proved, else at most the room left.
	Gap float64
}

// MaxSubset solves the subset sum problem: it finds a subset of the items with the largest total
// weight that is not above the capacity. Items heavier than the capacity are left out. No items
// give an empty subset. If the context ends first, MaxSubset returns the best subset so far.
// Otherwise the same input gives the same result.
//
// The error is [ErrConfig].
//
// # How it works
//
// Sums are computed in whole units. The numbers decide which method applies:
//
//   - Reduction: an item at least as heavy as everything that the best subset so far leaves out is
//     in every better subset. So if little is left out, only the light items matter.
//   - Core: a subset that fills the capacity exactly needs no proof, and with hundreds of items
//     there are many such subsets. To find one, all items but a core of 32 are packed greedily, and
//     the core is searched completely by meeting in the middle (Horowitz & Sahni 1974). This takes
//     milliseconds, whatever the size of the weights.
//   - Up to 44 items: all items form the core. The result is exact, in O(2^(n/2)) time and memory.
//   - Largest weight w_max up to 2^22 units and n·w_max up to 2^32: the dynamic programme of
//     Pisinger (1999) over balanced fillings is exact, in O(n·w_max) time. With up to 44 items it
//     is taken if it needs fewer steps than the complete core.
//   - More than 44 items with larger weights: cores of up to 44 items are searched. The last ones
//     are for items of almost equal weights: around them, items of about the mean weight are packed
//     in place of the heaviest. If no core fills the capacity, the best subset is returned with its
//     gap.
//
// # Cost
//
// Time: mostly milliseconds, at most ten seconds. The longest searches are those in which no core
// fills the capacity and no item can be reduced away, so give MaxSubset a context with a deadline.
//
// Memory: at most 500 MB besides the items.
func MaxSubset[W Weight](ctx context.Context, weights []W, capacity W) (Subset[W], error) {
	// A fine quantum only for up to completeItems items: more items seldom fill a capacity of 60
	// bits exactly, and the search for that takes up to ten seconds.
	s, err := newSubset(weights, capacity, len(weights) <= completeItems)
	if err != nil {
		return Subset[W]{}, err
	}
	return subset(s, packing.MaxSubset(ctx, s.w, s.c[0]), weights), nil
}

// ApproxSubset finds a subset whose weight is at least (1−ε) times the largest possible, 1e-4 ≤ ε <
// 1 (after Ibarra & Kim 1975). Take it where [MaxSubset] takes too long.
//
// The guarantee refers to sums in whole units, like Proved (see [Subset]): if floats are rounded, a
// subset that fits by only a few quanta may be missed. Proved is set if nothing is left out, or if
// no multiple of the greatest common divisor of the weights is larger than the sum and fits.
//
// The error is [ErrConfig], as for MaxSubset and for ε.
//
// # Cost
//
// Time: O(n/ε²), independent of the size of the weights. Memory: 12 bytes for each of the 4/ε²
// entries of a table.
func ApproxSubset[W Weight](weights []W, capacity W, epsilon float64) (Subset[W], error) {
	if !(epsilon >= leastEpsilon && epsilon < 1) {
		return Subset[W]{}, fmt.Errorf("%w: ε = %v", ErrConfig, epsilon)
	}
	s, err := newSubset(weights, capacity, true)
	if err != nil {
		return Subset[W]{}, err
	}
	return subset(s, packing.ApproxSubset(s.w, s.c[0], epsilon), weights), nil
}

// completeItems is the number of items up to which MaxSubset tries all subsets, if need be.
const completeItems = 44

// leastEpsilon keeps the table of ApproxSubset, 4/ε² entries of 12 bytes, below 5 GB.
const leastEpsilon = 1e-4

// subsetProblem is a subset sum problem in units.
type subsetProblem struct {
	units
	item []int // their numbers in the caller's slice
}

// newSubset checks a problem and leaves out the items above the capacity. The argument fine is
// passed on to toUnits.
func newSubset[W Weight](weights []W, capacity W, fine bool) (s subsetProblem, err error) {
	for i, w := range weights {
		if f := float64(w); !(f >= 0) || math.IsInf(f, 1) {
			return s, fmt.Errorf("%w: item %d: weight %v", ErrConfig, i, w)
		}
	}
	// A weight just above the capacity fits if both stand for the same decimal.
	half := W(1) / 2
	limit := float64(capacity) * (1 + justAbove)
	for _, strict := range []bool{half == 0, true} {
		var kept []W
		s.item = nil
		for i, w := range weights {
			if w <= capacity || !strict && float64(w) <= limit {
				kept = append(kept, w)
				s.item = append(s.item, i)
			}
		}
		if s.units, err = toUnits(kept, []W{capacity}, fine); !errors.Is(err, ErrNoRoom) {
			break
		}
	}
	return s, err
}

// subset returns what was found in terms of all weights.
func subset[W Weight](s subsetProblem, found packing.Subset, weights []W) Subset[W] {
	r := Subset[W]{Items: found.Items, Proved: found.Proved, Gap: float64(found.Gap) * s.quantum}
	for k, i := range r.Items {
		r.Items[k] = s.item[i]
		r.Sum += weights[s.item[i]]
	}
	return r
}

// leftOut returns the items that are not in the largest subset that fits. The search is bounded,
// because it is part of a single call of a learner, so the subset may not be quite the largest.
func leftOut(w []int64, c int64) []int {
	stay := packing.BriefSubset(w, c).Items
	var out []int
	for k := range w {
		if len(stay) > 0 && stay[0] == k {
			stay = stay[1:]
		} else {
			out = append(out, k)
		}
	}
	return out
}
