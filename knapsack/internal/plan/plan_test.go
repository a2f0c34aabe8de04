package plan

import (
	"math"
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

// noted is evidence that notes what it is told, and whose rates are multiples of the prior.
type noted struct {
	rates.Gamma
	told []any
}

func (e *noted) Reset(slot int) {
	e.Gamma.Reset(slot)
	e.told = append(e.told, slot)
}

func (e *noted) Observe(slot int, gap float64, changed bool, prior float64) {
	e.told = append(e.told, slot, gap, changed, prior)
}

func (e *noted) Rate(slot int, prior float64) float64 { return float64(slot+1) * prior }

// Evidence is told the time since the poll before, or since all pages were current, and the mean
// rate of all pages with half a change more, in half the time of a poll more.
func TestEvidence(t *testing.T) {
	t.Parallel()
	e := new(noted)
	p := &Plan{Budget: 2, Evidence: e}
	p.Grow()
	p.Grow()
	require.Equal(t, 2, p.Slots())
	require.Equal(t, 2.0, p.Rate(1), "a prior of 1 to begin with")
	expect := func(want ...any) {
		t.Helper()
		require.Equal(t, want, e.told)
		e.told = nil
	}
	p.Observe(0, 10, 14, true, 2)
	expect(0, 4.0, true, 1.5/4.25)
	require.Equal(t, 2*1.5/4.25, p.Rate(1))
	p.Observe(0, 10, 14, true, 2)
	require.Empty(t, e.told, "no time has passed")
	require.Equal(t, 1.5/4.25, p.Rate(0))
	p.Observe(0, 10, 14.5, true, 2)
	expect(0, 0.5, true, 2.5/4.75)
	p.Observe(1, 10, 12, false, 2)
	expect(1, 2.0, false, 2.5/6.75)
	p.Reset(0, 20)
	expect(0)
	p.Observe(0, 10, 21, false, 2)
	expect(0, 1.0, false, 2.5/7.75)
	for rate, want := range map[float64]float64{math.NaN(): 1, 0: optimum.LeastInput, math.Inf(1): optimum.MostInput, 7: 7} {
		require.Equal(t, want, p.rate(0, rate))
	}
}

// A budget of costs pays for polls at what they cost, and pages begin with a cost and a weight of 1.
func TestCosts(t *testing.T) {
	t.Parallel()
	p := &Plan{Budget: 2, Floor: 0.2, Objective: optimum.Freshness, Evidence: new(noted)}
	const n = 4
	for range n - 1 {
		p.Grow()
	}
	p.SetCost(0, 5)
	p.SetWeight(0, 3)
	p.Grow()
	p.Observe(1, 0, 1, true, n)
	x := make([]float64, n)
	all := func(int) bool { return true }
	solve := func() (spent float64) {
		p.Solve(n, all, func(slot int, frequency float64) {
			x[slot] = frequency
			spent += frequency * p.costOf(slot)
			again, ok := p.Frequency(slot, n)
			require.True(t, ok)
			require.InEpsilon(t, frequency, again, 1e-6)
		})
		return spent
	}
	require.InEpsilon(t, 2, solve(), 1e-9)
	require.Equal(t, []float64{5, 1, 1, 1}, p.costs)
	p.SetWeight(1, 0)
	require.InEpsilon(t, 2, solve(), 1e-9)
	require.InEpsilon(t, 0.2*2/2/n, x[1], 1e-6, "a mean cost of 2")
	p.Reset(0, 9)
	require.InEpsilon(t, 2, solve(), 1e-9)
	require.InEpsilon(t, 0.2*2/n, x[1], 1e-6, "a mean cost of 1")
	require.Equal(t, []float64{1, 0, 1, 1}, p.weights)
}
