package binpack

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/worktest"
)

var large = flag.Bool("large", false, "measure how late Solve is on a million items")

// late returns a call of Solve.
func late[W Weight](b *testing.B, p Problem[W]) func(context.Context) {
	return func(ctx context.Context) {
		s, err := Solve(ctx, p, SolveConfig{Nodes: -1})
		require.NoError(b, err)
		require.NotEmpty(b, s.Bin)
		require.Positive(b, s.Lower)
	}
}

// BenchmarkSolveLateness measures how late Solve returns where its context ends, in processor time.
func BenchmarkSolveLateness(b *testing.B) {
	n, most := 10_000, 50*time.Millisecond
	if *large {
		n, most = 1_000_000, 1500*time.Millisecond
	}
	rng := rand.New(rand.NewPCG(1, 22))
	whole := func(low, high int) []int {
		w := make([]int, n)
		for i := range w {
			w[i] = low + rng.IntN(high-low+1)
		}
		return w
	}
	floats := make([]float64, n)
	for i := range floats {
		floats[i] = rng.Float64() / 2
	}
	decimals := slices.Clone(floats)
	for i, w := range decimals {
		decimals[i] = math.Round(1e6*w) / 1e6
	}
	// Half of the items are in conflict with the other half, and one item with half of all.
	conflicts, pins := make([][2]int, 0, n), make(map[int]int, n/100)
	for i := range n / 2 {
		conflicts = append(conflicts, [2]int{i, n - 1 - i}, [2]int{0, i + 1})
	}
	for i := 1; i < n; i += 100 {
		pins[i] = i / 20
	}
	given := whole(1000, 1006)
	differ, capacity := whole(1, 1<<36), 1<<40
	for _, c := range []struct {
		name string
		run  func(context.Context)
	}{
		{"floats", late(b, Problem[float64]{Weights: floats, Capacity: 1})},
		{"decimals", late(b, Problem[float64]{Weights: decimals, Capacity: 1})},
		{"81-kinds", late(b, Problem[int]{Weights: whole(20, 100), Capacity: 150})},
		{"1000-kinds", late(b, Problem[int]{Weights: whole(1, 1000), Capacity: 3000})},
		{"all-differ", late(b, Problem[int]{Weights: differ, Capacity: capacity})},
		{"given-bins", late(b, Problem[int]{Weights: whole(1, 1000), Capacities: given})},
		{"pins", late(b, Problem[int]{Weights: differ, Capacity: capacity, Pins: pins})},
		{"conflicts", late(b, Problem[int]{Weights: differ, Capacity: capacity, Conflicts: conflicts})},
		{"conflicts-and-pins", late(b, Problem[int]{Weights: differ, Capacity: capacity, Conflicts: conflicts, Pins: pins})},
		{"both-and-given-bins", late(b, Problem[int]{Weights: whole(1, 1000), Capacities: given, Conflicts: conflicts, Pins: pins})},
	} {
		b.Run(fmt.Sprintf("%s,n=%d", c.name, n), func(b *testing.B) { worktest.Lateness(b, most, c.run) })
	}
}
