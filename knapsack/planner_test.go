package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/knapsack/internal/optimum"
	"github.com/recrawl/recrawl/webenv"
)

// The optima of the literature as they are printed there, against the general solver.
func TestPublishedOptima(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		p := Problem{Objective: Detections, Spacing: Random, Budget: rapid.Float64Range(0.01, 50).Draw(t, "budget"),
			Rates:   rapid.SliceOfN(rapid.Float64Range(0.001, 100), n, n).Draw(t, "rates"),
			Weights: rapid.SliceOfN(rapid.Float64Range(0.01, 10), n, n).Draw(t, "weights")}
		// LambdaCrawl: x = (−λ + √(λ² + 4wλ/μ))/2.
		p.Objective = Harmonic
		x, mu, err := p.Optimal()
		require.NoError(t, err)
		for i, l := range p.Rates {
			require.InEpsilon(t, (-l+math.Sqrt(l*l+4*p.Weights[i]*l/mu))/2, x[i], 1e-6)
		}
		// Azar et al.: x = max(0, √(wλ/μ) − λ), found there by sorting the pages by w/λ: the k
		// first share the budget.
		p.Objective = Freshness
		x, mu, err = p.Optimal()
		require.NoError(t, err)
		for i, l := range p.Rates {
			require.InDelta(t, max(0, math.Sqrt(p.Weights[i]*l/mu)-l), x[i], 1e-6*(1+x[i]))
		}
	})
}

// A planner comes close to what knowing the rates detects: the environments are those of the
// paper, and the bound is what was measured with constant rates learnt in 20,000 polls.
func TestPlannerLearns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, e := range []RateMethod{Gamma, MaximumLikelihood, ChoGarciaMolina} {
		for _, ab := range [][2]float64{{0.3, 1.5}, {0.3, 1}, {0.9, 1.5}} {
			p := must(NewPlanner(500, PlannerConfig{Objective: Detections, Budget: 1, Method: e}, nil))
			known := must(NewFixed(mapped(zipf(500, ab[0], ab[1]), slotRate), Even, nil))
			found := [2]int{}
			for i, s := range []webenv.Scheduler{p, known} {
				env := must(webenv.NewZipf(webenv.ZipfConfig{Pages: 500, Alpha: ab[0], Beta: ab[1]}, rand.NewPCG(7, 8)))
				must(webenv.Run(env, s, webenv.RunConfig{Rate: 1, Polls: 20_000, OnPoll: func(p webenv.Poll) {
					if p.Changed && p.Time > 10_000 {
						found[i]++
					}
				}}))
			}
			require.Greater(t, float64(found[0]), 0.9*float64(found[1]), "%v at %v: %v", e, ab, found)
		}
	}
}

// Every page is polled again within n/(Floor·Budget) and the turns of the others.
func TestPlannerFloor(t *testing.T) {
	t.Parallel()
	const n = 50
	p := must(NewPlanner(n, PlannerConfig{Budget: 1, Method: Gamma, Objective: Freshness, Floor: 0.2}, nil))
	last := make([]float64, n)
	for now := 1.0; now <= 20_000; now++ {
		page := must(p.Next(now))
		require.LessOrEqual(t, now-last[page], n/0.2+n, "page %d", page)
		last[page] = now
		require.NoError(t, p.Observe(page, now, page < 3))
	}
}

// Before the first plan pages that were added, as in a Keyed, are polled as those of NewPlanner: all equally
// often, also after a restore, and Frequency is in polls per unit of time.
func TestPlannerOfAddedPages(t *testing.T) {
	t.Parallel()
	const n = 100
	for _, first := range []int{0, 1, n / 2} {
		p := must(NewPlanner(first, PlannerConfig{Budget: 3}, nil))
		for p.Len() < n-1 {
			p.Add()
		}
		data := saved(t, p)
		p = new(Planner)
		require.NoError(t, p.UnmarshalBinary(data))
		page := p.Add()
		require.Equal(t, p.roster.Frequency(0), p.roster.Frequency(Slot(page)), "as those from before the restore")
		polls := make([]int, n)
		for k := range n - 1 {
			now := float64(k) / 3
			page := must(p.Next(now))
			polls[page]++
			require.NoError(t, p.Observe(page, now, k%5 == 0))
			require.InEpsilon(t, 3.0/n, must(p.Frequency(k)), 1e-12)
		}
		require.LessOrEqual(t, slices.Max(polls), 2, "%d pages at first", first)
	}
}

