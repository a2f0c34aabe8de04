package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/census"
	"github.com/recrawl/recrawl/webenv"
)

// A page is touched once it is known to have changed: by a poll that was asked for or not, or by the times of
// its changes, also of those before it was added. A new page in its place is not.
func TestWhichPagesAreUntouched(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		f := must(NewRateFilter(6, RateFilterConfig{Objective: o}))
		require.NoError(t, f.RecordChanges(5, -2, -1, []float64{-1.5})) // before there is a time scale
		now := 0.0
		for range 60 {
			now++
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, page == 0))
		}
		require.NoError(t, f.Record(1, now+1, false))
		require.NoError(t, f.Record(2, now+1, true))
		require.NoError(t, f.RecordChanges(3, now, now+1, nil))
		require.NoError(t, f.RecordChanges(4, now, now+2, []float64{now + 1}))
		for page, want := range []bool{true, false, true, false, true, true} {
			require.Equal(t, want, f.touched.has(uint32(page)), "page %d", page)
		}
		require.NoError(t, f.Remove(2))
		page := f.Add()
		require.Equal(t, 2, Slot(page))
		require.False(t, f.touched.has(2))
		require.NoError(t, f.RecordChanges(page, now-9, now-5, []float64{now - 7}))
		require.True(t, f.touched.has(2))
	}
}

// The index is that of a page whose rates are as many times as great as untouched pages have been found to
// have, or others. The value of Detections goes with the rate while changes are rare, and that of Delay is so many times
// as great if that is less.
func TestIndexOfUntouchedPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const gapCycles = 0.02 // in which changes are rare
	for o := range objectives {
		f := must(NewRateFilter(50, RateFilterConfig{Objective: o}))
		f.without = ablation.Calibration | ablation.Waking | ablation.Lately
		spin(t, f, 0, 50*40)
		for k := range 4000 { // half of what is learnt goes to each kind of page
			f.census.Untouched.Learn(0.3, k%2 == 0, k%4 < 1 || k%8 == 1, 50, 1)
		}
		require.NotEqual(t, f.more(past{}), f.more(past{touched: true}))
		fresh, view := f.model.Fresh(), belief.View{}
		f.model.See(&view, &fresh, belief.Level())
		gap := gapCycles * f.model.Cycle()
		plain, _ := f.model.Value(&view, gap, gap, 1, 0, 0)
		for _, touched := range []bool{false, true} {
			s := f.more(past{touched: touched})
			require.NotZero(t, s)
			got, _ := f.mean(&view, gap, gap, past{touched: touched})
			switch o {
			case Detections:
				require.InEpsilon(t, -math.Expm1(math.Log1p(-plain)*math.Exp(s)), got, 1e-3)
			default: // the same page in another unit of time
				up, rests := s, 1-f.hope(touched)
				if o == Delay {
					up, rests = max(0, s), 0
				}
				want, _ := f.model.Value(&view, gap, gap*math.Exp(up), 1, f.bursts(touched), rests)
				power := map[Objective]float64{Freshness: 1, Age: 2, Harmonic: 1, Delay: 1}[o]
				require.InEpsilon(t, want/math.Exp(up*power)*math.Exp(s-up), got, 1e-9, "%v", o)
			}
		}
		f.census.Untouched = census.New(1, o == Detections).Untouched
		got, _ := f.mean(&view, gap, gap, past{touched: true})
		require.InEpsilon(t, plain, got, 1e-6)
	}
}

// There is less hope for untouched pages the less often they change beside what was expected of all pages. Without
// any, nothing is added to the value of a poll for what it teaches.
func TestHope(t *testing.T) {
	t.Parallel()
	const n = 50
	taught := func(untouched, touched bool) *RateFilter {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		spin(t, f, 0, 40*n)
		f.census.Untouched = census.New(1, false).Untouched
		require.Equal(t, 1.0, f.hope(false))
		for range 4000 {
			f.census.Untouched.Learn(0.5, false, untouched, n, 1)
			f.census.Untouched.Learn(0.5, true, touched, n, 1)
		}
		require.Equal(t, 1.0, f.hope(true))
		return f
	}
	require.Equal(t, 1.0, taught(true, false).hope(false))
	require.Equal(t, 1.0, taught(false, false).hope(false), "all pages change less than expected")
	f := taught(false, true)
	require.Zero(t, f.hope(false))
	fresh, view := f.model.Fresh(), belief.View{}
	f.model.See(&view, &fresh, belief.Level())
	gap := f.model.Cycle()
	for _, touched := range []bool{false, true} {
		mean, spread := f.mean(&view, gap, gap, past{touched: touched})
		require.Positive(t, spread)
		value, _ := f.value(&view, gap, gap, past{touched: touched})
		require.Equal(t, touched, value > mean)
	}
}

// What is learnt comes from what was expected of a page, in the light of edits, and of whether it was untouched
// before the poll. It counts in what is predicted.
func TestWhatUntouchedIsLearntFrom(t *testing.T) {
	t.Parallel()
	const n = 3000
	for _, o := range []Objective{Freshness, Detections, Delay} {
		f := sampling(n, 512, o)
		f.without = ablation.Calibration | ablation.Waking
		spin(t, f, 0, 4*n)
		want, every, gap := f.census.Untouched, f.census.Every(n), 4*f.model.Cycle()
		fresh, b := f.model.Fresh(), belief.Belief{}
		f.model.Unpack(&fresh, &b)
		rates := b.Marginal(4)
		chance := 1 - f.model.Survival(&rates, gap/2)
		alone := 1 - f.model.Survival(&rates, gap) // without evidence of other pages
		if o == Detections {
			alone = chance
		}
		for k := range 2000 {
			f.touched.set(0, k%2 == 0)
			if k == 1999 {
				more := f.more(past{})
				require.NotZero(t, more)
				predicted, before := census.Times(either(chance, 0.2), more), f.tally.expected
				if o == Detections {
					predicted = f.census.Calibration.Correct(chance, 4, false, f.fade(), more, f.opinion(f.rate(0), gap/2, f.fade()))
				}
				f.changed.set(0, false)
				f.judge(&b, &rates, finding{0, f.last(0), f.last(0) + gap, false}, gap/2, 0.2)
				require.InEpsilon(t, float64(every)*predicted, f.tally.expected-before, 1e-6)
				break
			}
			f.judge(&b, &rates, finding{0, f.last(0), f.last(0) + gap, k%8 == 0}, gap/2, 0.2)
			want.Learn(either(alone, 0.2), k%2 == 0, k%8 == 0, n/every, f.calmly())
			require.Equal(t, want, f.census.Untouched)
		}
	}
}

