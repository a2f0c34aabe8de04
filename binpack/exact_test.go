package binpack

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
			got := packing(append([]int(nil), bin...), bins)
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
	for _, pin := range p.Pins {
		if p.Capacities != nil && pin.Bin >= len(p.Capacities) {
			p.Pins = nil
		}
	}
	if _, err := newInstance(p); err != nil {
		return
	}
	want := bruteBins(p)
	got, err := Solve(context.Background(), p, 1_000_000)
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

func TestSolveProperty(t *testing.T) { rapid.Check(t, solveProperty) }
func FuzzSolve(f *testing.F)         { f.Fuzz(rapid.MakeFuzz(solveProperty)) }

// The children of a node leave out dominated patterns, and those that the linear
// programme excludes, but never all that lead to a packing.
func TestEnumerationIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(10, 60).Draw(t, "c")
		p := Problem[int]{Weights: rapid.SliceOfN(rapid.IntRange(1, c), 1, 9).Draw(t, "w"), Capacity: c}
		in, err := newInstance(p)
		require.NoError(t, err)
		s := newSolver(context.Background(), in, 1000)
		if rapid.Bool().Draw(t, "with linear programme") {
			s.lp = newMaster(s.w, s.count, s.c)
		}
		var place func(left []int, bins int) bool
		place = func(left []int, bins int) bool {
			waste := int64(bins)*s.c - s.weight(left)
			if waste < 0 {
				return false
			}
			if s.weight(left) == 0 {
				return true
			}
			e := enumeration{solver: s, left: left, waste: waste, steps: stepsPerNode, most: childrenPerNode}
			if s.lp != nil {
				s.lp.setDemand(s.ctx, left)
				if _, v := s.lp.generate(s.ctx, bins, false); v == exceeded {
					return false
				}
				e.dual, e.gap = s.lp.dual, float64(bins)-s.lp.bound()
			}
			require.True(t, e.heaviest())
			for _, c := range e.children {
				rest := append([]int(nil), left...)
				for _, x := range c.pattern {
					rest[x.kind] -= int(x.count)
				}
				if place(rest, bins-1) {
					return true
				}
			}
			return false
		}
		want := bruteBins(p)
		require.True(t, place(s.count, want))
		require.False(t, place(s.count, want-1))
	})
}

// The search among patterns finds a packing into as many bins as there must be, and
// says that there is none into fewer.
func chooseProperty(t *rapid.T) {
	c := rapid.IntRange(12, 200).Draw(t, "capacity")
	var w, demand [3]int
	p := Problem[int]{Capacity: c}
	for j := range w {
		w[j] = rapid.IntRange(c/10+1, c/2+1).Draw(t, "weight")
		demand[j] = rapid.IntRange(1, 9).Draw(t, "demand")
		for range demand[j] {
			p.Weights = append(p.Weights, w[j])
		}
	}
	in, err := newInstance(p)
	require.NoError(t, err)
	want := fewest(c, w, demand, map[[3]int]int{})
	for target := want - 1; target <= want+1; target++ {
		s := newSolver(context.Background(), in, 1<<20)
		s.lp = newMaster(s.w, s.count, s.c)
		found, complete := s.choose(target, 1<<20)
		require.Equal(t, target >= want, found, "%d bins, %d needed", target, want)
		require.True(t, complete)
		if found {
			s.lower = want
			require.NoError(t, CheckPacking(p, s.solution().Packing))
			require.LessOrEqual(t, s.solution().Bins, target)
		}
	}
}

func TestChoose(t *testing.T) { rapid.Check(t, chooseProperty) }

// The same against the search by bin completion without a linear programme, where
// the sum of the weights leaves it open whether a bin can be saved.
func TestChooseAgainstBinCompletion(t *testing.T) {
	decided, nodes, saved := 0, 0, 0
	for i := range 300 {
		p := Problem[int]{Weights: between(rand.New(rand.NewPCG(uint64(i), 51)), 24, 30, 700), Capacity: 1000}
		in, err := newInstance(p)
		require.NoError(t, err)
		s := newSolver(context.Background(), in, 1<<20)
		target := int(ceilDiv(s.weight(s.count), s.c))
		want, complete := s.tree(nil, s.count, target)
		require.True(t, want || complete)
		s = newSolver(context.Background(), in, 1<<20)
		s.lp = newMaster(s.w, s.count, s.c)
		found, complete := s.choose(target, 1<<20)
		if !found && !complete {
			continue // too many patterns
		}
		require.Equal(t, want, found, "seed %d", i)
		decided++
		nodes += s.nodes - 1
		if found {
			saved++
			require.NoError(t, CheckPacking(p, s.solution().Packing))
		}
	}
	t.Logf("%d decided, %d with %d nodes of search, %d packed", decided, 300-decided, nodes, saved)
	require.Greater(t, decided, 150)
	require.Greater(t, nodes, decided)
	require.Positive(t, saved)
}

// A basis that was saved comes back with its inverse or without.
func TestMasterRestore(t *testing.T) {
	in, err := newInstance(uniform(rand.New(rand.NewPCG(1, 42)), 60, 150, .1, .6))
	require.NoError(t, err)
	k := newKinds(in.w)
	for _, withInverse := range []bool{true, false} {
		m := newMaster(k.w, k.count, in.c[0])
		m.generate(context.Background(), 1000, false)
		x, dual, bound := append([]float64(nil), m.x...), append([]float64(nil), m.dual...), m.bound()
		b := m.save(withInverse)
		half := make([]int, len(k.count))
		for j, n := range k.count {
			half[j] = n / 2
		}
		m.setDemand(context.Background(), half)
		m.generate(context.Background(), 1000, false)
		require.NotEqual(t, b.columns, m.basis)
		m.restore(b)
		require.InDeltaSlice(t, x, m.x, 1e-7)
		require.InDeltaSlice(t, dual, m.dual, 1e-7)
		require.InDelta(t, bound, m.bound(), 1e-7)
		require.Less(t, m.drift(), 1e-7)
	}
}

