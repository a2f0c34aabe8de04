package webenv_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/webenv"
)

// Learners that may poll no page now and then can be tried: those with limits, with fewer pages than
// polls in flight, and with pages that never answer.
func TestLearnersWithLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit func(*knapsack.RateFilter) error
		cfg   webenv.RunConfig
	}{
		"latency": {nil, webenv.RunConfig{Latency: func(int) float64 { return 25 }}},
		"dead":    {nil, webenv.RunConfig{Latency: func(int) float64 { return math.Inf(1) }}},
		"gap": {func(f *knapsack.RateFilter) error {
			group, err := f.AddGroup(knapsack.GroupConfig{MinGap: 3})
			for page := range f.All() {
				err = errors.Join(err, f.SetGroup(page, group))
			}
			return err
		}, webenv.RunConfig{}},
		"interval": {func(f *knapsack.RateFilter) (err error) {
			for page := range f.All() {
				err = errors.Join(err, f.SetInterval(page, 30, math.Inf(1)))
			}
			return err
		}, webenv.RunConfig{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			learner, err := knapsack.NewRateFilter(20, knapsack.RateFilterConfig{})
			require.NoError(t, err)
			if c.limit != nil {
				require.NoError(t, c.limit(learner))
			}
			env, err := webenv.NewPoisson(webenv.ZipfLaw(20, 0.3, 1), rand.NewPCG(1, 2))
			require.NoError(t, err)
			result, err := webenv.Run(env, learner, c.cfg)
			require.NoError(t, err)
			require.Positive(t, result.Unspent)
			require.Equal(t, 2000, result.Polls+result.Lost+result.Unspent)
		})
	}
}

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
