package grid

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var positive = rapid.OneOf(
	rapid.Float64Range(math.SmallestNonzeroFloat64, math.MaxFloat64),
	rapid.Custom(func(t *rapid.T) float64 { // of few bits, anywhere
		m := rapid.Uint64Range(1, 1<<20).Draw(t, "m")
		return math.Ldexp(float64(m), rapid.OneOf(rapid.IntRange(-1074, 1000), rapid.IntRange(-1074, -1000)).Draw(t, "e"))
	}),
)

func power(e int) *big.Float { return new(big.Float).SetMantExp(big.NewFloat(1), e) }

func TestLastBit(t *testing.T) {
	t.Parallel()
	require.Equal(t, -1074, LastBit(math.SmallestNonzeroFloat64))
	require.Equal(t, 1023-52, LastBit(math.MaxFloat64))
	rapid.Check(t, func(t *rapid.T) {
		x := positive.Draw(t, "x")
		odd, accuracy := new(big.Float).Quo(big.NewFloat(x), power(LastBit(x))).Int(nil)
		require.Equal(t, big.Exact, accuracy)
		require.EqualValues(t, 1, odd.Bit(0))
		require.Negative(t, big.NewFloat(x).Cmp(power(Above(x))))
		require.GreaterOrEqual(t, big.NewFloat(x).Cmp(power(Above(x)-1)), 0)
		require.LessOrEqual(t, big.NewFloat(x).Cmp(power(Ceil(x))), 0)
		require.Positive(t, big.NewFloat(x).Cmp(power(Ceil(x)-1)))
		require.Equal(t, LastBit(x), Ceil(math.Ldexp(1, LastBit(x))))
	})
}

func TestFinest(t *testing.T) {
	t.Parallel()
	require.Equal(t, -3, Finest(math.MaxInt, math.MinInt, []float64{0, 4, .375, 1.5}))
	require.Equal(t, -7, Finest(-7, math.MinInt, []float64{0, 4, .375}))
	require.Equal(t, -1, Finest(math.MaxInt, -1, []float64{.5, .25}))
	require.Equal(t, 2, Finest(math.MaxInt, math.MinInt, []uint8{4, 0, 12}))
	require.Equal(t, math.MaxInt, Finest(math.MaxInt, 0, []float64{0}))
}

// TestRounding compares with exact rational numbers, over the whole range of floats.
func TestRounding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := positive.Draw(t, "x")
		e := Above(x) - rapid.OneOf(rapid.IntRange(-3, 60), rapid.IntRange(-2100, -3)).Draw(t, "bits")
		e = min(e, 1023)
		g := New(e)
		exact := new(big.Rat).SetFloat64(x)
		unit := new(big.Rat).SetFrac64(1, 1)
		if e >= 0 {
			unit.SetInt(new(big.Int).Lsh(big.NewInt(1), uint(e)))
		} else {
			unit.SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), uint(-e)))
		}
		exact.Quo(exact, unit)
		down := new(big.Int).Div(exact.Num(), exact.Denom()).Int64()
		whole := exact.IsInt()
		up := down
		if !whole {
			up++
		}
		near := down
		if twice := new(big.Rat).Add(exact, exact); twice.Cmp(new(big.Rat).SetInt64(2*down+1)) >= 0 {
			near++
		}
		for _, c := range []struct {
			want  int64
			round func(float64) (int64, bool)
		}{{down, g.Down}, {up, g.Up}, {near, g.Nearest}} {
			n, ok := c.round(x)
			require.Equal(t, c.want, n)
			require.Equal(t, whole, ok)
		}
	})
}

// At the ends of the range the inverse of the quantum is no float.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, exp := range []int{-1074, -1024, -1023, -1022, -1, 0, 1, 1022, 1023} {
		g := New(exp)
		require.Equal(t, math.Ldexp(1, exp), g.Quantum)
		n, exact := g.Down(g.Quantum)
		require.EqualValues(t, 1, n)
		require.True(t, exact)
	}
}

func TestGCD(t *testing.T) {
	t.Parallel()
	require.Zero(t, GCD(0, 0))
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, math.MaxInt64).Draw(t, "a"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "b")
		if a > 0 && b > 0 { // package big has no gcd of 0
			require.Equal(t, new(big.Int).GCD(nil, nil, big.NewInt(a), big.NewInt(b)).Int64(), GCD(a, b))
		}
		require.Equal(t, b, GCD(0, b))
		require.Equal(t, uint64(b), GCD(uint64(b), 0))
	})
}
