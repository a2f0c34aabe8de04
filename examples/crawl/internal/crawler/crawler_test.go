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
	rates := []float64{25, 25, 25, 25}
	for range 100 {
		prices := make([]float64, len(rates))
		for i := range rates {
			prices[i] = changes[i] / rates[i]
		}
		rates = Divide(rates, prices, 100)
	}
	sum := 0.0
	for i := range rates {
		sum += rates[i]
		require.InEpsilon(t, 100*changes[i]/105.5, rates[i], 0.01)
	}
	require.InDelta(t, 100, sum, 1e-9)
	require.Equal(t, []float64{50, 50}, Divide([]float64{1, 1}, []float64{0, 0}, 100))
}
