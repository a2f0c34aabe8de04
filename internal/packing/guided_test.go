package packing

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostWorth returns the most that a pattern of the kinds from j on is worth, by trying all.
func mostWorth(m *master, j int, room int64) float64 {
	if j == m.m {
		return 0
	}
	best := 0.0
	for t := int64(0); t <= int64(m.demand[j]) && t*m.w[j] <= room; t++ {
		best = max(best, float64(t)*m.dual[j]+mostWorth(m, j+1, room-t*m.w[j]))
	}
	return best
}

// Of a capacity too large for a table the pricing finds the best pattern with each kind as its heaviest,
// unless it has enough of them: then it bounds the others.
func TestGuidedPricing(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 65))
		const c = 1 << 20
		weights := between(rng, 12, c/10, c/3)
		if seed%2 == 0 { // some are lighter than what the table tells apart
			copy(weights, between(rng, 4, 1, 200))
		}
		k := newKinds(weights)
		count := make([]int, len(k.w))
		for j := range count {
			count[j] = 1 + rng.IntN(2)
		}
		m := newMaster(k.w, count, c, standard)
		if seed%3 == 0 {
			m.columnsPerRound = 1
		}
		for j, w := range m.w {
			m.dual[j] = (.85 + .3*rng.Float64()) * float64(max(w, c/50)) / c
		}
		want := max(1, mostWorth(m, 0, c))
		patterns, best, ok := m.pricer.price(m)
		require.True(t, ok)
		require.Positive(t, m.pricer.shift)
		require.LessOrEqual(t, len(patterns), m.columnsPerRound)
		require.GreaterOrEqual(t, best, want-1e-12)
		require.Equal(t, want > 1+epsilon/10, len(patterns) > 0)
		if m.columnsPerRound > m.m {
			require.InDelta(t, want, best, epsilon)
		}
		heaviest := map[int32]bool{}
		for _, p := range patterns {
			load, value := int64(0), 0.0
			for _, e := range p {
				require.LessOrEqual(t, int(e.count), m.demand[e.kind])
				load += int64(e.count) * m.w[e.kind]
				value += float64(e.count) * m.dual[e.kind]
			}
			require.LessOrEqual(t, load, int64(c))
			require.Greater(t, value, 1.)
			require.False(t, heaviest[p[0].kind])
			heaviest[p[0].kind] = true
			found++
		}
	}
	require.Greater(t, found, 300)
}
