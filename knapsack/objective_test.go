package knapsack

import (
	"encoding"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func allObjectives(t *testing.T, f func(t *testing.T, o Objective, s Spacing)) {
	for o := range objectives {
		for s := Even; s < spacings; s++ {
			t.Run(fmt.Sprintf("%v/%v", o, s), func(t *testing.T) { f(t, o, s) })
		}
	}
}

// integrate is composite Gauss-Legendre with 3 points on n panels.
func integrate(f func(float64) float64, a, b float64, n int) float64 {
	h := (b - a) / float64(n)
	r := math.Sqrt(0.6) * h / 2
	total := 0.0
	for i := range n {
		m := a + (float64(i)+0.5)*h
		total += (5*f(m-r) + 8*f(m) + 5*f(m+r)) / 18 * h
	}
	return total
}

// meanOver integrates a cost c(t) that depends on the time since the last poll: over an even
// interval 1/x, or over the exponential age of a random schedule.
func meanOver(s Spacing, x float64, c func(t float64) float64) float64 {
	if s == Even {
		return x * integrate(c, 0, 1/x, 2000)
	}
	return integrate(func(u float64) float64 { // t = u/x, cut off at 50 mean ages
		return math.Exp(-u) * c(u/x)
	}, 0, 50, 20000)
}

// Value against the definitions of the objectives.
func TestValueIsWhatItSays(t *testing.T) {
	t.Parallel()
	harmonicOfPoisson := func(m float64) float64 { // E[1 + 1/2 + … + 1/N], N Poisson
		p, h, total := math.Exp(-m), 0.0, 0.0
		for k := 1; k < 400 && (float64(k) < m || p > 1e-15); k++ {
			p *= m / float64(k)
			h += 1 / float64(k)
			total += p * h
		}
		return total
	}
	costs := [objectives]func(rate, t float64) float64{
		Freshness: func(rate, t float64) float64 { return -math.Exp(-rate * t) },
		Age:       func(rate, t float64) float64 { return t + math.Expm1(-rate*t)/rate },
		Harmonic:  func(rate, t float64) float64 { return harmonicOfPoisson(rate * t) },
		Delay:     func(rate, t float64) float64 { return rate * t }, // that many wait
	}
	allObjectives(t, func(t *testing.T, o Objective, s Spacing) {
		for _, rate := range []float64{0.02, 1, 7} {
			for _, x := range []float64{0.3, 1, 40} {
				want := 0.0
				if o == Detections { // polls per time × P(changed): the age at a poll is 1/x, or exponential
					if s == Even {
						want = x * -math.Expm1(-rate/x)
					} else {
						want = x * meanOver(s, x, func(t float64) float64 { return -math.Expm1(-rate * t) })
					}
				} else {
					want = -meanOver(s, x, func(t float64) float64 { return costs[o](rate, t) })
				}
				require.InEpsilon(t, want, o.Value(s, rate, x), 1e-6, "λ=%v x=%v", rate, x)
			}
		}
	})
}

func TestSlopeIsTheDerivative(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o Objective, s Spacing) {
		for _, rate := range []float64{0.1, 1, 5} {
			for _, v := range []float64{0.01, 0.04, 0.06, 0.3, 1, 4, 15, 39, 41} {
				x := rate / v
				h := x * 1e-4 // five points: error O(h⁴)
				f := func(k float64) float64 { return o.Value(s, rate, x+k*h) }
				want := (f(-2) - 8*f(-1) + 8*f(1) - f(2)) / (12 * h)
				require.InEpsilon(t, want, o.Slope(s, rate, x), 1e-5, "λ=%v v=%v", rate, v)
			}
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o Objective, s Spacing) {
		require.True(t, math.IsNaN(o.Value(s, -1, 1)))
		require.True(t, math.IsNaN(o.Value(s, 1, math.NaN())))
		require.True(t, math.IsNaN(o.Slope(s, math.NaN(), 1)))
		require.Zero(t, o.Slope(s, 0, 3))
		if o >= Age {
			require.Equal(t, math.Inf(-1), o.Value(s, 1, 0))
			require.Equal(t, math.Inf(1), o.Slope(s, 1, 0))
		} else {
			require.Zero(t, o.Value(s, 1, 0))
			require.InDelta(t, 1/math.Pow(3, float64(o.curve(s).Power)), o.Slope(s, 3, 0), 1e-15)
		}
	})
	for _, x := range []float64{0, 1} {
		require.True(t, math.IsNaN(objectives.Value(Even, 9, x)) && math.IsNaN(objectives.Slope(Random, 9, x)), "no objective")
	}
	require.Equal(t, 1.0, Freshness.Value(Even, 0, 0))
}

// Each enumeration is written in the words of its String and read back.
func TestEnumerations(t *testing.T) {
	t.Parallel()
	for v, name := range []string{"freshness", "detections", "age", "harmonic", "delay"} {
		roundTrip(t, Objective(v), new(Objective), name)
	}
	for v, name := range []string{"default", "even", "random"} {
		roundTrip(t, Spacing(v), new(Spacing), name)
	}
	for v, name := range []string{"mle", "gamma", "cho-garcia-molina", "avrachenkov"} {
		roundTrip(t, RateMethod(v), new(RateMethod), name)
	}
}

func roundTrip[E interface {
	comparable
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*E
	encoding.TextUnmarshaler
}](t *testing.T, v E, back P, name string) {
	text, err := v.MarshalText()
	require.NoError(t, err)
	require.Equal(t, name, string(text))
	require.Equal(t, name, v.String())
	require.NoError(t, back.UnmarshalText(text))
	require.Equal(t, v, *back)
	require.ErrorIs(t, back.UnmarshalText([]byte("happiness")), ErrConfig)
}
