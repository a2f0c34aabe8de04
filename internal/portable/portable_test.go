package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// near requires that two numbers differ by so many units of the last place at most.
func near(t *rapid.T, want, got, ulps float64, x float64) {
	if want == got {
		return
	}
	unit := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
	require.LessOrEqual(t, math.Abs(got-want), ulps*unit, "x = %v: %v instead of %v", x, got, want)
}

func TestAgainstMath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 709).Draw(t, "x")
		near(t, math.Exp(x), Exp(x), 3, x)
		near(t, math.Expm1(x), Expm1(x), 4, x)
		small := x / 5000
		near(t, math.Expm1(small), Expm1(small), 4, small)
		near(t, math.Exp(small), Exp(small), 3, small)
		a := math.Abs(rapid.Float64().Draw(t, "a"))
		near(t, math.Log(a), Log(a), 3, a)
		one := 1 + x/1000
		require.InDelta(t, math.Log(one), Log(one), 1e-15)
		near(t, math.Cbrt(a), Cbrt(a), 3, a)
		z := x / 70
		q := math.Erfc(z/math.Sqrt2) / 2
		loss := math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) - z*q
		require.InDelta(t, loss, Loss(z), 2e-14, "z = %v", z)
	})
}

func TestEnds(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	require.Equal(t, []float64{0, 0, 1, inf, inf}, []float64{Exp(-inf), Exp(-747), Exp(0), Exp(711), Exp(inf)})
	require.Equal(t, []float64{-1, 0, inf}, []float64{Expm1(-inf), Expm1(0), Expm1(inf)})
	require.Equal(t, []float64{-inf, 0, inf}, []float64{Log(0), Log(1), Log(inf)})
	require.Equal(t, []float64{0, 1, 2, inf}, []float64{Cbrt(0), Cbrt(1), Cbrt(8), Cbrt(inf)})
	for _, x := range []float64{Exp(math.NaN()), Log(-1), Log(math.NaN()), Cbrt(math.NaN())} {
		require.True(t, math.IsNaN(x))
	}
	require.InDelta(t, 1/math.Sqrt(2*math.Pi), Loss(0), 1e-16)
	require.Equal(t, 20.0, Loss(-20))
	require.Positive(t, Loss(30))
}

// The bits of some values: they must not depend on the processor.
func TestBits(t *testing.T) {
	t.Parallel()
	var sum uint64
	for k := range 1000 {
		x := float64(k)/77 - 6
		for _, y := range []float64{Exp(x), Expm1(x), Log(x + 7), Cbrt(x + 7), Loss(x)} {
			sum = sum*31 + math.Float64bits(y)
		}
	}
	require.Equal(t, uint64(0xd8a0f78ae1b1cebf), sum)
}
