// Package portable has the elementary functions that decisions are made by and that are saved. They
// have the same bits on every processor, which those of package math do not: these are assembly
// here and Go there, with products that are fused with sums where the processor can do that.
//
// All are right to within some units of the last place.
package portable

import "math"

// The parts of ln 2: high has so few bits that its products with exponents are exact.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = 0x1.a39ef35793c76p-33
)

// polynomial returns Σ c[k]·x^k.
func polynomial(x float64, c []float64) float64 {
	y := 0.0
	for k := len(c) - 1; k >= 0; k-- {
		y = float64(y*x) + c[k]
	}
	return y
}

// exponential has 1/k!, for |x| ≤ ln(2)/2; artanh has 2/(2k+1), for the logarithm of (1+s)/(1−s) with
// s² ≤ .03. What is left out is less than 2^−54 of the sum.
var exponential, artanh = func() (e, a []float64) {
	f := 1.0
	for k := 1; k <= 14; k++ {
		e = append(e, 1/f)
		f *= float64(k) // exact
	}
	for k := range 11 {
		a = append(a, 2/float64(2*k+1))
	}
	return e, a
}()

// Exp returns e^x.
func Exp(x float64) float64 {
	switch {
	case x != x || x > 710:
		return x + math.Inf(1)
	case x < -746:
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + .5)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	return math.Ldexp(polynomial(r, exponential), int(k))
}

// Expm1 returns e^x − 1, also where x is small.
func Expm1(x float64) float64 {
	if math.Abs(x) > .3 {
		return Exp(x) - 1
	}
	return x * polynomial(x, exponential[1:])
}

// Log returns ln x: NaN below 0, −Inf for 0.
func Log(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x) // what is no number is the same everywhere
	}
	f, k := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		k--
	}
	s := (f - 1) / (f + 1)
	return float64(float64(k)*ln2High) + (float64(float64(k)*ln2Low) + float64(s*polynomial(s*s, artanh)))
}

// Cbrt returns the cube root of x ≥ 0.
func Cbrt(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return x
	}
	y := Exp(Log(x) / 3)
	return y - (y-x/y/y)/3 // a step of Newton's method
}

// Loss returns ∫ max(0, z−x)·φ(z) dz, the mean by which a standard normal variable exceeds x where it
// does, and 0 where it does not: φ(x) − x·(1 − Φ(x)). It is right to within 1e-14.
func Loss(x float64) float64 {
	if x < 0 {
		return Loss(-x) - x
	}
	density := Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	if x < 5 {
		// Φ(x) − ½ = φ(x)·(x + x³/3 + x⁵/(3·5) + …)
		sum, term := 0.0, x
		for k := 3.0; term > sum*0x1p-60; k += 2 {
			sum += term
			term *= x * x / k
		}
		return density - float64(x*(.5-float64(density*sum)))
	}
	// 1 − Φ(x) = φ(x)/(x + 1/(x + 2/(x + 3/(x + …))))
	rest := x
	for k := 40.0; k > 0; k-- {
		rest = x + k/rest
	}
	return density * (1 - x/rest)
}
