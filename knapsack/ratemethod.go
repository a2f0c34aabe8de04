package knapsack

import (
	"github.com/recrawl/recrawl/internal/enum"
	"github.com/recrawl/recrawl/knapsack/internal/rates"
)

// A RateMethod is how Planner estimates a page's change rate from polls that find only whether it
// changed since the previous poll. All assume that the rate is constant.
type RateMethod uint8

const (
	// MaximumLikelihood is the likeliest rate for any gaps between polls, smoothed. The best
	// choice where memory allows: 216 bytes a page.
	MaximumLikelihood RateMethod = iota
	// Gamma keeps a Gamma posterior of the rate, for any gaps between polls. It is about as good
	// as MaximumLikelihood and better from few polls, in 16 bytes a page. But it is slow to learn that
	// a page changes a hundred times as often as the mean page.
	Gamma
	// ChoGarciaMolina is the bias-reduced estimate from the share of polls that find a change. It
	// suits even gaps: where gaps differ it trusts their mean. 16 bytes a page.
	ChoGarciaMolina
	// Avrachenkov is the stochastic approximation of Avrachenkov, Patil and Thoppe: a few
	// operations a poll. It suits polls at random times, and is slow to leave a wrong estimate.
	// 20 bytes a page.
	Avrachenkov
)

var rateMethodNames = enum.Of[RateMethod](ErrConfig, "mle", "gamma", "cho-garcia-molina", "avrachenkov")

// String returns "mle", "gamma", "cho-garcia-molina" or "avrachenkov".
func (m RateMethod) String() string { return rateMethodNames.String(m) }

// MarshalText returns the name that String gives.
func (m RateMethod) MarshalText() ([]byte, error) { return rateMethodNames.MarshalText(m) }

// UnmarshalText reads the name that String gives.
func (m *RateMethod) UnmarshalText(text []byte) error { return rateMethodNames.UnmarshalText(m, text) }

// evidence returns an empty estimator of the method.
func (m RateMethod) evidence() rates.Evidence {
	switch m {
	case MaximumLikelihood:
		return new(rates.MLE)
	case Gamma:
		return new(rates.Gamma)
	case ChoGarciaMolina:
		return new(rates.Cho)
	default:
		return new(rates.Avrachenkov)
	}
}
