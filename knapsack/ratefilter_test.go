package knapsack

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// A reference is the Bayes filter of a page in plain float64, hypothesis by
// hypothesis, with the transition matrix written out.
type reference struct {
	class, cell []int
	w           []float64
}

func newReference() *reference {
	r := new(reference)
	for class := range rateClasses {
		for cell := stride[class] / 2; cell < rateCells; cell += stride[class] {
			r.class, r.cell = append(r.class, class), append(r.cell, cell)
			r.w = append(r.w, float64(stride[class])/(rateClasses*rateCells))
		}
	}
	return r
}

// moved returns the weights a time gap later.
func (r *reference) moved(gap, cycle float64) []float64 {
	next := make([]float64, len(r.w))
	for i := range r.w {
		class := r.class[i]
		stay := math.Exp(-gap / (switching[class] * cycle))
		for j := range r.w {
			p := 0.0
			if r.class[j] == class {
				p = (1 - stay) * float64(stride[class]) / rateCells
			}
			if i == j {
				p += stay
			}
			next[i] += r.w[j] * p
		}
	}
	return next
}

// change is the probability of a change in the gap under a hypothesis.
func (r *reference) change(f *RateFilter, i int, gap float64) float64 {
	return -math.Expm1(-gap * math.Exp(rateStep*(f.slowestRate()+float64(r.cell[i]))))
}

func (r *reference) learn(f *RateFilter, gap float64, changed bool) {
	r.w = r.moved(gap, f.cycle)
	total := 0.0
	for i := range r.w {
		p := r.change(f, i, gap)
		if !changed {
			p = 1 - p
		}
		r.w[i] *= p
		total += r.w[i]
	}
	for i := range r.w {
		r.w[i] /= total
	}
}

// The filter's step agrees with the reference to the accuracy of its tables:
// linear interpolation of e^(−v) in ln v over steps of 1/16 errs by at most
// (1/16)²/8 · max |v·e^(−v)·(1−v)| < 1.1e-4, which is that in 1 − e^(−v) too; where the
// latter is itself small, of it by at most (1/16)²/8.
func TestFilterStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycle := math.Exp(rapid.Float64Range(-15, 15).Draw(t, "log cycle"))
		f := must(NewRateFilter(3, RateFilterConfig{}))
		f.cycle = cycle
		f.anchor = f.gridStart()
		var flat packed
		flat.unpack(&f.belief)
		want := newReference()
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for range steps {
			gap := cycle * math.Exp(rapid.Float64Range(-7, 3).Draw(t, "log gap"))
			changed := rapid.Bool().Draw(t, "changed")
			f.learn(gap, changed)
			want.learn(f, gap, changed)
		}
		for i, w := range want.w {
			require.InDelta(t, w, f.belief.w[want.class[i]][want.cell[i]], 1e-3*float64(steps), "hypothesis %d", i)
		}
		// The chance of a change is that of the reference.
		gap := cycle * math.Exp(rapid.Float64Range(-7, 4).Draw(t, "last gap"))
		p := 0.0
		for i, w := range want.moved(gap, cycle) {
			p += w * want.change(f, i, gap)
		}
		require.InDelta(t, p, f.changeProbability(gap), 1e-3*float64(steps))
	})
}

// Packing is right on average: the error of a log weight is at most a step each
// time, and its mean over k times is 0 within 4 standard errors, the variance of
// a number rounded at random being at most step²/4, and within the 5e-4 of fastLog twice.
func TestPackingIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const k = 4000
	for range 5 {
		var flat packed
		var b belief
		flat.unpack(&b)
		var logs []float64 // below the greatest, relative to the flat prior
		for c, step := range stride {
			for i := step / 2; i < rateCells; i += step {
				x := -10 * rng.Float64()
				b.w[c][i] *= math.Exp(x)
				logs = append(logs, x)
			}
		}
		b.scale()
		top := slices.Max(logs)
		var sum [hypotheses]float64
		for dither := range uint64(k) {
			var p packed
			b.pack(&p, dither)
			for i, q := range p {
				sum[i] += -weightStep * float64(q)
				require.InDelta(t, logs[i]-top, -weightStep*float64(q), weightStep+1e-3)
			}
		}
		for i := range sum {
			require.InDelta(t, logs[i]-top, sum[i]/k, 4*weightStep/2/math.Sqrt(k)+1e-3)
		}
	}
}

