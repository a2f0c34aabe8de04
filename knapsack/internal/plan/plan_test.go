package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack/internal/optimum"
	"github.com/recrawl/recrawl/knapsack/internal/rates"
)

// A plan spends the budget on the pages that are there, gives each its part of the floor, and the
// frequency at its price is the one that was solved for.
func TestPlan(t *testing.T) {
	t.Parallel()
	p := &Plan{Budget: 2, Floor: 0.1, Objective: optimum.Freshness, Evidence: new(rates.Gamma)}
	const n = 5
	for slot := range n {
		p.Grow()
		p.Reset(slot, 0)
	}
	_, ok := p.Frequency(0, n)
	require.False(t, ok)
	require.Zero(t, p.Price())
	for k := 1; k <= 4*leastReplan; k++ {
		for slot := range n {
			due := p.Observe(slot, 0, float64(k), slot < 2 || k%10 == slot, n)
			require.Equal(t, n*(k-1)+slot+1 >= leastReplan, due, "after so many answers")
		}
	}
	require.Greater(t, p.Rate(0), 3*p.Rate(4))
	p.SetWeight(1, 0)
	live := func(slot int) bool { return slot != 3 }
	x, spent := map[int]float64{}, 0.0
	p.Solve(n-1, live, func(slot int, frequency float64) {
		x[slot] = frequency
		spent += frequency
	})
	require.Len(t, x, n-1)
	require.InEpsilon(t, p.Budget, spent, 1e-9)
	require.InEpsilon(t, p.Floor*p.Budget/(n-1), x[1], 1e-6, "a page without weight gets its part of the floor")
	require.Positive(t, p.Price())
	for slot, frequency := range x {
		again, ok := p.Frequency(slot, n-1)
		require.True(t, ok)
		require.InEpsilon(t, frequency, again, 1e-6)
	}
	require.False(t, p.Observe(0, 0, 100, true, n), "the count begins anew")
}
