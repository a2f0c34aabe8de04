package knapsack_test

import (
	"fmt"
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

// Polls may be as close together or as far apart as numbers go: the state of a filter is accepted, and
// what was restored goes on bit for bit.
func TestRestoredFilterAtAnyTimeScale(t *testing.T) {
	t.Parallel()
	for _, apart := range []float64{5e-324, 1e-310, 1e-300, 1e-200, 1e-30, 1e30, 1e100, 1e200, 1e296} {
		for o := knapsack.Freshness; o <= knapsack.Delay; o++ {
			t.Run(fmt.Sprintf("%v %v", o, apart), func(t *testing.T) {
				t.Parallel()
				const pages = 40 // more than a list of the queue has
				rng := rand.New(rand.NewPCG(uint64(o), 2))
				f, err := knapsack.NewRateFilter(pages, knapsack.RateFilterConfig{Objective: o})
				require.NoError(t, err)
				for range 2 {
					group, err := f.AddGroup(knapsack.GroupConfig{MinGap: 2 * apart})
					require.NoError(t, err)
					for range 4 {
						require.NoError(t, f.SetGroup(f.Add(), group))
					}
				}
				g := f
				for k := range 400 {
					now := float64(k) * apart
					page, err := f.Next(now)
					require.NoError(t, err)
					changed := rng.IntN(pages) < page
					require.NoError(t, f.Observe(page, now+apart, changed))
					if g != f {
						again, err := g.Next(now)
						require.NoError(t, err)
						require.Equal(t, page, again, "poll %d", k)
						require.NoError(t, g.Observe(again, now+apart, changed))
					}
					if k%8 != 7 {
						continue
					}
					saved, err := f.MarshalBinary()
					require.NoError(t, err)
					same, err := g.MarshalBinary()
					require.NoError(t, err)
					require.Equal(t, saved, same, "after %d polls", k+1)
					g = new(knapsack.RateFilter)
					require.NoError(t, g.UnmarshalBinary(saved), "after %d polls", k+1)
				}
			})
		}
	}
}
