package belief

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A leaning moves the mean of a prior by as many nats as it is told and leaves its width, as far as the
// grid goes; none leaves all as it is. Numbers that are out of bounds lean as far as can be.
func TestLeaning(t *testing.T) {
	t.Parallel()
	const mean, variance = 9.5, 5.0
	var normal Row
	for k := range normal {
		normal[k] = math.Exp(-(float64(k) - mean) * (float64(k) - mean) / (2 * variance))
	}
	for _, nats := range []float64{-1, -0.3, 0, 0.3, 1} {
		x, sum := normal, 0.0
		for k, by := range Leaning(nats, variance) {
			x[k] *= by
			sum += x[k]
		}
		for k := range x {
			x[k] /= sum
		}
		moved, width := Moments(&x)
		require.InDelta(t, mean+nats/Step, moved, 0.06)
		require.InEpsilon(t, variance, width, 0.02)
	}
	for _, by := range Leaning(0, 3) {
		require.Equal(t, 1.0, by)
	}
	require.Equal(t, Leaning(0.1, 1), Leaning(0.1, 0), "a prior without width leans as one of a cell does")
	require.Equal(t, Leaning(0, 1), Leaning(0, 0))
	require.NotEqual(t, Leaning(0, 1), Leaning(0.1, 0))
	require.Equal(t, Leaning(9, 0), Leaning(1e300, 5))
	require.Equal(t, Leaning(-9, 1), Leaning(math.Inf(-1), 5))
}

// What a page's polls have ruled out stays so, wherever the others of its group are: a page that was
// polled often and never found changed is not expected to change.
func TestLeaningLeavesWhatIsKnown(t *testing.T) {
	t.Parallel()
	m := NewModel(Worth{Table: survive(), Chance: true, Slowest: 64})
	m.Begin(1)
	chance := func(polls int) float64 {
		var b Belief
		p := m.Fresh()
		m.Unpack(&p, &b)
		for range polls {
			m.Learn(&b, 1, 1, false)
		}
		b.Lean(Leaning(2, 9))
		rates := b.Marginal(0)
		return 1 - m.Survival(&rates, 1)
	}
	require.Greater(t, chance(0), 0.6)
	require.Less(t, chance(40), 0.05)
}
