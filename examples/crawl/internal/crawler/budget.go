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
	// what it is given above that, to find out whether the limit still stands. It does while less
	// than stands of that is spent: more than 1/room, or every other round would lift the limit.
	spent  = 0.9
	room   = 1.1
	stands = 0.95
	// trickle is the limit of a shard of which no page may be polled, in polls a second: 0 stands for none.
	trickle = 0.001
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
	slices.SortFunc(good, func(a, b Quote) int { return a.Shard - b.Shard }) // sums depend on the order
	return good
}

// Divide returns the shares of all shards in a budget, such that one more poll is worth the same in
// each. Shards that cannot say what it is worth, as they are new, have a share by their pages, and
// those that are not quoted an equal one. What shards cannot spend the others have. Who divides by the
// same quotes comes to the same shares, which add up to the budget unless all are at their limits: so
// nobody has to decide for all.
func Divide(quotes []Quote, shards int, budget float64) []float64 {
	quotes = usable(quotes, shards)
	rates := make([]float64, shards)
	for i := range rates {
		rates[i] = budget / float64(shards)
	}
	if len(quotes) == 0 {
		return rates
	}
	pages, limits := make([]float64, len(quotes)), make([]float64, len(quotes))
	for i, q := range quotes {
		pages[i], limits[i] = float64(q.Pages), q.most()
	}
	shares := fill(budget*float64(len(quotes))/float64(shards), pages, limits)
	var priced []Quote
	limits, left := nil, 0.0
	for i, q := range quotes {
		rates[q.Shard] = shares[i]
		if len(q.Prices) == len(steps) && q.Rate > 0 {
			priced, limits = append(priced, q), append(limits, q.most())
			left += shares[i]
		}
	}
	for i, rate := range fill(left, demands(priced, left), limits) { // also what is left where the steps end
		rates[priced[i].Shard] = rate
	}
	rest := budget
	for _, q := range quotes {
		rest -= rates[q.Shard]
	}
	for i := range rates {
		if !slices.ContainsFunc(quotes, func(q Quote) bool { return q.Shard == i }) {
			rates[i] = max(rest, 0) / float64(shards-len(quotes))
		}
	}
	return rates
}

// demands returns the rates at which one more poll is worth the same in all of some shards, as near to a sum
// as the steps allow.
func demands(priced []Quote, total float64) []float64 {
	at := make([]float64, len(priced))
	demand := func(price float64) (sum float64) {
		for i := range priced {
			at[i] = priced[i].demand(price)
			sum += at[i]
		}
		return sum
	}
	low, high := math.Inf(1), 0.0
	for _, q := range priced {
		low, high = min(low, q.Prices[len(steps)-1]), max(high, q.Prices[0])
	}
	for range 60 { // demand falls with the price
		if mid := math.Sqrt(low * high); demand(mid) > total {
			low = mid
		} else {
			high = mid
		}
	}
	demand(high)
	return at
}

// fill divides a total in proportion to weights, but gives nobody more than his limit: what is over the others
// have, in proportion again. Those of weight 0 get nothing before all others are at their limits, and then the
// same.
func fill(total float64, weights, limits []float64) []float64 {
	shares, full := make([]float64, len(weights)), make([]bool, len(weights))
	for {
		sum, open := 0.0, 0
		for i, w := range weights {
			if !full[i] {
				sum, open = sum+w, open+1
			}
		}
		if open == 0 {
			return shares
		}
		given, again := 0.0, false
		for i, w := range weights {
			if full[i] {
				continue
			}
			shares[i] = total / float64(open)
			if sum > 0 {
				shares[i] = total * w / sum
			}
			if shares[i] >= limits[i] {
				shares[i], full[i], again = limits[i], true, true
				given += limits[i]
			}
		}
		if !again {
			return shares
		}
		total = max(total-given, 0)
	}
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
			_ = p.loop.Do(ctx, func(s *shard.State) {
				own = append(own, p.quote(s, c.cfg.Clock.Now(), time.Now(), &c.cfg))
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

// hold is the time that an interval between two quotes may take beyond twice DivideEvery, as where nodes exchange
// quotes or the machine is busy.
const hold = 10 * time.Second

// quote returns what a shard would pay, and takes note of what it spent since the last time. Now is by the clock
// of the crawl, which may be set meanwhile. At is by that of the process, which measures how long that was.
func (p *piece) quote(s *shard.State, now, at time.Time, cfg *Config) Quote {
	rate := p.loop.Rate()
	q := Quote{Pages: s.Len(), Rate: rate}
	_ = knapsack.With(s.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		q = quote(f, cfg.Objective, rate, s.Weight())
		return nil
	}) // other learners have no price
	q.Shard, q.Pages = p.number, s.Len()
	// Where the process was stopped meanwhile what it made tells nothing, and a limit stands.
	if elapsed := at.Sub(p.quoted); !p.quoted.IsZero() && elapsed <= 2*cfg.DivideEvery+hold {
		made := float64(p.loop.Spent-p.spent) / elapsed.Seconds()
		// What was not spent grows late where a limit stands: the loop makes up for some polls first.
		limited := p.most > 0 && made < stands*rate || made < spent*rate && p.loop.Unspent > p.unspent
		p.most = 0
		if made > 0 && limited {
			p.most = made * room
		}
	}
	q.Most = p.most
	if hosts := fastest(s, cfg.Fetch.Delay.Seconds(), now); hosts <= mostRate && s.Len() > 0 && (q.Most == 0 || hosts < q.Most) {
		q.Most = max(hosts, trickle)
	}
	p.quoted, p.spent, p.unspent = at, p.loop.Spent, p.loop.Unspent
	return q
}

// fastest returns the greatest rate that the delays of a shard's hosts allow, but for those that rest. It is known long before so many
// polls are made that what was spent tells.
func fastest(s *shard.State, delay float64, now time.Time) (rate float64) {
	for h := range s.Hosts() {
		if _, rests := h.Rests(now); h.Pages > 0 && !rests {
			rate += 1 / max(h.Delay, delay)
		}
	}
	return rate
}

// Price returns what one more poll is worth to a shard, and its Stats.
func Price(s *shard.State) (price float64, stats knapsack.Stats) {
	_ = knapsack.With(s.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		price, stats = f.Price(), f.Stats()
		return nil
	}) // other learners have no price
	return price, stats
}
