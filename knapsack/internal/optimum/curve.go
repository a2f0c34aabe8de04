package optimum

import "math"

// The objectives, numbered as knapsack numbers them.
const (
	Freshness = iota
	Detections
	Age
	Harmonic
	Delay
	Objectives
)

// A Curve is one of the functions h of v = λ/x with V'(x) = h(v)/λ^power. It increases from
// h(0) = 0.
type Curve struct {
	Power   int
	bounded bool // h(∞) = 1, else ∞
	H       func(v float64) float64
	// inverse returns v with h(v) = y. z = −ln(1−y) where h is bounded, given apart because y
	// near 1 has lost it.
	inverse func(y, z float64) float64
	// h(v) is a·v^p to the last bit where v < extreme, and so it is with the other a and p where
	// v > 1/extreme (a = 1 and p = 0 where h is bounded).
	small, large asymptote
	rest         func(v float64) float64 // −ln(1−h(v)) where h is bounded
}

type asymptote struct{ a, p float64 }

// extreme bounds the numbers that h and its inverse take and give, from below and 1/extreme from
// above: beyond, powers of them are no normal numbers.
const extreme = 1e-90

// logFar returns ln h(v) for ln v far from 0.
func (c *Curve) logFar(logV float64) float64 {
	a := c.small
	if logV > 0 {
		a = c.large
	}
	if a.p == 0 {
		return math.Log(a.a)
	}
	return math.Log(a.a) + a.p*logV
}

// far is the inverse: ln v for ln h(v) far from 0, +Inf beyond a bounded h. v itself may be no number.
func (c *Curve) far(logY float64) float64 {
	a := c.small
	if logY > 0 {
		a = c.large
	}
	if a.p == 0 {
		return math.Inf(1)
	}
	return (logY - math.Log(a.a)) / a.p
}

// logZ returns ln z of the multiplier at which a page of the greatest scale has the given v.
func (c *Curve) logZ(v float64) float64 {
	switch {
	case v < extreme || v > 1/extreme && !c.bounded:
		return c.logFar(math.Log(v))
	case !c.bounded:
		return math.Log(c.H(v))
	default:
		return math.Log(c.rest(v))
	}
}

// curves has that of each objective, for even spacing and for random.
var curves = [Objectives][2]Curve{
	Freshness:  {curveEven(1), curveRandom(1)},
	Detections: {curveEven(0), curveRandom(0)},
	Age: {
		{2, false, hAge, hAgeInverse, asymptote{1.0 / 3, 3}, asymptote{1.0 / 2, 2}, nil},
		{2, false, hRandomAge, hRandomAgeInverse, asymptote{2, 3}, asymptote{1, 2}, nil},
	},
	Harmonic: {
		{1, false, hHarmonic, hHarmonicInverse, asymptote{1.0 / 2, 2}, asymptote{1, 1}, nil},
		{1, false, hRandomHarmonic, hRandomHarmonicInverse, asymptote{1, 2}, asymptote{1, 1}, nil},
	},
	Delay: {curveSquare(1.0 / 2), curveSquare(1)},
}

// Of returns the curve of an objective. It is not to be changed.
func Of(objective int, random bool) *Curve {
	if random {
		return &curves[objective][1]
	}
	return &curves[objective][0]
}

// Slope returns V'(x). See knapsack.Objective.Slope.
func (c *Curve) Slope(rate, x float64) float64 {
	switch {
	case !(rate >= 0 && x >= 0):
		return math.NaN()
	case rate == 0:
		return 0
	}
	v := rate / x
	if v < extreme || v > 1/extreme { // out of the reach of H, x = 0 included
		return math.Exp(c.logFar(math.Log(rate)-math.Log(x)) - float64(c.Power)*math.Log(rate))
	}
	return c.H(v) / math.Pow(rate, float64(c.Power))
}

func curveEven(power int) Curve {
	return Curve{power, true, hEven, hEvenInverse, asymptote{1.0 / 2, 2}, asymptote{1, 0}, restEven}
}

func curveRandom(power int) Curve {
	return Curve{power, true, hRandom, hRandomInverse, asymptote{1, 2}, asymptote{1, 0}, restRandom}
}

