package instance

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// units are those of identical clients.
func units(m int) []float64 {
	u := make([]float64, m)
	for j := range u {
		u[j] = 1
	}
	return u
}

// draw returns an instance of any kind, and its sizes.
func draw(t *rapid.T) (*Instance, []float64) {
	n, m := rapid.IntRange(1, 8).Draw(t, "sites"), rapid.IntRange(1, 4).Draw(t, "clients")
	number := rapid.OneOf(rapid.Map(rapid.IntRange(1, 1000), func(k int) float64 { return float64(k) }), rapid.Float64Range(.01, 3),
		rapid.Map(rapid.Float64Range(-20, 20), math.Exp))
	perPair := rapid.Bool().Draw(t, "per pair")
	count, unit := n, units(m)
	if perPair {
		count *= m
	} else {
		unit = rapid.SliceOfN(number, m, m).Draw(t, "units")
	}
	sizes := rapid.SliceOfN(number, count, count).Draw(t, "sizes")
	if perPair {
		for z := range n { // all clients but one may be unable to do a site
			able := rapid.IntRange(0, m-1).Draw(t, "able")
			for j := range m {
				if j != able && rapid.IntRange(0, 3).Draw(t, "forbidden") == 0 {
					sizes[z*m+j] = math.Inf(1)
				}
			}
		}
	}
	p, err := New(perPair, sizes, unit)
	require.NoError(t, err)
	p, err = p.WithOff(rapid.SliceOfN(rapid.Float64Range(0, 10), m, m).Draw(t, "off"))
	require.NoError(t, err)
	return p, sizes
}

func TestGridIsExactForIntegersAndDyadicFractions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes   []float64
		amounts []int64
		grid    float64
	}{
		{[]float64{3e9, 5e9, 3600e9}, []int64{3, 5, 3600}, 1e9}, // the common divisor is taken out
		{[]float64{.5, .75, 3}, []int64{2, 3, 12}, .25},
		{[]float64{0x1p-90, 0x1p-89, 0x1p-40}, []int64{1, 2, 1 << 50}, 0x1p-90},
	} {
		p, err := New(false, c.sizes, units(2))
		require.NoError(t, err)
		require.Zero(t, p.Rounding)
		require.Equal(t, c.amounts, p.Amount)
		require.Equal(t, c.grid, p.Grid)
	}
	p, err := New(false, []float64{.1, 1e9}, units(2))
	require.NoError(t, err)
	require.Positive(t, p.Rounding)
	require.Less(t, p.Rounding, 1e-5)
	p, err = New(false, []float64{1e-9, 1e9}, units(2))
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Amount[0], "no site takes no time")
	require.Equal(t, 0.0, p.Finish(1, 0), "who has nothing to do is done")
	p, err = New(false, []float64{1e-40, 1e-42 / 3}, []float64{1e-5, 1e-6})
	require.NoError(t, err)
	require.Positive(t, p.Rounding)
	require.Less(t, p.Rounding, 1e-58)
}

// TestSumsOverflow has sums that are not finite, or not when summed over the clients.
func TestSumsOverflow(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]float64{{1e308, 1e308}, {math.MaxFloat64}, {1e308}} {
		_, err := New(false, sizes, units(2))
		require.ErrorIs(t, err, ErrOverflow, "%v", sizes)
	}
	p, err := New(false, []float64{1}, units(2))
	require.NoError(t, err)
	_, err = p.WithOff([]float64{1e308, 1e308})
	require.ErrorIs(t, err, ErrOverflow)
	require.Equal(t, []float64{0, 0}, p.Off)
}

func TestRoundingBoundsTheDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, sizes := draw(t)
		plan, load := make([]int, p.N), make([]float64, p.M)
		for z := range plan {
			j := rapid.IntRange(0, p.M-1).Draw(t, "client")
			plan[z] = j
			if p.PerPair {
				load[j] += sizes[z*p.M+j]
			} else {
				load[j] += sizes[z]
			}
		}
		exact := 0.0
		for j, sum := range load {
			if sum > 0 {
				exact = max(exact, p.Off[j]+p.Unit[j]*sum)
			}
		}
		if math.IsInf(exact, 1) {
			require.Equal(t, exact, p.Makespan(plan))
			return
		}
		latest := 0.0
		for j := range p.M {
			latest = max(latest, p.Finish(j, p.Total))
		}
		if exact >= p.Most && (p.clipped || p.Most < latest*clipFrom) {
			require.GreaterOrEqual(t, p.Makespan(plan), p.Most*(1-1e-9), "no good plan")
			return
		}
		if p.Rounding == 0 {
			require.Equal(t, exact, p.Makespan(plan))
			return
		}
		if !p.PerPair && exact >= p.Most {
			return // Rounding is that of plans that end before
		}
		require.LessOrEqual(t, math.Abs(exact-p.Makespan(plan)), p.Rounding)
		// The grid is at most 2⁻⁵¹ of all amounts, so the bound is one of the latest time.
		require.LessOrEqual(t, p.Rounding, float64(p.N+4)*0x1p-50*latest)
	})
}

