package binpack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// slotEnv is a set of pages that change with probability p in each slot.
type slotEnv struct {
	p       []float64
	changed []bool
	rng     *rand.Rand
}

func newSlotEnv(p []float64, seed uint64) *slotEnv {
	return &slotEnv{p, make([]bool, len(p)), rand.New(rand.NewPCG(seed, 99))}
}

// run plays a slot.
func (e *slotEnv) run(t require.TestingT, s *Scheme) SlotReport {
	e.poll(t, s)
	return s.Rebalance()
}

// poll plays a slot up to its end.
func (e *slotEnv) poll(t require.TestingT, s *Scheme) {
	for i, p := range e.p {
		if e.rng.Float64() < p {
			e.changed[i] = true
		}
	}
	for _, page := range s.Next() {
		require.NoError(t, s.Observe(page, e.changed[page]))
		e.changed[page] = false
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func constant(n int, p float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = p
	}
	return all
}

// What was polled in a slot that no Rebalance ended is in no report.
func TestSchemeSlotWithoutEnd(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{50}, SchemeConfig{Capacity: 400}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	e := newSlotEnv(constant(50, .5), 1)
	polled := 0
	for range 5 {
		e.poll(t, s)
		polled = len(s.asked)
	}
	report := s.Rebalance()
	require.Positive(t, polled)
	require.Equal(t, polled, report.Polls)
	require.LessOrEqual(t, report.Changed, polled)
	require.Zero(t, s.Rebalance().Polls)
}

// The stationary means of the chain, to the four digits published with the walk.
func TestMeanFrequency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    float64
		want [3][3]float64 // N = 8, 16, 64; as described, less biased, unbiased
	}{
		{.05, [3][3]float64{{.1494, .1454, .1568}, {.0866, .0841, .0950}, {.0463, .0441, .0528}}},
		{.1, [3][3]float64{{.1760, .1655, .1866}, {.1170, .1084, .1284}, {.1009, .0903, .1002}}},
		{.25, [3][3]float64{{.3039, .2408, .2866}, {.2937, .2190, .2540}, {.3249, .2426, .2500}}},
		{.3, [3][3]float64{{.3719, .2735, .3253}, {.3872, .2669, .3017}, {.4203, .2931, .3000}}},
	} {
		for k, n := range []int{8, 16, 64} {
			var cfg SchemeConfig
			cfg.States = n
			for walk, want := range c.want[k] {
				cfg.Walk = PageWalk(walk)
				got, err := cfg.MeanFrequency(c.p)
				require.NoError(t, err)
				require.InDelta(t, want, got, 5.1e-5, "P %v, N %d, walk %d", c.p, n, walk)
			}
		}
	}
	// Where it settles, as N grows: P/(1−P) and P. The ends are far away and the
	// spread is of the order 1/√N.
	var cfg SchemeConfig
	cfg.States = 1 << 14
	for _, p := range []float64{.1, .3} {
		for walk, want := range []float64{p / (1 - p), p, p} {
			cfg.Walk = PageWalk(walk)
			got, err := cfg.MeanFrequency(p)
			require.NoError(t, err)
			require.InDelta(t, want, got, .002)
		}
	}
	_, err := cfg.MeanFrequency(1.5)
	require.ErrorIs(t, err, ErrConfig)
	cfg.Walk = 3
	_, err = cfg.MeanFrequency(.5)
	require.ErrorIs(t, err, ErrConfig)
	for _, states := range []int{-1, math.MaxUint16 + 1, 1 << 40} { // NewScheme takes none of them
		_, err = SchemeConfig{States: states}.MeanFrequency(.5)
		require.ErrorIs(t, err, ErrConfig, "%d states", states)
	}
}

