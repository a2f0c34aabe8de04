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
// Proved and Gap are about whole units (see [Weight]). With floats that are neither short decimals
// nor multiples of the quantum, another subset may fit by the exact sum and yet be a quantum per
// item too large in whole units. Of more than 44 items [MaxSubset] takes no finer quantum than 2^−40
// of the capacity.
type Subset[W Weight] struct {
	Items  []int // increasing
	Sum    W     // of their weights, added in this order
	Proved bool  // no subset that fits has a larger sum
	// Gap bounds what a better subset could gain, in units of weight: 0 if Proved, else at
	// most the room left.
	Gap float64
}

// MaxSubset solves the subset sum problem: it finds a subset of the items of the largest
// weight that is not above the capacity. Items heavier than the capacity are left out. No
// items give an empty subset. If the context ends first, it returns the best subset so far;
// unless it does, the same input gives the same result.
//
// Errors: [ErrWeight] and [ErrCapacity].
//
// # How it works
//
// The sums are of whole units, and the method is chosen by the numbers:
//
//   - An item as heavy as all that the best subset so far leaves out, or heavier, is in every
//     better one. So where little is left out only the light items matter.
//   - A subset that fills the capacity exactly needs no proof. With hundreds of items there are
//     many. One is found by filling greedily all but a core of 32 items, and searching the core
//     completely by meeting in the middle (Horowitz & Sahni 1974): milliseconds, whatever the
//     size of the weights.
//   - Up to 44 items are all core: exact, O(2^(n/2)) time and memory.
//   - Where the largest weight is at most 2^22 units, and n times it at most 2^32 (and with 44
//     items or less where that is the smaller number), the dynamic programme of Pisinger (1999)
//     over balanced fillings is exact, O(n·w_max) time.
//   - What is left, more than 44 large numbers, is searched by cores of up to 44 items. If none
//     fills the capacity, the best subset is returned with its gap.
//
// # Cost
//
// Mostly milliseconds. Where neither a core fills the capacity nor anything can be left out early,
// at most ten seconds and 500 MB beside the items: give it a context with a deadline.
func MaxSubset[W Weight](ctx context.Context, weights []W, capacity W) (Subset[W], error) {
	// More items seldom fill a capacity of 60 bits, and the search for that takes up to ten seconds.
	s, err := newSubset(weights, capacity, len(weights) <= completeItems)
	if err != nil {
		return Subset[W]{}, err
	}
	return subset(s, packing.MaxSubset(ctx, s.w, s.c[0]), weights), nil
}

// ApproxSubset finds a subset whose weight is at least (1−ε) times the largest possible,
// 1e-4 ≤ ε < 1 (after Ibarra & Kim 1975). Take it where [MaxSubset] does not come to an end.
//
// The guarantee is about whole units, as Proved is (see [Subset]): where floats are rounded, a
// subset that fits by a few quanta only may be missed. Proved is set if nothing is left out, or no
// multiple of the greatest common divisor of the weights is larger than the sum and fits.
//
// Errors are those of MaxSubset, and [ErrConfig] for ε.
//
// # Cost
//
// Time: O(n/ε²), independent of the size of the weights.
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
	item []int // their numbers
}

// newSubset checks a problem and leaves out the items above the capacity. fine is that of toUnits.
func newSubset[W Weight](weights []W, capacity W, fine bool) (s subsetProblem, err error) {
	for i, w := range weights {
		if f := float64(w); !(f >= 0) || math.IsInf(f, 1) {
			return s, fmt.Errorf("%w: item %d: %v", ErrWeight, i, w)
		}
	}
	// What is just above the capacity fits if both stand for the same decimal.
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

// leftOut returns the items that are not in the subset of the largest weight that fits, or that a
// bounded search finds: it belongs to a single call of a learner.
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
