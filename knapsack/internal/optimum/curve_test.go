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
				require.InEpsilon(t, v, c.far(logY), 1e-10)
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
