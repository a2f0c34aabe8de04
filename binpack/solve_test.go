package binpack

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/packing"
	"github.com/recrawl/recrawl/internal/worktest"
)

// bruteBins tries every assignment of the items to bins, with nothing but the
// checker to tell a packing; 0 if there is none.
func bruteBins(p Problem[int]) int {
	n := len(p.Weights)
	bins := n
	if p.Capacities != nil {
		bins = len(p.Capacities)
	}
	best := 0
	bin := make([]int, n)
	load := make([]int, bins)
	var place func(i int)
	place = func(i int) {
		if i == n {
			got := Packing{Bin: slices.Clone(bin), Bins: len(slices.Compact(slices.Sorted(slices.Values(bin))))}
			if (best == 0 || got.Bins < best) && CheckPacking(p, got) == nil {
				best = got.Bins
			}
			return
		}
		for b := range bins {
			c := p.Capacity
			if p.Capacities != nil {
				c = p.Capacities[b]
			}
			if load[b]+p.Weights[i] <= c {
				load[b] += p.Weights[i]
				bin[i] = b
				place(i + 1)
				load[b] -= p.Weights[i]
			}
			// Without pins, empty bins of one capacity are all the same.
			if load[b] == 0 && p.Weights[i] > 0 && p.Capacities == nil && p.Pins == nil {
				return
			}
		}
	}
	place(0)
	return best
}

// solveProperty compares Solve with all packings of a few items.
func solveProperty(t *rapid.T) {
	p := drawProblem(t, 6)
	if rapid.Bool().Draw(t, "plain") {
		c := rapid.IntRange(5, 60).Draw(t, "plain c")
		p = Problem[int]{Weights: rapid.SliceOfN(rapid.IntRange(1, c), 1, 10).Draw(t, "plain w"), Capacity: c}
	}
	if len(p.Capacities) > 6 {
		p.Capacities = p.Capacities[len(p.Capacities)-6:]
	}
	for _, bin := range p.Pins {
		if p.Capacities != nil && bin >= len(p.Capacities) {
			p.Pins = nil
		}
	}
	if _, err := inUnits(p); err != nil {
		return
	}
	want := bruteBins(p)
	got, err := Solve(context.Background(), p, SolveConfig{Nodes: 1_000_000})
	if want == 0 {
		require.ErrorIs(t, err, ErrNoRoom)
		return
	}
	require.NoError(t, err)
	require.NoError(t, CheckPacking(p, got.Packing))
	require.Equal(t, want, got.Bins)
	require.True(t, got.Proved)
	require.Equal(t, got.Bins, got.Lower)
	proved, err := CheckBound(p, got.Certificate)
	require.NoError(t, err)
	require.LessOrEqual(t, proved, want)
}

func TestSolveProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, solveProperty)
}

// Different capacities, conflicts and pins: a few items are always proved. For most of them there is a
// certificate or a proof of a search, and none claims too much.
func TestCertificatesOfAnyProblem(t *testing.T) {
	t.Parallel()
	proved, certain := 0, 0
	for i := range 100 {
		p := mixed(rand.New(rand.NewPCG(uint64(i), 71)), 3+i%4)
		s, err := Solve(context.Background(), p, SolveConfig{})
		if err != nil {
			require.ErrorIs(t, err, ErrNoRoom)
			continue
		}
		n, err := CheckBound(p, s.Certificate)
		require.NoError(t, err)
		if s.Proof != nil {
			k, err := CheckProof(p, *s.Proof)
			require.NoError(t, err)
			n = max(n, k)
		}
		require.LessOrEqual(t, n, bruteBins(p))
		require.LessOrEqual(t, n, s.Lower)
		require.True(t, s.Proved)
		require.Equal(t, s.Lower, s.Bins)
		proved++
		if n == s.Lower {
			certain++
		}
	}
	t.Logf("%d of %d", certain, proved)
	require.Greater(t, certain*10, proved*9)
}

