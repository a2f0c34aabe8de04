package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv"
)

// Weights, limits and groups do what they say, on pages that all change alike.
func TestRateFilterLimits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 60
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Freshness}))
	slow := must(f.AddGroup(GroupConfig{MinGap: 5}))
	small := must(f.AddGroup(GroupConfig{MaxShare: 0.05}))
	for page := range 10 {
		require.NoError(t, f.SetGroup(page, slow))
		require.NoError(t, f.SetGroup(10+page, small))
		require.NoError(t, f.SetInterval(20+page, 200, math.Inf(1)))
		require.NoError(t, f.SetInterval(30+page, 0, 25))
		require.NoError(t, f.SetWeight(40+page, 0))
		require.NoError(t, f.SetWeight(50+page, 4))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var polls [6]int
	last := make([]float64, n)
	groupAt := math.Inf(-1)
	longest := 0.0
	for k := 1; k <= 12_000; k++ {
		now := float64(k)
		page := must(f.Next(now))
		gap := now - last[page]
		switch page / 10 {
		case 0:
			require.GreaterOrEqual(t, now-groupAt, 5.0)
			groupAt = now
		case 2:
			if last[page] > 0 {
				require.GreaterOrEqual(t, gap, 200.0)
			}
		case 3:
			if k > 1000 {
				longest = max(longest, gap)
			}
		}
		polls[page/10]++
		last[page] = now
		// Pages below 40 change faster or slower by page, so that polling in turn is not all there
		// is.
		require.NoError(t, f.Observe(page, now, rng.Float64() < -math.Expm1(-gap*0.002*float64(1+page%10))))
	}
	t.Logf("polls %v, longest gap %v of 25", polls, longest)
	require.LessOrEqual(t, float64(polls[1]), 0.05*12_000+2)
	require.LessOrEqual(t, longest, 25.0+10) // all ten such pages may be due at once
	require.Less(t, polls[4], polls[5]/4)
}

// The measured budget, and with it the share of a group, holds while pages come, go or turn out to be dear, also in a
// filter that is loaded meanwhile.
func TestBudgetWhilePagesComeAndGo(t *testing.T) {
	t.Parallel()
	const n, share = 400, 0.1
	for name, happens := range map[string]func(f *RateFilter){
		"add": func(f *RateFilter) {
			for range 9 * n {
				f.Add()
			}
		},
		"remove": func(f *RateFilter) {
			for page := range n / 2 {
				require.NoError(t, f.Remove(n-1-page))
			}
		},
		"costs": func(f *RateFilter) {
			for page := n / 4; page < n; page++ {
				require.NoError(t, f.SetCost(page, 20))
			}
		},
	} {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		group := must(f.AddGroup(GroupConfig{MaxShare: share}))
		for page := range n / 4 {
			require.NoError(t, f.SetGroup(page, group))
		}
		rng := rand.New(rand.NewPCG(1, 1))
		spent, inGroup := 0.0, 0
		poll := func() { // the budget is n
			page := must(f.Next(spent / n))
			spent += f.cost(uint32(Slot(page)))
			if page < n/4 {
				inGroup++
			}
			require.NoError(t, f.Observe(page, spent/n, page < n/4 && rng.IntN(2) == 0))
		}
		for range 5 * n {
			poll()
		}
		require.InEpsilon(t, n, f.Stats().Budget, 0.01)
		happens(f)
		begin := spent
		inGroup = 0
		for k := range 10 * n {
			if k%100 == 50 {
				restored := new(RateFilter)
				require.NoError(t, restored.UnmarshalBinary(must(f.MarshalBinary())))
				f = restored
			}
			require.InEpsilon(t, n, f.Stats().Budget, 0.05, "%s: after %d polls", name, k)
			poll()
			require.LessOrEqual(t, float64(inGroup), 1.01*share*(spent-begin)+3, "%s: after %d polls", name, k)
		}
		require.InEpsilon(t, f.costOfAll(), f.pays, 0.01, name)
	}
}

// The budget of the few pages that are left after most were removed is measured in their cycles.
func TestBudgetOfPagesLeft(t *testing.T) {
	t.Parallel()
	const n, left = 10_000, 10
	f := must(NewRateFilter(n, RateFilterConfig{}))
	now := 0.0
	poll := func(k int, apart float64) {
		for range k {
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, page%3 == 0))
			now += apart
		}
	}
	poll(n, 1)
	for page := left; page < n; page++ {
		require.NoError(t, f.Remove(page))
	}
	poll(2000, 0.1)
	require.InEpsilon(t, 10, f.Stats().Budget, 0.2)
}

