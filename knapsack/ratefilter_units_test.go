package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/recrawl/recrawl/webenv"
	"github.com/stretchr/testify/require"
)

// The unit of weights does not matter, nor that of costs: pages that are worth much more, or less, than one of which
// nothing is known had better not wait for an index of 1.
func TestRateFilterHasNoUnitOfWorth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 400
	rng := rand.New(rand.NewPCG(1, 2))
	rates, worth := make([]float64, n), make([]float64, n)
	for i := range rates {
		rates[i], worth[i] = math.Exp(1.3*rng.NormFloat64()), math.Exp(rng.NormFloat64())
	}
	age := func(set func(f *RateFilter, page int) error) float64 {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Age}))
		for page := range n {
			require.NoError(t, set(f, page))
		}
		env := must(webenv.NewPoisson(rates, rand.NewPCG(3, 4)))
		return must(webenv.Run(env, f, webenv.RunConfig{Rate: n, Duration: 12})).Age
	}
	for name, set := range map[string]func(f *RateFilter, page int, worth float64) error{
		"weights": func(f *RateFilter, page int, worth float64) error { return f.SetWeight(page, worth) },
		"costs":   func(f *RateFilter, page int, worth float64) error { return f.SetCost(page, 1/worth) },
	} {
		want := age(func(f *RateFilter, page int) error { return set(f, page, worth[page]) })
		for _, unit := range []float64{0x1p-20, 0x1p10, 0x1p20} {
			got := age(func(f *RateFilter, page int) error { return set(f, page, unit*worth[page]) })
			t.Logf("%s in units of %g: age %.4f, %.4f in units of 1", name, 1/unit, got, want)
			require.InEpsilon(t, want, got, 0.1)
		}
	}
}

// With costs no page waits for longer than polls take that cost 80 times what one of each does, and some polls
// more, not where those that go before it are dear.
func TestCostsStarveNoPage(t *testing.T) {
	t.Parallel()
	const n = 100
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	costs := slices.Repeat([]float64{1}, n)
	costs[0] = n
	for page, cost := range costs {
		require.NoError(t, f.SetCost(page, cost))
	}
	require.NoError(t, f.SetWeight(0, 1e9))
	const all = 2*n - 1
	var last [n]float64
	spent, longest := 0.0, 0.0
	for k := 0; spent < 500*all; k++ {
		page := must(f.Next(spent))
		spent += costs[page]
		longest = max(longest, spent-last[page])
		last[page] = spent
		require.NoError(t, f.Observe(page, spent, page == 0 || k%3 == 0))
	}
	for _, at := range last {
		longest = max(longest, spent-at)
	}
	t.Logf("longest wait: %.1f times the cost of all", longest/all)
	require.LessOrEqual(t, longest, 80.0*all+n/8*n)
}

// A cost that was a mistake leaves nothing behind, and those that are all the same count as 1.
func TestCostsAddUp(t *testing.T) {
	t.Parallel()
	const n = 5
	f := must(NewRateFilter(n, RateFilterConfig{}))
	for _, cost := range []float64{1e50, 1e-50} {
		for page := range n {
			require.NoError(t, f.SetCost(page, cost))
		}
		require.InEpsilon(t, n*cost, f.costOfAll(), 1e-15)
	}
	page := f.Add()
	require.NoError(t, f.SetCost(page, 1e80))
	require.NoError(t, f.Remove(page))
	require.InEpsilon(t, n*1e-50, f.costOfAll(), 1e-15)
	for range 20 {
		f.Add()
	}
	require.Equal(t, 20.0, f.costOfAll())
	var g RateFilter
	require.NoError(t, g.UnmarshalBinary(saved(t, f)))
	require.Equal(t, f.costs, g.costs)
}
