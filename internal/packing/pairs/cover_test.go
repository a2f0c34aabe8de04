package pairs

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// exactCovers returns all choices of disjoint sets that hold n items.
func exactCovers(n int, sets [][]int32) [][]int32 {
	var all [][]int32
	var chosen []int32
	held := make([]bool, n)
	var cover func(i int)
	cover = func(i int) {
		for i < n && held[i] {
			i++
		}
		if i == n {
			all = append(all, append([]int32(nil), chosen...))
			return
		}
		for k, s := range sets {
			free, here := true, false
			for _, j := range s {
				free, here = free && !held[j], here || int(j) == i
			}
			if !free || !here {
				continue
			}
			for _, j := range s {
				held[j] = true
			}
			chosen = append(chosen, int32(k))
			cover(i + 1)
			chosen = chosen[:len(chosen)-1]
			for _, j := range s {
				held[j] = false
			}
		}
	}
	cover(0)
	return all
}

// requireCover requires that the chosen sets hold every item once.
func requireCover(t require.TestingT, n int, sets [][]int32, chosen []int32) {
	times := make([]int, n)
	for _, k := range chosen {
		for _, i := range sets[k] {
			times[i]++
		}
	}
	for _, x := range times {
		require.Equal(t, 1, x)
	}
}

// The exact end finds a cover if and only if trying all finds one.
func TestEnding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "items")
		set := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(n)-1), 1, 3, rapid.ID[int32])
		sets := rapid.SliceOfN(set, 1, 12).Draw(t, "sets")
		c := newCover(context.Background(), n, sets, rand.New(rand.NewPCG(1, 2)))
		e := newEnding(c)
		found := e.search()
		require.Equal(t, len(exactCovers(n, sets)) > 0, found)
		if found {
			requireCover(t, n, sets, e.chosen)
		}
	})
}

// Where sets and items form a tree, the shares are those of all covers.
func TestSharesOfATree(t *testing.T) {
	t.Parallel()
	sets := [][]int32{{0}, {0, 1}, {1}, {1, 2}, {2}, {2, 3}, {3}, {3, 4}, {4}, {2, 5}, {5}}
	const n = 6
	all := exactCovers(n, sets)
	share := make([]float64, len(sets))
	for _, chosen := range all {
		for _, k := range chosen {
			share[k] += 1 / float64(len(all))
		}
	}
	c := newCover(context.Background(), n, sets, rand.New(rand.NewPCG(1, 2)))
	for range 200 {
		c.pass()
	}
	require.InDeltaSlice(t, share, c.share, 1e-9)
}

// threes draws triples that fill bins of c.
func threes(rng *rand.Rand, bins int, c int64) *Problem {
	p := &Problem{Capacity: c, Bins: bins}
	for range bins {
		a := c/2 + 1 + rng.Int64N(c/3)
		b := 1 + rng.Int64N(c-a-1)
		p.Weights = append(p.Weights, a, b, c-a-b)
	}
	return p
}

// Of 300 items without waste a packing is found before the linear programme.
func TestCover(t *testing.T) {
	t.Parallel()
	p := threes(rand.New(rand.NewPCG(3, 4)), 100, 1000)
	s := newSearch(context.Background(), p, Config{})
	s.node()
	check(t, p, Answer{Verdict: Packed, Packing: s.packing}, true)
	require.Zero(t, s.lp.pivots)
	require.False(t, newSearch(context.Background(), p, Config{NoPool: true}).sample())

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, Undecided, Decide(ctx, p, Config{}).Verdict)
}

// An item without a pattern ends a try.
func TestCoverWithoutPattern(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	sets := make([][]int32, endSets+1)
	for k := range sets {
		sets[k] = []int32{int32(k % 5), 5 + int32(k%7)}
	}
	require.Nil(t, newCover(context.Background(), 13, sets, rng).again().try(context.Background(), rng))
}
