package instance

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A duration that no good plan has takes no bits from the others, unless a start time makes it good.
func TestMostKeepsTheGridFine(t *testing.T) {
	t.Parallel()
	sizes := []float64{3, 1e18, 1e18, 5, 7, 1e100}
	p, err := New(true, sizes, []float64{1, 1})
	require.NoError(t, err)
	require.Zero(t, p.Rounding)
	require.Equal(t, 10.0, p.Makespan([]int{0, 1, 0}))
	require.GreaterOrEqual(t, p.Makespan([]int{1, 1, 0}), p.Most)

	// Client 0 begins so late that 10¹⁸ is the better time of site 0.
	q, err := p.WithOff([]float64{1e30, 0})
	require.NoError(t, err)
	require.InEpsilon(t, 1e18, q.Finish(1, q.At(0, 1)), .01)
	require.Zero(t, p.Off[0])
	require.Equal(t, 10.0, p.Makespan([]int{0, 1, 0}), "the instance that it was made of is as it was")

	// Durations of about one size are not touched.
	even, err := New(true, []float64{1.1, 2.3, 900, .7}, []float64{1, 1})
	require.NoError(t, err)
	require.False(t, even.clipped)
	forbidden, err := New(true, []float64{3, math.Inf(1), math.Inf(1), 5, 7, 1e100}, []float64{1, 1})
	require.NoError(t, err)
	require.True(t, forbidden.clipped)
	require.True(t, math.IsInf(forbidden.Makespan([]int{1, 1, 0}), 1))
}

// Some plan of identical and uniform clients ends before half of Most, and Most is no later than four times
// what list scheduling takes, however many clients there are.
func TestMostOfUniformClients(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, _ := draw(t)
		if p.PerPair {
			return
		}
		plan, load := make([]int, p.N), make([]int64, p.M)
		for z := range plan {
			plan[z] = p.Earliest(z, load)
			load[plan[z]] += p.Amount[z]
		}
		last := min(p.Makespan(plan), p.alone())
		require.LessOrEqual(t, 2*last, p.Most*(1+1e-9))
	})
	p, err := New(false, slices.Repeat([]float64{1.1}, 1000), units(100))
	require.NoError(t, err)
	require.LessOrEqual(t, p.Most, 4*12.1, "ten sites each, and at most another one")
	p, err = p.WithOff(slices.Repeat([]float64{20}, 100))
	require.NoError(t, err)
	require.LessOrEqual(t, p.Most, 4*32.1)
	require.Greater(t, p.Most, 31.)
}
