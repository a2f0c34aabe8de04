package crawler

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

var dividedRuns = flag.Int("divided", 0, "webs of TestDivided, for the table of RESULTS.md; 0 is the short form")

// divided is a number of learners, each of which has the pages of its hosts and a share of the
// budget, as one scheduler. No network is between them: what differs from one learner is the
// division alone.
type divided struct {
	filters   []*knapsack.RateFilter
	shard     []int // page → shard
	own       []int // page → number there
	pages     [][]int
	rates     []float64
	credit    []float64
	budget    float64
	exchange  float64 // time between two divisions; 0 for never
	next      float64
	objective knapsack.Objective
}

// newDivided divides pages by their hosts among n learners.
func newDivided(t *testing.T, host []int, n int, budget, exchange float64, objective knapsack.Objective) *divided {
	t.Helper()
	d := &divided{
		filters: make([]*knapsack.RateFilter, n), shard: make([]int, len(host)), own: make([]int, len(host)), pages: make([][]int, n),
		credit: make([]float64, n), budget: budget, exchange: exchange, next: exchange, rates: Divide(nil, n, budget), objective: objective,
	}
	for page, h := range host {
		i := ShardOf(fmt.Sprintf("host-%d.test", h), n)
		d.shard[page], d.own[page] = i, len(d.pages[i])
		d.pages[i] = append(d.pages[i], page)
	}
	for i := range d.filters {
		f, err := knapsack.NewRateFilter(len(d.pages[i]), knapsack.RateFilterConfig{Objective: objective})
		require.NoError(t, err)
		d.filters[i] = f
	}
	return d
}

// Next asks the learner that is most behind its share.
func (d *divided) Next(now float64) (int, error) {
	if d.exchange > 0 && now >= d.next {
		d.next += d.exchange
		var quotes []Quote
		for i, f := range d.filters {
			q := quote(f, d.objective, d.rates[i], 1)
			q.Shard = i
			quotes = append(quotes, q)
		}
		d.rates = Divide(quotes, len(d.filters), d.budget)
	}
	most := 0
	for i := range d.credit {
		d.credit[i] += d.rates[i] / d.budget
		if d.credit[i] > d.credit[most] {
			most = i
		}
	}
	d.credit[most]--
	page, err := d.filters[most].Next(now)
	if err != nil {
		return 0, err
	}
	return d.pages[most][knapsack.Slot(page)], nil
}

func (d *divided) Observe(page int, now float64, changed bool) error {
	return d.filters[d.shard[page]].Observe(d.own[page], now, changed)
}

// Many learners that divide a budget by their prices find nearly as much as one that has it all.
// The hosts differ: on some all pages change often. Shares that are equal and stay so are beside
// it. The table of RESULTS.md:
//
//	go test ./examples/crawl/internal/crawler -run TestDivided -v -divided 5 -timeout 1h
func TestDivided(t *testing.T) {
	t.Parallel()
	pages, days, runs := 2000, 20., 1
	shards := []int{4}
	objectives := []knapsack.Objective{knapsack.Detections}
	if *dividedRuns > 0 {
		pages, days, runs = 4000, 30, *dividedRuns
		shards = []int{4, 16}
		objectives = append(objectives, knapsack.Freshness)
	}
	const perPage = 0.5 // polls in a day
	hosts := pages / 20
	for _, objective := range objectives {
		for _, n := range shards {
			var with, equal [2][]float64 // relative to one learner: detections, freshness
			for run := range runs {
				rng := rand.New(rand.NewPCG(uint64(run), 15))
				host, level := make([]int, pages), make([]float64, hosts)
				for h := range level {
					level[h] = math.Exp(rng.NormFloat64())
				}
				rates := webenv.LogNormalLaw(pages, 1, 1.5, rand.NewPCG(uint64(run), 16))
				for p := range rates {
					host[p] = int(float64(hosts) * math.Pow(rng.Float64(), 2)) // some are large
					rates[p] *= level[host[p]]
				}
				account := func(n int, exchange float64) webenv.Result {
					env, err := webenv.NewPoisson(rates, rand.NewPCG(uint64(run), 17))
					require.NoError(t, err)
					budget := perPage * float64(pages)
					r, err := webenv.Run(env, newDivided(t, host, n, budget, exchange, objective), webenv.RunConfig{Rate: budget, Duration: days})
					require.NoError(t, err)
					return r
				}
				one := account(1, 0)
				for k, exchange := range []float64{0.02, 0} {
					r := account(n, exchange)
					to := &with
					if k == 1 {
						to = &equal
					}
					to[0] = append(to[0], float64(r.Detected)/float64(one.Detected)-1)
					to[1] = append(to[1], r.Freshness/one.Freshness-1)
				}
			}
			if *dividedRuns > 0 {
				t.Logf("%v, %d learners: detections %s, freshness %s; with equal shares %s, %s", objective, n,
					percent(with[0]), percent(with[1]), percent(equal[0]), percent(equal[1]))
			}
			measure := 0
			if objective == knapsack.Freshness {
				measure = 1
			}
			for _, x := range with[measure] {
				require.Greater(t, x, -0.02, "%v, %d learners", objective, n)
			}
		}
	}
}

// percent writes mean and standard deviation.
func percent(all []float64) string {
	mean, square := 0.0, 0.0
	for _, x := range all {
		mean += x / float64(len(all))
	}
	for _, x := range all {
		square += (x - mean) * (x - mean) / float64(max(len(all)-1, 1))
	}
	return fmt.Sprintf("%+.2f ± %.2f %%", 100*mean, 100*math.Sqrt(square))
}
