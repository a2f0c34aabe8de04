package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/enum"
)

// Spacing is how the polls of a page lie in time. The zero Spacing stands for the usual one: Random
// for LAKG, which draws as its paper does, and Even for everything else. At the same frequencies
// even spacing detects 10 to 28 % more changes than random spacing.
type Spacing uint8

const (
	// Even leaves the same time between any two polls of a page.
	Even Spacing = iota + 1
	// Random draws each poll's page with probability proportional to its frequency, as the
	// scheduler of Granmo et al. 2006 does.
	Random
	spacings
)

var spacingNames = enum.Of[Spacing](ErrConfig, "default", "even", "random")

// String returns "default", "even" or "random".
func (s Spacing) String() string { return spacingNames.String(s) }

// MarshalText returns the name that String returns.
func (s Spacing) MarshalText() ([]byte, error) { return spacingNames.MarshalText(s) }

// UnmarshalText is the inverse of MarshalText.
func (s *Spacing) UnmarshalText(text []byte) error { return spacingNames.UnmarshalText(s, text) }

// or returns the spacing, or the usual one if it is 0.
func (s Spacing) or(usual Spacing) Spacing {
	if s == 0 {
		return usual
	}
	return s
}

// SlotRate converts the probability u that a page changes in a time slot into the rate −ln(1−u) per
// slot. Evenly spaced polls find as much of a page with that rate as of one that changes with
// probability u in each slot.
func SlotRate(u float64) float64 { return -math.Log1p(-u) }

// SlotOdds converts the probability u that a page changes in a time slot into the rate u/(1−u) per
// slot. With it the formulas for random polls hold where each slot's poll is drawn anew: a page that
// is polled with probability x in a slot then detects x·u/(u + (1−u)·x) changes per slot.
func SlotOdds(u float64) float64 { return u / (1 - u) }