// What 35 bytes a page lose: predictions of a packed filter beside the reference
// along the same 60 polls. A packed log weight makes a random walk of at most
// step/2 a poll, 0.19 in all; a prediction moves by less than a quarter of
// that times p·(1−p)... in the mean over many pages there is no bias.
func TestPackedFilterFollowsTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const pages, polls = 200, 60
	var errs, squares float64
	for page := range pages {
		f := must(NewRateFilter(1, RateFilterConfig{}))
		f.cycle = 1
		f.anchor = f.gridStart()
		want := newReference()
		rate := math.Exp(3 * rng.NormFloat64())
		for range polls {
			gap := 0.3 / rate * rng.ExpFloat64()
			changed := rng.Float64() < -math.Expm1(-rate*gap)
			f.unpack(0)
			f.learn(gap, changed)
			f.answers += uint64(page)
			f.store(0, gap)
			want.learn(f, gap, changed)
		}
		f.unpack(0)
		mean := 0.0
		for i, w := range want.w {
			mean += w * float64(want.cell[i])
		}
		d := f.belief.meanCell() - mean
		errs += d
		squares += d * d
	}
	sd := math.Sqrt(squares / pages)
	require.Less(t, sd*rateStep, 0.1, "of a factor of e")
	require.InDelta(t, 0, errs/pages, 4*sd/math.Sqrt(pages)+0.005)
}

func TestFastLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-600, 600).Draw(t, "ln x"))
		require.InDelta(t, math.Log(x), fastLog(x), 5e-4)
	})
	require.Less(t, fastLog(0), -700.0)
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

// A page's due time is where its index reaches the threshold.
func TestCrossing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t, 6, Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective")))
		f.threshold *= math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log factor"))
		for slot := range uint32(6) {
			guess := f.cycle * math.Exp(rapid.Float64Range(-9, 9).Draw(t, "log guess"))
			gap := f.crossing(slot, guess)
			longest := f.census.patience * f.cycle
			require.LessOrEqual(t, gap, longest)
			switch at := f.index(slot, gap); {
			case gap >= longest*0.999:
				require.LessOrEqual(t, at, f.threshold*1.05)
			case gap > longest*1e-8:
				require.InEpsilon(t, f.threshold, at, 0.1, "gap %v cycles", gap/f.cycle)
			}
		}
	})
}

// The heap against a sorted list.
func TestPageHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		h := pageHeap{place: inTimed}
		pages := make([]ratePage, n)
		keys := map[uint32]float64{}
		for i := range pages {
			pages[i].pos = none
		}
		slot := rapid.Uint32Range(0, n-1)
		key := rapid.Float64Range(0, 9)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				s, k := slot.Draw(t, "slot"), key.Draw(t, "key")
				if pages[s].pos == none {
					h.push(pages, s, k)
					keys[s] = k
				}
			},
			"move": func(t *rapid.T) {
				s, k := slot.Draw(t, "slot"), key.Draw(t, "key")
				if pages[s].pos != none {
					h.move(pages, int(pages[s].pos&^placeMask), k)
					keys[s] = k
				}
			},
			"remove": func(t *rapid.T) {
				s := slot.Draw(t, "slot")
				if pages[s].pos != none {
					h.remove(pages, int(pages[s].pos&^placeMask))
					delete(keys, s)
				}
			},
			"": func(t *rapid.T) {
				require.Len(t, h.slot, len(keys))
				least := math.Inf(1)
				for at, s := range h.slot {
					require.Equal(t, keys[s], h.key[at])
					require.Equal(t, inTimed|uint32(at), pages[s].pos)
					least = min(least, h.key[at])
				}
				if len(keys) > 0 {
					require.Equal(t, least, h.key[0])
				}
			},
		})
	})
}