// The mean of optimal duals is feasible and nearly optimal, and leaves the linear
// programme solved.
func TestInteriorDuals(t *testing.T) {
	for i := range 10 {
		in, err := newInstance(uniform(rand.New(rand.NewPCG(uint64(i), 43)), 80, 1000, .1, .7))
		require.NoError(t, err)
		k := newKinds(in.w)
		m := newMaster(k.w, k.count, in.c[0])
		_, v := m.generate(context.Background(), 1000, false)
		require.Equal(t, optimal, v)
		z := m.bound()
		copy(m.dual, m.interior(context.Background(), .01))
		_, best, ok := m.pricer.price(m)
		require.True(t, ok)
		require.LessOrEqual(t, best, 1+epsilon)
		// A perturbation of .01..0.02 items of each kind moves the optimum by no more than
		// that many bins of a hundredth.
		require.GreaterOrEqual(t, m.bound(), z-.02*float64(len(k.w)))
		require.LessOrEqual(t, m.bound(), z+1e-6)
	}
}

// At the end of column generation the primal and the dual agree and both are
// feasible, also after the demand has changed.
func TestMasterIsOptimal(t *testing.T) {
	for i := range 20 {
		rng := rand.New(rand.NewPCG(uint64(i), 41))
		in, err := newInstance(uniform(rng, 60, 150, .1, .6))
		require.NoError(t, err)
		k := newKinds(in.w)
		m := newMaster(k.w, k.count, in.c[0])
		for range 3 {
			bound, v := m.generate(context.Background(), 1000, false)
			require.Equal(t, optimal, v)
			require.Less(t, m.drift(), 1e-7)
			bins := 0.0
			for r, x := range m.x {
				require.GreaterOrEqual(t, x, -1e-7)
				bins += x * m.columns[m.basis[r]].cost
			}
			value := 0.0
			for j := range m.w {
				value += m.rhs(j) * m.dual[j]
			}
			require.InDelta(t, bins, value, 1e-7)
			require.InDelta(t, bins, bound, 1e-3)
			for c := range m.columns {
				require.GreaterOrEqual(t, m.reducedCost(c), -1e-7)
			}
			demand := append([]int(nil), k.count...)
			for j := range demand {
				demand[j] = rng.IntN(demand[j] + 1)
			}
			m.setDemand(context.Background(), demand)
		}
	}
}

// solve solves a problem without a deadline and checks all there is to check.
func solve(t *testing.T, p Problem[int]) Solution {
	t.Helper()
	s, err := Solve(context.Background(), p, 0)
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
	better := 0
	for i := range 60 {
		p := uniform(rand.New(rand.NewPCG(uint64(i), 5)), 60, 300, .1, .7)
		b, err := LowerBounds(p)
		require.NoError(t, err)
		if s := solve(t, p); s.Certificate.Bound() > b.Best() {
			better++
		}
	}
	require.Positive(t, better)
}

func TestSolveDeterministic(t *testing.T) {
	p := falkenauerT(rand.New(rand.NewPCG(9, 9)), 90)
	require.Equal(t, solve(t, p), solve(t, p))
}

func TestSolveAnytime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := falkenauerT(rand.New(rand.NewPCG(9, 9)), 120)
	s, err := Solve(ctx, p, 0)
	require.NoError(t, err)
	require.NoError(t, CheckPacking(p, s.Packing))
	require.False(t, s.Proved)
	s, err = Solve(context.Background(), p, 1)
	require.NoError(t, err)
	require.Less(t, s.Lower, s.Bins)
	_, err = Solve(context.Background(), p, -1)
	require.ErrorIs(t, err, ErrParameter)
}

// Floats: the bound is for the numbers as given, the packing never overfills.
func TestSolveFloats(t *testing.T) {
	for i := range 20 {
		rng := rand.New(rand.NewPCG(uint64(i), 31))
		p := Problem[float64]{Capacity: 1}
		for range 40 {
			p.Weights = append(p.Weights, .15+.35*rng.Float64())
		}
		s, err := Solve(context.Background(), p, 200)
		require.NoError(t, err)
		require.NoError(t, CheckPacking(p, s.Packing))
		require.LessOrEqual(t, s.Lower, s.Bins)
		if n, err := CheckBound(p, s.Certificate); err == nil {
			require.LessOrEqual(t, n, s.Lower)
		} else {
			require.ErrorIs(t, err, ErrLimit)
		}
	}
	s, err := Solve(context.Background(), Problem[float64]{Weights: make([]float64, 5), Capacity: 1}, 0)
	require.NoError(t, err)
	require.True(t, s.Proved)
	require.Equal(t, 1, s.Bins)
}

// An instance without the round-up property: the linear programme says 5 and
// there is no packing into 5, so that only the search can tell.
func TestSolveWithoutRoundUp(t *testing.T) {
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
		require.Equal(t, []int{5, 6, 6}, []int{s.Certificate.Bound(), s.Lower, s.Bins})
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
				s, err := Solve(context.Background(), p, 0)
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
