package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/factor"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
	"github.com/recrawl/recrawl/webenv"
)

// massEdits is a history of n pages in so many folders, of 1000 days: about a given share of all
// changes belong to edits of a folder or of all pages at once.
func massEdits(n, folders int, share float64, seed uint64) *webenv.History {
	const days = 1000.0
	rng := rand.New(rand.NewPCG(seed, 21))
	h := &webenv.History{Names: make([]string, n), Times: make([][]float64, n)}
	edit := func(every float64, pages func(page int) bool) {
		for t := every * rng.ExpFloat64(); t < days; t += every * rng.ExpFloat64() {
			reach := rng.Float64()
			for i := range n {
				if pages(i) && rng.Float64() < reach {
					h.Times[i] = append(h.Times[i], t)
				}
			}
		}
	}
	edit(100, func(int) bool { return true })
	for f := range folders {
		edit(60, func(page int) bool { return page%folders == f })
	}
	perPage := days/100/2 + days/60/2 // changes by edits
	for i := range n {
		own := perPage * (1 - share) / share / days * math.Exp(1.2*rng.NormFloat64()-0.72)
		for t := rng.ExpFloat64() / own; t < days; t += rng.ExpFloat64() / own {
			h.Times[i] = append(h.Times[i], t)
		}
		slices.Sort(h.Times[i])
	}
	return h
}

// byFolder puts pages into groups, page%folders being the folder.
func byFolder(t testing.TB, f *RateFilter, folders int) {
	for g := range folders {
		require.Equal(t, g, must(f.AddGroup(GroupConfig{})))
	}
	for page := range f.All() {
		require.NoError(t, f.SetGroup(page, page%folders))
	}
}

// Where 88 % of the changes are edits of many pages at once, the filter finds at least 0.97 of what
// polling in turn does, at small budgets and large ones, with groups and without.
func TestRateFilterOnMassEdits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, folders, seeds = 240, 12, 4
	for _, perDay := range []float64{0.01, 0.04, 0.16} {
		for _, grouped := range []bool{false, true} {
			sum := [2]float64{}
			for seed := range uint64(seeds) {
				h := massEdits(n, folders, 0.88, seed)
				run := func(s webenv.Scheduler) float64 {
					return float64(must(webenv.Run(must(webenv.NewReplay(h, 0)), s, webenv.RunConfig{Rate: perDay * n, Duration: 1000})).Detected)
				}
				f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
				if grouped {
					byFolder(t, f, folders)
				}
				sum[0] += run(f)
				sum[1] += run(&inTurn{n: n})
			}
			t.Logf("%v polls a page and day, groups %v: %v, in turn %v: %.3f", perDay, grouped, sum[0], sum[1], sum[0]/sum[1])
			require.Greater(t, sum[0], 0.97*sum[1])
		}
	}
}

// Once a few pages of a folder that hardly ever change are found changed, the others are polled
// soon, but under Detections: within a cycle and a half in the mean, which those of another folder, and
// polls in turn, take two or three for. The pages found changed are not taken for busy ones.
func TestEditOfAFolderIsFollowed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, folders, cycles, edit, seeds = 200, 10, 30, 24.0, 5
	for objective := range objectives {
		if objective == Detections {
			continue
		}
		late, rate := 0.0, 0.0
		for seed := range uint64(seeds) {
			f := must(NewRateFilter(n, RateFilterConfig{Objective: objective}))
			byFolder(t, f, folders)
			rng := rand.New(rand.NewPCG(3+seed, 4))
			known, found := make([]float64, n), make([]float64, n)
			for k := range n * cycles {
				now := float64(k) / n
				page := must(f.Next(now))
				own := 0.02 // half of the pages are busy
				if page/folders%2 == 0 {
					own = 1
				}
				changed := rng.Float64() < -math.Expm1(-own*(now-known[page]))
				if page%folders == 3 && known[page] < edit && now >= edit {
					changed, found[page] = true, now-edit
				}
				known[page] = now
				require.NoError(t, f.Observe(page, now, changed))
			}
			for page := 13; page < n; page += 2 * folders { // the quiet ones of the folder
				late += found[page] / (n / folders / 2 * seeds)
				rate += must(f.Rate(page)).Median / (n / folders / 2 * seeds)
			}
		}
		t.Logf("%v: found %.2f cycles late, then taken to change at a rate of %.3f", objective, late, rate)
		require.Less(t, late, 1.5) // a crawl is late by 1 with a spread of .4 under Delay, and by less under the others
		require.Less(t, rate, 0.2)
	}
}

