package knapsack

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/webenv"
)

// deadShare polls a web of n pages of which three in ten never answer, or from a moment on, for so
// many cycles, and returns the share of the polls that they take, of all and of the second half.
// Failures are told at once.
func deadShare(t testing.TB, n, cycles int, o Objective, diesAt float64) (all, late float64) {
	f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Exp(1.5*rng.NormFloat64()) / float64(n)
	}
	seen := make([]float64, n)
	counts := [2]float64{}
	polls := cycles * n
	for k := range polls {
		now := float64(k)
		page, err := f.Next(now)
		if errors.Is(err, ErrNoPage) {
			continue
		}
		require.NoError(t, err)
		if page%10 < 3 && now >= diesAt*float64(n) {
			require.NoError(t, f.GiveBack(page, now))
			counts[2*k/polls]++
			continue
		}
		require.NoError(t, f.Observe(page, now, rng.ExpFloat64() < rates[page]*(now-seen[page])))
		seen[page] = now
	}
	return (counts[0] + counts[1]) / float64(polls), 2 * counts[1] / float64(polls)
}

// Dead pages take few polls in the long run, whether they ever answered or not.
func TestDeadPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n      int
		o      Objective
		diesAt float64
	}{{60, Detections, 0}, {60, Freshness, 0}, {60, Detections, 10}, {60, Delay, 10}, {5000, Detections, 0}} {
		if testing.Short() && c.n > 1000 {
			continue
		}
		all, late := deadShare(t, c.n, 40, c.o, c.diesAt)
		t.Logf("%d pages, %v, dead from cycle %v on: %.1f %% of all polls, %.1f %% of the last 20 cycles",
			c.n, c.o, c.diesAt, 100*all, 100*late)
		require.Less(t, all, 0.1)
		require.Less(t, late, 0.04)
	}
}

// BenchmarkDeadPages prints the share of the polls that 30 % of dead pages take.
func BenchmarkDeadPages(b *testing.B) {
	for _, n := range []int{60, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if !*large && n > 60 {
				b.Skip("takes a quarter of a minute: -large")
			}
			for b.Loop() {
				all, late := deadShare(b, n, 40, Detections, 0)
				b.ReportMetric(100*all, "%-of-polls")
				b.ReportMetric(100*late, "%-later")
			}
		})
	}
}

// A page that was gone for a time is found within twice that time, as waits double and are spread, and at
// most a third more than 16 cycles and one poll of all others that wait.
func TestPageThatRecoversIsFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 50
	for _, gone := range []float64{1, 4, 15, 100} { // cycles
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		back, found := (10+gone)*n, math.NaN()
		for k := range int(back) + 20*n {
			now := float64(k)
			page := must(f.Next(now))
			switch {
			case page == 7 && now > 10*n && now < back:
				require.NoError(t, f.GiveBack(page, now))
			case page == 7 && now >= back && math.IsNaN(found):
				found = now
				fallthrough
			default:
				require.NoError(t, f.Observe(page, now, (k+page)%3 == 0))
			}
		}
		waited := (found - back) / n
		t.Logf("gone for %v cycles, found after %.2f", gone, waited)
		require.Less(t, waited, min(2*gone+1, (1+waitSpread)*longestWait+0.5))
	}
}

// Everything fails, as in an outage of the crawler's own network: polls become few, and come back,
// after 16 of 20 cycles at the latest.
func TestOutage(t *testing.T) {
	t.Parallel()
	const n = 100
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	polls := [3]int{}
	for k := range 60 * n {
		now := float64(k)
		page, err := f.Next(now)
		if err != nil {
			var none *NoPageError
			require.ErrorAs(t, err, &none)
			require.False(t, math.IsInf(none.At, 1))
			continue
		}
		phase := min(k/(20*n), 2)
		polls[phase]++
		if phase == 1 {
			require.NoError(t, f.GiveBack(page, now))
		} else {
			require.NoError(t, f.Observe(page, now, page%4 == 0))
		}
	}
	t.Logf("polls of %d before, in, and after the outage: %d", 20*n, polls)
	require.Less(t, polls[1], 10*n)
	require.Greater(t, polls[2], (20-longestWait)*n)
}

