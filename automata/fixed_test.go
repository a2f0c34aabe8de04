package automata

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func fixedSchemes(actions, states int) map[string]*fixed {
	return map[string]*fixed{
		"Tsetlin": must(NewTsetlin(actions, states)).(*fixed),
		"Krinsky": must(NewKrinsky(actions, states)).(*fixed),
		"Krylov":  must(NewKrylov(actions, states)).(*fixed),
	}
}

// A constant source makes the coin of Krylov fall one way.
type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

const heads, tails = constant(0), constant(math.MaxUint64)

// transitions builds the Markov chain of an automaton in a P-model environment by
// putting it into every state and calling Learn.
func transitions(t require.TestingT, a *fixed, rewards []float64) [][]float64 {
	n := a.actions * a.states
	p := make([][]float64, n)
	for s := range p {
		p[s] = make([]float64, n)
		action := s / a.states
		for _, coin := range []constant{heads, tails} {
			for reward, q := range []float64{1 - rewards[action], rewards[action]} {
				a.action, a.state = action, s%a.states+1
				require.NoError(t, a.Learn(action, float64(reward), coin))
				p[s][a.action*a.states+a.state-1] += q / 2
			}
		}
	}
	return p
}

// solve returns x with m·x = b, by Gaussian elimination; it uses up m and b.
func solve(m [][]float64, b []float64) []float64 {
	n := len(b)
	for c := range n {
		pivot := c
		for r := c; r < n; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		m[c], m[pivot], b[c], b[pivot] = m[pivot], m[c], b[pivot], b[c]
		for r := c + 1; r < n; r++ {
			f := m[r][c] / m[c][c]
			for k := c; k < n; k++ {
				m[r][k] -= f * m[c][k]
			}
			b[r] -= f * b[c]
		}
	}
	for c := n - 1; c >= 0; c-- {
		for k := c + 1; k < n; k++ {
			b[c] -= m[c][k] * b[k]
		}
		b[c] /= m[c][c]
	}
	return b
}

// stationaryOf returns the stationary distribution of an irreducible chain by the
// algorithm of Grassmann, Taksar & Heyman, which censors one state after the other
// and never subtracts, so that small probabilities are as exact as large ones.
func stationaryOf(chain [][]float64) []float64 {
	n := len(chain)
	p := make([][]float64, n)
	for s := range p {
		p[s] = slices.Clone(chain[s])
	}
	for s := n - 1; s > 0; s-- {
		leave := 0.0
		for j := range s {
			leave += p[s][j]
		}
		for i := range s {
			p[i][s] /= leave
			for j := range s {
				p[i][j] += p[i][s] * p[s][j]
			}
		}
	}
	pi, sum := make([]float64, n), 1.0
	pi[0] = 1
	for s := 1; s < n; s++ {
		for i := range s {
			pi[s] += pi[i] * p[i][s]
		}
		sum += pi[s]
	}
	for s := range pi {
		pi[s] /= sum
	}
	return pi
}

// asymptoticVariance returns the limit of n·Var(mean of f over n steps), from the
// solution g of the Poisson equation g − P·g = f − π·f:
//
//	σ² = Σ_s π(s)·f̃(s)·(2·g(s) − f̃(s)),  f̃ = f − π·f
func asymptoticVariance(p [][]float64, pi, f []float64) float64 {
	n := len(p)
	mean := 0.0
	for s := range f {
		mean += pi[s] * f[s]
	}
	m, b := make([][]float64, n), make([]float64, n)
	for r := range m {
		m[r] = make([]float64, n)
		for c := range m[r] {
			m[r][c] = -p[r][c] + pi[c] // adding π makes it regular and g centred
		}
		m[r][r]++
		b[r] = f[r] - mean
	}
	centred := append([]float64(nil), b...)
	g := solve(m, b)
	v := 0.0
	for s := range g {
		v += pi[s] * centred[s] * (2*g[s] - centred[s])
	}
	return v
}

// TestStationaryAgainstChain compares the closed forms with the numerically solved
// chain of the rule itself.
func TestStationaryAgainstChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		states := rapid.IntRange(1, 7).Draw(t, "states")
		rewards := rapid.SliceOfN(rapid.Float64Range(0.05, 0.95), 2, 4).Draw(t, "rewards")
		for name, a := range fixedSchemes(len(rewards), states) {
			pi := stationaryOf(transitions(t, a, rewards))
			got, err := a.Stationary(rewards)
			require.NoError(t, err)
			for i := range rewards {
				want := 0.0
				for _, p := range pi[i*states : (i+1)*states] {
					want += p
				}
				require.InDelta(t, want, got[i], 1e-12, "%s, action %d", name, i)
			}
		}
	})
}

