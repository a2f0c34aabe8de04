package knapsack

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/budget"
	"github.com/recrawl/recrawl/knapsack/internal/census"
	"github.com/recrawl/recrawl/knapsack/internal/factor"
)

func rateFilter(o Objective) func(n int, seed uint64) Learner {
	return func(n int, _ uint64) Learner { return must(NewRateFilter(n, RateFilterConfig{Objective: o})) }
}

func zeroRateFilter() Learner { return new(RateFilter) }

func init() {
	for o := range objectives {
		learners = append(learners, struct {
			name string
			make func(n int, seed uint64) Learner
			zero func() Learner
		}{"rate-filter-" + o.String(), rateFilter(o), zeroRateFilter})
	}
}

// drawFilter returns a filter whose pages have all kinds of beliefs.
func drawFilter(t *rapid.T, n int, o Objective) *RateFilter {
	f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	scale := math.Exp(rapid.Float64Range(-12, 12).Draw(t, "log scale"))
	for k := range 40 * n {
		now := scale * float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, rng.IntN(n) < page%n))
	}
	return f
}

// What a poll teaches counts under Detections the less the surer a change is: with the square root of the
// chance that there is none. Under other objectives it counts alike.
func TestLearningCountsLessWhereSure(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		f := must(NewRateFilter(10, RateFilterConfig{Objective: o}))
		f.without = ablation.Calibration | ablation.Waking | ablation.Untouched | ablation.Lately
		for k := range 30 {
			page := must(f.Next(float64(k)))
			require.NoError(t, f.Observe(page, float64(k), k%3 == 0))
		}
		fresh, view := f.model.Fresh(), belief.View{}
		f.model.See(&view, &fresh, belief.Level())
		counted := func(gap float64) (part, mean float64) {
			gap *= f.model.Cycle()
			mean, spread := f.model.Value(&view, gap, gap, 1, 0, 0)
			value, _ := f.value(&view, gap, gap, past{})
			return (value - mean) / spread, mean
		}
		if o == Delay { // there is no spread
			continue
		}
		most, _ := counted(1e-9)
		require.Positive(t, most)
		for _, gap := range []float64{0.01, 0.1, 1, 10, 100} {
			part, mean := counted(gap)
			if o != Detections {
				require.InEpsilon(t, most, part, 1e-3)
				continue
			}
			require.InEpsilon(t, most*math.Sqrt(1-mean), part, 1e-3, "after %v cycles", gap)
		}
	}
}

// Growth and a random walk, whose share goes with the root of time, make up for the whole together, in
// any unit and however far apart they are.
func TestWandered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		grows := math.Exp(rapid.Float64Range(-650, 650).Draw(t, "log growth"))
		drifts := grows * math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log ratio"))
		at := wandered(grows, drifts)
		require.InDelta(t, 1, at/grows+math.Sqrt(at/drifts), 1e-9)
	})
	require.Zero(t, wandered(0, 1))
	require.Zero(t, wandered(1e-300, 0))
}

// A page's due time is where its index reaches the threshold.
func TestCrossing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t, 6, Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective")))
		f.threshold *= math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log factor"))
		for slot := range uint32(6) {
			guess := f.model.Cycle() * math.Exp(rapid.Float64Range(-9, 9).Draw(t, "log guess"))
			gap := f.crossing(slot, guess, 1, f.threshold, dueSteps)
			longest := 2 * max(guess, patience*f.model.Cycle())
			require.LessOrEqual(t, gap, longest)
			switch at := f.index(slot, gap); {
			case gap >= longest*0.999:
				require.LessOrEqual(t, at, f.threshold*1.05)
			case gap > longest*1e-8:
				// An index that grows with the square of the gap, that of Delay, is off by twice
				// as much as the gap. Where it hardly grows, or falls because less is uncertain, any
				// gap will do; where it takes a step there may be none at which it is the
				// threshold, but one below and one above it nearby.
				before, after := f.index(slot, gap*0.8), f.index(slot, gap*1.25)
				if math.Abs(at/f.threshold-1) > 0.15 && after > 1.1*before && before < at && at < after {
					require.Less(t, before, f.threshold, "gap %v cycles", gap/f.model.Cycle())
					require.Greater(t, after, f.threshold, "gap %v cycles", gap/f.model.Cycle())
				}
			}
		}
	})
}

