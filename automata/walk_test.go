package automata

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWalkRules(t *testing.T) {
	t.Parallel()
	w := must(NewWalk(4, 2))
	for s, x := range map[int]float64{1: 1.0 / 16, 2: 0.25, 3: 9.0 / 16, 4: 1} {
		require.Equal(t, x, w.Amount(s))
	}
	for _, c := range []struct {
		state        int
		reward, full bool
		next         int
	}{
		{2, true, false, 3}, {4, true, false, 4}, // there is room
		{2, false, false, 2}, {1, false, false, 1},
		{2, false, true, 1}, {1, false, true, 1}, // it is full
		{2, true, true, 2}, {4, true, true, 4},
	} {
		require.Equal(t, c.next, w.StepFull(c.state, c.reward, c.full), "%+v", c)
	}
	require.Equal(t, []int{2, 4, 1, 3}, []int{w.Step(1, true), w.Step(4, true), w.Step(1, false), w.Step(4, false)})
	require.Panics(t, func() { w.Amount(0) })
	require.Panics(t, func() { w.Amount(5) })
	require.Panics(t, func() { w.State(math.NaN()) })
}

// TestWalkStateIsNearest compares State with a look at all states.
func TestWalkStateIsNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := must(NewWalk(rapid.IntRange(1, 60).Draw(t, "N"), rapid.Float64Range(0.2, 4).Draw(t, "λ")))
		x := rapid.Float64Range(-0.5, 1.5).Draw(t, "amount")
		want := 1
		for s := range len(w.amounts) {
			if math.Abs(w.Amount(s+1)-x) < math.Abs(w.Amount(want)-x) {
				want = s + 1
			}
		}
		require.Equal(t, want, w.State(x))
		for s := 1; s <= len(w.amounts); s++ {
			require.Equal(t, s, w.State(w.Amount(s)))
		}
	})
}

// Amounts that an extreme exponent makes equal are equally near.
func TestWalkStateOfEqualAmounts(t *testing.T) {
	t.Parallel()
	low := must(NewWalk(5, 1e5)) // 0, 0, 0, 0, 1
	require.Equal(t, []int{1, 1, 1, 5, 5}, []int{low.State(-1), low.State(0), low.State(0.5), low.State(0.6), low.State(2)})
	high := must(NewWalk(5, 1e-300)) // all 1
	require.Equal(t, []int{1, 1, 1}, []int{high.State(0), high.State(1), high.State(2)})
}

// page returns the rates up and down of the walk of a page that changes with
// probability p per slot and is polled with probability x: it is found changed with
// probability d = p/(1 − (1−p)(1−x)) (Yazidi 2006, whose simulation polls so).
func page(w *Walk, p float64) (up, down []float64) {
	for s := 1; s <= len(w.amounts); s++ {
		x := w.Amount(s)
		d := p / (1 - (1-p)*(1-x))
		up, down = append(up, x*d), append(down, x*(1-d))
	}
	return up, down
}

// TestWalkMeans compares the mean amounts of the closed form with figures computed
// elsewhere, for a walk as described and one that steps up with probability 1 − x.
func TestWalkMeans(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64][6]float64{ // N = 8, 16, 64, described and damped
		0.05: {0.1494, 0.1454, 0.0866, 0.0841, 0.0463, 0.0441},
		0.1:  {0.1760, 0.1655, 0.1170, 0.1084, 0.1009, 0.0903},
		0.25: {0.3039, 0.2408, 0.2937, 0.2190, 0.3249, 0.2426},
		0.3:  {0.3719, 0.2735, 0.3872, 0.2669, 0.4203, 0.2931},
	} {
		for k, n := range []int{8, 16, 64} {
			w := must(NewWalk(n, 1))
			up, down := page(w, p)
			mean := func() float64 {
				m := 0.0
				for i, q := range must(BirthDeath(up, down)) {
					m += q * w.Amount(i+1)
				}
				return m
			}
			require.InDelta(t, want[2*k], mean(), 0.00005, "P %v N %d", p, n)
			for i := range up {
				up[i] *= 1 - w.Amount(i+1)
			}
			require.InDelta(t, want[2*k+1], mean(), 0.00005, "P %v N %d, damped", p, n)
		}
	}
}

// TestWalkAgainstBirthDeath runs a page and compares the share of time in each
// state with the closed form; 4.5 standard errors of the chain's asymptotic variance.
//
// The changed flag is not independent from poll to poll within the run: it has its
// own state, so the run draws it from the conditional probability d instead, which
// the closed form takes for granted.
func TestWalkAgainstBirthDeath(t *testing.T) {
	t.Parallel()
	const steps, n = 200_000, 6
	w := must(NewWalk(n, 1.3))
	up, down := page(w, 0.3)
	pi := must(BirthDeath(up, down))
	chain := make([][]float64, n)
	for s := range chain {
		chain[s] = make([]float64, n)
		chain[s][w.Step(s+1, true)-1] += up[s]
		chain[s][w.Step(s+1, false)-1] += down[s]
		chain[s][s] += 1 - up[s] - down[s]
	}
	require.InDeltaSlice(t, stationaryOf(chain), pi, 1e-12)

	src := rand.NewPCG(1, 2)
	count := make([]float64, n)
	state := w.State(0.5)
	for range steps {
		count[state-1]++
		if x := w.Amount(state); uniform(src) < x { // polled
			state = w.Step(state, uniform(src) < up[state-1]/x)
		}
	}
	for s := range pi {
		f := make([]float64, n)
		f[s] = 1
		se := math.Sqrt(asymptoticVariance(chain, pi, f) / steps)
		require.InDelta(t, pi[s], count[s]/steps, 4.5*se, "state %d, standard error %v", s+1, se)
	}
}