// Weights that sum to the most there may be, and capacities without limit, need as many bins as small
// ones that fit in the same way.
func TestSolveHuge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 7)
		p.Capacities = p.Capacities[max(0, len(p.Capacities)-4):]
		for _, bin := range p.Pins {
			if p.Capacities != nil && bin >= len(p.Capacities) {
				p.Pins = nil
			}
		}
		last := len(p.Weights) - 1
		for range rapid.IntRange(0, 3*last).Draw(t, "more conflicts") {
			if a, b := rapid.IntRange(0, last).Draw(t, "one"), rapid.IntRange(0, last).Draw(t, "other"); a != b {
				p.Conflicts = append(p.Conflicts, [2]int{a, b})
			}
		}
		sum := 0
		for _, w := range p.Weights {
			sum += w
		}
		factor, huge := packing.MaxTotal/max(sum, 1), p
		for _, all := range []*[]int{&huge.Weights, &huge.Capacities} {
			*all = slices.Clone(*all)
			for i := range *all {
				(*all)[i] *= factor
			}
		}
		huge.Capacity *= factor
		if sum*factor/factor != sum || slices.Max(append(p.Capacities, p.Capacity)) > math.MaxInt/factor || rapid.Bool().Draw(t, "unlimited") {
			p.Capacity, huge.Capacity = max(sum, 1), math.MaxInt
			for b := range p.Capacities {
				p.Capacities[b], huge.Capacities[b] = p.Capacity, math.MaxInt
			}
		}
		if _, err := inUnits(p); err != nil {
			return
		}
		want := bruteBins(p)
		got, err := Solve(context.Background(), huge, SolveConfig{Nodes: 1_000_000})
		if want == 0 {
			require.ErrorIs(t, err, ErrNoRoom)
			return
		}
		require.NoError(t, err)
		require.NoError(t, CheckPacking(huge, got.Packing))
		require.Equal(t, want, got.Bins)
		require.True(t, got.Proved)
	})
	// Seven items of which only conflicts count.
	conflicts := [][2]int{{0, 6}, {5, 2}, {1, 2}, {3, 4}, {6, 3}, {5, 6}, {5, 1}, {4, 2}, {6, 2}, {1, 4}}
	for _, w := range []uint64{0, 1 << 56} {
		for _, c := range []uint64{7*w + 1, 100*w + 1000, math.MaxUint64} {
			p := Problem[uint64]{Weights: slices.Repeat([]uint64{w}, 7), Capacity: c, Conflicts: conflicts}
			s, err := Solve(context.Background(), p, SolveConfig{})
			require.NoError(t, err)
			require.Equal(t, 3, s.Bins, "weights %d, capacity %d", w, c)
			require.True(t, s.Proved)
		}
	}
}

func FuzzSolve(f *testing.F) { f.Fuzz(rapid.MakeFuzz(solveProperty)) }

// solve solves a problem without a deadline and checks all there is to check.
func solve(t *testing.T, p Problem[int]) Solution {
	t.Helper()
	s, err := Solve(context.Background(), p, SolveConfig{})
	require.NoError(t, err)
	require.NoError(t, CheckPacking(p, s.Packing))
	n, err := CheckBound(p, s.Certificate)
	require.NoError(t, err)
	require.LessOrEqual(t, n, s.Lower)
	require.LessOrEqual(t, s.Lower, s.Bins)
	require.Equal(t, s.Lower == s.Bins, s.Proved)
	return s
}

func TestSolveFamilies(t *testing.T) {
	t.Parallel()
	for i := range 6 {
		rng := rand.New(rand.NewPCG(uint64(i), 21))
		require.True(t, solve(t, falkenauerU(rng, 250)).Proved)
		p := falkenauerT(rng, 60)
		s := solve(t, p)
		require.True(t, s.Proved)
		require.Equal(t, 20, s.Bins)
		require.True(t, solve(t, schwerin(rng, 100)).Proved)
		require.True(t, solve(t, scholl1(rng, 200, 120, 20)).Proved)
		require.True(t, solve(t, scholl2(rng, 100, 5, .5)).Proved)
		require.True(t, solve(t, uniform(rng, 100, 200, .1, .7)).Proved)
		if !testing.Short() && i < 3 {
			require.True(t, solve(t, hard28(rng)).Proved)
		}
	}
}