// Groups in which all pages are get their shares for good, also where these are less than the whole budget: what is
// not polled for that makes the budget no smaller.
func TestMaxShareOfAllPages(t *testing.T) {
	t.Parallel()
	const n, ticks = 60, 4000
	for _, shares := range [][]float64{{0.3}, {0.5, 0.45}, {0.2, 0.2, 0.2, 0.2}} {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		all := 0.0
		for g, share := range shares {
			group := must(f.AddGroup(GroupConfig{MaxShare: share}))
			for page := g; page < n; page += len(shares) {
				require.NoError(t, f.SetGroup(page, group))
			}
			all += share
		}
		polls := 0
		for k := range 2 * ticks {
			now := float64(k)
			page, err := f.Next(now)
			if err != nil {
				require.ErrorIs(t, err, ErrNoPage)
				continue
			}
			if k >= ticks {
				polls++
			}
			require.NoError(t, f.Observe(page, now, page%3 == 0))
		}
		t.Logf("shares %v: %d polls in %d ticks", shares, polls, ticks)
		require.LessOrEqual(t, float64(polls), 1.05*all*ticks)
		require.GreaterOrEqual(t, float64(polls), 0.7*all*ticks)
	}
}

// Where the calls come at uneven times, two groups are due at one of them, and the page that is polled is not always of
// the one that was due first.
func TestMaxShareOfAllPagesInTwoGroups(t *testing.T) {
	t.Parallel()
	const n, ticks, share = 60, 40_000, 0.3
	f := must(NewRateFilter(n, RateFilterConfig{}))
	for range 2 {
		must(f.AddGroup(GroupConfig{MaxShare: share}))
	}
	for page := range n {
		require.NoError(t, f.SetGroup(page, page%2))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	now, polls := 0.0, 0
	for k := range ticks {
		now += 0.9 + 0.2*rng.Float64()
		page, err := f.Next(now)
		if err != nil {
			require.ErrorIs(t, err, ErrNoPage)
			continue
		}
		if k >= ticks/2 {
			polls++
		}
		require.NoError(t, f.Observe(page, now, page%3 == 0))
	}
	require.GreaterOrEqual(t, float64(polls), 0.75*ticks/2*2*share)
}

// A crawler that is down now and then does not come down to less and less where all pages wait for the share of a group.
func TestMaxShareOfAllPagesAfterOutages(t *testing.T) {
	t.Parallel()
	const n, ticks, share = 60, 40_000, 0.3
	f := must(NewRateFilter(n, RateFilterConfig{}))
	group := must(f.AddGroup(GroupConfig{MaxShare: share}))
	for page := range n {
		require.NoError(t, f.SetGroup(page, group))
	}
	now, polls := 0.0, 0
	for k := range ticks {
		if now++; k%5000 == 2500 {
			now += 1e5
		}
		page, err := f.Next(now)
		if err != nil {
			require.ErrorIs(t, err, ErrNoPage)
			continue
		}
		polls++
		require.NoError(t, f.Observe(page, now, page%3 == 0))
	}
	require.InEpsilon(t, ticks*share, polls, 0.1)
}

// A greater share counts at once, however little the former one was.
func TestMaxShareIsRaised(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(40, RateFilterConfig{}))
	group := must(f.AddGroup(GroupConfig{MaxShare: 1e-6}))
	for page := range 20 {
		require.NoError(t, f.SetGroup(page, group))
	}
	polls := 0
	for k := range 2000 {
		now := float64(k)
		if k == 1000 {
			require.LessOrEqual(t, polls, 20, "which come before there is a budget")
			require.NoError(t, f.LimitGroup(group, GroupConfig{MaxShare: 0.25}))
			polls = 0
		}
		page := must(f.Next(now))
		if page < 20 {
			polls++
		}
		require.NoError(t, f.Observe(page, now, page < 20))
	}
	require.InDelta(t, 250, polls, 20)
}

