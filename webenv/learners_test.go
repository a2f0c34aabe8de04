package webenv_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

// Learners of other packages that have removed and added a page or a site can be driven, by ids
// beyond the numbers of the environment, and do no worse for it.
func TestLearnersAfterRemoveAndAdd(t *testing.T) {
	t.Parallel()
	run := func(again bool) webenv.Result {
		learner, err := knapsack.NewRateFilter(20, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		if again {
			require.NoError(t, learner.Remove(3))
			id := learner.Add()
			require.Greater(t, id, 1<<32)
			require.Equal(t, 3, knapsack.Slot(id))
		}
		env, err := webenv.NewZipf(webenv.ZipfConfig{Pages: 20}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		late := func(int) float64 { return 2.5 }
		result, err := webenv.Run(env, learner, webenv.RunConfig{Latency: late, Loss: 0.1, Source: rand.NewPCG(5, 6)})
		require.NoError(t, err)
		return result
	}
	once, twice := run(false), run(true)
	require.Equal(t, 2000, twice.Polls+twice.Lost)
	require.InDelta(t, once.Freshness, twice.Freshness, 0.05)

	assigner, err := partition.NewAssigner(3, 20, partition.AssignerConfig{}, rand.NewPCG(3, 4))
	require.NoError(t, err)
	require.NoError(t, assigner.Remove(7))
	web, err := webenv.NewDurations(webenv.DurationsConfig{Sites: 20}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	crawl, err := web.Crawl(assigner)
	require.NoError(t, err)
	require.Equal(t, 19, crawl.Sites)
	require.Greater(t, assigner.Add(), 1<<32)
	for range 20 {
		crawl, err = web.Crawl(assigner)
		require.NoError(t, err)
	}
	require.Equal(t, 20, crawl.Placed)
}
