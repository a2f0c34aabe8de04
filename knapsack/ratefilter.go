package knapsack

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/internal/chunk"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/budget"
	"github.com/recrawl/recrawl/knapsack/internal/census"
	"github.com/recrawl/recrawl/knapsack/internal/factor"
	"github.com/recrawl/recrawl/knapsack/internal/hints"
	"github.com/recrawl/recrawl/knapsack/internal/lately"
	"github.com/recrawl/recrawl/knapsack/internal/limits"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// A RateFilter learns how often each page changes, even where that rate itself changes, and polls the
// page that is most worth a poll. Its main methods are Next, which returns the page to poll, and
// Observe, which reports what the poll found. Most crawlers should use it: it needs no settings, no
// unit of time and no randomness.
//
// Everything else is optional:
//
//   - Add and Remove change the set of pages. A page counts as current when it is added, or at the
//     first Next.
//   - Record reports a poll that Next did not ask for, and RecordChanges known times of changes.
//   - SetWeight sets how much a page counts, SetCost what its polls cost, and SetInterval how often
//     it may or must be polled.
//   - AddGroup and SetGroup put pages into groups that change together or share a limit, as the
//     pages of a host do.
//   - Defer and DeferGroup keep pages from being polled before a time.
//   - Signal hints that a page changed.
//   - Rate, Price, Index and WhatIf return what was learnt, Ready and Due when to expect polls, and
//     Stats numbers to watch.
//
// The budget is measured from the calls of Next: over about as many as there are pages, or 256 if that is more,
// pauses included. So a crawler may run now and then, such as once a day. If a run polls most pages more than
// once, give all its calls of Next the time at which it began, or the pace of a run is taken for the budget.
//
// # Guarantees
//
//   - Decisions depend on the calls alone. A filter that was saved and restored continues bit for
//     bit, in the same build on the same kind of processor.
//   - No page starves. With n pages, polls at a steady rate, no limits and no failures, every page
//     is polled again within 81·n polls, whatever the answers. With costs, it is polled again before
//     the polls have cost 80 times as much as one poll of each page, plus n/8 polls of any cost. That
//     holds if Next is called as soon as a poll can be paid for. If pages were removed, both hold as
//     long as one in 64 is left of the most that there were.
//   - Where pages change at random times and no schedule beats polling all pages in turn, the filter
//     polls in turn. It then loses only what learning costs in the first n polls. Pages that all
//     change at equal exact intervals, each at times of its own, seem to differ, and it loses some
//     per cent there.
//
// # Cost
//
// Time: O(log n) for Next and Observe. No call works on more than some hundred pages
// (TestRateFilterHasNoStall), except that Add grows the tables when they are full, as append does.
//
// Memory: 60 bytes a page, 61 from 19,200 pages on, and what is used of
//
//	Detections                          3 bytes a page
//	weights                             8
//	costs                               16 to 32
//	intervals                           20, and 12 for each page with a longest one
//	signals                             1 bit
//	pages added while the crawl runs    8
//	groups of 33 pages or more          16 to 33: 16 for groups of 100 pages
//	smaller groups                      6, and about 320 a group: 16 in all with groups of 32 pages
//
// A page that is deferred, whose last poll got no answer, or that has a signal takes about 70 more.
//
// # How it works
//
// Time is measured in cycles. A cycle is the time in which the budget, as measured from the calls of
// Next, pays for one poll of every page.
//
// Belief. Each page has a posterior over up to 20 rates of change, each 1.8 times the one before,
// times three classes in which rates jump to a fresh one after 0.7, 7 or 150 cycles on average. A
// poll after a gap τ multiplies the weight of the rate λ by 1 − e^(−λτ) if the page had changed, and
// by e^(−λτ) if not. This is the Bayes filter of a Markov-modulated Poisson process. Pages with few
// polls are judged in the light of all pages, and of their group.
//
// Index. The value of a poll is the slope V' of the objective (see Objective) at the gap since the
// last answer, averaged over the posterior. A part of its standard deviation is added, because a poll
// of a page that is hardly known also teaches something. Next returns the page with the greatest
// value. With up to 100 pages this is exact. What it returns is worth, on average, within 1 % of the
// greatest value with 20,000 pages, and with 100,000 (within 2 % there under Detections). Where groups
// of pages change together it is within about 1 % with 240 pages and mostly within 3 % with 1500, and
// where pages keep coming within about 10 % (RESULTS.md, "How exact choices are").
//
// Corrections. What polls of many pages found, compared with what was expected of each, corrects
// what is expected of the others: pages and groups that change together, pages that were never known
// to change, pages that are young or waited long. Each correction is learnt, and is nothing where
// there is nothing to correct.
//
// Hedge. Where all pages change alike, a schedule that learns loses by chasing luck. From what polls
// found the filter estimates how much more the best schedule would detect than polling in turn. While
// that is below ½ %, or up to 2 % where few changes were found, it polls in turn, once it has polled
// each page. With weights, costs or good signals it does not.
//
// Patience. A sixteenth of the budget goes to pages that have been without an answer for 64 cycles,
// if there are any.
//
// The page docs/ratefilter.md of the repository describes each part, with the objectives that use it.
// RESULTS.md, "What each part is worth", has measurements.
//
// # Source
//
// For known rates the index is the slope that attains the optimum, see Objective. Its average over a
// belief, the corrections, the hedge and the patience are this package's own.
type RateFilter struct {
	book
	objective Objective
	weights   []float64    // per slot; nil before the first SetWeight
	costs     pick.SumTree // per slot, see treeOfCosts; nil before the first SetCost

	polled   []float64       // per slot: time of the last answer; −Inf until the first Next
	beliefs  []belief.Packed // per slot
	model    belief.Model
	census   census.Census
	levels   [2]factor.Level           // of evidence of all pages, and of groups
	common   factor.Factor             // of all pages
	known    [1 << logKnown]multiplier // by common, until that learns
	passed   factor.Passed             // the same for knots of common
	kin      chunk.List[kin]           // per slot of a group
	factors  chunk.List[factor.Factor] // of groups of which something is known
	usual    factor.Usual              // of pages in groups
	likeness factor.Likeness           // of pages in groups
	changed  bits                      // per slot: at its last answer
	touched  bits                      // per slot: was ever known to change
	added    bits                      // per slot: by Add, and without an answer since
	trails   []census.Trail            // per slot; nil but for Detections
	rates    []lately.Rate             // likewise
	births   []float64                 // per slot, see setBirth; nil before the first Add after the start
	marks    []factor.Mark             // per slot: what is known of it; nil before the first SetGroup
	answers  uint64                    // dither for packing

	meter     budget.Meter
	pays      float64 // what the budget pays for in a cycle, see paid; 0 before it is measured
	limits    limits.Limits
	hints     hints.Hints
	early     map[uint32][]stretch // change times told before there was a time scale, by slot
	queue     queue.Queue
	tally     tally
	threshold float64 // mean index of the pages polled of late
	sweep     uint32  // next slot to refresh
	late      float64 // part of the pages refreshed that were late
	faded     faded
	looks     uint64  // indices computed
	tardy     uint32  // a slot to poll for courtesy, or the next one to judge
	credit    float64 // what may be spent on courtesy
	without   ablation.Parts
}

