package knapsack

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/webenv"
)

// A poll that is recorded leaves the same state, to the last bit, as one that was asked for.
func TestRecordIsObserve(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t, 6, Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective")))
		page := rapid.IntRange(0, 5).Draw(t, "page")
		if f.inFlight(page) {
			t.Skip("in flight")
		}
		if rapid.Bool().Draw(t, "hint") {
			require.NoError(t, f.Signal(page, 0, f.now+f.model.Cycle()/2))
		}
		now := max(f.now, f.last(uint32(page))) + rapid.Float64Range(0, 50).Draw(t, "later")
		changed := rapid.Bool().Draw(t, "changed")
		asked := new(RateFilter)
		require.NoError(t, asked.UnmarshalBinary(must(f.MarshalBinary())))
		asked.queue.Take(uint32(page)) // what Next does to the page
		asked.asked[uint32(page)] = now
		require.NoError(t, asked.Observe(page, now, changed))
		require.NoError(t, f.Record(page, now, changed))
		require.True(t, bytes.Equal(must(asked.MarshalBinary()), must(f.MarshalBinary())))
	})
}

// A record in the middle of a flight counts at once, and the flight's answer from there on. It
// may even be later than the answer.
func TestRecordDuringAFlight(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(2, RateFilterConfig{Objective: Detections}))
	for now := 0.0; now < 100; now++ {
		require.NoError(t, f.Observe(must(f.Next(now)), now, false))
	}
	page := must(f.Next(100))
	for _, at := range []float64{103, 105} {
		before := must(f.Rate(page)).Mean
		require.NoError(t, f.Record(page, at, true))
		require.Greater(t, must(f.Rate(page)).Mean, before)
		require.Equal(t, at, f.last(uint32(page)))
	}
	other := must(f.Next(101))
	require.NotEqual(t, page, other, "still in flight")
	before := must(f.Rate(page))
	require.NoError(t, f.Observe(page, 104, true))
	require.Equal(t, before, must(f.Rate(page)), "it is known already")
	require.EqualValues(t, 105, f.last(uint32(page)))
}

