package packing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// anyProblem draws a problem with pins, given bins and conflicts or without, and returns its conflicts too.
func anyProblem(rng *rand.Rand) (in *Problem, pairs [][2]int) {
	in = plain(30, between(rng, 1+rng.IntN(40), 0, 20))
	n := len(in.Weights)
	if rng.IntN(2) == 0 {
		in.Uniform, in.Capacities = false, between(rng, 1+rng.IntN(n), 20, 40)
	}
	if rng.IntN(2) == 0 {
		in.Pins = slices.Repeat([]int{-1}, n)
		room := slices.Repeat([]int64{20}, n)
		for range rng.IntN(n + 1) {
			i, b := rng.IntN(n), rng.IntN(1+rng.IntN(in.Bins()))
			if in.Pins[i] < 0 && room[b] >= in.Weights[i] {
				in.Pins[i] = b
				room[b] -= in.Weights[i]
			}
		}
	}
	for range rng.IntN(60) {
		i, j := rng.IntN(n), rng.IntN(n)
		if i != j && (in.Pins == nil || in.Pins[i] < 0 || in.Pins[i] != in.Pins[j]) {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	in.Conflicts = NewConflicts(pairs)
	return in, pairs
}

// holds requires that a packing obeys all rules, and counts its bins.
func holds(t *testing.T, in *Problem, pairs [][2]int, p Packing) {
	load, used := make([]int64, in.Bins()), map[int]bool{}
	for i, b := range p.Bin {
		load[b] += in.Weights[i]
		used[b] = true
		require.LessOrEqual(t, load[b], in.Capacity(b))
		require.True(t, in.Pins == nil || in.Pins[i] < 0 || in.Pins[i] == b)
	}
	for _, c := range pairs {
		require.NotEqual(t, p.Bin[c[0]], p.Bin[c[1]])
	}
	require.Len(t, used, p.Bins)
}

// Next Fit never goes back: it packs as one that looks at every item of every bin, in any order.
func TestNextFit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 63))
	packed := 0
	for k := range 600 {
		in, pairs := anyProblem(rng)
		at := slices.Repeat([]int{-1}, len(in.Weights))
		if in.Pins != nil {
			at = slices.Clone(in.Pins)
		}
		fits := func(item, bin int) bool {
			load := in.Weights[item]
			for j, b := range at {
				if b == bin {
					load += in.Weights[j]
				}
			}
			return load <= in.Capacity(bin) && !slices.ContainsFunc(pairs, func(c [2]int) bool {
				return c[0] == item && at[c[1]] == bin || c[1] == item && at[c[0]] == bin
			})
		}
		var order []Ranked
		if k%2 == 0 {
			order = Decreasing(in.Weights)
		}
		current, left := 0, -1
		for i := range in.Weights {
			if order != nil {
				i = int(order[i].Item)
			}
			if at[i] >= 0 {
				continue
			}
			for current < in.Bins() && !fits(i, current) {
				current++
			}
			if current == in.Bins() {
				left = i
				break
			}
			at[i] = current
		}
		got, over := in.nextFit(order, nil)
		require.Equal(t, left, over)
		if left < 0 {
			require.Equal(t, at, got.Bin)
			holds(t, in, pairs, got)
			packed++
		}
	}
	require.Greater(t, packed, 200)
}

// Without an index of the conflicts there is a packing all the same, of all items into bins of one
// capacity, and what has none into given bins is packed by Next Fit if that can.
func TestRoughWithRules(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 63))
	packed, more := 0, 0
	for range 600 {
		in, pairs := anyProblem(rng)
		p, ok := in.hasty()
		s := in.rough()
		if ok {
			require.Equal(t, p, s.Packing)
			packed++
		} else if _, left := in.nextFit(nil, nil); left < 0 {
			more++
		} else {
			require.Nil(t, s.Bin)
		}
		require.True(t, ok || !in.Uniform)
		if s.Bin != nil {
			holds(t, in, pairs, s.Packing)
			require.LessOrEqual(t, s.Lower, s.Bins)
		}
	}
	require.Greater(t, packed, 300)
	require.Positive(t, more)
}
