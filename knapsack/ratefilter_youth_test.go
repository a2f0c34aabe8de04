package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// A page is young if it was added while the crawl ran, and nothing is told of it from before. A page that is moved
// takes its age along.
func TestWhichPagesAreYoung(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 20
	for o := range objectives {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
		require.Equal(t, n, f.Add())
		require.Nil(t, f.births, "before there is a time scale")
		young := func(f *RateFilter, page int) bool { return f.youth(uint32(Slot(page)), f.now, 1).young }
		spin(t, f, 0, 10*n)
		now := f.now
		for page := range n + 1 {
			require.False(t, young(f, page))
		}
		page, other := f.Add(), f.Add()
		require.True(t, young(f, page))
		require.Equal(t, now, f.birth(uint32(Slot(page))))
		require.NoError(t, f.RecordChanges(page, now-9, now, []float64{now - 7}))
		require.False(t, young(f, page), "it was there before")
		require.NoError(t, f.RecordChanges(other, math.Inf(-1), now+1, []float64{now + 0.5}))
		require.True(t, young(f, other))
		require.NoError(t, f.Remove(other))
		g := new(RateFilter)
		require.NoError(t, g.UnmarshalBinary(saved(t, f)))
		require.Equal(t, f.births, g.births)
		spin(t, g, int(now)+1, 10*n)
		other = g.Add()
		require.Greater(t, g.birth(uint32(Slot(other))), now)
		spin(t, g, int(g.now)+1, 300*n) // more than 128 cycles of its own
		require.False(t, young(g, other))

		k := keyed(must(NewRateFilter(0, RateFilterConfig{Objective: o})), n)
		spinKeyed(t, k)
		require.True(t, k.Add("new"))
		require.NoError(t, k.Import("moved", must(k.Export("new"))))
		require.NoError(t, With(k, func(f *RateFilter, page func(string) (int, error)) error {
			require.True(t, young(f, must(page("moved"))))
			require.Equal(t, f.birth(uint32(Slot(must(page("new"))))), f.birth(uint32(Slot(must(page("moved"))))))
			return nil
		}))
		require.NoError(t, k.Import("new", must(k.Export(url(0)))))
		require.NoError(t, With(k, func(f *RateFilter, page func(string) (int, error)) error {
			require.False(t, young(f, must(page("new"))), "it is not the one that was added")
			return nil
		}))
	}
}

// The index of a young page is that of one whose time counts as many times as much as is learnt of its age, and whose
// rate is as many times as great from then on; a page that changes less and less is worth more.
func TestIndexOfYoungPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for o := range objectives {
		f := must(NewRateFilter(50, RateFilterConfig{Objective: o}))
		f.without = ablation.Calibration | ablation.Waking | ablation.Lately | ablation.Untouched | ablation.Sequel
		spin(t, f, 0, 50*40)
		fresh, view := f.model.Fresh(), belief.View{}
		f.model.See(&view, &fresh, belief.Level())
		gap := 0.3 * f.model.Cycle()
		p := past{youth: youth{young: true, mean: 6, at: 2}}
		got, _ := f.mean(&view, gap, gap, p)
		want, _ := f.model.Value(&view, gap, 3*gap, 2, 0, 0)
		switch o {
		case Detections:
			want, _ = f.model.Value(&view, gap, 6*gap, 1, 0, 0)
			require.InEpsilon(t, want, got, 1e-9)
			require.InEpsilon(t, got+float64((1-got)*math.Log1p(-got)/3), f.slope(got, p.youth), 1e-6)
			p.at = 60 // it changes more and more
			require.Equal(t, f.model.Slope(got), f.slope(got, p.youth))
		case Delay:
			want, _ = f.model.Value(&view, gap, 3*gap, 2, f.bursts(false), 0)
			fallthrough
		default:
			require.InEpsilon(t, want, got, 1e-9)
			require.Equal(t, got, f.slope(got, p.youth))
		}
		plain, _ := f.mean(&view, gap, gap, past{})
		p.mean, p.at = 1, 1
		got, _ = f.mean(&view, gap, gap, p)
		require.InEpsilon(t, plain, got, 1e-9)
	}
}

