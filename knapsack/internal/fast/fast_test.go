package fast

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-699, 699).Draw(t, "x")
		require.InEpsilon(t, math.Exp(x), Exp(x), 1e-10)
		y := math.Exp(x)
		require.InDelta(t, math.Log(y), Log(y), 1e-10*max(1, math.Abs(x)/100))
		v := math.Exp(rapid.Float64Range(-30, 3).Draw(t, "log v"))
		require.InEpsilon(t, -math.Expm1(-v), Chance(v), 1e-7)
		p := -math.Expm1(-v)
		require.InEpsilon(t, -math.Log1p(-p), Hazard(p), 1e-7)
	})
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