func TestPlannerWeights(t *testing.T) {
	t.Parallel()
	p := must(NewPlanner(2, PlannerConfig{Objective: Detections, Budget: 1, Method: Gamma}, nil))
	require.ErrorIs(t, p.SetWeight(0, -1), ErrConfig)
	require.ErrorIs(t, p.SetWeight(0, math.NaN()), ErrConfig)
	require.ErrorIs(t, p.SetWeight(0, 1e101), ErrConfig)
	require.ErrorIs(t, p.SetWeight(5, 1), ErrUnknown)
	require.NoError(t, p.SetWeight(1, 3))
	rng := rand.New(rand.NewPCG(1, 1))
	for now := 1.0; now <= 2000; now++ {
		require.NoError(t, p.Observe(must(p.Next(now)), now, rng.IntN(2) == 0))
	}
	require.Greater(t, must(p.Frequency(1)), must(p.Frequency(0)))
	require.Positive(t, p.Price())
	for _, budget := range []float64{-1, math.NaN(), math.Inf(1), 1e-101} {
		_, err := NewPlanner(3, PlannerConfig{Objective: Detections, Budget: budget}, nil)
		require.ErrorIs(t, err, ErrConfig, "%v", budget)
		require.ErrorIs(t, err, ErrConfig, "%v", budget)
	}
	for _, cfg := range []PlannerConfig{{Floor: 2}, {Floor: -1}, {Floor: 5e-324}, {Method: 9}, {Objective: 9}, {Spacing: 9}} {
		_, err := NewPlanner(3, cfg, nil)
		require.ErrorIs(t, err, ErrConfig, "%+v", cfg)
	}
}

// The least Floor, with the least budget and the greatest costs, keeps every page polled at some
// frequency: those of weight 0 are found when all others are in flight.
func TestPlannerLeastFloor(t *testing.T) {
	t.Parallel()
	for _, spacing := range []Spacing{Even, Random} {
		for o := Objective(0); o < objectives; o++ {
			p := must(NewPlanner(6, PlannerConfig{Floor: 1e-100, Budget: 1e-100, Objective: o, Spacing: spacing}, rand.NewPCG(1, 3)))
			for page := range 6 {
				require.NoError(t, p.SetWeight(page, float64(page/3)))
				require.NoError(t, p.SetCost(page, 1e100))
			}
			for now := 0.0; now < 200; now++ {
				page := must(p.Next(now))
				require.NoError(t, p.Observe(page, now, int(now)%2 == 0))
			}
			for range 6 {
				_, err := p.Next(200)
				require.NoError(t, err, "%v %v", o, spacing)
			}
		}
	}
}

// The products of the least frequencies and time, which no float64 can hold, count too: pages at the
// same floor are polled in turn.
func TestPlannerFloorScales(t *testing.T) {
	t.Parallel()
	for _, extreme := range []struct{ budget, cost, unit float64 }{{1e-100, 1e100, 1e-100}, {1e100, 1e-100, 1e290}, {1, 1, 1}} {
		p := must(NewPlanner(5, PlannerConfig{Floor: 1e-100, Budget: extreme.budget}, nil))
		for page := range 5 {
			require.NoError(t, p.SetWeight(page, 0))
			require.NoError(t, p.SetCost(page, extreme.cost))
		}
		count := make([]int, 5)
		for k := 1; k <= 1000; k++ {
			now := float64(k) * extreme.unit
			page := must(p.Next(now))
			require.NoError(t, p.Observe(page, now, k%2 == 0))
			if k > 100 {
				count[Slot(page)]++
			}
		}
		require.Equal(t, []int{180, 180, 180, 180, 180}, count, "%+v", extreme)
		require.NoError(t, new(Planner).UnmarshalBinary(must(p.MarshalBinary())))
	}
}

