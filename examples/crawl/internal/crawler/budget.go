package crawler

import (
	"context"
	"math"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// divideEvery is how often the budget is divided between the shards.
const divideEvery = time.Minute

// A Quote is what a shard tells the others, from which each finds out its share of the budget.
type Quote struct {
	Shard int     `json:"shard"`
	Rate  float64 `json:"rate"`  // polls a second
	Price float64 `json:"price"` // what one more is worth; 0 if that is not known
	Pages int     `json:"pages"`
}

// divideBudget divides the budget at intervals between the shards, those of other nodes included.
func (c *Crawler) divideBudget(ctx context.Context) {
	tick := time.NewTicker(c.cfg.DivideEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var own []Quote
		pieces := c.all()
		for _, p := range pieces {
			_ = p.loop.Do(ctx, func(s *shard.State) {
				price, _ := Price(s)
				own = append(own, Quote{p.number, p.loop.Rate(), price, s.Len()})
			}) // or it ends
		}
		all := own
		if c.cfg.Exchange != nil {
			all = c.cfg.Exchange(ctx, own)
		}
		divided := Divide(all, c.cfg.Shards, c.cfg.PerSecond)
		for _, p := range pieces {
			_ = p.loop.Do(ctx, func(*shard.State) { p.loop.SetRate(divided[p.number]) })
		}
	}
}

// Divide returns the shares of all shards in a budget, such that one more poll is worth the same in
// each: shares grow by the root of their price over the mean, which converges without swinging, as
// prices fall with the budget. A shard without a price, as it is new, keeps its share, and one that
// is not quoted has an equal one. Who divides by the same quotes comes to the same shares, which add
// up to the budget: so nobody has to decide for all.
func Divide(quotes []Quote, shards int, budget float64) []float64 {
	rates, prices := make([]float64, shards), make([]float64, shards)
	for i := range rates {
		rates[i] = budget / float64(shards)
	}
	mean, n := 0.0, 0
	for _, q := range quotes {
		if q.Shard < 0 || q.Shard >= shards || !(q.Rate > 0) {
			continue
		}
		rates[q.Shard], prices[q.Shard] = q.Rate, q.Price
		if q.Price > 0 {
			mean += q.Price
			n++
		}
	}
	mean /= float64(max(n, 1))
	sum := 0.0
	for i := range rates {
		if prices[i] > 0 && mean > 0 {
			rates[i] *= min(max(math.Sqrt(prices[i]/mean), 0.5), 2)
		}
		sum += rates[i]
	}
	for i := range rates {
		rates[i] *= budget / sum
	}
	return rates
}

// Price returns what one more poll is worth to a shard, and its Stats.
func Price(s *shard.State) (price float64, stats knapsack.Stats) {
	_ = knapsack.With(s.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		price, stats = f.Price(), f.Stats()
		return nil
	}) // other learners have no price
	return price, stats
}
