package knapsack

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// learners lists every Learner of the package, for the tests of the contract. make returns a new
// one of n pages; zero returns one to restore into.
var learners = []struct {
	name string
	make func(n int, seed uint64) Learner
	zero func() Learner
}{
	{"fixed-even", func(n int, seed uint64) Learner {
		return must(NewFixed(spread(n, seed), Even, nil))
	}, func() Learner { return new(Fixed) }},
	{"fixed-random", func(n int, seed uint64) Learner {
		return must(NewFixed(spread(n, seed), Random, rand.NewPCG(seed, 1)))
	}, func() Learner { return new(Fixed) }},
	{"lakg", func(n int, seed uint64) Learner {
		return must(NewLAKG(n, LAKGConfig{States: 5}, rand.NewPCG(seed, 1)))
	}, func() Learner { return new(LAKG) }},
	{"lakg-even", func(n int, seed uint64) Learner {
		return must(NewLAKG(n, LAKGConfig{States: 40, Spacing: Even, Start: 0.5}, rand.NewChaCha8([32]byte{byte(seed)})))
	}, func() Learner { return new(LAKG) }},
	{"vlakg", func(n int, seed uint64) Learner {
		return must(NewVLAKG(n, VLAKGConfig{Spacing: Random}, rand.NewPCG(seed, 1)))
	}, func() Learner { return new(VLAKG) }},
	{"vlakg-even", func(n int, _ uint64) Learner {
		return must(NewVLAKG(n, VLAKGConfig{Step: 0.5}, nil))
	}, func() Learner { return new(VLAKG) }},
	{"adaptive", func(n int, _ uint64) Learner {
		return must(NewAdaptive(n, stormCrawler(5)))
	}, func() Learner { return new(Adaptive) }},
	{"h-traa", func(n int, seed uint64) Learner {
		return must(NewHTRAA(n, HTRAAConfig{States: 9}, rand.NewPCG(seed, 1)))
	}, func() Learner { return new(HTRAA) }},
	{"h-traa-random", func(n int, seed uint64) Learner {
		return must(NewHTRAA(n, HTRAAConfig{Spacing: Random}, rand.NewPCG(seed, 1)))
	}, func() Learner { return new(HTRAA) }},
	{"mle", planner(PlannerConfig{Objective: Freshness}), zeroPlanner},
	{"gamma", planner(PlannerConfig{Objective: Detections, Method: Gamma}), zeroPlanner},
	{"cho", planner(PlannerConfig{Method: ChoGarciaMolina, Objective: Age, Floor: 0.5}), zeroPlanner},
	{"avrachenkov", planner(PlannerConfig{Objective: Detections, Method: Avrachenkov, Spacing: Random}), zeroPlanner},
	{"lambda-crawl", func(n int, seed uint64) Learner {
		return must(NewPlanner(n, PlannerConfig{Budget: 1, Objective: Harmonic, Spacing: Random}, rand.NewPCG(seed, 1)))
	}, zeroPlanner},
	{"estimate-first", func(n int, seed uint64) Learner {
		return must(NewEstimateFirst(n, EstimateFirstConfig{Phase: 5, Spacing: Random}, rand.NewPCG(seed, 1)))
	}, func() Learner { return new(EstimateFirst) }},
	{"estimate-first-even", func(n int, _ uint64) Learner {
		return must(NewEstimateFirst(n, EstimateFirstConfig{Phase: 30}, nil))
	}, func() Learner { return new(EstimateFirst) }},
}

func planner(cfg PlannerConfig) func(n int, seed uint64) Learner {
	cfg.Budget = 1
	return func(n int, seed uint64) Learner { return must(NewPlanner(n, cfg, rand.NewPCG(seed, 1))) }
}

// stormCrawler is the rule of StormCrawler with the hour as the unit of time.
func stormCrawler(start float64) AdaptiveConfig {
	cfg := StormCrawler(1.0 / 3600)
	cfg.Start = start
	return cfg
}

func zeroPlanner() Learner { return new(Planner) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// spread returns frequencies over several orders of magnitude.
func spread(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(2 * rng.NormFloat64())
	}
	return x
}

func saved(t require.TestingT, l encoding.BinaryMarshaler) []byte {
	b, err := l.MarshalBinary()
	require.NoError(t, err)
	return b
}

