package instance

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
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