// Where polls cost unequal amounts, a planner spends its budget on them near the optimum at the
// true rates, also after it was saved.
func TestPlannerCosts(t *testing.T) {
	t.Parallel()
	const n, budget, span = 60, 30.0, 800.0
	rng := rand.New(rand.NewPCG(3, 3))
	best := Problem{Budget: budget, Objective: Detections}
	for range n {
		best.Rates = append(best.Rates, math.Exp(rng.NormFloat64())/4)
		best.Costs = append(best.Costs, math.Exp2(float64(rng.IntN(7))-3))
	}
	for _, spacing := range []Spacing{Even, Random} {
		p := must(NewPlanner(n, PlannerConfig{Objective: Detections, Budget: budget, Spacing: spacing}, rand.NewPCG(1, 1)))
		for page, cost := range best.Costs {
			require.NoError(t, p.SetCost(page, cost))
		}
		env := must(webenv.NewPoisson(best.Rates, rand.NewPCG(1, 6)))
		found, from := 0, span/4
		for now := 0.0; now < span; {
			if now > span/2 && now < span/2+1 {
				data := must(p.MarshalBinary())
				p = new(Planner)
				require.NoError(t, p.UnmarshalBinary(data))
			}
			page := must(p.Next(now))
			_, changed := env.Poll(page, now)
			require.NoError(t, p.Observe(page, now, changed))
			if changed && now >= from {
				found++
			}
			now += best.Costs[page] / budget
		}
		best.Spacing = spacing
		x, price, err := best.Optimal()
		require.NoError(t, err)
		want := must(best.Value(x)) * (span - from)
		t.Logf("%v: found %d, at the true rates %.0f", spacing, found, want)
		require.InEpsilon(t, want, float64(found), 0.06)
		require.InEpsilon(t, price, p.Price(), 0.15)
	}
	p := must(NewPlanner(2, PlannerConfig{}, nil))
	require.ErrorIs(t, p.SetCost(0, 0), ErrConfig)
	require.ErrorIs(t, p.SetCost(5, 1), ErrUnknown)
}

// Time may be in any unit, however odd, and weights lie as far apart as they may.
func TestPlannerScales(t *testing.T) {
	t.Parallel()
	for _, unit := range []float64{1e-99, 1, 1e99} {
		for objective := range objectives {
			p := must(NewPlanner(3, PlannerConfig{Budget: 1 / unit, Method: MaximumLikelihood, Objective: objective}, nil))
			require.NoError(t, p.SetWeight(0, optimum.MostInput))
			require.NoError(t, p.SetWeight(1, optimum.LeastInput))
			for k := 1; k <= 300; k++ {
				now := float64(k) * unit
				require.NoError(t, p.Observe(must(p.Next(now)), now, k%3 == 0))
			}
			data, err := p.MarshalBinary()
			require.NoError(t, err)
			require.NoError(t, new(Planner).UnmarshalBinary(data))
		}
	}
}

// Estimates stay within the range of inputs, whatever the unit of time is.
func TestPlannerUnits(t *testing.T) {
	t.Parallel()
	for method := range RateMethod(rateMethodNames.Len()) {
		for _, unit := range []float64{5e-324, 1e-310, 1e-308, 1e-100, 1e100, 1e296} {
			p := must(NewPlanner(3, PlannerConfig{Method: method}, nil))
			for k := range 200 {
				now := float64(k+1) * unit
				page := must(p.Next(now))
				require.NoError(t, p.Observe(page, now, page < 2 && k%2 == 0), "%v, polls %v apart", method, unit)
				data := must(p.MarshalBinary())
				require.NoError(t, new(Planner).UnmarshalBinary(data), "%v, polls %v apart", method, unit)
			}
		}
	}
}

