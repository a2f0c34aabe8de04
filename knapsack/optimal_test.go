package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// zipf returns the probabilities u_k = α/k^β of Granmo et al. 2006.
func zipf(n int, alpha, beta float64) []float64 {
	u := make([]float64, n)
	for k := range u {
		u[k] = alpha / math.Pow(float64(k+1), beta)
	}
	return u
}

func mapped(u []float64, f func(float64) float64) []float64 {
	v := make([]float64, len(u))
	for i := range u {
		v[i] = f(u[i])
	}
	return v
}

// slotRate and slotOdds convert the probability of a change in a slot into a rate per slot, for
// evenly spaced polls and for a poll drawn in each slot.
func slotRate(u float64) float64 { return -math.Log1p(-u) }
func slotOdds(u float64) float64 { return u / (1 - u) }

// The optimum figures of the three environments of Granmo et al. 2006, section III.C: 500 pages,
// one poll per slot. The even column is the paper's objective; the other is that of its own
// scheduler, which draws each slot's poll.
func TestPaperEnvironments(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		alpha, beta  float64
		even, random [3]float64 // uniform, proportional, optimal
	}{
		{0.3, 1.5, [3]float64{0.1235, 0.5601, 0.5610}, [3]float64{0.1089, 0.4722, 0.4743}},
		{0.3, 1.0, [3]float64{0.5304, 0.8796, 0.8806}, [3]float64{0.4396, 0.6881, 0.6898}},
		{0.9, 1.5, [3]float64{0.2336, 0.9451, 0.9770}, [3]float64{0.2035, 0.8153, 0.8843}},
	} {
		u := zipf(500, e.alpha, e.beta)
		even := Problem{Objective: Detections, Rates: mapped(u, slotRate), Budget: 1}
		random := Problem{Objective: Detections, Rates: mapped(u, slotOdds), Budget: 1, Spacing: Random}
		uniform, proportional := slices.Repeat([]float64{1.0 / 500}, 500), make([]float64, 500)
		expected := 0.0 // updates per step
		for _, p := range u {
			expected += p
		}
		for i, p := range u {
			proportional[i] = p / expected
		}
		optimal, _, err := even.Optimal()
		require.NoError(t, err)
		for i, x := range [][]float64{uniform, proportional, optimal} {
			v, err := even.Value(x)
			require.NoError(t, err)
			require.InDelta(t, e.even[i], v, 0.00005, "even, policy %d at (%v, %v)", i, e.alpha, e.beta)
			v, err = random.Value(x)
			require.NoError(t, err)
			require.InDelta(t, e.random[i], v, 0.00005, "random, policy %d at (%v, %v)", i, e.alpha, e.beta)
		}
		// The closed form c·(1 − exp(Σ ln q/c)).
		total := 0.0
		for _, r := range even.Rates {
			total += r
		}
		v, _ := even.Value(optimal)
		require.InEpsilon(t, -math.Expm1(-total), v, 1e-12)
	}
}

func TestClosedForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Float64Range(1e-9, 1e9), 1, 50).Draw(t, "rates")
		budget := math.Exp(rapid.Float64Range(-25, 25).Draw(t, "log budget"))
		x, price, err := Problem{Objective: Detections, Rates: rates, Budget: budget}.Optimal()
		require.NoError(t, err)
		var total sum
		for _, r := range rates {
			total.add(r)
		}
		for i := range x {
			require.InEpsilon(t, budget*(rates[i]/total.value()), x[i], 1e-9)
		}
		require.InDelta(t, hEven(total.value()/budget), price, 1e-9)
	})
}