// What has been told is not counted twice: a feed told again and again as it is, or told in parts,
// teaches what it teaches when its news are told. Packing rounds at random, by up to half a
// weightStep of e^0.05 a poll.
func TestFeedIsToldAsItIs(t *testing.T) {
	t.Parallel()
	const n, days = 5, 300
	times := make([][]float64, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for page := range times {
		for at := rng.ExpFloat64(); at < days; at += rng.ExpFloat64() * float64(1+page*page) {
			times[page] = append(times[page], at)
		}
	}
	run := func(tell func(f *RateFilter, page int, last, now float64) error) *RateFilter {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		for now := 0.0; now < days; now += 0.5 {
			page := must(f.Next(now))
			if f.model.Known() {
				require.NoError(t, tell(f, page, f.last(uint32(page)), now))
			}
			require.NoError(t, f.Observe(page, now, false))
		}
		return f
	}
	between := func(page int, from, until float64) []float64 {
		i, _ := slices.BinarySearch(times[page], math.Nextafter(from, math.Inf(1)))
		j, _ := slices.BinarySearch(times[page], math.Nextafter(until, math.Inf(1)))
		return times[page][i:j]
	}
	news := run(func(f *RateFilter, page int, last, now float64) error {
		return f.RecordChanges(page, last, now, between(page, last, now))
	})
	whole := run(func(f *RateFilter, page int, last, now float64) error {
		if err := f.RecordChanges(page, last, now, between(page, 0, now)); err != nil {
			return err
		}
		return f.RecordChanges(page, math.Inf(-1), now, between(page, 0, now))
	})
	require.Equal(t, must(news.MarshalBinary()), must(whole.MarshalBinary()))
	for page := range n {
		require.InEpsilon(t, 1/float64(1+page*page), must(news.Rate(page)).Median, 0.8, "page %d", page)
	}
}

// Pages whose histories are told before the first poll start learnt: their rates are known once
// there is a time scale, and the first polls find more than those of a filter that was told
// nothing. Both have the same expectation if the histories are of no use; the difference of two
// counts of up to n has a standard deviation of less than √(2n), and four are asked for.
func TestNewPagesStartLearnt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 1000
	rng := rand.New(rand.NewPCG(1, 1))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Exp(1.7*rng.NormFloat64() - 1.5)
	}
	histories := func(f *RateFilter, until float64) {
		rng := rand.New(rand.NewPCG(5, 5))
		for page, rate := range rates {
			var times []float64
			for at := until - 30 + rng.ExpFloat64()/rate; at < until; at += rng.ExpFloat64() / rate {
				times = append(times, at)
			}
			require.NoError(t, f.RecordChanges(page, until-30, until, times))
		}
	}
	found := func(f *RateFilter) int {
		env := must(webenv.NewPoisson(rates, rand.NewPCG(2, 2)))
		return must(webenv.Run(env, f, webenv.RunConfig{Rate: n, Duration: 2})).Detected
	}
	blank := found(must(NewRateFilter(n, RateFilterConfig{Objective: Detections})))
	for _, until := range []float64{0, -3} {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		histories(f, until)
		require.Len(t, f.early, n)
		again := new(RateFilter)
		require.NoError(t, again.UnmarshalBinary(must(f.MarshalBinary())))
		require.Equal(t, must(f.MarshalBinary()), must(again.MarshalBinary()))
		for _, told := range f.early {
			require.LessOrEqual(t, len(told[0].times), earlyChanges)
		}
		learnt := found(again)
		t.Logf("found %d, without histories %d", learnt, blank)
		require.Greater(t, float64(learnt), float64(blank)+4*math.Sqrt(2*n))
		require.Empty(t, again.early)
		within := 0
		for page, rate := range rates {
			if est := must(again.Rate(page)); est.Low <= rate && rate <= est.High {
				within++
			}
		}
		require.Greater(t, within, n*7/10)
	}
	// In the middle of a run, too, and for a page that was added: it was current then.
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	found(f)
	page := f.Add()
	require.NoError(t, f.RecordChanges(page, -500, 1.5, []float64{-400, -300, -200, -100, 0}))
	require.InEpsilon(t, 0.01, must(f.Rate(page)).Median, 0.9)
	require.EqualValues(t, f.now, f.last(uint32(page)))
	before := saved(t, f)
	require.NoError(t, f.RecordChanges(page, -500, 1.6, []float64{-450}))
	require.Equal(t, before, saved(t, f), "a history is told once")
	// One that ended long ago tells less, as the rate may have jumped since.
	old := f.Add()
	require.NoError(t, f.RecordChanges(old, -1500, -998.5, []float64{-1400, -1300, -1200, -1100, -1000}))
	then, now := must(f.Rate(old)), must(f.Rate(page))
	require.Greater(t, then.High/then.Low, 2*now.High/now.Low)
	// What was kept is learnt before what is told then.
	kept := f.Add()
	f.keep(uint32(Slot(kept)), stretch{-500, 1, []float64{-400, -300, -200, -100, 0}})
	require.NoError(t, f.RecordChanges(kept, -500, f.now+.01, nil))
	require.Empty(t, f.early)
	require.InEpsilon(t, 0.01, must(f.Rate(kept)).Median, 0.9)
}

