package crawler

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
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

// Whatever is quoted, in whatever order: no share is negative or over its limit, the shares add up to the budget
// or to all limits, and nothing is left while a shard is below its own.
func TestDivideLeavesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 8).Draw(t, "shards")
		budget := math.Exp(rapid.Float64Range(-10, 10).Draw(t, "budget"))
		limits := make([]float64, shards)
		var quotes []Quote
		for i := range shards {
			limits[i] = math.Inf(1)
			if rapid.IntRange(0, 7).Draw(t, "unquoted") == 0 {
				continue
			}
			q := Quote{Shard: i, Pages: rapid.IntRange(0, 1000).Draw(t, "pages"), Rate: budget * rapid.Float64Range(0, 2).Draw(t, "rate")}
			if rapid.Bool().Draw(t, "limited") {
				q.Most = budget * math.Exp(rapid.Float64Range(-8, 2).Draw(t, "most"))
				limits[i] = q.Most
			}
			if rapid.Bool().Draw(t, "priced") {
				price := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "price"))
				for range steps {
					q.Prices = append(q.Prices, price)
					price *= rapid.Float64Range(0.1, 1).Draw(t, "fall")
				}
			}
			quotes = append(quotes, q)
		}
		rates := Divide(quotes, shards, budget)
		require.Equal(t, rates, Divide(rapid.Permutation(quotes).Draw(t, "order"), shards, budget))
		sum, most := 0.0, 0.0
		for i, r := range rates {
			require.GreaterOrEqual(t, r, 0.0)
			require.LessOrEqual(t, r, limits[i])
			sum += r
			most += limits[i]
		}
		require.InEpsilon(t, min(budget, most), sum, 1e-9)
	})
}

// What one without prices cannot spend the others have by their pages, whether they have prices or not.
func TestDivideExcess(t *testing.T) {
	t.Parallel()
	prices := []float64{16, 8, 4, 2, 1}
	limited := Quote{Shard: 0, Pages: 400, Most: 2}
	require.Equal(t, []float64{2, 98}, Divide([]Quote{limited, {Shard: 1, Pages: 10}}, 2, 100))
	rates := Divide([]Quote{limited, {Shard: 1, Pages: 10}, {Shard: 2, Pages: 30, Rate: 1, Prices: prices}, {Shard: 3, Pages: 9, Most: 1}}, 4, 100)
	require.InDeltaSlice(t, []float64{2, 97 / 4., 97 * 3 / 4., 1}, rates, 1e-9)
	// Those with prices that are at their limits leave it to who has none, those without pages come last, and
	// after them who is not quoted.
	rates = Divide([]Quote{{Shard: 0, Pages: 90, Rate: 50, Most: 10, Prices: prices}, {Shard: 1, Pages: 10}, {Shard: 2}}, 3, 90)
	require.InDeltaSlice(t, []float64{10, 80, 0}, rates, 1e-9)
	rates = Divide([]Quote{{Shard: 0, Pages: 90, Most: 10}, {Shard: 1, Most: 5}}, 3, 90)
	require.InDeltaSlice(t, []float64{10, 5, 75}, rates, 1e-9)
	require.Equal(t, []float64{45, 45}, Divide([]Quote{{Shard: 0}, {Shard: 1}}, 2, 90))
	// One at its limit whose prices are high leaves the others no less than nothing.
	rates = Divide([]Quote{{Shard: 0, Pages: 1, Rate: 400, Most: 100, Prices: prices}, {Shard: 1, Pages: 1, Rate: 1e-3, Prices: prices}}, 2, 50)
	require.InDelta(t, 50, rates[0]+rates[1], 1e-9)
	require.Positive(t, rates[1])
	// Limits whose sum is rounded to more than there is.
	rates = Divide([]Quote{{Shard: 0, Pages: 4e17, Most: 0.88 * 4 / 7}, {Shard: 1, Pages: 3e17, Most: 0.88 * 3 / 7}, {Shard: 2, Pages: 1}}, 3, 0.88)
	require.GreaterOrEqual(t, rates[2], 0.0)
}

