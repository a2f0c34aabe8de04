package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Even spacing: over any window a page gets its share of polls to within a few, and its gaps are
// even.
func TestEvenSpacing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	x := []float64{0.05, 0.03, 0.01, 0.005, 0.005, 0}
	for range 900 {
		x = append(x, 0.001)
	}
	f, err := NewFixed(x, Even, nil)
	require.NoError(t, err)
	const polls = 200_000
	last := make([]int, len(x))
	count := make([]int, len(x))
	for k := 1; k <= polls; k++ {
		page, err := f.Next(float64(k))
		require.NoError(t, err)
		require.NoError(t, f.Observe(page, float64(k), false))
		// All intervals are in step after the first ones.
		if gap := float64(k - last[page]); count[page] > 1 && k > polls/2 {
			require.InDelta(t, 1/x[page], gap, 5, "page %d", page)
		}
		last[page] = k
		count[page]++
	}
	for i, c := range count {
		require.InDelta(t, polls*x[i], float64(c), 1+0.02*polls*x[i], "page %d", i)
	}
}

// What the documentation says of the shares and the gaps that pages get with even spacing.
func TestEvenShares(t *testing.T) {
	t.Parallel()
	const polls = 30_000
	// run returns the shares of the polls over those of the frequencies, and the gaps over their mean.
	run := func(x []float64) (share, least, most []float64) {
		f := must(NewFixed(x, Even, nil))
		last, sum := make([]float64, len(x)), 0.0
		share, least, most = make([]float64, len(x)), slices.Repeat([]float64{polls}, len(x)), make([]float64, len(x))
		for k := range polls {
			now := float64(k)
			page := must(f.Next(now))
			require.NoError(t, f.Observe(page, now, false))
			if gap := now - last[page]; k > polls/4 {
				share[page] += 4. / 3 / polls
				least[page], most[page] = min(least[page], gap), max(most[page], gap)
			}
			last[page] = now
		}
		for _, xi := range x {
			sum += xi
		}
		for i, xi := range x {
			least[i], most[i] = least[i]*share[i], most[i]*share[i]
			share[i] *= sum / xi
		}
		return share, least, most
	}
	share, _, _ := run(append([]float64{450}, slices.Repeat([]float64{1}, 300)...))
	require.InDelta(t, .5/.6, share[0], 0.01)
	require.InDelta(t, 1.25, slices.Min(share[1:]), 0.03)
	require.InDelta(t, 1.25, slices.Max(share[1:]), 0.03)
	for seed := range uint64(20) {
		x := make([]float64, 45)
		rng := rand.New(rand.NewPCG(seed, 5))
		for i := range x {
			x[i] = .5 + rng.Float64()
		}
		share, least, most := run(x)
		require.Greater(t, slices.Min(share), 1-1./6)
		require.Less(t, slices.Max(share), 1+1./6)
		require.Greater(t, slices.Min(least), .5)
		require.Less(t, slices.Max(most), 1.5)
	}
}

// Random spacing: the counts of draws follow a multinomial law.
func TestRandomSpacing(t *testing.T) {
	t.Parallel()
	x := []float64{5, 3, 1, 0.5, 0.5, 0, 2, 8}
	const polls = 20000
	f, err := NewFixed(x, Random, rand.NewPCG(3, 4))
	require.NoError(t, err)
	count := make([]int, len(x))
	for k := range polls {
		page, err := f.Next(float64(k))
		require.NoError(t, err)
		require.NoError(t, f.Observe(page, float64(k), false))
		count[page]++
	}
	// χ² with 6 degrees of freedom exceeds 22.46 with probability 0.001.
	require.Zero(t, count[5])
	require.Less(t, chi2(count, x), 22.46)
}

// chi2 is Pearson's statistic of counts against weights, of which 0 is left out.
func chi2(count []int, weights []float64) float64 {
	n, total := 0, 0.0
	for i, w := range weights {
		n += count[i]
		total += w
	}
	stat := 0.0
	for i, w := range weights {
		if w > 0 {
			want := float64(n) * w / total
			stat += (float64(count[i]) - want) * (float64(count[i]) - want) / want
		}
	}
	return stat
}

// Frequencies count by their proportions, however great or small they and the times are.
func TestFixedScales(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{-1, 1.1e290, 1e308, math.Inf(1), math.NaN()} {
		_, err := NewFixed([]float64{1, x}, Even, nil)
		require.ErrorIs(t, err, ErrConfig, "%v", x)
		f := must(NewFixed([]float64{1, 0}, Even, nil))
		require.ErrorIs(t, f.SetFrequency(1, x), ErrConfig, "%v", x)
		f.roster.Set(1, x)
		require.ErrorIs(t, new(Fixed).UnmarshalBinary(must(f.MarshalBinary())), ErrCorrupt, "%v", x)
	}
	for _, spacing := range []Spacing{Even, Random} {
		for _, scale := range []float64{1e-320, 1e-100, 1, 1e289} {
			for _, unit := range []float64{1e-300, 1, 1e295} {
				f := must(NewFixed([]float64{scale, 2 * scale, 5 * scale}, spacing, rand.NewPCG(1, 2)))
				require.NoError(t, f.SetFrequency(f.Add(), 2*scale))
				count := make([]int, 4)
				for k := 1; k <= 1000; k++ {
					now := float64(k) * unit
					page := must(f.Next(now))
					require.NoError(t, f.Observe(page, now, false))
					count[Slot(page)]++
				}
				// χ² with 3 degrees of freedom exceeds 16.27 with probability 0.001.
				require.Less(t, chi2(count, []float64{1, 2, 5, 2}), 16.27, "%v polls at %v in %v", spacing, scale, unit)
			}
		}
	}
}