// What is told up to a time before the last answer is known already, be it of a feed that was fetched a second before
// a worker's answer: it changes nothing. Times that contradict one another are refused all the same.
func TestChangesBeforeTheLastAnswer(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(3, RateFilterConfig{}))
	spin(t, f, 1000, 100)
	page := must(f.Next(1100))
	require.NoError(t, f.Observe(page, 1100, true))
	added := f.Add()
	before := saved(t, f)
	for _, page := range []int{page, added} {
		require.NoError(t, f.RecordChanges(page, math.Inf(-1), 1099, []float64{1098.5}))
		require.NoError(t, f.RecordChanges(page, math.Inf(-1), 1099, nil))
	}
	require.NoError(t, f.RecordChanges(page, math.Inf(-1), 1100, []float64{1098.5}))
	require.NoError(t, f.RecordChanges(page, 1000, 1099, []float64{1098, 1098.5}))
	for _, c := range []struct {
		from, until float64
		times       []float64
	}{{1000, 1099, []float64{1099.5}}, {1000, 1099, []float64{1098, 1097}}, {1099.5, 1099, nil}, {math.NaN(), 1099, nil},
		{1000, math.NaN(), nil}, {math.Inf(-1), -1e299, nil}, {1000, 1099, []float64{math.Inf(-1)}}} {
		require.ErrorIs(t, f.RecordChanges(page, c.from, c.until, c.times), ErrTime, "%v", c)
	}
	require.Equal(t, before, saved(t, f))
}

// Feeds have times to the second: changes at the same one count once.
func TestChangesAtOneTime(t *testing.T) {
	t.Parallel()
	var states [2][]byte
	for several, times := range [][]float64{{1101, 1102}, {1101, 1101, 1101, 1102, 1102}} {
		f := must(NewRateFilter(3, RateFilterConfig{Objective: Detections}))
		require.NoError(t, f.RecordChanges(0, 0, 1200, times), "also before there is a time scale")
		spin(t, f, 1000, 100)
		require.NoError(t, f.RecordChanges(1, math.Inf(-1), 1200, times))
		states[several] = saved(t, f)
	}
	require.Equal(t, states[0], states[1])
}

// Pages that have been removed are no evidence about those that come.
func TestRemovedPagesHaveNoVote(t *testing.T) {
	t.Parallel()
	const n = 40
	f := must(NewRateFilter(n, RateFilterConfig{}))
	for i := range 400 {
		now := float64(i)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, page < n/2))
	}
	cell := func() (mean float64) { // rising with the rate
		votes := 0.0
		for k, share := range f.census.Prior.Rates() {
			mean += float64(k) * share
			votes += share
		}
		return mean / votes
	}
	all := cell()
	for page := range n / 2 {
		require.NoError(t, f.Remove(page))
	}
	without := cell()
	t.Logf("mean cell of the prior %.2f with busy pages, %.2f when they are gone", all, without)
	require.Less(t, without, 0.5*all)
}

// Saved changes are those of pages that there are, each page once.
func TestEarlyContradictions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots []uint32
		valid bool
	}{
		"two pages": {[]uint32{0, 2}, true}, "twice": {[]uint32{2, 2}, false},
		"a removed page": {[]uint32{0, 1}, false}, "beyond the last": {[]uint32{0, 3}, false},
	} {
		f := must(NewRateFilter(3, RateFilterConfig{}))
		require.NoError(t, f.Remove(1))
		d := codectest.Decoder(t, func(e *codec.Encoder) {
			e.Int(len(c.slots))
			for _, slot := range c.slots {
				e.Uint32(slot)
				e.Int(1)
				e.Float64(1)
				e.Float64(3)
				e.Float64s([]float64{2})
			}
		})
		f.decodeEarly(d)
		if c.valid {
			require.NoError(t, d.Done(), name)
			require.Equal(t, map[uint32][]stretch{0: {{1, 3, []float64{2}}}, 2: {{1, 3, []float64{2}}}}, f.early)
			continue
		}
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}

// What was told before there was a time scale is worth the less the longer before the last answer it was.
func TestOldHistoryFades(t *testing.T) {
	t.Parallel()
	var width [2]float64
	for i, later := range []float64{0, 1e5} {
		f := crawlOf(t, 50, 40, func(int) float64 { return 1 })
		page := f.Add()
		s := uint32(Slot(page))
		f.early = map[uint32][]stretch{s: {{0, 200, []float64{10, 30, 60, 70, 90, 110, 140, 160, 190}}}}
		f.polled[s] = 200 + later
		est := must(f.Rate(page))
		width[i] = est.High / est.Low
	}
	t.Log(width)
	require.Greater(t, width[1], 2*width[0])
}

