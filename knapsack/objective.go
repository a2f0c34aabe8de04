package knapsack

import (
	"fmt"
	"math"
)

// An Objective is what a polling schedule is to be good at. For a page that
// changes as a Poisson process with rate λ and is polled x times per unit of
// time, each has a value V(x), concave and increasing in x; the table gives, with
// v = λ/x, the value and its slope for polls at even intervals.
//
//	Detections  x·(1 − e^(−v))                        1 − (1+v)·e^(−v)
//	Freshness   (1 − e^(−v))/v                       (1 − (1+v)·e^(−v)) / λ
//	Age         −[v/2 − 1 + (1 − e^(−v))/v] / λ      (v²/2 − 1 + (1+v)·e^(−v)) / λ²
//	Harmonic    −[Ein(v) − 1 + (1 − e^(−v))/v]       (v − 1 + e^(−v)) / λ
//
// and for polls at random times (a Poisson process of rate x):
//
//	Detections  x·λ/(x+λ)                             (v/(1+v))²
//	Freshness   x/(x+λ)                              (v/(1+v))² / λ
//	Age         −λ/(x·(x+λ))                         (v² − (v/(1+v))²) / λ²
//	Harmonic    ln(x/(x+λ))                          (v²/(1+v)) / λ
//
// Every slope is a function h of v alone over a power of λ, which is what
// Problem.Optimal solves.
//
// The slope under even spacing is also the page's index: with v = λτ, τ the time
// since its last poll, polling always the page with the greatest index attains
// the optimum.
type Objective uint8

const (
	// Detections is the number of polls per unit of time that find a change.
	// Source: Granmo, Oommen, Myrer, Olsen 2006, section III.
	Detections Objective = iota
	// Freshness is the share of time for which the copy is current. Source: Cho
	// and Garcia-Molina 2003; under random polling, Azar et al. 2018.
	Freshness
	// Age is minus the mean time since the first change that the copy lacks, 0
	// while the copy is current. Source: Cho and Garcia-Molina 2003.
	Age
	// Harmonic is minus the mean of 1 + 1/2 + … + 1/k, k the number of changes
	// that the copy lacks: the k-th change missed costs 1/k. Source: Kolobov et
	// al. 2019, LambdaCrawl, who define it under random polling.
	Harmonic
	objectives
)

// String returns the objective's name in lower case.
func (o Objective) String() string {
	if o >= objectives {
		return fmt.Sprintf("objective(%d)", uint8(o))
	}
	return [...]string{"detections", "freshness", "age", "harmonic"}[o]
}

// ParseObjective is the inverse of String.
func ParseObjective(name string) (Objective, error) {
	for o := range objectives {
		if o.String() == name {
			return o, nil
		}
	}
	return 0, fmt.Errorf("%w: no objective is called %q", ErrConfig, name)
}

// Spacing says how polls at a given frequency lie in time.
type Spacing uint8

const (
	// Even leaves the same time between any two polls of a page.
	Even Spacing = iota
	// Random draws each poll's page with probability proportional to its
	// frequency, as the scheduler of Granmo et al. 2006 does.
	Random
	spacings
)

// String returns "even" or "random".
func (s Spacing) String() string {
	if s >= spacings {
		return fmt.Sprintf("spacing(%d)", uint8(s))
	}
	return [...]string{"even", "random"}[s]
}

// SlotRate converts the probability u that a page changes in a time slot into
// the rate −ln(1−u) per slot, at which evenly spaced polls of a page that changes
// with probability u in each slot find as much.
func SlotRate(u float64) float64 { return -math.Log1p(-u) }

// SlotOdds converts the probability u that a page changes in a time slot into
// the rate u/(1−u) per slot. With it the formulas for random polls hold where
// each slot's poll is drawn anew: a page polled with probability x in a slot then
// detects x·u/(u + (1−u)·x) changes per slot.
func SlotOdds(u float64) float64 { return u / (1 - u) }