// Wherever the search for a crossing begins, it finds the same one if there is one only, in a few
// looks.
func TestCrossingByLeaps(t *testing.T) {
	t.Parallel()
	few, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom([]Objective{Freshness, Age, Harmonic, Delay}).Draw(t, "objective")
		f := drawFilter(t, 6, o)
		level := f.threshold * math.Exp(rapid.Float64Range(-2, 2).Draw(t, "log factor"))
		for slot := range uint32(6) {
			guess := f.model.Cycle() * math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log guess"))
			changes, below := 0, true
			var doubled float64
			for k := -24; k <= 5; k++ {
				gap := math.Ldexp(guess, k)
				if now := f.index(slot, gap) < level; now != below {
					changes, below, doubled = changes+1, now, gap
				}
			}
			if changes != 1 {
				continue
			}
			times := math.Exp2(rapid.Float64Range(-20, 20).Draw(t, "log times"))
			before := f.looks
			found := f.crossing(slot, guess, times, level, 1)
			if all++; f.looks-before <= 6 {
				few++
			}
			require.Equal(t, f.crossing(slot, guess, 1, level, 1), found, "times %v", times)
			require.Greater(t, found, doubled/2*0.9) // one step is off by some hundredths
			require.Less(t, found, doubled*1.1)
		}
	})
	t.Logf("%d of %d in 6 looks at most", few, all)
	require.GreaterOrEqual(t, few, all*3/4) // 90 to 95 % as a rule; cases of one draw are alike
}