// The bias of the unbiased walk is what is derived for it, for any λ, and nothing where
// the lowest frequency is far below P. Every step is taken with a probability, one of up and
// down for certain, so that it is no slower than it must be.
func TestUnbiasedWalk(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 8, 16, 64, 1000} {
		for _, lambda := range []float64{.5, 1, 2} {
			var cfg SchemeConfig
			cfg.States, cfg.Lambda, cfg.Walk = n, lambda, Unbiased
			for _, p := range []float64{.01, .05, .1, .3, .5, .9} {
				pi, x, err := cfg.stationary(p)
				require.NoError(t, err)
				up, down := Unbiased.steps(x)
				for i := 1; i < n; i++ {
					require.Equal(t, 1., max(up[i-1], down[i]))
					require.Positive(t, min(up[i-1], down[i]))
				}
				mean, err := cfg.MeanFrequency(p)
				require.NoError(t, err)
				bias := 1 - p // of one state, x = 1
				if n > 1 {
					ratio := up[0] / down[1]
					bias = pi[0] * x[0] * (1 - p) * (x[0] + p*ratio) / (p + (1-p)*x[0])
				}
				require.InDelta(t, p+bias, mean, 1e-12, "N %d, λ %v, P %v", n, lambda, p)
				if n == 1000 && p >= .05 && lambda >= 1 {
					require.InDelta(t, p, mean, 1e-9)
				}
			}
		}
	}
}

// Time averages of the walk itself agree with the chain within 3 %. With 600
// pages, the standard error is far below that: it is estimated from the pages,
// which are independent, and must be below 3 %/4 for the test to mean anything.
func TestWalkSettlesWhereTheChainSays(t *testing.T) {
	t.Parallel()
	const pages, slots = 600, 2000
	for _, n := range []int{8, 16, 64} {
		if testing.Short() && n > 8 {
			continue
		}
		for _, p := range []float64{.1, .3} {
			for walk := range PageWalk(pageWalks.Len()) {
				var cfg SchemeConfig
				cfg.Capacity, cfg.States, cfg.Walk = 1e6, n, walk
				want, err := cfg.MeanFrequency(p)
				require.NoError(t, err)
				cfg.InitialState = max(int(want*float64(n)), 1)
				s, err := NewScheme([]int{pages}, cfg, rand.NewPCG(uint64(n), 1))
				require.NoError(t, err)
				env := newSlotEnv(constant(pages, p), uint64(n))
				for range 400 {
					env.run(t, s)
				}
				sum := make([]float64, pages)
				for range slots {
					env.run(t, s)
					for i := range sum {
						sum[i] += must(s.Frequency(i)) / slots
					}
				}
				mean, square := 0.0, 0.0
				for _, x := range sum {
					mean += x / pages
					square += x * x / pages
				}
				require.Less(t, math.Sqrt((square-mean*mean)/pages), want*.03/4)
				require.InEpsilon(t, want, mean, .03, "N %d, P %v, walk %d", n, p, walk)
			}
		}
	}
}

// The rows of the paper that do not depend on chance: the optimal weights.
func TestPaperOptimum(t *testing.T) {
	t.Parallel()
	pages := [][]int{{131, 201, 341, 567, 531, 36, 451, 121}, {124, 174, 402, 322, 49, 615}, {235, 135, 95, 343}, {32, 123}}
	var w []float64
	for d, p := range []float64{.3, .25, .1, .05} {
		for _, n := range pages[d] {
			w = append(w, p*float64(n))
		}
	}
	packed, err := Pack(Problem[float64]{Weights: w, Capacity: 400}, BestFitDecreasing)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{399.2, 399.1, 399.7, 25.75}, loadsOf(packed, w), 1e-9)

	// The same in hundredths, exactly.
	var exact []int
	for _, x := range w {
		exact = append(exact, int(math.Round(100*x)))
	}
	packed, err = Pack(Problem[int]{Weights: exact, Capacity: 40000}, BestFitDecreasing)
	require.NoError(t, err)
	require.Equal(t, []int{39920, 39910, 39970, 2575}, loadsOf(packed, exact))

	pages = [][]int{{131, 91, 91, 87, 91, 46, 61, 71}, {74, 84, 62, 92, 89, 105}, {75, 95, 105, 113}, {82, 93}}
	w = nil
	for d, theta := range []float64{.75, 1, 1.5, 2} {
		for _, n := range pages[d] {
			sum := 0.0
			for k := range n {
				sum += math.Pow(float64(k+1), -theta)
			}
			w = append(w, sum)
		}
	}
	packed, err = Pack(Problem[float64]{Weights: w, Capacity: 80}, BestFitDecreasing)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{78.98175023108985, 32.58512586169496}, loadsOf(packed, w), 1e-11)
}

// loadsOf is the sum of the weights in each bin, in the order of the items.
func loadsOf[W Weight](p Packing, weights []W) []W {
	loads := make([]W, p.Bins)
	for i, b := range p.Bin {
		loads[b] += weights[i]
	}
	return loads
}

