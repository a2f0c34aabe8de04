// Package grid counts floats in whole units of a power of two, so that sums do not depend
// on their order. Scaling by a power of two is exact; what rounds is only the last bit
// that a grid is too coarse for. The direction is the caller's: Up for what must fit,
// Down for the room it must fit in, Nearest where the error is to be small and is bounded
// elsewhere.
package grid

import (
	"math"
	"math/bits"

	"golang.org/x/exp/constraints"
)

// LastBit returns the exponent of the last bit set in x, positive and finite: x is an odd
// multiple of 2^LastBit(x).
func LastBit(x float64) int {
	frac, exp := math.Frexp(x)
	mant := uint64(math.Ldexp(frac, 53)) // exact, also for subnormal numbers
	return exp - 53 + bits.TrailingZeros64(mant)
}

// Above returns the least e with x < 2^e, for positive and finite x.
func Above(x float64) int {
	_, exp := math.Frexp(x)
	return exp
}

// Ceil returns the least e with x ≤ 2^e, for positive and finite x.
func Ceil(x float64) int {
	frac, exp := math.Frexp(x)
	if frac == .5 {
		exp--
	}
	return exp
}

// Finest returns the least LastBit of the values, or start if that is less. Zeros count as
// multiples of everything. It looks no further once the result is enough or less.
func Finest[T constraints.Float | constraints.Integer](start, enough int, values []T) int {
	for _, v := range values {
		if start <= enough {
			break
		}
		if v > 0 {
			start = min(start, LastBit(float64(v)))
		}
	}
	return start
}

// A Grid is the multiples of Quantum, a power of two.
type Grid struct {
	Quantum float64
	exp     int
	inverse float64 // 2^−exp, or 0 where that or the quantum is out of range
}

// New returns the grid of the multiples of 2^exp.
func New(exp int) Grid {
	g := Grid{math.Ldexp(1, exp), exp, math.Ldexp(1, -exp)}
	if math.IsInf(g.inverse, 1) {
		g.inverse = 0
	}
	return g
}

// units returns x/2^exp, but the least float above 0 where that is too small for a float: such an
// x is no multiple of the quantum.
func (g Grid) units(x float64) (u float64) {
	if g.inverse == 0 {
		u = math.Ldexp(x, -g.exp)
	} else {
		u = x * g.inverse
	}
	if u == 0 && x > 0 {
		return math.SmallestNonzeroFloat64
	}
	return u
}

// Down returns x in units, rounded down, and whether that is exact. The result must fit
// an int64.
func (g Grid) Down(x float64) (n int64, exact bool) {
	u := g.units(x)
	f := math.Floor(u)
	return int64(f), f == u
}

// Up returns x in units, rounded up, and whether that is exact. The result must fit an
// int64.
func (g Grid) Up(x float64) (n int64, exact bool) {
	u := g.units(x)
	f := math.Ceil(u)
	return int64(f), f == u
}

// Nearest returns x in units, halves rounded away from 0, and whether that is exact. The
// result must fit an int64.
func (g Grid) Nearest(x float64) (n int64, exact bool) {
	u := g.units(x)
	f := math.Round(u)
	return int64(f), f == u
}

// GCD returns the greatest common divisor of two numbers that are not negative; GCD(0, b)
// is b.
func GCD[T constraints.Integer](a, b T) T {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
