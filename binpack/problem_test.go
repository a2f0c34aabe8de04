package binpack

import (
	"context"
	"encoding"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/packing"
)

// requireConfig requires an ErrConfig that names what is out of range.
func requireConfig(t require.TestingT, err error, about string, message ...any) {
	require.ErrorIs(t, err, ErrConfig, message...)
	require.ErrorContains(t, err, about, message...)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		p    Problem[float64]
		want error
		says string
	}{
		"no items":         {Problem[float64]{Capacity: 1}, ErrProblem, "no items"},
		"zero capacity":    {Problem[float64]{Weights: []float64{1}}, ErrConfig, "capacity"},
		"NaN capacity":     {Problem[float64]{Weights: []float64{1}, Capacity: nan}, ErrConfig, "capacity"},
		"infinite":         {Problem[float64]{Weights: []float64{1}, Capacity: inf}, ErrConfig, "capacity"},
		"no bins":          {Problem[float64]{Weights: []float64{1}, Capacities: []float64{}}, ErrProblem, "no bins"},
		"negative":         {Problem[float64]{Weights: []float64{1, -1}, Capacity: 1}, ErrConfig, "weight"},
		"NaN":              {Problem[float64]{Weights: []float64{nan}, Capacity: 1}, ErrConfig, "weight"},
		"infinite weight":  {Problem[float64]{Weights: []float64{inf}, Capacity: 1}, ErrConfig, "weight"},
		"too large":        {Problem[float64]{Weights: []float64{2}, Capacity: 1}, ErrNoRoom, "item"},
		"too large for":    {Problem[float64]{Weights: []float64{3}, Capacities: []float64{1, 2}}, ErrNoRoom, "item"},
		"conflict":         {Problem[float64]{Weights: []float64{1}, Capacity: 1, Conflicts: [][2]int{{0, 1}}}, ErrProblem, "conflict"},
		"own enemy":        {Problem[float64]{Weights: []float64{1}, Capacity: 1, Conflicts: [][2]int{{0, 0}}}, ErrProblem, "conflict"},
		"pin to no bin":    {Problem[float64]{Weights: []float64{1}, Capacity: 1, Pins: map[int]int{0: 1}}, ErrProblem, "pin"},
		"pin of no item":   {Problem[float64]{Weights: []float64{1}, Capacity: 1, Pins: map[int]int{1: 0}}, ErrProblem, "pin"},
		"pins overfill":    {Problem[float64]{Weights: []float64{1, 1}, Capacity: 1, Pins: map[int]int{0: 1, 1: 1}}, ErrProblem, "pin"},
		"pinned conflict":  {Problem[float64]{Weights: []float64{1, 1}, Capacity: 2, Pins: map[int]int{0: 1, 1: 1}, Conflicts: [][2]int{{0, 1}}}, ErrProblem, "conflict"},
		"no room":          {Problem[float64]{Weights: []float64{1, 1}, Capacities: []float64{1}}, ErrNoRoom, "item"},
		"no room by enemy": {Problem[float64]{Weights: []float64{1, 1}, Capacities: []float64{2}, Conflicts: [][2]int{{0, 1}}}, ErrNoRoom, "item"},
	} {
		for rule := range Heuristic(heuristics.Len()) {
			_, err := Pack(c.p, rule)
			require.ErrorIs(t, err, c.want, "%s, %v", name, rule)
			require.ErrorContains(t, err, c.says, "%s, %v", name, rule)
		}
	}
	_, err := Pack(Problem[int]{Weights: []int{1}, Capacity: 1}, Heuristic(heuristics.Len()))
	require.ErrorIs(t, err, ErrConfig)
	_, err = Pack(Problem[int]{Weights: []int{-1}, Capacity: 1}, FirstFit)
	requireConfig(t, err, "weight")
	_, err = Pack(Problem[uint64]{Weights: []uint64{math.MaxUint64}, Capacity: math.MaxUint64}, FirstFit)
	requireConfig(t, err, "weight")
	_, err = Pack(Problem[int64]{Weights: []int64{1 << 62, 1}, Capacity: math.MaxInt64}, FirstFit)
	requireConfig(t, err, "weight")
}

