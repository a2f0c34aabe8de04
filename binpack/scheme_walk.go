package binpack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/enum"
)

// A PageWalk decides when a poll moves the walk of a page in a [Scheme]. A poll that finds a change
// moves the walk up a state, any other poll down a state. The walks differ in where the frequency x
// settles if the page changes with probability P in each slot; see [SchemeConfig.MeanFrequency].
type PageWalk uint8

const (
	// AsDescribed moves with every poll (Yazidi 2006, section 4.2). It settles around x = P/(1−P).
	AsDescribed PageWalk = iota
	// LessBiased moves up only with probability 1−x. Its drift is zero at x = P. Its mean is
	// somewhat below P, or above P if P is near the lowest frequency or below it.
	LessBiased
	// Unbiased moves up and down with probabilities that bring the mean of x close to P, from
	// above, if P is well above the lowest frequency. With 8 states the mean is .3253 at P = .3 and
	// .1866 at P = .1; with 16 states .3017 and .1284. For LessBiased it is .2735 and .1655 with 8
	// states, .2669 and .1084 with 16.
	Unbiased
)

var pageWalks = enum.Of[PageWalk](ErrConfig, "as described", "less biased", "unbiased")

// String returns the name of the walk.
func (w PageWalk) String() string { return pageWalks.String(w) }

// MarshalText returns the name that String gives.
func (w PageWalk) MarshalText() ([]byte, error) { return pageWalks.MarshalText(w) }

// UnmarshalText reads the name that String gives.
func (w *PageWalk) UnmarshalText(text []byte) error { return pageWalks.UnmarshalText(w, text) }

// steps returns the probabilities of moving up and down from each state. The last of the
// frequencies x must be 1.
func (w PageWalk) steps(x []float64) (up, down []float64) {
	up, down = make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		up[i], down[i] = 1, 1
		if w == LessBiased {
			up[i] = 1 - x[i]
		}
	}
	if w == Unbiased {
		above := 0. // the ratio ρ of the state above
		for i := len(x) - 1; i > 0; i-- {
			ratio := (1 - x[i-1]) * x[i] / (x[i-1] * (x[i] + above))
			up[i-1], down[i] = min(ratio, 1), min(1/ratio, 1)
			above = ratio
		}
	}
	return up, down
}

// amounts returns the frequency of each state.
func amounts(w *automata.Walk, states int) []float64 {
	x := make([]float64, states)
	for i := range x {
		x[i] = w.Amount(i + 1)
	}
	return x
}

// MeanFrequency returns the stationary mean of the frequency x of a page that changes with
// probability P in each slot. It computes it from the birth-death chain of the walk. The error is
// [ErrConfig] for P outside [0, 1] and for settings out of range. O(States).
//
// # How it works
//
// While a page stays in a state, its frequency x is constant. So the number of slots from one poll
// to the next is geometric, and a poll finds a change with probability
//
//	d(x) = 1 − E(1−P)^gap = P / (P + (1−P)x).
//
// Let u be the probability that the walk moves up after a change, and v that it moves down after no
// change. In a slot it goes up at rate x·d·u and down at rate x·(1−d)·v.
//
// [AsDescribed], u = v = 1: the rates are equal where d = 1/2, that is at x = P/(1−P) and not at
// x = P.
//
// [LessBiased], u = 1−x, v = 1: the rates are equal where d(1−x) = 1−d. Since 1−d = (1−P)x/(P +
// (1−P)x), that is where P(1−x) = (1−P)x: at x = P.
//
// In both walks the mean differs from this point, because of the spread over the states and of the
// ends of the walk. The fewer states there are below P, the larger is the difference.
//
// [Unbiased]: state s has the stationary probability π(s) ∝ g(s)·r^s·(r + x(s)), where r = P/(1−P).
// g does not depend on P: g(s)/g(s−1) = x(s−1)u(s−1) / (x(s)²v(s)). With the powers of r collected,
// the mean of x − P is, up to a factor, the sum over s of
//
//	r^s · (x(s)²g(s) + x(s−1)²g(s−1) − (1−x(s−2))g(s−2))
//
// All terms from s = 3 on vanish, whatever P is, if
//
//	ρ(s) = u(s−1)/v(s) = (1−x(s−1))·x(s) / (x(s−1)·(x(s) + ρ(s+1))),  ρ(N+1) = 0,
//
// and u or v is 1. The first two terms remain. They give exactly
//
//	E x − P = π(1) · x(1)(1−P)(x(1) + P·ρ(2)) / (P + (1−P)x(1)),
//
// because no frequency is below x(1). It is positive and at most about π(1)·x(1): with λ = 1 and
// N = 16, .028 at P = .1 and .0017 at P = .3; with N = 64, .0002 at P = .1.
func (c SchemeConfig) MeanFrequency(change float64) (float64, error) {
	if !(change >= 0 && change <= 1) {
		return 0, fmt.Errorf("%w: probability %v", ErrConfig, change)
	}
	if err := pageWalks.Check(c.Walk); err != nil {
		return 0, err
	}
	c = c.resolve()
	if c.States > math.MaxUint16 {
		return 0, fmt.Errorf("%w: %d states", ErrConfig, c.States)
	}
	pi, x, err := c.stationary(change)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	mean := 0.0
	for i, share := range pi {
		mean += float64(share * x[i])
	}
	return mean, nil
}

// stationary returns the stationary probability and the frequency of each state, for resolved
// settings.
func (c SchemeConfig) stationary(change float64) (pi, x []float64, err error) {
	walk, err := automata.NewWalk(c.States, c.Lambda)
	if err != nil {
		return nil, nil, err
	}
	x = amounts(walk, c.States)
	up, down := c.Walk.steps(x)
	for i, x := range x {
		d := change / (change + float64((1-change)*x))
		up[i] *= x * d
		down[i] *= x * (1 - d)
	}
	pi, err = automata.BirthDeath(up, down)
	return pi, x, err
}
