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
// There are two ways to apply that. Times is by how much a page of its kind changes more than expected.
// Shift is for where something else tells that of all pages: with s the logarithm of the ratio of the two
// kinds, less half its standard deviation, rates of untouched pages are taken to be e^(s/2) times as great, and
// those of others e^(−s/2) times. Both fade in, as in the first cycles most pages are untouched, and both
// logarithms are 2 at most, and −2 at least.
//
// The zero value is not ready: see newUntouched.
type Untouched struct{ correction }

// The features of an Untouched: whether the page is, and whether it is not. Of what is applied the first one is
// half of s, and those from whole on are what has been learnt of each kind.
const (
	untouched = iota
	touched
	whole
)

func newUntouched() Untouched { return Untouched{newCorrection()} }

// Times returns the logarithm of how many times as much as expected a page changes. fade is the part of the
// correction that is not applied yet.
func (u *Untouched) Times(wasTouched bool, fade float64) float64 {
	return bounded((1 - fade) * u.applied[whole+kindOfPage(wasTouched)])
}

func kindOfPage(wasTouched bool) int {
	if wasTouched {
		return touched
	}
	return untouched
}

// Shift returns the logarithm of how many times as great as it is taken to be the rate of a page is, beside
// those of the other kind. fade is as in Times.
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
	u.learn(x, learnable(chance)*fast.Exp(bounded(u.theta[which])), changed, n)
	s := u.theta[untouched] - u.theta[touched]
	unsure := float64(doubt * math.Sqrt(u.covariance[untouched][untouched]+u.covariance[touched][touched]))
	u.apply(feature{
		untouched:         bounded(max(0, s-unsure)+min(0, s+unsure)) / 2,
		whole + untouched: bounded(u.theta[untouched]),
		whole + touched:   bounded(u.theta[touched]),
	}, n, part)
}