// A page that is put into a deferred group waits too, and so does one that is added and joins; when
// the deferral ends, or is ended, they are polled.
func TestDeferGroup(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(2, RateFilterConfig{Objective: Detections}))
	g := must(f.AddGroup(GroupConfig{}))
	require.NoError(t, f.DeferGroup(g, 50))
	require.NoError(t, f.SetGroup(0, g))
	require.NoError(t, f.SetInterval(0, 0, 5))
	late := f.Add()
	require.NoError(t, f.SetGroup(late, g))
	for now := range 50 {
		page := must(f.Next(float64(now)))
		require.Equal(t, 1, page)
		require.NoError(t, f.Observe(page, float64(now), false))
	}
	require.EqualValues(t, 50, max(must(f.Due(0)), must(f.Due(late))))
	got := map[int]bool{must(f.Next(50)): true, must(f.Next(50)): true}
	require.True(t, got[0] || got[late])

	require.NoError(t, f.DeferGroup(g, math.Inf(1)))
	for page := range got {
		require.NoError(t, f.Observe(page, 51, false))
	}
	require.True(t, math.IsInf(must(f.Due(0)), 1))
	for now := 52.0; now < 80; now++ {
		page := must(f.Next(now))
		require.Equal(t, 1, page)
		require.NoError(t, f.Observe(page, now, false))
	}
	require.NoError(t, f.DeferGroup(g, math.Inf(-1)))
	require.Equal(t, 0, must(f.Next(80)), "its longest interval is over")
}

// A host whose limit of flights is reached gives its polls to others, and an answer frees it.
func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(6, RateFilterConfig{Objective: Detections}))
	g := must(f.AddGroup(GroupConfig{MaxInFlight: 2}))
	for page := range 5 {
		require.NoError(t, f.SetGroup(page, g))
		require.NoError(t, f.SetInterval(page, 0, 1))
	}
	flying := map[int]bool{}
	for range 3 {
		flying[must(f.Next(1))] = true
	}
	require.Len(t, flying, 3)
	require.True(t, flying[5])
	_, err := f.Next(1)
	require.EqualError(t, err, "knapsack: no page may be polled now")
	require.True(t, math.IsInf(f.Ready(), 1))
	for page := range flying {
		if page != 5 {
			require.NoError(t, f.Observe(page, 2, true))
			break
		}
	}
	require.NotEqual(t, 5, must(f.Next(4)))
	_, err = f.Next(4)
	require.ErrorIs(t, err, ErrNoPage)
	require.NoError(t, f.LimitGroup(g, GroupConfig{MinGap: 9}))
	_, err = f.Next(5)
	require.EqualError(t, err, "knapsack: no page may be polled now: not before 13")
	require.NoError(t, f.RemoveGroup(g))
	require.NotEqual(t, 5, must(f.Next(5)))
}

// One host with a MinGap and many pages: after a vain Next the error says when to ask again, and
// then no ask is in vain.
func TestNoVainAsks(t *testing.T) {
	t.Parallel()
	const n = 1000
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	g := must(f.AddGroup(GroupConfig{MinGap: 5}))
	for page := range n {
		require.NoError(t, f.SetGroup(page, g))
	}
	now, vain, polls := 0.0, 0, 0
	for range 1000 {
		page, err := f.Next(now)
		if err == nil {
			require.NoError(t, f.Observe(page, now, false))
			polls++
			continue
		}
		vain++
		var none *NoPageError
		require.ErrorAs(t, err, &none)
		require.Equal(t, now+5, none.At)
		now = none.At
	}
	require.Equal(t, 500, polls)
	require.Equal(t, 500, vain)
}

// Due and Price foretell polls: pages are polled near the time that Due said after their last
// answer, and at an Index near the Price.
func TestDueAndIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 200
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Freshness}))
	rng := rand.New(rand.NewPCG(1, 2))
	seen, due := make([]float64, n), make([]float64, n)
	off, index := 0.0, 0.0
	const cycles = 80
	for k := range cycles * n {
		now := float64(k)
		at := must(f.Index(k%n, now))
		page := must(f.Next(now))
		if k > 40*n {
			off += math.Abs(now-due[page]) / (now - seen[page]) / (cycles - 40) / n
			index += math.Abs(math.Log(must(f.Index(page, now))/f.Price())) / (cycles - 40) / n
			require.GreaterOrEqual(t, at, 0.0)
		}
		rate := math.Exp2(float64(page%7)-4) / n
		require.NoError(t, f.Observe(page, now, rng.ExpFloat64() < rate*(now-seen[page])))
		seen[page], due[page] = now, must(f.Due(page))
	}
	t.Logf("due times are off by %.1f %% of the interval, indices by %.3f nats of the price", 100*off, index)
	require.Less(t, off, 0.35)
	require.Less(t, index, 0.35)
}