// contract is the ask-and-tell contract as a state machine: any order of asks, answers, lost
// answers, additions, removals and restores. A twin that is never saved must do the same as the
// learner that is restored again and again; calls that are refused must change nothing.
func contract(make func(n int, seed uint64) Learner, zero func() Learner) func(*rapid.T) {
	return func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		seed := rapid.Uint64Range(0, 100).Draw(t, "seed")
		l, twin := make(n, seed), make(n, seed)
		now, clock := 100.0, math.Inf(-1)
		pages := map[int]bool{}
		asked := map[int]float64{}
		var gone []int
		for i := range n {
			pages[i] = true
		}
		// rapid wants draws in a fixed order, so that maps are drawn from by id.
		anyOf := func(t *rapid.T, ids func(int) bool, label string) (int, bool) {
			var list []int
			for id := range 1 << 12 {
				slot, gen := id&63, id>>6
				if p := gen<<32 | slot; ids(p) {
					list = append(list, p)
				}
			}
			if len(list) == 0 {
				return 0, false
			}
			return rapid.SampledFrom(list).Draw(t, label), true
		}
		refused := func(t *rapid.T, want error, f func(Learner) error) {
			before := saved(t, l)
			require.ErrorIs(t, f(l), want)
			require.True(t, bytes.Equal(before, saved(t, l)), "a refused call changed the state")
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				require.Equal(t, len(pages), l.Len())
				all := slices.Collect(l.All())
				require.Len(t, all, len(pages))
				for i, page := range all {
					require.True(t, pages[page], "page %d does not exist", page)
					require.True(t, i == 0 || Slot(all[i-1]) < Slot(page), "the slots do not rise")
				}
			},
			"next": func(t *rapid.T) {
				// Mostly small steps, equal times often, and once in a while an age.
				now += rapid.SampledFrom([]float64{0, 0, 0.25, 0.25, 1, 1, 7, 7, 1e9, 1e100}).Draw(t, "dt")
				before := saved(t, l)
				page, err := l.Next(now)
				other, err2 := twin.Next(now)
				require.Equal(t, other, page)
				require.Equal(t, err2, err)
				if err != nil {
					require.ErrorIs(t, err, ErrNoPage)
					require.True(t, bytes.Equal(before, saved(t, l)), "ErrNoPage changed the state")
					refused(t, ErrNoPage, func(l Learner) error { _, err := l.Next(now); return err })
					return
				}
				clock = now
				require.True(t, pages[page], "page %d does not exist", page)
				require.NotContains(t, asked, page, "page %d is in flight", page)
				asked[page] = now
			},
			"answer": func(t *rapid.T) {
				page, ok := anyOf(t, func(p int) bool { _, ok := asked[p]; return ok }, "page")
				if !ok {
					return
				}
				at := asked[page] + rapid.SampledFrom([]float64{0, 0.5, 3, 1e6, 1e100}).Draw(t, "latency")
				changed := rapid.Bool().Draw(t, "changed")
				if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
					require.NoError(t, l.GiveBack(page, at))
					require.NoError(t, twin.GiveBack(page, at))
				} else {
					require.NoError(t, l.Observe(page, at, changed))
					require.NoError(t, twin.Observe(page, at, changed))
				}
				delete(asked, page)
			},
			"add": func(t *rapid.T) {
				if len(pages) > 8 {
					return
				}
				page := l.Add()
				require.Equal(t, twin.Add(), page)
				require.False(t, pages[page])
				require.NotContains(t, gone, page, "an id was given out twice")
				pages[page] = true
				if f, ok := l.(*Fixed); ok {
					require.NoError(t, f.SetFrequency(page, 0.7))
					require.NoError(t, twin.(*Fixed).SetFrequency(page, 0.7))
				}
			},
			"remove": func(t *rapid.T) {
				page, ok := anyOf(t, func(p int) bool { return pages[p] }, "page")
				if !ok {
					return
				}
				require.NoError(t, l.Remove(page))
				require.NoError(t, twin.Remove(page))
				delete(pages, page)
				delete(asked, page)
				gone = append(gone, page)
			},
			"save": func(t *rapid.T) {
				b := saved(t, l)
				restored := zero()
				require.NoError(t, restored.UnmarshalBinary(b))
				require.True(t, bytes.Equal(b, saved(t, restored)), "restored and saved again differs")
				l = restored
			},
			"misuse": func(t *rapid.T) {
				if len(gone) > 0 {
					page := rapid.SampledFrom(gone).Draw(t, "gone")
					refused(t, ErrUnknown, func(l Learner) error { return l.Observe(page, now, true) })
					refused(t, ErrUnknown, func(l Learner) error { return l.GiveBack(page, now) })
					refused(t, ErrUnknown, func(l Learner) error { return l.Remove(page) })
				}
				for _, page := range []int{-1, 1 << 20, math.MaxInt, math.MinInt} {
					refused(t, ErrUnknown, func(l Learner) error { return l.Observe(page, now, true) })
				}
				if page, ok := anyOf(t, func(p int) bool { _, ok := asked[p]; return pages[p] && !ok }, "idle"); ok {
					refused(t, ErrNotAsked, func(l Learner) error { return l.Observe(page, now, true) })
					refused(t, ErrNotAsked, func(l Learner) error { return l.GiveBack(page, now) })
				}
				if page, ok := anyOf(t, func(p int) bool { _, ok := asked[p]; return ok }, "asked"); ok {
					for _, at := range []float64{math.Nextafter(asked[page], 0), math.NaN(), math.Inf(1), 1e299} {
						refused(t, ErrTime, func(l Learner) error { return l.Observe(page, at, true) })
					}
				}
				for _, at := range []float64{math.Nextafter(clock, math.Inf(-1)), math.NaN(), math.Inf(1), math.Inf(-1), 1e299, -1e299} {
					refused(t, ErrTime, func(l Learner) error { _, err := l.Next(at); return err })
				}
			},
		})
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, c := range learners {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, contract(c.make, c.zero))
		})
	}
}