// rateFilterMachine drives everything a rate filter has beyond the contract of
// all learners: limits, groups, signals, complete observations. A twin that is
// never saved does the same. Times go from 0 to 1e100, are equal, and far apart; answers come at once,
// late, twice and never. What may be polled is that of a model without any index. It is complex only
// in sum: each action is a short function, and all share the model.
func rateFilterMachine(t *rapid.T) {
	o := Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective"))
	n, few := rapid.IntRange(1, 12).Draw(t, "n"), 0
	if rapid.Bool().Draw(t, "many") { // so many that Next does not look at all, and that a sample tells of all
		n, few = 120+n, 32
	}
	f, twin := sampling(n, few, o), sampling(n, few, o)
	both := func(t *rapid.T, call func(f *RateFilter) error) {
		require.NoError(t, call(f))
		require.NoError(t, call(twin))
	}
	limits := []GroupConfig{{MinGap: 3}, {MaxShare: 0.3}, {MinGap: 1, MaxShare: 0.5}, {MaxInFlight: 1}, {MinGap: 1, MaxInFlight: 2}}
	ids := make([]int, len(limits)) // −1: removed
	for i, l := range limits {
		both(t, func(f *RateFilter) (err error) { ids[i], err = f.AddGroup(l); return err })
	}
	deferred := slices.Repeat([]float64{math.Inf(-1)}, n)                // pages
	deferredGroup := slices.Repeat([]float64{math.Inf(-1)}, len(limits)) // groups
	now := rapid.SampledFrom([]float64{0, 50, 1.7e9}).Draw(t, "start")
	failing := make([]bool, n)                        // given back and not answered since
	last := slices.Repeat([]float64{math.Inf(-1)}, n) // answers
	group := slices.Repeat([]int{-1}, n)
	shortest := make([]float64, n)
	polled := slices.Repeat([]float64{math.Inf(-1)}, len(limits)) // by group
	var asked []int
	page := rapid.IntRange(0, n-1)
	// unit is a time that can be told from now, which is up to 1e100.
	unit := func() float64 { return max(1, 1e-10*now) }
	pass := func(t *rapid.T) {
		step := rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(t, "dt")
		switch rapid.IntRange(0, 40).Draw(t, "far") {
		case 40:
			step = math.Pow(10, rapid.Float64Range(0, 100).Draw(t, "log10 dt"))
		case 1, 2, 3:
			step *= unit()
		}
		now = min(now+step, 1e100)
	}
	// forbidden is the reference of what Next must not poll, whatever the page is worth.
	forbidden := func(p int) bool {
		if slices.Contains(asked, p) || now < deferred[p] || now < last[p]+shortest[p] {
			return true
		}
		g := group[p]
		return g >= 0 && (now < polled[g]+limits[g].MinGap || now < deferredGroup[g] ||
			limits[g].MaxInFlight > 0 && flying(asked, group, g) >= limits[g].MaxInFlight)
	}
	t.Repeat(map[string]func(*rapid.T){
		"next": func(t *rapid.T) {
			for range rapid.IntRange(1, 30).Draw(t, "polls") {
				pass(t)
				p, err := f.Next(now)
				q, err2 := twin.Next(now)
				require.Equal(t, q, p)
				require.Equal(t, err2, err)
				if err != nil {
					require.ErrorIs(t, err, ErrNoPage)
					requireReady(t, f, now, err)
					for p := range n { // all others may be polled
						shared := group[p] >= 0 && limits[group[p]].MaxShare > 0
						require.True(t, forbidden(p) || failing[p] || shared, "page %d at %v", p, now)
					}
					continue
				}
				require.False(t, forbidden(p), "page %d at %v", p, now)
				if g := group[p]; g >= 0 {
					polled[g] = now
				}
				if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
					asked = append(asked, p)
					continue
				}
				last[p], failing[p] = now, false
				changed := rapid.Bool().Draw(t, "changed")
				both(t, func(f *RateFilter) error { return f.Observe(p, now, changed) })
			}
		},
		"answer": func(t *rapid.T) {
			if len(asked) == 0 {
				return
			}
			p := asked[0]
			asked = asked[1:]
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				both(t, func(f *RateFilter) error { return f.GiveBack(p, now) })
				failing[p] = true
				return
			case 1:
				both(t, func(f *RateFilter) error { return f.Observe(p, now, true) })
			default:
				from := f.last(uint32(p))
				var times []float64
				for k := range rapid.IntRange(0, 3).Draw(t, "changes") {
					if at := from + (now-from)*float64(k+1)/3; at > from && at <= now && (k == 0 || at > times[k-1]) {
						times = append(times, at)
					}
				}
				both(t, func(f *RateFilter) error { observeAll(t, f, p, now, times); return nil })
			}
			last[p], failing[p] = now, false
		},
		"record": func(t *rapid.T) {
			p, changed := page.Draw(t, "page"), rapid.Bool().Draw(t, "changed")
			both(t, func(f *RateFilter) error { return f.Record(p, now, changed) })
			last[p], failing[p] = now, false
		},
		"record changes": func(t *rapid.T) {
			p := page.Draw(t, "page")
			from := now - rapid.SampledFrom([]float64{0, 1, 40, 1e4, math.Inf(1)}).Draw(t, "ago")*unit()
			times := []float64{now - 300*unit(), now - 30*unit(), now - 3*unit(), now}[rapid.IntRange(0, 4).Draw(t, "first"):]
			both(t, func(f *RateFilter) error { return f.RecordChanges(p, from, now, times) })
			last[p], failing[p] = now, false
		},
		"weight": func(t *rapid.T) {
			p, w := page.Draw(t, "page"), rapid.SampledFrom([]float64{0, 0.1, 1, 7}).Draw(t, "weight")
			both(t, func(f *RateFilter) error { return f.SetWeight(p, w) })
		},
		"cost": func(t *rapid.T) {
			p, c := page.Draw(t, "page"), rapid.SampledFrom([]float64{0.1, 1, 7}).Draw(t, "cost")
			both(t, func(f *RateFilter) error { return f.SetCost(p, c) })
		},
		"interval": func(t *rapid.T) {
			p, short := page.Draw(t, "page"), rapid.SampledFrom([]float64{0, 1, 20}).Draw(t, "shortest")
			long := short + rapid.SampledFrom([]float64{1, 30, math.Inf(1)}).Draw(t, "more")
			both(t, func(f *RateFilter) error { return f.SetInterval(p, short, long) })
			shortest[p] = short
		},
		"group": func(t *rapid.T) {
			p, g := page.Draw(t, "page"), rapid.IntRange(-1, len(limits)-1).Draw(t, "group")
			id := -1
			if g >= 0 {
				id = ids[g]
			}
			both(t, func(f *RateFilter) error { return f.SetGroup(p, id) })
			group[p] = g
		},
		"limit group": func(t *rapid.T) {
			g := rapid.IntRange(0, len(limits)-1).Draw(t, "group")
			limits[g] = GroupConfig{rapid.SampledFrom([]float64{0, 1, 5}).Draw(t, "gap"),
				rapid.SampledFrom([]float64{0, 0.2, 1}).Draw(t, "share"), rapid.IntRange(0, 2).Draw(t, "flights")}
			both(t, func(f *RateFilter) error { return f.LimitGroup(ids[g], limits[g]) })
		},
		"remove group": func(t *rapid.T) {
			g := rapid.IntRange(0, len(limits)-1).Draw(t, "group")
			both(t, func(f *RateFilter) error { return f.RemoveGroup(ids[g]) })
			gone := ids[g]
			for p := range group {
				if group[p] == g {
					group[p] = -1
				}
			}
			both(t, func(f *RateFilter) (err error) { ids[g], err = f.AddGroup(limits[g]); return err })
			require.NotEqual(t, gone, ids[g])
			polled[g], deferredGroup[g] = math.Inf(-1), math.Inf(-1)
			require.ErrorIs(t, f.SetGroup(0, gone), ErrUnknown)
			require.ErrorIs(t, f.DeferGroup(gone, 1), ErrUnknown)
			require.ErrorIs(t, f.LimitGroup(gone, GroupConfig{}), ErrUnknown)
			require.ErrorIs(t, f.RemoveGroup(gone), ErrUnknown)
		},
		"defer": func(t *rapid.T) {
			until := now + rapid.SampledFrom([]float64{-1, 0, 2, 40, math.Inf(1)}).Draw(t, "for")*unit()
			if rapid.Bool().Draw(t, "one") {
				p := page.Draw(t, "page")
				both(t, func(f *RateFilter) error { return f.Defer(p, until) })
				deferred[p] = until
				return
			}
			g := rapid.IntRange(0, len(limits)-1).Draw(t, "group")
			both(t, func(f *RateFilter) error { return f.DeferGroup(ids[g], until) })
			deferredGroup[g] = until
		},
		"when": func(t *rapid.T) {
			for p := range n {
				due := must(f.Due(p))
				require.False(t, math.IsNaN(due))
				if !slices.Contains(asked, p) {
					require.GreaterOrEqual(t, due, deferred[p])
					require.GreaterOrEqual(t, due, f.now)
				}
				require.GreaterOrEqual(t, must(f.Index(p, now)), 0.0)
			}
		},
		"signal": func(t *rapid.T) {
			p := page.Draw(t, "page")
			if f.model.Known() && now-f.now > farAhead*f.model.Cycle() { // Next has given nothing for long
				require.ErrorIs(t, f.Signal(p, 0, now), ErrTime)
				return
			}
			both(t, func(f *RateFilter) error { return f.Signal(p, 0, now) })
		},
		"save": func(t *rapid.T) {
			b := saved(t, f)
			f = new(RateFilter)
			require.NoError(t, f.UnmarshalBinary(b))
			f.census.Few = few
			require.True(t, bytes.Equal(b, saved(t, f)))
		},
		"refused": func(t *rapid.T) {
			before := saved(t, f)
			p := page.Draw(t, "page")
			nan := math.NaN()
			require.ErrorIs(t, f.SetWeight(p, -1), ErrConfig)
			require.ErrorIs(t, f.SetWeight(p, nan), ErrConfig)
			require.ErrorIs(t, f.SetWeight(n, 1), ErrUnknown)
			for _, cost := range []float64{0, -1, nan, math.Inf(1), 1e101} {
				require.ErrorIs(t, f.SetCost(p, cost), ErrConfig)
			}
			require.ErrorIs(t, f.SetCost(n, 1), ErrUnknown)
			if !slices.Contains(asked, p) { // or answered already
				require.ErrorIs(t, f.Observe(p, now, true), ErrNotAsked)
				require.ErrorIs(t, f.GiveBack(p, now), ErrNotAsked)
			}
			_, err := f.Next(1e299)
			require.ErrorIs(t, err, ErrTime)
			require.ErrorIs(t, f.Record(p, 1e299, true), ErrTime)
			require.ErrorIs(t, f.Signal(p, 0, -1e299), ErrTime)
			require.ErrorIs(t, f.SetInterval(p, 2, 1), ErrConfig)
			require.ErrorIs(t, f.SetInterval(p, nan, 1), ErrConfig)
			require.ErrorIs(t, f.SetInterval(p, 0, nan), ErrConfig)
			require.ErrorIs(t, f.SetInterval(-1, 0, 1), ErrUnknown)
			require.ErrorIs(t, f.SetGroup(p, 1<<20), ErrUnknown)
			require.ErrorIs(t, f.SetGroup(p, -2), ErrUnknown)
			require.ErrorIs(t, f.Defer(p, nan), ErrTime)
			require.ErrorIs(t, f.Defer(n, now), ErrUnknown)
			require.ErrorIs(t, f.DeferGroup(ids[0], nan), ErrTime)
			require.ErrorIs(t, f.LimitGroup(ids[0], GroupConfig{MinGap: -1}), ErrConfig)
			_, err = f.Due(n)
			require.ErrorIs(t, err, ErrUnknown)
			_, err = f.Index(n, now)
			require.ErrorIs(t, err, ErrUnknown)
			_, err = f.Index(p, nan)
			require.ErrorIs(t, err, ErrTime)
			require.ErrorIs(t, f.SetGroup(n, 0), ErrUnknown)
			require.ErrorIs(t, f.Signal(p, 0, nan), ErrTime)
			require.ErrorIs(t, f.Signal(n, 0, 1), ErrUnknown)
			_, err = f.AddGroup(GroupConfig{MaxShare: 1.5})
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorIs(t, f.Record(n, now, true), ErrUnknown)
			require.ErrorIs(t, f.Record(p, nan, true), ErrTime)
			if at := f.last(uint32(p)); !math.IsInf(at, -1) {
				require.ErrorIs(t, f.Record(p, math.Nextafter(at, -1), true), ErrTime)
			}
			require.ErrorIs(t, f.RecordChanges(n, 0, now, nil), ErrUnknown)
			for _, times := range [][]float64{{now + unit()}, {now, math.Nextafter(now, math.Inf(-1))}, {nan}, {math.Inf(-1)}} {
				require.ErrorIs(t, f.RecordChanges(p, 0, now, times), ErrTime)
			}
			require.ErrorIs(t, f.RecordChanges(p, nan, now, nil), ErrTime)
			require.ErrorIs(t, f.RecordChanges(p, 0, nan, nil), ErrTime)
			require.ErrorIs(t, f.RecordChanges(p, now+unit(), now, nil), ErrTime)
			require.True(t, bytes.Equal(before, saved(t, f)), "a refused call changed the state")
		},
	})
}

