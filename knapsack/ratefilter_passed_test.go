package knapsack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// While no page is found changed, all are polled about as often: of as many polls as there are pages, hardly any is
// of a page that was polled before.
func TestQuietPagesAreAllPolled(t *testing.T) {
	t.Parallel()
	for _, o := range []Objective{Freshness, Age, Harmonic, Delay, Detections} {
		for _, n := range []int{150, 2000, 20_000} {
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			seen := map[int]bool{}
			for k := range n {
				page := must(f.Next(float64(k + 1)))
				seen[page] = true
				require.NoError(t, f.Observe(page, float64(k+1), false))
			}
			t.Logf("%v: %d of %d pages polled in as many polls", o, len(seen), n)
			require.Greater(t, float64(len(seen)), 0.6*float64(n), "%v of %d pages", o, n)
		}
	}
}