// drawProblem draws a problem with all its parts, over the whole range of 200 decades or over a
// part of it, so that either far or near numbers meet.
func drawProblem(t *rapid.T) Problem {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	digits := rapid.SampledFrom([]float64{0, 1, 4, 20, 100}).Draw(t, "digits")
	scale := func(name string) *rapid.Generator[float64] {
		center := rapid.Float64Range(digits-100, 100-digits).Draw(t, "center of "+name)
		if rapid.Bool().Draw(t, name+" near 1") {
			center = 0
		}
		return rapid.Custom(func(t *rapid.T) float64 {
			return min(max(math.Pow(10, center+rapid.Float64Range(-digits, digits).Draw(t, "log")), leastInput), mostInput)
		})
	}
	rate, weight, frequency := scale("rates"), scale("weights"), scale("frequencies")
	p := Problem{
		Rates:     rapid.SliceOfN(rapid.OneOf(rate, rapid.Just(0.0)), n, n).Draw(t, "rates"),
		Budget:    frequency.Draw(t, "budget"),
		Objective: Objective(rapid.IntRange(0, int(objectives)-1).Draw(t, "objective")),
		Spacing:   Spacing(rapid.IntRange(0, 1).Draw(t, "spacing")),
	}
	if rapid.Bool().Draw(t, "weighted") {
		p.Weights = rapid.SliceOfN(rapid.OneOf(weight, rapid.SampledFrom([]float64{0, 1, 2})), n, n).Draw(t, "weights")
	}
	if rapid.Bool().Draw(t, "bounded") {
		p.Upper = rapid.SliceOfN(rapid.OneOf(frequency, rapid.Just(math.Inf(1))), n, n).Draw(t, "upper")
	}
	if rapid.Bool().Draw(t, "floored") {
		p.Lower = rapid.SliceOfN(rapid.OneOf(frequency, rapid.Just(0.0)), n, n).Draw(t, "lower")
		for i := range p.Lower {
			p.Lower[i] = min(p.Lower[i], p.upper(i))
		}
	}
	return p
}

// logSlope is ln(w·V'(x)), −Inf where nothing is to be gained: by the table at Objective in
// logarithms, with a series where v is small, and nothing of what the solver uses. It has as many
// branches as the table has rows and ranges.
func logSlope(o Objective, s Spacing, rate, weight, x float64) float64 {
	if rate == 0 || weight == 0 {
		return math.Inf(-1)
	}
	logV := math.Log(rate) - math.Log(x)
	v := math.Exp(logV)
	// series is ln Σ c_k·v^k, k from the power on; c(k)/c(k−1) is given.
	series := func(first float64, power int, ratio func(k float64) float64) float64 {
		total, term := 1.0, 1.0
		for k := float64(power + 1); k < 60; k++ {
			term *= v * ratio(k)
			total += term
		}
		return math.Log(first) + float64(power)*logV + math.Log(total)
	}
	var h float64
	power := 0.0
	switch o {
	case Freshness, Harmonic, Delay:
		power = 1
	case Age:
		power = 2
	}
	logRatio := -math.Log1p(math.Exp(-logV)) // ln(v/(1+v))
	if logV < 0 {
		logRatio = logV - math.Log1p(v)
	}
	switch {
	case o == Delay:
		h = 2 * logV
		if s != Random {
			h -= math.Ln2
		}
	case s == Random && o <= Detections:
		h = 2 * logRatio
	case s == Random && o == Harmonic:
		h = logV + logRatio
	case s == Random: // v² − (v/(1+v))² = (v/(1+v))²·v·(2+v)
		h = 2*logRatio + logV + math.Log(2) + math.Log1p(v/2)
		if logV > 300 {
			h = 2 * logV
		}
	case o <= Detections && v < 1: // Σ (−1)^k·v^k·(k−1)/k!
		h = series(0.5, 2, func(k float64) float64 { return -(k - 1) / (k - 2) / k })
	case o <= Detections:
		h = math.Log1p(-(1 + v) * math.Exp(-v))
		if v > 1000 {
			h = 0
		}
	case o == Age && v < 1: // v²/2 less the above: −Σ from k = 3
		h = series(1.0/3, 3, func(k float64) float64 { return -(k - 1) / (k - 2) / k })
	case o == Age && v < 1000:
		h = math.Log(v*v/2 - 1 + (1+v)*math.Exp(-v))
	case o == Age:
		h = 2*logV - math.Ln2 + math.Log1p(-2/v/v)
	case v < 1: // Σ (−1)^k·v^k/k!
		h = series(0.5, 2, func(k float64) float64 { return -1 / k })
	case v < 1000:
		h = math.Log(v - 1 + math.Exp(-v))
	default:
		h = logV + math.Log1p(-1/v)
	}
	return math.Log(weight) + h - power*math.Log(rate)
}

