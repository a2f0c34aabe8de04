package pairs

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fullSets returns all sets of items with a load in the window.
func fullSets(w []int64, c, window int64) [][]int32 {
	var all [][]int32
	for bits := range 1 << len(w) {
		var set []int32
		load := int64(0)
		for i, x := range w {
			if bits>>i&1 == 1 {
				set = append(set, int32(i))
				load += x
			}
		}
		if load <= c && load >= c-window {
			all = append(all, set)
		}
	}
	return all
}

// The tables give the use of each item that a list of all patterns gives.
func TestSpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Int64Range(5, 40).Draw(t, "capacity")
		w := rapid.SliceOfN(rapid.Int64Range(1, c), 1, 9).Draw(t, "weights")
		window := rapid.Int64Range(0, c/4).Draw(t, "window")
		d := newSpread(w, c, window, 3)
		for i := range d.t {
			d.t[i] = rapid.Float64Range(.01, 5).Draw(t, "factor")
		}
		total, use := 0.0, make([]float64, len(w))
		for _, set := range fullSets(w, c, window) {
			x := 1.0
			for _, i := range set {
				x *= d.t[i]
			}
			total += x
			for _, i := range set {
				use[i] += x
			}
		}
		require.Equal(t, total > 0, d.fill(context.Background()))
		if total > 0 {
			for i := range use {
				require.InDelta(t, 3*use[i]/total, d.use[i], 1e-9)
			}
		}
	})
}

// Patterns are drawn in proportion to the products of their factors: of 6000 draws, chi-squared with
// 6 degrees of freedom is above 22.5 once in 1000 times.
func TestDraw(t *testing.T) {
	t.Parallel()
	w := []int64{3, 4, 5, 6, 7, 8}
	sets := fullSets(w, 15, 1)
	d := newSpread(w, 15, 1, 2)
	total := 0.0
	for i := range d.t {
		d.t[i] = .3 + .2*float64(i)
	}
	weight := func(set []int32) float64 {
		x := 1.0
		for _, i := range set {
			x *= d.t[i]
		}
		return x
	}
	for _, set := range sets {
		total += weight(set)
	}
	require.True(t, d.fill(context.Background()))
	const draws = 6000
	count := make(map[string]float64)
	rng := rand.New(rand.NewPCG(5, 6))
	for range draws {
		p := d.draw(rng)
		require.True(t, slices.IsSorted(p))
		count[keyOf(p)]++
	}
	chi := 0.0
	for _, set := range sets {
		want := draws * weight(set) / total
		chi += math.Pow(count[keyOf(set)]-want, 2) / want
	}
	require.Len(t, sets, 7)
	require.Less(t, chi, 22.5)
}

// The pool of a problem without waste has the use of each item near 1, and nothing but full bins.
func TestPool(t *testing.T) {
	t.Parallel()
	p := threes(rand.New(rand.NewPCG(7, 8)), 60, 3000)
	d := newSpread(p.Weights, p.Capacity, 0, p.Bins)
	pool := d.pool(context.Background(), rand.New(rand.NewPCG(1, 2)))
	require.NotEmpty(t, pool)
	for _, u := range d.use {
		require.InDelta(t, 1, u, .3)
	}
	for _, set := range pool {
		load := int64(0)
		for _, i := range set {
			load += p.Weights[i]
		}
		require.Equal(t, p.Capacity, load)
	}
	// An odd weight among even ones fills no bin.
	odd := slices.Clone(p.Weights)
	for i := range odd {
		odd[i] *= 2
	}
	odd[7]++
	require.Nil(t, newSpread(odd, 2*p.Capacity, 0, p.Bins).pool(context.Background(), rand.New(rand.NewPCG(1, 2))))
}