func TestWeightTypes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{
		bins(t, Problem[uint8]{Weights: []uint8{200, 100, 55, 155}, Capacity: 255}),
		bins(t, Problem[int16]{Weights: []int16{200, 100, 55, 155}, Capacity: 255}),
		bins(t, Problem[uint64]{Weights: []uint64{200, 100, 55, 155}, Capacity: 255}),
		bins(t, Problem[float32]{Weights: []float32{2, 1, .5, 1.5}, Capacity: 2.5}),
		bins(t, Problem[float64]{Weights: []float64{2e-300, 1e-300, 5e-301, 1.5e-300}, Capacity: 2.6e-300}),
	} {
		require.Equal(t, 2, n)
	}
}

func bins[W Weight](t require.TestingT, p Problem[W]) int {
	got, err := Pack(p, BestFitDecreasing)
	require.NoError(t, err)
	require.NoError(t, CheckPacking(p, got))
	return got.Bins
}

// Ten times the float 0.1 is more than 1, but it stands for the decimal, and so do the floats next
// to it. What is further off is what it is.
func TestNeverOverfilled(t *testing.T) {
	t.Parallel()
	p := Problem[float64]{Weights: slices.Repeat([]float64{.1}, 10), Capacity: 1}
	require.Equal(t, 1, bins(t, p))
	require.ErrorIs(t, CheckPacking(Problem[float64]{Weights: slices.Repeat([]float64{.1}, 11), Capacity: 1},
		Packing{Bin: make([]int, 11), Bins: 1}), ErrInvalid)
	for ulps := range 4 {
		require.Equal(t, 1+ulps/3, bins(t, p), "%d units in the last place", ulps)
		p.Weights[3] = math.Nextafter(p.Weights[3], 1)
	}
	require.ErrorIs(t, CheckPacking(p, Packing{Bin: make([]int, 10), Bins: 1}), ErrInvalid)
	p.Weights = slices.Repeat([]float64{1. / 16}, 16)
	require.Equal(t, 1, bins(t, p), "multiples of a power of two are exact")
	require.Equal(t, 1, bins(t, Problem[float64]{Weights: []float64{.2, .2, .6}, Capacity: 1}))
	require.Equal(t, 1, bins(t, Problem[float64]{Weights: []float64{.8, .1, .1}, Capacity: 1}))
	require.Equal(t, 1, bins(t, Problem[float32]{Weights: []float32{.7, .1, .2}, Capacity: 1}))
	require.Equal(t, 1, bins(t, Problem[float32]{Weights: []float32{.70001, .09999, .2}, Capacity: 1}))
}

// Decimals have 22 digits after the point at most: greater powers of ten are no floats.
func TestMostDigits(t *testing.T) {
	t.Parallel()
	digits, ok := decimals([]float64{3e-22}, []float64{1e-20})
	require.True(t, ok)
	require.Equal(t, 22, digits)
	_, ok = decimals([]float64{3e-23}, []float64{1e-21})
	require.False(t, ok)

	// A capacity of 2^40 units at most, of fewer with millions of items.
	for _, c := range []struct {
		capacity float64
		items    int
		want     bool
	}{{.999, 2, true}, {1.099, 2, true}, {1.1, 2, false}, {1.099, 2_000_000, true}, {.6, 2_100_000, false}, {.5, 2_100_000, true}} {
		w := slices.Repeat([]float64{.1}, c.items)
		w[0] = .000000000007
		_, ok := decimals(w, []float64{c.capacity})
		require.Equal(t, c.want, ok, "%+v", c)
	}
}

