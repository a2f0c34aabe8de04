package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/webenv"
)

// inTurn polls pages 0, 1, …, n−1, 0, … : a uniform schedule.
type inTurn struct{ n, next int }

func (u *inTurn) Next(float64) (int, error) {
	u.next++
	return (u.next - 1) % u.n, nil
}
func (u *inTurn) Observe(int, float64, bool) error { return nil }

// zipfRun counts the polls that find a change in windows of 10,000.
func zipfRun(s webenv.Scheduler, alpha, beta float64, swap, polls int, seed uint64) []int {
	env := must(webenv.NewZipf(webenv.ZipfConfig{Pages: 500, Alpha: alpha, Beta: beta, SwapEvery: swap}, rand.NewPCG(seed, 1)))
	found := make([]int, (polls+9999)/10_000)
	must(webenv.Run(env, s, webenv.RunConfig{Rate: 1, Polls: polls, OnPoll: func(p webenv.Poll) {
		if p.Changed {
			found[min(len(found)-1, int((p.Time-1)/10_000))]++
		}
	}}))
	return found
}

// laws are α and β of the environments of Granmo et al. 2006.
var laws = [][2]float64{{0.9, 1.5}, {0.3, 1.5}, {0.3, 1}}

// In the environments of Granmo et al. 2006: polls 10,001 to 20,000 detect at least
// 95 % of what knowing the rates does, and the first 20,000 at least half
// as many again as LAKG.
func TestRateFilterInZipf(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, ab := range laws {
		var found, known, lakg [2]int
		for seed := range uint64(2) {
			for _, s := range []struct {
				sum *[2]int
				by  webenv.Scheduler
			}{
				{&found, rateFilter(Detections)(500, 0)},
				{&known, must(NewFixed(mapped(zipf(500, ab[0], ab[1]), slotRate), Even, nil))},
				{&lakg, must(NewLAKG(500, LAKGConfig{}, rand.NewPCG(seed, 2)))},
			} {
				for w, count := range zipfRun(s.by, ab[0], ab[1], 0, 20_000, seed) {
					s.sum[w] += count
				}
			}
		}
		t.Logf("%v: found %v, known rates %v, LAKG %v: %.3f of known, %.2f times LAKG", ab, found, known, lakg,
			float64(found[1])/float64(known[1]), float64(found[0]+found[1])/float64(lakg[0]+lakg[1]))
		require.GreaterOrEqual(t, float64(found[1]), 0.95*float64(known[1]))
		require.GreaterOrEqual(t, float64(found[0]+found[1]), 1.5*float64(lakg[0]+lakg[1]))
	}
}

// Where ranks are swapped, it is above LAKG in every window.
func TestRateFilterInDynamicZipf(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, ab := range laws {
		const polls = 60_000
		f := zipfRun(rateFilter(Detections)(500, 0), ab[0], ab[1], 1000, polls, 1)
		lakg := zipfRun(must(NewLAKG(500, LAKGConfig{}, rand.NewPCG(1, 2))), ab[0], ab[1], 1000, polls, 1)
		t.Logf("%v: %v, LAKG %v", ab, f, lakg)
		for w := range f {
			require.Greater(t, f[w], lakg[w], "%v: window %d", ab, w)
		}
	}
}

// calm runs the filter and a uniform schedule over pages that change about
// equally, by a factor of spread, and as often as real pages do: mean changes in
// 45 cycles.
func calm(s webenv.Scheduler, o Objective, mean, spread float64, seed uint64) webenv.Result {
	const n, cycles = 300, 45
	rng := rand.New(rand.NewPCG(seed, 3))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = mean / cycles * math.Pow(spread, 2*rng.Float64()-1)
	}
	env := must(webenv.NewPoisson(rates, rand.NewPCG(seed, 4)))
	return must(webenv.Run(env, s, webenv.RunConfig{Rate: n, Duration: cycles}))
}