// The conditions of Karush, Kuhn and Tucker: the budget is spent, the bounds hold, and no page
// could give a poll to another to the good of both. They are sufficient, as all values are
// concave. Logarithms of slopes, up to 1400 in size, are known to 1e-12.
func requireOptimal(t require.TestingT, p Problem) {
	floor, ceiling := 0.0, 0.0
	for i := range p.Rates {
		floor += p.lower(i)
		ceiling += p.upper(i)
	}
	x, price, err := p.Optimal()
	if err != nil {
		require.ErrorIs(t, err, ErrBudget)
		require.True(t, p.Budget < floor*(1+1e-12) || p.Budget > ceiling*(1-1e-12), "%v is refused between %v and %v", p.Budget, floor, ceiling)
		return
	}
	var spent sum
	for _, xi := range x {
		spent.add(xi)
	}
	require.InEpsilon(t, p.Budget, spent.value(), 1e-11)
	// The logarithms of the steepest slope that could rise and of the least that could fall.
	taker, giver := math.Inf(-1), math.Inf(1)
	for i, xi := range x {
		require.GreaterOrEqual(t, xi, p.lower(i))
		require.LessOrEqual(t, xi, p.upper(i))
		slope := logSlope(p.Objective, p.Spacing, p.Rates[i], p.weight(i), xi)
		if xi < 1e-290 && p.lower(i) == 0 {
			continue // what it ought to have is no number, or has lost digits
		}
		if xi < p.upper(i) {
			taker = max(taker, slope)
		}
		if xi > p.lower(i) {
			giver = min(giver, slope)
		}
	}
	if math.IsInf(taker, -1) {
		return // nothing more is to be gained
	}
	require.LessOrEqual(t, taker, giver+1e-10, "x = %v of %+v", x, p)
	if price > 1e-290 && price < 1e290 {
		require.LessOrEqual(t, taker, math.Log(price)+1e-6)
		require.GreaterOrEqual(t, giver, math.Log(price)-1e-6)
	}
}

func optimality(t *rapid.T) { requireOptimal(t, drawProblem(t)) }

func TestOptimality(t *testing.T) {
	t.Parallel()
	rapid.Check(t, optimality)
}

func FuzzOptimal(f *testing.F) { f.Fuzz(rapid.MakeFuzz(optimality)) }

// Problems that were once answered wrongly or never: scales that differ by more digits than a
// number has, and budgets far above all rates.
func TestOptimalOverManyScales(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o Objective, s Spacing) {
		for _, p := range []Problem{
			{Rates: []float64{1e-16, 1, 2, 3}, Budget: 1},
			{Rates: []float64{1e-3, 1, 2, 3}, Weights: []float64{1e12, 1, 1, 1}, Upper: []float64{.1, 9, 9, 9}, Budget: 1},
			{Rates: []float64{1e-3, 1, 2, 3}, Weights: []float64{1e13, 1, 1, 1}, Upper: []float64{.1, 9, 9, 9}, Budget: 1},
			{Rates: []float64{9834.33, 1.0762149323016597e12, 1.2e-13}, Weights: []float64{1.655e-4, 1, 2.01e-5}, Budget: 9417.3},
			{Rates: []float64{1, 3}, Weights: []float64{1, 2}, Budget: 1e100},
			{Rates: []float64{1e-100, 1e-100, 1e100}, Weights: []float64{1e100, 1e-100, 1e-100}, Budget: 1e-100},
			{Rates: []float64{1e-100, 1e100}, Weights: []float64{1e-100, 1e100}, Budget: 1e100},
		} {
			p.Objective, p.Spacing = o, s
			requireOptimal(t, p)
		}
	})
	_, _, err := Problem{Rates: []float64{1, 3}, Weights: []float64{1, 2}, Budget: 1e170}.Optimal()
	require.ErrorIs(t, err, ErrBudget)
}