// Products of whole numbers and powers of ten stand for decimals, above the capacity as well.
func TestProductsAreDecimals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		power := math.Pow10(-rapid.IntRange(0, 22).Draw(t, "digits"))
		full := rapid.Int64Range(2, 1e11).Draw(t, "full")
		part := rapid.Int64Range(0, full).Draw(t, "part")
		c := float64(full) * power
		u, err := toUnits([]float64{float64(part) * power, float64(full-part) * power, c}, []float64{c, float64(full) / (1 / power)}, true)
		require.NoError(t, err)
		require.True(t, u.exact)
		require.Equal(t, u.c[0], u.w[0]+u.w[1])
		require.Equal(t, u.c[0], u.w[2])
		require.Equal(t, u.c[0], u.c[1])
		p := Problem[float64]{Weights: []float64{float64(part) * power, float64(full-part) * power}, Capacity: c}
		require.Equal(t, 1, bins(t, p))
		s, err := MaxSubset(context.Background(), p.Weights, c)
		require.NoError(t, err)
		require.Zero(t, s.Gap)
		require.Len(t, s.Items, 2)
		p.Weights = append(p.Weights, power)
		require.ErrorIs(t, CheckPacking(p, Packing{Bin: make([]int, 3), Bins: 1}), ErrInvalid)
	})
	require.Equal(t, 1, bins(t, Problem[float64]{Weights: []float64{3 * 1e-8, 1e-8}, Capacity: 4e-8}))
	sum := .1
	require.Equal(t, 1, bins(t, Problem[float64]{Weights: []float64{sum + .2, .7}, Capacity: 1}))
	require.Equal(t, 1, bins(t, Problem[float64]{Weights: []float64{sum + .2}, Capacity: .3}))
	_, err := Pack(Problem[float64]{Weights: []float64{.3 + 1e-15}, Capacity: .3}, FirstFit)
	require.ErrorIs(t, err, ErrNoRoom)
	s, err := MaxSubset(context.Background(), []float64{sum + .2, 1. / 3, .1}, .3)
	require.NoError(t, err)
	require.Equal(t, []int{0}, s.Items)
	tenth := float32(.1)
	require.Equal(t, 1, bins(t, Problem[float32]{Weights: []float32{7 * tenth, 3 * tenth}, Capacity: 1}))
}

// Short decimals are packed as the whole numbers that they are, by all that packs, bounds and
// checks.
func TestDecimals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.IntRange(0, 9).Draw(t, "digits")
		scale := math.Pow10(digits)
		top := int64(math.Pow10(min(digits+rapid.IntRange(1, 3).Draw(t, "before"), 11)))
		whole := Problem[int64]{Capacity: rapid.Int64Range(1, top).Draw(t, "capacity")}
		p := Problem[float64]{Capacity: float64(whole.Capacity) / scale}
		for range rapid.IntRange(1, 12).Draw(t, "items") {
			w := rapid.Int64Range(0, whole.Capacity).Draw(t, "w")
			whole.Weights, p.Weights = append(whole.Weights, w), append(p.Weights, float64(w)/scale)
		}
		a, err := Solve(context.Background(), p, SolveConfig{})
		require.NoError(t, err)
		b, err := Solve(context.Background(), whole, SolveConfig{})
		require.NoError(t, err)
		require.Equal(t, b.Bins, a.Bins)
		require.Equal(t, b.Proved, a.Proved)
		require.NoError(t, CheckPacking(p, a.Packing))
		proved, err := CheckBound(p, a.Certificate)
		require.NoError(t, err)
		require.LessOrEqual(t, proved, a.Lower)
		ours, err := LowerBounds(p)
		require.NoError(t, err)
		theirs, err := LowerBounds(whole)
		require.NoError(t, err)
		require.Equal(t, theirs.Best, ours.Best)
		s, err := MaxSubset(context.Background(), p.Weights, p.Capacity)
		require.NoError(t, err)
		r, err := MaxSubset(context.Background(), whole.Weights, whole.Capacity)
		require.NoError(t, err)
		require.InDelta(t, float64(r.Sum)/scale, s.Sum, 1e-9*p.Capacity)
	})
}

// naive packs in the given order by the definition of the rule.
func naive(w []int64, c int64, order []int32, rule Heuristic) []int {
	bin := make([]int, len(w))
	var room []int64
	for _, i := range order {
		best := -1
		for b := range room {
			if room[b] < w[i] || rule == NextFit && b < len(room)-1 {
				continue
			}
			if best < 0 || rule == BestFit && room[b] < room[best] || rule == WorstFit && room[b] > room[best] {
				best = b
			}
		}
		if best < 0 {
			best = len(room)
			room = append(room, c)
		}
		room[best] -= w[i]
		bin[i] = best
	}
	return bin
}

func TestRulesAgreeWithTheirDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Int64Range(1, 60).Draw(t, "c")
		w := rapid.SliceOfN(rapid.Int64Range(1, c), 1, 80).Draw(t, "w")
		order := make([]int32, len(w))
		for i := range order {
			order[i] = int32(i)
		}
		sorted := slices.Clone(order)
		slices.SortStableFunc(sorted, func(a, b int32) int { return int(w[b] - w[a]) })
		for rule := NextFit; rule <= WorstFitDecreasing; rule++ {
			want := naive(w, c, order, rule)
			if rule >= NextFitDecreasing {
				want = naive(w, c, sorted, rule-NextFitDecreasing)
			}
			p := Problem[int64]{Weights: w, Capacity: c}
			got, err := Pack(p, rule)
			require.NoError(t, err)
			require.Equal(t, want, got.Bin, rule.String())
			// The path for constraints gives the same if there are none to speak of.
			p.Pins = map[int]int{int(sorted[0]): want[sorted[0]]}
			if want[sorted[0]] == 0 && (rule >= NextFitDecreasing || sorted[0] == 0) {
				got, err = Pack(p, rule)
				require.NoError(t, err)
				require.Equal(t, want, got.Bin, rule.String())
			}
		}
	})
}

// drawProblem draws a problem with a little of everything.
func drawProblem(t *rapid.T, most int) Problem[int] {
	c := rapid.IntRange(1, 40).Draw(t, "c")
	p := Problem[int]{Weights: rapid.SliceOfN(rapid.IntRange(0, c), 1, most).Draw(t, "w"), Capacity: c}
	n := len(p.Weights)
	if rapid.Bool().Draw(t, "different") {
		p.Capacities = rapid.SliceOfN(rapid.IntRange(1, c), 0, 2*n).Draw(t, "caps")
		p.Capacities = append(p.Capacities, c)
	}
	if rapid.Bool().Draw(t, "constrained") && n > 1 {
		for range rapid.IntRange(0, n).Draw(t, "conflicts") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
			if a != b {
				p.Conflicts = append(p.Conflicts, [2]int{a, b})
			}
		}
		if rapid.Bool().Draw(t, "pinned") {
			bins := n
			if p.Capacities != nil {
				bins = len(p.Capacities)
			}
			p.Pins = map[int]int{rapid.IntRange(0, n-1).Draw(t, "item"): rapid.IntRange(0, bins-1).Draw(t, "bin")}
		}
	}
	return p
}

func packingProperty(t *rapid.T) {
	p := drawProblem(t, 40)
	bounds, boundErr := LowerBounds(p)
	for rule := range Heuristic(heuristics.Len()) {
		got, err := Pack(p, rule)
		if err != nil {
			require.True(t, boundErr != nil || p.Capacities != nil, "%v: %v", rule, err)
			continue
		}
		require.NoError(t, CheckPacking(p, got), rule.String())
		require.LessOrEqual(t, bounds.Best, got.Bins)
	}
	if boundErr == nil {
		proved, err := CheckBound(p, bounds.Certificate)
		require.NoError(t, err)
		require.Equal(t, bounds.DFF, proved)
	}
}

func TestPackingProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, packingProperty)
}

func FuzzPacking(f *testing.F) { f.Fuzz(rapid.MakeFuzz(packingProperty)) }

// Floats of any size: nothing is ever overfilled, by exact arithmetic.
func floatProperty(t *rapid.T) {
	c := rapid.Float64Range(1e-9, 1e9).Draw(t, "c")
	p := Problem[float64]{Weights: rapid.SliceOfN(rapid.Float64Range(0, c), 1, 60).Draw(t, "w"), Capacity: c}
	if rapid.Bool().Draw(t, "decimal") {
		p.Capacity = 1
		for i := range p.Weights {
			p.Weights[i] = math.Round(p.Weights[i]/c*100) / 100
		}
	}
	for rule := range Heuristic(heuristics.Len()) {
		got, err := Pack(p, rule)
		require.NoError(t, err)
		require.NoError(t, CheckPacking(p, got), rule.String())
	}
	b, err := LowerBounds(p)
	require.NoError(t, err)
	_, err = CheckBound(p, b.Certificate)
	if err != nil {
		require.ErrorIs(t, err, ErrTooHard)
	}
}

func TestFloatProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, floatProperty)
}

func FuzzFloat(f *testing.F) { f.Fuzz(rapid.MakeFuzz(floatProperty)) }

// The items of one bin refuse an item only if it leaves less than the stated
// tolerance.
func TestFloatTolerance(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 2 + rng.IntN(30)
		w := make([]float64, n)
		for i := range w {
			w[i] = rng.Float64()
		}
		u, err := toUnits(w, []float64{float64(n)}, false)
		require.NoError(t, err)
		require.False(t, u.exact)
		for i := range w {
			require.GreaterOrEqual(t, float64(u.w[i])*u.quantum, w[i])
			require.LessOrEqual(t, float64(u.low[i])*u.quantum, w[i])
			require.LessOrEqual(t, u.w[i]-u.low[i], int64(1))
		}
		require.LessOrEqual(t, u.quantum, math.Ldexp(2*float64(n), -floatBits))
	}
}

// Floats are counted to their last bits if n times the largest capacity, both rounded up to powers of
// two, is at most 2^61 of these: 1/3 is a multiple of 2^−54, so that 128 of them are in a capacity of 1.
func TestThirdsAreExact(t *testing.T) {
	t.Parallel()
	for _, n := range []int{63, 64, 65, 66, 127, 128} {
		p := Problem[float64]{Weights: slices.Repeat([]float64{1. / 3}, n), Capacity: 1}
		u, err := toUnits(p.Weights, []float64{1}, true)
		require.NoError(t, err)
		require.True(t, u.exact, n)
		require.Equal(t, 0x1p-54, u.quantum)
		s, err := Solve(context.Background(), p, SolveConfig{})
		require.NoError(t, err)
		require.True(t, s.Proved)
		require.Equal(t, (n+2)/3, s.Bins)
	}
	u, err := toUnits(slices.Repeat([]float64{1. / 3}, 129), []float64{1}, true)
	require.NoError(t, err)
	require.False(t, u.exact)
	require.Equal(t, math.Ldexp(1, -floatBits), u.quantum)
}

// As many items and as large ones as the units have room for add up to 2^61 of them.
func TestLargestUnits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4, 64} {
		least := math.Ldexp(float64(n), -61)
		w := append(slices.Repeat([]float64{1}, n-1), least)
		p := Problem[float64]{Weights: w, Capacity: 1}
		u, err := toUnits(w, []float64{1}, true)
		require.NoError(t, err)
		require.True(t, u.exact)
		require.Equal(t, int64(1)<<61/int64(n), u.c[0])
		s, err := Solve(context.Background(), p, SolveConfig{})
		require.NoError(t, err)
		require.True(t, s.Proved)
		require.Equal(t, n, s.Bins)
		p.Pins = map[int]int{0: 0}
		s, err = Solve(context.Background(), p, SolveConfig{})
		require.NoError(t, err)
		require.True(t, s.Proved)
		require.Equal(t, n, s.Bins)
	}
	u, err := toUnits([]float64{}, []float64{1}, true)
	require.NoError(t, err)
	require.True(t, u.exact)
}