// A poll of a young page is judged by what was expected at its age, and teaches nothing of the others.
func TestWhatIsLearntOfYoungPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range []Objective{Freshness, Detections, Delay} {
		f := must(NewRateFilter(50, RateFilterConfig{Objective: o}))
		spin(t, f, 0, 50*40)
		page := f.Add()
		slot, now := uint32(Slot(page)), f.now
		gap := f.model.Cycle() / 10
		untouched, calibration := f.census.Untouched, f.census.Calibration
		before := f.youth(slot, now, gap).mean
		for k := range 400 { // of pages of the same age
			require.NoError(t, f.Record(page, now+gap, k%2 == 0))
			f.polled[slot], f.beliefs[slot] = now, f.model.Fresh()
			f.touched.set(slot, false)
		}
		require.Equal(t, untouched, f.census.Untouched)
		require.Equal(t, calibration, f.census.Calibration)
		require.NotEqual(t, before, f.youth(slot, now, gap).mean)
		y := f.youth(slot, now, gap)
		chance, _ := f.mean(viewOf(f, slot), gap, gap, past{youth: y})
		if o == Detections {
			require.InDelta(t, 0.5, chance, 0.2)
		}
	}
}

func viewOf(f *RateFilter, slot uint32) *belief.View {
	var t tempo
	t.tell(f, slot)
	return &t.view
}

// comingWeb is a web of which pages are added while it is crawled: the changes of one that is new.
type comingWeb struct {
	name    string
	changes func(rng *rand.Rand, born float64) []float64
}

// comingDays and the others describe comingWebs: of 500 pages there are so many days, to which so many come each day.
const comingDays, comingOld, comingEach = 60, 500, 50

func comingWebs() []comingWeb {
	during := func(rng *rand.Rand, from, rate float64) (times []float64) {
		for t := from + rng.ExpFloat64()/rate; t < comingDays; t += rng.ExpFloat64() / rate {
			times = append(times, t)
		}
		return times
	}
	written := func(rng *rand.Rand, born, mean, days float64) (times []float64) {
		for t := rng.ExpFloat64(); t < mean; t += rng.ExpFloat64() {
			times = append(times, born+rng.ExpFloat64()*days)
		}
		return times
	}
	return []comingWeb{
		{"articles: 3 changes in half a day", func(rng *rand.Rand, born float64) []float64 {
			return append(written(rng, born, 3, 0.5), during(rng, born, 0.005)...)
		}},
		{"rates last", func(rng *rand.Rand, born float64) []float64 {
			return during(rng, born, 0.1*math.Exp(1.2*rng.NormFloat64()))
		}},
		{"half are articles, half were found late", func(rng *rand.Rand, born float64) []float64 {
			times := during(rng, born, 0.02)
			if rng.IntN(2) == 0 {
				times = append(times, written(rng, born, 6, 0.5)...)
			}
			return times
		}},
		{"rates fall with the age", func(rng *rand.Rand, born float64) (times []float64) {
			much := 0.8 * math.Exp(0.8*rng.NormFloat64())
			for log := math.Log(0.1) + rng.ExpFloat64()/much; math.Exp(log) < comingDays; log += rng.ExpFloat64() / much {
				times = append(times, born+math.Exp(log)-0.1)
			}
			return times
		}},
		{"a change after 5 to 15 days", func(rng *rand.Rand, born float64) []float64 {
			return append(during(rng, born, 0.02), born+5+10*rng.Float64())
		}},
		{"new pages are quieter", func(rng *rand.Rand, born float64) []float64 {
			return during(rng, born, 0.01*math.Exp(1.2*rng.NormFloat64()))
		}},
	}
}

// crawlComing returns what a filter achieves at so many polls a day: changes found, or over what copies were stale or the
// mean delay.
func crawlComing(w comingWeb, seed uint64, o Objective, perDay float64, without ablation.Parts) float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	f := must(NewRateFilter(comingOld, RateFilterConfig{Objective: o}))
	f.without = without
	var left [][]float64 // by page: changes to come
	add := func(born float64, times []float64) {
		slices.Sort(times)
		left = append(left, slices.DeleteFunc(times, func(t float64) bool { return t <= born || t >= comingDays }))
	}
	for range comingOld {
		var times []float64
		for t := rng.ExpFloat64() / 0.02; t < comingDays; t += rng.ExpFloat64() / 0.02 {
			times = append(times, t)
		}
		add(0, times)
	}
	found, stale, delay := 0.0, 0.0, 0.0
	changes := 0
	pass := func(page int, now float64) (changed bool) {
		for len(left[page]) > 0 && left[page][0] <= now {
			if !changed {
				stale += now - left[page][0]
			}
			changed = true
			delay += now - left[page][0]
			changes++
			left[page] = left[page][1:]
		}
		return changed
	}
	for k := 1; float64(k) < perDay*comingDays; k++ {
		now := float64(k) / perDay
		for float64(len(left)-comingOld) < now*comingEach {
			add(now, w.changes(rng, now))
			f.Add()
		}
		page := must(f.Next(now))
		changed := pass(page, now)
		if changed {
			found++
		}
		if err := f.Observe(page, now, changed); err != nil {
			panic(err)
		}
	}
	for page := range left {
		pass(page, comingDays)
	}
	switch o {
	case Detections:
		return found
	case Delay:
		return float64(changes) / delay
	default:
		return 1 / stale
	}
}