// Where polls are as dear and as rare as settings allow, the price is a number all the same.
func TestPlannerPriceIsFinite(t *testing.T) {
	t.Parallel()
	p := must(NewPlanner(1, PlannerConfig{Budget: 1e-100, Objective: Age}, nil))
	require.NoError(t, p.SetCost(0, 1e100))
	require.NoError(t, p.SetWeight(0, 1e100))
	for k := range 40 {
		now := float64(k) * 1e201
		if page, err := p.Next(now); err == nil {
			require.NoError(t, p.Observe(page, now, k%2 == 0))
		}
	}
	require.Equal(t, math.MaxFloat64, p.Price())
}

// The mean of costs at the end of their range, which rounding may lead out of it, is one that can be loaded.
func TestPlannerLeastCosts(t *testing.T) {
	t.Parallel()
	const n = 19
	p := must(NewPlanner(n, PlannerConfig{}, nil))
	for page := range n {
		require.NoError(t, p.SetCost(page, 1e-100))
	}
	for now := range n {
		page := must(p.Next(float64(now)))
		require.NoError(t, p.Observe(page, float64(now), true))
	}
	require.NoError(t, new(Planner).UnmarshalBinary(saved(t, p)))
}

// Where answers come within a millionth of the time between polls pages are as fresh as where they come at once,
// and no page keeps the rate that would follow from the first of them.
func TestPlannerWhoseFirstAnswersComeSoon(t *testing.T) {
	t.Parallel()
	const n, cycles, webs = 5, 200, 20
	for method := MaximumLikelihood; method <= Avrachenkov; method++ {
		var fresh [2]float64
		for k, latency := range []float64{0, 1e-6 / n} {
			for seed := range uint64(webs) {
				rng := rand.New(rand.NewPCG(seed, 4))
				p := must(NewPlanner(n, PlannerConfig{Budget: n, Method: method}, nil))
				var rates, last [n]float64
				for i := range rates {
					rates[i] = math.Exp(rng.NormFloat64() - 0.5)
				}
				for i := range cycles * n {
					now := float64(i) / n
					page := must(p.Next(now))
					gap := now - last[page]
					fresh[k] += gap * Freshness.Value(Even, rates[page], 1/gap) / (cycles * n * webs)
					last[page] = now
					require.NoError(t, p.Observe(page, now+latency, rng.ExpFloat64() < rates[page]*gap))
				}
				for page := range n {
					require.Less(t, must(p.Rate(page)), 1000.0, "%v: page %d", method, page)
				}
			}
		}
		require.Greater(t, fresh[1], 0.98*fresh[0], "%v", method)
	}
}

// Gamma is slow to learn that a page changes a hundred times as often as the mean page: here of the web of
// TestPlannerLearns in which pages differ most, whose busiest page is not the first one polled.
func TestGammaIsSlowFarFromTheMean(t *testing.T) {
	t.Parallel()
	const n = 500
	rates := mapped(zipf(n, 0.9, 1.5), slotRate)
	rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, j int) { rates[i], rates[j] = rates[j], rates[i] })
	found := func(s Scheduler) (changes float64) {
		rng := rand.New(rand.NewPCG(7, 7))
		var last [n]float64
		for k := range 20_000 {
			now := float64(k)
			page := must(s.Next(now))
			changed := rng.ExpFloat64() < rates[page]*(now-last[page])
			last[page] = now
			if changed && k > 10_000 {
				changes++
			}
			require.NoError(t, s.Observe(page, now, changed))
		}
		return changes
	}
	known := found(must(NewFixed(rates, Even, nil)))
	by := func(m RateMethod) float64 {
		return found(must(NewPlanner(n, PlannerConfig{Objective: Detections, Method: m}, nil))) / known
	}
	require.Greater(t, by(MaximumLikelihood), 0.95)
	require.Less(t, by(Gamma), 0.9)
}
