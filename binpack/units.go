package binpack

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/recrawl/recrawl/internal/grid"
	"github.com/recrawl/recrawl/internal/packing"
)

// floatBits is the precision of float weights that are rounded: the quantum is at least
// 2^−floatBits of the largest capacity. With 40 bits for a weight, 62 bits hold the sum of two
// million weights. With more weights the quantum is larger.
const floatBits = 40

// units holds weights and capacities as whole numbers of a quantum.
type units struct {
	w, c      []int64 // weights rounded up, capacities rounded down
	low, high []int64 // weights rounded down, capacities rounded up
	quantum   float64
	exact     bool // nothing was rounded; then low is w and high is c
}

// toUnits converts weights and capacities, or returns what is wrong with them. If fine is set,
// floats are not rounded as long as the sum of the weights has room for their last bits.
func toUnits[W Weight](weights, caps []W, fine bool) (units, error) {
	if half := W(1) / 2; half > 0 {
		return floatUnits(weights, caps, fine)
	}
	return intUnits(weights, caps)
}

func intUnits[W Weight](weights, caps []W) (units, error) {
	u := units{w: make([]int64, len(weights)), c: make([]int64, len(caps)), quantum: 1, exact: true}
	for i, c := range caps {
		if !(c > 0) {
			return u, fmt.Errorf("%w: bin %d: capacity %v", ErrConfig, i, c)
		}
		// A larger capacity than all items together could need makes no difference, so it is cut
		// down.
		u.c[i] = int64(min(uint64(c), packing.MaxTotal))
	}
	sum := int64(0)
	for i, w := range weights {
		if w < 0 || uint64(w) > packing.MaxTotal {
			return u, fmt.Errorf("%w: item %d: weight %v", ErrConfig, i, w)
		}
		if u.w[i] = int64(w); u.w[i] > packing.MaxTotal-sum {
			return u, fmt.Errorf("%w: item %d: weight %v: the sum is too large", ErrConfig, i, w)
		}
		sum += u.w[i]
	}
	u.low, u.high = u.w, u.c
	return u, nil
}

// largest returns the largest capacity and the first item above it (−1 if there is none), or what
// is wrong with weights or capacities.
func largest[W Weight](weights, caps []W) (top float64, above int, err error) {
	for i, c := range caps {
		f := float64(c)
		if !(f > 0) || math.IsInf(f, 1) {
			return 0, 0, fmt.Errorf("%w: bin %d: capacity %v", ErrConfig, i, c)
		}
		top = max(top, f)
	}
	above = -1
	for i, w := range weights {
		f := float64(w)
		if f >= 0 && f <= top {
			continue
		}
		if !(f >= 0) || math.IsInf(f, 1) {
			return 0, 0, fmt.Errorf("%w: item %d: weight %v", ErrConfig, i, w)
		}
		if above < 0 {
			above = i
		}
	}
	return top, above, nil
}

// floatUnits counts floats in a quantum so large that their sum does not overflow.
func floatUnits[W Weight](weights, caps []W, fine bool) (units, error) {
	top, above, err := largest(weights, caps)
	if err != nil {
		return units{}, err
	}
	if digits, ok := decimals(weights, caps); ok {
		return decimalUnits(weights, caps, digits), nil
	}
	if above >= 0 {
		return units{}, fmt.Errorf("%w: item %d: weight %v", ErrNoRoom, above, weights[above])
	}
	// The number of items and the number of quanta in the largest bin, both rounded up to powers of
	// two, have a product of at most 2^61. So the sum of the weights is at most that.
	room := 61 - bits.Len(uint(max(len(weights), 1)-1))
	coarsest := grid.Ceil(top) - min(floatBits, room)
	least := coarsest // exponent of a quantum that rounds nothing
	if fine {
		least = grid.Ceil(top) - room
	}
	exp := grid.Finest(grid.Finest(math.MaxInt, least-1, caps), least-1, weights)
	if exp < least {
		exp = coarsest
	}
	g := grid.New(exp)
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
				u.c[i]-- // only the largest bins may hold an item of weight full
			}
		}
	}
	// No item is larger than the largest bin. An item that rounds up beyond it fills it: only items
	// of weight 0 fit beside it.
	scale := 1 / g.Quantum                  // exact
	up := func(w W) (n int64, whole bool) { // g.Up written out for speed, unless the scale is out of range
		if math.IsInf(scale, 1) {
			return g.Up(float64(w))
		}
		x := float64(w) * scale
		if n = int64(x); float64(n) == x && (n > 0 || w == 0) { // x is 0 also where it is too small for a float
			return n, true
		}
		return n + 1, false
	}
	i, whole := 0, true
	for i < len(weights) {
		if u.w[i], whole = up(weights[i]); !whole {
			break
		}
		i++
	}
	if u.low = u.w; whole {
		return u, nil
	}
	u.exact = false
	u.low = append(make([]int64, 0, len(weights)), u.w[:i]...)[:len(weights)]
	for ; i < len(weights); i++ {
		n, whole := up(weights[i])
		u.w[i] = min(n, full)
		if !whole {
			n--
		}
		u.low[i] = n
	}
	return u, nil
}

