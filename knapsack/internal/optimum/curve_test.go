package optimum

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// wide returns a number of 600 bits.
func wide(x float64) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(x) }

// series returns Σ_{k≥1} c(k)·v^k/k!, to far more digits than a float64 has.
func series(v float64, c func(k int) *big.Float) float64 {
	sum, term := wide(0), wide(1)
	for k := 1; k <= 60 || float64(k) < 12*v; k++ {
		term.Mul(term, wide(v))
		term.Quo(term, wide(float64(k)))
		sum.Add(sum, new(big.Float).Mul(term, c(k)))
	}
	f, _ := sum.Float64()
	return f
}

// sign is (−1)^k.
func sign(k int) float64 { return 1 - 2*float64(k%2) }

// The functions that would cancel, in all of their ranges, against their power series.
func TestAgainstSeries(t *testing.T) {
	t.Parallel()
	after := func(first int, c func(k int) float64) func(int) *big.Float {
		return func(k int) *big.Float {
			if k < first {
				return wide(0)
			}
			return wide(c(k))
		}
	}
	for name, c := range map[string]struct {
		f func(v float64) float64
		c func(k int) *big.Float
	}{
		"1 − (1+v)·e^(−v)":        {hEven, after(2, func(k int) float64 { return sign(k) * float64(k-1) })},
		"v²/2 − 1 + (1+v)·e^(−v)": {hAge, after(3, func(k int) float64 { return -sign(k) * float64(k-1) })},
		"v − 1 + e^(−v)":          {hHarmonic, after(2, sign)},
		"v²/2 − v + 1 − e^(−v)":   {staleTail, after(3, func(k int) float64 { return -sign(k) })},
		"v·(1 − (1−e^(−v))/v)":    {func(v float64) float64 { return v * staleShare(v) }, after(2, sign)},
		"Ein(v)":                  {ein, func(k int) *big.Float { return new(big.Float).Quo(wide(-sign(k)), wide(float64(k))) }},
		"1 − e^(−v)":              {func(v float64) float64 { return Value(Detections, false, v, 1) }, after(1, func(k int) float64 { return -sign(k) })},
	} {
		for v := 1e-9; v < 60; v *= 1.21 {
			require.InEpsilon(t, series(v, c.c), c.f(v), 4e-12, "%s at %v", name, v)
		}
		for _, v := range []float64{math.Nextafter(1e-3, 0), 1e-3, math.Nextafter(0.05, 0), 0.05, 40, math.Nextafter(40, 41)} {
			require.InEpsilon(t, series(v, c.c), c.f(v), 4e-12, "%s at %v", name, v)
		}
	}
	// −ln(1 − h) of what is bounded. Where v is small, v^k/k is (k−1)!·v^k/k!.
	for v := 1e-9; v < 1e9; v *= 1.21 {
		even, random := v-math.Log1p(v), 2*math.Log1p(v)-math.Log1p(2*v)
		if v < 0.1 {
			even, random = 0, 0
			for k := 60; k >= 2; k-- {
				even += sign(k) * math.Pow(v, float64(k)) / float64(k)
				random += sign(k) * (math.Pow(2, float64(k)) - 2) * math.Pow(v, float64(k)) / float64(k)
			}
		}
		require.InEpsilon(t, even, restEven(v), 1e-12, "at %v", v)
		require.InEpsilon(t, random, restRandom(v), 1e-12, "at %v", v)
	}
}

// Far from 0 and from 1 logarithms go on where the functions themselves leave off.
func TestFar(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o int, random bool) {
		c := Of(o, random)
		for _, v := range []float64{1e-60, 1e60} {
			require.InDelta(t, math.Log(c.H(v)), c.logFar(math.Log(v)), 1e-10)
			if logY := c.logFar(math.Log(v)); c.bounded && v > 1 {
				require.True(t, math.IsInf(c.far(1), 1))
			} else {
				require.InDelta(t, math.Log(v), c.far(logY), 1e-10)
			}
		}
		for _, v := range []float64{extreme, 1e-20, 0.5, 3, 1e20, 1 / extreme} {
			want := c.logFar(math.Log(v))
			switch {
			case c.bounded:
				want = math.Log(c.rest(v))
			case v == 0.5 || v == 3:
				want = math.Log(c.H(v))
			}
			require.InDelta(t, want, c.logZ(v), 1e-10*(1+math.Abs(want)), "at %v", v)
			next := math.Nextafter(v, math.Log(v)*math.Inf(1)) // beyond the extremes, where other formulas begin
			require.InDelta(t, c.logZ(v), c.logZ(next), 1e-10*(1+math.Abs(want)), "at %v", v)
			require.InEpsilon(t, c.Slope(1, 1/v), c.Slope(1, 1/next), 1e-10, "at %v", v)
		}
	})
}