// Where new pages change as others do not, that is learnt by their age, and where they do not, next to nothing is lost.
//
//	go test ./knapsack -v -run TestYoungPages -exact
func TestYoungPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	kinds, budgets, seeds := comingWebs()[:2], []float64{200}, uint64(3)
	if *exact {
		kinds, budgets, seeds = comingWebs(), []float64{50, 200, 800}, 6
	}
	for _, o := range []Objective{Detections, Freshness, Delay} {
		for i, w := range kinds {
			for _, perDay := range budgets {
				sum, squares := 0.0, 0.0
				for seed := range seeds {
					ratio := math.Log(crawlComing(w, seed, o, perDay, 0) / crawlComing(w, seed, o, perDay, ablation.Youth))
					sum += ratio
					squares += ratio * ratio
				}
				mean := sum / float64(seeds)
				sd := math.Sqrt((squares/float64(seeds) - mean*mean) / float64(seeds-1))
				t.Logf("%v, %s, %v polls a day: %.3f ± %.3f", o, w.name, perDay, math.Exp(mean), sd)
				if perDay == 200 && i == 0 {
					require.Greater(t, mean-4*sd, 0.15)
				}
				if perDay == 200 && i == 1 {
					require.Greater(t, mean+4*sd, -0.03)
					require.Greater(t, mean, -0.06)
				}
			}
		}
	}
}

// What young pages need beside the others is looked up without allocation.
func TestYoungPagesAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range []Objective{Freshness, Detections, Delay} {
		f := must(NewRateFilter(300, RateFilterConfig{Objective: o}))
		spin(t, f, 0, 3000)
		for range 300 {
			f.Add()
		}
		now := 3000.0
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			now++
			if page, err := f.Next(now); err != nil || f.Observe(page, now, page%3 == 0) != nil {
				t.Error(page, err)
			}
		}))
	}
}

// The age is that of the beginning of the gap, also where that is after the last answer; a page of another unit has none;
// a young page is not like those of which nothing is known; and the intervals follow the cycle.
func TestAgesOfYoungPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 50
	f := must(NewRateFilter(n, RateFilterConfig{}))
	spin(t, f, 0, 50*n)
	page := f.Add()
	slot, born, cycle := uint32(Slot(page)), f.now, f.model.Cycle()
	times := func(age float64) float64 {
		mean, _ := f.census.Youth.Times(age*cycle, age*cycle*1.01, false)
		return mean
	}
	for range 300 {
		from := born + 8*cycle
		require.NoError(t, f.RecordChanges(page, from, from+cycle/4, []float64{from + cycle/8}))
		f.polled[slot], f.beliefs[slot] = born, f.model.Fresh()
		f.touched.set(slot, false)
	}
	require.Greater(t, times(8.1), 5*times(0.1), "the further away an age is, the less is learnt of it")
	require.Greater(t, times(8.1), 2*times(40))

	for now := f.now; f.now < now+float64(n)*40; {
		next := f.now + 1.0/16
		page := must(f.Next(next))
		require.NoError(t, f.Observe(page, next, false))
	}
	require.Less(t, f.model.Cycle(), cycle/8)
	require.True(t, f.census.Youth.Young(60*f.model.Cycle()))
	require.False(t, f.census.Youth.Young(300*f.model.Cycle()), "as it is now")

	f.polled[slot], f.births[slot] = 1e18, 1e18
	f.retrieve(slot)
	require.False(t, f.youth(slot, f.now, 1).young)

	g := must(NewRateFilter(500, RateFilterConfig{}))
	spin(t, g, 0, 20)
	slot = uint32(Slot(g.Add()))
	g.polled[slot] = g.meter.Start() // as if it had been added at the first Next, after an Import
	require.True(t, g.youth(slot, g.now, 1).young)
	require.False(t, g.alike(slot))
	g.births[slot] = math.Inf(-1)
	require.True(t, g.alike(slot))
}