// rateFilterMachine drives everything a rate filter has beyond the contract of
// all learners: limits, groups, signals, complete observations. A twin that is
// never saved does the same; limits are kept at every poll.
func rateFilterMachine(t *rapid.T) {
	o := Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective"))
	n := rapid.IntRange(1, 12).Draw(t, "n")
	f, twin := must(NewRateFilter(n, RateFilterConfig{Objective: o})), must(NewRateFilter(n, RateFilterConfig{Objective: o}))
	both := func(t *rapid.T, call func(f *RateFilter) error) {
		require.NoError(t, call(f))
		require.NoError(t, call(twin))
	}
	limits := []GroupLimit{{MinGap: 3}, {MaxShare: 0.3}, {MinGap: 1, MaxShare: 0.5}}
	for _, l := range limits {
		both(t, func(f *RateFilter) error { _, err := f.AddGroup(l); return err })
	}
	now := 50.0
	last := slices.Repeat([]float64{math.Inf(-1)}, n) // answers
	group := slices.Repeat([]int{-1}, n)
	shortest := make([]float64, n)
	polled := slices.Repeat([]float64{math.Inf(-1)}, len(limits)) // by group
	var asked []int
	page := rapid.IntRange(0, n-1)
	t.Repeat(map[string]func(*rapid.T){
		"next": func(t *rapid.T) {
			for range rapid.IntRange(1, 30).Draw(t, "polls") {
				now += rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(t, "dt")
				p, err := f.Next(now)
				q, err2 := twin.Next(now)
				require.Equal(t, q, p)
				require.Equal(t, err2, err)
				if err != nil {
					require.ErrorIs(t, err, ErrNoPage)
					continue
				}
				require.NotContains(t, asked, p)
				require.GreaterOrEqual(t, now-last[p], shortest[p])
				if g := group[p]; g >= 0 {
					require.GreaterOrEqual(t, now-polled[g], limits[g].MinGap)
					polled[g] = now
				}
				if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
					asked = append(asked, p)
					continue
				}
				last[p] = now
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
				return
			case 1:
				both(t, func(f *RateFilter) error { return f.Observe(p, now, true) })
			default:
				from := f.last(&f.pages[p])
				var times []float64
				for k := range rapid.IntRange(0, 3).Draw(t, "changes") {
					if at := from + (now-from)*float64(k+1)/3; at > from && at <= now && (k == 0 || at > times[k-1]) {
						times = append(times, at)
					}
				}
				both(t, func(f *RateFilter) error { return f.ObserveAll(p, now, times) })
			}
			last[p] = now
		},
		"weight": func(t *rapid.T) {
			p, w := page.Draw(t, "page"), rapid.SampledFrom([]float64{0, 0.1, 1, 7}).Draw(t, "weight")
			both(t, func(f *RateFilter) error { return f.SetWeight(p, w) })
		},
		"interval": func(t *rapid.T) {
			p, short := page.Draw(t, "page"), rapid.SampledFrom([]float64{0, 1, 20}).Draw(t, "shortest")
			long := short + rapid.SampledFrom([]float64{1, 30, math.Inf(1)}).Draw(t, "more")
			both(t, func(f *RateFilter) error { return f.SetInterval(p, short, long) })
			shortest[p] = short
		},
		"group": func(t *rapid.T) {
			p, g := page.Draw(t, "page"), rapid.IntRange(-1, len(limits)-1).Draw(t, "group")
			both(t, func(f *RateFilter) error { return f.SetGroup(p, g) })
			group[p] = g
		},
		"signal": func(t *rapid.T) {
			p := page.Draw(t, "page")
			both(t, func(f *RateFilter) error { return f.Signal(p, now) })
		},
		"save": func(t *rapid.T) {
			b := saved(t, f)
			f = new(RateFilter)
			require.NoError(t, f.UnmarshalBinary(b))
			require.True(t, bytes.Equal(b, saved(t, f)))
		},
		"refused": func(t *rapid.T) {
			before := saved(t, f)
			p := page.Draw(t, "page")
			nan := math.NaN()
			require.ErrorIs(t, f.SetWeight(p, -1), ErrWeight)
			require.ErrorIs(t, f.SetWeight(p, nan), ErrWeight)
			require.ErrorIs(t, f.SetWeight(n, 1), ErrUnknown)
			require.ErrorIs(t, f.SetInterval(p, 2, 1), ErrConfig)
			require.ErrorIs(t, f.SetInterval(p, nan, 1), ErrConfig)
			require.ErrorIs(t, f.SetInterval(p, 0, nan), ErrConfig)
			require.ErrorIs(t, f.SetInterval(-1, 0, 1), ErrUnknown)
			require.ErrorIs(t, f.SetGroup(p, len(limits)), ErrConfig)
			require.ErrorIs(t, f.SetGroup(n, 0), ErrUnknown)
			require.ErrorIs(t, f.Signal(p, nan), ErrTime)
			require.ErrorIs(t, f.Signal(n, 1), ErrUnknown)
			_, err := f.AddGroup(GroupLimit{MaxShare: 1.5})
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorIs(t, f.ObserveAll(n, now, nil), ErrUnknown)
			if len(asked) > 0 {
				p := asked[0]
				require.ErrorIs(t, f.ObserveAll(p, now, []float64{now + 1}), ErrTime)
				require.ErrorIs(t, f.ObserveAll(p, now, []float64{now, now}), ErrTime)
				require.ErrorIs(t, f.ObserveAll(p, nan, nil), ErrTime)
			} else {
				require.ErrorIs(t, f.ObserveAll(p, now, nil), ErrNotAsked)
			}
			require.True(t, bytes.Equal(before, saved(t, f)), "a refused call changed the state")
		},
	})
}