func FuzzContract(f *testing.F) {
	var all []func(*rapid.T)
	for _, c := range learners {
		all = append(all, contract(c.make, c.zero))
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { all[rapid.IntRange(0, len(all)-1).Draw(t, "learner")](t) }))
}

// spin polls k times with answers from a fixed pattern.
func spin(t testing.TB, l Scheduler, from, k int) (trace []int) {
	for i := range k {
		now := float64(from + i)
		page, err := l.Next(now)
		require.NoError(t, err)
		require.NoError(t, l.Observe(page, now, (page+i)%3 == 0))
		trace = append(trace, page)
	}
	return trace
}

func TestNoPages(t *testing.T) {
	t.Parallel()
	for _, c := range learners {
		l := c.make(0, 1)
		_, err := l.Next(1)
		require.ErrorIs(t, err, ErrNoPage, c.name)
		page := l.Add()
		if f, ok := l.(*Fixed); ok {
			require.NoError(t, f.SetFrequency(page, 1))
		}
		got, err := l.Next(2)
		require.NoError(t, err, c.name)
		require.Equal(t, page, got)
		_, err = l.Next(3)
		require.ErrorIs(t, err, ErrNoPage, "the only page is in flight")
	}
}

// tried are the objectives that tests which take long try: two where tests are to be short.
func tried() (all []Objective) {
	if testing.Short() {
		return []Objective{Freshness, Detections}
	}
	for o := range objectives {
		all = append(all, o)
	}
	return all
}

// A slot is given out 32,768 times.
func TestSlotsAreSmall(t *testing.T) {
	t.Parallel()
	l := must(NewFixed([]float64{1}, Even, nil))
	const removals = 100_000
	for range removals {
		page := l.Add()
		require.LessOrEqual(t, Slot(page), 1+removals/32_768)
		require.NoError(t, l.Remove(page))
	}
	require.Greater(t, Slot(l.Add()), 1, "the documentation promises too little")
}

// A poll allocates nothing once a learner has settled.
func TestPollsDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, c := range learners {
		l := c.make(200, 1)
		spin(t, l, 0, 5000)
		now := 5000.0
		require.Zero(t, testing.AllocsPerRun(2000, func() {
			now++
			page, err := l.Next(now)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Observe(page, now, page%3 == 0); err != nil {
				t.Fatal(err)
			}
		}), c.name)
	}
}

func TestMisusePanics(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "knapsack: nil source of randomness", func() { _, _ = NewLAKG(1, LAKGConfig{}, nil) })
	require.PanicsWithValue(t, "knapsack: nil source of randomness", func() { _, _ = NewFixed([]float64{1}, Random, nil) })
	for _, second := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for _, rule := range []func(float64) AdaptiveConfig{Nutch, StormCrawler, NewsCrawl} {
			require.PanicsWithValue(t, fmt.Sprintf("knapsack: a second of %v", second), func() { rule(second) })
		}
	}
}