// The column generation by itself proves what no other bound does.
func TestSolveBeatsBounds(t *testing.T) {
	t.Parallel()
	better := 0
	for i := range 60 {
		p := uniform(rand.New(rand.NewPCG(uint64(i), 5)), 60, 300, .1, .7)
		b, err := LowerBounds(p)
		require.NoError(t, err)
		if s := solve(t, p); certified(s.Certificate) > b.Best {
			better++
		}
	}
	require.Positive(t, better)
}

func TestSolveDeterministic(t *testing.T) {
	t.Parallel()
	p := falkenauerT(rand.New(rand.NewPCG(9, 9)), 90)
	require.Equal(t, solve(t, p), solve(t, p))
}

func TestSolveAnytime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := falkenauerT(rand.New(rand.NewPCG(9, 9)), 120)
	s, err := Solve(ctx, p, SolveConfig{})
	require.NoError(t, err)
	require.NoError(t, CheckPacking(p, s.Packing))
	require.False(t, s.Proved)
	s, err = Solve(context.Background(), p, SolveConfig{Nodes: 1})
	require.NoError(t, err)
	require.Less(t, s.Lower, s.Bins)
}

// Floats: the bound is for the numbers as given, the packing never overfills.
func TestSolveFloats(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		rng := rand.New(rand.NewPCG(uint64(i), 31))
		p := Problem[float64]{Capacity: 1}
		for range 40 {
			p.Weights = append(p.Weights, .15+.35*rng.Float64())
		}
		s, err := Solve(context.Background(), p, SolveConfig{Nodes: 200})
		require.NoError(t, err)
		require.NoError(t, CheckPacking(p, s.Packing))
		require.LessOrEqual(t, s.Lower, s.Bins)
		if n, err := CheckBound(p, s.Certificate); err == nil {
			require.LessOrEqual(t, n, s.Lower)
		} else {
			require.ErrorIs(t, err, ErrTooHard)
		}
	}
	s, err := Solve(context.Background(), Problem[float64]{Weights: make([]float64, 5), Capacity: 1}, SolveConfig{})
	require.NoError(t, err)
	require.True(t, s.Proved)
	require.Equal(t, 1, s.Bins)
}

// An instance without the round-up property: the linear programme says 5 and
// there is no packing into 5, so that only the search can tell.
func TestSolveWithoutRoundUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		c         int
		w, demand [3]int
	}{{30, [3]int{15, 10, 6}, [3]int{3, 5, 9}}, {132, [3]int{44, 33, 12}, [3]int{5, 7, 17}}} {
		p := Problem[int]{Capacity: c.c}
		for j, w := range c.w {
			for range c.demand[j] {
				p.Weights = append(p.Weights, w)
			}
		}
		require.Equal(t, 6, fewest(c.c, c.w, c.demand, map[[3]int]int{}))
		s := solve(t, p)
		require.True(t, s.Proved)
		require.Equal(t, []int{5, 6, 6}, []int{certified(s.Certificate), s.Lower, s.Bins})
	}
}

// fewest is the fewest bins for the demand, by trying every pattern.
func fewest(c int, w, demand [3]int, known map[[3]int]int) int {
	if demand == [3]int{} {
		return 0
	}
	if n, ok := known[demand]; ok {
		return n
	}
	best := 1 << 30
	for x := range demand[0] + 1 {
		for y := range demand[1] + 1 {
			for z := range demand[2] + 1 {
				if load := x*w[0] + y*w[1] + z*w[2]; load > 0 && load <= c {
					best = min(best, 1+fewest(c, w, [3]int{demand[0] - x, demand[1] - y, demand[2] - z}, known))
				}
			}
		}
	}
	known[demand] = best
	return best
}

