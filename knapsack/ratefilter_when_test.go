package knapsack

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

// crawlOf returns a filter that has polled n pages for so many cycles of a poll of each, one at a time; pages
// change by chance at so many times a cycle.
func crawlOf(t *testing.T, n, cycles int, rate func(page int) float64) *RateFilter {
	t.Helper()
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Freshness}))
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	seen := make([]float64, n)
	for k := range cycles * n {
		now := float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, rng.ExpFloat64() < rate(page)/float64(n)*(now-seen[page])))
		seen[page] = now
	}
	return f
}

// A page is due when its index reaches the price.
func TestDueIsAtThePrice(t *testing.T) {
	t.Parallel()
	f := crawlOf(t, 60, 40, func(page int) float64 { return math.Exp2(float64(page%7) - 4) })
	ahead := 0
	for page := range 60 {
		if due := must(f.Due(page)); due > f.now && due < f.last(uint32(page))+patience*f.model.Cycle() {
			ahead++
			require.InEpsilon(t, f.Price(), must(f.Index(page, due)), .05, "page %d", page)
		}
	}
	require.Greater(t, ahead, 30)
}

// What is thought of a page that was never polled follows the rates of the others.
func TestRateOfNewPage(t *testing.T) {
	t.Parallel()
	var median [2]float64
	for i, rate := range []float64{.1, 3} {
		f := crawlOf(t, 60, 40, func(int) float64 { return rate })
		est := must(f.Rate(f.Add()))
		t.Logf("%v: %+v", rate/60, est)
		require.InDelta(t, 0, math.Log(est.Median/(rate/60)), math.Log(5))
		median[i] = est.Median
	}
	require.Greater(t, median[1]/median[0], 5.)
}

// What a poll is worth is a number in any unit of time, also where that would be more than the greatest.
func TestIndexIsFinite(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		for _, unit := range []float64{1e-300, 1, 1e278} {
			f := must(NewRateFilter(30, RateFilterConfig{Objective: o}))
			for k := range 400 {
				now := float64(k) * unit
				require.NoError(t, f.Observe(must(f.Next(now)), now, k%3 == 0))
			}
			for page := range f.All() {
				for _, gap := range []float64{5e-324, 1e-300 * unit, 1e-3 * unit, 1e3 * unit, 1e20 * unit} {
					index := must(f.Index(page, f.last(uint32(page))+gap))
					require.True(t, index >= 0 && index <= math.MaxFloat64, "%v, unit %v, gap %v: %v", o, unit, gap, index)
				}
			}
		}
	}
	require.Positive(t, representable(math.NaN()))
	require.Positive(t, representable(0))
}

// What is not before a time that Next refuses is never.
func TestReadyIsATimeOfNext(t *testing.T) {
	t.Parallel()
	for _, until := range []float64{1e298, 1e299, 1e300, math.MaxFloat64, math.Inf(1)} {
		f := must(NewRateFilter(1, RateFilterConfig{}))
		require.NoError(t, f.Defer(0, until))
		var none *NoPageError
		require.ErrorAs(t, second(f.Next(1)), &none)
		require.Equal(t, none.At, f.Ready())
		require.Equal(t, none.At, must(f.Due(0)))
		require.Equal(t, until > 1e298, math.IsInf(none.At, 1), "deferred until %v", until)
		if until == 1e298 {
			require.Zero(t, must(f.Next(none.At)))
		}
	}
}

// What is expected is found, also where changes do not count one by one.
func TestExpectedIsFound(t *testing.T) {
	t.Parallel()
	s := crawlOf(t, 50, 40, func(page int) float64 { return math.Exp2(float64(page%7) - 4) }).Stats()
	require.Greater(t, s.Found, s.Changes*9/10)
	require.InEpsilon(t, s.Found, s.Expected, .15)
}

// A page that has just been answered is looked at somewhat before its index reaches the level.
func TestAnsweredIsLookedAtEarly(t *testing.T) {
	t.Parallel()
	f := crawlOf(t, 60, 40, func(page int) float64 { return math.Exp2(float64(page%7) - 4) })
	level, ahead := f.queue.Level(), 0
	for page := range uint32(60) {
		last := f.last(page)
		index, due := forQueue{f}.Look(page, last, level)
		require.Zero(t, index)
		if due-last < patience*f.model.Cycle() {
			ahead++
			require.Less(t, f.index(page, due-last), level, "page %d", page)
			require.Greater(t, f.index(page, (due-last)/(early*early)), level, "page %d", page)
		}
	}
	require.Greater(t, ahead, 30)
}

// Queries, and calls that are refused, leave the state as it is, to the last bit: also where the grid of
// rates has moved since a page was looked at, and where changes were told before there was a time scale.
func TestQueriesChangeNothing(t *testing.T) {
	t.Parallel()
	const n = 40
	for o := range objectives {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
		require.NoError(t, f.SetCost(3, 2))
		for page := range n {
			require.NoError(t, f.RecordChanges(page, 0, 10, []float64{1 + float64(page%5), 6, 7.5}))
		}
		now := 20.0
		polls := func(k int, apart float64) {
			for range k {
				now += apart
				page := must(f.Next(now))
				require.NoError(t, f.Observe(page, now, (int(now)+page)%7 < 2))
			}
		}
		same := func() {
			before := saved(t, f)
			for name, query := range map[string]func(page int){
				"Index":    func(page int) { must(f.Index(page, now+50)) },
				"Due":      func(page int) { must(f.Due(page)) },
				"Rate":     func(page int) { must(f.Rate(page)) },
				"WhatIf":   func(int) { _, _ = f.WhatIf(Freshness, -1) },
				"PollsFor": func(int) { _, _ = f.PollsFor(Freshness, -1) },
				"Export": func(page int) {
					must(f.pageFormat().Save(func(e *codec.Encoder) { f.encodePage(page, e) }))
				},
				"others": func(int) { f.Stats(); f.Ready(); f.Price(); f.SignalQuality(0) },
				"refused": func(page int) {
					require.Error(t, second(f.Next(now-1)))
					require.Error(t, f.Record(page, f.last(uint32(page))-1, true))
					require.Error(t, f.RecordChanges(page, 0, -1, nil))
					require.Error(t, f.SetCost(page, 0))
					require.Error(t, f.SetGroup(page, 5))
				},
			} {
				for _, page := range []int{0, 1, n - 1} {
					query(page)
				}
				require.True(t, bytes.Equal(before, saved(t, f)), "%s, %v", name, o)
			}
		}
		for page := range 20 { // lest the sweep look at them
			require.NoError(t, f.Defer(page, math.Inf(1)))
		}
		for !f.model.Known() {
			polls(1, 1)
		}
		f.early = map[uint32][]stretch{1: {{0, 10, []float64{2, 6}}}}
		same()
		polls(10*n, 1)
		moves := f.model.Fresh()
		polls(20*n, 20)
		require.NotEqual(t, moves, f.model.Fresh(), "the grid has moved")
		same()
	}
}

// Where polls cost unequal amounts an index is per unit of cost.
func TestIndexIsPerCost(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(9, RateFilterConfig{}))
	for k := range 100 {
		now := float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, page%3 == 0))
	}
	worth := must(f.Index(3, 101))
	require.Positive(t, worth)
	require.NoError(t, f.SetCost(3, 4))
	require.InEpsilon(t, worth/4, must(f.Index(3, 101)), 1e-12)
}