// A RateFilterConfig holds the settings of a RateFilter. Its zero value is good.
type RateFilterConfig struct {
	// Objective is what the schedule maximises; Freshness by default.
	Objective Objective
}

const (
	// firstBlock is how many polls the first estimate of the cycle waits for: an error of
	// a quarter, at random times, is less than a cell of the grid of rates. Later blocks are a
	// 16th of a cycle, if that is more.
	firstBlock    = 16
	blocksInCycle = 16
	// A page that fails is tried again after shortestWait to 1/2 of a cycle at first, and
	// about longestWait cycles at last: of a web with 30 % dead pages these take 2 % of the polls then.
	// BenchmarkDeadPages measures that. With a bound of 4 cycles they take 7 %.
	shortestWait = 1.0 / 8
	longestWait  = 16
	// mostRescale bounds the factor by which one block changes the cycle.
	mostRescale = 2
)

// slowest sets the grid of rates for each objective, in cycles. A poll of a page slower than 1/64
// per cycle earns next to no detections, and a flat prior spends the less on such pages
// the fewer rates it has for them; copies of such pages stay fresh without polls.
var slowest = [objectives]float64{Freshness: 150, Detections: 64, Age: 150, Harmonic: 150, Delay: 150}

// worth returns what polls are worth for an objective.
var worth = [objectives]func() belief.Worth{
	Detections: sync.OnceValue(func() belief.Worth {
		chance := func(v float64) float64 { return -math.Expm1(-v) }
		return belief.Worth{Table: belief.NewTable(chance), Chance: true, Slowest: slowest[Detections]}
	}),
	Freshness: worthOf(Freshness),
	Age:       worthOf(Age),
	Harmonic:  worthOf(Harmonic),
	Delay:     worthOf(Delay),
}

// manyChanges is how many changes in a gap halve what Delay takes a poll to be worth. That a page
// changes so often is never sure, as a poll finds one change only, and those of a burst or of an
// edit of many pages come together. On four recorded histories, each at three budgets, values of
// 2 to 8 have delays within 3 % of each other, and 5 to 10 % less than without; in
// TestRateFilterDelay, whose rates are constant, it is 0.82 of the way to the best and not 0.73.
// With 8, delays are 6 % shorter in webs of constant rates that differ very much (Zipf), and .5 % longer
// on 25 recorded histories. But in the first web of TestPagesThatAreBorn changes are then found .92 times
// as early as by polls in turn, and not 1.06 times.
//
// burstChanges takes its place for a page that was never known to change and may have begun to: pages are
// written, and then change many times. Where pages are written throughout 12 to 200 cycles and then change 20 or
// 60 times in each, uniform polls have .86 to 1.2 times the delay of the filter without, and .98 to 1.3 times
// with it. Where rates stay that costs 1 %, and on four recorded histories .8 % (with 32 in place of 16: 2 %).
const manyChanges, burstChanges = 4, 16

