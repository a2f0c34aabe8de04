package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// What the best schedule would reach with a budget, at the rates learnt, is what it does reach at
// the true rates, for each objective; PollsFor is the inverse.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	const n = 400
	cycles := 40.0
	if testing.Short() {
		cycles = 2
	}
	rng := rand.New(rand.NewPCG(2, 2))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Exp(1.2*rng.NormFloat64()) / 2
	}
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Freshness}))
	_, err := f.WhatIf(Freshness, 1)
	require.ErrorIs(t, err, ErrNoChange)
	_, err = f.PollsFor(Freshness, 0.5)
	require.ErrorIs(t, err, ErrNoChange)
	must(webenv.Run(must(webenv.NewPoisson(rates, rand.NewPCG(1, 1))), f, webenv.RunConfig{Rate: n, Duration: cycles}))
	_, err = f.WhatIf(objectives, 1)
	require.ErrorIs(t, err, ErrConfig)
	for _, polls := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := f.WhatIf(Age, polls)
		require.ErrorIs(t, err, ErrConfig)
	}
	for _, bad := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
		_, err := f.PollsFor(Freshness, bad)
		require.ErrorIs(t, err, ErrConfig)
	}
	_, err = f.PollsFor(Delay, 0)
	require.ErrorIs(t, err, ErrConfig)
	if testing.Short() {
		t.Skip("what follows takes more polls")
	}
	for o := range objectives {
		before := math.Inf(-1)
		for _, polls := range []float64{n / 4, n, 2 * n, 5 * n} {
			value := must(f.WhatIf(o, polls))
			require.Greater(t, value, before)
			before = value
			p := Problem{Objective: o, Rates: rates, Budget: polls}
			x, _, err := p.Optimal()
			require.NoError(t, err)
			best := must(p.Value(x)) / n
			t.Logf("%v polls: %v %.3f, at the true rates %.3f", polls, o, value, best)
			require.InEpsilon(t, best, value, 0.33)
			require.InEpsilon(t, polls, must(f.PollsFor(o, value)), 1e-6)
		}
	}
}

// With costs, what a budget would give is what the pages' own costs and rates give, by a sample
// of the pages where there are many.
func TestWhatIfOfCosts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, n := range []int{400, 6000} {
		rng := rand.New(rand.NewPCG(2, 2))
		rates, costs := make([]float64, n), make([]float64, n)
		total := 0.0
		for i := range rates {
			rates[i] = math.Exp(1.2*rng.NormFloat64()) / 2
			costs[i] = math.Exp(1.5*rng.NormFloat64()) * 1e4
			total += costs[i]
		}
		f := must(NewRateFilter(n, RateFilterConfig{}))
		must(webenv.Run(must(webenv.NewPoisson(rates, rand.NewPCG(1, 1))), f, webenv.RunConfig{Rate: float64(n), Duration: 20}))
		flat := must(f.WhatIf(Freshness, float64(n)))
		for page, cost := range costs {
			require.NoError(t, f.SetCost(page, cost))
		}
		for o := range objectives {
			p := Problem{Objective: o, Rates: rates, Costs: costs, Budget: total}
			x, _, err := p.Optimal()
			require.NoError(t, err)
			best := must(p.Value(x)) / float64(n)
			value := must(f.WhatIf(o, total))
			t.Logf("%d pages: %v %.3f, at the true rates %.3f", n, o, value, best)
			require.InEpsilon(t, best, value, 0.3)
			require.InEpsilon(t, total, must(f.PollsFor(o, value)), 1e-6)
		}
		require.Greater(t, must(f.WhatIf(Freshness, total)), 1.02*flat, "cheap pages are polled more often")
	}
}

// Pages whose costs and rates go by turns with their slots are all told of, be it that only some slots have one.
func TestWhatIfOfCostsByTurns(t *testing.T) {
	t.Parallel()
	const n, every = 1000, 4
	f := must(NewRateFilter(every*n, RateFilterConfig{}))
	rates, costs := make([]float64, n), make([]float64, n)
	at := func(slot int) int { return slot / every }
	for page := range every * n {
		if page%every != 1 {
			require.NoError(t, f.Remove(page))
			continue
		}
		i := at(page)
		rates[i], costs[i] = 0.1, 9
		if i%2 == 0 {
			rates[i], costs[i] = 2, 1
		}
		require.NoError(t, f.SetCost(page, costs[i]))
	}
	rng := rand.New(rand.NewPCG(3, 3))
	var last [n]float64
	for now := 0.0; now < 12; {
		page := must(f.Next(now))
		i := at(Slot(page))
		now += costs[i] / (5 * n)
		require.NoError(t, f.Observe(page, now, rng.Float64() < -math.Expm1(-rates[i]*(now-last[i]))))
		last[i] = now
	}
	p := Problem{Objective: Freshness, Rates: rates, Costs: costs, Budget: 5 * n}
	x, _, err := p.Optimal()
	require.NoError(t, err)
	value := must(f.WhatIf(Freshness, p.Budget))
	t.Logf("freshness %.3f, at the true rates %.3f", value, must(p.Value(x))/n)
	require.InEpsilon(t, must(p.Value(x))/n, value, 0.1)
}

