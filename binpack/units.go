package binpack

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/recrawl/recrawl/internal/grid"
	"github.com/recrawl/recrawl/internal/packing"
)

// floatBits is the precision of float weights: the quantum is at least 2^−floatBits of the
// largest capacity. 40 bits leave room in 62 for the sum of two million weights; of more weights
// the quantum is larger.
const floatBits = 40

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

// largest returns the largest capacity, or says what is wrong with weights or capacities.
func largest[W Weight](weights, caps []W) (top float64, err error) {
	for i, c := range caps {
		f := float64(c)
		if !(f > 0) || math.IsInf(f, 1) {
			return 0, fmt.Errorf("%w: bin %d: %v", ErrCapacity, i, c)
		}
		top = max(top, f)
	}
	for i, w := range weights {
		f := float64(w)
		if !(f >= 0) || math.IsInf(f, 1) {
			return 0, fmt.Errorf("%w: item %d: %v", ErrWeight, i, w)
		}
		if f > top {
			return 0, fmt.Errorf("%w: item %d: weight %v", ErrNoRoom, i, w)
		}
	}
	return top, nil
}

func floatUnits[W Weight](weights, caps []W) (units, error) {
	top, err := largest(weights, caps)
	if err != nil {
		return units{}, err
	}
	coarsest := grid.Above(top) - min(floatBits, 61-bits.Len(uint(len(weights))))
	finest := grid.Finest(grid.Finest(math.MaxInt, coarsest, caps), coarsest, weights)
	g := grid.New(max(finest, coarsest))
	u := units{quantum: g.Quantum, exact: true, w: make([]int64, len(weights)), c: make([]int64, len(caps)), high: make([]int64, len(caps))}
	full, _ := g.Down(top)
	for i, c := range caps {
		u.c[i], _ = g.Down(float64(c))
		u.high[i], _ = g.Up(float64(c))
		if u.c[i] < u.high[i] {
			u.exact = false
		}
	}
	if !u.exact {
		for i, c := range caps {
			if u.c[i] == full && float64(c) < top {
				u.c[i]-- // so that only the largest bins hold an item of weight full
			}
		}
	}
	scale := 1 / g.Quantum // exact, and g.Up written out for speed, unless it is out of range
	for i, w := range weights {
		x := float64(w) * scale
		up, exact := int64(math.Ceil(x)), math.Ceil(x) == x
		if math.IsInf(scale, 1) {
			up, exact = g.Up(float64(w))
		}
		// No item is larger than the largest bin, and one that rounds up beyond it fills it:
		// nothing but items of weight 0 fit beside it.
		u.w[i] = min(up, full)
		if !exact && u.low == nil {
			u.exact = false
			u.low = append(make([]int64, 0, len(weights)), u.w[:i]...)
		}
		if u.low != nil {
			if !exact {
				up--
			}
			u.low = append(u.low, up)
		}
	}
	if u.low == nil {
		u.low = u.w
	}
	return u, nil
}

// exceeds reports whether the exact sum of the weights is above the capacity,
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