func worthOf(o Objective) func() belief.Worth {
	return sync.OnceValue(func() belief.Worth {
		s := o.curve(Even)
		value := func(v float64) float64 { return s.H(v) / math.Pow(v, float64(s.Power)) }
		w := belief.Worth{Table: belief.NewTable(value), Power: s.Power, Slowest: slowest[o]}
		if o == Delay {
			upTo := func(many float64) *belief.Table {
				return belief.NewTable(func(v float64) float64 { return value(v) / (1 + v/many) })
			}
			w.Plain, w.Many, w.Table, w.Burst = true, manyChanges, upTo(manyChanges), upTo(burstChanges)
		}
		return w
	})
}

func init() {
	ablation.Without = func(filter any, parts ablation.Parts) { filter.(*RateFilter).without = parts }
}

// NewRateFilter returns a rate filter of the pages 0..n−1, in O(n). It returns ErrConfig unless n is 0 to
// 2^30, and for an unknown objective.
func NewRateFilter(n int, cfg RateFilterConfig) (*RateFilter, error) {
	if cfg.Objective >= objectives {
		return nil, fmt.Errorf("%w: %v", ErrConfig, cfg.Objective)
	}
	if err := checkPages(n); err != nil {
		return nil, err
	}
	f := &RateFilter{book: newBook(n), objective: cfg.Objective}
	f.polled = slices.Repeat([]float64{math.Inf(-1)}, n)
	f.beliefs = make([]belief.Packed, n)
	f.model = belief.NewModel(worth[f.objective]())
	f.census = census.New(n, f.objective == Detections)
	f.focus()
	f.levels = newLevels()
	f.common = factor.New(&f.levels[ofAll])
	f.changed = newBits(n)
	f.touched = newBits(n)
	f.added = newBits(n)
	if f.objective == Detections {
		f.trails = make([]census.Trail, n)
		f.rates = make([]lately.Rate, n)
	}
	f.meter = budget.New()
	f.queue = queue.New(n)
	return f, nil
}

// Add implements Learner. The page counts as current. A page that is added while the crawl runs also counts
// as new: how pages change at what age is learnt. O(log n), but O(n) for a call that grows the tables and for
// the first one while the crawl runs.
func (f *RateFilter) Add() (page int) {
	page = f.add()
	slot := Slot(page)
	if slot == len(f.polled) {
		f.polled = append(f.polled, 0)
		f.beliefs = append(f.beliefs, belief.Packed{})
		if f.weights != nil {
			f.weights = append(f.weights, 1)
		}
		if f.costs != nil && slot == f.costs.Size() {
			f.costs = f.costs.Doubled()
		}
		if f.marks != nil {
			f.marks = append(f.marks, factor.Mark{})
		}
		f.changed.grow(slot + 1)
		f.touched.grow(slot + 1)
		f.added.grow(slot + 1)
		if f.objective == Detections {
			f.trails = append(f.trails, 0)
			f.rates = append(f.rates, lately.Rate{})
		}
		f.queue.Grow()
		f.limits.Grow()
		f.hints.Grow(slot + 1)
	}
	if f.costs != nil {
		f.costs.Set(slot, 1)
	}
	f.polled[slot] = f.now
	f.born(slot)
	f.beliefs[slot] = f.model.Fresh()
	f.changed.set(uint32(slot), false)
	f.touched.set(uint32(slot), false)
	f.added.set(uint32(slot), true)
	f.leave(uint32(slot))
	f.setRate(uint32(slot), lately.Rate{})
	f.vote(slot, 1)
	f.wait(uint32(slot), hunch{guess: f.model.Cycle(), times: 1})
	return page
}

// Remove implements Learner, in O(log n).
func (f *RateFilter) Remove(page int) error {
	slot, flying, err := f.remove(page)
	if err != nil {
		return err
	}
	if d := f.limits.Delay(uint32(slot)); d > 0 && d < f.model.Cycle()*longestWait {
		f.gone(uint32(slot))
	}
	f.vote(slot, -1)
	f.queue.Take(uint32(slot))
	f.regroup(uint32(slot), queue.None, flying)
	if f.marks != nil {
		f.setMark(uint32(slot), factor.Mark{})
	}
	f.limits.Forget(uint32(slot))
	f.hints.Clear(slot)
	f.forgetEarly(uint32(slot))
	if f.weights != nil {
		f.weights[slot] = 1
	}
	if f.costs != nil {
		f.costs.Set(slot, 0)
	}
	return nil
}