// Two pages against a search over all splits of the budget.
func TestOptimalAgainstGrid(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o Objective, s Spacing) {
		p := Problem{Rates: []float64{0.2, 3}, Weights: []float64{1, 4}, Upper: []float64{2, 0.8}, Budget: 1, Objective: o, Spacing: s}
		x, _, err := p.Optimal()
		require.NoError(t, err)
		got, err := p.Value(x)
		require.NoError(t, err)
		best := math.Inf(-1)
		for k := 1; k < 100000; k++ {
			if y := float64(k) / 100000; 1-y <= 0.8 {
				v, err := p.Value([]float64{y, 1 - y})
				require.NoError(t, err)
				best = max(best, v)
			}
		}
		require.GreaterOrEqual(t, got, best-1e-12)
		require.InDelta(t, best, got, 1e-6)
	})
}

func TestExtremeBudgets(t *testing.T) {
	t.Parallel()
	for _, c := range []float64{1e-12, 1e-3, 1, 1e3, 1e12} {
		for o := range objectives {
			for s := Even; s < spacings; s++ {
				p := Problem{Rates: []float64{1e-6, 1, 500, 500, 1e6}, Weights: []float64{1, .5, .5, 2, 2}, Budget: c, Objective: o, Spacing: s}
				x, _, err := p.Optimal()
				require.NoError(t, err)
				total := 0.0
				for _, xi := range x {
					require.False(t, math.IsNaN(xi) || xi < 0)
					total += xi
				}
				require.InEpsilon(t, c, total, 1e-12, "%v %v", o, s)
			}
		}
	}
	// A page of little weight that hardly changes, beside a group that changes faster than it
	// could ever be polled: the multiplier is that of the group to the last bit, and only the
	// rest of the budget tells their frequencies.
	p := Problem{Objective: Detections, Rates: []float64{1e-6, 1000, 3000}, Weights: []float64{1, .5, .5}, Budget: 1}
	x, price, err := p.Optimal()
	require.NoError(t, err)
	require.InEpsilon(t, 0.5, price, 1e-12)
	require.InEpsilon(t, 3, x[2]/x[1], 1e-9)
	require.InEpsilon(t, 0.5, Detections.Slope(Even, 1e-6, x[0]), 1e-9)
}

func TestNothingWorthPolling(t *testing.T) {
	t.Parallel()
	x, price, err := Problem{Objective: Detections, Rates: []float64{0, 0, 0}, Budget: 3}.Optimal()
	require.NoError(t, err)
	require.Zero(t, price)
	require.InDeltaSlice(t, []float64{1, 1, 1}, x, 1e-12)
	x, _, err = Problem{Objective: Detections, Rates: []float64{1, 0, 0}, Upper: []float64{0.5, math.Inf(1), 0.1}, Budget: 3}.Optimal()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.5, 2.4, 0.1}, x, 1e-12)
}

