package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/enum"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
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
	objectives Objective = optimum.Objectives
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
// negative arguments, and for an objective that there is not.
func (o Objective) Value(spacing Spacing, rate, x float64) float64 {
	if o >= objectives {
		return math.NaN()
	}
	return optimum.Value(int(o), spacing == Random, rate, x)
}

// Slope returns V'(x), what one more poll per unit of time is worth for a page of a change rate
// that is polled x times per unit of time. For x = 0 it is the limit. It is NaN for negative
// arguments, and for an objective that there is not.
func (o Objective) Slope(spacing Spacing, rate, x float64) float64 {
	if o >= objectives {
		return math.NaN()
	}
	return o.curve(spacing).Slope(rate, x)
}

// curve returns what the solver knows of an objective, which has the same number there.
func (o Objective) curve(spacing Spacing) *optimum.Curve {
	return optimum.Of(int(o), spacing == Random)
}
