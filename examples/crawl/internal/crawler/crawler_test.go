package crawler

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The shares of a budget go to where the prices are the same. The price of a shard is here its
// changes over its budget.
func TestDivide(t *testing.T) {
	t.Parallel()
	changes := []float64{1, 4, 100, 0.5}
	rates := Divide(nil, 4, 100)
	require.Equal(t, []float64{25, 25, 25, 25}, rates)
	for range 100 {
		var quotes []Quote
		for i, r := range rates {
			quotes = append(quotes, Quote{Shard: i, Rate: r, Price: changes[i] / r})
		}
		rates = Divide(quotes, 4, 100)
	}
	sum := 0.0
	for i := range rates {
		sum += rates[i]
		require.InEpsilon(t, 100*changes[i]/105.5, rates[i], 0.01)
	}
	require.InDelta(t, 100, sum, 1e-9)
	// One without a price keeps its share, and one that nobody quotes has its.
	require.Equal(t, []float64{50, 50}, Divide([]Quote{{Shard: 0, Rate: 50}}, 2, 100))
}
