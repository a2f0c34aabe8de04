package optimum

import "math"

// Value returns V(x). See knapsack.Objective.Value.
func Value(objective int, random bool, rate, x float64) float64 {
	switch {
	case !(rate >= 0 && x >= 0):
		return math.NaN()
	case rate == 0: // never changes: always current, nothing to detect
		if objective == Freshness {
			return 1
		}
		return 0
	case x == 0:
		if objective >= Age {
			return math.Inf(-1)
		}
		return 0
	}
	v := rate / x
	if v < extreme || v > 1/extreme { // powers of it are no normal numbers, and it may not be one
		return valueFar(objective, random, rate, x)
	}
	if random {
		switch objective {
		case Detections:
			return rate / (1 + v)
		case Freshness:
			return 1 / (1 + v)
		case Age:
			return -v / (1 + v) / x
		case Delay:
			return -v
		default:
			return -math.Log1p(v)
		}
	}
	switch objective {
	case Detections:
		return -x * math.Expm1(-v)
	case Freshness:
		return -math.Expm1(-v) / v
	case Age:
		return -staleTail(v) / v / rate
	case Delay:
		return -v / 2
	default:
		return -(ein(v) - staleShare(v))
	}
}

// euler is the constant of Euler and Mascheroni.
const euler = 0.57721566490153286060651209008240243

// valueFar is Value to the last bit where v = λ/x is far from 1.
func valueFar(objective int, random bool, rate, x float64) float64 {
	many, v := rate < x, rate/x
	half, sixth, beside := 1.0, 1.0, 0.0
	if !random {
		half, sixth, beside = 1.0/2, 1.0/6, euler-1
	}
	switch {
	case objective == Detections:
		return min(rate, x)
	case objective == Freshness && many:
		return 1
	case objective == Freshness:
		return x / rate
	case objective == Age && many:
		return -sixth * (v / x)
	case objective == Age:
		return -half / x
	case objective == Harmonic && !many:
		return -(math.Log(rate) - math.Log(x) + beside)
	default: // of Delay always
		return -half * v
	}
}

// staleShare is 1 − (1 − e^(−v))/v.
func staleShare(v float64) float64 {
	if v < 1e-3 {
		return v * (1.0/2 - v*(1.0/6-v*(1.0/24-v/120)))
	}
	return 1 + math.Expm1(-v)/v
}

// staleTail is v²/2 − v + 1 − e^(−v), v times the mean age in units of 1/λ.
func staleTail(v float64) float64 {
	if v < 0.05 {
		return v * v * v * (1.0/6 - v*(1.0/24-v*(1.0/120-v*(1.0/720-v*(1.0/5040-v/40320)))))
	}
	return v*v/2 - v - math.Expm1(-v)
}

// ein is the entire exponential integral Ein(v) = ∫₀^v (1 − e^(−s))/s ds: the expected harmonic
// number of a Poisson variable with mean v.
func ein(v float64) float64 {
	if v > 40 { // e^(−v)/v is below the last bit
		return math.Log(v) + euler
	}
	// Σ_{k≥1} e^(−v)·v^k/k!·H_k has no cancellation; its terms are spent after about v + 10√v of
	// them.
	sum, term, harmonic := 0.0, math.Exp(-v), 0.0
	for k := 1.0; k < 12 || term*harmonic > sum*1e-18; k++ {
		term *= v / k
		harmonic += 1 / k
		sum += float64(term * harmonic)
		if term == 0 {
			break
		}
	}
	return sum
}
