// Package fast has logarithms and exponentials that are right to about ten digits, in a third of
// the time that those of package math take. An index takes ten of them.
package fast

import "math"

// Golden is 2⁶⁴ over the golden ratio: its multiples are spread evenly over all numbers of 64 bits.
const Golden = 0x9e3779b97f4a7c15

const (
	bits = 10 // of the mantissa that tables are indexed by
	size = 1 << bits
)

// An entry is the logarithm of the middle of one of size parts of [1, 2), and its reciprocal.
type entry struct{ log, reciprocal float64 }

var (
	logs = func() (t [size]entry) {
		for i := range t {
			c := 1 + (float64(i)+0.5)/size
			t[i] = entry{math.Log(c), 1 / c}
		}
		return t
	}()
	powers = func() (t [size]float64) { // 2^(i/size)
		for i := range t {
			t[i] = math.Exp2(float64(i) / size)
		}
		return t
	}()
)

// Log is ln x to within 1e-13 and the rounding of the result, for x > 0 that is not subnormal; about −709 for 0.
func Log(x float64) float64 {
	b := math.Float64bits(x)
	e := &logs[b>>(52-bits)&(size-1)]
	// With x = 2^k·c·(1+r), |r| ≤ 1/2048: ln(1+r) = r − r²/2 + r³/3 − …
	r := float64(math.Float64frombits(b&(1<<52-1)|1023<<52)*e.reciprocal) - 1
	return float64(float64(int(b>>52&0x7ff)-1023)*math.Ln2) + e.log + float64(r*(1-float64(r*(0.5-float64(r*(1.0/3))))))
}

// Exp is e^x to within 1e-10 of it; 0 below −700 and +Inf above 700.
func Exp(x float64) float64 {
	switch {
	case x < -700:
		return 0
	case x > 700:
		return math.Inf(1)
	}
	y := x * (size / math.Ln2)
	k := math.Floor(y)
	r := (y - k) * (math.Ln2 / size)
	i := int(k)
	scale := math.Float64frombits(uint64(i>>bits+1023) << 52)
	return scale * powers[i&(size-1)] * (1 + float64(r*(1+float64(r*(0.5+float64(r*(1.0/6)))))))
}

// small is where series take over, lest a difference from 1 lose its digits.
const small = 1e-3

// Hazard is −ln(1−p), to within 1e-9 of it, for 0 ≤ p < 1.
func Hazard(p float64) float64 {
	if p < small {
		return p * (1 + float64(p*(0.5+p/3)))
	}
	return -Log(1 - p)
}

// Chance is 1 − e^(−v), to within 1e-9 of it, for v ≥ 0: the inverse of Hazard.
func Chance(v float64) float64 {
	if v < small {
		return v * (1 - float64(v*(0.5-v/6)))
	}
	return 1 - Exp(-v)
}