const (
	// decimalUlps is how many units in the last place a float may be away from the float nearest to
	// a short decimal, and still stand for that decimal. The product of a whole number and the
	// float of a power of ten has two rounding errors, so it is at most that far off.
	decimalUlps = 2
	// A float32 keeps every decimal below narrowDigits (6 digits) as its nearest float. A float32
	// that may be decimalUlps off stands only for decimals below narrowNear (5 digits), because
	// half of all numbers are that near to a decimal with one more digit.
	narrowDigits, narrowNear = 1e6, 1e5
	// justAbove is more than decimalUlps units in the last place, as a share of a capacity.
	justAbove = 0x1p-20
)

// narrow reports whether a float type is float32.
func narrow[W Weight]() bool {
	third := W(1) / 3
	return float64(third) != 1./3
}

// decimals returns the number of digits after the point with which all weights and capacities are
// short decimals: each is within decimalUlps of the float nearest to a number with that many digits
// after the point and at most 12 digits in all (6 for float32). ok is false if there is no such
// number of digits, and also if the floats equal the decimals exactly, so that there is no
// difference.
func decimals[W Weight](weights, caps []W) (digits int, ok bool) {
	top, most, near := 0., float64(int64(1)<<min(floatBits, 61-bits.Len(uint(len(weights))))), math.Inf(1)
	for _, c := range caps {
		top = max(top, float64(c))
	}
	narrow := narrow[W]()
	if narrow {
		most, near = min(most, narrowDigits), narrowNear
	}
	scale := 1.
	stands := func(w W) bool {
		// Powers up to 10^22 and whole numbers up to 2^53 are exact, so their quotient is the
		// nearest float.
		x := math.Round(float64(w)*scale) / scale
		switch {
		case W(x) == w:
			return true
		case x == 0 || top*scale > near: // the least positive floats are near 0 but do not stand for it
			return false
		case narrow:
			return within(int64(math.Float32bits(float32(x))), int64(math.Float32bits(float32(w))))
		}
		return within(int64(math.Float64bits(x)), int64(math.Float64bits(float64(w))))
	}
	limit := top * (1 + justAbove) // a float just above the capacity may stand for the capacity
	for _, all := range [...][]W{caps, weights} {
		for _, w := range all {
			if x := float64(w); !(x >= 0 && x <= limit) || math.IsInf(top, 1) {
				return 0, false
			}
			for !stands(w) {
				digits++
				if scale *= 10; scale > 1e22 || top*scale > most {
					return 0, false
				}
			}
		}
	}
	same := true
	for _, all := range [...][]W{caps, weights} {
		for i := 0; i < len(all) && same; i++ {
			w := float64(all[i])
			same = math.FMA(w, scale, -math.Round(w*scale)) == 0
		}
	}
	return digits, !same && top*scale <= most
}

// within reports whether the positive floats with bits a and b are at most decimalUlps apart.
func within(a, b int64) bool { return max(a, b)-min(a, b) <= decimalUlps }

// decimalUnits counts short decimals in the largest unit of which all are multiples.
func decimalUnits[W Weight](weights, caps []W, digits int) units {
	scale := math.Pow10(digits)
	count := func(all []W) []int64 {
		n := make([]int64, len(all))
		for i, w := range all {
			n[i] = int64(math.Round(float64(w) * scale))
		}
		return n
	}
	u := units{w: count(weights), c: count(caps), exact: true}
	unit := int64(0)
	for _, all := range [...][]int64{u.c, u.w} {
		for i := 0; i < len(all) && unit != 1; i++ {
			unit = grid.GCD(all[i], unit)
		}
	}
	for _, all := range [...][]int64{u.c, u.w} {
		for i := 0; i < len(all) && unit != 1; i++ {
			all[i] /= unit
		}
	}
	u.quantum = float64(unit) / scale
	u.low, u.high = u.w, u.c
	return u
}

// A reading is what the numbers of a problem stand for: short decimals (see [Weight]), or their
// exact values.
type reading struct {
	float, decimal bool
	digits         int // of the decimals, after the point
}

// read returns what the numbers of a problem stand for.
func read[W Weight](weights, caps []W) reading {
	if half := W(1) / 2; half == 0 {
		return reading{}
	}
	r := reading{float: true}
	r.digits, r.decimal = decimals(weights, caps)
	return r
}

// exceeds reports whether the exact sum of the weights is above the capacity, whatever their type.
// The checkers use it. It shares nothing with the arithmetic of the algorithms.
func exceeds[W Weight](r reading, weights []W, items []int, capacity W) bool {
	switch {
	case r.decimal:
		value := func(w W) *big.Rat {
			x, _ := new(big.Rat).SetString(strconv.FormatFloat(float64(w), 'f', r.digits, 64))
			return x
		}
		sum := new(big.Rat)
		for _, i := range items {
			sum.Add(sum, value(weights[i]))
		}
		return sum.Cmp(value(capacity)) > 0
	case r.float:
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
