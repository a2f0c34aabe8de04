package subsetsum

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/worktest"
)

// all returns the sum of every subset, by mask.
func all(amounts []int64) []int64 {
	sums := make([]int64, 1<<len(amounts))
	for mask := 1; mask < len(sums); mask++ {
		low := bits.TrailingZeros(uint(mask))
		sums[mask] = sums[mask&(mask-1)] + amounts[low]
	}
	return sums
}

// atMost returns the largest of sums up to limit.
func atMost(sums []int64, limit int64) int64 {
	best := int64(-1)
	for _, s := range sums {
		if s <= limit {
			best = max(best, s)
		}
	}
	return best
}

var instances = rapid.Custom(func(t *rapid.T) []int64 {
	size := rapid.SampledFrom([]int64{3, 70, 1000}).Draw(t, "size")
	return rapid.SliceOfN(rapid.Int64Range(1, size), 0, 12).Draw(t, "amounts")
})

func TestReach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkReach(t, instances.Draw(t, "amounts"), rapid.Int64Range(0, 3000).Draw(t, "limit"))
	})
	// Rapid prefers small numbers, of which the sums seldom cross from one word to the next.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		amounts := make([]int64, 9)
		for i := range amounts {
			amounts[i] = 1 + rng.Int64N(300)
		}
		checkReach(t, amounts, 1000+rng.Int64N(1000))
	}
}

func checkReach(t require.TestingT, amounts []int64, limit int64) {
	r := Reachable(append(amounts, 1<<45), limit) // 2⁴⁵/64 bits, cut to an int32, would be nothing
	sums := all(amounts)
	slices.Sort(sums)
	for v := range limit + 1 {
		k, found := slices.BinarySearch(sums, v)
		if found {
			require.Equal(t, v, r.AtMost(v))
			require.Equal(t, v, r.AtLeast(v))
			continue
		}
		require.Equal(t, sums[k-1], r.AtMost(v))
		if got := r.AtLeast(v); k == len(sums) || got != sums[k] {
			require.Equal(t, int64(-1), got)
			require.True(t, k == len(sums) || sums[k] > limit)
		}
	}
	most := r.AtMost(math.MaxInt64) // some sums above the limit are known
	require.Contains(t, sums, most)
	require.GreaterOrEqual(t, most, atMost(sums, limit))
}

func TestLargest(t *testing.T) {
	t.Parallel()
	var h Halves // shared, so that what is left in its memory would show
	rapid.Check(t, func(t *rapid.T) {
		amounts := instances.Draw(t, "amounts")
		if rapid.Bool().Draw(t, "large") {
			for i := range amounts {
				amounts[i] <<= 48
			}
		}
		checkLargest(t, &h, amounts, rapid.Int64Range(0, max(1, slices.Max(all(amounts))*5/4)).Draw(t, "limit"))
	})
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 { // as in TestReach
		amounts := make([]int64, 10)
		for i := range amounts {
			amounts[i] = 1 + rng.Int64N(150)
		}
		checkLargest(t, &h, amounts, rng.Int64N(800))
	}
	sum, _, _ := h.Largest([]int64{1}, -1, nil)
	require.EqualValues(t, -1, sum)
	_, _, ok := h.Largest([]int64{1, 2}, 1, worktest.Ended())
	require.False(t, ok)
	_, _, ok = LargestByTable([]int64{1, 2}, 1, nil, worktest.Ended())
	require.False(t, ok)
	_, ok = Largest([]int64{1, 2}, 1, make([]bool, 2), worktest.Ended())
	require.False(t, ok)
}