// The share of a group begins when the budget is known, and is not saved up for a burst of polls.
func TestMaxShareInBursts(t *testing.T) {
	t.Parallel()
	const n, burst = 100, 60
	f := must(NewRateFilter(n, RateFilterConfig{}))
	group := must(f.AddGroup(GroupConfig{MaxShare: 0.5}))
	for page := range n / 2 {
		require.NoError(t, f.SetGroup(page, group))
	}
	for day := range 20 {
		inGroup := 0
		var asked []int
		for range burst {
			page, err := f.Next(float64(day))
			if err != nil {
				require.ErrorIs(t, err, ErrNoPage)
				break
			}
			if page < n/2 {
				inGroup++
			}
			asked = append(asked, page)
		}
		for _, page := range asked {
			require.NoError(t, f.Observe(page, float64(day), page%3 == 0))
		}
		if day == 0 {
			require.Greater(t, inGroup, 2)
		} else {
			require.LessOrEqual(t, inGroup, 2)
		}
	}
}

// Hints that are right are followed; that they are is learnt.
func TestRateFilterSignals(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 300
	found := map[string]int{}
	for _, kind := range []string{"none", "good", "noise"} {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		rng := rand.New(rand.NewPCG(1, 1))
		changed := make([]bool, n)
		for k := 1; k <= 20_000; k++ {
			now := float64(k)
			// A page changes at each poll; four of five changes give a hint, and there
			// is a false one for every five changes.
			{
				page := rng.IntN(n)
				changed[page] = true
				hint := rng.Float64() < 0.8
				other := rng.IntN(n)
				switch {
				case kind == "good" && hint:
					require.NoError(t, f.Signal(page, 0, now))
				case kind == "good", kind == "noise":
					require.NoError(t, f.Signal(other, 0, now))
				}
			}
			page := must(f.Next(now))
			if changed[page] {
				found[kind]++
			}
			require.NoError(t, f.Observe(page, now, changed[page]))
			changed[page] = false
		}
		precision, recall := f.SignalQuality(0)
		t.Logf("%s: found %d of 20,000 changes; precision %.2f, recall %.2f", kind, found[kind], precision, recall)
		if kind == "good" {
			require.InDelta(t, 0.8, precision, 0.1)
			require.Greater(t, recall, 0.75) // several changes may share a hint
		}
	}
	require.Greater(t, float64(found["good"]), 1.1*float64(found["none"]))
	require.Greater(t, float64(found["noise"]), 0.95*float64(found["none"]))
}

// observeAll answers a poll that tells all changes.
func observeAll(t require.TestingT, f *RateFilter, page int, now float64, times []float64) {
	require.NoError(t, f.RecordChanges(page, math.Inf(-1), now, times))
	require.NoError(t, f.Observe(page, now, len(times) > 0))
}

// Where every change is known, the estimate of a rate is as good as the count of
// changes allows, and better than what one bit per poll gives.
func TestRateFilterRecordChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 200
	rng := rand.New(rand.NewPCG(1, 1))
	rates := make([]float64, n)
	all := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	one := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	for i := range rates {
		rates[i] = math.Exp(1.5 * rng.NormFloat64())
	}
	for k := 1; k <= 30*n; k++ {
		for _, f := range []*RateFilter{all, one} {
			page := must(f.Next(float64(k) / n))
			from, now := f.last(uint32(page)), float64(k)/n
			var times []float64
			for at := from + rng.ExpFloat64()/rates[page]; at < now; at += rng.ExpFloat64() / rates[page] {
				times = append(times, at)
			}
			if f == all {
				observeAll(t, f, page, now, times)
			} else {
				require.NoError(t, f.Observe(page, now, len(times) > 0))
			}
		}
	}
	var errs [2]float64
	covered := 0
	for i, rate := range rates {
		for k, f := range []*RateFilter{all, one} {
			est := must(f.Rate(i))
			require.True(t, 0 < est.Low && est.Low <= est.Median && est.Median <= est.High && est.Mean > est.Low)
			errs[k] += math.Abs(math.Log(est.Median/rate)) / n
			if k == 0 && est.Low <= rate && rate <= est.High {
				covered++
			}
		}
	}
	t.Logf("mean error of log rate: %.3f, with one bit per poll %.3f; %d of %d within the quantiles", errs[0], errs[1], covered, n)
	require.Less(t, errs[0], 0.8*errs[1])
	require.Less(t, errs[0], 0.5)
	require.Greater(t, covered, n*7/10)
}

