package census

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// An Untouched learns how much more or less than expected the pages change that were never known to change,
// and those that were. Stories and job offers are written some day, are changed for some days, and rest.
// Whoever has seen only that rates jump takes a page that rests for one that may well wake again, and one
// that is not written yet for another such page; but the one has its burst behind it, and the other before it.
//
// There are two ways to apply that. Times is by how much a page of its kind changes more than expected,
// between e^−4 and e^4: of most webs many pages never change, more surely than any page can tell of itself.
// Shift is for where something else tells that of all pages: with s the logarithm of the ratio of the two
// kinds, less half its standard deviation, rates of untouched pages are taken to be e^(s/2) times as great, and
// those of others e^(−s/2) times; s is within ±2, and fades in, as in the first cycles most pages are untouched.
//
// The zero value is not ready: see newUntouched.
type Untouched struct {
	correction
	pace pace // not saved
}

// The features of an Untouched: whether the page is, and whether it is not. Of what is applied the first one is
// half of s, and those from whole on are what has been learnt of each kind.
const (
	untouched = iota
	touched
	whole
)

func newUntouched(calibrated bool) Untouched {
	p := paceOf(calibrated)
	return Untouched{newCorrection(p), p}
}

func paceOf(calibrated bool) pace {
	if calibrated {
		return usual
	}
	return patient
}

// patient is the pace of an Untouched of which Times is asked for. With it, in place of the usual one within ±2 that
// fades in as Shift does, staleness is .87 and .88 of what it was over 6 and 20 polls a page where 95 % of 300 pages
// never change, and .95 and .91 where 80 % do not; the delay .70 and .67, and .98 and .85 (four webs each). On four
// recorded histories both are the same but for chance (.998 and .992, with groups 1.004 and 1.010, two runs).
var patient = pace{variance: 1, memory: 30}

// mostTimes bounds the logarithm of Times.
const mostTimes = 4

// Times returns the logarithm of how many times as much as expected a page changes.
func (u *Untouched) Times(wasTouched bool) float64 {
	return farBounded(u.applied[whole+kindOfPage(wasTouched)])
}

func farBounded(s float64) float64 { return max(-mostTimes, min(mostTimes, s)) }

func kindOfPage(wasTouched bool) int {
	if wasTouched {
		return touched
	}
	return untouched
}

// Shift returns the logarithm of how many times as great as it is taken to be the rate of a page is, beside
// those of the other kind. fade is the part of it that is not applied yet.
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
	which := kindOfPage(wasTouched)
	var x feature
	x[which] = 1
	u.learn(x, learnable(chance)*fast.Exp(farBounded(u.theta[which])), changed, n, u.pace)
	s := u.theta[untouched] - u.theta[touched]
	unsure := float64(doubt * math.Sqrt(u.covariance[untouched][untouched]+u.covariance[touched][touched]))
	u.apply(feature{
		untouched:         bounded(max(0, s-unsure)+min(0, s+unsure)) / 2,
		whole + untouched: farBounded(u.theta[untouched]),
		whole + touched:   farBounded(u.theta[touched]),
	}, n, part)
}