// spells is a history of n pages over 1000 days, each of which changes once in 100 days but for
// spells of 15 days on average, 45 days apart, in which it changes every other day. page%kinds have
// their spells at the same times.
func spells(n, kinds int, seed uint64) *webenv.History {
	const days = 1000.0
	h := &webenv.History{Names: make([]string, n), Times: make([][]float64, n)}
	for i := range n {
		when := rand.New(rand.NewPCG(seed, uint64(i%kinds)))
		rng := rand.New(rand.NewPCG(seed, 1000+uint64(i)))
		busy := false
		for t := 0.0; t < days; busy = !busy {
			end, every := t+45*when.ExpFloat64(), 100.0
			if busy {
				end, every = t+15*when.ExpFloat64(), 2
			}
			for t += every * rng.ExpFloat64(); t < min(end, days); t += every * rng.ExpFloat64() {
				h.Times[i] = append(h.Times[i], t)
			}
			t = end
		}
	}
	return h
}

// Groups gain where the pages of a folder have their spells together, and cost next to nothing
// where they do not.
func TestGroupsOfNeighbours(t *testing.T) {
	t.Parallel()
	const n, folders, rate = 240, 20, 240 * 0.05
	found := func(h *webenv.History, grouped bool) float64 {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		if grouped {
			byFolder(t, f, folders)
		}
		return float64(must(webenv.Run(must(webenv.NewReplay(h, 0)), f, webenv.RunConfig{Rate: rate, Duration: 1000})).Detected)
	}
	var together, apart [2]float64
	for seed := range uint64(2) {
		for k, grouped := range []bool{false, true} {
			together[k] += found(spells(n, folders, seed), grouped)
			apart[k] += found(spells(n, n, seed), grouped)
		}
	}
	t.Logf("found together %v, apart %v, without and with groups", together, apart)
	require.Greater(t, together[1], 1.1*together[0])
	require.Greater(t, apart[1], 0.98*apart[0])
}

// newsWeb is a history of n pages over a year of which 72 % come up at some day of it and change some 25 times then, half
// of them within 5 days in the median; the others hardly change.
func newsWeb(n int, seed uint64) *webenv.History {
	const year = 365.0
	h := &webenv.History{Names: make([]string, n), Times: make([][]float64, n)}
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		if rng.Float64() < 0.28 {
			every := year / (0.9 * math.Exp(1.2*rng.NormFloat64()))
			for t := every * rng.ExpFloat64(); t < year; t += every * rng.ExpFloat64() {
				h.Times[i] = append(h.Times[i], t)
			}
			continue
		}
		born, lasts := year*rng.Float64(), 7*math.Exp(0.6*rng.NormFloat64())
		h.Times[i] = append(h.Times[i], born)
		for range int(20 * math.Exp(0.7*rng.NormFloat64())) {
			if t := born + lasts*rng.ExpFloat64(); t < year {
				h.Times[i] = append(h.Times[i], t)
			}
		}
		slices.Sort(h.Times[i])
	}
	return h
}

// Groups cost next to nothing where pages have nothing in common but that all change less than is expected of new
// ones, and each for a time. If groups leaned as all pages do, or their factors counted from the first cycle on, copies
// would be 3.7 or 3.3 ± .7 % staler with groups. It is .7 ± .8 %.
func TestGroupsOfStrangers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, folders, cycles, seeds = 300, 5, 20, 10
	costs := make([]float64, seeds)
	for seed := range uint64(seeds) {
		h := newsWeb(n, seed)
		var stale [2]float64
		for k := range stale {
			f := must(NewRateFilter(n, RateFilterConfig{}))
			if k == 1 {
				byFolder(t, f, folders)
			}
			r := must(webenv.Run(must(webenv.NewReplay(h, 0)), f, webenv.RunConfig{Rate: n * cycles / 365.0, Duration: 365}))
			stale[k] = 1 - r.Freshness
		}
		costs[seed] = math.Log(stale[1] / stale[0])
	}
	mean, spread := meanAndSpread(costs)
	t.Logf("copies are staler by %.4f ± %.4f, in log", mean, spread)
	require.Less(t, mean, 0.02)
}

// What is found in a group is compared with what is found in all groups: the more that is, the less
// the group stands out.
func TestGroupsAreJudgedByTheUsual(t *testing.T) {
	t.Parallel()
	f, groups := busyAndQuiet(t, Freshness)
	since, busy := f.now-f.model.Cycle(), uint32(Slot(groups[0]))
	before, _ := f.pulse(busy, since)
	for range 100 {
		f.usual.Learn(9, 1, f.Len())
	}
	after, _ := f.pulse(busy, since)
	require.Less(t, after, 0.9*before)
}