func TestRateFilterMachine(t *testing.T) { rapid.Check(t, rateFilterMachine) }

func FuzzRateFilter(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rateFilterMachine)) }

// Saved state that contradicts itself is refused even where its checksum is right.
func TestRateFilterRejectsContradictions(t *testing.T) {
	good := func() *RateFilter {
		f := must(NewRateFilter(9, RateFilterConfig{}))
		must(f.AddGroup(GroupLimit{MinGap: 1}))
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
		require.NoError(t, f.Signal(1, 200))
		return f
	}
	require.NoError(t, new(RateFilter).UnmarshalBinary(saved(t, good())))
	for name, spoil := range map[string]func(f *RateFilter){
		"objective":   func(f *RateFilter) { f.objective = objectives },
		"start":       func(f *RateFilter) { f.start = math.NaN() },
		"cycle":       func(f *RateFilter) { f.cycle = math.Inf(1) },
		"moves":       func(f *RateFilter) { f.moves = 4000 },
		"threshold":   func(f *RateFilter) { f.threshold = -1 },
		"sweep":       func(f *RateFilter) { f.sweep = 99 },
		"polled":      func(f *RateFilter) { f.pages[2].polled = math.NaN() },
		"heap order":  func(f *RateFilter) { f.main.key[0] = 1e9 },
		"heap twice":  func(f *RateFilter) { f.main.slot[0] = f.main.slot[1] },
		"heap slot":   func(f *RateFilter) { f.main.slot[0] = 77 },
		"heap NaN":    func(f *RateFilter) { f.main.key[0] = math.NaN() },
		"lost page":   func(f *RateFilter) { f.main.key, f.main.slot = f.main.key[:1], f.main.slot[:1] },
		"no front":    func(f *RateFilter) { f.limits.groups[0].front = none },
		"wrong front": func(f *RateFilter) { f.limits.groups[0].front = 4 },
		"wrong group": func(f *RateFilter) { f.limits.group[4] = 3 },
		"share":       func(f *RateFilter) { f.limits.groups[0].MaxShare = 2 },
		"weight":      func(f *RateFilter) { f.limits.weights[0] = -1 },
		"interval":    func(f *RateFilter) { f.limits.interval[0].min = math.NaN() },
		"retry":       func(f *RateFilter) { f.limits.retry = map[uint32]float64{99: 1} },
		"signals":     func(f *RateFilter) { f.signals.counts[0][0] = math.NaN() },
		"census":      func(f *RateFilter) { f.census.share[0][0] = -1 },
		"gain":        func(f *RateFilter) { f.census.gain = math.NaN() },
		"patience":    func(f *RateFilter) { f.census.patience = floorCycles + 1 },
		"tried":       func(f *RateFilter) { f.census.tried = -1 },
		"earned":      func(f *RateFilter) { f.census.earned = math.Inf(1) },
		"until":       func(f *RateFilter) { f.census.until = 0 },
	} {
		f := good()
		spoil(f)
		require.ErrorIs(t, new(RateFilter).UnmarshalBinary(saved(t, f)), ErrCorrupt, name)
	}
}

func TestRateFilterSettings(t *testing.T) {
	_, err := NewRateFilter(1, RateFilterConfig{Objective: 9})
	require.ErrorIs(t, err, ErrConfig)
	require.PanicsWithValue(t, "knapsack: -1 pages", func() { _, _ = NewRateFilter(-1, RateFilterConfig{}) })
	require.Panics(t, func() { _, _ = NewRateFilter(maxRatePages+1, RateFilterConfig{}) })
}

// bytesPerPage counts everything that grows with the number of pages.
func (f *RateFilter) bytesPerPage() float64 {
	bytes := cap(f.pages)*int(unsafe.Sizeof(ratePage{})) + 8*cap(f.main.key) + 4*cap(f.main.slot)
	return float64(bytes) / float64(len(f.pages))
}

