package census

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Waking learns whether pages that wait change more than one expects of them: files that are written
// long after the crawl began, packages that are taken up again. What is known of each says that it is
// quiet, and it is polled too seldom to find out by itself. After a gap of τ cycles the expected number
// of changes is e^s times as much, with
//
//	s = (1 − fade)·θ·½·ln(1+τ²),
//
// so that after long gaps it is about τ^θ times as much. In the first cycles gaps tell little of long
// ones, and nothing is applied to begin with. By how much what is expected of all pages is off is
// learnt beside θ, so that it is not taken for the waiting, but is not applied.
//
// A power of τ from one cycle on would do as well. But most gaps of the second and third cycle are hardly
// longer than that, and the indices of many pages would move with θ: what Next picks of 20,000 bursty
// pages is worth .984 of the best then, and .992 with the square (-run NearlyExact -exact, 1/80 poll a
// page and day). Fading in makes it .994, and with 100,000 pages .980 in place of .964.
//
// The zero value is not ready: see newWaking.
type Waking struct{ correction }

const (
	// doubt is how many of its standard deviations θ is applied less than it was found to be. Without,
	// the delay is 1 % longer where rates stay, and 5 % less in place of 3 where pages wake
	// (go test ./knapsack -v -run TestPagesThat -exact).
	doubt = 0.5
	// mostPower bounds θ. In the second and third cycle it would be 4 to 6, and choices worth .92 of the
	// best.
	mostPower = 1.5
)

func newWaking() Waking { return Waking{newCorrection(usual)} }

// waitOf is the feature ½·ln(1+τ²).
func waitOf(gap float64) float64 { return min(mostWait, 0.5*fast.Log(1+float64(gap*gap))) }

// Times returns how many times as many changes as expected there are after a gap of so many cycles.
// fade is the part of the correction that is not applied yet.
func (w *Waking) Times(gap, fade float64) float64 {
	if !(w.applied[awake] > 0) {
		return 1
	}
	return fast.Exp(bounded(float64((1-fade)*w.applied[awake]) * waitOf(gap)))
}

// Correct returns the corrected probability of a change, see Times.
func (w *Waking) Correct(chance, gap, fade float64) float64 {
	return fast.Chance(expected(chance) * w.Times(gap, fade))
}

// Learn takes in the poll of one of n pages, after a gap of so many cycles, that was expected to find
// a change with some probability. What is applied moves by a part of the distance to what has been
// learnt, the whole of it with 1.
func (w *Waking) Learn(chance, gap float64, changed bool, n int, part float64) {
	x := feature{1}
	x[awake] = waitOf(gap)
	s := bounded(w.theta[0] + float64(w.theta[awake]*x[awake]))
	w.learn(x, learnable(chance)*fast.Exp(s), changed, n, usual)
	sure := w.theta[awake] - float64(doubt*math.Sqrt(w.covariance[awake][awake]))
	w.apply(feature{awake: max(0, min(mostPower, sure))}, n, part)
}
