package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/partition"
	"github.com/recrawl/recrawl/schedule"
)

// subjects returns all there is to measure.
func subjects(pages []int, quick bool) (all []subject) {
	size := func(n int) int {
		if quick {
			return n / 10
		}
		return n
	}
	for _, n := range pages {
		all = append(all,
			subject{name: "memory", operation: "a number of a pass", n: n, prepare: memoryPass, whole: true, flat: true},
			subject{name: "memory", operation: "a number of a sort", n: n, prepare: sorting, whole: true, flat: true},
			subject{name: "web alone", operation: "poll of a page at random", n: n, prepare: webAlone, flat: true},
			subject{name: "LAKG", operation: "poll", n: n, prepare: lakg, extra: webBytes},
			subject{name: "LAKG alone", operation: "poll", n: n, prepare: lakgAlone},
			subject{name: "rate filter", operation: "poll", n: n, prepare: rateFilter(0), extra: webBytes},
			subject{name: "rate filter with groups", operation: "poll", n: n, prepare: rateFilter(pagesOfGroup), extra: webBytes},
			subject{name: "keyed rate filter", operation: "poll", n: n, prepare: keyed, extra: webBytes},
		)
	}
	return append(all,
		subject{name: "TWOMA, 30 arms", operation: "access", n: size(3_000_000), prepare: twoma},
		subject{name: "binpack", operation: "item by first fit decreasing", n: size(1_000_000), prepare: packed(binpack.FirstFitDecreasing), whole: true, flat: true},
		subject{name: "binpack", operation: "item by best fit decreasing", n: size(1_000_000), prepare: packed(binpack.BestFitDecreasing), whole: true, flat: true},
		subject{name: "binpack", operation: "item by Solve within 10 s", n: size(1_000_000), prepare: solved, whole: true, flat: true},
		subject{name: "schedule", operation: "site by LPT, 100 clients", n: size(1_000_000), prepare: scheduled(schedule.LPT), whole: true, flat: true},
		subject{name: "packer", operation: "weight told, and 10 moves of a Rebalance after each 1000", n: size(100_000), prepare: packer, extra: 16},
		subject{name: "assigner, 8 arms", operation: "access", n: size(100_000), prepare: assigner},
	)
}

// A web knows when its pages were polled. They change at rates of 1/8 to 8 for each time that all
// pages are polled once.
type web struct {
	last []float32
	n    float64
}

// webBytes is what a web takes for each page.
const webBytes = 4

func newWeb(n int) *web { return &web{make([]float32, n), float64(n)} }