// Where times differ much in size, now less the rounded time since the last answer can
// be after a change that came after that answer.
func TestRateFilterObserveAllRounding(t *testing.T) {
	f := must(NewRateFilter(1, RateFilterConfig{}))
	for now := 0.0; now <= 70; now++ {
		require.NoError(t, f.Observe(must(f.Next(now)), now, false))
	}
	const now = 1e18 + 128 // now − 70 rounds to 1e18 + 0, and now less that is 128
	require.NoError(t, f.ObserveAll(must(f.Next(now)), now, []float64{100}))
	rate, err := f.Rate(0)
	require.NoError(t, err)
	require.Positive(t, rate.Low)
	require.LessOrEqual(t, rate.Low, rate.High)
}

// Weights and shares as far apart as numbers go neither stop the filter nor leave it
// in a state that cannot be restored.
func TestRateFilterExtremeWeights(t *testing.T) {
	for o := range objectives {
		for _, weights := range [][]float64{{math.MaxFloat64}, {5e-324}, {math.MaxFloat64, 5e-324, 1, 0}} {
			const n = 40
			f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
			group := must(f.AddGroup(GroupLimit{MaxShare: 5e-324}))
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
			require.False(t, math.IsNaN(f.ShadowPrice()))
			require.NoError(t, new(RateFilter).UnmarshalBinary(must(f.MarshalBinary())))
		}
	}
}

func TestRateFilterMemory(t *testing.T) {
	f := must(NewRateFilter(1000, RateFilterConfig{}))
	require.EqualValues(t, 60, f.bytesPerPage())
}

func ExampleRateFilter() {
	f, err := NewRateFilter(4, RateFilterConfig{Objective: Freshness})
	if err != nil {
		panic(err)
	}
	// Page 0 changes every 12 hours, page 1 every 200, pages 2 and 3 never.
	version := func(page, hour int) int { return hour / []int{12, 200, 1e9, 1e9}[page] }
	seen := make([]int, 4)
	for hour := range 5000 {
		page, err := f.Next(float64(hour))
		if err != nil {
			panic(err)
		}
		v := version(page, hour)
		if err := f.Observe(page, float64(hour), v != seen[page]); err != nil {
			panic(err)
		}
		seen[page] = v
	}
	often, _ := f.Rate(0)
	seldom, _ := f.Rate(1)
	fmt.Println("page 0 changes more than 5 times as often as page 1:", often.Mean > 5*seldom.Mean)
	// Output: page 0 changes more than 5 times as often as page 1: true
}

// What the index averages over packed weights is the belief's.
func TestValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective"))
		f := drawFilter(t, 4, o)
		for slot := range uint32(4) {
			gap := f.cycle * math.Exp(rapid.Float64Range(-8, 4).Draw(t, "log gap"))
			f.unpack(slot)
			if o != Detections {
				f.census.inform(&f.belief)
			}
			rate := func(k int) float64 { return math.Exp(rateStep * (f.slowestRate() + float64(k))) }
			current := 0.0 // after half the gap
			for c := range f.belief.w {
				for k, w := range f.belief.w[c] {
					current += w * math.Exp(-rate(k)*gap/2)
				}
			}
			mean, square := 0.0, 0.0
			power := [objectives]float64{0, 1, 2, 1}[o]
			for c, step := range stride {
				stay := math.Exp(-gap / (f.cycle * switching[c]))
				for k := step / 2; k < rateCells; k += step {
					v := gap * rate(k)
					y := -math.Expm1(-v)
					jumped := y
					if o != Detections {
						y = slopes[o][Even].h(v) * math.Pow(gap/v, power)
						jumped = y * (1 - current*math.Exp(-v/2)) / -math.Expm1(-v)
					}
					x, fresh := f.belief.w[c][k]*stay, f.belief.mass[c]*(1-stay)*float64(step)/rateCells
					mean += x*y + fresh*jumped
					square += x*y*y + fresh*jumped*jumped
				}
			}
			want := mean + optimism*math.Sqrt(max(0, square-mean*mean))
			require.InEpsilon(t, want, f.value(&f.page(slot).belief, gap), 5e-3)
		}
	})
}

// An interval may be set after every poll: what that leaves behind does not pile up.
func TestIntervalsLeaveNothingBehind(t *testing.T) {
	const n = 5
	f := must(NewRateFilter(n, RateFilterConfig{}))
	for k := range 10_000 {
		now := float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, k%3 == 0))
		longest := []float64{1e6, 1e5, math.Inf(1)}[k%3]
		require.NoError(t, f.SetInterval(page, 0, longest))
	}
	require.LessOrEqual(t, len(f.limits.deadlines.key), 3*n)
}