// Where pages rest after they have been written more is detected, and sooner, for what is learnt of those that
// were never known to change.
//
//	go test ./knapsack -v -run TestUntouchedPages -exact
func TestUntouchedPagesThatWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := partWorth(t, webs(8), Detections, ablation.Untouched, stories, detectedOf)
	require.Greater(t, mean-3*sd, 0.0)
	mean, sd = partWorth(t, webs(8), Delay, ablation.Untouched, stories, delayOf)
	require.Less(t, mean+3*sd, 0.0)
}

// Where pages are written throughout the crawl and change 20 times a cycle from then on, changes are found hardly
// later than by polls of all pages in turn, if at all: it would be .93 times as early if pages that each poll finds changed were
// taken to change ever more often, .92 if a page just written were not expected to change many times, and .7 if
// both were so.
func TestPagesThatAreBorn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, cycles, rate = 200, 30.0, 20.0
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		h := &webenv.History{Names: make([]string, n), Times: make([][]float64, n)}
		for i := range n {
			for now := cycles * rng.Float64(); now < cycles; now += rng.ExpFloat64() / rate {
				h.Times[i] = append(h.Times[i], now)
			}
		}
		delay := func(s webenv.Scheduler) float64 {
			return must(webenv.Run(must(webenv.NewReplay(h, 0)), s, webenv.RunConfig{Rate: n, Duration: cycles})).Delay
		}
		inTurn := must(NewFixed(slices.Repeat([]float64{1}, n), Even, rand.NewPCG(seed, 1)))
		ratio := delay(inTurn) / delay(must(NewRateFilter(n, RateFilterConfig{Objective: Delay})))
		t.Logf("%.3f times as early as in turn", ratio)
		require.Greater(t, ratio, 0.97)
	}
}

// Where rates stay, next to nothing is detected less, and the delay is at most 2.5 % longer.
func TestUntouchedPagesThatDoNotWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := partWorth(t, webs(8), Detections, ablation.Untouched, steady, detectedOf)
	require.Greater(t, mean-3*sd, -0.01)
	mean, sd = partWorth(t, 8, Delay, ablation.Untouched, steady, delayOf)
	require.Less(t, mean+3*sd, 0.025)
}

// Of most webs many pages never change. That is learnt of all pages together, in the first cycles, so that copies
// of the others are not left old for them. If all untouched pages were polled for what that teaches, and taken to
// jump anywhere, it would be .65 of what polls in turn lose for Freshness, and .41 for Age.
func TestPagesThatNeverChange(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, cycles, seeds = 300, 6, 6
	for o, most := range map[Objective]float64{Freshness: 0.56, Age: 0.28, Delay: 0.223} {
		sum := 0.0
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 1))
			rates := make([]float64, n)
			for i := range rates {
				if rng.Float64() < 0.05 {
					rates[i] = 10 * math.Exp(rng.NormFloat64()-0.5)
				}
			}
			loss := func(s webenv.Scheduler) float64 {
				env := must(webenv.NewPoisson(rates, rand.NewPCG(seed, 2)))
				r := must(webenv.Run(env, s, webenv.RunConfig{Rate: n, Polls: cycles * n}))
				switch o {
				case Freshness:
					return 1 - r.Freshness
				case Age:
					return r.Age
				default:
					return r.Delay
				}
			}
			sum += math.Log(loss(must(NewRateFilter(n, RateFilterConfig{Objective: o}))) / loss(&inTurn{n: n}))
		}
		t.Logf("%v: %.3f of what polls in turn lose", o, math.Exp(sum/seeds))
		require.Less(t, math.Exp(sum/seeds), most)
	}
}

// What a hint foretold is hardly a sign that untouched pages change more than expected.
func TestHintedChangesAreExpected(t *testing.T) {
	t.Parallel()
	const n = 200
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Delay}))
	for k := range 10 * n { // every change of the pages 0 to 99 is announced, and nothing else
		now := float64(k) / n
		page := must(f.Next(now))
		changed := page < n/2 && k%2 == 0
		if changed {
			require.NoError(t, f.Signal(page, 0, now-1e-6))
		}
		require.NoError(t, f.Observe(page, now, changed))
	}
	require.True(t, f.hints.Telling())
	const quiet = n - 1
	require.False(t, f.touched.has(quiet))
	learnt := func(hinted bool) float64 {
		g := new(RateFilter)
		require.NoError(t, g.UnmarshalBinary(saved(t, f)))
		if hinted {
			require.NoError(t, g.Signal(quiet, 0, 10))
		}
		before := g.census.Untouched.Times(false)
		require.NoError(t, g.Record(quiet, 10.01, true))
		return g.census.Untouched.Times(false) - before
	}
	with, without := learnt(true), learnt(false)
	t.Logf("a change moves it by %.3f if there was a hint, else by %.3f", with, without)
	require.Greater(t, without, 2*with)
}