// A saved state in which a page that was removed is still marked is forged.
func TestMarksOfRemovedPagesAreForged(t *testing.T) {
	t.Parallel()
	f, _ := busyAndQuiet(t, Freshness)
	require.NoError(t, f.Remove(0))
	require.NoError(t, new(RateFilter).UnmarshalBinary(saved(t, f)))
	f.marks[0] = factor.MarkOf(1, 1)
	require.ErrorIs(t, new(RateFilter).UnmarshalBinary(saved(t, f)), ErrCorrupt)
}

// A page that is new begins with what is known of its group: beside pages that change often it is
// expected to, whatever the objective, and beside pages that hardly change it is not. Without
// groups both begin alike.
func TestNewPagesBeginLikeTheirGroup(t *testing.T) {
	t.Parallel()
	const n = 60
	for o := range objectives {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
		var groups [2]int
		for k := range groups {
			groups[k] = must(f.AddGroup(GroupConfig{}))
		}
		rng := rand.New(rand.NewPCG(1, 1))
		last := make([]float64, n)
		rates := [2]float64{3.0 / n, 0.1 / n} // per poll, which a page gets one of n of
		for page := range n {
			require.NoError(t, f.SetGroup(page, groups[page%2]))
		}
		now := 0.0
		for range 15 * n {
			now++
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, rng.Float64() < -math.Expm1(-rates[page%2]*(now-last[page]))))
			last[page] = now
		}
		var pages [2]int
		chance := func(page int) float64 { // of a change within half a cycle, as of now
			b := f.beliefOf(Slot(page))
			b.Lean(f.leaning(uint32(Slot(page))))
			rates := b.Marginal(0.5)
			return 1 - f.model.Survival(&rates, n/2)
		}
		for k := range pages {
			pages[k] = f.Add()
		}
		require.Equal(t, chance(pages[0]), chance(pages[1]))
		alike := chance(pages[0])
		for k := range pages {
			require.NoError(t, f.SetGroup(pages[k], groups[k]))
		}
		t.Logf("%v: expected to change within half a cycle: %.2f, %.2f; without groups %.2f", o, chance(pages[0]), chance(pages[1]), alike)
		require.Greater(t, chance(pages[0]), 1.1*alike)
		require.Less(t, chance(pages[1]), 0.75*alike)
	}
}

// beliefOf returns what is thought of a page, under the prior of all pages.
func (f *RateFilter) beliefOf(slot int) (b belief.Belief) {
	f.model.Unpack(&f.beliefs[slot], &b)
	return f.informed(b)
}

// What is known of a folder already is no evidence of all pages: a change in a folder that changes
// more than they do at present raises their factor by less, and a page of it that has not changed
// lowers it by more.
func TestFolderIsNotAllPages(t *testing.T) {
	t.Parallel()
	const n, folders, cycles, from = 200, 20, 12, 11.5
	for _, objective := range []Objective{Detections, Freshness, Delay} {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: objective}))
		byFolder(t, f, folders)
		rng := rand.New(rand.NewPCG(5, 6))
		known := make([]float64, n)
		for k := range n * cycles {
			now := float64(k) / n
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, rng.Float64() < -math.Expm1(-0.3*(now-known[page]))))
			known[page] = now
		}
		for k := range n / folders {
			require.NoError(t, f.Record(folders*k+3, cycles+float64(k)/n, true))
		}
		require.Equal(t, 1.0, f.apart(queue.None, from))
		apart := f.apart(3, from)
		if objective == Detections {
			require.Equal(t, 1.0, apart)
			continue
		}
		require.Greater(t, apart, 1.1)
		require.Less(t, f.apart(4, from), apart)

		saved := must(f.MarshalBinary())
		learnt := func(apart float64, changed bool) float64 {
			var g RateFilter
			require.NoError(t, g.UnmarshalBinary(saved))
			var b belief.Belief
			g.model.Unpack(&g.beliefs[3], &b)
			rates := b.Marginal(1)
			p := evidence{RateFilter: &g, finding: finding{3, from, cycles + 0.1, changed}, rates: &rates, times: 1}
			p.learn(&g.common, &g.levels[ofAll], 1, apart, n)
			m, _ := g.common.Mean(&g.levels[ofAll], from, 1, 1)
			return m
		}
		require.Less(t, learnt(4, true), learnt(1, true))
		require.Less(t, learnt(4, false), learnt(1, false))
	}
}

