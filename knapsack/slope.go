package knapsack

import "math"

// slope is one of the functions h of v = λ/x with V'(x) = h(v)/λ^power. It increases from
// h(0) = 0.
type slope struct {
	power   int
	bounded bool // h(∞) = 1, else ∞
	h       func(v float64) float64
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
func (s *slope) logFar(logV float64) float64 {
	a := s.small
	if logV > 0 {
		a = s.large
	}
	if a.p == 0 {
		return math.Log(a.a)
	}
	return math.Log(a.a) + a.p*logV
}

// far is the inverse: v for ln h(v) far from 0, +Inf beyond a bounded h.
func (s *slope) far(logY float64) float64 {
	a := s.small
	if logY > 0 {
		a = s.large
	}
	if a.p == 0 {
		return math.Inf(1)
	}
	return math.Exp((logY - math.Log(a.a)) / a.p)
}

// logZ returns ln z of the multiplier at which a page of the greatest scale has the given v.
func (s *slope) logZ(v float64) float64 {
	switch {
	case v < extreme || v > 1/extreme && !s.bounded:
		return s.logFar(math.Log(v))
	case !s.bounded:
		return math.Log(s.h(v))
	default:
		return math.Log(s.rest(v))
	}
}

// slopes has the slope of each Objective at each Spacing but the default, which is that of Even.
var slopes = withDefault([objectives][spacings]slope{
	Detections: {Even: slopeEven(0), Random: slopeRandom(0)},
	Freshness:  {Even: slopeEven(1), Random: slopeRandom(1)},
	Age: {
		Even:   {2, false, hAge, hAgeInverse, asymptote{1.0 / 3, 3}, asymptote{1.0 / 2, 2}, nil},
		Random: {2, false, hRandomAge, hRandomAgeInverse, asymptote{2, 3}, asymptote{1, 2}, nil},
	},
	Harmonic: {
		Even:   {1, false, hHarmonic, hHarmonicInverse, asymptote{1.0 / 2, 2}, asymptote{1, 1}, nil},
		Random: {1, false, hRandomHarmonic, hRandomHarmonicInverse, asymptote{1, 2}, asymptote{1, 1}, nil},
	},
	Delay: {Even: slopeSquare(1.0 / 2), Random: slopeSquare(1)},
})

func withDefault(table [objectives][spacings]slope) [objectives][spacings]slope {
	for o := range table {
		table[o][0] = table[o][Even]
	}
	return table
}

func slopeEven(power int) slope {
	return slope{power, true, hEven, hEvenInverse, asymptote{1.0 / 2, 2}, asymptote{1, 0}, restEven}
}

func slopeRandom(power int) slope {
	return slope{power, true, hRandom, hRandomInverse, asymptote{1, 2}, asymptote{1, 0}, restRandom}
}

// slopeSquare has the slope a·v²/λ.
func slopeSquare(a float64) slope {
	same := asymptote{a, 2}
	h := func(v float64) float64 { return a * v * v }
	inverse := func(y, _ float64) float64 { return math.Sqrt(y / a) }
	return slope{1, false, h, inverse, same, same, nil}
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
		func(v float64) float64 { u := 1 + v; return 2 * v * (v / u) * ((3 + v*(3+v)) / (u * u)) })
}

func hRandomHarmonic(v float64) float64 { return v * v / (1 + v) }

func hRandomHarmonicInverse(y, _ float64) float64 { return (y + math.Sqrt(y*y+4*y)) / 2 }

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

// scale returns w/λ^power, the factor of h in the slope of a page.
func (s *slope) scale(rate, weight float64) float64 {
	for range s.power {
		weight /= rate
	}
	return weight
}

// A multiplier is a price μ of the budget. It is made from the logarithm of a number z, which
// loses precision at neither end of its range: μ = top·(1 − e^(−z)) where slopes are bounded by
// top, the steepest slope at x = 0, and μ = top·z elsewhere. The zero multiplier is no price.
type multiplier struct {
	slope
	top, logZ float64

	z, mu, logMu float64
}

func (s slope) multiplier(top, logZ float64) multiplier {
	m := multiplier{slope: s, top: top, logZ: logZ, z: math.Exp(logZ)}
	part, logPart := m.z, logZ
	if s.bounded {
		part = -math.Expm1(-m.z)
		if m.z > extreme {
			logPart = math.Log(part)
		}
	}
	m.mu, m.logMu = top*part, math.Log(top)+logPart
	if part < extreme || part > 1/extreme { // it may have lost digits, or be 0 or +Inf
		m.mu = math.Exp(m.logMu)
	}
	return m
}

// frequency returns the x between lo and hi at which a page has the slope μ, or comes nearest to
// it.
func (m multiplier) frequency(rate, weight, lo, hi float64) float64 {
	if rate == 0 || weight == 0 {
		return lo
	}
	scale := m.scale(rate, weight)
	y, z := m.mu/scale, m.z
	if !(m.mu > 1e-290 && m.mu < 1e290) { // it may have lost digits, or be 0 or +Inf
		y = math.Exp(m.logMu - math.Log(scale))
	}
	switch {
	case y < extreme || y > 1/extreme && !m.bounded:
		return min(max(rate/m.far(m.logMu-math.Log(scale)), lo), hi)
	case !m.bounded || scale == m.top: // z is as it should be
	case y < 0.5:
		z = -math.Log1p(-y)
	default:
		rest := 1 - y
		if scale >= m.top/2 { // scale − top is exact; below it would swamp the rest
			rest = ((scale - m.top) + m.top*math.Exp(-z)) / scale
		}
		if rest <= 0 {
			return lo // even the first poll is worth less than μ
		}
		z = -math.Log(rest)
	}
	return min(max(rate/m.inverse(y, z), lo), hi)
}
