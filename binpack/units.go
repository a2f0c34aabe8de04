package binpack

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/recrawl/recrawl/internal/packing"
)

// FloatBits is the precision of float weights. Everything in this package
// computes with whole units, so that a sum does not depend on its order. Integers
// are units of 1. Floats are counted in a quantum, a power of two: the largest
// one of which all weights and capacities are multiples, but at least
// 2^−FloatBits of the largest capacity (rounded up to a power of two). Where that
// is too coarse to be exact, weights are rounded up and capacities down.
//
// Hence a bin is never overfilled, not even by the last bit of an exact sum, and
// the only cost is that a bin of k items may be refused k+1 quanta before it is
// full. Bounds round the other way, so that they hold for the numbers given.
const FloatBits = 40

// units holds weights and capacities as whole numbers of a quantum.
type units struct {
	w, c      []int64 // weights rounded up, capacities rounded down
	low, high []int64 // weights rounded down, capacities rounded up
	quantum   float64
	exact     bool // nothing was rounded; then low is w and high is c
}

// toUnits converts weights and capacities, or says what is wrong with them.
func toUnits[W Weight](weights, caps []W) (units, error) {
	var u units
	var err error
	if half := W(1) / 2; half > 0 {
		u, err = floatUnits(weights, caps)
	} else {
		u, err = intUnits(weights, caps)
	}
	if err != nil {
		return units{}, err
	}
	var sum int64
	for i, w := range u.w {
		if w > packing.MaxTotal-sum {
			return units{}, fmt.Errorf("%w: item %d: weight %v: the sum is too large", ErrWeight, i, weights[i])
		}
		sum += w
	}
	return u, nil
}

func intUnits[W Weight](weights, caps []W) (units, error) {
	u := units{w: make([]int64, len(weights)), c: make([]int64, len(caps)), quantum: 1, exact: true}
	for i, c := range caps {
		if !(c > 0) {
			return u, fmt.Errorf("%w: bin %d: %v", ErrCapacity, i, c)
		}
		// More room than all items together could need is no different from that.
		u.c[i] = int64(min(uint64(c), packing.MaxTotal))
	}
	for i, w := range weights {
		if w < 0 || uint64(w) > packing.MaxTotal {
			return u, fmt.Errorf("%w: item %d: %v", ErrWeight, i, w)
		}
		u.w[i] = int64(w)
	}
	u.low, u.high = u.w, u.c
	return u, nil
}

func floatUnits[W Weight](weights, caps []W) (units, error) {
	u := units{exact: true}
	top := 0.0
	finest := math.MaxInt // exponent of the last bit set in any number
	for i, c := range caps {
		f := float64(c)
		if !(f > 0) || math.IsInf(f, 1) {
			return u, fmt.Errorf("%w: bin %d: %v", ErrCapacity, i, c)
		}
		top = max(top, f)
		finest = min(finest, lastBit(f))
	}
	_, exp := math.Frexp(top) // top < 2^exp
	coarsest := exp - min(FloatBits, 61-bits.Len(uint(len(weights))))
	for i, w := range weights {
		f := float64(w)
		if !(f >= 0) || math.IsInf(f, 1) {
			return u, fmt.Errorf("%w: item %d: %v", ErrWeight, i, w)
		}
		if f > top {
			return u, fmt.Errorf("%w: item %d: weight %v", ErrTooLarge, i, w)
		}
		if f > 0 && finest > coarsest {
			finest = min(finest, lastBit(f))
		}
	}
	e := max(finest, coarsest)
	u.quantum = math.Ldexp(1, e)
	u.c, u.high = make([]int64, len(caps)), make([]int64, len(caps))
	for i, c := range caps {
		// Scaling by a power of two is exact, except that 2^−e may be out of range.
		x := math.Ldexp(float64(c), -e)
		u.c[i], u.high[i] = int64(math.Floor(x)), int64(math.Ceil(x))
		u.exact = u.exact && u.c[i] == u.high[i]
	}
	full := int64(math.Floor(math.Ldexp(top, -e)))
	if !u.exact {
		for i, c := range caps {
			if u.c[i] == full && float64(c) < top {
				u.c[i]-- // so that only the largest bins hold an item of weight full
			}
		}
	}
	u.w, u.low = make([]int64, len(weights)), nil
	scale := math.Ldexp(1, -e)
	ordinary := scale > 0 && !math.IsInf(scale, 1) && u.quantum > 0
	for i, w := range weights {
		var x float64
		if ordinary {
			x = float64(w) * scale
		} else {
			x = math.Ldexp(float64(w), -e)
		}
		up := math.Ceil(x)
		// No item is larger than the largest bin, and one that rounds up beyond it
		// fills it: nothing but items of weight 0 fit beside it.
		u.w[i] = min(int64(up), full)
		if u.exact = u.exact && up == x; up != x && u.low == nil {
			u.low = append(make([]int64, 0, len(weights)), u.w[:i]...)
		}
		if u.low != nil {
			u.low = append(u.low, int64(math.Floor(x)))
		}
	}
	if u.low == nil {
		u.low = u.w
	}
	return u, nil
}

// lastBit returns the exponent of the last bit set in f > 0: f is an odd multiple
// of 2^lastBit(f).
func lastBit(f float64) int {
	frac, exp := math.Frexp(f)
	mant := uint64(math.Ldexp(frac, 53)) // exact, also for subnormal numbers
	return exp - 53 + bits.TrailingZeros64(mant)
}

// exceeds says whether the exact sum of the weights is above the capacity,
// whatever their type. It is what the checkers use, and shares nothing with the
// arithmetic of the algorithms.
func exceeds[W Weight](weights []W, items []int, capacity W) bool {
	if half := W(1) / 2; half > 0 {
		// 2200 bits hold the sum of any floats exactly.
		sum, x := new(big.Float).SetPrec(2200), new(big.Float)
		for _, i := range items {
			sum.Add(sum, x.SetFloat64(float64(weights[i])))
		}
		return sum.Cmp(x.SetFloat64(float64(capacity))) > 0
	}
	sum, x := new(big.Int), new(big.Int)
	for _, i := range items {
		sum.Add(sum, x.SetUint64(uint64(weights[i])))
	}
	return sum.Cmp(x.SetUint64(uint64(capacity))) > 0
}
