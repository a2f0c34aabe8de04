package schedule

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

func TestBatchByHand(t *testing.T) {
	t.Parallel()
	// Total 40, shares 20, 12 and 8 of clients 1, 0 and 2.
	sizes := []float64{3, 14, 9, 7, 5, 2}
	performance := []float64{3, 5, 2}
	for variant, want := range map[BatchVariant]Plan{
		// 14 | 9 overflows; 9 | 7 overflows; 7 | 5 overflows; left 2, 3, 5 go to clients 2,
		// 0, 1.
		Literal: {0, 1, 0, 2, 1, 2},
		// Left 2, 3, 5: client 2 has 7 of 8 and no room; client 0 has 9 of 12 and takes 2;
		// client 1, the last, takes the others.
		FillToShare: {1, 1, 0, 2, 1, 0},
		// 14, then 5 fits (19), 9, then 3 (12); 7; left 2 to client 2.
		SkipOverflow: {0, 1, 0, 2, 1, 2},
	} {
		plan, err := Batch(sizes, performance, variant)
		require.NoError(t, err)
		require.Equal(t, want, plan, variant.String())
	}
	// Here the variants differ: shares of 15.
	sizes = []float64{8, 6, 5, 5, 3, 1, 1, 1}
	plan, err := Batch(sizes, []float64{1, 1}, Literal)
	require.NoError(t, err)
	// 8+6, 5 overflows; 5+5+3+1+1 is 15, then 1 overflows; left: 1 to client 1.
	require.Equal(t, Plan{0, 0, 1, 1, 1, 1, 1, 1}, plan)
	plan, err = Batch(sizes, []float64{1, 1}, SkipOverflow)
	require.NoError(t, err)
	require.Equal(t, Plan{0, 0, 1, 1, 1, 0, 1, 1}, plan)
	plan, err = Batch(sizes, []float64{1, 1}, FillToShare)
	require.NoError(t, err)
	require.Equal(t, Plan{0, 0, 1, 1, 1, 1, 1, 0}, plan)
	// A share may be filled to the full: 8 and 4. 6 | 3; left 1, with which client 1 has 4, and 2.
	plan, err = Batch([]float64{6, 3, 2, 1}, []float64{2, 1}, FillToShare)
	require.NoError(t, err)
	require.Equal(t, Plan{0, 1, 0, 1}, plan)
	// .5 exceeds the second of the shares, 1.125 and .375. Literal puts it back; the others keep the
	// first site of a batch whatever its size, and no second one, also where a batch is less than 1.
	for variant, want := range map[BatchVariant]Plan{Literal: {0, 0, 1}, FillToShare: {0, 1, 0}, SkipOverflow: {0, 1, 0}} {
		plan, err = Batch([]float64{.9, .5, .1}, []float64{3, 1}, variant)
		require.NoError(t, err)
		require.Equal(t, want, plan, variant.String())
	}
	// The largest site exceeds all shares, 5, 4 and 3: all sites are dealt, from 1 on, to the slowest
	// client first.
	plan, err = Batch([]float64{6, 3, 2, 1}, []float64{5, 3, 4}, Literal)
	require.NoError(t, err)
	require.Equal(t, Plan{1, 0, 2, 1}, plan)
}

// Sites that fill a share exactly are not left out by rounding, nor where the product of the sizes
// and a performance is no number.
func TestBatchExactFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes, performance []float64
		variant            BatchVariant
	}{
		{[]float64{6, 7, 7, 8, 8, 9, 9, 1}, []float64{8, 3}, FillToShare},
		{[]float64{9, 5, 7, 7, 8, 5, 6, 8}, []float64{1, 6, 4}, SkipOverflow},
	} {
		plan, err := Batch(c.sizes, c.performance, c.variant)
		require.NoError(t, err)
		load := make([]float64, len(c.performance))
		for z, j := range plan {
			load[j] += c.sizes[z]
		}
		for j, v := range c.performance {
			require.Equal(t, 5*v, load[j], c.variant.String())
		}
	}
	require.Equal(t, 0x1p599, part(0x1p600, 0x1p600, 0x1p601))
	require.Equal(t, 0x1p-601, part(0x1p-600, 0x1p-600, 0x1p-599))
}