// The known bounds of small problems.
func TestBoundsByHand(t *testing.T) {
	t.Parallel()
	// Three items above C/2: L1 = 2, L2 = 3.
	b, err := LowerBounds(Problem[int]{Weights: []int{6, 6, 6}, Capacity: 10})
	require.NoError(t, err)
	require.Equal(t, []int{2, 3, 3}, []int{b.L1, b.L2, b.DFF})
	// Of items of 34 no three fit 100: L1 = L2 = 3, five items need 3 bins, seven 4.
	b, err = LowerBounds(Problem[int]{Weights: slices.Repeat([]int{34}, 7), Capacity: 100})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 4}, []int{b.L1, b.L2, b.DFF})
	// Different capacities: the largest hold the sum, and no more than fits each.
	checked := func(want int, p Problem[int]) Bounds {
		b, err := LowerBounds(p)
		require.NoError(t, err)
		n, err := CheckBound(p, b.Certificate)
		require.NoError(t, err)
		require.Equal(t, []int{want, want}, []int{b.Best, n})
		return b
	}
	require.Equal(t, 2, checked(3, Problem[int]{Weights: []int{5, 5, 5}, Capacities: []int{5, 9, 7}}).L1)
	require.Equal(t, 3, checked(3, Problem[int]{Weights: slices.Repeat([]int{1}, 20), Capacities: []int{5, 6, 7, 9}}).L1)
	require.Equal(t, 2, checked(3, Problem[int]{Weights: slices.Repeat([]int{4}, 5), Capacities: []int{10, 6, 11, 7, 7}}).L1,
		"two fit the two large bins each")
	// Three replicas, one of them pinned; an item too heavy for each of them; another pinned elsewhere.
	replicas := [][2]int{{0, 1}, {0, 2}, {2, 1}}
	checked(3, Problem[int]{Weights: []int{1, 1, 1, 1}, Capacity: 10, Conflicts: replicas})
	checked(4, Problem[int]{Weights: []int{2, 2, 2, 9}, Capacity: 10, Conflicts: replicas})
	checked(4, Problem[int]{Weights: []int{1, 1, 1, 1}, Capacity: 10, Conflicts: append(replicas, [2]int{3, 1}, [2]int{3, 2}),
		Pins: map[int]int{0: 1, 3: 2}})
	checked(3, Problem[int]{Weights: []int{1, 1, 1, 1}, Capacity: 10, Conflicts: append(replicas, [2]int{3, 1}, [2]int{3, 2}),
		Pins: map[int]int{0: 1, 3: 1}})
}