// A shard quotes the rate that its hosts' delays allow, at once, and what it could spend.
func TestQuotedLimit(t *testing.T) {
	t.Parallel()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	s := shard.NewState(filter)
	apply := func(e shard.Event) {
		e.At = begin
		require.NoError(t, s.Apply(&e))
	}
	p := &piece{loop: shard.NewLoop(shard.Config{State: s, Clock: clock.NewReal(), PerSecond: 10})}
	now, at, delay := begin, begin, 0.5
	most := func(spent uint64, unspent float64) float64 {
		now, at = now.Add(time.Minute), at.Add(time.Minute)
		p.loop.Spent += spent
		p.loop.Unspent += unspent
		cfg := Config{Objective: knapsack.Freshness, DivideEvery: time.Minute}
		cfg.Fetch.Delay = time.Duration(delay * float64(time.Second))
		return p.quote(s, now, at, &cfg).Most
	}
	require.Zero(t, most(0, 0), "it has no pages yet")
	apply(shard.Event{Kind: shard.Add, URL: "http://a.test/"})
	apply(shard.Event{Kind: shard.Add, URL: "http://b.test/"})
	apply(shard.Event{Kind: shard.Limit, URL: "b.test", Seconds: 4})
	require.InDelta(t, 2.25, most(0, 0), 1e-9)
	apply(shard.Event{Kind: shard.Remove, URL: "http://a.test/"})
	require.InDelta(t, 0.25, most(0, 0), 1e-9)
	apply(shard.Event{Kind: shard.Polled, URL: "http://b.test/", Result: shard.Gone})
	require.InDelta(t, trickle, most(0, 0), 1e-9)

	apply(shard.Event{Kind: shard.Add, URL: "http://c.test/"})
	apply(shard.Event{Kind: shard.Pause, URL: "c.test", On: true})
	require.InDelta(t, trickle, most(0, 0), 1e-9, "all hosts rest")
	apply(shard.Event{Kind: shard.Pause, URL: "c.test"})
	require.InDelta(t, 2, most(0, 0), 1e-9)
	delay = 0
	require.Zero(t, most(600, 0))
	require.Zero(t, most(400, 0), "it may make up for them")
	require.InDelta(t, 5*room, most(300, 300), 1e-9)
	p.loop.SetRate(5 * room)
	require.InDelta(t, 5*room, most(300, 0), 1e-9, "the limit stands")
	delay = 0.1
	require.InDelta(t, 5*room, most(300, 0), 1e-9, "which is below that of the hosts")
	delay = 0.5
	require.InDelta(t, 2, most(300, 0), 1e-9, "or above it")
	delay = 0
	require.Zero(t, most(330, 0), "it does not any more")

	now = now.Add(24 * time.Hour)
	require.Zero(t, most(330, 5*room*86400), "the clock was set forwards")
	now = now.Add(-48 * time.Hour)
	require.Zero(t, most(330, 0), "or backwards")
	at = at.Add(24 * time.Hour)
	require.Zero(t, most(330, 5*room*86400), "the process was stopped")
	require.InDelta(t, 4*room, most(240, 90), 1e-9)
	at = at.Add(24 * time.Hour)
	require.InDelta(t, 4*room, most(1, 5*room*86400), 1e-9, "while a limit stood")
	require.InDelta(t, 5*room, most(300, 0), 1e-9, "it still stands, and is measured again")
}

// The limit by hosts counts the delay that all have.
func TestQuotesOfACrawl(t *testing.T) {
	t.Parallel()
	quotes := make(chan []Quote, 1)
	c, err := New(Config{
		Shards: 2, Clock: clock.NewReal(), PerSecond: 1e-3, Groups: 1, Workers: 1, DivideEvery: 10 * time.Millisecond,
		Fetch: fetch.Config{Delay: 500 * time.Millisecond, Points: []fetch.Point{{Name: "none", Base: &changing{}}}},
		Exchange: func(_ context.Context, own []Quote) []Quote {
			select {
			case quotes <- own:
			default:
			}
			return own
		},
	})
	require.NoError(t, err)
	for i := range 2 {
		filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		c.Open(i, Part{State: shard.NewState(filter)}, 1e-3)
	}
	require.NoError(t, c.Learn(t.Context(), []shard.Event{{Kind: shard.Add, URL: "http://a.test/", At: time.Now()}}))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	own := <-quotes
	c.Stop()
	require.NoError(t, <-ended)
	require.Len(t, own, 2)
	require.InDelta(t, 2, own[ShardOf("a.test", 2)].Most, 1e-9)
}