func BenchmarkSolve(b *testing.B) {
	for _, f := range []struct {
		name string
		draw func(*rand.Rand) Problem[int]
	}{
		{"FalkenauerU/n=250", func(r *rand.Rand) Problem[int] { return falkenauerU(r, 250) }},
		{"FalkenauerT/n=120", func(r *rand.Rand) Problem[int] { return falkenauerT(r, 120) }},
		{"Schwerin/n=100", func(r *rand.Rand) Problem[int] { return schwerin(r, 100) }},
		{"Hard28-like", hard28},
	} {
		b.Run(f.name, func(b *testing.B) {
			proved, runs := 0, 0
			for b.Loop() {
				p := f.draw(rand.New(rand.NewPCG(uint64(runs), 3)))
				s, err := Solve(context.Background(), p, SolveConfig{})
				if err != nil {
					b.Fatal(err)
				}
				runs++
				if s.Proved {
					proved++
				}
			}
			b.ReportMetric(100*float64(proved)/float64(runs), "proved-%")
		})
	}
}

// certified is the number of bins that a certificate claims.
func certified(c Certificate) int { return packing.Certificate(c).Bound() }

// A context that is over still gets a packing and a bound with its certificate, without a search.
func TestSolveInAHurry(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rng := rand.New(rand.NewPCG(9, 9))
	for _, whole := range []bool{true, false} {
		p := Problem[float64]{Weights: make([]float64, 8192), Capacity: 1}
		for i := range p.Weights {
			if p.Weights[i] = rng.Float64() / 8; whole {
				p.Weights[i] = math.Round(1000*p.Weights[i]) / 1000
			}
		}
		s, err := Solve(ctx, p, SolveConfig{})
		require.NoError(t, err)
		require.NoError(t, CheckPacking(p, s.Packing))
		require.Zero(t, s.Nodes)
		require.LessOrEqual(t, s.Lower, s.Bins)
		require.Greater(t, 2*s.Lower, s.Bins-1)
		if whole { // the check of others would take too long
			bound, err := CheckBound(p, s.Certificate)
			require.NoError(t, err)
			require.Equal(t, s.Lower, bound)
		}
	}
	s, err := Solve(ctx, Problem[float64]{Weights: make([]float64, 8192), Capacity: 1}, SolveConfig{})
	require.NoError(t, err)
	require.True(t, s.Proved)
	require.Equal(t, 1, s.Bins)
}

// bruteFits reports whether there is a packing into the given bins.
func bruteFits(p Problem[float64]) bool {
	bin := make([]int, len(p.Weights))
	var place func(i int) bool
	place = func(i int) bool {
		if i == len(bin) {
			used := len(slices.Compact(slices.Sorted(slices.Values(bin))))
			return CheckPacking(p, Packing{bin, used}) == nil
		}
		for bin[i] = range p.Capacities {
			if place(i + 1) {
				return true
			}
		}
		return false
	}
	return place(0)
}

// oddFloat draws a float that is no multiple of a large power of two, of one of the magnitudes.
func oddFloat(magnitudes []float64) *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		n := rapid.IntRange(1, 4).Draw(t, "n")
		return float64(n) / rapid.SampledFrom([]float64{3, 7}).Draw(t, "divisor") * rapid.SampledFrom(magnitudes).Draw(t, "magnitude")
	})
}

