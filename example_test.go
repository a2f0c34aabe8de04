package recrawl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// 500 simulated pages, a few of which change often, and one poll per slot: how
// many more changes does a schedule find that knows the pages, and one that learns
// them, than one that polls all alike?
func Example() {
	alike, _ := knapsack.NewFixed(slices.Repeat([]float64{1}, 500), knapsack.Even, nil)
	learned, _ := knapsack.NewRateFilter(500, knapsack.RateFilterConfig{Objective: knapsack.Detections})
	for _, policy := range []struct {
		name string
		knapsack.Scheduler
	}{{"uniform", alike}, {"learned", learned}} {
		pages, err := webenv.NewZipf(webenv.ZipfConfig{Pages: 500, Alpha: 0.3, Beta: 1}, rand.NewPCG(7, 7))
		if err != nil {
			panic(err)
		}
		result, err := webenv.Run(pages, policy, webenv.RunConfig{Rate: 1, Polls: 20_000})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %.2f changes found per poll\n", policy.name, float64(result.Detected)/20_000)
	}
	// Output:
	// uniform: 0.52 changes found per poll
	// learned: 0.81 changes found per poll
}