// poll reports whether a page had changed at poll k.
func (w *web) poll(page, k int) bool {
	rate := math.Exp2(float64(mix(uint64(page))%7)-3) / w.n
	gap := max(1, float64(k)-float64(w.last[page]))
	w.last[page] = float32(k)
	return float64(mix(uint64(page)^uint64(k)<<32)>>11)*0x1p-53 < -math.Expm1(-rate*gap)
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// polling polls a learner from the beginning, and returns what goes on.
func polling(l knapsack.Learner, n int, cycles float64) (func(int) (int, error), error) {
	k, pages := 0, newWeb(n)
	poll := func(int) (int, error) {
		page, err := l.Next(float64(k))
		if err != nil {
			return 0, err
		}
		k++
		return 1, l.Observe(page, float64(k), pages.poll(page, k))
	}
	for range int(cycles * float64(n)) {
		if _, err := poll(0); err != nil {
			return nil, err
		}
	}
	return poll, nil
}

func lakg(n int, seed uint64, cycles float64) (func(int) (int, error), error) {
	l, err := knapsack.NewLAKG(n, knapsack.LAKGConfig{}, rand.NewPCG(seed, 4))
	if err != nil {
		return nil, err
	}
	return polling(l, n, cycles)
}

// lakgAlone takes answers from a number of page and poll, which reads no memory.
func lakgAlone(n int, seed uint64, cycles float64) (func(int) (int, error), error) {
	l, err := knapsack.NewLAKG(n, knapsack.LAKGConfig{}, rand.NewPCG(seed, 4))
	if err != nil {
		return nil, err
	}
	k := 0
	poll := func(int) (int, error) {
		page, err := l.Next(float64(k))
		if err != nil {
			return 0, err
		}
		k++
		return 1, l.Observe(page, float64(k), mix(uint64(page)^uint64(k)<<32)>>62 == 0)
	}
	for range int(cycles * float64(n)) {
		if _, err := poll(0); err != nil {
			return nil, err
		}
	}
	return poll, nil
}

// pagesOfGroup is how many pages of a web share a host.
const pagesOfGroup = 100

// rateFilter makes a filter with groups of so many pages, none if 0.
func rateFilter(groupOf int) func(n int, _ uint64, cycles float64) (func(int) (int, error), error) {
	return func(n int, _ uint64, cycles float64) (func(int) (int, error), error) {
		f, err := knapsack.NewRateFilter(n, knapsack.RateFilterConfig{})
		if err != nil {
			return nil, err
		}
		group := 0
		for page := 0; groupOf > 0 && page < n; page++ {
			if page%groupOf == 0 {
				// A host may be polled again after five others.
				if group, err = f.AddGroup(knapsack.GroupConfig{MinGap: 5}); err != nil {
					return nil, err
				}
			}
			if err := f.SetGroup(page, group); err != nil {
				return nil, err
			}
		}
		return polling(f, n, cycles)
	}
}

// keyed drives a rate filter by URLs.
func keyed(n int, _ uint64, cycles float64) (func(int) (int, error), error) {
	f, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	if err != nil {
		return nil, err
	}
	crawl, pages := knapsack.NewKeyed[string](f), newWeb(n)
	for page := range n {
		crawl.Add(fmt.Sprintf("https://www.example.org/%d/%d", page/pagesOfGroup, page))
	}
	begin, k := time.Unix(1e9, 0), 0
	poll := func(int) (int, error) {
		now := begin.Add(time.Duration(k) * time.Second)
		url, err := crawl.Next(now)
		if err != nil {
			return 0, err
		}
		k++
		page, err := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
		if err != nil {
			return 0, err
		}
		return 1, crawl.Observe(url, now, pages.poll(page, k))
	}
	for range int(cycles * float64(n)) {
		if _, err := poll(0); err != nil {
			return nil, err
		}
	}
	return poll, nil
}

// access gives sites to arms of which one is the fastest for each.
func access(next func(site int) (int, error), observe func(site int, duration float64) error, n, arms int, seed uint64, cycles float64) (func(int) (int, error), error) {
	rng, k := rand.NewPCG(seed, 5), uint64(0)
	do := func(int) (int, error) {
		site := place(rng, n)
		arm, err := next(site)
		if err != nil {
			return 0, err
		}
		k++
		duration := 100 + float64(mix(k)%50)
		if arm != int(mix(uint64(site))%uint64(arms)) {
			duration *= 2
		}
		return 1, observe(site, duration)
	}
	for range int(cycles * float64(n)) {
		if _, err := do(0); err != nil {
			return nil, err
		}
	}
	return do, nil
}

func twoma(n int, seed uint64, cycles float64) (func(int) (int, error), error) {
	const arms = 30
	t, err := partition.NewTWOMA(arms, n, partition.TWOMAConfig{}, rand.NewPCG(seed, 6))
	if err != nil {
		return nil, err
	}
	return access(t.Next, t.Observe, n, arms, seed, cycles)
}

func assigner(n int, seed uint64, cycles float64) (func(int) (int, error), error) {
	const arms = 8
	a, err := partition.NewAssigner(arms, n, partition.AssignerConfig{}, rand.NewPCG(seed, 7))
	if err != nil {
		return nil, err
	}
	return access(a.Next, a.Observe, n, arms, seed, cycles)
}

// weights are log-normal, of sites as they occur, up to a tenth of a node of 1000.
func weights(n int, seed uint64) []float64 {
	rng, w := rand.New(rand.NewPCG(seed, 8)), make([]float64, n)
	for i := range w {
		w[i] = min(100, 4*math.Exp(rng.NormFloat64()))
	}
	return w
}

func packed(h binpack.Heuristic) func(int, uint64, float64) (func(int) (int, error), error) {
	return func(n int, seed uint64, _ float64) (func(int) (int, error), error) {
		p := binpack.Problem[float64]{Weights: weights(n, seed), Capacity: 1000}
		return func(int) (int, error) {
			_, err := binpack.Pack(p, h)
			return n, err
		}, nil
	}
}

func solved(n int, seed uint64, _ float64) (func(int) (int, error), error) {
	p := binpack.Problem[float64]{Weights: weights(n, seed), Capacity: 1000}
	return func(int) (int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := binpack.Solve(ctx, p, binpack.SolveConfig{})
		return n, err
	}, nil
}

func scheduled(by func(*schedule.Problem) schedule.Plan) func(int, uint64, float64) (func(int) (int, error), error) {
	return func(n int, seed uint64, _ float64) (func(int) (int, error), error) {
		p, err := schedule.NewIdentical(weights(n, seed), 100)
		if err != nil {
			return nil, err
		}
		return func(int) (int, error) {
			by(p)
			return n, nil
		}, nil
	}
}

// packer tells weights that drift, and lets the packer make a few moves now and then.
func packer(n int, seed uint64, _ float64) (func(int) (int, error), error) {
	p, err := binpack.NewPacker(binpack.PackerConfig{})
	if err != nil {
		return nil, err
	}
	w := weights(n, seed)
	total := 0.0
	for _, x := range w {
		total += x
	}
	for range int(total/1000*1.2) + 2 {
		if _, err := p.AddNode(1000, binpack.NodeConfig{}); err != nil {
			return nil, err
		}
	}
	site := make([]int, n)
	for i, x := range w {
		if site[i], _, err = p.AddSite(x, binpack.SiteConfig{}); err != nil {
			return nil, err
		}
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	return func(k int) (int, error) {
		i := rng.IntN(n)
		w[i] = min(100, w[i]*math.Exp(0.1*rng.NormFloat64()))
		if err := p.SetWeight(site[i], w[i]); err != nil {
			return 0, err
		}
		if k%1000 == 999 {
			if _, err := p.Rebalance(binpack.RebalanceConfig{MaxMoves: 10}); err != nil {
				return 0, err
			}
		}
		return 1, nil
	}, nil
}