// flying returns how many of the pages asked for are in a group.
func flying(asked, group []int, g int) (n int) {
	for _, p := range asked {
		if group[p] == g {
			n++
		}
	}
	return n
}

// requireReady checks what an error says about the time at which Next can succeed: not before, and
// then.
func requireReady(t require.TestingT, f *RateFilter, now float64, err error) {
	var none *NoPageError
	require.ErrorAs(t, err, &none)
	require.Greater(t, none.At, now)
	require.Equal(t, none.At, f.Ready())
	twin := func() *RateFilter {
		twin := new(RateFilter)
		require.NoError(t, twin.UnmarshalBinary(saved(t, f)))
		return twin
	}
	before := now + 1e6
	if !math.IsInf(none.At, 1) {
		before = min(now+0.999*(none.At-now), math.Nextafter(none.At, now))
		_, err := twin().Next(none.At)
		require.NoError(t, err, "after waiting for %v", none.At)
	}
	_, err = twin().Next(before)
	require.ErrorIs(t, err, ErrNoPage, "at %v and %v before %v", now, before, none.At)
}

func TestRateFilterMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, rateFilterMachine)
}

func FuzzRateFilter(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rateFilterMachine)) }

// Saved state that contradicts itself is refused even where its checksum is right.
func TestRateFilterRejectsContradictions(t *testing.T) {
	t.Parallel()
	good := func() *RateFilter {
		f := must(NewRateFilter(9, RateFilterConfig{Objective: Detections}))
		must(f.AddGroup(GroupConfig{MinGap: 1}))
		for p := range 3 {
			require.NoError(t, f.SetGroup(p, 0))
		}
		spin(t, f, 0, 0)
		for k := range 100 {
			if p, err := f.Next(float64(k)); err == nil && k < 98 {
				require.NoError(t, f.Observe(p, float64(k), p == 4))
			}
		}
		require.NoError(t, f.SetWeight(1, 2))
		require.NoError(t, f.SetInterval(1, 1, 200))
		require.NoError(t, f.Signal(1, 0, 200))
		require.NoError(t, f.SetCost(2, 3))
		require.NoError(t, f.Remove(8))
		return f
	}
	require.NoError(t, new(RateFilter).UnmarshalBinary(saved(t, good())))
	for name, spoil := range map[string]func(f *RateFilter){
		"objective": func(f *RateFilter) { f.objective = objectives },
		"meter":     func(f *RateFilter) { f.meter = budget.New(); f.meter.Poll(1e9, 1, 1) },
		"threshold": func(f *RateFilter) { f.threshold = -1 },
		"sweep":     func(f *RateFilter) { f.sweep = 99 },
		"polled":    func(f *RateFilter) { f.polled[2] = math.NaN() },
		"cycle":     func(f *RateFilter) { f.model.Rescale(math.Inf(1)) },
		"lost page": func(f *RateFilter) { f.queue.Take(2) },
		"flying":    func(f *RateFilter) { delete(f.asked, slices.Sorted(maps.Keys(f.asked))[0]) },
		"group":     func(f *RateFilter) { f.queue.AddGroup() },
		"weight":    func(f *RateFilter) { f.weights[0] = -1 },
		"weights":   func(f *RateFilter) { f.weights = f.weights[1:] },
		"cost":      func(f *RateFilter) { f.costs.Set(1, 0) },
		"no page":   func(f *RateFilter) { f.costs.Set(8, 1) },
		"credit":    func(f *RateFilter) { f.credit = -1 },
		"interval":  func(f *RateFilter) { f.limits.SetInterval(0, math.NaN(), 1, 9) },
		"loss":      func(f *RateFilter) { f.tally.loss = 1.5 },
		"census":    func(f *RateFilter) { f.census = census.Census{} },
		"factor":    func(f *RateFilter) { f.common = factor.Factor{}; f.common.Add(1, math.Inf(1), 1, 1, 1, 9) },
		"changed":   func(f *RateFilter) { f.changed = nil },
		"touched":   func(f *RateFilter) { f.touched = f.touched[:0] },
		"trail":     func(f *RateFilter) { f.trails[3] = 0xc1 },
		"no trail":  func(f *RateFilter) { f.trails[3] = 0x10 },
	} {
		f := good()
		spoil(f)
		require.ErrorIs(t, new(RateFilter).UnmarshalBinary(saved(t, f)), ErrCorrupt, name)
	}
}

