package binpack

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/packing"
)

// CheckPacking returns nil if a packing is valid, and otherwise an [ErrInvalid] that says what is
// wrong. In a valid packing every item is in a bin, Bins is the number of bins that hold an item,
// no bin is overfilled, no two items in conflict share a bin, and every pinned item is in its bin.
// Sums are compared exactly, whatever the type.
//
// Other errors: [ErrConfig] for a weight that is negative or not finite and for a capacity that is
// not positive and finite, [ErrProblem] for a conflict or pin of items that do not exist.
//
// Time: O(n + conflicts).
func CheckPacking[W Weight](p Problem[W], packed Packing) error {
	if len(packed.Bin) != len(p.Weights) {
		return fmt.Errorf("%w: %d items are packed, there are %d", ErrInvalid, len(packed.Bin), len(p.Weights))
	}
	bins := len(p.Weights)
	if p.Capacities != nil {
		bins = len(p.Capacities)
	}
	for i, b := range packed.Bin {
		if b < 0 || b >= bins {
			return fmt.Errorf("%w: item %d is in bin %d of %d", ErrInvalid, i, b, bins)
		}
	}
	used := 0
	caps := p.Capacities
	if caps == nil {
		caps = []W{p.Capacity}
	}
	for b, c := range caps {
		if !(c > 0) || math.IsInf(float64(c), 1) {
			return fmt.Errorf("%w: bin %d: capacity %v", ErrConfig, b, c)
		}
	}
	for i, w := range p.Weights {
		if !(w >= 0) || math.IsInf(float64(w), 1) {
			return fmt.Errorf("%w: item %d: weight %v", ErrConfig, i, w)
		}
	}
	r := read(p.Weights, caps)
	for b, items := range packed.Items() {
		if len(items) > 0 {
			used++
		}
		if exceeds(r, p.Weights, items, p.capacity(b)) {
			return fmt.Errorf("%w: bin %d is overfilled by items %v", ErrInvalid, b, items)
		}
	}
	if used != packed.Bins {
		return fmt.Errorf("%w: %d bins hold items, not %d", ErrInvalid, used, packed.Bins)
	}
	inRange := func(item int) bool { return item >= 0 && item < len(p.Weights) }
	for k, c := range p.Conflicts {
		if !inRange(c[0]) || !inRange(c[1]) {
			return fmt.Errorf("%w: conflict %d: items %d and %d of %d", ErrProblem, k, c[0], c[1], len(p.Weights))
		}
		if packed.Bin[c[0]] == packed.Bin[c[1]] {
			return fmt.Errorf("%w: conflict %d: items %d and %d are both in bin %d", ErrInvalid, k, c[0], c[1], packed.Bin[c[0]])
		}
	}
	for _, item := range slices.Sorted(maps.Keys(p.Pins)) {
		if !inRange(item) {
			return fmt.Errorf("%w: pin of item %d of %d", ErrProblem, item, len(p.Weights))
		}
		if b := p.Pins[item]; packed.Bin[item] != b {
			return fmt.Errorf("%w: item %d is in bin %d, but pinned to %d", ErrInvalid, item, packed.Bin[item], b)
		}
	}
	return nil
}

// CheckBound verifies a certificate and returns the number of bins that it proves to be necessary.
// It solves the knapsack problem of the values exactly, over all sets of items that could fit the
// largest bin, or finds that no two items of positive value may share a bin. If capacities differ,
// it counts the fewest of the largest bins that could hold the sum of the values. The error is
// [ErrInvalid] if the certificate does not hold, and [ErrTooHard] if the check takes more than
// about 10⁸ steps.
func CheckBound[W Weight](p Problem[W], c Certificate) (int, error) {
	in, err := inUnits(p)
	if err != nil {
		return 0, err
	}
	if len(c.Value) != len(p.Weights) {
		return 0, fmt.Errorf("%w: %d values for %d items", ErrInvalid, len(c.Value), len(p.Weights))
	}
	if c.Max <= 0 {
		return 0, fmt.Errorf("%w: the most value of a bin is %d", ErrInvalid, c.Max)
	}
	sum := int64(0)
	for i, v := range c.Value {
		if v < 0 || v > packing.MaxTotal-sum {
			return 0, fmt.Errorf("%w: item %d: value %d", ErrInvalid, i, v)
		}
		sum += v
	}
	best, ok := in.MostValue(c.Value, c.Max)
	known := true
	if most := slices.Max(c.Value); (best > c.Max || !ok) && most <= c.Max {
		var apart bool
		if apart, known = in.Apart(c.Value); apart {
			best, ok = most, true
		}
	}
	if best > c.Max && known {
		return 0, fmt.Errorf("%w: a bin can take a value of %d, more than %d", ErrInvalid, best, c.Max)
	}
	if !ok || !known {
		return 0, fmt.Errorf("%w: a certificate of %d items", ErrTooHard, len(c.Value))
	}
	return in.Needs(packing.Certificate(c)), nil
}