// TestStationaryAgainstRuns compares them with long runs, 4.5 standard errors of
// the chain's own asymptotic variance.
func TestStationaryAgainstRuns(t *testing.T) {
	t.Parallel()
	const steps = 200_000
	rewards := []float64{0.55, 0.7, 0.4}
	env := must(NewPModel(rewards...))
	for name, a := range fixedSchemes(3, 3) {
		p := transitions(t, a, rewards)
		pi := stationaryOf(p)
		want := must(a.Stationary(rewards))
		src := rand.NewPCG(7, 8)
		count := make([]float64, 3)
		for range steps {
			action := a.Select(src)
			count[action]++
			require.NoError(t, a.Learn(action, env.Respond(action, src), src))
		}
		for i := range rewards {
			f := make([]float64, len(pi))
			for s := range f {
				if s/3 == i {
					f[s] = 1
				}
			}
			se := math.Sqrt(asymptoticVariance(p, pi, f) / steps)
			require.InDelta(t, want[i], count[i]/steps, 4.5*se, "%s, action %d, standard error %v", name, i, se)
		}
	}
}

// TestStationaryKnown has what the literature says of two actions.
func TestStationaryKnown(t *testing.T) {
	t.Parallel()
	// One state: both actions in the inverse ratio of their penalties.
	for name, a := range fixedSchemes(2, 1) {
		got := must(a.Stationary([]float64{0.8, 0.4}))
		require.InDelta(t, 0.75, got[0], 1e-15, name)
	}
	// Krinsky: c₂^N : c₁^N.
	got := must(must(NewKrinsky(2, 5)).Stationary([]float64{0.8, 0.6}))
	require.InDelta(t, 32.0/33, got[0], 1e-14)
	// The Tsetlin automaton is fooled where every action is mostly penalised: its
	// share of the best tends to a limit below 1. Krinsky and Krylov are not.
	poor := []float64{0.4, 0.2}
	require.InDelta(t, (0.8-0.2)/(0.6-0.4)/((0.8-0.2)/(0.6-0.4)+1), must(must(NewTsetlin(2, 400)).Stationary(poor))[0], 1e-9)
	require.Greater(t, must(must(NewKrinsky(2, 400)).Stationary(poor))[0], 1-1e-9)
	require.Greater(t, must(must(NewKrylov(2, 400)).Stationary(poor))[0], 1-1e-9)
}

// TestStationaryExtremes has large N, which must not overflow, and the ends of [0, 1].
func TestStationaryExtremes(t *testing.T) {
	t.Parallel()
	for name, a := range fixedSchemes(3, maxStates) {
		got := must(a.Stationary([]float64{0.9, 0.6, 0}))
		require.InDelta(t, 1, got[0], 1e-15, name)
		require.GreaterOrEqual(t, got[1], 0.0, name)
		require.Equal(t, []float64{0, 1, 0}, must(a.Stationary([]float64{0.9, 1, 0})), name)
		require.InDeltaSlice(t, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}, must(a.Stationary([]float64{0.5, 0.5, 0.5})), 1e-15, name)

		for _, bad := range [][]float64{nil, {0.5, 0.5}, {1, 1, 0}} {
			_, err := a.Stationary(bad)
			require.ErrorIs(t, err, ErrConfig, name)
		}
		for _, bad := range []float64{math.NaN(), -0.1, 1.1} {
			_, err := a.Stationary([]float64{0.5, bad, 0.5})
			require.ErrorIs(t, err, ErrReward, name)
		}
	}
}

// TestFixedRules walks through each rule by hand.
func TestFixedRules(t *testing.T) {
	t.Parallel()
	src := constant(0) // heads: Krylov takes the penalty for a reward
	type step struct {
		reward        float64
		action, state int
	}
	walk := func(a *fixed, coin constant, steps []step) {
		t.Helper()
		for k, s := range steps {
			action := a.Select(src)
			require.NoError(t, a.Learn((action+1)%3, 0, coin), "an answer for another action")
			require.NoError(t, a.Learn(action, s.reward, coin))
			require.Equal(t, [2]int{s.action, s.state}, [2]int{a.action, a.state}, "step %d", k)
		}
	}
	tsetlin := []step{{1, 0, 2}, {1, 0, 1}, {1, 0, 1}, {0, 0, 2}, {0, 0, 3}, {0, 1, 3}, {0, 2, 3}, {0, 0, 3}, {1, 0, 2}}
	walk(fixedSchemes(3, 3)["Tsetlin"], heads, tsetlin)
	walk(fixedSchemes(3, 3)["Krylov"], tails, tsetlin)
	walk(fixedSchemes(3, 3)["Krylov"], heads, []step{{0, 0, 2}, {0, 0, 1}, {0, 0, 1}})
	walk(fixedSchemes(3, 3)["Krinsky"], heads, []step{{1, 0, 1}, {0, 0, 2}, {0, 0, 3}, {1, 0, 1}, {0, 0, 2}, {0, 0, 3}, {0, 1, 3}, {1, 1, 1}})
	almostHalf, half := constant(1<<63-1), constant(1<<63)
	walk(fixedSchemes(3, 3)["Krylov"], almostHalf, []step{{0, 0, 2}})
	walk(fixedSchemes(3, 3)["Krylov"], half, []step{{0, 1, 3}})
	// A reward between 0 and 1 is a reward with that probability.
	walk(fixedSchemes(3, 3)["Tsetlin"], heads, []step{{0.1, 0, 2}})
	walk(fixedSchemes(3, 3)["Tsetlin"], tails, []step{{0.9, 1, 3}})
}