func TestBatchErrors(t *testing.T) {
	t.Parallel()
	one := []float64{1}
	_, err := Batch(nil, one, Literal)
	require.ErrorIs(t, err, ErrProblem)
	_, err = Batch(one, nil, Literal)
	require.ErrorIs(t, err, ErrProblem)
	_, err = Batch([]float64{1, math.NaN()}, one, Literal)
	require.ErrorContains(t, err, "site 1")
	_, err = Batch(one, []float64{1, -1}, Literal)
	require.ErrorContains(t, err, "client 1")
	_, err = Batch(one, []float64{1, 0}, Literal)
	require.ErrorContains(t, err, "client 1")
	_, err = Batch([]float64{1, 0}, one, Literal)
	require.ErrorContains(t, err, "site 1")
	_, err = Batch([]float64{1e308, 1e308}, one, Literal)
	require.ErrorIs(t, err, ErrDuration)
	_, err = Batch(one, []float64{1e308, 1e308}, Literal)
	require.ErrorIs(t, err, ErrDuration)
	require.ErrorContains(t, err, "performances with sum +Inf")
	_, err = Batch(one, one, 3)
	require.ErrorIs(t, err, ErrConfig)
	_, err = Performance([]float64{1, 0})
	require.ErrorIs(t, err, ErrDuration)
	_, err = Performance([]float64{1e-308, 1e-308}) // whose sum is no number
	require.ErrorIs(t, err, ErrDuration)
	_, err = Performance(nil)
	require.ErrorIs(t, err, ErrProblem)
	v, err := Performance([]float64{1, 3})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{.75, .25}, v, 1e-15)
	v, err = Performance([]float64{.1, .3})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{.75, .25}, v, 1e-15)
}

func TestBatchCoversEverySite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Float64Range(1, 100), 1, 40).Draw(t, "sizes")
		performance := rapid.SliceOfN(rapid.Float64Range(.5, 2), 1, 6).Draw(t, "performance")
		variant := BatchVariant(rapid.IntRange(0, 2).Draw(t, "variant"))
		plan, err := Batch(sizes, performance, variant)
		require.NoError(t, err)
		units := make([]float64, len(performance))
		for j, v := range performance {
			units[j] = 1 / v
		}
		p := problem(t, must(NewUniform(sizes, units)), nil)
		require.NoError(t, p.Check(plan))
		// The heuristic knows neither units nor the order of equal clients: scaling all
		// sizes changes nothing.
		for z := range sizes {
			sizes[z] *= 4
		}
		again, err := Batch(sizes, performance, variant)
		require.NoError(t, err)
		require.Equal(t, plan, again)
	})
}

// TestFillToShareOverfillsTheFastestOnly sets clients aside that hold a site which exceeds
// their share by itself.
func TestFillToShareOverfillsTheFastestOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Float64Range(1, 100), 1, 40).Draw(t, "sizes")
		performance := rapid.SliceOfN(rapid.Float64Range(.5, 2), 1, 6).Draw(t, "performance")
		plan, err := Batch(sizes, performance, FillToShare)
		require.NoError(t, err)
		total, speed := 0.0, 0.0
		for _, s := range sizes {
			total += s
		}
		for _, v := range performance {
			speed += v
		}
		batches := plan.Batches(len(performance))
		for _, j := range instance.Descending(performance)[1:] {
			sum, largest := 0.0, 0.0
			for _, z := range batches[j] {
				sum += sizes[z]
				largest = max(largest, sizes[z])
			}
			if share := total * performance[j] / speed; largest <= share {
				require.LessOrEqual(t, sum, share*(1+1e-9), "client %d", j)
			}
		}
	})
}

