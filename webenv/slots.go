package webenv

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/enum"
)

// A SlotLaw defines what it means that a page changes "with probability u per slot". A slot is one
// unit of time: slot j is the interval (j−1, j]. Under both laws a page stays unchanged over g
// whole slots with probability (1−u)^g.
type SlotLaw uint8

const (
	// AtMostOnce is the law of the papers: in each slot, independently, a page changes once with
	// probability u, or not at all. The change comes at the end of the slot, so slot j changes the
	// page exactly at time j. If the previous poll was at time last, a poll at time now sees the
	// slots ⌊last⌋+1 to ⌊now⌋: those that end after last and not after now.
	AtMostOnce SlotLaw = iota
	// PoissonInSlot lets a page change at any time and any number of times, as a Poisson process of
	// rate −ln(1−u) per slot. If u = 1 the rate is infinite: the page changes without end, right
	// after each poll, and Result.Delay is NaN.
	PoissonInSlot
)

var slotLaws = enum.Of[SlotLaw](ErrConfig, "at most once", "poisson")

// String returns the name of the law.
func (l SlotLaw) String() string { return slotLaws.String(l) }

// MarshalText returns the name that String gives.
func (l SlotLaw) MarshalText() ([]byte, error) { return slotLaws.MarshalText(l) }

// UnmarshalText reads the name that String gives.
func (l *SlotLaw) UnmarshalText(text []byte) error { return slotLaws.UnmarshalText(l, text) }

// first draws the time of the first change after time t of a page with the given rate −ln(1−u).
func (l SlotLaw) first(t, rate float64, rng *rand.Rand) float64 {
	if rate == 0 {
		return math.Inf(1)
	}
	gap := rng.ExpFloat64() / rate
	if l == AtMostOnce {
		// The whole part of an exponential variable is a geometric one.
		return math.Floor(t) + 1 + math.Floor(gap)
	}
	if t+gap == t { // the gap is zero, or less than the spacing of floats
		return math.Nextafter(t, math.Inf(1))
	}
	return t + gap
}

// delays returns, for a page with the given rate −ln(1−u), the expected number of changes after
// time t and up to end, and the expected sum of the times from each of them to now.
func (l SlotLaw) delays(rate, t, end, now float64) (changes, delay float64) {
	if l == AtMostOnce {
		first, last := math.Floor(t)+1, math.Floor(end)
		changes = -math.Expm1(-rate) * (last - first + 1)
		return changes, changes * (now - (first+last)/2)
	}
	changes = rate * (end - t)
	return changes, changes * (now - (t+end)/2)
}

// slotRate returns the rate −ln(1−u) of a probability per slot.
func slotRate(u float64) float64 { return -math.Log1p(-u) }
