package crawler

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// divideEvery is how often the budget is divided between the shards.
const divideEvery = time.Minute

// A Quote is what a shard tells the others, from which each finds out its share of the budget.
type Quote struct {
	Shard int     `json:"shard"`
	Pages int     `json:"pages"`
	Rate  float64 `json:"rate"` // polls a second
	// Prices are what one more poll a second would be worth at the multiples of the rate that steps
	// names; empty if too little is known.
	Prices []float64 `json:"prices,omitempty"`
	// Most is the rate that the shard can spend, as hosts want to be left alone; 0 for no limit.
	Most float64 `json:"most,omitempty"`
}

// steps are the multiples of a shard's rate for which it quotes prices. Shares move by no more in a
// round, and a few rounds are enough for any.
var steps = [...]float64{0.25, 0.5, 1, 2, 4}

const (
	// slope is the step, as a share of the rate, over which the value of one more poll is measured.
	slope = 0.05
	// known is the number of answers for each page before prices are quoted: what is believed
	// before says more of the prior than of the pages.
	known = 2
	// spent is the share of its budget below which a shard is taken to be at its limit, and room
	// what it is given above that, to find out whether the limit still stands.
	spent = 0.9
	room  = 1.1
)

// quote returns what a learner would pay. Weight is the mean one of its pages: WhatIf takes no
// account of weights.
func quote(f *knapsack.RateFilter, objective knapsack.Objective, rate, weight float64) Quote {
	q := Quote{Pages: f.Len(), Rate: rate}
	if f.Stats().Answers < uint64(known*f.Len()) {
		return q
	}
	for _, step := range steps {
		low, err := f.WhatIf(objective, rate*step*(1-slope))
		high, failed := f.WhatIf(objective, rate*step*(1+slope))
		if price := weight * float64(f.Len()) * (high - low) / (2 * slope * rate * step); err == nil && failed == nil && price > 0 {
			q.Prices = append(q.Prices, price)
			continue
		}
		q.Prices = nil
		break
	}
	return q
}

func (q *Quote) most() float64 {
	if q.Most > 0 {
		return q.Most
	}
	return math.Inf(1)
}

// demand returns the rate at which one more poll is worth so much, by interpolation between what is
// quoted.
func (q *Quote) demand(price float64) float64 {
	p, k, most := q.Prices, 0, q.most()
	for k < len(p)-1 && p[k] > price {
		k++
	}
	if k == 0 {
		return min(q.Rate*steps[0], most)
	}
	if p[k] > price {
		return min(q.Rate*steps[k], most)
	}
	along := math.Log(p[k-1]/price) / math.Log(p[k-1]/p[k])
	return min(q.Rate*steps[k-1]*math.Pow(steps[k]/steps[k-1], along), most)
}

// mostRate is more than any budget.
const mostRate = 1e12

// usable returns the quotes that can be divided by. Others are of no node of this version: they would
// bring down all nodes, which divide by the same quotes.
func usable(quotes []Quote, shards int) (good []Quote) {
	seen := map[int]bool{}
	for _, q := range quotes {
		number := func(x float64) bool { return x >= 0 && x <= mostRate }
		priced := !slices.ContainsFunc(q.Prices, func(p float64) bool { return !(p > 0) || math.IsInf(p, 1) })
		if q.Shard >= 0 && q.Shard < shards && !seen[q.Shard] && q.Pages >= 0 && number(q.Rate) && number(q.Most) && priced {
			seen[q.Shard] = true
			good = append(good, q)
		}
	}
	return good
}

// Divide returns the shares of all shards in a budget, such that one more poll is worth the same in
// each. Shards that cannot say what it is worth, as they are new, have a share by their pages, and
// those that are not quoted an equal one. Who divides by the same quotes comes to the same shares,
// which add up to the budget: so nobody has to decide for all.
func Divide(quotes []Quote, shards int, budget float64) []float64 {
	quotes = usable(quotes, shards)
	rates := make([]float64, shards)
	for i := range rates {
		rates[i] = budget / float64(shards)
	}
	if len(quotes) == 0 {
		return rates
	}
	pages, quoted := 0, 0
	for _, q := range quotes {
		pages += q.Pages
		quoted++
	}
	left := budget * float64(quoted) / float64(shards)
	var priced []Quote
	for _, q := range quotes {
		share := budget * float64(quoted) / float64(shards) * float64(q.Pages) / max(float64(pages), 1)
		if len(q.Prices) == len(steps) && q.Rate > 0 {
			priced = append(priced, q)
			continue
		}
		rates[q.Shard] = share
		left -= share
	}
	demands := func(price float64) (sum float64) {
		for i := range priced {
			sum += priced[i].demand(price)
		}
		return sum
	}
	low, high := math.Inf(1), 0.0
	for _, q := range priced {
		low, high = min(low, q.Prices[len(steps)-1]), max(high, q.Prices[0])
	}
	for range 60 { // demand falls with the price
		if mid := math.Sqrt(low * high); demands(mid) > left {
			low = mid
		} else {
			high = mid
		}
	}
	for _, q := range priced {
		rates[q.Shard] = q.demand(high)
	}
	// What is left where the steps end goes to those that are not at their limits.
	for range priced {
		free, rest := 0.0, left
		for _, q := range priced {
			rest -= rates[q.Shard]
			if rates[q.Shard] < q.most() {
				free += rates[q.Shard]
			}
		}
		if free == 0 {
			break
		}
		for _, q := range priced {
			rates[q.Shard] = min(rates[q.Shard]*(1+rest/free), q.most())
		}
	}
	return rates
}

// divideBudget divides the budget at intervals between the shards, those of other nodes included.
// All do so at the same times of day, and so by the same quotes.
func (c *Crawler) divideBudget(ctx context.Context) {
	for c.cfg.Shards > 1 {
		now := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-time.After(now.Truncate(c.cfg.DivideEvery).Add(c.cfg.DivideEvery).Sub(now)):
		}
		var own []Quote
		pieces := c.all()
		for _, p := range pieces {
			_ = p.loop.Do(ctx, func(s *shard.State) { own = append(own, p.quote(s, c.cfg.Clock.Now(), c.cfg.Objective)) }) // or it ends
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

// quote returns what a shard would pay, and takes note of what it spent since the last time.
func (p *piece) quote(s *shard.State, now time.Time, objective knapsack.Objective) Quote {
	rate := p.loop.Rate()
	q := Quote{Pages: s.Len(), Rate: rate}
	_ = knapsack.With(s.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		q = quote(f, objective, rate, s.Weight())
		return nil
	}) // other learners have no price
	q.Shard, q.Pages = p.number, s.Len()
	made := float64(p.loop.Spent-p.spent) / now.Sub(p.quoted).Seconds()
	if !p.quoted.IsZero() && made > 0 && made < spent*rate && p.loop.Unspent > p.unspent {
		q.Most = made * room
	}
	p.quoted, p.spent, p.unspent = now, p.loop.Spent, p.loop.Unspent
	return q
}

// Price returns what one more poll is worth to a shard, and its Stats.
func Price(s *shard.State) (price float64, stats knapsack.Stats) {
	_ = knapsack.With(s.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		price, stats = f.Price(), f.Stats()
		return nil
	}) // other learners have no price
	return price, stats
}
