package shard

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

var sweep = flag.Bool("sweep", false, "print what the constants were chosen by")

// Detections by the number of polls of a host in flight, for several times that a poll takes:
// thirty hosts of fifty pages, each of which is polled once in two days, for five weeks.
func TestQueue(t *testing.T) {
	if !*sweep {
		t.Skip("a table, printed with -sweep")
	}
	const pages, hosts, day = 1500, 30, 86400.
	for _, latency := range []float64{0, 60, 400, 900} {
		for _, limit := range []int{0, 1, 2, queue} {
			env, err := webenv.NewPoisson(webenv.LogNormalLaw(pages, 1/day, 2, rand.NewPCG(1, 2)), rand.NewPCG(3, 4))
			require.NoError(t, err)
			f, err := knapsack.NewRateFilter(pages, knapsack.RateFilterConfig{})
			require.NoError(t, err)
			for range hosts {
				_, err := f.AddGroup(knapsack.GroupConfig{MaxInFlight: limit})
				require.NoError(t, err)
			}
			for page := range pages {
				require.NoError(t, f.SetGroup(page, page%hosts))
			}
			r, err := webenv.Run(env, f, webenv.RunConfig{Rate: 0.5 * pages / day, Duration: 35 * day, Latency: func(int) float64 { return latency }})
			require.NoError(t, err)
			t.Logf("a poll takes %3.0f s, %d of a host at a time: %d detections", latency, limit, r.Detected)
		}
	}
}
