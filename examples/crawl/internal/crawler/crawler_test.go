package crawler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// The shares of a budget go to where the prices are the same. The price of a shard is here its
// changes over its budget.
func TestDivide(t *testing.T) {
	t.Parallel()
	changes := []float64{1, 4, 100, 0.5}
	quoted := func(rates []float64) (quotes []Quote) {
		for i, r := range rates {
			q := Quote{Shard: i, Rate: r, Pages: 10}
			for _, step := range steps {
				q.Prices = append(q.Prices, changes[i]/(r*step))
			}
			quotes = append(quotes, q)
		}
		return quotes
	}
	sum := func(rates []float64) (sum float64) {
		for _, r := range rates {
			sum += r
		}
		return sum
	}
	rates := Divide(nil, 4, 100)
	require.Equal(t, []float64{25, 25, 25, 25}, rates)
	for range 10 {
		rates = Divide(quoted(rates), 4, 100)
		require.InDelta(t, 100, sum(rates), 1e-6)
	}
	for i := range rates {
		require.InEpsilon(t, 100*changes[i]/105.5, rates[i], 0.01)
	}
	// What one cannot spend the others have.
	limited := quoted(rates)
	limited[2].Most = 50
	rates = Divide(limited, 4, 100)
	require.InEpsilon(t, 50, rates[2], 1e-6)
	require.InDelta(t, 100, sum(rates), 1e-6)
	for i := range limited {
		limited[i].Most = 5
	}
	require.InDelta(t, 20, sum(Divide(limited, 4, 100)), 1e-6)
	// One without prices has a share by its pages, and one that nobody quotes an equal one.
	require.Equal(t, []float64{50, 50}, Divide([]Quote{{Shard: 0, Rate: 7, Pages: 3}}, 2, 100))
	require.Equal(t, []float64{25, 75}, Divide([]Quote{{Shard: 0, Pages: 1}, {Shard: 1, Pages: 3}}, 2, 100))
	require.Equal(t, []float64{0, 100}, Divide([]Quote{{Shard: 0}, {Shard: 1, Pages: 3}}, 2, 100))
}

// What no node of this version writes is left out, and the others have their shares.
func TestDivideByNonsense(t *testing.T) {
	t.Parallel()
	prices := func(p float64) []float64 { return []float64{p, p / 2, p / 4, p / 8, p / 16} }
	good := []Quote{{Shard: 0, Pages: 3, Rate: 50, Prices: prices(1)}, {Shard: 1, Pages: 3, Rate: 50, Prices: prices(1)}}
	want := Divide(good, 3, 120)
	for _, bad := range []Quote{
		{Shard: -1}, {Shard: 3}, {Shard: 0, Pages: 9}, {Shard: 2, Pages: -1}, {Shard: 2, Rate: -1}, {Shard: 2, Rate: 1e308, Prices: prices(1)},
		{Shard: 2, Rate: 1, Most: -1}, {Shard: 2, Rate: 1, Prices: prices(0)}, {Shard: 2, Rate: 1, Prices: prices(-1)},
	} {
		require.Equal(t, want, Divide(append(slices.Clone(good), bad), 3, 120), bad)
	}
}

// Events of hosts go to the shards of these, as those of their pages do.
func TestEventsOfHosts(t *testing.T) {
	t.Parallel()
	const shards = 5
	for _, kind := range []shard.Kind{shard.Pause, shard.Limit, shard.Veto, shard.Add} {
		for h := range 20 {
			host := fmt.Sprintf("host%d.test", h)
			e := shard.Event{Kind: kind, URL: host}
			if kind == shard.Add {
				e.URL = "http://" + host + "/"
			}
			parts := divide([]shard.Event{e}, shards)
			require.Equal(t, []shard.Event{e}, parts[ShardOf(host, shards)])
		}
	}
}