func TestOptimalRejects(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		p    Problem
		err  error
		says string
	}{
		{Problem{Budget: 1}, ErrBudget, "no pages"},
		{Problem{Rates: []float64{1}}, ErrBudget, "it is 0"},
		{Problem{Rates: []float64{1}, Budget: nan}, ErrBudget, "NaN"},
		{Problem{Rates: []float64{1}, Budget: 1e101}, ErrBudget, "1e+101"},
		{Problem{Rates: []float64{1, 1e101}, Budget: 1}, ErrRate, "page 1: 1e+101"},
		{Problem{Rates: []float64{1}, Weights: []float64{1e-101}, Budget: 1}, ErrWeight, "page 0: 1e-101"},
		{Problem{Rates: []float64{1}, Budget: inf}, ErrBudget, "Inf"},
		{Problem{Rates: []float64{1, nan}, Budget: 1}, ErrRate, "page 1: NaN"},
		{Problem{Rates: []float64{1, -2}, Budget: 1}, ErrRate, "page 1: -2"},
		{Problem{Rates: []float64{inf}, Budget: 1}, ErrRate, "page 0: +Inf"},
		{Problem{Rates: []float64{1}, Weights: []float64{-1}, Budget: 1}, ErrWeight, "page 0: -1"},
		{Problem{Rates: []float64{1}, Weights: []float64{1e300}, Budget: 1}, ErrWeight, "page 0: 1e+300"},
		{Problem{Rates: []float64{1, 1e-200}, Budget: 1}, ErrRate, "page 1: 1e-200"},
		{Problem{Rates: []float64{1}, Weights: []float64{1, 2}, Budget: 1}, ErrWeight, "2 weights for 1"},
		{Problem{Rates: []float64{1}, Upper: []float64{nan}, Budget: 1}, ErrFrequency, "page 0"},
		{Problem{Rates: []float64{1}, Lower: []float64{2}, Upper: []float64{1}, Budget: 1}, ErrFrequency, "page 0"},
		{Problem{Rates: []float64{1}, Upper: []float64{}, Budget: 1}, ErrFrequency, "0 upper"},
		{Problem{Rates: []float64{1}, Lower: []float64{}, Budget: 1}, ErrFrequency, "0 lower"},
		{Problem{Rates: []float64{1}, Upper: []float64{0.5}, Budget: 1}, ErrBudget, "0 to 0.5"},
		{Problem{Rates: []float64{1}, Lower: []float64{2}, Budget: 1}, ErrBudget, "2 to"},
		{Problem{Rates: []float64{1}, Budget: 1, Objective: 9}, ErrConfig, "Objective 9"},
		{Problem{Rates: []float64{1}, Budget: 1, Spacing: 9}, ErrConfig, "Spacing 9"},
	} {
		_, _, err := c.p.Optimal()
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, c.says)
	}
	_, err := Problem{Rates: []float64{1}, Budget: 1}.Value([]float64{nan})
	require.ErrorIs(t, err, ErrFrequency)
	_, err = Problem{Rates: []float64{1}, Budget: 1}.Value(nil)
	require.ErrorIs(t, err, ErrFrequency)
}

// The number of evaluations of Σ x(μ) does not grow with the number of pages.
func TestOptimalSteps(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for o := range objectives {
		var calls []int
		for _, n := range []int{100, 10000} {
			p := Problem{Rates: make([]float64, n), Weights: make([]float64, n), Budget: float64(n) / 10, Objective: o}
			for i := range n {
				p.Rates[i], p.Weights[i] = math.Exp(2*rng.NormFloat64()), rng.ExpFloat64()
			}
			s := solver{Problem: p, slope: slopes[o][Even]}
			count, inverse := 0, s.inverse
			s.inverse = func(y, z float64) float64 { count++; return inverse(y, z) }
			for i := range p.Rates {
				s.rates += p.Rates[i]
				s.top = max(s.top, s.scale(p.Rates[i], p.Weights[i]))
			}
			s.search()
			calls = append(calls, count/n)
		}
		require.LessOrEqual(t, calls[1], 40, "%v: %v", o, calls)
	}
}

func BenchmarkOptimal(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		for o := range objectives {
			b.Run(fmt.Sprintf("%v/n=%d", o, n), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				p := Problem{Rates: make([]float64, n), Weights: make([]float64, n), Budget: float64(n) / 10, Objective: o}
				for i := range n {
					p.Rates[i], p.Weights[i] = math.Exp(2*rng.NormFloat64()), rng.ExpFloat64()
				}
				sort.Float64s(p.Rates)
				for b.Loop() {
					if _, _, err := p.Optimal(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/page")
			})
		}
	}
}