// On calm histories the filter polls in turn, and so does not lose to a uniform
// schedule: the two differ by the trial of the first cycle, and by the phase of
// what comes after it. Differences of detections are those of independent counts at most,
// so that their sum has a standard error below √(2·count); the trial costs a
// few per cent of one cycle of 45, 0.2 % of all.
func TestRateFilterOnCalmHistories(t *testing.T) {
	t.Parallel()
	means, spreads := []float64{3, 14}, []float64{1, 1.5}
	if testing.Short() {
		means, spreads = means[:1], spreads[:1]
	}
	for _, mean := range means {
		for _, spread := range spreads {
			sum := [2]float64{}
			fresh := [2]float64{}
			const runs = 4
			for seed := range uint64(runs) {
				f := must(NewRateFilter(300, RateFilterConfig{Objective: Detections}))
				sum[0] += float64(calm(f, Detections, mean, spread, seed).Detected)
				if spread == 1 {
					require.True(t, f.inTurn(), "mean %v, seed %d, gain %v", mean, seed, f.census.Hedge.Gain())
				}
				u := calm(&inTurn{n: 300}, Detections, mean, spread, seed)
				sum[1] += float64(u.Detected)
				fresh[0] += calm(rateFilter(Freshness)(300, 0), Freshness, mean, spread, seed).Freshness / runs
				fresh[1] += u.Freshness / runs
			}
			t.Logf("mean %v, spread %v: found %v, uniform %v (%+.2f %%), freshness %.4f, %.4f",
				mean, spread, sum[0], sum[1], 100*(sum[0]/sum[1]-1), fresh[0], fresh[1])
			require.GreaterOrEqual(t, sum[0], 0.998*sum[1]-3*math.Sqrt(2*sum[1]))
			require.GreaterOrEqual(t, fresh[0], fresh[1]-0.002)
		}
	}
}

// bursty is an environment of n pages that are quiet for 150 days and then
// change daily for 10, at rates that differ by orders of magnitude.
func bursty(n int, seed uint64) webenv.Env {
	rng := rand.New(rand.NewPCG(seed, 5))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Exp(rng.NormFloat64())
	}
	burst := webenv.BurstyConfig{Quiet: 0.002, Active: 1, QuietStay: 150, ActiveStay: 10}
	return must(webenv.NewBursty(rates, burst, rand.NewPCG(seed, 6)))
}

// On bursty pages at 0.05 polls per page and day. A single rate per page, however well
// known, cannot follow.
func TestRateFilterOnBurstyPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 400
	opt := webenv.RunConfig{Rate: 0.05 * n, Duration: 500}
	rule := Nutch(1.0 / 86400)
	rule.Start = 20
	const runs = 12
	found := 0.0 // over what uniform polls find
	for seed := range uint64(runs) {
		f := must(webenv.Run(bursty(n, seed), rateFilter(Detections)(n, 0), opt))
		u := must(webenv.Run(bursty(n, seed), &inTurn{n: n}, opt))
		nutch := must(webenv.Run(bursty(n, seed), must(NewAdaptive(n, rule)), opt))
		found += float64(f.Detected) / float64(u.Detected) / runs
		require.Greater(t, f.Detected, nutch.Detected)
		if seed >= 3 {
			continue
		}
		fresh := must(webenv.Run(bursty(n, seed), rateFilter(Freshness)(n, 0), opt))
		aged := must(webenv.Run(bursty(n, seed), rateFilter(Age)(n, 0), opt))
		t.Logf("found %d, uniform %d, Nutch's rule %d; freshness %.4f, %.4f, %.4f; age %.4f, %.4f, %.4f", f.Detected, u.Detected, nutch.Detected,
			fresh.Freshness, u.Freshness, nutch.Freshness, aged.Age, u.Age, nutch.Age)
		require.Greater(t, fresh.Freshness, u.Freshness-0.01)
		require.Less(t, aged.Age, u.Age)
	}
	// The mean of 24 runs is 1.64, with a standard deviation of .13: 3.9 standard errors.
	t.Logf("found %.3f times what uniform polls find", found)
	require.Greater(t, found, 1.5)
}

// The page chosen is nearly that with the greatest index of all, unless patience with
// it is over.
func TestRateFilterChoosesByIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	env := bursty(300, 1)
	f := must(NewRateFilter(300, RateFilterConfig{Objective: Detections}))
	ratio, count := 0.0, 0
	for k := 1; k <= 12_000; k++ {
		now := float64(k) / 15
		best := 0.0
		if k > 3000 && k%5 == 0 {
			for slot := range uint32(300) {
				best = max(best, f.index(slot, now-f.last(slot)))
			}
		}
		page := must(f.Next(now))
		if gap := now - f.last(uint32(page)); best > 0 && gap < 0.9*patience*f.model.Cycle() {
			ratio += f.index(uint32(page), gap) / best
			count++
		}
		_, changed := env.Poll(page, now)
		require.NoError(t, f.Observe(page, now, changed))
	}
	t.Logf("mean index of the page chosen: %.3f of the greatest", ratio/float64(count))
	require.Greater(t, ratio/float64(count), 0.85)
}