// schemeProperty: bins fit after every slot, the loads are the sums of the
// frequencies, and a restored copy goes on bit for bit.
func schemeProperty(t *rapid.T) {
	var cfg SchemeConfig
	cfg.States = rapid.SampledFrom([]int{1, 2, 7, 8, 16}).Draw(t, "N")
	cfg.Lambda = rapid.SampledFrom([]float64{1, 1.5}).Draw(t, "λ")
	cfg.Register = rapid.SampledFrom([]int{1, 10, 64}).Draw(t, "L")
	cfg.Walk = PageWalk(rapid.IntRange(0, int(pageWalks.Len())-1).Draw(t, "walk"))
	cfg.DecreaseStep = rapid.IntRange(1, 3).Draw(t, "step")
	pages := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 8).Draw(t, "pages")
	cfg.Capacity = rapid.Float64Range(30, 60).Draw(t, "C")
	if cfg.States > 1 {
		cfg.Capacity /= 2 // sites may outgrow a bin
	}
	s, err := NewScheme(pages, cfg, rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	require.NoError(t, err)
	env := newSlotEnv(constant(s.Len(), rapid.Float64Range(0, 1).Draw(t, "P")), 1)
	for slot := range 60 {
		got := env.run(t, s)
		loads := s.Loads(nil)
		sum, used := make([]float64, len(loads)), 0
		for i := range pages {
			x := 0.0
			for p := s.first[i]; p < s.first[i+1]; p++ {
				x += must(s.Frequency(p))
			}
			require.InDelta(t, x, s.Weights(nil)[i], 1e-6)
			sum[must(s.Bin(i))] += s.Weights(nil)[i]
		}
		require.InDeltaSlice(t, sum, loads, 1e-9)
		for b, load := range loads {
			require.LessOrEqual(t, load, cfg.Capacity)
			if len(s.byBin()[b]) > 0 {
				used++
			}
		}
		require.Equal(t, used, got.Bins)
		require.Equal(t, got.Overloaded, got.Decreased+got.Excluded)
		if slot == 30 {
			asked := s.Next() // save it with answers due
			data, err := s.MarshalBinary()
			require.NoError(t, err)
			var copied Scheme
			require.NoError(t, copied.UnmarshalBinary(data))
			for _, p := range asked {
				require.NoError(t, s.Observe(p, p%2 == 0))
				require.NoError(t, copied.Observe(p, p%2 == 0))
			}
			require.Equal(t, s.Rebalance(), copied.Rebalance())
			require.ElementsMatch(t, s.Next(), copied.Next())
			a, _ := s.MarshalBinary()
			b, _ := copied.MarshalBinary()
			require.Equal(t, a, b)
			k := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
			require.Error(t, copied.UnmarshalBinary(data[:k]))
			data[k] ^= 4
			require.Error(t, copied.UnmarshalBinary(data))
			c, _ := copied.MarshalBinary()
			require.Equal(t, b, c, "a failed restore changes nothing")
		}
	}
}

func TestSchemeProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, schemeProperty)
}

func FuzzScheme(f *testing.F) { f.Fuzz(rapid.MakeFuzz(schemeProperty)) }

// Calls in any order: answers late, twice or never, Rebalance several times in a slot or not at
// all. A scheme that is saved and restored in between goes on as its twin that is not, and
// reports no more answers than there were.
func schemeMachine(t *rapid.T) {
	pages := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 6).Draw(t, "pages")
	cfg := SchemeConfig{Capacity: rapid.Float64Range(3, 20).Draw(t, "capacity"), Lambda: rapid.SampledFrom([]float64{1, 1.7}).Draw(t, "lambda")}
	s, err := NewScheme(pages, cfg, rand.NewPCG(1, 2))
	require.NoError(t, err)
	twin, err := NewScheme(pages, cfg, rand.NewPCG(1, 2))
	require.NoError(t, err)
	due, answers, changes := map[int]bool{}, 0, 0
	t.Repeat(map[string]func(*rapid.T){
		"next": func(t *rapid.T) {
			asked := s.Next()
			require.ElementsMatch(t, asked, twin.Next())
			clear(due)
			for _, p := range asked {
				due[p] = true
			}
			answers, changes = 0, 0
		},
		"observe": func(t *rapid.T) {
			p, changed := rapid.IntRange(-1, s.Len()).Draw(t, "page"), rapid.Bool().Draw(t, "changed")
			err := s.Observe(p, changed)
			require.Equal(t, err, twin.Observe(p, changed))
			switch {
			case p < 0 || p >= s.Len():
				require.ErrorIs(t, err, ErrUnknown)
				return
			case !due[p]:
				require.ErrorIs(t, err, ErrNotAsked)
				return
			}
			require.NoError(t, err)
			delete(due, p)
			answers++
			if changed {
				changes++
			}
		},
		"rebalance": func(t *rapid.T) {
			got := s.Rebalance()
			require.Equal(t, got, twin.Rebalance())
			require.Equal(t, answers, got.Polls)
			require.Equal(t, changes, got.Changed)
			require.Equal(t, got.Overloaded, got.Decreased+got.Excluded)
			answers, changes = 0, 0
			for _, load := range s.Loads(nil) {
				require.LessOrEqual(t, load, cfg.Capacity)
			}
		},
		"save": func(t *rapid.T) {
			data, err := s.MarshalBinary()
			require.NoError(t, err)
			same, err := twin.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, same, data)
			s = new(Scheme)
			require.NoError(t, s.UnmarshalBinary(data))
		},
	})
}

func TestSchemeMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, schemeMachine)
}

func FuzzSchemeMachine(f *testing.F) { f.Fuzz(rapid.MakeFuzz(schemeMachine)) }

// Under overload the scheme does both of what it can do, and first decreases.
func TestSchemeRelieves(t *testing.T) {
	t.Parallel()
	var cfg SchemeConfig
	cfg.Capacity = 60
	s, err := NewScheme([]int{50, 60, 70, 80}, cfg, rand.NewPCG(1, 1))
	require.NoError(t, err)
	env := newSlotEnv(constant(s.Len(), .4), 1)
	decreased, excluded, first := 0, 0, ""
	for range 400 {
		slot := env.run(t, s)
		decreased += slot.Decreased
		excluded += slot.Excluded
		if first == "" && slot.Overloaded > 0 {
			first = "excluded"
			if slot.Decreased > 0 {
				first = "decreased"
			}
		}
	}
	require.Positive(t, excluded)
	require.Greater(t, decreased, excluded)
	require.Equal(t, "decreased", first)
}

// A decrease takes from the most penalised pages only what it must.
func TestDecreaseTakesTheMostPenalised(t *testing.T) {
	t.Parallel()
	var cfg SchemeConfig
	cfg.Capacity, cfg.InitialState = 3, 8
	s, err := NewScheme([]int{3}, cfg, rand.NewPCG(1, 1))
	require.NoError(t, err)
	s.register = []uint64{0b001, 0b111, 0b010}
	s.c = 2 * 8 // in eighths of a page
	s.decrease([]int{0}, 24)
	require.Equal(t, []uint16{5, 5, 6}, s.state, "three rounds: page 1 first, the last step by page 0")
	require.Equal(t, 2.0, s.Weights(nil)[0])
}

// Phase 1 with initial frequencies by domain: the weights are those of the states, and the packing
// is that of Best Fit Decreasing.
func TestSchemeInitialStates(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{2, 3}, SchemeConfig{Capacity: 2, InitialStates: []int{4, 4, 2, 1, 8}}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	require.Equal(t, []float64{1, 11. / 8}, s.Weights(nil))
	require.Equal(t, []float64{11. / 8, 1}, s.Loads(nil))
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	var back Scheme
	require.NoError(t, back.UnmarshalBinary(data))
	require.Equal(t, s.Weights(nil), back.Weights(nil))
	for _, states := range [][]int{{1}, {1, 1, 1, 1, 9}, {1, 1, 0, 1, 1}, {}} {
		_, err := NewScheme([]int{2, 3}, SchemeConfig{InitialStates: states}, rand.NewPCG(1, 1))
		require.ErrorIs(t, err, ErrConfig)
	}
}