func TestListsAndRoundRobin(t *testing.T) {
	t.Parallel()
	p := problem(t, must(NewIdentical([]int{4, 9, 4, 1}, 3)), nil)
	require.Equal(t, []int{1, 0, 2, 3}, p.LongestFirst())
	require.Equal(t, Plan{0, 1, 2, 0}, must(RoundRobin(p, nil)))
	require.Equal(t, Plan{1, 0, 2, 0}, must(RoundRobin(p, p.LongestFirst())))
	require.Equal(t, Plan{0, 1, 2, 0}, must(Pull(p, nil)))
	require.Equal(t, Plan{1, 1, 0, 1}, must(Pull(problem(t, must(NewIdentical([]int{1, 2, 5, 1}, 2)), nil), []int{2, 1, 0, 3})))
	for _, bad := range [][]int{{}, {0, 1, 2}, {0, 1, 2, 2}, {0, 1, 2, 4}, {0, 1, 2, -1}} {
		for _, plan := range []func(*Problem, []int) (Plan, error){Pull, RoundRobin} {
			_, err := plan(p, bad)
			require.ErrorIs(t, err, ErrPlan)
		}
	}
	// All are free at the start: the client numbered first comes first, fast or slow.
	// Starts and setups put it off.
	q := problem(t, must(NewUniform([]int{6, 2}, []int{3, 1})), nil)
	require.Equal(t, Plan{0, 1}, must(Pull(q, nil)))
	require.Equal(t, Plan{1, 1}, must(Pull(must(q.WithStarts([]float64{5, 0}, []float64{4, 1})), nil)))
}

func TestKarmarkarKarpByHand(t *testing.T) {
	t.Parallel()
	// 8 and 7 differ by 1, 6 and 5 by 1, so 4, 1, 1 are left: 4−1−1 = 2.
	p := problem(t, must(NewIdentical([]int{8, 7, 6, 5, 4}, 2)), nil)
	plan, err := KarmarkarKarp(p)
	require.NoError(t, err)
	require.Equal(t, 16.0, p.Makespan(plan))
	// Three sets, an instance with a perfect partition that differencing finds.
	p = problem(t, must(NewIdentical([]int{9, 8, 7, 1, 2, 3}, 3)), nil)
	plan, err = KarmarkarKarp(p)
	require.NoError(t, err)
	require.Equal(t, 10.0, p.Makespan(plan))
	for _, other := range []*Problem{must(NewUniform([]int{9, 8}, []int{1, 2})), must(p.WithStarts([]float64{0, 1, 0}, nil)), must(NewUnrelated([][]int{{1}}))} {
		_, err = KarmarkarKarp(other)
		require.ErrorIs(t, err, ErrProblem)
	}
}

func TestGuarantees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 3).Draw(t, "clients")
		durations := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 8).Draw(t, "durations")
		p := problem(t, must(NewIdentical(durations, m)), nil)
		best := bruteForce(p)
		require.LessOrEqual(t, p.Makespan(LPT(p)), best*(4./3-1/(3*float64(m)))+1e-9)
		require.LessOrEqual(t, p.Makespan(Multifit(p)), best*13/11+1e-9)
		units := rapid.SliceOfN(rapid.IntRange(1, 9), m, m).Draw(t, "units")
		q := problem(t, must(NewUniform(durations, units)), nil)
		require.LessOrEqual(t, q.Makespan(LPT(q)), bruteForce(q)*1.5773+1e-9)
	})
}

// TestBoundFormulas compares the bound by capacities with the closed formulas.
func TestBoundFormulas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 5).Draw(t, "clients")
		w := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 16).Draw(t, "sizes")
		slices.SortFunc(w, func(a, b int) int { return b - a })
		sum := 0
		for _, x := range w {
			sum += x
		}
		p := problem(t, must(NewIdentical(w, m)), nil)
		want := max(w[0], (sum+m-1)/m)
		for k := 1; k*m < len(w); k++ {
			pigeon := 0
			for i := 0; i <= k; i++ {
				pigeon += w[k*m-i]
			}
			want = max(want, pigeon)
		}
		require.GreaterOrEqual(t, LowerBound(p), float64(want))

		units := rapid.SliceOfN(rapid.IntRange(1, 9), m, m).Draw(t, "units")
		q := problem(t, must(NewUniform(w, units)), nil)
		slices.Sort(units)
		formula, work, speed := 0.0, 0.0, 0.0
		for k := 0; k < min(m, len(w)); k++ {
			speed += 1 / float64(units[k])
			if work += float64(w[k]); k < m-1 {
				formula = max(formula, work/speed)
			}
		}
		speed = 0
		for _, u := range units {
			speed += 1 / float64(u)
		}
		formula = max(formula, float64(sum)/speed)
		require.GreaterOrEqual(t, LowerBound(q), formula*(1-1e-12))
	})
}