// Stats count what happened, and what was expected is what is found, where pages change as the
// beliefs say.
func TestStats(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		if testing.Short() && o != Detections {
			continue
		}
		const n = 300
		f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
		require.Equal(t, Stats{Pages: n}, f.Stats())
		rng := rand.New(rand.NewPCG(7, 7))
		seen := make([]float64, n)
		var want Stats
		var half Stats
		for k := range 60 * n {
			now := float64(k) / 10
			if k == 30*n {
				half = f.Stats()
				restored := new(RateFilter)
				require.NoError(t, restored.UnmarshalBinary(must(f.MarshalBinary())))
				f = restored
				require.Equal(t, half, f.Stats())
			}
			page := must(f.Next(now))
			want.Polls++
			if k == 60*n-1 {
				break
			}
			if k%40 == 0 {
				require.NoError(t, f.GiveBack(page, now))
				want.Failures++
				continue
			}
			rate := math.Exp2(float64(page%9)-5) / (n / 10)
			changed := rng.ExpFloat64() < rate*(now-seen[page])
			seen[page] = now
			require.NoError(t, f.Observe(page, now, changed))
			want.Answers++
			if changed {
				want.Changes++
			}
		}
		got := f.Stats()
		require.Equal(t, want.Polls, got.Polls)
		require.Equal(t, want.Answers, got.Answers)
		require.Equal(t, want.Changes, got.Changes)
		require.Equal(t, want.Failures, got.Failures)
		require.Equal(t, n, got.Pages)
		require.Equal(t, 1, got.InFlight)
		require.InDelta(t, 5, got.Failing, 5)
		require.InEpsilon(t, 10, got.Budget, 1e-9)
		require.Equal(t, f.Price(), got.Price)
		require.LessOrEqual(t, got.Changes-got.Found, uint64(20))
		found, expected := float64(got.Found-half.Found), got.Expected-half.Expected
		t.Logf("%v: %.0f found, %.0f expected; %d of %d polls in turn, %d late", o, found, expected, got.InTurn, got.Polls, got.Late)
		require.InEpsilon(t, found, expected, 0.15)
		require.Zero(t, got.Late)
	}

	// All alike: polls are in turn. A longest interval: polls are late.
	f := must(NewRateFilter(10, RateFilterConfig{Objective: Detections}))
	require.NoError(t, f.SetInterval(3, 0, 2))
	spin(t, f, 0, 1000)
	s := f.Stats()
	require.Greater(t, s.Late, uint64(400))
	require.Greater(t, s.Late+s.InTurn, s.Polls*2/5)
}

// Where changes are reported that are none, more is found than expected; where they stop, less.
func TestStatsTellTrouble(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 200
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	rng := rand.New(rand.NewPCG(7, 7))
	seen := make([]float64, n)
	ratio := func(from, to int, often float64) float64 {
		before := f.Stats()
		for k := from * n; k < to*n; k++ {
			now := float64(k)
			page := must(f.Next(now))
			rate := often * float64(1+page%5) / n
			require.NoError(t, f.Observe(page, now, rng.ExpFloat64() < rate*(now-seen[page])))
			seen[page] = now
		}
		after := f.Stats()
		return float64(after.Found-before.Found) / (after.Expected - before.Expected)
	}
	ratio(0, 20, 0.1)
	require.InDelta(t, 1, ratio(20, 40, 0.1), 0.15)
	require.Greater(t, ratio(40, 41, 1), 1.3, "that all pages change at once is soon expected")
	ratio(41, 80, 0.1)
	require.Less(t, ratio(80, 82, 0.001), 0.5)
}

// What RecordChanges tells counts in Expected and Found, and is no poll.
func TestStatsOfToldChanges(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(4, RateFilterConfig{}))
	spin(t, f, 0, 40)
	before := f.Stats()
	for k := range 30 {
		now := 41 + float64(k)
		require.NoError(t, f.RecordChanges(k%4, math.Inf(-1), now, []float64{now - 0.5}))
	}
	after := f.Stats()
	require.Equal(t, before.Answers, after.Answers)
	require.Equal(t, before.Changes, after.Changes)
	require.Equal(t, before.Found+30, after.Found)
	require.Greater(t, after.Expected, before.Expected)
}