// The repacking of phase 2 is Best Fit Decreasing: written out once more, on random bins.
func TestRepackIsBestFitDecreasing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SliceOfN(rapid.IntRange(1, 20), 2, 12).Draw(t, "pages")
		capacity := rapid.IntRange(20, 40).Draw(t, "capacity")
		s, err := NewScheme(pages, SchemeConfig{States: 1, Capacity: float64(capacity)}, rand.NewPCG(1, 1))
		require.NoError(t, err)
		out := rapid.SliceOfNDistinct(rapid.IntRange(0, len(pages)-1), 1, len(pages), rapid.ID).Draw(t, "out")
		load := make([]int, len(s.alarm))
		for i, b := range s.bin {
			load[b] += pages[i]
		}
		for _, i := range out {
			load[s.bin[i]] -= pages[i]
		}
		s.repack(slices.Clone(out))

		order := slices.Clone(out)
		slices.SortFunc(order, func(a, b int) int { return pages[b] - pages[a] })
		// Which of two sites of equal weight goes first does not change the loads, nor does which
		// of two bins of equal load is taken.
		for _, i := range order {
			best := -1
			for b, l := range load {
				if l+pages[i] <= capacity && (best < 0 || l > load[best]) {
					best = b
				}
			}
			if best < 0 {
				best, load = len(load), append(load, 0)
			}
			load[best] += pages[i]
		}
		filled := make([]int, len(s.alarm))
		for i, b := range s.bin {
			filled[b] += pages[i]
		}
		for len(load) < len(filled) {
			load = append(load, 0)
		}
		slices.Sort(load)
		slices.Sort(filled)
		require.Equal(t, load, filled, "the loads are those of Best Fit Decreasing")
	})
}

// The automaton of a bin moves with every slot: it rises by 2 when the bin overflows and falls by
// 1 when it does not, between the threshold and N_b. What it does is nothing else than that.
func TestAlarmMoves(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{40, 40}, SchemeConfig{Capacity: 12, States: 4, OverloadStates: 9, Threshold: 3}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	want := slices.Clone(s.alarm)
	require.Equal(t, []int{3, 3}, want, "the threshold at first")
	rose := 0
	env := newSlotEnv(constant(80, .4), 3)
	for range 300 {
		env.poll(t, s)
		over := make([]bool, len(s.alarm))
		for b, load := range s.Loads(nil) {
			over[b] = load > 12
		}
		s.Rebalance()
		for b := range over {
			switch {
			case over[b] && want[b] < 8:
				want[b] += 2
				rose++
			case !over[b] && want[b] > 3:
				want[b]--
			}
		}
		loads := s.Loads(nil)
		for b := range s.alarm {
			if b == len(want) {
				want = append(want, 3)
			}
			if loads[b] == 0 {
				want[b] = 3
			}
		}
		require.Equal(t, want, s.alarm)
	}
	require.Greater(t, rose, 5)
}

// The register holds the last L results of a page: a bit for each, set where nothing had changed.
func TestRegisterRemembers(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{2}, SchemeConfig{States: 1, Register: 5}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(2, 2))
	var told [2][]bool
	for range 12 {
		require.Equal(t, []int{0, 1}, s.Next(), "at frequency 1 every page is polled")
		for page := range told {
			changed := rng.Uint64()&1 == 0
			require.NoError(t, s.Observe(page, changed))
			told[page] = append(told[page], changed)
		}
		s.Rebalance()
		for page, results := range told {
			for back := range min(5, len(results)) {
				penalty := s.register[page]>>back&1 == 1
				require.Equal(t, !results[len(results)-1-back], penalty)
			}
		}
	}
}

// Excluding keeps the sites of the largest total that fits: by enumeration.
func TestExcludeKeepsTheLargestSubset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SliceOfN(rapid.IntRange(1, 30), 2, 9).Draw(t, "pages")
		s, err := NewScheme(pages, SchemeConfig{States: 1, Capacity: 30}, rand.NewPCG(1, 1))
		require.NoError(t, err)
		for i := range s.bin {
			s.bin[i] = 0
		}
		kept := 0
		for _, n := range pages {
			kept += n
		}
		for _, i := range s.exclude(s.byBin()[0], nil) {
			kept -= pages[i]
		}
		best := 0
		for set := range 1 << len(pages) {
			sum := 0
			for i, n := range pages {
				if set>>i&1 == 1 {
					sum += n
				}
			}
			if sum <= 30 {
				best = max(best, sum)
			}
		}
		require.Equal(t, best, kept)
	})
}

