package census

import "github.com/recrawl/recrawl/knapsack/internal/fast"

// A Calibration learns by how much probabilities of change are too high or too low, from what
// polls find. It corrects the expected number of changes v = −ln(1−p) to v·e^s with
//
//	s = θ₀ + θ₁·ln v + θ₂·[the page had changed at the poll before] + max(0, θ₃)·ln max(1, τ)
//
// after a gap of τ cycles. The first three terms are for the first few cycles of a run: the beliefs
// about pages are flat then, and the poll that looks best is one of those that are judged too well.
// Later they are judged by what they did themselves, and these terms fade out. The last one, for
// pages that wake (see Waking), stays.
//
// The zero value is not ready: see newCalibration.
type Calibration struct{ correction }

// Bounds of ln v, far beyond where most polls are. They were not swept.
const leastLog, mostLog = -5, 2

func newCalibration() Calibration { return Calibration{newCorrection(usual)} }

func featuresOf(changes, gap float64, changedLast bool) (x feature) {
	x[0] = 1
	x[1] = logOf(changes)
	if changedLast {
		x[2] = 1
	}
	if gap > 1 {
		x[awake] = logGap(gap)
	}
	return x
}

// logOf is the feature ln v.
func logOf(changes float64) float64 { return max(leastLog, min(mostLog, fast.Log(changes))) }

// logGap is the feature ln τ.
func logGap(gap float64) float64 { return min(mostWait, fast.Log(gap)) }

// An Opinion is a second one of how often a page changes, beside the belief about it: Rate is the logarithm
// of the changes that are expected by it. Where v are expected by the belief, v^(1−Weight)·e^(Rate·Weight)
// are in all.
type Opinion struct{ Rate, Weight float64 }

// shift returns s for a θ, of which fade is the part of the terms that fade out. It goes through the features
// of featuresOf without an array of them, as each index asks for it.
func (theta *feature) shift(changes, gap float64, changedLast bool, fade float64) (s float64) {
	s = theta[0] + float64(theta[1]*logOf(changes))
	if changedLast {
		s += theta[2]
	}
	s = float64(s * fade)
	if gap > 1 {
		s += float64(max(0, theta[awake]) * logGap(gap))
	}
	return bounded(s)
}

// Correct returns the corrected probability of a change in a gap of so many cycles. fade is the
// part that is applied of the terms that fade out, and more is what else is added to s.
func (c *Calibration) Correct(chance, gap float64, changedLast bool, fade, more float64, other Opinion) float64 {
	changes := expected(chance)
	s := c.applied.shift(changes, gap, changedLast, fade) + more
	if other.Weight > 0 {
		s += float64(other.Weight * (other.Rate - (fast.Log(changes) + s)))
	}
	return fast.Chance(changes * fast.Exp(s))
}

// Learn takes in the poll of one of n pages, after a gap of so many cycles, that was expected to
// find a change with some probability, before correction. It reports whether corrections are other
// ones from now on: what is applied moves by a part of the distance to θ, the whole of it with 1.
func (c *Calibration) Learn(chance, gap float64, changedLast, changed bool, fade float64, n int,
	part float64) bool {
	changes := learnable(chance)
	x := featuresOf(changes, gap, changedLast)
	c.learn(x, changes*fast.Exp(c.theta.shift(changes, gap, changedLast, fade)), changed, n, usual)
	return c.apply(c.theta, n, part)
}