// A page that is deferred, or fails, does not hold back the others of its host.
func TestVetoIsThePagesOwn(t *testing.T) {
	t.Parallel()
	for _, veto := range []func(f *RateFilter, page int, now float64) error{
		func(f *RateFilter, page int, now float64) error { return f.Defer(page, math.Inf(1)) },
		func(f *RateFilter, page int, now float64) error { return f.SetInterval(page, 1e9, math.Inf(1)) },
		nil,
	} {
		f := must(NewRateFilter(3, RateFilterConfig{Objective: Detections}))
		g := must(f.AddGroup(GroupConfig{MinGap: 0.5}))
		for page := range 3 {
			require.NoError(t, f.SetGroup(page, g))
		}
		last, polls := 0, [3]int{}
		for k := range 600 {
			now := float64(k)
			page, err := f.Next(now)
			if err != nil {
				var none *NoPageError
				require.ErrorAs(t, err, &none)
				require.Less(t, none.At, now+100)
				continue
			}
			polls[page]++
			if veto == nil && page == 0 {
				require.NoError(t, f.GiveBack(page, now))
				continue
			}
			require.NoError(t, f.Observe(page, now, k%3 == 0))
			if k == 100 && veto != nil {
				_, err := f.Next(now + 0.25) // leaves the front held
				require.ErrorIs(t, err, ErrNoPage)
				require.NoError(t, veto(f, 0, now))
				polls, last = [3]int{}, k
			}
		}
		t.Log(polls)
		require.Less(t, polls[0], 40)
		require.Greater(t, polls[1]+polls[2], (600-last)*9/10)
	}
}

// A page in flight takes its flight with it when it changes host or goes.
func TestFlightsOfGroups(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(5, RateFilterConfig{Objective: Detections}))
	a, b := must(f.AddGroup(GroupConfig{MaxInFlight: 1})), must(f.AddGroup(GroupConfig{MaxInFlight: 1}))
	for page := range 5 {
		require.NoError(t, f.SetGroup(page, a))
	}
	next := func(now float64) int {
		page, err := f.Next(now)
		if err != nil {
			require.ErrorIs(t, err, ErrNoPage)
			return -1
		}
		return page
	}
	first := next(1)
	require.Equal(t, -1, next(2))
	require.NoError(t, f.SetGroup(first, b))
	second := next(3)
	require.NotEqual(t, -1, second)
	require.Equal(t, -1, next(4), "both are full")
	require.NoError(t, f.Remove(second))
	third := next(5)
	require.NotEqual(t, -1, third)
	require.Equal(t, -1, next(6))
	require.NoError(t, f.Observe(first, 7, true))
	require.Equal(t, first, next(8), "only its group has room")
	require.NoError(t, f.SetGroup(third, -1))
	require.NotEqual(t, -1, next(9))
	require.Equal(t, -1, next(10))
}

// busyAndQuiet returns a filter of 60 pages in two groups, of which those of the second one change often,
// after some polls, and the groups.
func busyAndQuiet(t *testing.T, o Objective) (f *RateFilter, groups [2]int) {
	const n = 60
	f = must(NewRateFilter(n, RateFilterConfig{Objective: o}))
	for g := range groups {
		groups[g] = must(f.AddGroup(GroupConfig{}))
	}
	for page := range n {
		require.NoError(t, f.SetGroup(page, groups[page%2]))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for now := 1.0; now <= 2000; now++ {
		page := must(f.Next(now))
		change := 1 - math.Exp(-[]float64{.002, .2}[page%2]*(now-f.last(uint32(page))))
		require.NoError(t, f.Observe(page, now, rng.Float64() < change))
	}
	return f, groups
}

// From the removal of its group on a page is worth what it is in no group.
func TestIndexAfterRemoveGroup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for o := range objectives {
		f, groups := busyAndQuiet(t, o)
		page := f.Add()
		require.NoError(t, f.SetGroup(page, groups[0]))
		index := func(f *RateFilter) float64 { return must(f.Index(page, f.now+50)) }
		quiet := index(f)
		alone := new(RateFilter)
		require.NoError(t, alone.UnmarshalBinary(saved(t, f)))
		require.NoError(t, alone.SetGroup(page, -1))
		require.NotEqual(t, index(alone), quiet, o)
		require.NoError(t, f.RemoveGroup(groups[0]))
		require.Equal(t, index(alone), index(f), o)
	}
}

