package partition

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of many arms noise alone makes some look best: 20 arms, durations with lognormal noise of .8,
// 500 sites, 100 crawls. Who knows that nothing changes tries each arm once and then takes the best
// mean. Assigner spends .4 % more time in the mean of the seeds, and 3.6 % where it takes 20 arms for
// as few as 8.
func TestAssignerManyArms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const arms, sites, crawls, seeds = 20, 500, 100, 6
	behind := 0.0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 11))
		mean := make([][arms]float64, sites)
		for i := range mean {
			for j := range mean[i] {
				mean[i][j] = 10 * math.Exp(.5*rng.NormFloat64())
			}
		}
		noisy := func(mean float64) float64 { return mean * math.Exp(float64(.8*rng.NormFloat64())-.32) }
		a := newAssigner(t, arms, sites, AssignerConfig{}, seed)
		took, bestMean := 0.0, 0.0
		for i := range mean {
			var sum, n [arms]float64
			for c := range crawls {
				j := c
				for k := range arms {
					if c >= arms && (k == 0 || sum[k]/n[k] < sum[j]/n[j]) {
						j = k
					}
				}
				sum[j] += noisy(mean[i][j])
				n[j]++
				bestMean += mean[i][j]
			}
		}
		for range crawls {
			for i := range mean {
				j, err := a.Next(i)
				require.NoError(t, err)
				require.NoError(t, a.Observe(i, noisy(mean[i][j])))
				took += mean[i][j]
			}
		}
		t.Logf("%.2f %% behind", 100*(took/bestMean-1))
		behind += 100 * (took/bestMean - 1) / seeds
	}
	t.Logf("%.2f %% behind in the mean", behind)
	require.LessOrEqual(t, behind, .8)
}

// After a change a site tries 20 arms one after the other, and of 40 one in every other access. In
// between it uses the best that it has found.
func TestAssignerTriesManyArmsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arms        int
		least, most float64 // arms tried in 30 crawls
	}{{20, 19.5, 20}, {40, 10, 20}} {
		const sites = 200
		rng := rand.New(rand.NewPCG(1, 5))
		a := newAssigner(t, c.arms, sites, AssignerConfig{}, 1)
		factor := 1.0
		crawls := func(n int) {
			for range n {
				for i := range sites {
					j, err := a.Next(i)
					require.NoError(t, err)
					require.NoError(t, a.Observe(i, factor*float64(10+(i+j)%c.arms)*(.95+.1*rng.Float64())))
				}
			}
		}
		crawls(2 * c.arms)
		factor = 2 // of all arms, so that none of them is slow
		crawls(30)
		tried, best := 0, 0
		for i := range sites {
			for j := range c.arms {
				if a.site.count[i*a.width+j] > 0 {
					tried++
				}
			}
			best += int(slices.Max(a.site.count[i*a.width : (i+1)*a.width]))
		}
		require.GreaterOrEqual(t, float64(tried)/sites, c.least)
		require.LessOrEqual(t, float64(tried)/sites, c.most)
		require.Greater(t, float64(best)/sites, 5.0, "accesses from the best")
	}
}
