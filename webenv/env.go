package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// An Env is a set of pages, numbered 0 to Len()-1, that change as time goes on.
type Env interface {
	// Len returns the number of pages.
	Len() int
	// Poll looks at a page at time now and takes a copy of it. It tells
	// whether the page changed at least once since its previous Poll, or since
	// the start of the environment if this is the first, and the time of the
	// first such change. A change at exactly now is seen. Since is 0 if the
	// page did not change.
	//
	// Poll panics if there is no such page, if now is not finite, or if time
	// went back: now is before the previous Poll of the page (or, in an
	// environment that says so, of any page).
	Poll(page int, now float64) (since float64, changed bool)
}

// A Rater is an environment that knows how fast its pages change.
type Rater interface {
	// Rate returns the rate λ at which a page changes at time now, per unit of
	// time: it stays unchanged over a short gap g with probability exp(−λg).
	// The rate is +Inf for a page that changes in every slot.
	Rate(page int, now float64) float64
}

// A LastChanger is an environment that knows when a page last changed, as a
// [Replay] does.
type LastChanger interface {
	// LastChange returns the time of the last change of a page that is not
	// after now, and false if it does not know one. Unlike Poll it alters
	// nothing. It is called with the time of the last Poll of the page.
	LastChange(page int, now float64) (t float64, ok bool)
}

// A SlotLaw says what it means that a page changes "with probability u per
// slot". A slot is one unit of time: slot j is the interval (j−1, j]. Under
// both laws a page stays unchanged over g whole slots with probability
// (1−u)^g.
type SlotLaw uint8

const (
	// AtMostOnce is the law of the papers: independently in each slot, a page
	// changes once with probability u, else not at all. The change comes at
	// the end of the slot, so that slot j changes the page at time j exactly. A
	// poll at time now, the previous one at time last, sees the slots
	// ⌊last⌋+1 to ⌊now⌋: those that end after last and not after now.
	AtMostOnce SlotLaw = iota
	// PoissonInSlot lets a page change at any time and any number of times, as
	// a Poisson process of rate −ln(1−u) per slot.
	PoissonInSlot
)

func (l SlotLaw) check() error {
	if l > PoissonInSlot {
		return fmt.Errorf("%w: slot law %d", ErrConfig, l)
	}
	return nil
}

// first draws the time of the first change after time t of a page with the
// given rate −ln(1−u).
func (l SlotLaw) first(t, rate float64, rng *rand.Rand) float64 {
	if rate == 0 {
		return math.Inf(1)
	}
	gap := rng.ExpFloat64() / rate
	if l == AtMostOnce {
		// The whole part of an exponential variable is a geometric one.
		return math.Floor(t) + 1 + math.Floor(gap)
	}
	return t + gap
}

// slotRate returns the rate −ln(1−u) of a probability per slot.
func slotRate(u float64) float64 { return -math.Log1p(-u) }

// newRand rejects a nil source, which the caller could have known.
func newRand(src rand.Source) *rand.Rand {
	if src == nil {
		panic("webenv: nil source of randomness")
	}
	return rand.New(src)
}

// random draws from a source that can be saved.
type random struct {
	*rand.Rand
	src rand.Source
}

func newRandom(src rand.Source) random { return random{newRand(src), src} }

// checkTime panics unless now is finite and not before last.
func checkTime(page int, now, last float64) {
	if !(now >= last && now <= math.MaxFloat64) {
		badTime(page, now, last)
	}
}

func badTime(page int, now, last float64) {
	panic(fmt.Sprintf("webenv: poll of page %d at time %v after time %v", page, now, last))
}

func checkProbabilities(u []float64) error {
	if len(u) == 0 {
		return ErrNoPages
	}
	for i, p := range u {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("%w: page %d: %v", ErrProbability, i, p)
		}
	}
	return nil
}

func checkRates(rates []float64) error {
	if len(rates) == 0 {
		return ErrNoPages
	}
	for i, r := range rates {
		if !(r >= 0 && r <= math.MaxFloat64) {
			return fmt.Errorf("%w: page %d: %v", ErrRate, i, r)
		}
	}
	return nil
}