// What is told before there is a time scale is kept in order, so that it can be saved: also after word that a
// page is known as of a time, and nothing else.
func TestEarlyHistoriesInOrder(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(2, RateFilterConfig{}))
	require.NoError(t, f.RecordChanges(0, math.Inf(-1), 5, nil))
	require.NoError(t, f.RecordChanges(0, 0, 10, []float64{1, 6}))
	require.Equal(t, []stretch{{5, 5, nil}, {5, 10, []float64{6}}}, f.early[0])
	require.NoError(t, new(RateFilter).UnmarshalBinary(must(f.MarshalBinary())))
}

// What is recorded before the first poll, of many pages at many times, counts as of that: the pages wait
// in one order with the others, and a filter that is restored goes on bit for bit.
func TestRecordsBeforeTheFirstPoll(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 400} {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		for p := range 50 {
			require.NoError(t, f.Record(p, float64(p)/100, p%2 == 0))
		}
		g := new(RateFilter)
		for k := range 3 * n {
			if k%20 == 0 {
				require.NoError(t, g.UnmarshalBinary(saved(t, f)), "after %d polls", k)
			}
			now := 0.505 + float64(k)
			page := must(f.Next(now))
			require.Equal(t, page, must(g.Next(now)))
			for _, f := range []*RateFilter{f, g} {
				require.NoError(t, f.Observe(page, now, k%3 == 0))
			}
		}
		require.Equal(t, saved(t, f), saved(t, g))
	}
}

// An answer may come with a time ahead of the polls that come next, also while there is no time scale and other
// polls are in flight: what is saved then can be restored, and goes on bit for bit.
func TestAnswerAheadOfTheTimeScale(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(150, RateFilterConfig{}))
	const firstPolls, step = 17, 1e-3
	first := must(f.Next(0))
	require.NoError(t, f.Observe(first, 1, false))
	for k := 1; k < firstPolls; k++ {
		must(f.Next(step * float64(k)))
	}
	g := new(RateFilter)
	for k := firstPolls; k < 100; k++ {
		require.NoError(t, g.UnmarshalBinary(saved(t, f)), "after %d polls", k)
		now := step * float64(k)
		page := must(f.Next(now))
		require.Equal(t, page, must(g.Next(now)))
		for _, f := range []*RateFilter{f, g} {
			require.NoError(t, f.Observe(page, now, k%3 == 0))
		}
		require.Equal(t, saved(t, f), saved(t, g))
	}
}

// A page whose changes were told before there was a time scale, and that is removed, leaves nothing that a
// saved state hasn't: what was restored goes on bit for bit.
func TestEarlyHistoryOfARemovedPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, n := range []int{5, 130, 500} {
		for _, o := range tried() {
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			require.NoError(t, f.RecordChanges(0, 0, 10, []float64{1, 2, 3}))
			require.NoError(t, f.Remove(0))
			g := new(RateFilter)
			require.NoError(t, g.UnmarshalBinary(saved(t, f)))
			for k := range 3 * n {
				now := 20 + float64(k)
				page := must(f.Next(now))
				require.Equal(t, page, must(g.Next(now)), "%v, poll %d of %d pages", o, k, n)
				for _, f := range []*RateFilter{f, g} {
					require.NoError(t, f.Observe(page, now, (k*k+page)%7 < 2))
				}
			}
			require.True(t, bytes.Equal(saved(t, f), saved(t, g)), "%v, %d pages", o, n)
		}
	}
}

