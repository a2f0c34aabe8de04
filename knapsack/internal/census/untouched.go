package census

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// An Untouched learns how much more or less than expected the pages change that were never known to change,
// beside those that were. Stories and job offers are written some day, are changed for some days, and rest.
// Whoever has seen only that rates jump takes a page that rests for one that may well wake again, and one
// that is not written yet for another such page; but the one has its burst behind it, and the other before it.
//
// With s the logarithm of that ratio, rates of untouched pages are taken to be e^(s/2) times as great, and
// those of others e^(−s/2) times. That fades in, as in the first cycles most pages are untouched. s is 2 at
// most, and −2 at least.
//
// The zero value is not ready: see newUntouched.
type Untouched struct{ correction }

// The features of an Untouched: whether the page is, and whether it is not. Of what is applied only the first
// one counts: half of s, which is taken half a standard deviation nearer to 0.
const (
	untouched = iota
	touched
)

func newUntouched() Untouched { return Untouched{newCorrection()} }

// Shift returns the logarithm of how many times as great as it is taken to be the rate of a page is. fade is
// the part of the correction that is not applied yet.
func (u *Untouched) Shift(wasTouched bool, fade float64) float64 {
	s := bounded((1 - fade) * u.applied[untouched])
	if wasTouched {
		return -s
	}
	return s
}

// Learn takes in the poll of one of n pages that was expected to find a change with some probability, before
// correction. What is applied moves by a part of the distance to what has been learnt, the whole of it with 1.
func (u *Untouched) Learn(chance float64, wasTouched, changed bool, n int, part float64) {
	which := untouched
	if wasTouched {
		which = touched
	}
	var x feature
	x[which] = 1
	u.learn(x, learnable(chance)*fast.Exp(bounded(u.theta[which])), changed, n)
	s := u.theta[untouched] - u.theta[touched]
	unsure := float64(doubt * math.Sqrt(u.covariance[untouched][untouched]+u.covariance[touched][touched]))
	u.apply(feature{untouched: bounded(max(0, s-unsure)+min(0, s+unsure)) / 2}, n, part)
}
