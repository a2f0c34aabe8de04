package binpack

import (
	"context"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/packing"
)

// A Subset is a set of items that fits a capacity.
//
// Proved and Gap speak of whole units (see FloatBits). With floats that are not
// multiples of the quantum, as .6 and .2 are not, other subsets may fit by the exact
// sum that are a quantum per item too large in whole units, such as these two in .8.
type Subset[W Weight] struct {
	Items  []int // increasing
	Sum    W     // of their weights, added in this order
	Proved bool  // no subset that fits has a larger sum
	// Gap bounds what a better subset could gain, in units of weight: 0 if Proved,
	// else the room left at most.
	Gap float64
}

// MaxSubset solves the subset sum problem: it finds a subset of the items of the
// largest weight that is not above the capacity. Items heavier than the capacity
// are left out.
//
// The sums are of whole units (see FloatBits), and the method is chosen by the numbers:
//
//   - an item as heavy as all that the best subset so far leaves out, and more, is in
//     every better one, so where little is left out only the light items matter;
//   - a subset that fills the capacity exactly needs no proof. With hundreds of
//     items there are many, and one is found by filling greedily all but a core of
//     32 items, and searching the core completely by meeting in the middle
//     (Horowitz & Sahni 1974): milliseconds, whatever the size of the weights;
//   - up to 44 items are all core: exact, O(2^(n/2)) time and memory;
//   - where n times the largest weight is at most 2^32 (and with 44 items or less
//     where that is the smaller number), the dynamic programme of Pisinger (1999)
//     over balanced fillings is exact, O(n·w_max) time;
//   - what is left, more than 44 large numbers, is searched by cores of up to 44 items.
//     If none fills the capacity, the best subset is returned with its gap.
//
// If the context ends first, the best subset so far is returned. The same
// input gives the same result unless it does.
//
// Errors: ErrWeight and ErrCapacity. No items give an empty subset.
func MaxSubset[W Weight](ctx context.Context, weights []W, capacity W) (Subset[W], error) {
	s, err := newSubset(weights, capacity)
	if err != nil {
		return Subset[W]{}, err
	}
	return subset(s, packing.MaxSubset(ctx, s.w, s.c[0]), weights), nil
}

// ApproxSubset finds a subset whose weight is at least (1−ε) times the largest
// possible, 0 < ε < 1, in O(n/ε²) time whatever the size of the weights (after
// Ibarra & Kim 1975).
//
// With half = ε/2 the items are large (above half·C) or small. Large ones
// are counted in K = half²·C, rounded down, and for every scaled sum the smallest
// true sum is kept. A solution has fewer than 1/half large items, so it is met to
// within K/half = half·C. Then small items are added: either all fit, or less
// than half·C is left. As the optimum is at least C/2 whenever not all items fit,
// what is lost, half·C, is at most ε times the optimum.
//
// Proved is set only if the capacity is filled or nothing is left out. Errors are
// those of MaxSubset, and ErrParameter for ε.
func ApproxSubset[W Weight](weights []W, capacity W, epsilon float64) (Subset[W], error) {
	if !(epsilon > 0 && epsilon < 1) {
		return Subset[W]{}, fmt.Errorf("%w: ε = %v", ErrParameter, epsilon)
	}
	if epsilon < 1e-4 {
		return Subset[W]{}, fmt.Errorf("%w: ε = %v, at least 1e-4", ErrParameter, epsilon)
	}
	s, err := newSubset(weights, capacity)
	if err != nil {
		return Subset[W]{}, err
	}
	return subset(s, packing.ApproxSubset(s.w, s.c[0], epsilon), weights), nil
}

// subsetProblem is a subset sum problem in units.
type subsetProblem struct {
	units
	item []int // their numbers
}

// newSubset checks a problem and leaves out the items above the capacity.
func newSubset[W Weight](weights []W, capacity W) (s subsetProblem, err error) {
	var kept []W
	for i, w := range weights {
		if f := float64(w); !(f >= 0) || math.IsInf(f, 1) {
			return s, fmt.Errorf("%w: item %d: %v", ErrWeight, i, w)
		}
		if w <= capacity {
			kept = append(kept, w)
			s.item = append(s.item, i)
		}
	}
	s.units, err = toUnits(kept, []W{capacity})
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

// leftOut returns the items that are not in the subset of the largest weight that fits.
func leftOut(w []int64, c int64) []int {
	stay := packing.MaxSubset(context.Background(), w, c).Items
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