// Slopes over the whole range against the formulas of logSlope, and values against slopes: what a
// value grows by between two frequencies is what its slope adds up to, and at no frequency and at an
// infinite one it is what it should be.
func TestSlopesAndValues(t *testing.T) {
	t.Parallel()
	most := [Objectives]float64{Freshness: 1, Detections: 0.3} // at rate 0.3
	allObjectives(t, func(t *testing.T, o int, random bool) {
		c := Of(o, random)
		for _, rate := range []float64{1e-45, 0.3, 1, 7, 1e10} {
			for _, v := range []float64{1e-92, 1e-30, 1e-3, 0.2, 1, 5, 100, 1e30, 1e92} {
				require.InDelta(t, logSlope(o, random, rate, 1, rate/v), math.Log(c.Slope(rate, rate/v)), 1e-9, "rate %v, v %v", rate, v)
			}
		}
		value := func(x float64) float64 { return Value(o, random, 0.3, x) }
		for _, x := range []float64{1e-4, 0.02, 0.5, 3, 40} {
			const steps = 64 // Simpson's rule
			sum := 0.0
			for k := range steps + 1 {
				weight := float64(2 + 2*(k%2))
				if k == 0 || k == steps {
					weight = 1
				}
				sum += weight * c.Slope(0.3, x*(1+float64(k)/steps))
			}
			require.InEpsilon(t, sum*x/steps/3, value(2*x)-value(x), 1e-6, "x = %v", x)
		}
		require.InDelta(t, most[o], value(1e9), 1e-8)
		least, never := 0.0, 0.0
		if o >= Age {
			least = math.Inf(-1)
		}
		if o == Freshness {
			never = 1
		}
		require.Equal(t, least, value(0))
		require.Equal(t, never, Value(o, random, 0, 1), "a page that never changes")
		require.Equal(t, never, Value(o, random, 0, 0))
		require.Zero(t, c.Slope(0, 1))
		require.True(t, c.Slope(0.3, 0) >= c.Slope(0.3, 1e-9), "the first poll is worth most")
		for _, bad := range []float64{-1, math.NaN()} {
			for _, x := range []float64{Value(o, random, bad, 1), Value(o, random, 1, bad), c.Slope(bad, 1), c.Slope(1, bad)} {
				require.True(t, math.IsNaN(x))
			}
		}
	})
}

// Values where v = λ/x is far from 1, up to where it is no number: what the formulas tend to.
func TestFarValues(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]float64{{1e-100, 1e10}, {1e-100, 1e150}, {1e-100, 1e230}, {1e100, 1e-60}, {1e100, 1e-90}, {1e100, 1e-150}, {1e100, 1e-250}, {1, 1e-300}, {1, 1e300}} {
		rate, x := c[0], c[1]
		both := [Objectives][2]float64{
			Freshness:  {min(1, x/rate), min(1, x/rate)},
			Detections: {min(rate, x), min(rate, x)},
			Age:        {-1 / (2 * x), -1 / x},
			Harmonic:   {-(math.Log(rate) - math.Log(x) + 0.5772156649015329 - 1), -(math.Log(rate) - math.Log(x))},
			Delay:      {-rate / x / 2, -rate / x},
		}
		if x > rate {
			both[Age] = [2]float64{-rate / x / x / 6, -rate / x / x}
			both[Harmonic] = both[Delay]
		}
		allObjectives(t, func(t *testing.T, o int, random bool) {
			want := both[o][0]
			if random {
				want = both[o][1]
			}
			if got := Value(o, random, rate, x); got != want {
				require.InEpsilon(t, want, got, 1e-12, "rate %v, x %v", rate, x)
			}
		})
	}
}

// A price and its logarithm are those of z, over the whole range.
func TestPrice(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o int, random bool) {
		c := Of(o, random)
		for logZ := -300.0; logZ < 6; logZ += 0.7 {
			want := math.Log(3) + logZ
			if c.bounded {
				want = math.Log(3) + math.Log(-math.Expm1(-math.Exp(logZ)))
			}
			m := c.Price(3, logZ)
			require.InDelta(t, want, m.logMu, 1e-9)
			require.InDelta(t, want, math.Log(m.Mu()), 1e-9)
		}
	})
}