func checkLargest(t require.TestingT, h *Halves, amounts []int64, limit int64) {
	sums := all(amounts)
	want := atMost(sums, limit)

	taken := make([]bool, len(amounts))
	best, ok := Largest(amounts, limit, taken, nil)
	require.True(t, ok)
	require.Equal(t, want, best)
	sum := int64(0)
	for i, w := range amounts {
		if taken[i] {
			sum += w
		}
	}
	require.Equal(t, want, sum)

	got, mask, ok := h.Largest(amounts, limit, nil)
	require.True(t, ok)
	require.Equal(t, want, got)
	require.Equal(t, want, sums[mask])

	if limit > 1<<20 {
		return
	}
	got, chosen, ok := LargestByTable(append(amounts, 1<<45), limit, []int{7}, nil)
	require.True(t, ok)
	require.Equal(t, want, got)
	require.True(t, slices.IsSorted(chosen))
	sum = 0
	for _, i := range slices.Compact(chosen) {
		sum += amounts[i]
	}
	require.Equal(t, want, sum)
}

// TestSumsAreDifferent: equal sums are kept once, or many equal amounts would take
// 2^(n/2) memory.
func TestSumsAreDifferent(t *testing.T) {
	t.Parallel()
	list, ok := sums(slices.Repeat([]int64{2}, 20), 11, nil)
	require.True(t, ok)
	require.Equal(t, []int64{0, 2, 4, 6, 8, 10}, list)
}

// TestEqualSubsets pins which of several equal subsets is found: the solvers' results
// depend on it.
func TestEqualSubsets(t *testing.T) {
	t.Parallel()
	amounts := []int64{3, 1, 2, 2, 1, 3, 4, 1}
	taken := make([]bool, len(amounts))
	sum, ok := Largest(amounts, 8, taken, nil)
	require.True(t, ok)
	require.EqualValues(t, 8, sum)
	require.Equal(t, []bool{false, false, false, false, false, true, true, true}, taken)
	_, mask, _ := new(Halves).Largest(amounts, 8, nil)
	require.EqualValues(t, 0b11100000, mask)
	_, chosen, _ := LargestByTable(amounts, 8, nil, nil)
	require.Equal(t, []int{0, 1, 2, 3}, chosen)
}

func TestTables(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 9).Draw(t, "weights")
		values := rapid.SliceOfN(rapid.Int64Range(0, 9), len(weights), len(weights)).Draw(t, "values")
		c := rapid.Int64Range(0, 70).Draw(t, "c")
		weight, value := all(weights), all(values)
		want := make([]int64, c+1)
		for mask, w := range weight {
			for r := w; r <= c; r++ {
				want[r] = max(want[r], value[mask])
			}
		}
		table, marked := make([]int64, c+1), make([]int64, c+1)
		marks := make([][]uint64, len(weights))
		for i, w := range weights {
			marks[i] = make([]uint64, c/64+1)
			AddItem(table, w, values[i])
			before := slices.Clone(marked)
			AddItemMarked(marked, marks[i], w, values[i])
			for r := range marked {
				require.Equal(t, marked[r] > before[r], Marked(marks[i], int64(r)))
			}
		}
		require.Equal(t, want, table)
		require.Equal(t, want, marked)
		sum, room := int64(0), c
		for i := len(weights) - 1; i >= 0; i-- {
			if Marked(marks[i], room) {
				sum += values[i]
				room -= weights[i]
			}
		}
		require.Equal(t, want[c], sum)
	})
}

func TestAddCopies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		below := rapid.SliceOfN(rapid.Float64Range(0, 9), 1, 40).Draw(t, "below")
		w := rapid.OneOf(rapid.Int64Range(1, 9), rapid.Just[int64](1<<40)).Draw(t, "w")
		value := rapid.Float64Range(0, 3).Draw(t, "value")
		most := rapid.IntRange(0, 6).Draw(t, "most")
		table := make([]float64, len(below))
		AddCopies(table, below, w, value, most)
		for r := range below {
			best := below[r]
			for n := 1; n <= most && int64(n)*w <= int64(r); n++ {
				best = max(best, below[r-n*int(w)]+float64(n)*value)
			}
			require.Equal(t, best, table[r])
		}
	})
}