func TestNumbersOfPagesAreChecked(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 1)
	for _, n := range []int{-1, math.MinInt, mostPages + 1, math.MaxInt} {
		for name, err := range map[string]error{
			"RateFilter":    second(NewRateFilter(n, RateFilterConfig{})),
			"LAKG":          second(NewLAKG(n, LAKGConfig{}, src)),
			"VLAKG":         second(NewVLAKG(n, VLAKGConfig{}, src)),
			"HTRAA":         second(NewHTRAA(n, HTRAAConfig{}, src)),
			"Planner":       second(NewPlanner(n, PlannerConfig{}, src)),
			"Adaptive":      second(NewAdaptive(n, AdaptiveConfig{})),
			"EstimateFirst": second(NewEstimateFirst(n, EstimateFirstConfig{}, src)),
		} {
			require.ErrorIs(t, err, ErrConfig, "%s of %d pages", name, n)
			require.ErrorContains(t, err, strconv.Itoa(n), name)
		}
	}
}

// Zero values may be loaded into; whatever else they are used for panics with a message, or is an
// error.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	const message = "knapsack: a learner that is a zero value: make it with its New function, or load a saved one"
	for _, c := range learners {
		require.PanicsWithValue(t, message, func() { _, _ = c.zero().Next(1) }, c.name)
		require.PanicsWithValue(t, message, func() { c.zero().Add() }, c.name)
		require.PanicsWithValue(t, message, func() { _, _ = c.zero().MarshalBinary() }, c.name)
		require.ErrorIs(t, c.zero().Observe(0, 1, true), ErrUnknown, c.name)
		require.ErrorIs(t, c.zero().GiveBack(0, 1), ErrUnknown, c.name)
		require.ErrorIs(t, c.zero().Remove(0), ErrUnknown, c.name)
		require.Zero(t, c.zero().Len())
		require.Empty(t, slices.Collect(c.zero().All()))
		require.ErrorIs(t, c.zero().UnmarshalBinary(nil), ErrCorrupt)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 1)
	nan := math.NaN()
	for _, cfg := range []LAKGConfig{
		{States: -1}, {States: 1 << 16}, {Lambda: nan}, {Lambda: -1}, {Lambda: math.Inf(1)},
		{Capacity: -1}, {Capacity: nan}, {Start: 1.5}, {Start: nan}, {Spacing: 9},
	} {
		_, err := NewLAKG(3, cfg, src)
		require.ErrorIs(t, err, ErrConfig, "%+v", cfg)
	}
	for _, cfg := range []AdaptiveConfig{
		{Shrink: 1}, {Shrink: nan}, {Grow: nan}, {Grow: math.Inf(1)}, {Floor: -1}, {Floor: nan}, {Floor: math.Inf(1)},
		{Start: -1}, {Start: nan}, {Start: math.Inf(1)}, {Min: 2, Max: 1}, {Min: -1}, {Min: nan}, {Max: math.Inf(1)}, {Max: -1}, {Max: nan},
	} {
		_, err := NewAdaptive(3, cfg)
		require.ErrorIs(t, err, ErrConfig, "%+v", cfg)
	}
	for _, cfg := range []EstimateFirstConfig{{Phase: -1}, {Spacing: 9}, {Slot: math.NaN()}, {Slot: math.Inf(1)}} {
		_, err := NewEstimateFirst(3, cfg, nil)
		require.ErrorIs(t, err, ErrConfig, "%+v", cfg)
	}
	_, err := NewFixed([]float64{1, nan}, Even, nil)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "page 1: frequency NaN")
	_, err = NewFixed(nil, Spacing(7), nil)
	require.ErrorIs(t, err, ErrConfig)
	f := must(NewFixed([]float64{1}, Even, nil))
	require.ErrorIs(t, f.SetFrequency(0, -1), ErrConfig)
	require.ErrorIs(t, f.SetFrequency(1, 1), ErrUnknown)
	_, err = f.Frequency(4)
	require.ErrorIs(t, err, ErrUnknown)
}

func TestSourcesThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	l := must(NewLAKG(3, LAKGConfig{}, rand.New(rand.NewPCG(1, 1))))
	_, err := l.MarshalBinary()
	require.ErrorContains(t, err, "use *rand.PCG or *rand.ChaCha8")
}
