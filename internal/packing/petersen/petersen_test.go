package petersen

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The items fill three bins, in fractions: of the six perfect matchings of the graph, each edge is
// in two. They do not fit whole, and fifteen of which some are lighter do.
func TestCore(t *testing.T) {
	t.Parallel()
	for i := range 5 {
		w := Core(rand.New(rand.NewPCG(uint64(i), 7)), 1000)
		require.Len(t, w, 15)
		sum := 0
		for _, x := range w {
			require.Positive(t, x)
			sum += x
		}
		require.Equal(t, 3000, sum)
		fill := 0 // sets of five that fill a bin
		for set := range 1 << 15 {
			load, n := 0, 0
			for k, x := range w {
				if set>>k&1 == 1 {
					load += x
					n++
				}
			}
			if load == 1000 && n == 5 {
				fill++
			}
		}
		require.GreaterOrEqual(t, fill, 6)
		require.False(t, threeBins(w, 1000))
		for k := range w {
			w[k] -= w[k] / 3
		}
		require.True(t, threeBins(w, 1000))
	}
}

// Items that fill three bins to the brim are found to do so, in an order in which first fit fails.
func TestThreeBins(t *testing.T) {
	t.Parallel()
	require.True(t, threeBins([]int{100, 150, 200, 200, 250, 300, 500, 600, 700}, 1000))
	require.False(t, threeBins([]int{100, 150, 200, 200, 250, 300, 500, 600, 701}, 1000))
}