func TestCheckers(t *testing.T) {
	t.Parallel()
	p := Problem[int]{Weights: []int{5, 5, 5}, Capacity: 10, Conflicts: [][2]int{{0, 1}}, Pins: map[int]int{2: 1}}
	require.NoError(t, CheckPacking(p, Packing{[]int{0, 1, 1}, 2}))
	for _, bad := range []Packing{
		{[]int{0, 1}, 2}, {[]int{0, 1, 3}, 2}, {[]int{0, 1, -1}, 2}, {[]int{0, 1, 1}, 3},
		{[]int{1, 1, 1}, 1}, {[]int{0, 0, 1}, 2}, {[]int{1, 0, 0}, 2},
	} {
		require.ErrorIs(t, CheckPacking(p, bad), ErrInvalid, "%v", bad)
	}
	for _, bad := range []Certificate{
		{[]int64{5, 5}, 10}, {[]int64{5, 5, 5}, 0}, {[]int64{5, 5, -5}, 10},
		{[]int64{5, 5, 6}, 10}, {[]int64{math.MaxInt64, 5, 5}, math.MaxInt64},
	} {
		_, err := CheckBound(p, bad)
		require.ErrorIs(t, err, ErrInvalid, "%v", bad)
	}
	bad := p
	bad.Pins = map[int]int{3: 1}
	require.ErrorIs(t, CheckPacking(bad, Packing{[]int{0, 1, 1}, 2}), ErrProblem)
	bad.Conflicts = [][2]int{{0, 9}}
	require.ErrorIs(t, CheckPacking(bad, Packing{[]int{0, 1, 1}, 2}), ErrProblem)
	n, err := CheckBound(p, Certificate{[]int64{1, 1, 1}, 2})
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// A packing of numbers that are no weights or capacities is none.
func TestCheckPackingOfBadNumbers(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	one, two := Packing{[]int{0}, 1}, Packing{[]int{0, 0}, 1}
	for _, c := range []struct {
		p      Problem[float64]
		packed Packing
		about  string // what is out of range, "" for nothing
	}{
		{Problem[float64]{Weights: []float64{nan}, Capacity: 1}, one, "weight"},
		{Problem[float64]{Weights: []float64{inf}, Capacity: 1}, one, "weight"},
		{Problem[float64]{Weights: []float64{-inf}, Capacity: 1}, one, "weight"},
		{Problem[float64]{Weights: []float64{-1, 1.5}, Capacity: 1}, two, "weight"},
		{Problem[float64]{Weights: []float64{1}, Capacity: inf}, one, "capacity"},
		{Problem[float64]{Weights: []float64{1}, Capacity: nan}, one, "capacity"},
		{Problem[float64]{Weights: []float64{0}}, one, "capacity"},
		{Problem[float64]{Weights: []float64{1}, Capacities: []float64{1, nan}}, one, "capacity"},
		{Problem[float64]{Weights: []float64{1}, Capacity: nan, Capacities: []float64{1}}, one, ""},
	} {
		if err := CheckPacking(c.p, c.packed); c.about == "" {
			require.NoError(t, err)
		} else {
			requireConfig(t, err, c.about, "%v", c.p)
		}
	}
	requireConfig(t, CheckPacking(Problem[int]{Weights: []int{-1, 1}, Capacity: 1}, two), "weight")
	requireConfig(t, CheckPacking(Problem[float32]{Weights: []float32{1}, Capacity: float32(inf)}, one), "capacity")
}

// The least floats are no decimals 0.
func TestLeastFloats(t *testing.T) {
	t.Parallel()
	for ulps := 1.; ulps < 6; ulps++ {
		least := ulps * math.SmallestNonzeroFloat64
		p := Problem[float64]{Weights: []float64{0, least, least}, Capacity: least}
		_, ok := decimals(p.Weights, []float64{p.Capacity})
		require.False(t, ok)
		require.Equal(t, 2, bins(t, p))
		b, err := LowerBounds(p)
		require.NoError(t, err)
		require.Equal(t, 2, b.Best)
		p.Pins = map[int]int{1: 0, 2: 0}
		_, err = Pack(p, NextFit)
		require.ErrorIs(t, err, ErrProblem)
	}
	least := float32(math.SmallestNonzeroFloat32)
	require.Equal(t, 2, bins(t, Problem[float32]{Weights: []float32{0, least, least}, Capacity: least}))
}

// A weight that is 0 in every unit of the largest one, even as a float, is above 0 all the same.
func TestVanishingWeights(t *testing.T) {
	t.Parallel()
	for _, tiny := range []float64{1e-281, math.SmallestNonzeroFloat64} {
		p := Problem[float64]{Weights: []float64{tiny, 7e198}, Capacity: 7e198}
		require.Equal(t, 2, bins(t, p))
		s, err := Solve(context.Background(), p, SolveConfig{})
		require.NoError(t, err)
		require.NoError(t, CheckPacking(p, s.Packing))
		require.Equal(t, 2, s.Bins)
		chosen, err := MaxSubset(context.Background(), p.Weights, p.Capacity)
		require.NoError(t, err)
		require.Equal(t, []int{1}, chosen.Items)
	}
}

// Weights near the end of the range do not overflow anything.
func TestHugeWeights(t *testing.T) {
	t.Parallel()
	p := Problem[int64]{Capacity: 1<<61 - 1}
	for range 3 {
		p.Weights = append(p.Weights, 1<<60)
	}
	b, err := LowerBounds(p)
	require.NoError(t, err)
	require.Equal(t, 3, b.Best)
	n, err := CheckBound(p, b.Certificate)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	s, err := Solve(context.Background(), p, SolveConfig{})
	require.NoError(t, err)
	require.True(t, s.Proved)
	require.NoError(t, CheckPacking(p, s.Packing))
	sub, err := MaxSubset(context.Background(), p.Weights, 1<<61)
	require.NoError(t, err)
	require.Equal(t, int64(1<<61), sub.Sum)
}

// Every enumeration has names that can be written and read, and refuses others.
func TestEnums(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal([]any{BestFitDecreasing, LessBiased})
	require.NoError(t, err)
	require.Equal(t, `["BFD","less biased"]`, string(text))
	var (
		h Heuristic
		p PageWalk
	)
	require.NoError(t, json.Unmarshal(text, &[]any{&h, &p}))
	require.Equal(t, []any{BestFitDecreasing, LessBiased}, []any{h, p})
	for _, v := range []encoding.TextUnmarshaler{&h, &p} {
		require.ErrorIs(t, v.UnmarshalText([]byte("nonsense")), ErrConfig)
	}
	require.Equal(t, int(packing.Heuristics), heuristics.Len())
}
