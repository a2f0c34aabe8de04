package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/enum"
)

// An Objective is what a polling schedule maximises. The zero value is Freshness: copies are
// current as much of the time as possible, for search, monitors and archives. It is also the safe
// choice where nothing is known of the pages, as it wastes no polls on pages that change faster
// than they can be followed: counters, clocks, session ids. Detections finds as many changes as
// possible, wherever they are; take it to count versions. Delay suits feeds, prices and releases,
// where each change is news. Age suits search where long staleness is worse than short; Harmonic
// lies between Freshness and Delay.
//
// # How it works
//
// A page changes as a Poisson process with rate λ and is polled x times per unit of time. Its
// value V(x) is concave and increasing in x. With v = λ/x the value and its slope V'(x) are, for
// polls at even intervals,
//
//	Detections  x·(1 − e^(−v))                        1 − (1+v)·e^(−v)
//	Freshness   (1 − e^(−v))/v                       (1 − (1+v)·e^(−v)) / λ
//	Age         −[v/2 − 1 + (1 − e^(−v))/v] / λ      (v²/2 − 1 + (1+v)·e^(−v)) / λ²
//	Harmonic    −[Ein(v) − 1 + (1 − e^(−v))/v]       (v − 1 + e^(−v)) / λ
//	Delay       −v/2                                (v²/2) / λ
//
// and for polls at random times (a Poisson process of rate x)
//
//	Detections  x·λ/(x+λ)                             (v/(1+v))²
//	Freshness   x/(x+λ)                              (v/(1+v))² / λ
//	Age         −λ/(x·(x+λ))                         (v² − (v/(1+v))²) / λ²
//	Harmonic    ln(x/(x+λ))                          (v²/(1+v)) / λ
//	Delay       −v                                  v² / λ
//
// Every slope is a function of v alone over a power of λ, which is what Problem.Optimal solves.
// The slope under even spacing is also an index: with v = λτ, τ the time since a page's last
// poll, polling always the page with the greatest slope attains the optimum.
type Objective uint8

const (
	// Freshness is the share of time for which the copy is current. Source: Cho and Garcia-Molina
	// 2003; under random polling, Azar et al. 2018.
	Freshness Objective = iota
	// Detections is the number of polls per unit of time that find a change. Source: Granmo,
	// Oommen, Myrer, Olsen 2006, section III.
	Detections
	// Age is minus the mean time since the first change that the copy lacks, 0 while the copy is
	// current. Source: Cho and Garcia-Molina 2003.
	Age
	// Harmonic is minus the mean of 1 + 1/2 + … + 1/k, where k is the number of changes that the
	// copy lacks: the k-th change missed costs 1/k. Source: LambdaCrawl, Kolobov et al. 2019, who
	// define it under random polling.
	Harmonic
	// Delay is minus the sum, over the changes of a unit of time, of the time until a poll finds
	// them: λ/(2x) under even polling. Every change counts, also one that is not the first since
	// a poll, so that the least sum is the least mean delay of a change. The optimum has x
	// proportional to the root of the weight times λ.
	Delay
	objectives
)

var objectiveNames = enum.Of[Objective](ErrConfig, "freshness", "detections", "age", "harmonic", "delay")

// String returns "freshness", "detections", "age", "harmonic" or "delay".
func (o Objective) String() string { return objectiveNames.String(o) }

// MarshalText returns the name that String gives.
func (o Objective) MarshalText() ([]byte, error) { return objectiveNames.MarshalText(o) }

// UnmarshalText reads the name that String gives.
func (o *Objective) UnmarshalText(text []byte) error { return objectiveNames.UnmarshalText(o, text) }

// Value returns V(x) of a page of a change rate that is polled x times per unit of time. For x =
// 0 it is the limit, which is −Inf for Age, Harmonic and Delay unless the rate is 0. It is NaN for
// negative arguments.
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
		if o >= Age {
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
		case Delay:
			return -v
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
	case Delay:
		return -v / 2
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

// ein is the entire exponential integral Ein(v) = ∫₀^v (1 − e^(−s))/s ds: the expected harmonic
// number of a Poisson variable with mean v.
func ein(v float64) float64 {
	if v > 40 { // e^(−v)/v is below the last bit
		const euler = 0.57721566490153286060651209008240243
		return math.Log(v) + euler
	}
	// Σ_{k≥1} e^(−v)·v^k/k!·H_k has no cancellation; its terms are spent after about v + 10√v of
	// them.
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

// Slope returns V'(x), what one more poll per unit of time is worth for a page of a change rate
// that is polled x times per unit of time. For x = 0 it is the limit. It is NaN for negative
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