func TestSchemeBadInput(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 1)
	_, err := NewScheme(nil, SchemeConfig{}, src)
	require.ErrorIs(t, err, ErrProblem)
	_, err = NewScheme([]int{-1}, SchemeConfig{}, src)
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewScheme([]int{5}, SchemeConfig{OverloadStates: 1}, src)
	require.NoError(t, err, "the default threshold is no more than the states")
	_, err = NewScheme([]int{4000}, SchemeConfig{}, src)
	require.ErrorIs(t, err, ErrNoRoom)
	for _, change := range []func(*SchemeConfig){
		func(c *SchemeConfig) { c.States = -1 }, func(c *SchemeConfig) { c.States = 1 << 20 },
		func(c *SchemeConfig) { c.InitialState = 9 }, func(c *SchemeConfig) { c.Lambda = math.NaN() },
		func(c *SchemeConfig) { c.Register = 65 }, func(c *SchemeConfig) { c.Register = -1 },
		func(c *SchemeConfig) { c.Threshold = 11 }, func(c *SchemeConfig) { c.Walk = 3 }, func(c *SchemeConfig) { c.DecreaseStep = -1 },
	} {
		var cfg SchemeConfig
		change(&cfg)
		_, err = NewScheme([]int{5}, cfg, src)
		require.ErrorIs(t, err, ErrConfig)
	}
	var cfg SchemeConfig
	cfg.Capacity = -1
	_, err = NewScheme([]int{5}, cfg, src)
	requireConfig(t, err, "capacity")
	require.Panics(t, func() { _, _ = NewScheme([]int{5}, SchemeConfig{}, nil) })

	s, err := NewScheme([]int{50}, SchemeConfig{}, src)
	require.NoError(t, err)
	require.ErrorIs(t, s.Observe(0, true), ErrNotAsked)
	asked := s.Next()
	require.NotEmpty(t, asked)
	require.NoError(t, s.Observe(asked[0], true))
	require.ErrorIs(t, s.Observe(asked[0], true), ErrNotAsked)
	for _, id := range []int{-1, 50} {
		require.ErrorIs(t, s.Observe(id, true), ErrUnknown)
		for _, ask := range []func(int) error{
			func(id int) error { _, err := s.Frequency(id); return err },
			func(id int) error { _, err := s.Bin(id); return err },
		} {
			require.ErrorIs(t, ask(id), ErrUnknown)
		}
	}
	require.ErrorIs(t, new(Scheme).UnmarshalBinary([]byte("nonsense")), ErrCorrupt)
	s, err = NewScheme([]int{50}, SchemeConfig{}, struct{ rand.Source }{src})
	require.NoError(t, err)
	_, err = s.MarshalBinary()
	require.ErrorContains(t, err, "use *rand.PCG or *rand.ChaCha8")
}

func BenchmarkSchemeSlot(b *testing.B) {
	var cfg SchemeConfig
	s, err := NewScheme([]int{1000, 1000, 1000, 1000, 1000}, cfg, rand.NewPCG(1, 1))
	if err != nil {
		b.Fatal(err)
	}
	env := newSlotEnv(constant(s.Len(), .2), 1)
	for b.Loop() {
		env.run(b, s)
	}
	b.ReportMetric(float64(s.Len()), "pages")
}

// Weights that could add up to more than an integer holds are refused, and not taken for small ones.
func TestSchemeOfTooManyPages(t *testing.T) {
	t.Parallel()
	cfg := SchemeConfig{Capacity: 1, Lambda: 1.3}
	_, err := NewScheme([]int{1 << 25}, cfg, rand.NewPCG(1, 1))
	requireConfig(t, err, "pages")
	cfg.Capacity = 1 << 25
	cfg.InitialState = 8
	s, err := NewScheme([]int{1 << 20, 1 << 20}, cfg, rand.NewPCG(1, 1))
	require.NoError(t, err)
	require.Equal(t, []float64{1 << 20, 1 << 20}, s.Weights(nil))
}

// A capacity beyond what all pages need has no quantum too coarse for a page.
func TestSchemeOfLargeCapacity(t *testing.T) {
	t.Parallel()
	for _, capacity := range []float64{1e5, 1e15, 1e300} {
		s, err := NewScheme([]int{20, 30}, SchemeConfig{Capacity: capacity}, rand.NewPCG(1, 1))
		require.NoError(t, err)
		require.Equal(t, []float64{20. / 8, 30. / 8}, s.Weights(nil))
	}
	_, err := NewScheme([]int{20, 30}, SchemeConfig{Capacity: .5}, rand.NewPCG(1, 1))
	require.ErrorContains(t, err, "capacity of 0.5")
	_, err = NewScheme([]int{20, 30}, SchemeConfig{Capacity: math.Inf(1)}, rand.NewPCG(1, 1))
	requireConfig(t, err, "capacity")
}