// That pages change less than expected at all times is no evidence of what they have in common at present, but
// under Detections.
func TestWhatIsSoAtAllTimesIsNoEvidence(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range []Objective{Freshness, Detections, Delay} {
		const n = 64
		since := func(times float64) float64 { // the factor after polls that find nothing
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			spin(t, f, 0, 30*n)
			for k := range 4000 {
				chance := -math.Expm1(math.Log(0.5) / times)
				f.census.Untouched.Learn(chance, false, k%2 == 0, n, 1)
				f.census.Untouched.Learn(chance, true, k%2 == 0, n, 1)
			}
			fresh, b := f.model.Fresh(), belief.Belief{}
			f.model.Unpack(&fresh, &b)
			gap := f.model.Cycle() / 4
			rates := b.Marginal(0.25)
			for slot := range uint32(9) { // more of them would say that nothing changes at all
				f.touched.set(slot, false)
				f.compare(finding{slot, f.now, f.now + gap, false}, &rates)
			}
			m, _ := f.common.Mean(&f.levels[ofAll], f.now, 1, 1)
			return m
		}
		if usual, quiet := since(1), since(0.3); o == Detections {
			require.Equal(t, usual, quiet)
		} else {
			require.Greater(t, quiet, 1.1*usual, o)
		}
	}
}

// However quiet all pages are, those of a group of which nothing is known are not taken to be as
// quiet once the first cycles are over, but under Detections.
func TestQuietOfAllPagesIsBoundedInGroups(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, objective := range []Objective{Freshness, Detections, Delay} {
		const n = 64
		f := must(NewRateFilter(n, RateFilterConfig{Objective: objective}))
		f.without = ablation.Untouched // or quiet is what pages are used to in the end
		byFolder(t, f, 2)
		from := 0.0
		for poll := range 60 * n { // busy at first, and then quiet
			now := float64(poll+1) / n
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, poll < 30*n))
			if poll == 58*n {
				from = now
			}
		}
		alone, _ := f.pulse(queue.None, from)
		require.Less(t, alone, 0.8*leastOfAll, objective)
		g := f.queue.Group(0)
		*f.know(g) = factor.New(&f.levels[ofGroup])
		grouped, _ := f.pulse(g, from)
		if objective == Detections {
			require.InDelta(t, alone, grouped, 1e-6)
		} else {
			require.InDelta(t, leastOfAll*(1-f.fade()), grouped, 1e-6, objective)
		}
	}
}

// A set of slots has those that are set, and keeps them as it grows.
func TestBits(t *testing.T) {
	t.Parallel()
	b := newBits(70)
	b.set(69, true)
	b.grow(140)
	for slot := range uint32(140) {
		require.Equal(t, slot == 69, b.has(slot), "slot %d", slot)
		b.set(slot, true)
	}
	for slot := uint32(0); slot < 140; slot += 3 {
		b.set(slot, false)
	}
	for slot := range uint32(140) {
		require.Equal(t, slot%3 != 0, b.has(slot), "slot %d", slot)
	}
}

// Of a group whose slot is used again nothing is known, and what was known of another stays.
func TestFactorsOfGroups(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(8, RateFilterConfig{}))
	var groups [2]int
	for page := range 4 {
		if page%2 == 0 {
			groups[page/2] = must(f.AddGroup(GroupConfig{}))
		}
		require.NoError(t, f.SetGroup(page, groups[page/2]))
	}
	require.Nil(t, f.factorOf(0))
	spin(t, f, 0, 200)
	known, other := *f.factorOf(0), *f.factorOf(1)
	require.NotEqual(t, known, other)
	require.NoError(t, f.RemoveGroup(groups[0]))
	for page := range 2 {
		require.NoError(t, f.SetGroup(page, groups[1]))
	}
	again := must(f.AddGroup(GroupConfig{}))
	require.Zero(t, Slot(again))
	require.Nil(t, f.factorOf(0))
	require.Equal(t, other, *f.factorOf(1))
	for page := 4; page < 6; page++ {
		require.NoError(t, f.SetGroup(page, again))
	}
	spin(t, f, 200, 50)
	require.NotNil(t, f.factorOf(0))
	require.NotEqual(t, known, *f.factorOf(0))
	require.Equal(t, 2, f.factors.Len(), "its place is used again")
}
