package optimum

import "math"

// scale returns w/λ^power, the factor of h in the slope of a page, w being its weight per cost. It
// may be 0 or +Inf where the power is 2.
func (c *Curve) scale(rate, weight float64) float64 {
	for range c.Power {
		weight /= rate
	}
	return weight
}

// logScale returns ln scale.
func (c *Curve) logScale(rate, weight float64) float64 {
	return math.Log(weight) - float64(c.Power)*math.Log(rate)
}

// reference returns a normal number near a scale. Where slopes are not bounded it is all the same
// which scale prices are relative to.
func (c *Curve) reference(scale float64) float64 {
	if c.bounded {
		return scale
	}
	return max(leastScale, min(1/leastScale, scale))
}

// leastScale bounds the scales of which products and quotients lose no digits.
const leastScale = 1e-290

// A Price is a price μ of the budget, a multiplier. It is made from the logarithm of a number z,
// which loses precision at neither end of its range: μ = top·(1 − e^(−z)) where slopes are
// bounded by top, the steepest slope at x = 0, and μ = top·z elsewhere. The zero Price is none.
type Price struct {
	curve     *Curve
	Top, LogZ float64

	z, mu, logMu float64
}

// Price returns that of a top and a ln z.
func (c *Curve) Price(top, logZ float64) Price {
	m := Price{curve: c, Top: top, LogZ: logZ, z: math.Exp(logZ)}
	part, logPart := m.z, logZ
	if c.bounded {
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

// Set reports whether m is a price, not the zero one.
func (m *Price) Set() bool { return m.curve != nil }

// Mu returns μ, 0 where that is below the least number.
func (m *Price) Mu() float64 { return m.mu }

// normal reports whether a number has all its digits, with room for a quotient.
func normal(x float64) bool { return x > leastScale && x < 1/leastScale }

// Frequency returns the x between lo and hi at which a page of a weight per cost has the slope
// μ, or comes nearest to it.
func (m *Price) Frequency(rate, weight, lo, hi float64) float64 {
	if rate == 0 || weight == 0 {
		return lo
	}
	scale := m.curve.scale(rate, weight)
	y, z := m.mu/scale, m.z
	logY := func() float64 { return m.logMu - m.curve.logScale(rate, weight) }
	if !normal(m.mu) || !normal(scale) {
		y = math.Exp(logY())
	}
	switch {
	case y < extreme || y > 1/extreme && !m.curve.bounded:
		return min(max(math.Exp(math.Log(rate)-m.curve.far(logY())), lo), hi)
	case !m.curve.bounded || scale == m.Top: // z is as it should be
	case y < 0.5:
		z = -math.Log1p(-y)
	default:
		rest := 1 - y
		if scale >= m.Top/2 { // scale − top is exact; below it would swamp the rest
			rest = ((scale - m.Top) + float64(m.Top*math.Exp(-z))) / scale
		}
		if rest <= 0 {
			return lo // even the first poll is worth less than μ
		}
		z = -math.Log(rest)
	}
	return min(max(rate/m.curve.inverse(y, z), lo), hi)
}
