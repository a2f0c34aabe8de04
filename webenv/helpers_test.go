package webenv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// critical is the number of standard errors by which a mean over a fixed seed
// may differ from its closed form. A correct law exceeds it with probability
// 6e-5 for a given seed; all seeds are fixed, so a test that passes once passes
// always.
const critical = 4.0

func source(seed uint64) rand.Source { return rand.NewPCG(seed, 12345) }

// sample collects the mean and the standard error of independent values.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

func (s *sample) addBool(x bool) {
	if x {
		s.add(1)
	} else {
		s.add(0)
	}
}

func (s *sample) mean() float64 { return s.sum / s.n }

func (s *sample) variance() float64 { return s.squares/s.n - s.mean()*s.mean() }

// requireMean checks the mean against its closed form, in standard errors
// estimated from the sample, plus what the sums may be rounded by.
func (s *sample) requireMean(t *testing.T, want float64, msg ...any) {
	t.Helper()
	require.InDelta(t, want, s.mean(), critical*math.Sqrt(max(s.variance(), 0)/s.n)+1e-12*math.Abs(want), msg...)
}

// roundRobin polls page 0, 1, 2, … again and again.
type roundRobin struct {
	pages, next int
}

func (r *roundRobin) Next(float64) (int, error) {
	page := r.next % r.pages
	r.next++
	return page, nil
}

func (r *roundRobin) Observe(int, float64, bool) error { return nil }