// Every page is polled again within 81·n polls, whatever the answers: that pages
// change always, so that they are not worth a poll for most objectives, never, or as an
// adversary likes. There are more pages than Next compares.
func TestRateFilterStarvesNoPage(t *testing.T) {
	t.Parallel()
	const n = 40
	polls := 4 * (patience + courtesy) * n
	if testing.Short() {
		polls /= 4
	}
	for _, o := range tried() {
		for i, answer := range []func(page int, since int) bool{
			func(page, _ int) bool { return page < 10 },
			func(page, since int) bool { return page%2 == 0 && since < 30 },
		} {
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			var last [n]int
			longest := 0
			for k := 1; k <= polls; k++ {
				page := must(f.Next(float64(k)))
				since := k - last[page]
				longest = max(longest, since)
				require.NoError(t, f.Observe(page, float64(k), answer(page, since)))
				last[page] = k
			}
			for _, at := range last {
				longest = max(longest, polls-at)
			}
			t.Logf("%v, answers %d: longest gap %d cycles", o, i, longest/n)
			require.LessOrEqual(t, longest, (patience+courtesy+1)*n, "%v", o)
		}
	}
}

// The same goes where most pages were removed, and of those that are left nearly all are worth nothing.
func TestRateFilterStarvesNoPageThatIsLeft(t *testing.T) {
	t.Parallel()
	const n, of = 40, mostFree
	polls := 3 * (patience + courtesy) * n
	f := must(NewRateFilter(n*of, RateFilterConfig{}))
	for page := range n * of {
		switch {
		case page%of > 0:
			require.NoError(t, f.Remove(page))
		case page > 0:
			require.NoError(t, f.SetWeight(page, 0))
		}
	}
	var last [n]int
	longest := 0
	for k := 1; k <= polls; k++ {
		page := must(f.Next(float64(k)))
		require.NoError(t, f.Observe(page, float64(k), true))
		longest = max(longest, k-last[page/of])
		last[page/of] = k
	}
	for _, at := range last {
		longest = max(longest, polls-at)
	}
	require.LessOrEqual(t, longest, (patience+courtesy+1)*n)
}

// Pages that never changed for 100 cycles all begin to, as often as those that always
// did. The filter has written them off, and must find out: over the next 40 cycles
// it finds 0.76 to 0.80 of what polling in turn does, and 0.70 without the factor of what all pages
// have in common. The bound is 2 standard deviations of a ratio of two such counts from either.
func TestRateFilterNoticesThatQuietPagesWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, busy, wake, end = 200, 40, 100, 140
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 8))
		h := &webenv.History{Names: make([]string, n), Times: make([][]float64, n)}
		for i := range n {
			now := 0.0
			if i >= busy {
				now = wake
			}
			for now += rng.ExpFloat64(); now < end; now += rng.ExpFloat64() {
				h.Times[i] = append(h.Times[i], now)
			}
		}
		found := func(s webenv.Scheduler) (late int) {
			must(webenv.Run(must(webenv.NewReplay(h, 0)), s, webenv.RunConfig{
				Rate: n, Duration: end, OnPoll: func(p webenv.Poll) {
					if p.Changed && p.Time > wake {
						late++
					}
				},
			}))
			return late
		}
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		filter, inTurn := found(f), found(&inTurn{n: n})
		t.Logf("found %d after the pages woke, in turn %d", filter, inTurn)
		require.Greater(t, float64(filter), 0.73*float64(inTurn))
	}
}

// Pages that stay quiet cost next to nothing: each is polled every 64 cycles, and for courtesy.
func TestQuietPagesCostLittle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 100
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	polls := 0
	for k := range 300 * n {
		page := must(f.Next(float64(k)))
		require.NoError(t, f.Observe(page, float64(k), page < 10))
		if page >= 10 && k >= 200*n {
			polls++
		}
	}
	t.Logf("%d polls of quiet pages in 100 cycles", polls)
	require.Less(t, polls, 90*100/patience+100*n/courtesy+90)
}

// On pages of constant rates that differ by orders of magnitude, polled once a cycle on
// average for 30 cycles, learning included, freshness goes more than half of the way from a uniform
// schedule to the best there is at the true rates.
func TestRateFilterFreshness(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, cycles, runs = 400, 30, 20
	rng := rand.New(rand.NewPCG(4, 4))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Exp(1.7*rng.NormFloat64() - 1)
	}
	p := Problem{Objective: Freshness, Rates: rates, Budget: n}
	x, _, err := p.Optimal()
	require.NoError(t, err)
	best := must(p.Value(x)) / n
	opt := webenv.RunConfig{Rate: n, Duration: cycles}
	f, u := 0.0, 0.0
	for seed := range uint64(runs) {
		f += must(webenv.Run(must(webenv.NewPoisson(rates, rand.NewPCG(seed, 5))), rateFilter(Freshness)(n, 0), opt)).Freshness / runs
		u += must(webenv.Run(must(webenv.NewPoisson(rates, rand.NewPCG(seed, 5))), &inTurn{n: n}, opt)).Freshness / runs
	}
	t.Logf("freshness %.4f, uniform %.4f, best at the true rates %.4f: %.2f of the way", f, u, best, (f-u)/(best-u))
	require.Greater(t, (f-u)/(best-u), 0.5) // .58 in the mean of other runs, with a standard error of .02 for as many as here
}