// A poll of every page costs the sum of what was set, and one each where nothing was.
func TestCostOfAll(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(3, RateFilterConfig{}))
	require.Equal(t, 3., f.costOfAll())
	require.NoError(t, f.SetCost(0, 5))
	require.NoError(t, f.SetCost(1, 3))
	require.Equal(t, 9., f.costOfAll())
	require.NoError(t, f.SetCost(0, 0.5))
	require.NoError(t, f.Remove(1))
	require.Equal(t, 1.5, f.costOfAll())
	require.NoError(t, f.SetCost(2, 0.5))
	require.Equal(t, 1., f.costOfAll())
}

// A longest interval that is set between the polls of a page holds from then on, and so does its end.
func TestIntervalSetWhileWaiting(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(5, RateFilterConfig{}))
	for now := 1.; now <= 20; now++ {
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, page == 1))
	}
	require.NoError(t, f.SetInterval(2, 0, 90))
	require.Equal(t, 1, f.queue.Deadlines())
	require.NoError(t, f.SetInterval(2, 0, math.Inf(1)))
	require.Zero(t, f.queue.Deadlines())
}

// A longest interval that was set before the first Next counts from that on.
func TestIntervalSetBeforeTheStart(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 1000, 20_000} {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		page := n - 1
		longest := 400.0
		require.NoError(t, f.SetInterval(page, 0, longest))
		for now := 1000.0; ; now++ {
			require.Less(t, now, 1000+longest+2, "of %d pages", n)
			asked := must(f.Next(now))
			require.NoError(t, f.Observe(asked, now, false))
			if asked == page {
				break
			}
		}
	}
}

// The shortest interval of a page that is added while the crawl runs counts from its first answer on, also in a filter
// that is restored or takes the page over.
func TestShortestIntervalOfAddedPages(t *testing.T) {
	t.Parallel()
	const n, start, shortest, end = 20, 300, 2000, 5000
	for how, over := range map[string]func(*RateFilter, int) (*RateFilter, int){
		"as it is": func(f *RateFilter, page int) (*RateFilter, int) { return f, page },
		"restored": func(f *RateFilter, page int) (*RateFilter, int) {
			var g RateFilter
			require.NoError(t, g.UnmarshalBinary(must(f.MarshalBinary())))
			require.NoError(t, g.SetInterval(page, shortest, math.Inf(1)))
			return &g, page
		},
		"taken over": func(f *RateFilter, page int) (*RateFilter, int) {
			row := must(f.pageFormat().Save(func(e *codec.Encoder) { f.encodePage(Slot(page), e) }))
			require.NoError(t, f.Remove(page))
			page = f.Add()
			require.NoError(t, f.SetInterval(page, shortest, math.Inf(1)))
			var set func(int)
			require.NoError(t, codec.Load(&set, f.pageFormat(), row, func(to *func(int), d *codec.Decoder) { *to = f.decodePage(d) }))
			set(Slot(page))
			return f, page
		},
	} {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		polled := func(page int, now float64) bool {
			asked := must(f.Next(now))
			require.NoError(t, f.Observe(asked, now, asked%3 == 0))
			return asked == page
		}
		var at []float64
		page := -1
		for now := 1.0; now < end; now++ {
			if now == start {
				page = f.Add()
				require.NoError(t, f.SetInterval(page, shortest, math.Inf(1)))
				f, page = over(f, page)
			}
			if polled(page, now) {
				at = append(at, now)
				f, page = over(f, page)
			}
		}
		require.Greater(t, len(at), 1, how)
		require.Less(t, at[0], start+5.0*n, how)
		require.GreaterOrEqual(t, at[1], at[0]+shortest, how)

		page = f.Add() // a report that comes at the moment of Add is an answer
		require.NoError(t, f.SetInterval(page, shortest, math.Inf(1)))
		require.NoError(t, f.Record(page, f.now, false))
		for now := end; now < end+shortest-1; now++ {
			require.False(t, polled(page, float64(now)), how)
		}
	}
}

// What the hints of a group were worth is forgotten with it, and not left to the next one.
func TestHintsOfARemovedGroup(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(4, RateFilterConfig{}))
	group := must(f.AddGroup(GroupConfig{}))
	for page := range 2 {
		require.NoError(t, f.SetGroup(page, group))
	}
	size := func() int {
		e := codec.NewEncoder("hints", 1)
		f.hints.Encode(e)
		return len(must(e.Finish()))
	}
	for now := 1.; now <= 40; now++ {
		require.NoError(t, f.Signal(int(now)%2, 3, now-0.5))
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, page == 1))
	}
	before := size()
	require.NoError(t, f.RemoveGroup(group))
	require.Less(t, size(), before)
}