func TestBirthDeath(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float64{1}, must(BirthDeath([]float64{0.3}, []float64{0.7})))
	// Two states: in the ratio of the rates.
	require.InDeltaSlice(t, []float64{0.25, 0.75}, must(BirthDeath([]float64{0.3, 9}, []float64{9, 0.1})), 1e-15)
	// An upper end that is never left takes all; so does a lower end.
	require.Equal(t, []float64{0, 0, 1}, must(BirthDeath([]float64{0.1, 0.1, 0}, []float64{0, 0.5, 0})))
	require.Equal(t, []float64{1, 0, 0}, must(BirthDeath([]float64{0, 0.1, 0}, []float64{0, 0.5, 0.5})))
	// The smallest numbers are as good as others.
	const least = math.SmallestNonzeroFloat64
	require.InDeltaSlice(t, []float64{0.25, 0.75}, must(BirthDeath([]float64{3 * least, 0}, []float64{0, least})), 1e-12)
	require.InDelta(t, 0x1p-1070, must(BirthDeath([]float64{0x1p-1070, 0}, []float64{0, 1}))[1], 0x1p-1074)
	// A drift over many states does not overflow.
	n := 100_000
	up, down := make([]float64, n), make([]float64, n)
	for s := range up {
		up[s], down[s] = 0.9, 0.1
	}
	pi := must(BirthDeath(up, down))
	require.InDelta(t, 8.0/9, pi[n-1], 1e-9)

	for name, c := range map[string][2][]float64{
		"empty":            {nil, nil},
		"lengths":          {{1, 1}, {1}},
		"negative":         {{-0.1, 0}, {0, 0.5}},
		"not a number":     {{0.1, 0}, {0, math.NaN()}},
		"infinite":         {{math.Inf(1), 0}, {0, 1}},
		"two ends":         {{0, 0.1, 0}, {0, 0.1, 0}},
		"two ends of four": {{0, 0.1, 0.1, 0}, {0, 0.1, 0.1, 0}},
	} {
		_, err := BirthDeath(c[0], c[1])
		require.ErrorIs(t, err, ErrConfig, name)
	}
	// Against the solved chain.
	rapid.Check(t, func(t *rapid.T) {
		up := rapid.SliceOfN(rapid.Float64Range(0.01, 0.5), 2, 8).Draw(t, "up")
		down := rapid.SliceOfN(rapid.Float64Range(0.01, 0.5), len(up), len(up)).Draw(t, "down")
		chain := make([][]float64, len(up))
		for s := range chain {
			chain[s] = make([]float64, len(up))
			chain[s][s] = 1
			if s+1 < len(up) {
				chain[s][s+1] = up[s]
				chain[s][s] -= up[s]
			}
			if s > 0 {
				chain[s][s-1] = down[s]
				chain[s][s] -= down[s]
			}
		}
		require.InDeltaSlice(t, stationaryOf(chain), must(BirthDeath(up, down)), 1e-9)
	})
}

// TestOverloadRules has every state of a small automaton.
func TestOverloadRules(t *testing.T) {
	t.Parallel()
	o := must(NewOverload(6, 2))
	for state, next := range map[int][2]int{2: {4, 2}, 3: {5, 2}, 4: {6, 3}, 5: {5, 4}, 6: {6, 5}} {
		require.Equal(t, next, [2]int{o.Step(state, true), o.Step(state, false)}, "state %d", state)
	}
	for _, state := range []int{1, 7} {
		require.Panics(t, func() { o.Step(state, true) })
		require.Panics(t, func() { o.Select(state, heads) })
	}
	require.Panics(t, func() { o.Select(2, nil) })
	require.Equal(t, 1.0/9, o.Probability(2))
	require.Equal(t, 1.0, o.Probability(6))
	require.True(t, o.Select(2, heads))
	require.False(t, o.Select(2, tails))
	require.True(t, o.Select(6, tails), "probability 1")
}

// TestOverloadDrift checks the claim of the documentation: from overloads with
// probability q the state drifts up if q > 1/3 and down if q < 1/3.
func TestOverloadDrift(t *testing.T) {
	t.Parallel()
	mean := func(q float64) float64 {
		o := must(NewOverload(40, 1))
		p := make([][]float64, 40)
		for s := range p {
			p[s] = make([]float64, 40)
			p[s][o.Step(s+1, true)-1] += q
			p[s][o.Step(s+1, false)-1] += 1 - q
		}
		m := 0.0
		for s, share := range stationaryOf(p) {
			m += share * float64(s+1)
		}
		return m
	}
	require.Less(t, mean(0.28), 10.0)
	require.Greater(t, mean(0.39), 30.0)
}