func TestRateFilterSettings(t *testing.T) {
	t.Parallel()
	_, err := NewRateFilter(1, RateFilterConfig{Objective: 9})
	require.ErrorIs(t, err, ErrConfig)
}

// bytesPerPage counts everything that grows with the number of pages.
func (f *RateFilter) bytesPerPage() float64 {
	bytes := 8*cap(f.polled) + 8*cap(f.changed) + 8*cap(f.touched) + cap(f.trails) + 2*cap(f.rates) + cap(f.beliefs)*int(unsafe.Sizeof(belief.Packed{})) + f.queue.Bytes()
	return float64(bytes) / float64(len(f.polled))
}

// Where times differ much in size, now less the rounded time since the last answer can
// be after a change that came after that answer.
func TestRecordChangesRounding(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(1, RateFilterConfig{Objective: Detections}))
	for now := 0.0; now <= 70; now++ {
		require.NoError(t, f.Observe(must(f.Next(now)), now, false))
	}
	const now = 1e18 + 128 // now − 70 rounds to 1e18 + 0, and now less that is 128
	observeAll(t, f, must(f.Next(now)), now, []float64{100})
	rate, err := f.Rate(0)
	require.NoError(t, err)
	require.Positive(t, rate.Low)
	require.LessOrEqual(t, rate.Low, rate.High)
}

