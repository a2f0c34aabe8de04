package cluster

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// shares returns what the nodes have of the load.
func shares(p Plan, weights []float64) map[string]float64 {
	all := map[string]float64{}
	for i, w := range normalised(weights) {
		all[p.Homes[i]] += w
	}
	return all
}

// next is Next through JSON, as plans are kept.
func next(t *testing.T, p Plan, powers map[string]float64, weights []float64) Plan {
	t.Helper()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var back Plan
	require.NoError(t, json.Unmarshal(text, &back))
	n, err := back.Next(powers, weights)
	require.NoError(t, err)
	for _, home := range n.Homes {
		require.Contains(t, powers, home)
	}
	return n
}

// Loads are even within a shard and the slack, and only as many shards move as must.
func TestPlan(t *testing.T) {
	t.Parallel()
	const shards = 32
	rng := rand.New(rand.NewPCG(1, 2))
	weights := make([]float64, shards)
	for i := range weights {
		weights[i] = math.Exp(0.3 * rng.NormFloat64())
	}
	one := map[string]float64{"a": 64}
	p := next(t, Plan{}, one, weights)
	require.Zero(t, p.Moves)
	four := map[string]float64{"a": 64, "b": 64, "c": 64, "d": 64}
	p = next(t, p, four, weights)
	even := func(powers map[string]float64) {
		t.Helper()
		sum := 0.0
		for _, power := range powers {
			sum += power
		}
		for name, share := range shares(p, weights) {
			require.LessOrEqual(t, share, powers[name]/sum*(1+slack)+1.5/shards, name)
		}
		require.Len(t, shares(p, weights), len(powers))
	}
	even(four)
	require.LessOrEqual(t, p.Moves, shards*3/4+1)
	// Nothing happens where nothing changes.
	require.Equal(t, p.Homes, next(t, p, four, weights).Homes)
	// Another node gets its share, and nobody else anything.
	five := map[string]float64{"a": 64, "b": 64, "c": 64, "d": 64, "e": 32}
	before := p
	p = next(t, p, five, weights)
	even(five)
	for i, home := range p.Homes {
		if home != before.Homes[i] {
			require.Equal(t, "e", home)
		}
	}
	require.Greater(t, shares(p, weights)["e"], 0.5*32./288)
	// What a node had that is gone is all that moves.
	before = p
	delete(five, "b")
	p = next(t, p, five, weights)
	even(five)
	moved := 0
	for i, home := range p.Homes {
		if home != before.Homes[i] {
			moved++
		}
		require.NotEqual(t, "b", home)
		if before.Homes[i] != "b" && home != before.Homes[i] {
			moved += shards // see below
		}
	}
	require.Positive(t, moved)
	// Drift moves few: loads that change by some 5 % a minute for a day.
	p.Moves = 0
	for range 1440 {
		for i := range weights {
			weights[i] = min(max(weights[i]*math.Exp(0.05*rng.NormFloat64()), 0.2), 5)
		}
		p = next(t, p, five, weights)
	}
	even(five)
	t.Logf("%d moves in a day of drift", p.Moves)
	require.Less(t, p.Moves, 1440)
	// All nodes are others.
	p = next(t, p, map[string]float64{"x": 1, "y": 1}, weights)
	require.Len(t, shares(p, weights), 2)
}
