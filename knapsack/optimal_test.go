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

	"github.com/recrawl/recrawl/knapsack/internal/optimum"
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
		var total optimum.Sum
		for _, r := range rates {
			total.Add(r)
		}
		for i := range x {
			require.InEpsilon(t, budget*(rates[i]/total.Value()), x[i], 1e-9)
		}
		// The price is that of a page with rate 1.
		require.InDelta(t, Freshness.Slope(Even, 1, budget/total.Value()), price, 1e-9)
	})
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

// Three pages of which a poll costs unequal amounts against a search over all that can be paid.
func TestOptimalOfCosts(t *testing.T) {
	t.Parallel()
	allObjectives(t, func(t *testing.T, o Objective, s Spacing) {
		p := Problem{Rates: []float64{0.2, 3, 1}, Weights: []float64{1, 4, 2}, Costs: []float64{0.5, 4, 1},
			Lower: []float64{0, 0, 0.1}, Budget: 1, Objective: o, Spacing: s}
		x, price, err := p.Optimal()
		require.NoError(t, err)
		require.InEpsilon(t, 1, 0.5*x[0]+4*x[1]+x[2], 1e-12)
		got := must(p.Value(x))
		const steps = 400
		best := math.Inf(-1)
		for a := 1; a < steps; a++ {
			for b := 1; a+b < steps; b++ {
				y := []float64{float64(a) / steps / 0.5, float64(b) / steps / 4, float64(steps-a-b) / steps}
				if y[2] >= 0.1 {
					best = max(best, must(p.Value(y)))
				}
			}
		}
		require.GreaterOrEqual(t, got, best-1e-12)
		require.InDelta(t, best, got, 1e-3*math.Abs(best))
		p.Budget += 1e-6
		more, _, err := p.Optimal()
		require.NoError(t, err)
		require.InEpsilon(t, price, (must(p.Value(more))-got)/1e-6, 1e-3)
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
		says string
	}{
		{Problem{Budget: 1}, "no pages"},
		{Problem{Rates: []float64{1}}, "a budget of 0"},
		{Problem{Rates: []float64{1}, Budget: nan}, "NaN"},
		{Problem{Rates: []float64{1, 3}, Weights: []float64{1, 2}, Budget: 1e170}, "1e+170"},
		{Problem{Rates: []float64{1}, Budget: 1e101}, "1e+101"},
		{Problem{Rates: []float64{1, 1e101}, Budget: 1}, "page 1: rate 1e+101"},
		{Problem{Rates: []float64{1}, Weights: []float64{1e-101}, Budget: 1}, "page 0: weight 1e-101"},
		{Problem{Rates: []float64{1}, Budget: inf}, "Inf"},
		{Problem{Rates: []float64{1, nan}, Budget: 1}, "page 1: rate NaN"},
		{Problem{Rates: []float64{1, -2}, Budget: 1}, "page 1: rate -2"},
		{Problem{Rates: []float64{inf}, Budget: 1}, "page 0: rate +Inf"},
		{Problem{Rates: []float64{1}, Weights: []float64{-1}, Budget: 1}, "page 0: weight -1"},
		{Problem{Rates: []float64{1}, Weights: []float64{1e300}, Budget: 1}, "page 0: weight 1e+300"},
		{Problem{Rates: []float64{1, 1e-200}, Budget: 1}, "page 1: rate 1e-200"},
		{Problem{Rates: []float64{1}, Weights: []float64{1, 2}, Budget: 1}, "2 weights for 1"},
		{Problem{Rates: []float64{1}, Costs: []float64{1, 2}, Budget: 1}, "2 costs for 1"},
		{Problem{Rates: []float64{1, 1}, Costs: []float64{1, 0}, Budget: 1}, "page 1: a poll costs 0"},
		{Problem{Rates: []float64{1}, Costs: []float64{nan}, Budget: 1}, "page 0: a poll costs NaN"},
		{Problem{Rates: []float64{1}, Costs: []float64{1e101}, Budget: 1}, "page 0: a poll costs 1e+101"},
		{Problem{Rates: []float64{1}, Costs: []float64{4}, Lower: []float64{1}, Budget: 3}, "4 to"},
		{Problem{Rates: []float64{1}, Upper: []float64{nan}, Budget: 1}, "page 0: frequency"},
		{Problem{Rates: []float64{1}, Lower: []float64{2}, Upper: []float64{1}, Budget: 1}, "page 0: frequency"},
		{Problem{Rates: []float64{1}, Upper: []float64{}, Budget: 1}, "0 upper"},
		{Problem{Rates: []float64{1}, Lower: []float64{}, Budget: 1}, "0 lower"},
		{Problem{Rates: []float64{1}, Upper: []float64{0.5}, Budget: 1}, "0 to 0.5"},
		{Problem{Rates: []float64{1}, Lower: []float64{2}, Budget: 1}, "2 to"},
		{Problem{Rates: []float64{1}, Budget: 1, Objective: 9}, "Objective 9"},
		{Problem{Rates: []float64{1}, Budget: 1, Spacing: 9}, "Spacing 9"},
	} {
		_, _, err := c.p.Optimal()
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, c.says)
	}
	_, err := Problem{Rates: []float64{1}, Budget: 1}.Value([]float64{nan})
	require.ErrorIs(t, err, ErrConfig)
	_, err = Problem{Rates: []float64{1}, Budget: 1}.Value(nil)
	require.ErrorIs(t, err, ErrConfig)
	want := Freshness.Value(Even, 1, 2)
	require.Equal(t, want, must(Problem{Rates: []float64{1}}.Value([]float64{2})), "the budget does not matter")
	require.Equal(t, want, must(Problem{Rates: []float64{1}, Budget: nan, Costs: []float64{}, Lower: []float64{3}, Upper: []float64{1}}.Value([]float64{2})))
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