// Weights and shares as far apart as numbers go neither stop the filter nor leave it
// in a state that cannot be restored.
func TestRateFilterExtremeWeights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range tried() {
		for _, weights := range [][]float64{{math.MaxFloat64}, {5e-324}, {math.MaxFloat64, 5e-324, 1, 0}} {
			const n = 40
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			group := must(f.AddGroup(GroupConfig{MaxShare: 5e-324}))
			for page := range n {
				require.NoError(t, f.SetWeight(page, weights[page%len(weights)]))
			}
			require.NoError(t, f.SetGroup(0, group))
			require.NoError(t, f.SetGroup(1, group))
			rng := rand.New(rand.NewPCG(1, 2))
			for k := range 100 * n {
				now := float64(k)
				page := must(f.Next(now))
				require.NoError(t, f.Observe(page, now, rng.IntN(n) < page))
			}
			require.False(t, math.IsNaN(f.Price()))
			require.NoError(t, new(RateFilter).UnmarshalBinary(must(f.MarshalBinary())))
		}
	}
}

func TestRateFilterMemory(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 60, must(NewRateFilter(1000, RateFilterConfig{})).bytesPerPage())
	require.EqualValues(t, 63, must(NewRateFilter(1000, RateFilterConfig{Objective: Detections})).bytesPerPage())
}

// An interval may be set after every poll: what that leaves behind does not pile up.
func TestIntervalsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	const n = 5
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	for k := range 10_000 {
		now := float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, k%3 == 0))
		longest := []float64{1e6, 1e5, math.Inf(1)}[k%3]
		require.NoError(t, f.SetInterval(page, 0, longest))
	}
	require.LessOrEqual(t, f.queue.Deadlines(), n)
}