// A client so slow that no good plan gives it a site makes no bound weaker.
func TestRoundingOfSlowClients(t *testing.T) {
	t.Parallel()
	sizes := []float64{.1, .2, .3}
	fast, err := New(false, sizes, []float64{1, 2})
	require.NoError(t, err)
	require.Positive(t, fast.Rounding)
	for _, unit := range []float64{1e2, 1e6, 1e15, 1e100} {
		p, err := New(false, sizes, []float64{1, 2, unit})
		require.NoError(t, err)
		require.LessOrEqual(t, p.Rounding, 2*fast.Rounding, "%v", unit)
		require.Positive(t, p.Rounding)
	}
	// The slow client ends three of 1001 sites before Most, and none if it begins late.
	sizes = append(slices.Repeat([]float64{1. / 3}, 999), .01, .02)
	one, err := New(false, sizes, []float64{1})
	require.NoError(t, err)
	p, err := New(false, sizes, []float64{1, 2000})
	require.NoError(t, err)
	require.Greater(t, p.Rounding, one.Rounding)
	require.Less(t, p.Rounding, 20*one.Rounding, "of all sites it would be 2000 times as much")
	p, err = p.WithOff([]float64{0, 2 * p.Most})
	require.NoError(t, err)
	require.LessOrEqual(t, p.Rounding, 2*one.Rounding)
}

func TestCapacityIsTheLargestSumInTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, _ := draw(t)
		j := rapid.IntRange(0, p.M-1).Draw(t, "client")
		s := rapid.Int64Range(1, p.Total).Draw(t, "sum")
		at := p.Finish(j, s)
		c := p.Capacity(j, at)
		require.GreaterOrEqual(t, c, s)
		require.Equal(t, at, p.Finish(j, c))
		if c := p.Capacity(j, Before(at)); c > 0 {
			require.Less(t, p.Finish(j, c), at)
			require.Less(t, c, s)
		}
	})
}

// TestEarliest compares with all clients.
func TestEarliest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, _ := draw(t)
		load := rapid.SliceOfN(rapid.Int64Range(0, p.Total), p.M, p.M).Draw(t, "load")
		z := rapid.IntRange(0, p.N-1).Draw(t, "site")
		best := p.Earliest(z, load)
		for j := range load {
			soonest, other := p.Finish(best, load[best]+p.At(z, best)), p.Finish(j, load[j]+p.At(z, j))
			require.LessOrEqual(t, soonest, other)
			if j < best {
				require.Less(t, soonest, other, "of clients that finish at once the first one")
			}
		}
	})
}

// Amounts that are not kept are the same, and so is all that is made of them.
func TestAmountsThatAreNotKept(t *testing.T) {
	t.Parallel()
	const m, few = 16, 8
	n := amountsLimit/m + 1
	sizes := make([]float64, n*m)
	for k := range sizes {
		sizes[k] = float64(2 * (1 + k%97))
		if k%m != k/m%m && k%5 == 0 {
			sizes[k] = math.Inf(1)
		}
	}
	long, err := New(true, sizes, units(m))
	require.NoError(t, err)
	require.Nil(t, long.Amount)
	short, err := New(true, sizes[:few*m], units(m))
	require.NoError(t, err)
	require.NotNil(t, short.Amount)
	require.Equal(t, short.Grid, long.Grid)
	require.Equal(t, short.Shortest(), long.Shortest()[:few])
	for z := range few {
		require.Equal(t, sizes[z*m:(z+1)*m], long.Durations(z))
		for j := range m {
			require.Equal(t, short.At(z, j), long.At(z, j))
		}
	}
	total := 0.0
	for z := range n {
		largest := 0.0
		for _, d := range sizes[z*m : (z+1)*m] {
			if !math.IsInf(d, 1) {
				largest = max(largest, d)
			}
		}
		total += largest
	}
	require.Equal(t, total, float64(long.Total)*long.Grid)
}