// curveSquare has the slope a·v²/λ.
func curveSquare(a float64) Curve {
	same := asymptote{a, 2}
	h := func(v float64) float64 { return a * v * v }
	inverse := func(y, _ float64) float64 { return math.Sqrt(y / a) }
	return Curve{1, false, h, inverse, same, same, nil}
}

// hEven is 1 − (1+v)·e^(−v), without cancellation for small v.
func hEven(v float64) float64 {
	if v < 0.05 {
		return v * v * (1.0/2 - v*(1.0/3-v*(1.0/8-v*(1.0/30-v*(1.0/144-v*(1.0/840-v/5760))))))
	}
	return 1 - (1+v)*math.Exp(-v)
}

// restEven is v − ln(1+v).
func restEven(v float64) float64 {
	if v < 1 {
		return -math.Log1p(-hEven(v))
	}
	return v - math.Log1p(v)
}

// hEvenInverse solves 1 − (1+v)·e^(−v) = y in the form v − ln(1+v) = z.
func hEvenInverse(y, z float64) float64 {
	if y < 0.1 { // v − ln(1+v) would cancel; h is convex up to v = 1
		g := math.Sqrt(2 * y)
		return newton(g*(1+g/2), y, hEven, func(v float64) float64 { return v * math.Exp(-v) })
	}
	// ln(1+z+√(2z)) ≤ √(2z), so the first guess lies above the root.
	return newton(z+math.Sqrt(2*z), z,
		func(v float64) float64 { return v - math.Log1p(v) },
		func(v float64) float64 { return v / (1 + v) })
}

func hAge(v float64) float64 {
	if v < 0.05 {
		return v * v * v * (1.0/3 - v*(1.0/8-v*(1.0/30-v*(1.0/144-v*(1.0/840-v/5760)))))
	}
	return v*v/2 - hEven(v)
}

func hAgeInverse(y, _ float64) float64 {
	return newton(max(math.Cbrt(3*y), math.Sqrt(2*y)), y, hAge,
		func(v float64) float64 { return -v * math.Expm1(-v) })
}

func hHarmonic(v float64) float64 {
	if v < 0.05 {
		return v * v * (1.0/2 - v*(1.0/6-v*(1.0/24-v*(1.0/120-v*(1.0/720-v/5040)))))
	}
	return v + math.Expm1(-v)
}

func hHarmonicInverse(y, _ float64) float64 {
	return newton(max(math.Sqrt(2*y), y), y, hHarmonic,
		func(v float64) float64 { return -math.Expm1(-v) })
}

func hRandom(v float64) float64 { r := v / (1 + v); return r * r }

// restRandom is −ln((1+2v)/(1+v)²).
func restRandom(v float64) float64 {
	if v < 1 {
		return -math.Log1p(-hRandom(v))
	}
	return 2*math.Log1p(v) - math.Log1p(2*v)
}

func hRandomInverse(y, z float64) float64 {
	// v/(1+v) = √y, and 1 − √y = (1−y)/(1+√y) with 1 − y = e^(−z).
	r := math.Sqrt(y)
	return r * (1 + r) * math.Exp(z)
}

func hRandomAge(v float64) float64 { r := v / (1 + v); return v * r * r * (2 + v) }

func hRandomAgeInverse(y, _ float64) float64 {
	return newton(max(math.Cbrt(y/2), math.Sqrt(y)), y, hRandomAge,
		func(v float64) float64 { u := 1 + v; return 2 * v * (v / u) * ((3 + float64(v*(3+v))) / (u * u)) })
}

func hRandomHarmonic(v float64) float64 { return v * v / (1 + v) }

func hRandomHarmonicInverse(y, _ float64) float64 { return (y + math.Sqrt(float64(y*y)+4*y)) / 2 }

// newton solves f(v) = y for a convex increasing f. From a guess above the root Newton's steps
// fall monotonically to it, so that a step that does not fall has arrived; the guess is doubled
// until it is above.
func newton(guess, y float64, f, df func(float64) float64) float64 {
	if y <= 0 || math.IsInf(y, 1) {
		return max(y, 0)
	}
	v := guess
	for f(v) < y {
		v *= 2
	}
	for {
		next := v - (f(v)-y)/df(v)
		if !(next < v && next > 0) {
			return v
		}
		v = next
	}
}
