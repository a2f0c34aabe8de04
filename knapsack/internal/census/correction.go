package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A correction learns by how much expected numbers of changes are too high or too low: it multiplies
// them by e^(θ·x), where x are features of a poll. θ is learnt by an extended Kalman filter on the
// likelihood of changed or not. The zero value is not ready: see newCorrection.
type correction struct {
	theta      feature
	covariance [features]feature
	applied    feature // what corrects: an average over some blocks of what was to be applied
	left       countdown
}

const features = 4

// A feature is what a correction depends on: 1, ln v, whether the page had changed, and for how long
// it waited. Waking leaves the second and third at 0.
type feature [features]float64

// awake is the feature of the pages that wait.
const awake = features - 1

// blocks is how often in n polls what has been learnt is applied. If it were at each poll, that would
// move the indices of all pages of 100,000 by as much as 7 to 50 of them are apart, in the first five
// cycles, and the queue would have to find its level anew.
const blocks = 256

// A countdown is how many polls there are to come until what has been learnt is applied.
type countdown uint32

// over counts a poll of one of n pages, and reports whether it was the last of its block.
func (c *countdown) over(n int) bool {
	length := countdown(n / blocks)
	if *c = min(*c, length); *c > 0 {
		*c--
		return false
	}
	*c = length
	return true
}

// These were chosen for Calibration, on recorded histories, at a quarter of and at the budget of the
// examples, by the geometric mean of the detections; values of half and double differ by less than
// 1 %, and a memory of 20 finds 1 to 2 % less. Waking takes the same.
const (
	firstVariance    = 0.25 // of each θ before any poll, and at most
	trust            = 0.5  // how much a poll counts, as pages that change together are less evidence
	correctionMemory = 3    // polls per page
	mostCorrection   = 2    // bound of |θ·x|
	mostWait         = 4    // bound of the feature awake
)

// A pace is how far and for how long a correction learns: the variance of each θ before any poll, which is
// the most that there is, and the memory, in polls per page.
type pace struct{ variance, memory float64 }

// usual is that of Calibration and Waking.
var usual = pace{firstVariance, correctionMemory}

// roundedDown is by how much a square may be below another one for their roots to be in order for
// sure.
const roundedDown = 1 - 1e-9

// mostTheta bounds numbers in saved states.
const mostTheta = 1e100

func newCorrection(p pace) (c correction) {
	for k := range c.covariance {
		c.covariance[k][k] = p.variance
	}
	return c
}

// bounded returns θ·x within its bounds.
func bounded(s float64) float64 { return max(-mostCorrection, min(mostCorrection, s)) }

// expected and learnable return the number of changes to be expected where there are any with some
// probability. That is kept apart from 0 and 1 by as much as beliefs can tell, or one poll.
func expected(chance float64) float64 {
	return fast.Hazard(max(leastChance, min(1-leastChance, chance)))
}
func learnable(chance float64) float64 { return fast.Hazard(max(1e-6, min(1-1e-6, chance))) }

// Times returns the probability of a change where e^s times as many changes as expected are.
func Times(chance, s float64) float64 {
	if s == 0 {
		return chance
	}
	return fast.Chance(expected(chance) * fast.Exp(s))
}

const leastChance = 1e-9

// learn takes in the poll of one of n pages, with some features, before which so many changes were
// expected, as corrected by θ.
func (c *correction) learn(x feature, changes float64, changed bool, n int, p pace) {
	slope, information := evidence(max(1e-6, min(20, changes)), changed)
	var px feature
	xpx := 0.0
	for a := range px {
		for b := range px {
			px[a] += float64(c.covariance[a][b] * x[b])
		}
		xpx += float64(px[a] * x[a])
	}
	gain := 1 / (1 + float64(information*xpx))
	for a := range px {
		c.theta[a] += float64(px[a] * gain * slope)
		for b := range px {
			c.covariance[a][b] -= float64(px[a] * px[b] * (information * gain))
		}
	}
	// Below 0 it is applied as 0, so that polls of quiet pages would push it ever further down.
	c.theta[awake] = max(0, c.theta[awake])
	c.forget(1-1/(p.memory*float64(max(n, 4))), p)
}

// evidence returns the derivative of the log likelihood of a poll by the logarithm of the changes v that were expected,
// and minus the mean of the second one, as far as a poll is trusted.
func evidence(v float64, changed bool) (slope, information float64) {
	none := fast.Exp(-v)
	slope, information = -v, v*v*none/(1-none)
	if changed {
		slope = v * none / (1 - none)
	}
	return slope * trust, information * trust
}

// apply moves what is applied towards some θ, by a part of the distance, at the last poll of each block
// of polls of n pages. It reports whether it did.
func (c *correction) apply(theta feature, n int, part float64) bool {
	if !c.left.over(n) {
		return false
	}
	if part < 1 {
		for a := range c.applied {
			c.applied[a] += float64(part * (theta[a] - c.applied[a]))
		}
	} else {
		c.applied = theta
	}
	return true
}

// forget lets θ drift back to 0, and what is known of it to what was known to begin with.
func (c *correction) forget(keep float64, p pace) {
	for a := range c.theta {
		c.theta[a] *= keep
		for b := range c.theta {
			c.covariance[a][b] *= keep * keep
		}
		c.covariance[a][a] += p.variance * (1 - float64(keep*keep))
	}
	c.bound(p)
}

// bound keeps the covariances within what the variances allow, and these between 0 and what they
// began with, as rounding and saved states might not.
func (c *correction) bound(p pace) {
	for a := range features {
		c.covariance[a][a] = max(0, min(p.variance, c.covariance[a][a]))
		for b := range a {
			x, y, square := c.covariance[a][b], c.covariance[b][a], float64(c.covariance[a][a]*c.covariance[b][b])
			if max(x*x, y*y) < roundedDown*square { // nearly always
				continue
			}
			most := math.Sqrt(square)
			c.covariance[a][b] = max(-most, min(most, x))
			c.covariance[b][a] = max(-most, min(most, y))
		}
	}
}

func (c *correction) encode(e *codec.Encoder) {
	e.Float64s(c.theta[:])
	e.Float64s(c.applied[:])
	e.Uint32(uint32(c.left))
	for k := range c.covariance {
		e.Float64s(c.covariance[k][:])
	}
}

func (c *correction) decode(d *codec.Decoder, p pace) {
	copy(c.theta[:], d.Float64sIn(features, -mostTheta, mostTheta))
	copy(c.applied[:], d.Float64sIn(features, -mostTheta, mostTheta))
	c.left = countdown(d.Uint32())
	for k := range c.covariance {
		copy(c.covariance[k][:], d.Float64sIn(features, -mostTheta, mostTheta))
	}
	// Within its bounds a covariance moves no θ far, so that what has been loaded can be saved.
	within := *c
	within.bound(p)
	d.Require(within == *c, "covariance of a correction out of bounds")
}
