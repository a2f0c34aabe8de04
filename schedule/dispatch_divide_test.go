package schedule

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A division counts the setup of each client that has not started, once it is free.
func TestDivisionCountsSetups(t *testing.T) {
	t.Parallel()
	p, err := must(NewIdentical([]int{6, 4, 3}, 3)).WithStarts(nil, []float64{5, 7, 9})
	require.NoError(t, err)
	d, err := NewDispatcher(p, Plan{0, 1, 1}, DispatcherConfig{})
	require.NoError(t, err)
	require.Equal(t, []float64{5, 7, 9}, newDivision(d, 0).free)

	z, err := d.Next(0, 0)
	require.NoError(t, err)
	require.Equal(t, 0, z)
	require.Equal(t, []float64{7, 9}, newDivision(d, 0).free[1:])
	_, _, err = d.Observe(0, z, 11)
	require.NoError(t, err)
	free := newDivision(d, 0).free
	require.Equal(t, 11., free[0], "it has started")

	require.NoError(t, d.RemoveClient(2, 11))
	require.True(t, math.IsInf(newDivision(d, 0).free[2], 1))
}
