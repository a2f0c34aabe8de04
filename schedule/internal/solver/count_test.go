package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// Of 13 sites on 4 clients some client does 4 or more, whatever the durations.
func TestSomeClientDoesOneMore(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 17))
	for range 20 {
		const n, m = 13, 4
		sizes, least := make([]float64, n*m), math.Inf(1)
		for k := range sizes {
			sizes[k] = float64(1000 + rng.IntN(101))
			least = min(least, sizes[k])
		}
		p, err := instance.New(true, sizes, []float64{1, 1, 1, 1})
		require.NoError(t, err)
		require.GreaterOrEqual(t, LowerBound(p), 4*least)
		relaxed := newRelaxation(p, nil).root(longestFirst(p, nil), elementary(p), math.Inf(1)).bound
		require.Less(t, relaxed, 3.6*least, "the linear relaxation divides sites")
		out := Solve(context.Background(), p, rng, Config{Steps: 1_000_000})
		require.GreaterOrEqual(t, out.Lower, 4*least)
		require.LessOrEqual(t, out.Lower, p.Makespan(out.Plan))

		// A client that can do only two sites leaves more to the others.
		for z := range n - 2 {
			sizes[z*m] = math.Inf(1)
		}
		p, err = instance.New(true, sizes, []float64{1, 1, 1, 1})
		require.NoError(t, err)
		require.True(t, newCounter(p, nil).excludes(3.9*least))
		require.False(t, newCounter(p, nil).excludes(4.4*1000))
	}
}
