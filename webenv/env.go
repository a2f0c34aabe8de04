package webenv

import (
	"encoding"
	"fmt"
	"math"
)

// An Env is a set of pages, numbered 0 to Len()-1, that change as time goes on. Poll looks at one
// of them.
//
// An environment may know more about its pages. Of the following methods, [Replay] has all. Those
// of [NewSlots] and [NewPoisson] have Rate and Delays, those of [NewZipf] and [NewBursty] only
// Rate, so that Result.Delay is NaN with them:
//
//	// Rate returns the rate λ at which a page changes at time now, per unit of time: it
//	// stays unchanged over a short gap g with probability exp(−λg). The rate is +Inf for
//	// a page that changes in every slot.
//	Rate(page int, now float64) float64
//
//	// Delays returns how many changes a page had between since and now, both included,
//	// and the sum of the times from each of them to now. since is the time of the first
//	// change that a Poll at time now or later found. An environment that draws its changes
//	// at random returns expected values, given that first change. It alters nothing.
//	Delays(page int, since, now float64) (changes, delay float64)
//
//	// LastChange returns the time of the last change of a page up to time now. ok is false
//	// if it does not know one. Unlike Poll it alters nothing. It is called with the time of
//	// the last Poll of the page.
//	LastChange(page int, now float64) (t float64, ok bool)
//
// [Run] accounts for delays if there is a method Delays. Package serve uses the other two.
type Env interface {
	// Len returns the number of pages.
	Len() int
	// Poll looks at a page at time now and takes a copy of it. changed reports whether the page
	// changed at least once since its previous Poll, or since the start of the environment if this
	// is the first Poll. since is the time of the first such change, or 0 if there was none. A
	// change at exactly now is seen.
	//
	// Poll panics if there is no such page, if now is not finite, or if now is before the previous
	// Poll of the page. In an environment that says so, now must not be before the previous Poll of
	// any page.
	Poll(page int, now float64) (since float64, changed bool)
}

// A Simulated environment draws its changes at random, knows its rates, and can be saved in the
// middle of a run. [NewZipf], [NewSlots], [NewPoisson] and [NewBursty] make one. It starts at
// time 0.
type Simulated interface {
	Env
	// Rate is described with Env.
	Rate(page int, now float64) float64

	// MarshalBinary saves the state, including that of the source of randomness. The source must be
	// a *rand.PCG or a *rand.ChaCha8: no other can be saved. UnmarshalBinary restores the state
	// into an environment made by the same constructor, which takes over the settings of the saved
	// one and continues bit for bit (in the same build on the same kind of processor). An error
	// wraps ErrCorrupt and leaves the environment as it was.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// A delayer is an environment that knows about every change: see [Env].
type delayer interface {
	Delays(page int, since, now float64) (changes, delay float64)
}

// checkTime panics unless now is finite and not before last.
func checkTime(page int, now, last float64) {
	if !(now >= last && now <= math.MaxFloat64) {
		badTime(page, now, last)
	}
}

func badTime(page int, now, last float64) {
	panic(fmt.Sprintf("webenv: poll of page %d at time %v after time %v", page, now, last))
}

func checkProbabilities(u []float64) error { return checkPages("probability", u, 1) }

func checkRates(rates []float64) error { return checkPages("rate", rates, math.MaxFloat64) }

// checkPages requires a value from 0 to most for each of some pages.
func checkPages(name string, values []float64, most float64) error {
	if len(values) == 0 {
		return ErrNoPages
	}
	for i, v := range values {
		if !(v >= 0 && v <= most) {
			return fmt.Errorf("%w: page %d: %s %v", ErrConfig, i, name, v)
		}
	}
	return nil
}
