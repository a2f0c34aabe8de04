package book

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
)

var learnsRuns = flag.Uint64("learns", 2, "webs of TestLearns; 4 for the table of RESULTS.md")

// A web has pages that change at rates of their own, and a client that polls them.
type web struct {
	rng     *rand.Rand
	rates   []float64 // per second
	changed []float64 // time up to which changes are drawn
	version []int
	seen    []int // version at the last poll
	polls   int
	found   int // changes that polls found
}

func newWeb(pages int, cycle float64, seed uint64) *web {
	w := &web{
		rng: rand.New(rand.NewPCG(seed, 7)), rates: make([]float64, pages), changed: make([]float64, pages),
		version: make([]int, pages), seen: make([]int, pages),
	}
	for i := range w.rates {
		w.rates[i] = math.Exp(2*w.rng.NormFloat64()-1) / cycle
	}
	return w
}

// poll returns whether a page changed since its last poll.
func (w *web) poll(page int, now float64) bool {
	gap := now - w.changed[page]
	w.changed[page] = now
	if w.rng.Float64() < -math.Expm1(-w.rates[page]*gap) {
		w.version[page]++
	}
	changed := w.version[page] != w.seen[page]
	w.seen[page] = w.version[page]
	w.polls++
	if changed {
		w.found++
	}
	return changed
}

// A plan is a frontier as a client sees it: URLs for a time, and what came of them.
type plan interface {
	next(now float64, n int) []int
	tell(page int, now float64, changed bool)
}

// run polls at a budget of a page a second, in batches, and returns the changes found in a cycle in
// the last half of the time.
func (w *web) run(p plan, cycles, batch int) float64 {
	begin := 1e6
	half := 0
	for k := 0; k*batch < cycles*len(w.rates); k++ {
		now := begin + float64(k*batch)
		if k*batch*2 >= cycles*len(w.rates) && half == 0 {
			half = w.found
		}
		for _, page := range p.next(now, batch) {
			p.tell(page, now+0.25, w.poll(page, now+0.25))
		}
	}
	return float64(w.found-half) / float64(cycles) * 2
}

// A frontierPlan asks a State.
type frontierPlan struct {
	t     *testing.T
	s     *State
	queue func(page int) string
	ask   Ask
	date  func(page int, now float64, changed bool) float64 // from which on the client wants it; nil is ignored
	blind bool                                              // there are no signatures
}

func (f *frontierPlan) put(e Event) {
	_, err := f.s.Apply(&e)
	require.NoError(f.t, err)
}

// next asks until there is nothing to be had or the budget is spent, as a crawler does.
func (f *frontierPlan) next(now float64, n int) (pages []int) {
	for more := true; more && len(pages) < n; {
		a := f.ask
		a.Most = n - len(pages)
		gifts, _, err := a.Step(f.s, now, n)
		require.NoError(f.t, err)
		a.End(now)
		for _, g := range gifts {
			var page int
			_, err := fmt.Sscan(g.URL, &page)
			require.NoError(f.t, err)
			pages = append(pages, page)
		}
		more = len(gifts) > 0
	}
	return pages
}

func (f *frontierPlan) tell(page int, now float64, changed bool) {
	url := fmt.Sprint(page)
	e := Event{Kind: Known, At: now, Crawl: "c", Key: f.queue(page), URL: url, Free: f.date == nil, Date: uint64(now), Mark: 2}
	if f.date != nil {
		e.Date = uint64(f.date(page, now, changed))
	}
	q, pos, _ := f.s.Find("c", e.Key, url)
	switch {
	case f.blind:
		e.Verdict = Unknown
	case q.urls[pos].mark == 0:
		e.Verdict = First
	case changed:
		e.Verdict = Changed
	default:
		e.Verdict = Unchanged
	}
	f.put(e)
}

func newFrontierPlan(t *testing.T, pages, perQueue int, ask Ask) *frontierPlan {
	f := &frontierPlan{t: t, s: New(knapsack.Detections), ask: ask}
	f.queue = func(page int) string { return fmt.Sprint(page / perQueue) }
	for page := range pages {
		f.put(Event{Kind: Discovered, At: 1e6 - 1, Crawl: "c", Key: f.queue(page), URL: fmt.Sprint(page)})
	}
	return f
}

// A filterPlan asks a rate filter.
type filterPlan struct{ f *knapsack.RateFilter }

func (f filterPlan) next(now float64, n int) (pages []int) {
	for range n {
		page, err := f.f.Next(now)
		if err != nil {
			break
		}
		pages = append(pages, page)
	}
	return pages
}

func (f filterPlan) tell(page int, now float64, changed bool) { _ = f.f.Observe(page, now, changed) }

// interval is StormCrawler's rule: half way to an hour for a change, half as much again for none.
func interval(pages int) func(page int, now float64, changed bool) float64 {
	of := make([]float64, pages)
	return func(page int, now float64, changed bool) float64 {
		if of[page] == 0 {
			of[page] = float64(pages)
		}
		if changed {
			of[page] = (of[page] + float64(pages)/24) / 2
		} else {
			of[page] *= 1.5
		}
		return now + of[page]
	}
}

// What a client finds through a frontier is what it would find by asking a rate filter itself, and
// more than by its own dates.
func TestLearns(t *testing.T) {
	t.Parallel()
	pages, cycles, seeds, part := 600, 40, *learnsRuns, 0.95
	if testing.Short() {
		pages, cycles, seeds, part = 200, 20, 1, 0.9 // one run of few pages scatters by some per cent
	}
	for _, c := range []struct {
		name            string
		perQueue, batch int
		ask             Ask
	}{
		{"one by one", 10, 1, Ask{Lease: 30}},
		{"10 queues of 10", 10, 30, Ask{Lease: 30, Queues: 10, PerQueue: 10}},
		{"one queue", pages, 10, Ask{Lease: 30}},
		{"a page a queue", 1, 10, Ask{Lease: 30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const frontier, bound, adaptive, fixed, filter = 0, 1, 2, 3, 4
			var sums [5][]float64
			var polls [5]int
			for seed := range seeds {
				f, err := knapsack.NewRateFilter(pages, knapsack.RateFilterConfig{Objective: knapsack.Detections})
				require.NoError(t, err)
				plans := [5]plan{filter: filterPlan{f}}
				for i := range 4 {
					p := newFrontierPlan(t, pages, c.perQueue, c.ask)
					plans[i] = p
					switch i {
					case bound:
						p.date = func(_ int, now float64, _ bool) float64 { return now + 1 }
					case adaptive:
						p.date, p.blind = interval(pages), true
					case fixed:
						p.date, p.blind = func(_ int, now float64, _ bool) float64 { return now + 0.9*float64(pages) }, true
					}
				}
				for i, p := range plans {
					w := newWeb(pages, float64(pages), seed)
					sums[i] = append(sums[i], w.run(p, cycles, c.batch)/float64(pages))
					polls[i] += w.polls
				}
			}
			mean := func(i int) (m float64) {
				for _, x := range sums[i] {
					m += x / float64(len(sums[i]))
				}
				return m
			}
			t.Logf("changes found a poll: frontier %.3f, with a bound %.3f, by StormCrawler's dates %.3f, by dates of one interval %.3f; a rate filter alone %.3f; each: %.3f; polls: %d",
				mean(frontier), mean(bound), mean(adaptive), mean(fixed), mean(filter), sums, polls)
			require.Greater(t, mean(frontier), part*mean(filter))
			require.Greater(t, mean(bound), part*mean(filter))
			require.Greater(t, mean(frontier), 1.3*mean(fixed))
		})
	}
}