// Floats that fill given bins exactly: that there is no packing is said only where there is none, and
// pins are refused only where they overfill a bin. Of like size, a packing is found; of sizes so far
// apart that they are rounded, one that is found holds.
func TestSolveExactFloats(t *testing.T) {
	t.Parallel()
	for name, magnitudes := range map[string][]float64{"alike": {1}, "far apart": {1, 1e-5, 1e-9, 1e-30}} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			var p Problem[float64]
			bins := rapid.IntRange(1, 3).Draw(t, "bins")
			in := make([]float64, bins)
			for _, w := range rapid.SliceOfN(oddFloat(magnitudes), 1, 5).Draw(t, "w") {
				p.Weights = append(p.Weights, w)
				b := rapid.IntRange(0, bins-1).Draw(t, "bin")
				in[b] += w
				if rapid.IntRange(0, 3).Draw(t, "pinned") == 0 {
					if p.Pins == nil {
						p.Pins = make(map[int]int)
					}
					p.Pins[len(p.Weights)-1] = b
				}
			}
			for _, c := range in {
				if c == 0 {
					c = oddFloat(magnitudes).Draw(t, "c")
				}
				p.Capacities = append(p.Capacities, c)
			}
			fits := bruteFits(p)
			s, err := Solve(context.Background(), p, SolveConfig{})
			switch {
			case err == nil:
				require.NoError(t, CheckPacking(p, s.Packing))
				n, err := CheckBound(p, s.Certificate)
				require.NoError(t, err)
				require.LessOrEqual(t, n, s.Bins)
			case fits:
				require.NotErrorIs(t, err, ErrProblem)
				require.NotContains(t, err.Error(), "there is no packing")
				require.NotEqual(t, "alike", name)
			}
			failed := err
			for h := range Heuristic(heuristics.Len()) {
				packed, err := Pack(p, h)
				if err == nil {
					require.NoError(t, CheckPacking(p, packed))
					require.NoError(t, failed)
					require.LessOrEqual(t, s.Bins, packed.Bins)
				} else if fits {
					require.ErrorIs(t, err, ErrNoRoom)
				}
			}
		}))
	}
}

// Items as large as their bins are packed though they are rounded, and three thirds may be pinned to a
// bin of 1.
func TestSolveRoundedFloats(t *testing.T) {
	t.Parallel()
	w := []float64{1. / 3, 1e-5 / 3, 2. / 3}
	p := Problem[float64]{Weights: w, Capacities: []float64{2. / 3, 1. / 3, 1e-5 / 3}}
	s, err := Solve(context.Background(), p, SolveConfig{})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 0}, s.Bin)
	require.True(t, s.Proved)
	packed, err := Pack(p, BestFitDecreasing)
	require.NoError(t, err)
	require.Equal(t, s.Packing, packed)
	third := Problem[float64]{Weights: []float64{1. / 3, 1. / 3, 1. / 3, 1e-30 / 3}, Capacity: 1, Pins: map[int]int{0: 1, 1: 1, 2: 1}}
	s, err = Solve(context.Background(), third, SolveConfig{})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1, 0}, s.Bin)
	require.NoError(t, CheckPacking(third, s.Packing))
	third.Weights[2] = 2. / 5
	_, err = Solve(context.Background(), third, SolveConfig{})
	require.ErrorIs(t, err, ErrProblem)
	p.Capacities[0] = math.Nextafter(1./3, 1)
	p.Weights[2] = p.Capacities[0]
	p.Capacities[1] = 1. / 4
	_, err = Solve(context.Background(), p, SolveConfig{})
	require.ErrorContains(t, err, "there is no packing")
}

// constrained draws a problem of different capacities with hardly any room to spare, or of conflicts.
func constrained(rng *rand.Rand, n int, conflicts bool) Problem[int] {
	p := Problem[int]{Capacity: 40}
	sum := 0
	for range n {
		p.Weights = append(p.Weights, 1+rng.IntN(20))
		sum += p.Weights[len(p.Weights)-1]
	}
	if conflicts {
		for range 4 * n {
			if a, b := rng.IntN(n), rng.IntN(n); a != b {
				p.Conflicts = append(p.Conflicts, [2]int{a, b})
			}
		}
		return p
	}
	for left := sum * 5 / 4; left > 0; left -= p.Capacities[len(p.Capacities)-1] {
		p.Capacities = append(p.Capacities, 15+rng.IntN(30))
	}
	return p
}

