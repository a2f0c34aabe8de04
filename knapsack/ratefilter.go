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

// A RateFilter learns how often each page changes, also where that changes itself, and
// polls the page that is most worth it. It has two main methods: Next gives the page to
// poll, Observe tells what the poll found. Take it unless there is a reason to take
// something else: it needs no setting, no unit of time and no randomness.
//
// Everything else is optional. Record tells of polls that nobody asked for, RecordChanges the
// times of changes where they are known, also from before the start. Add and Remove change the
// set of pages. SetWeight says what a page counts, SetCost what its polls cost, SetInterval how
// often it may or must be polled, AddGroup and SetGroup how hard a host may be used, Defer and
// DeferGroup until when it may not be; Signal hints that a page changed. Rate, Price and WhatIf
// return what has been learnt, Ready and Due when polls are to be expected, Stats how the crawl
// goes. A page counts as current when it is added, or at the first Next.
//
// # Guarantees
//
// Decisions depend on the calls alone, and a filter that was saved and restored continues
// bit for bit (in the same build on the same kind of processor). No page starves: with n pages,
// polls at a steady rate and no limits set, each page is polled again within 81·n polls,
// whatever the answers; with costs, within polls that cost 80 times what one of each page does, and
// n/8 polls more of whatever cost, if Next is called whenever that is paid for. Where nothing is
// to be had by polling some pages more than others, it polls them in turn, and loses to doing so
// from the beginning what it learns in the first n polls.
//
// # Cost
//
// Time: O(log n) for Next and Observe. No call does what belongs to many pages: none looks at more
// than some hundred (TestRateFilterHasNoStall). But Add copies the tables when they have no room left, as append
// does. Memory: 60 bytes a page, 61 from 19,200 pages on, and
// three more under Detections; 8 more with weights, 16 to 32 with costs, 20 with intervals and 12 for each page
// with a longest one, one bit with signals, 8 once pages are added while the crawl runs. Groups take 16 more where they have 32 or 100 pages each,
// and up to 33 between, as from 33 pages on they have trees; smaller ones take 6 for each page and
// about 320 for each group, which is 69 a page with 5 pages in each. Pages that are deferred, or whose
// last poll got no answer, or of which a signal waits for one, take about 70 more.
//
// # How it works
//
// All times are measured in cycles: the time in which the budget, as it is seen from the
// calls of Next, pays for one poll of every page.
//
// Belief. For each page there is a posterior over up to 20 rates of change, by factors of
// 1.8, times three habits: rates that jump to a fresh one after 0.7, 7 or 150 cycles on
// average. A poll after a gap τ multiplies the weight of rate λ by 1 − e^(−λτ) if the page
// had changed, and by e^(−λτ) if not. This is the Bayes filter of a Markov-modulated
// Poisson process, with the jumps of a gap at its beginning.
//
// Neighbours. Pages change together, as in a release or at night. What polls of all pages found of
// late, beside what was expected of each page alone, gives a factor for the time since any page's
// last answer; pages of a group ([RateFilter.SetGroup]) have one more, beside what that of all
// pages makes one expect. It scales the elapsed time, in the index and when a poll is learnt from.
// How strongly such evidence counts is learnt of each group: what has nothing in common costs
// nothing. An edit of many pages at once, as a release or a new template, changes pages that hardly
// ever change by themselves. That one was made, and when, is found by the first polls after it: the
// pages that were not polled since then are worth more, and those found changed are not taken for
// busy ones. Not so under Detections, where it gains nothing. And where all pages are quiet, those
// of groups are not taken to be as quiet: pages that change group by group are quiet most of the
// time. For these the factor of all pages counts as 0.3 at least, but under Detections and in the
// first cycles. Under Detections with weights or costs there is no factor of all pages: most polls are of the
// heavy or the cheap ones then, which say little of the others.
//
// Prior. What is known of pages with few polls is judged in the light of all pages: the average of
// the beliefs about them, and as much of a flat one. In a group it is also judged in the light
// of the group's other pages, as far as those change more often, or less, than all do; a new
// page begins like them.
//
// Many pages. From 131,072 pages on a sample tells of all: one of each few neighbours votes for
// these in the prior, and one of each few answers is what the hedge, the first cycles, waking and
// Stats go by, so that each of them still learns from as many as that in a cycle. What is known of a page,
// and of its group, is learnt from all of its answers.
//
// Index. The value of a poll is the slope V' of the objective (see [Objective]) at the gap
// since the last one, averaged over the posterior, plus half its standard deviation: a poll
// teaches something, too (but see Untouched). Next gives the page with the greatest value: exactly with
// up to 100 pages, and on average within 1 % of it with 20,000, and with 100,000 but for Detections, where
// it is 2 %. Where groups of pages change together it is within about 1 % with 240 pages and mostly within
// 3 % with 1500 (RESULTS.md, "How exact choices are"), and where pages keep coming within about 10 %.
// For Detections the probability p of a change is averaged, and its slope w·[p + (1−p)·ln(1−p)]
// compared; of the standard deviation 0.7·√(1−p) is added, as the surer a change is, the less more
// can be found by knowing better. For Delay the mean is taken without a deviation, a page that
// jumps goes where the rates of all are, and many changes within a gap count less.
//
// First cycles. For Detections 1.2 is added in place of 0.7 to begin with, so that pages are tried
// out, and the probability is corrected by what polls find: the pages that look best are those that
// are judged too well. Both fade out after 3 cycles.
//
// Untouched. How much more or less than expected the pages change that were never known to change, as stories
// do that are yet to be written, and how much those that were, is learnt from polls of all pages: e^u and e^v
// times. Their rates are taken to be that many times as great, and as that is so at all times it is no evidence
// of what pages have in common at present. Under Delay polls are worth that many times as much instead where it is
// less than 1, and where an untouched page may have begun to change, many changes in a gap count less only from four
// times as many on. Under Detections, where the first cycles are corrected otherwise, it is e^(s/2) and e^(−s/2)
// times, with s = u − v taken half a standard deviation nearer to 0, which fades in over the first cycles. u and v are
// between −4 and 4, and s between −2 and 2.
// Where untouched pages change less than the others there is less hope for them: 2 + u − v, within 0 and 1. By that
// part, under Freshness, Age and Harmonic, half the standard deviation counts in what a poll of one is worth, and one
// that jumps goes to any rate of the grid; by the rest it goes where the rates of all pages are.
//
// Youth. Pages that are added once the crawl runs change as others do not: articles and offers are written,
// corrected in their first hours, and rest then. By how much more or less than is believed of them such pages change is
// learnt by their age, in intervals of which each is twice as long as the one before, up to 64 cycles, and of untouched pages
// and others apart: e^θ times, with θ between −4 and 4. The elapsed time counts as so many times as much in the index, but not
// when a poll is learnt from, and a page that changes less and less is worth more: after it there is less to come. While a page is young
// that takes the place of u and v, s, and the correction of the first cycles. Of a page of which nothing was learnt yet, and
// changes are told from before it was added, the age is not known.
//
// Waking. Pages that have waited are polled sooner where polls of such pages find more changes than
// one expects, as where files are written long after the crawl began. After a gap of τ cycles τ^θ
// times as many changes are expected for Detections, if τ > 1, and (1+τ²)^(θ/2) times as many for
// Delay, with θ of 1.5 at most, which fades in over the first cycles; e² times as many at most. θ is
// learnt of all pages together. Not so for the other objectives, where it gains nothing.
//
// Sequel. Under Detections a page that is found changed, and was not likely to be, is followed for four
// cycles: what polls find then, less what they find elsewhere and what was to be expected of the page, is
// what such a find leads to. It is learnt of all pages that had been as quiet, and untouched or not. A
// poll of a quiet page is worth that as well, times the chance of a find, where that is more than the
// deviation that is added. So new pages of many changes are found sooner, if there are any. It fades in
// over the first cycles.
//
// Lately. Under Detections a second estimate of a page's rate, a discounted Gamma, goes by what it did within the last
// cycle or so: changes found over time watched, both forgotten but for 1/e in 0.7 cycles, with 0.3 changes in
// 0.3 cycles to begin with. The changes expected of a page are N^¾·M^¼, with N by the belief and M by
// that, once the first cycles are over. Two estimates that err in different ways err less together: see RESULTS.md,
// "What each part is worth".
//
// Hedge. Where all pages change alike, no schedule beats polling them in turn, and one
// that learns loses a little by chasing luck. From what polls found, by the rate predicted
// before them, the filter estimates how much more the best schedule would detect than polling in
// turn. Where nearly every poll finds a change, which hardly tells a rate, what polls in turn find
// is counted. As beliefs are learnt in the light of what pages have in common, edits of many pages at
// once are not taken for pages that are busy. After one poll per page, and while that gain is
// below ½ %, or up to 2 % where few changes were found, it polls in turn. Weights and good signals
// are reasons not to.
//
// Patience. A sixteenth of the budget goes to pages that have been without an answer for 64 cycles, if there
// are any.
//
// # Source
//
// The index for known rates is the slope that attains the optimum, see [Objective]. Its average
// over a belief, the hedge and the patience are this package's own.
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
	kin      chunk.List[kin]           // per slot of a group
	factors  chunk.List[factor.Factor] // of groups of which something is known
	likeness factor.Likeness           // of pages in groups
	changed  bits                      // per slot: at its last answer
	touched  bits                      // per slot: was ever known to change
	trails   []census.Trail            // per slot; nil but for Detections
	rates    []lately.Rate             // likewise
	births   []float64                 // per slot, see setBirth; nil before the first Add after the start
	marks    []factor.Mark             // per slot: what is known of it; nil before the first SetGroup
	answers  uint64                    // dither for packing

	meter     budget.Meter
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
	// longestWait cycles at last: of a web with 30 % dead pages these take 2 % of the polls then.
	// BenchmarkDeadPages measures that. With a bound of 4 cycles they take 7 %.
	shortestWait = 1.0 / 8
	longestWait  = 16
	// mostRescale bounds the factor by which one block changes the square of the cycle:
	// the estimate is the geometric mean of the old one and the block's, and one
	// block never doubles it.
	mostRescale = 4
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

// NewRateFilter returns a rate filter of n pages, 0 to 2^30; else, and for an objective that there is not, the
// error is ErrConfig. It takes O(n).
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
	if f.objective == Detections {
		f.trails = make([]census.Trail, n)
		f.rates = make([]lately.Rate, n)
	}
	f.meter = budget.New()
	f.queue = queue.New(n)
	return f, nil
}

// Add implements Learner, in O(log n), or O(n) where its tables have no room left, and the first time once the crawl runs: nothing is known of the page
// but that it is current, and new once the crawl runs (see Youth in the comment of the type).
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
	f.touched.set(uint32(slot), false)
	f.leave(uint32(slot))
	f.setRate(uint32(slot), lately.Rate{})
	if f.marks != nil {
		f.marks[slot] = factor.Mark{}
	}
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
	f.vote(slot, -1)
	f.queue.Take(uint32(slot))
	f.regroup(uint32(slot), queue.None, flying)
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
