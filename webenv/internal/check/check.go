// Package check compares means of samples with their closed forms.
package check

import (
	"math"
	"math/rand/v2"

	"github.com/stretchr/testify/require"
)

// Critical is the number of standard errors by which a mean over a fixed seed may differ from
// its closed form. A correct law exceeds it with probability 6e-5 for a given seed; all seeds
// are fixed, so a test that passes once passes always.
const Critical = 4.0

// Source returns a source of randomness of a seed.
func Source(seed uint64) rand.Source { return rand.NewPCG(seed, 12345) }

// Sample collects the mean and the standard error of independent values.
type Sample struct{ N, sum, squares float64 }

// Add adds a value.
func (s *Sample) Add(x float64) {
	s.N++
	s.sum += x
	s.squares += x * x
}

// AddBool adds 1 or 0.
func (s *Sample) AddBool(x bool) {
	if x {
		s.Add(1)
	} else {
		s.Add(0)
	}
}

// Sum returns the sum.
func (s *Sample) Sum() float64 { return s.sum }

// Mean returns the mean.
func (s *Sample) Mean() float64 { return s.sum / s.N }

// Variance returns the variance.
func (s *Sample) Variance() float64 { return s.squares/s.N - s.Mean()*s.Mean() }

// RequireMean checks the mean against its closed form, in standard errors estimated from the
// sample, plus what the sums may be rounded by.
func (s *Sample) RequireMean(t require.TestingT, want float64, msg ...any) {
	rounding := 1e-12 * math.Abs(want)
	require.InDelta(t, want, s.Mean(), Critical*math.Sqrt(max(s.Variance(), 0)/s.N)+rounding, msg...)
}