// An index is a number where a page counts nothing, however far apart polls are, and where it is too small
// for one, however much the page counts.
func TestIndexOfExtremeWeights(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		for _, apart := range []float64{1e-300, 1e-200, 1, 1e150, 1e200} {
			f := must(NewRateFilter(3, RateFilterConfig{Objective: o}))
			for k := range 40 {
				require.NoError(t, f.Observe(must(f.Next(float64(k)*apart)), float64(k)*apart, k%3 == 0))
			}
			require.NoError(t, f.SetWeight(1, 0))
			require.NoError(t, f.SetWeight(2, 1e300))
			require.NoError(t, f.SetCost(2, 1e-100))
			require.Zero(t, must(f.Index(1, 1000*apart)), "%v, %v apart", o, apart)
			require.False(t, math.IsNaN(must(f.Index(2, 1000*apart))), "%v, %v apart", o, apart)
		}
	}
}

// What a page is worth per cost may be no number where its index is one.
func TestIndexOfFarCosts(t *testing.T) {
	t.Parallel()
	const apart = 1e60 // the index of Age goes with its square
	for _, worth := range []struct{ weight, cost float64 }{{1e-250, 1e90}, {1e-300, 1e95}, {1e300, 1e-100}} {
		f := must(NewRateFilter(3, RateFilterConfig{Objective: Age}))
		unit := apart
		if worth.weight > 1 {
			unit = 1 / apart
		}
		for k := range 40 {
			require.NoError(t, f.Observe(must(f.Next(float64(k)*unit)), float64(k)*unit, k%3 == 0))
		}
		plain := must(f.Index(1, 100*unit))
		require.NoError(t, f.SetWeight(1, worth.weight))
		require.NoError(t, f.SetCost(1, worth.cost))
		want := math.Log(plain) + math.Log(worth.weight) - math.Log(worth.cost)
		require.InDelta(t, want, math.Log(must(f.Index(1, 100*unit))), 1e-3, worth)
	}
}

// A few pages that are worth nothing, or more than a number holds, are polled in turn.
func TestPagesOfExtremeWorthTakeTurns(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		for _, worth := range []struct{ weight, cost float64 }{{0, 1}, {1e-300, 1e100}, {1e300, 1e-100}} {
			const n, rounds = 20, 10
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			for page := range n {
				require.NoError(t, f.SetWeight(page, worth.weight))
				require.NoError(t, f.SetCost(page, worth.cost))
			}
			var polls [n]int
			for k := range rounds * n {
				page := must(f.Next(float64(k)))
				polls[page]++
				require.NoError(t, f.Observe(page, float64(k), k%3 == 0))
			}
			for _, times := range polls {
				require.InDelta(t, rounds, times, 1, "%v: %v", o, worth)
			}
		}
	}
}

// Costs are from 1e-100 to 1e100.
func TestCostsInRange(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(1, RateFilterConfig{}))
	for cost, valid := range map[float64]bool{0: false, 0.9e-100: false, 1e-100: true, 1e100: true, 1.1e100: false} {
		require.Equal(t, valid, f.SetCost(0, cost) == nil, cost)
	}
}

// Where most pages never change and weights differ, the heavy pages are polled first, and find nothing. That
// does not keep the others from being polled under Detections.
func TestWeightsStarveNoPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, cycles = 300, 25
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rates := make([]float64, n)
		for i := range rates {
			if rng.Float64() < 0.05 {
				rates[i] = 2.4 * math.Exp(rng.NormFloat64())
			}
		}
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		for page := range n {
			require.NoError(t, f.SetWeight(page, []float64{1, 3, 10}[rng.IntN(3)]))
		}
		env := must(webenv.NewPoisson(rates, rand.NewPCG(seed, 2)))
		polled := map[int]bool{}
		must(webenv.Run(env, f, webenv.RunConfig{Rate: n, Polls: cycles * n, OnPoll: func(p webenv.Poll) { polled[p.Page] = true }}))
		require.Len(t, polled, n, "seed %d", seed)
	}
}
