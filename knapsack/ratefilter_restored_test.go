package knapsack_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
)

// A filter that was restored after any of its first polls thinks of every page what the one that
// was saved does, to the last bit.
func TestRestoredFilterThinksTheSame(t *testing.T) {
	t.Parallel()
	for _, o := range []knapsack.Objective{
		knapsack.Freshness, knapsack.Detections, knapsack.Age, knapsack.Harmonic, knapsack.Delay,
	} {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			const pages = 7
			rng := rand.New(rand.NewPCG(uint64(o), 1))
			f, err := knapsack.NewRateFilter(pages, knapsack.RateFilterConfig{Objective: o})
			require.NoError(t, err)
			group, err := f.AddGroup(knapsack.GroupConfig{})
			require.NoError(t, err)
			for page := range 3 {
				require.NoError(t, f.SetGroup(page, group))
			}
			for k := range 150 {
				now := float64(k)
				page, err := f.Next(now)
				require.NoError(t, err)
				require.NoError(t, f.Observe(page, now+0.5, rng.IntN(pages) < page))
				if k%20 == 19 {
					require.NoError(t, f.Signal(rng.IntN(pages), k%2, now))
				}
				saved, err := f.MarshalBinary()
				require.NoError(t, err)
				var g knapsack.RateFilter
				require.NoError(t, g.UnmarshalBinary(saved))
				for page := range f.All() {
					want, err := f.Index(page, now+1)
					require.NoError(t, err)
					got, err := g.Index(page, now+1)
					require.NoError(t, err)
					require.Equal(t, want, got, "index of page %d after %d polls", page, k+1)
				}
			}
		})
	}
}