// dense is a problem in which nine in ten pairs of items conflict.
func dense(rng *rand.Rand, n int) Problem[int] {
	p := Problem[int]{Capacity: 1000}
	for i := range n {
		p.Weights = append(p.Weights, 1+rng.IntN(600))
		for j := range i {
			if rng.Float64() < .9 {
				p.Conflicts = append(p.Conflicts, [2]int{j, i})
			}
		}
	}
	return p
}

// Without a deadline a depth-first search has as many steps as it takes for some dozens of items, and
// fewer where a step looks at many bins or conflicts.
func TestSolveDefaultSteps(t *testing.T) {
	t.Parallel()
	most := 0
	for i := range 60 {
		s := solve(t, constrained(rand.New(rand.NewPCG(uint64(i), 61)), 12+i%8, i%2 == 0))
		require.True(t, s.Proved, i)
		most = max(most, s.Nodes)
	}
	require.Greater(t, most, defaultNodes, "none of these shows the difference")
	p := constrained(rand.New(rand.NewPCG(1, 61)), 2000, false)
	s := solve(t, p)
	require.False(t, s.Proved)
	require.LessOrEqual(t, s.Nodes, defaultSteps*stepBins/len(p.Capacities)+1)
	p = dense(rand.New(rand.NewPCG(100, 61)), 100)
	s = solve(t, p)
	require.False(t, s.Proved)
	require.LessOrEqual(t, s.Nodes, defaultSteps*stepBins/len(p.Weights)/(len(p.Conflicts)/50/stepConflicts)+1)
}

func BenchmarkSolveConflicts(b *testing.B) {
	sparse := func(rng *rand.Rand, n int) Problem[int] { return constrained(rng, n, true) }
	for _, bench := range []struct {
		name    string
		n       int
		problem func(rng *rand.Rand, n int) Problem[int]
	}{
		{"sparse/n=40", 40, sparse}, {"sparse/n=100", 100, sparse}, {"sparse/n=1000", 1000, sparse},
		{"dense/n=40", 40, dense}, {"dense/n=100", 100, dense}, {"dense/n=300", 300, dense},
	} {
		b.Run(bench.name, func(b *testing.B) {
			looks := 0
			for i := 0; b.Loop(); i++ {
				s, err := Solve(context.Background(), bench.problem(rand.New(rand.NewPCG(uint64(i%60), uint64(bench.n))), bench.n), SolveConfig{})
				if err != nil {
					b.Fatal(err)
				}
				looks += s.Nodes * bench.n
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(looks), "ns/look")
		})
	}
}

// Solve is no worse than the heuristics of Pack that the context leaves time for: if it is over, those
// that take no search, and after 20 looks at it, some 20 milliseconds of work, all.
func TestSolveNoWorseThanPack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for i := range 40 {
		rng := rand.New(rand.NewPCG(uint64(i), 72))
		p := Problem[float64]{}
		for range 28 + rng.IntN(8) {
			p.Weights = append(p.Weights, rng.Float64())
		}
		for range 12 {
			p.Capacities = append(p.Capacities, 1+2*rng.Float64())
		}
		best := 0
		for k, h := range []Heuristic{NextFit, NextFitDecreasing, FirstFit, BestFit, WorstFit, FirstFitDecreasing,
			BestFitDecreasing, WorstFitDecreasing, MinimumBinSlackPrime, MinimumBinSlack} {
			packed, err := Pack(p, h)
			if err == nil && (best == 0 || packed.Bins < best) {
				best = packed.Bins
			}
			looks := 0
			if h >= MinimumBinSlack {
				looks = 20
			}
			s, err := Solve(worktest.NewCountdown(looks), p, SolveConfig{})
			if best > 0 {
				require.NoError(t, err)
				require.LessOrEqual(t, s.Bins, best, "problem %d, %d heuristics", i, k)
				n, err := CheckBound(p, s.Certificate)
				require.NoError(t, err)
				require.LessOrEqual(t, n, s.Lower)
			}
		}
	}
}
