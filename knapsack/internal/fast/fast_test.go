package fast

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	check := func(t require.TestingT, x, v float64) {
		require.InEpsilon(t, math.Exp(x), Exp(x), 1e-10)
		require.InDelta(t, x, Log(math.Exp(x)), 1e-13+1e-15*math.Abs(x))
		require.InEpsilon(t, -math.Expm1(-v), Chance(v), 1e-9)
		p := -math.Expm1(-v)
		require.InEpsilon(t, -math.Log1p(-p), Hazard(p), 1e-9)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Float64Range(-699, 699).Draw(t, "x"), math.Exp(rapid.Float64Range(-30, 3).Draw(t, "log v")))
	})
	// The ends of tables' cells, and where series end.
	for i := range 4 * size {
		check(t, math.Nextafter(float64(i)*(math.Ln2/size), 0), small*(0.5+float64(i)/(2*size)))
		check(t, math.Log1p(math.Nextafter(float64(i), 0)/size), small)
	}
	check(t, -700, 1)
	require.Zero(t, Exp(-701))
	require.True(t, math.IsInf(Exp(701), 1))
	require.Less(t, Log(0), -700.0)
	require.Zero(t, Hazard(0))
	require.Zero(t, Chance(0))
	require.EqualValues(t, 1, Chance(math.Inf(1)))
}

func BenchmarkLog(b *testing.B) {
	x, sum := 0.3, 0.0
	for b.Loop() {
		sum += Log(x)
		x += 1e-3
	}
	_ = sum
}

func BenchmarkExp(b *testing.B) {
	x, sum := -0.3, 0.0
	for b.Loop() {
		sum += Exp(x)
		x -= 1e-6
	}
	_ = sum
}