// The prior of all pages is learnt: where they all change once a cycle, it is above
// the flat one at that rate and below it far from there.
func TestCensusLearnsThePrior(t *testing.T) {
	t.Parallel()
	const n = 300
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Freshness}))
	env := must(webenv.NewPoisson(slices.Repeat([]float64{1}, n), rand.NewPCG(1, 1)))
	must(webenv.Run(env, f, webenv.RunConfig{Rate: n, Duration: 25}))
	at := int(math.Round(-math.Log(f.model.Rate(0)) / belief.Step)) // the cell of a rate of 1
	require.Greater(t, f.census.Prior.Factor()[belief.Steady][at], 1.5)
	for _, far := range []int{at - 5, at + 5} { // many votes are flat
		require.Less(t, f.census.Prior.Factor()[belief.Steady][far], 0.85)
	}
	require.Greater(t, f.census.Prior.Factor()[belief.Steady][at], f.census.Prior.Factor()[0][at], "rates that jump are less likely")
	require.Less(t, f.census.Hedge.Gain(), worthwhile)
}

// The unit of time does not matter but for rounding, after which runs go other ways: what they find
// then differs by some 7 % (one standard deviation), the mean of 12 by 2 %; 4 of these are 8 %.
func TestRateFilterHasNoUnit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	var found []float64
	for _, unit := range []float64{1e-9, 1, 86_400, 1e12} {
		sum := 0
		for seed := range uint64(12) {
			f := must(NewRateFilter(200, RateFilterConfig{Objective: Detections}))
			env := bursty(200, seed)
			for k := 1; k <= 5000; k++ {
				day := float64(k) / 10
				page := must(f.Next(unit * day))
				_, changed := env.Poll(page, day)
				require.NoError(t, f.Observe(page, unit*day, changed))
				if changed {
					sum++
				}
			}
		}
		found = append(found, float64(sum))
	}
	t.Logf("found %v", found)
	for _, x := range found {
		require.InEpsilon(t, found[1], x, 0.08)
	}
}

// A crawler that runs once a day has the budget of a day, whatever the time between the polls of a run. One that was
// down for a hundred days is not taken for a slow one.
func TestBudgetOfDailyRuns(t *testing.T) {
	t.Parallel()
	const n, polls = 60, 40
	for _, apart := range []float64{0, 1, 30, 600} { // seconds
		f := must(NewRateFilter(n, RateFilterConfig{}))
		run := func(day float64) {
			for k := range polls {
				now := day + float64(k)*apart/86400
				page := must(f.Next(now))
				require.NoError(t, f.Observe(page, now, page%3 == 0))
			}
		}
		for day := range 60 {
			run(float64(day))
			if day >= 20 {
				require.InEpsilon(t, polls, f.Stats().Budget, 0.25, "%v s apart, day %d", apart, day)
			}
		}
		for day := range 20 {
			run(float64(160 + day))
			require.GreaterOrEqual(t, f.Stats().Budget, polls/5.)
		}
		require.InEpsilon(t, polls, f.Stats().Budget, 0.3)
	}
}

// A budget that comes in bursts, and one that grows tenfold.
func TestRateFilterFollowsTheBudget(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 100
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	now := 0.0
	poll := func(k int) {
		for range k {
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, page < 5))
		}
	}
	for range 200 {
		now++
		poll(25)
	}
	require.InEpsilon(t, 4, f.model.Cycle(), 0.1)
	for range 2000 {
		now += 0.01
		poll(2)
	}
	require.InEpsilon(t, 0.5, f.model.Cycle(), 0.1)
}

// A run that polls most pages more than once gives all calls of Next the time at which it began, and may give that to
// the answers, too. Then no time passes, and after a poll of each page none is worth another one. The filter polled
// one page, or the few hot ones, for the rest of the run.
func TestRateFilterPollsAllPagesInARunOfOneTime(t *testing.T) {
	t.Parallel()
	for _, n := range []int{7, 120, 300} {
		for o := range objectives {
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			for day := range 6 {
				polls := make([]int, n)
				for range 5 * n {
					page := must(f.Next(float64(day)))
					polls[page]++
					require.NoError(t, f.Observe(page, float64(day), page%10 == 0 && polls[page] == 1))
				}
				if day > 0 { // else the time scale is not known
					require.GreaterOrEqual(t, slices.Min(polls), 3, "%v, %d pages, day %d", o, n, day)
					require.LessOrEqual(t, slices.Max(polls), 8, "%v, %d pages, day %d", o, n, day)
				}
			}
		}
	}
}
