package optimum

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func allObjectives(t *testing.T, f func(t *testing.T, o int, random bool)) {
	for o := range Objectives {
		for _, random := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/random=%v", o, random), func(t *testing.T) { f(t, o, random) })
		}
	}
}

func TestInverseOfSlope(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o int, random bool) {
		c := Of(o, random)
		for v := 1e-30; v < 1e6; v *= 1.37 {
			y, z := c.H(v), -math.Log1p(-c.H(v))
			if c.bounded && !random {
				z = v - math.Log1p(v) // what −ln(1−y) is before it rounds
			}
			if c.bounded && random {
				z = 2*math.Log1p(v) - math.Log(1+2*v)
			}
			require.InEpsilon(t, v, c.inverse(y, z), 1e-9, "h = %v", y)
		}
		require.Zero(t, c.inverse(0, 0))
	})
}

// drawProblem draws a problem with all its parts, over the whole range of 200 decades or over a
// part of it, so that either far or near numbers meet.
func drawProblem(t *rapid.T) *Problem {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	digits := rapid.SampledFrom([]float64{0, 1, 4, 20, 100}).Draw(t, "digits")
	scale := func(name string) *rapid.Generator[float64] {
		center := rapid.Float64Range(digits-100, 100-digits).Draw(t, "center of "+name)
		if rapid.Bool().Draw(t, name+" near 1") {
			center = 0
		}
		return rapid.Custom(func(t *rapid.T) float64 {
			return min(max(math.Pow(10, center+rapid.Float64Range(-digits, digits).Draw(t, "log")), LeastInput), MostInput)
		})
	}
	rate, weight, frequency := scale("rates"), scale("weights"), scale("frequencies")
	p := &Problem{
		Rates:     rapid.SliceOfN(rapid.OneOf(rate, rapid.Just(0.0)), n, n).Draw(t, "rates"),
		Budget:    frequency.Draw(t, "budget"),
		Objective: rapid.IntRange(0, Objectives-1).Draw(t, "objective"),
		Random:    rapid.Bool().Draw(t, "random"),
	}
	if rapid.Bool().Draw(t, "weighted") {
		p.Weights = rapid.SliceOfN(rapid.OneOf(weight, rapid.SampledFrom([]float64{0, 1, 2})), n, n).Draw(t, "weights")
	}
	if rapid.Bool().Draw(t, "costly") {
		p.Costs = rapid.SliceOfN(rapid.OneOf(scale("costs"), rapid.SampledFrom([]float64{1, 2})), n, n).Draw(t, "costs")
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

// logSlope is ln(w·V'(x)) of a weight per cost, −Inf where nothing is to be gained: by the table
// at knapsack.Objective in logarithms, with a series where v is small, and nothing of what the
// solver uses. It has as many branches as the table has rows and ranges.
func logSlope(o int, random bool, rate, weight, x float64) float64 {
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
		if !random {
			h -= math.Ln2
		}
	case random && o <= Detections:
		h = 2 * logRatio
	case random && o == Harmonic:
		h = logV + logRatio
	case random: // v² − (v/(1+v))² = (v/(1+v))²·v·(2+v)
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
// could give what a poll costs to another to the good of both. They are sufficient, as all
// values are concave. Logarithms of slopes, up to 1400 in size, are known to 1e-12.
func requireOptimal(t require.TestingT, p *Problem) {
	floor, ceiling := 0.0, 0.0
	for i := range p.Rates {
		floor += p.cost(i) * p.lower(i)
		ceiling += p.cost(i) * p.upper(i)
	}
	x, at, err := p.Solve()
	if err != nil {
		require.True(t, p.Budget < floor*(1+1e-12) || p.Budget > ceiling*(1-1e-12), "%v is refused between %v and %v", p.Budget, floor, ceiling)
		return
	}
	var spent Sum
	for i, xi := range x {
		spent.Add(p.cost(i) * xi)
	}
	require.InEpsilon(t, p.Budget, spent.Value(), 1e-11)
	// The logarithms of the steepest slope that could rise and of the least that could fall.
	taker, giver := math.Inf(-1), math.Inf(1)
	for i, xi := range x {
		require.GreaterOrEqual(t, xi, p.lower(i))
		require.LessOrEqual(t, xi, p.upper(i))
		slope := logSlope(p.Objective, p.Random, p.Rates[i], p.worth(i), xi)
		if xi < 1e-290 && p.lower(i) == 0 { // what it ought to have is no number, or has lost digits
			require.LessOrEqual(t, logSlope(p.Objective, p.Random, p.Rates[i], p.worth(i), 2e-290), at.logMu+1e-6, "x[%d] = %v of %+v", i, xi, p)
			continue
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
	if price := at.Mu(); price > 1e-290 && price < 1e290 {
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
	allObjectives(t, func(t *testing.T, o int, random bool) {
		for _, p := range []*Problem{
			{Rates: []float64{1e-16, 1, 2, 3}, Budget: 1},
			{Rates: []float64{1e-3, 1, 2, 3}, Weights: []float64{1e12, 1, 1, 1}, Upper: []float64{.1, 9, 9, 9}, Budget: 1},
			{Rates: []float64{1e-3, 1, 2, 3}, Weights: []float64{1e13, 1, 1, 1}, Upper: []float64{.1, 9, 9, 9}, Budget: 1},
			{Rates: []float64{9834.33, 1.0762149323016597e12, 1.2e-13}, Weights: []float64{1.655e-4, 1, 2.01e-5}, Budget: 9417.3},
			{Rates: []float64{1, 3}, Weights: []float64{1, 2}, Budget: 1e100},
			{Rates: []float64{1e-100, 1e-100, 1e100}, Weights: []float64{1e100, 1e-100, 1e-100}, Budget: 1e-100},
			{Rates: []float64{1e-100, 1e100}, Weights: []float64{1e-100, 1e100}, Budget: 1e100},
			{Rates: []float64{1e-100, 1, 1e100}, Costs: []float64{1e-100, 1, 1e100}, Budget: 1e100},
			{Rates: []float64{1e100, 1, 1e-100}, Costs: []float64{1e-100, 1, 1e100}, Budget: 1e-100},
			{Rates: []float64{1e-100, 1e-100}, Weights: []float64{1e100, 1}, Costs: []float64{1e-100, 1e100}, Budget: 1},
			{Rates: []float64{1e100, 1}, Weights: []float64{1e-100, 1e100}, Costs: []float64{1e100, 1}, Budget: 1e-100},
		} {
			p.Objective, p.Random = o, random
			requireOptimal(t, p)
		}
	})
}

// The number of evaluations of Σ x(μ) does not grow with the number of pages.
func TestOptimalSteps(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for o := range Objectives {
		var calls []int
		for _, n := range []int{100, 10000} {
			p := &Problem{Rates: make([]float64, n), Weights: make([]float64, n), Budget: float64(n) / 10, Objective: o}
			for i := range n {
				p.Rates[i], p.Weights[i] = math.Exp(2*rng.NormFloat64()), rng.ExpFloat64()
			}
			count := 0
			counted(p, &count).search()
			calls = append(calls, count/n)
		}
		require.LessOrEqual(t, calls[1], 40, "objective %v: %v", o, calls)
	}
}

// Nor is it more than some 200 where the upper bounds leave next to no room, at rates far apart.
func TestOptimalStepsAtWorst(t *testing.T) {
	t.Parallel()
	most := 0
	allObjectives(t, func(t *testing.T, o int, random bool) {
		for _, room := range []float64{1, 1 + 1e-12, 2, 6} {
			p := &Problem{Rates: []float64{9e90, 3e-5, 3e18, 4e63, 1e-29, 1e28}, Objective: o, Random: random, Budget: 1e71}
			p.Upper = slices.Repeat([]float64{room * p.Budget}, len(p.Rates))
			count := 0
			counted(p, &count).search()
			most = max(most, count/len(p.Rates))
		}
	})
	require.LessOrEqual(t, most, 200)
	require.Greater(t, most, 40)
}

// The mean page of a web half of whose pages change at rate 1 and half at rate 3, against those two
// pages, and the budgets for what it reaches; at equal costs and at others.
func TestOutlook(t *testing.T) {
	t.Parallel()
	requireOutlook(t, nil, nil)
	requireOutlook(t, []float64{0.5, 7, 3}, []float64{0.5, 3})
	require.Nil(t, NewOutlook(Freshness, []float64{0}, []float64{1}, nil))
	require.Nil(t, NewOutlook(Freshness, []float64{1}, []float64{0}, nil))
}

func requireOutlook(t *testing.T, costs, both []float64) {
	for o := range Objectives {
		mean := NewOutlook(o, []float64{2, 0, 2}, []float64{1, 2, 3}, costs)
		for _, polls := range []float64{0.1, 1, 20} {
			p := &Problem{Rates: []float64{1, 3}, Costs: both, Budget: 2 * polls, Objective: o}
			x, _, err := p.Solve()
			require.NoError(t, err)
			value := mean.Value(polls)
			require.InEpsilon(t, p.Value(x)/2, value, 1e-9, "objective %v", o)
			back, least, most := mean.Polls(value)
			require.Less(t, least, value)
			require.Greater(t, most, value)
			require.InEpsilon(t, polls, back, 1e-6, "objective %v", o)
			require.Less(t, most, mean.Value(math.Pow(MostInput, farBudget)), "rounding may keep it from there")
		}
	}
}

// A sum keeps what a plain one loses.
func TestSum(t *testing.T) {
	t.Parallel()
	var s Sum
	for _, x := range []float64{1, 1e100, 1, -1e100} {
		s.Add(x)
	}
	require.Equal(t, 2.0, s.Value())
	s.Add(math.Inf(1))
	require.Equal(t, math.Inf(1), s.Value())
}

// Where the pages worth polling are at their bounds, the others share the rest alike, as far as their
// own bounds allow, and one more poll is worth nothing.
func TestOverflow(t *testing.T) {
	t.Parallel()
	p := &Problem{
		Rates: []float64{1, 0, 0, 0, 2}, Weights: []float64{1, 1, 5, 1, 0}, Costs: []float64{2, 1, 1, 4, 1},
		Lower: []float64{0, 0, 3, 0, 0}, Upper: []float64{5, 1, 9, math.Inf(1), math.Inf(1)}, Budget: 10 + 1 + 3 + 4*2 + 2,
	}
	x, at, err := p.Solve()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{5, 1, 3, 2, 2}, x, 1e-12)
	require.True(t, at.Set())
	require.Zero(t, at.Mu())
	require.False(t, new(Price).Set())
	p.Budget += 1e-9 // more than fits at that level
	x, _, err = p.Solve()
	require.NoError(t, err)
	require.Greater(t, x[3], 2.0)
	require.Equal(t, x[3], x[4])
	p.Budget = 10 + 1.25 + 3 + 4*0.25
	p.Upper[1] = math.Inf(1)
	x, _, err = p.Solve()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{5, 0.375, 3, 0.375, 0.375}, x, 1e-12)
	p.Upper[1], p.Upper[2], p.Upper[3], p.Upper[4] = 1, 3, 2, 2
	p.Budget = 24 + 1e-9
	_, _, err = p.Solve()
	require.Error(t, err)
	p.Budget = 2.9
	_, _, err = p.Solve()
	require.Error(t, err)
}

// What a page without worth gets for what is left depends on what it costs.
func TestOverflowOfCheapPages(t *testing.T) {
	t.Parallel()
	x, _, err := (&Problem{Rates: []float64{0, 0}, Costs: []float64{1.0 / 16, 1.0 / 16}, Budget: 10}).Solve()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{80, 80}, x, 1e-9)
}

// Where frequencies jump between neighbouring prices, as of pages that change much faster than they can be
// polled, the budget is spent all the same.
func TestJump(t *testing.T) {
	t.Parallel()
	for _, budget := range []float64{1e-3, 1, 7, 1e3} {
		for _, rates := range [][]float64{{1e20, 1e20}, {1e20, 1e20, 1e20, 1}, {1e17, 3e17, 1}} {
			p := &Problem{Rates: rates, Weights: slices.Clone(rates), Budget: budget}
			if rates[len(rates)-1] == 1 {
				p.Weights[len(rates)-1] = 1 / budget
			}
			x, _, err := p.Solve()
			require.NoError(t, err)
			sum := 0.0
			for _, x := range x {
				sum += x
			}
			require.InEpsilon(t, budget, sum, 1e-9, "%v: %v", rates, x)
		}
	}
}

// A page that is worth a little less than the best one is polled where its slope is the price, to all
// digits: both are close to what the first poll is worth.
func TestNextToTheTop(t *testing.T) {
	t.Parallel()
	const less, z = 0x1p-40, 27
	price := Of(Freshness, false).Price(1, math.Log(z))
	require.InEpsilon(t, -math.Expm1(-z), price.Mu(), 1e-15)
	v := 1 / price.Frequency(1, 1-less, 0, math.Inf(1))
	require.InEpsilon(t, (math.Exp(-z)-less)/(1-less), (1+v)*math.Exp(-v), 1e-9)
	require.Equal(t, 0.125, price.Frequency(1, 1-4*less, 0.125, 9), "even the first poll is worth less")
	v = 1 / price.Frequency(1, 1, 0, math.Inf(1))
	require.InEpsilon(t, z, v-math.Log1p(v), 1e-12)
	for _, weight := range []float64{0.7, 0.4} { // on either side of half the top
		price = Of(Freshness, false).Price(1, math.Log(0.3))
		v = 1 / price.Frequency(1, weight, 0, math.Inf(1))
		require.InEpsilon(t, price.Mu()/weight, 1-(1+v)*math.Exp(-v), 1e-12)
	}
}

// counted returns the solver of a problem, which counts how often a slope is inverted.
func counted(p *Problem, calls *int) *solver {
	s := p.solver()
	curve := *s.curve
	s.curve = &curve
	inverse := curve.inverse
	curve.inverse = func(y, z float64) float64 { *calls++; return inverse(y, z) }
	return s
}

// Where all pages are alike the first guess is right.
func TestFirstGuess(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o int, random bool) {
		calls := 0
		p := &Problem{Rates: []float64{7, 7, 7}, Costs: []float64{3, 3, 3}, Budget: 20, Objective: o, Random: random}
		x, _ := counted(p, &calls).search()
		require.InDeltaSlice(t, []float64{20. / 9, 20. / 9, 20. / 9}, x, 1e-9)
		require.LessOrEqual(t, calls, 3*6)
	})
}