// Answers of pages whose group was removed say nothing of how alike the pages of groups are, and what is
// known of the pages leaves the group's slot with them: the next group there begins with nothing.
func TestStandingAfterRemoveGroup(t *testing.T) {
	t.Parallel()
	f, groups := busyAndQuiet(t, Freshness)
	likeness := func() []byte {
		e := codec.NewEncoder("likeness", 1)
		f.likeness.Encode(e)
		return must(e.Finish())
	}
	before := likeness()
	for _, g := range groups {
		require.NoError(t, f.RemoveGroup(g))
	}
	spin(t, f, 2001, 500)
	require.Equal(t, before, likeness())
	again := new(RateFilter)
	require.NoError(t, again.UnmarshalBinary(saved(t, f)))
	require.Equal(t, f.kin.At(0).Standing, again.kin.At(0).Standing)
	for page := range f.Len() {
		require.NoError(t, f.SetGroup(page, -1))
	}
	for range groups {
		slot := uint32(Slot(must(f.AddGroup(GroupConfig{}))))
		require.Less(t, slot, uint32(len(groups)), "used again")
		require.Zero(t, f.kin.At(slot).Standing)
	}
}

// What hints about pages are worth whose group was removed is no matter of the next group in its slot.
func TestHintsAfterRemoveGroup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range []Objective{Freshness, Detections} {
		var index [2]float64
		for k := range index {
			f := must(NewRateFilter(40, RateFilterConfig{Objective: o}))
			group := must(f.AddGroup(GroupConfig{}))
			for page := range 10 {
				require.NoError(t, f.SetGroup(page, group))
			}
			require.NoError(t, f.RemoveGroup(group))
			leave := func() {
				for page := range 10 {
					require.NoError(t, f.SetGroup(page, -1))
				}
			}
			if k == 0 {
				leave()
			}
			now := 0.0
			for range 2400 { // in turn, so that both learn the same
				now++
				page := int(now) % 40
				must(f.Next(now))
				if page < 10 || page%2 == 0 {
					require.NoError(t, f.Signal(page, 0, now))
				}
				require.NoError(t, f.Record(page, now, page >= 10 && page%2 == 0))
				for asked := range f.flights() {
					require.NoError(t, f.Observe(asked, now, false))
				}
			}
			leave()
			group = must(f.AddGroup(GroupConfig{}))
			require.Zero(t, Slot(group))
			for _, page := range []int{20, 22} {
				require.NoError(t, f.SetGroup(page, group))
			}
			require.NoError(t, f.Signal(20, 0, now+1))
			index[k] = must(f.Index(20, now+5))
		}
		require.InEpsilon(t, index[0], index[1], 1e-9, o)
	}
}

// Where polls fail at random, pages that failed some times in a row are not taken for dead: copies are no
// older than those of polls in turn, of which as many fail.
func TestPollsThatFailAtRandom(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, cycles, seeds = 120, 25, 6
	for _, c := range []struct {
		loss, most float64
		ordinary   int
	}{{0.1, 0.88, 1}, {0.3, 0.7, 3}, {0.5, 0.65, 6}, {0.6, 0.75, 9}, {0.7, 1.4, 13}} {
		sum, square := 0.0, 0.0
		for seed := range uint64(seeds) {
			age := func(s webenv.Scheduler) float64 {
				env := must(webenv.NewPoisson(slices.Repeat([]float64{1}, n), rand.NewPCG(seed, 1)))
				return must(webenv.Run(env, s, webenv.RunConfig{Rate: n, Polls: cycles * n, Loss: c.loss, Source: rand.NewPCG(seed, 2)})).Age
			}
			f := must(NewRateFilter(n, RateFilterConfig{Objective: Age}))
			ratio := math.Log(age(f) / age(must(NewFixed(slices.Repeat([]float64{1}, n), Even, nil))))
			sum += ratio
			square += ratio * ratio
			require.InDelta(t, c.ordinary, f.tally.ordinaryFailures(), 1+float64(c.ordinary)/8)
		}
		mean := sum / seeds
		spread := math.Sqrt((square/seeds - mean*mean) / (seeds - 1))
		t.Logf("%v of the polls fail: age %.3f ± %.3f of that of polls in turn", c.loss, math.Exp(mean), spread)
		require.Less(t, math.Exp(mean), c.most)
	}
}

// A Record of a time to come does not end what is deferred until before that.
func TestDeferOutlastsRecords(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(1, RateFilterConfig{}))
	for k := range 50 {
		require.NoError(t, f.Observe(must(f.Next(float64(k))), float64(k), false))
	}
	require.NoError(t, f.Defer(0, 100))
	require.NoError(t, f.Record(0, 49_000, false)) // in another unit
	require.EqualValues(t, 100, f.Ready())
	_, err := f.Next(99)
	require.ErrorIs(t, err, ErrNoPage)
	must(f.Next(100))
}
