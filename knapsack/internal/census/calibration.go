package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Calibration learns by how much probabilities of change are too high or too low, from what
// polls find. It corrects the expected number of changes v = −ln(1−p) to v·e^s with
//
//	s = θ₀ + θ₁·ln v + θ₂·[the page had changed at the poll before] + max(0, θ₃)·ln max(1, τ)
//
// after a gap of τ cycles. The first three terms are for the first few cycles of a run: the beliefs
// about pages are flat then, and the poll that looks best is one of those that are judged too well.
// Later they are judged by what they did themselves, and these terms fade out.
//
// The last one is for pages that wake: files that are written long after the crawl began, packages
// that are taken up again. What is known of them says that they are quiet, and each is polled too
// seldom to find out by itself. It stays. Where pages that wait long change less than one expects it
// is 0, as polls of them are how busy ones are found.
//
// θ is learnt by an extended Kalman filter on the likelihood of changed or not. The zero value is
// not ready: see newCalibration.
type Calibration struct {
	theta      feature
	covariance [features]feature
	applied    feature // average of θ over some blocks, which corrects
	left       uint32  // polls of the block to come
}

const features = 4

// blocks is how often in n polls what has been learnt is applied. If it were at each poll, that would
// move the indices of all pages of 100,000 by as much as 7 to 50 of them are apart, in the first five
// cycles, and the queue would have to find its level anew.
const blocks = 256

// awake is the feature of the pages that wait.
const awake = features - 1

// A feature is what a correction depends on: 1, ln v, whether the page had changed, and ln τ.
type feature [features]float64

// All of them were chosen on recorded histories, at a quarter of and at the budget of the
// examples, by the geometric mean of the detections; values of half and double differ by less than
// 1 %, and a memory of 20 finds 1 to 2 % less.
const (
	calibrationVariance = 0.25 // of each θ before any poll, and at most
	calibrationTrust    = 0.5  // how much a poll counts, as pages that change together are less evidence
	calibrationMemory   = 3    // polls per page
	mostCalibration     = 2    // bound of |s|
	leastLog, mostLog   = -5, 2
	mostWait            = 4 // bound of ln τ
)

// roundedDown is by how much a square may be below another one for their roots to be in order for
// sure.
const roundedDown = 1 - 1e-9

// mostTheta bounds numbers in saved states.
const mostTheta = 1e100

func newCalibration() (c Calibration) {
	for k := range c.covariance {
		c.covariance[k][k] = calibrationVariance
	}
	return c
}

func featuresOf(changes, gap float64, changedLast bool) (x feature) {
	x[0] = 1
	x[1] = logOf(changes)
	if changedLast {
		x[2] = 1
	}
	if gap > 1 {
		x[awake] = logWait(gap)
	}
	return x
}

// logOf and logWait are the features ln v and ln τ.
func logOf(changes float64) float64 { return max(leastLog, min(mostLog, fast.Log(changes))) }
func logWait(gap float64) float64   { return min(mostWait, fast.Log(gap)) }

// shift returns s for a θ, of which fade is the part of the terms that fade out. It goes through the features
// of featuresOf without an array of them, as each index asks for it.
func (theta *feature) shift(changes, gap float64, changedLast bool, fade float64) (s float64) {
	s = theta[0] + float64(theta[1]*logOf(changes))
	if changedLast {
		s += theta[2]
	}
	s = float64(s * fade)
	if gap > 1 {
		s += float64(max(0, theta[awake]) * logWait(gap))
	}
	return max(-mostCalibration, min(mostCalibration, s))
}

// Correct returns the corrected probability of a change in a gap of so many cycles. fade is the
// part that is applied of the terms that fade out.
func (c *Calibration) Correct(chance, gap float64, changedLast bool, fade float64) float64 {
	changes := fast.Hazard(max(leastChance, min(mostChance, chance)))
	return fast.Chance(changes * fast.Exp(c.applied.shift(changes, gap, changedLast, fade)))
}

// Probabilities are kept apart from 0 and 1 by as much as beliefs can tell.
const (
	leastChance = 1e-9
	mostChance  = 1 - 1e-9
)

// Learn takes in the poll of one of n pages, after a gap of so many cycles, that was expected to
// find a change with some probability, before correction. It reports whether corrections are other
// ones from now on: what is applied moves by a part of the distance to θ, the whole of it with 1.
func (c *Calibration) Learn(chance, gap float64, changedLast, changed bool, fade float64, n int,
	part float64) bool {
	chance = max(1e-6, min(1-1e-6, chance))
	changes := fast.Hazard(chance)
	x := featuresOf(changes, gap, changedLast)
	v := max(1e-6, min(20, changes*fast.Exp(c.theta.shift(changes, gap, changedLast, fade))))
	none := fast.Exp(-v)
	// The derivative of the log likelihood by s, and minus the mean of the second one.
	slope, information := -v, v*v*none/(1-none)
	if changed {
		slope = v * none / (1 - none)
	}
	slope *= calibrationTrust
	information *= calibrationTrust
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
	c.forget(1 - 1/(calibrationMemory*float64(max(n, 4))))
	if c.left = min(c.left, uint32(n/blocks)); c.left > 0 {
		c.left--
		return false
	}
	if part < 1 {
		for a := range c.applied {
			c.applied[a] += float64(part * (c.theta[a] - c.applied[a]))
		}
	} else {
		c.applied = c.theta
	}
	c.left = uint32(n / blocks)
	return true
}

// forget lets θ drift back to 0, and what is known of it to what was known to begin with.
func (c *Calibration) forget(keep float64) {
	for a := range c.theta {
		c.theta[a] *= keep
		for b := range c.theta {
			c.covariance[a][b] *= keep * keep
		}
		c.covariance[a][a] += calibrationVariance * (1 - float64(keep*keep))
	}
	c.bound()
}

// bound keeps the covariances within what the variances allow, and these between 0 and what they
// began with, as rounding and saved states might not.
func (c *Calibration) bound() {
	for a := range features {
		c.covariance[a][a] = max(0, min(calibrationVariance, c.covariance[a][a]))
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

func (c *Calibration) encode(e *codec.Encoder) {
	e.Float64s(c.theta[:])
	e.Float64s(c.applied[:])
	e.Uint32(c.left)
	for k := range c.covariance {
		e.Float64s(c.covariance[k][:])
	}
}

func (c *Calibration) decode(d *codec.Decoder) {
	copy(c.theta[:], d.Float64sIn(features, -mostTheta, mostTheta))
	copy(c.applied[:], d.Float64sIn(features, -mostTheta, mostTheta))
	c.left = d.Uint32()
	for k := range c.covariance {
		copy(c.covariance[k][:], d.Float64sIn(features, -mostTheta, mostTheta))
	}
	// Within its bounds a covariance moves no θ far, so that what has been loaded can be saved.
	bounded := *c
	bounded.bound()
	d.Require(bounded == *c, "covariance of a calibration out of bounds")
}
