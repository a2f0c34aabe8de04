package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// The delay of a change, at frequencies held for long, is what Value says it is: the cost of a
// unit of time over the changes in it. The mean of the delays of k polls of a page has a standard
// error of less than 1/√k of it, 1/8 % for all; four of them are allowed. There are so many pages
// that even spacing is as good as even.
func TestDelayIsMeasured(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	rates := slices.Repeat([]float64{0.1, 0.5, 1, 1, 4, 20}, 50)
	const budget, polls = 300.0, 600_000
	for s := Even; s < spacings; s++ {
		p := Problem{Rates: rates, Budget: budget, Objective: Delay, Spacing: s}
		x, _, err := p.Optimal()
		require.NoError(t, err)
		changes := 0.0
		for i, r := range rates {
			changes += r
			require.InEpsilon(t, math.Sqrt(r/rates[0]), x[i]/x[0], 1e-9, "x is proportional to √λ")
		}
		fixed := must(NewFixed(x, s, rand.NewPCG(3, 3)))
		got := must(webenv.Run(must(webenv.NewPoisson(rates, rand.NewPCG(1, 1))), fixed, webenv.RunConfig{Rate: budget, Polls: polls}))
		require.InEpsilon(t, -must(p.Value(x))/changes, got.Delay, 0.005, "%v", s)
	}
}

// On pages of constant rates that differ by orders of magnitude, polled once a cycle on average
// for 30 cycles, learning included, the delay goes more than 0.8 of the way from a uniform
// schedule to the best there is at the true rates.
func TestRateFilterDelay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n, cycles = 400, 30
	rng := rand.New(rand.NewPCG(4, 4))
	p := Problem{Objective: Delay, Rates: make([]float64, n), Budget: n}
	changes := 0.0
	for i := range n {
		p.Rates[i] = math.Exp(1.7*rng.NormFloat64() - 1)
		changes += p.Rates[i]
	}
	x, _, err := p.Optimal()
	require.NoError(t, err)
	best := -must(p.Value(x)) / changes
	opt := webenv.RunConfig{Rate: n, Duration: cycles}
	env := func() webenv.Env { return must(webenv.NewPoisson(p.Rates, rand.NewPCG(1, 5))) }
	f := must(webenv.Run(env(), rateFilter(Delay)(n, 0), opt)).Delay
	u := must(webenv.Run(env(), &inTurn{n: n}, opt)).Delay
	t.Logf("delay %.4f, uniform %.4f, best at the true rates %.4f: %.2f of the way", f, u, best, (u-f)/(u-best))
	require.Greater(t, (u-f)/(u-best), 0.8)
}