// Value returns V(x) of a page with change rate rate that is polled x times per
// unit of time: see the table at Objective. For x = 0 it is the limit, −Inf for
// Age and Harmonic unless the rate is 0. It is NaN for negative arguments.
func (o Objective) Value(spacing Spacing, rate, x float64) float64 {
	switch {
	case !(rate >= 0 && x >= 0):
		return math.NaN()
	case rate == 0: // never changes: always current, nothing to detect
		if o == Freshness {
			return 1
		}
		return 0
	case x == 0:
		if o == Age || o == Harmonic {
			return math.Inf(-1)
		}
		return 0
	}
	v := rate / x
	if spacing == Random {
		switch o {
		case Detections:
			return rate / (1 + v)
		case Freshness:
			return 1 / (1 + v)
		case Age:
			return -v / (1 + v) / x
		default:
			return -math.Log1p(v)
		}
	}
	switch o {
	case Detections:
		return -x * math.Expm1(-v)
	case Freshness:
		return -math.Expm1(-v) / v
	case Age:
		return -staleTail(v) / v / rate
	default:
		return -(ein(v) - staleShare(v))
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

// ein is the entire exponential integral Ein(v) = ∫₀^v (1 − e^(−s))/s ds: the
// expected harmonic number of a Poisson variable with mean v.
func ein(v float64) float64 {
	if v > 40 { // e^(−v)/v is below the last bit
		const euler = 0.57721566490153286060651209008240243
		return math.Log(v) + euler
	}
	// Σ_{k≥1} e^(−v)·v^k/k!·H_k has no cancellation; its terms are spent after
	// about v + 10√v of them.
	sum, term, harmonic := 0.0, math.Exp(-v), 0.0
	for k := 1.0; k < 12 || term*harmonic > sum*1e-18; k++ {
		term *= v / k
		harmonic += 1 / k
		sum += term * harmonic
		if term == 0 {
			break
		}
	}
	return sum
}

// Slope returns V'(x), what one more poll per unit of time is worth for a page
// with change rate rate that is polled x times per unit of time: see the table at
// Objective. For x = 0 it is the limit. The slope under Even spacing at
// x = 1/τ is the page's index, τ after its last poll. It is NaN for negative
// arguments.
func (o Objective) Slope(spacing Spacing, rate, x float64) float64 {
	switch {
	case !(rate >= 0 && x >= 0):
		return math.NaN()
	case rate == 0:
		return 0
	}
	s := &slopes[o][spacing]
	v := rate / x
	if v < extreme || v > 1/extreme { // out of the reach of h, x = 0 included
		return math.Exp(s.logFar(math.Log(rate)-math.Log(x)) - float64(s.power)*math.Log(rate))
	}
	return s.h(v) / math.Pow(rate, float64(s.power))
}

// slope is one of the functions h of v = λ/x with V'(x) = h(v)/λ^power.
// h increases from h(0) = 0.
type slope struct {
	power   int
	bounded bool // h(∞) = 1, else ∞
	h       func(v float64) float64
	// inverse returns v with h(v) = y. z = −ln(1−y) where h is bounded, given
	// apart because y near 1 has lost it.
	inverse func(y, z float64) float64
	// h(v) is a·v^p to the last bit where v < extreme, and so it is with the other a
	// and p where v > 1/extreme (a = 1 and p = 0 where h is bounded).
	small, large asymptote
	rest         func(v float64) float64 // −ln(1−h(v)) where h is bounded
}

type asymptote struct{ a, p float64 }

// extreme bounds the numbers that h and its inverse take and give, from below and
// 1/extreme from above: beyond, powers of them are no normal numbers.
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

// logZ returns ln z of the multiplier at which a page of the greatest scale has
// the given v.
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

var slopes = [objectives][spacings]slope{
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
}

func slopeEven(power int) slope {
	return slope{power, true, hEven, hEvenInverse, asymptote{1.0 / 2, 2}, asymptote{1, 0}, restEven}
}

func slopeRandom(power int) slope {
	return slope{power, true, hRandom, hRandomInverse, asymptote{1, 2}, asymptote{1, 0}, restRandom}
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

// newton solves f(v) = y for a convex increasing f. From a guess above the root
// Newton's steps fall monotonically to it, so that a step that does not fall has
// arrived; the guess is doubled until it is above.
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
