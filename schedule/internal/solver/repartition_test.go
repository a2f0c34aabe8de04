package solver

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// The later of two clients finishes when a repartition says that it will, and never later than before.
func TestRepartitionOfPairs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	better := 0
	for range 200 {
		sizes := make([]float64, 3+rng.IntN(10))
		plan := make([]int, len(sizes))
		for z := range sizes {
			sizes[z], plan[z] = float64(1+rng.IntN(50)), rng.IntN(2)
		}
		p, err := instance.New(false, sizes, []float64{1, float64(1 + rng.IntN(3))})
		require.NoError(t, err)
		s, ok := newState(p, plan, nil)
		require.True(t, ok)
		before := max(s.end[0], s.end[1])
		var r repartitioner
		r.choose(s, rng, 0, 1, freeSites)
		end, mask := r.split(s, 0, 1)
		r.apply(s, 0, 1, mask)
		require.InEpsilon(t, end, max(s.end[0], s.end[1]), 1e-12)
		require.True(t, s.reset(plan))
		r.pair(s, rng, 0, 1)
		require.LessOrEqual(t, max(s.end[0], s.end[1]), before)
		if max(s.end[0], s.end[1]) < before {
			better++
		}
	}
	require.Greater(t, better, 100)
}