// An answer at a time in another unit costs the other pages nothing, and its page is polled again as if the
// time had been right but for n/2 polls.
func TestAnswersInAnotherUnit(t *testing.T) {
	t.Parallel()
	const start, scale, page = 1.8e9, 1000, 3
	for name, tell := range map[string]func(f *RateFilter, now float64) error{
		"record":    func(f *RateFilter, now float64) error { return f.Record(page, scale*now, true) },
		"changes":   func(f *RateFilter, now float64) error { return f.RecordChanges(page, now, scale*now, nil) },
		"observe":   func(f *RateFilter, now float64) error { return f.Observe(page, scale*now, true) },
		"give back": func(f *RateFilter, now float64) error { return f.GiveBack(page, scale*now) },
	} {
		for _, n := range []int{5, 40, 130} {
			for _, o := range tried() {
				f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
				require.NoError(t, f.SetInterval(page, 60, math.Inf(1)))
				if name == "record" && n > 5 {
					require.NoError(t, tell(f, start), "there is no scale yet")
				}
				now := start
				poll := func() int {
					now += 60
					return must(f.Next(now))
				}
				for k := 0; k < 4*n || name != "record" && !f.inFlight(page); k++ {
					if asked := poll(); asked != page || k < 4*n {
						require.NoError(t, f.Observe(asked, now, asked%3 == 0))
					}
				}
				common, levels, census := f.common, f.levels, f.census
				require.NoError(t, tell(f, now))
				require.Equal(t, common, f.common, name)
				require.Equal(t, levels, f.levels, name)
				hedged, _ := census.Hedge.Rates()
				still, _ := f.census.Hedge.Rates() // what follows from them may be computed anew
				require.Equal(t, hedged, still, name)
				require.Equal(t, census.Calibration, f.census.Calibration, name)
				require.Equal(t, census.Waking, f.census.Waking, name)
				if f.inFlight(page) {
					require.NoError(t, f.Observe(page, now, false))
				}
				g := new(RateFilter)
				require.NoError(t, g.UnmarshalBinary(saved(t, f)))
				for range n/2 + 1 {
					asked := poll()
					require.Equal(t, asked, must(g.Next(now)))
					require.NoError(t, f.Observe(asked, now, asked%3 == 0))
					require.NoError(t, g.Observe(asked, now, asked%3 == 0))
				}
				require.LessOrEqual(t, f.last(page), now, "%s, %v, %d pages", name, o, n)
				require.Equal(t, saved(t, f), saved(t, g))
				require.NoError(t, g.Record(page, now, true))
				for k := 0; ; k++ {
					asked := poll()
					if asked == page {
						break
					}
					require.Less(t, k, 81*n, "%s, %v, %d pages", name, o, n)
					require.NoError(t, f.Observe(asked, now, asked%3 == 0))
				}
			}
		}
	}
}

// Pages that were given back in another unit before there was a scale are polled again, be it the only one.
func TestGivenBackInAnotherUnit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 20, 130} {
		f := must(NewRateFilter(n, RateFilterConfig{}))
		answered := map[int]bool{}
		for k := range 4 * n {
			now := 1e9 + float64(k)
			page, err := f.Next(now)
			switch {
			case err != nil:
				require.ErrorIs(t, err, ErrNoPage)
			case k < min(n, firstBlock):
				require.NoError(t, f.GiveBack(page, 1000*now))
			default:
				answered[page] = true
				require.NoError(t, f.Observe(page, now, k%3 == 0))
			}
		}
		require.Len(t, answered, n)
	}
}

// A filter that was left alone for long may be told what happened since before it is asked again.
func TestRecordsAfterAPause(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(10, RateFilterConfig{}))
	spin(t, f, 0, 100)
	const year = 1e7
	for page := range 10 {
		require.NoError(t, f.Record(page, year+float64(page), page%2 == 0))
	}
	spin(t, f, year+10, 1)
	for page := range 10 {
		require.GreaterOrEqual(t, f.last(uint32(page)), float64(year+page))
		require.Less(t, f.last(uint32(page)), float64(year+10+1))
	}
}
