package automata

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStationaryEnvironments compares the mean of 40,000 answers with Means, and
// their variance with that of the distribution: 4.5 standard errors. Answers lie
// in [0, 1], so those of the squared deviation are at most ½·sd/√n.
func TestStationaryEnvironments(t *testing.T) {
	t.Parallel()
	means := []float64{0.2, 0.5, 0.8}
	for name, c := range map[string]struct {
		env      Environment
		variance func(d float64) float64
	}{
		"P": {must(NewPModel(means...)), func(d float64) float64 { return d * (1 - d) }},
		"Q": {must(NewQModel(5, means...)), func(d float64) float64 { return d * (1 - d) / 5 }},
		"S": {must(NewSModel(0.15, means...)), func(d float64) float64 { return 0.15 * 0.15 / 3 }},
	} {
		require.Equal(t, 3, c.env.Actions(), name)
		require.Panics(t, func() { c.env.Respond(0, nil) })
		require.Panics(t, func() { c.env.Respond(3, heads) })
		src := rand.NewPCG(1, 2)
		for action, d := range means {
			const n = 40_000
			var sum, squares float64
			for range n {
				x := c.env.Respond(action, src)
				require.True(t, x >= 0 && x <= 1)
				if name == "Q" {
					require.InDelta(t, math.Round(x*5), x*5, 1e-12)
				}
				sum += x
				squares += (x - d) * (x - d)
			}
			v := c.variance(d)
			require.InDelta(t, d, sum/n, 4.5*math.Sqrt(v/n), name)
			require.InDelta(t, v, squares/n, 4.5*math.Sqrt(v/n)/2, name)
		}
	}
}

func TestPeriodic(t *testing.T) {
	t.Parallel()
	a, b := must(NewPModel(1, 0)), must(NewPModel(0, 1))
	env := must(NewPeriodic(3, a, b))
	src := rand.NewPCG(1, 2)
	var got []float64
	for range 12 {
		got = append(got, env.Respond(0, src))
	}
	require.Equal(t, []float64{1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0}, got)
	require.Equal(t, 2, env.Actions())
}

// TestMarkov compares the share of time in each environment with the stationary
// distribution of the transitions, 4.5 standard errors of the chain.
func TestMarkov(t *testing.T) {
	t.Parallel()
	transition := [][]float64{{0.9, 0.1, 0}, {0, 0.8, 0.2}, {0.5, 0, 0.5}}
	a, b, c := must(NewPModel(0, 0)), must(NewPModel(0.5, 0)), must(NewPModel(1, 0))
	env := must(NewMarkov(transition, a, b, c))
	require.Zero(t, env.(*switching).current)
	src := rand.NewPCG(1, 2)
	const n = 100_000
	count := make([]float64, 3)
	for range n {
		count[env.(*switching).current]++
		env.Respond(0, src)
	}
	pi := stationaryOf(transition)
	for i := range count {
		f := make([]float64, 3)
		f[i] = 1
		require.InDelta(t, pi[i], count[i]/n, 4.5*math.Sqrt(asymptoticVariance(transition, pi, f)/n))
	}
}

// The sum of probabilities may be off by rounding, and no more.
func TestMarkovSums(t *testing.T) {
	t.Parallel()
	a := must(NewPModel(0.1, 0.2))
	for _, off := range []float64{-0.9e-9, 0, 0.9e-9} {
		require.NoError(t, second(NewMarkov([][]float64{{0.5, 0.5 + off}, {1, 0}}, a, a)))
	}
	for _, off := range []float64{-1.1e-9, 1.1e-9} {
		require.ErrorIs(t, second(NewMarkov([][]float64{{0.5, 0.5 + off}, {1, 0}}, a, a)), ErrConfig)
	}
}

func TestBadEnvironments(t *testing.T) {
	t.Parallel()
	a, b := must(NewPModel(0.1, 0.2)), must(NewPModel(0.1, 0.2, 0.3))
	nan := math.NaN()
	for name, err := range map[string]error{
		"P":    second(NewPModel(0.1, nan)),
		"P 1":  second(NewPModel(0.1, 1.1)),
		"Q":    second(NewQModel(2, 0.1, -0.1)),
		"S":    second(NewSModel(0.1, 0.2, math.Inf(1))),
		"wide": second(NewSModel(0.2, 0.5, 0.1)),
		"nan":  second(NewSModel(nan, 0.5, 0.1)),
	} {
		require.ErrorIs(t, err, ErrReward, name)
	}
	for name, err := range map[string]error{
		"no actions":     second(NewPModel()),
		"one action":     second(NewSModel(0.1, 0.5)),
		"no steps":       second(NewQModel(0, 0.5, 0.5)),
		"no period":      second(NewPeriodic(0, a)),
		"none":           second(NewPeriodic(3)),
		"different":      second(NewPeriodic(3, a, b)),
		"rows":           second(NewMarkov([][]float64{{1}}, a, a)),
		"columns":        second(NewMarkov([][]float64{{1, 0}, {1}}, a, a)),
		"sum":            second(NewMarkov([][]float64{{1, 0}, {0.5, 0.4}}, a, a)),
		"negative":       second(NewMarkov([][]float64{{1, 0}, {1.5, -0.5}}, a, a)),
		"not a number":   second(NewMarkov([][]float64{{1, 0}, {nan, 0}}, a, a)),
		"different Mark": second(NewMarkov([][]float64{{1, 0}, {0, 1}}, a, b)),
	} {
		require.ErrorIs(t, err, ErrConfig, name)
	}
	require.ErrorContains(t, second(NewQModel(0, 0.5, 0.5)), "steps 0 ")
	require.ErrorContains(t, second(NewPeriodic(0, a)), "period 0 ")
	require.PanicsWithValue(t, "automata: environment 1 is nil", func() { _, _ = NewMarkov(nil, a, nil) })
}

func second[T any](_ T, err error) error { return err }

// TestTracking has the reason to prefer an ergodic scheme where the environment
// switches: after the switch L_R-I, absorbed, stays with what was best, and L_R-P
// follows. 10,000 answers of each environment.
func TestTracking(t *testing.T) {
	t.Parallel()
	share := func(a Automaton) float64 {
		env := must(NewPeriodic(10_000, must(NewPModel(0.9, 0.1)), must(NewPModel(0.1, 0.9))))
		src := rand.NewPCG(1, 2)
		run(t, a, env, src, 10_000)
		second := 0.0
		for _, action := range run(t, a, env, src, 10_000) {
			second += float64(action)
		}
		return second / 10_000
	}
	require.Less(t, share(must(NewLinear(2, 0.05, 0))), 0.01)
	require.Greater(t, share(must(NewLinear(2, 0.05, 0.05))), 0.85) // 0.9 in the limit
}
