package packing

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Bounds are at most, packings at least the fewest bins, which Solve finds by either search, and
// every certificate holds.
func TestBoundsHeuristicsAndSolve(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Int64Range(5, 60).Draw(t, "c")
		in := plain(c, rapid.SliceOfN(rapid.Int64Range(1, c), 1, 8).Draw(t, "w"))
		want := fewestBins(in)
		bounds := in.Bounds()
		require.LessOrEqual(t, bounds.Best(), want)
		require.LessOrEqual(t, bounds.L1, bounds.L2)
		require.Equal(t, bounds.DFF, bounds.Certificate.Bound())
		for h := range Heuristics {
			packed, left := in.Pack(h)
			require.Equal(t, -1, left)
			check(t, in, packed)
			require.GreaterOrEqual(t, packed.Bins, want)
		}
		// The same bins, given one by one, go to the search for bins that differ.
		given := &Problem{Weights: in.Weights, Capacities: make([]int64, len(in.Weights))}
		for b := range given.Capacities {
			given.Capacities[b] = c
		}
		for _, p := range []*Problem{in, given} {
			s := p.Solve(context.Background(), 1<<20)
			check(t, in, s.Packing)
			require.True(t, s.Proved)
			require.Equal(t, []int{want, want}, []int{s.Lower, s.Bins})
			require.LessOrEqual(t, s.Bound(), want)
			most, ok := p.MostValue(s.Value, 0)
			require.True(t, ok)
			require.LessOrEqual(t, most, s.Max)
		}
	})
}

// Five items of 4 need three bins of 10, as only two fit one. The sum does not say so, a dual
// feasible function does, and then nothing is searched.
func TestFunctionsSpareTheSearch(t *testing.T) {
	t.Parallel()
	in := plain(10, []int64{4, 4, 4, 4, 4})
	require.Equal(t, 2, in.Bounds().L2)
	s := in.Solve(context.Background(), 100)
	require.True(t, s.Proved)
	require.Equal(t, 3, s.Certificate.Bound())
	require.Zero(t, s.Nodes)
}

// Where there is no packing, a complete search says so, and one that was cut short does not.
func TestNoPacking(t *testing.T) {
	t.Parallel()
	in := &Problem{Weights: []int64{6, 6, 5, 5}, Capacities: []int64{11, 11}, Pins: []int{0, -1, -1, -1},
		Conflicts: NewConflicts([][2]int{{0, 2}, {3, 0}})}
	s := in.Solve(context.Background(), 1000)
	require.Nil(t, s.Bin)
	require.True(t, s.Proved)
	s = in.Solve(context.Background(), 1)
	require.Nil(t, s.Bin)
	require.False(t, s.Proved)
	_, left := in.Pack(FirstFit)
	require.NotEqual(t, -1, left)
}
