package packing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plain is the problem of items in bins of one capacity.
func plain(c int64, w []int64) *Problem {
	return &Problem{Weights: w, Capacities: []int64{c}, Uniform: true}
}

// between draws n weights from low..high.
func between(rng *rand.Rand, n int, low, high int64) []int64 {
	w := make([]int64, n)
	for i := range w {
		w[i] = low + rng.Int64N(high-low+1)
	}
	return w
}

// check requires that a packing of a plain problem has every item in a bin, no bin
// overfilled and as many bins as it says.
func check(t require.TestingT, in *Problem, p Packing) {
	require.Len(t, p.Bin, len(in.Weights))
	load := map[int]int64{}
	for i, b := range p.Bin {
		load[b] += in.Weights[i]
	}
	require.Len(t, load, p.Bins)
	for b, sum := range load {
		require.LessOrEqual(t, sum, in.Capacities[0], "bin %d", b)
	}
}

// fewestBins is the fewest bins of a plain problem, by trying every packing.
func fewestBins(in *Problem) int {
	best := len(in.Weights)
	load := make([]int64, best)
	var place func(i, used int)
	place = func(i, used int) {
		if i == len(in.Weights) {
			best = min(best, used)
			return
		}
		for b := range min(used+1, best) {
			if load[b]+in.Weights[i] <= in.Capacities[0] {
				load[b] += in.Weights[i]
				place(i+1, max(used, b+1))
				load[b] -= in.Weights[i]
			}
		}
	}
	place(0, 0)
	return best
}

// The children of a node leave out dominated patterns, and those that the linear
// programme excludes, but never all that lead to a packing.
func TestEnumerationIsComplete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Int64Range(10, 60).Draw(t, "c")
		in := plain(c, rapid.SliceOfN(rapid.Int64Range(1, c), 1, 9).Draw(t, "w"))
		s := newSolver(context.Background(), in, 1000)
		if rapid.Bool().Draw(t, "with linear programme") {
			s.lp = newMaster(s.w, s.count, s.c, s.effort)
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
			e := enumeration{solver: s, left: left, waste: waste, steps: s.nodeSteps, most: s.nodeChildren}
			if s.lp != nil {
				s.lp.setDemand(s.ctx, left)
				if _, v := s.lp.generate(s.ctx, bins, false); v == exceeded {
					return false
				}
				e.dual, e.gap = s.lp.dual, float64(bins)-s.lp.bound()
			}
			require.True(t, e.heaviest())
			for _, c := range e.children {
				rest := slices.Clone(left)
				for _, x := range c.pattern {
					rest[x.kind] -= int(x.count)
				}
				if place(rest, bins-1) {
					return true
				}
			}
			return false
		}
		want := fewestBins(in)
		require.True(t, place(s.count, want))
		require.False(t, place(s.count, want-1))
	})
}

// The search among patterns finds a packing into as many bins as there must be, and
// says that there is none into fewer.
func chooseProperty(t *rapid.T) {
	c := rapid.Int64Range(12, 200).Draw(t, "capacity")
	var items []int64
	for range 3 {
		w := rapid.Int64Range(c/10+1, c/2+1).Draw(t, "weight")
		items = append(items, slices.Repeat([]int64{w}, rapid.IntRange(1, 9).Draw(t, "demand"))...)
	}
	in := plain(c, items)
	want := fewestOfKinds(in)
	for target := want - 1; target <= want+1; target++ {
		s := newSolver(context.Background(), in, 1<<20)
		s.lp = newMaster(s.w, s.count, s.c, s.effort)
		found, complete := s.choose(target, 1<<20)
		require.Equal(t, target >= want, found, "%d bins, %d needed", target, want)
		require.True(t, complete)
		if found {
			s.lower = want
			check(t, in, s.solution().Packing)
			require.LessOrEqual(t, s.solution().Bins, target)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, chooseProperty)
}

// The same against the search by bin completion without a linear programme, where
// the sum of the weights leaves it open whether a bin can be saved.
func TestChooseAgainstBinCompletion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	decided, nodes, saved := 0, 0, 0
	for i := range 300 {
		in := plain(1000, between(rand.New(rand.NewPCG(uint64(i), 51)), 24, 30, 700))
		s := newSolver(context.Background(), in, 1<<20)
		target := ceilDiv(s.weight(s.count), s.c)
		want, complete := s.tree(nil, s.count, target)
		require.True(t, want || complete)
		s = newSolver(context.Background(), in, 1<<20)
		s.lp = newMaster(s.w, s.count, s.c, s.effort)
		found, complete := s.choose(target, 1<<20)
		if !found && !complete {
			continue // too many patterns
		}
		require.Equal(t, want, found, "seed %d", i)
		decided++
		nodes += s.nodes - 1
		if found {
			saved++
			check(t, in, s.solution().Packing)
		}
	}
	t.Logf("%d decided, %d with %d nodes of search, %d packed", decided, 300-decided, nodes, saved)
	require.Greater(t, decided, 150)
	require.Greater(t, nodes, decided)
	require.Positive(t, saved)
}

// A basis that was saved comes back with its inverse or without.
func TestMasterRestore(t *testing.T) {
	t.Parallel()
	in := plain(150, between(rand.New(rand.NewPCG(1, 42)), 60, 15, 90))
	k := newKinds(in.Weights)
	for _, withInverse := range []bool{true, false} {
		m := newMaster(k.w, k.count, in.Capacities[0], standard)
		m.generate(context.Background(), 1000, false)
		x, dual, bound := slices.Clone(m.x), slices.Clone(m.dual), m.bound()
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

// A linear programme that failed decides nothing, and one with the same patterns takes its place.
func TestFailedMaster(t *testing.T) {
	t.Parallel()
	in := plain(150, between(rand.New(rand.NewPCG(1, 42)), 60, 15, 90))
	s := newSolver(context.Background(), in, math.MaxInt)
	s.lp = s.newMaster()
	_, v := s.lp.generate(s.ctx, 1000, false)
	require.Equal(t, optimal, v)
	z, patterns := s.lp.bound(), len(s.lp.columns)
	tooFew := int(math.Ceil(z)) - 1
	for name, try := range map[string]func() (found, complete bool){
		"priced": func() (bool, bool) { return s.priced(s.count, tooFew) },
		"choose": func() (bool, bool) { return s.choose(tooFew, 1) },
		"dive":   func() (bool, bool) { return s.dive(tooFew, false), false },
	} {
		s.lp.failed = true
		found, complete := try()
		require.False(t, found || complete, name)
		require.False(t, s.lp.failed, name)
		require.Len(t, s.lp.columns, patterns, name)
		s.lp.setDemand(s.ctx, s.count)
		_, v := s.lp.generate(s.ctx, 1000, false)
		require.Equal(t, optimal, v)
		require.InDelta(t, z, s.lp.bound(), 1e-6)
		patterns = len(s.lp.columns)
	}
}

// The mean of optimal duals is feasible and nearly optimal, and leaves the linear
// programme solved.
func TestInteriorDuals(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		in := plain(1000, between(rand.New(rand.NewPCG(uint64(i), 43)), 80, 100, 700))
		k := newKinds(in.Weights)
		m := newMaster(k.w, k.count, in.Capacities[0], standard)
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
	t.Parallel()
	for i := range 20 {
		rng := rand.New(rand.NewPCG(uint64(i), 41))
		in := plain(150, between(rng, 60, 15, 90))
		k := newKinds(in.Weights)
		m := newMaster(k.w, k.count, in.Capacities[0], standard)
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
			demand := slices.Clone(k.count)
			for j := range demand {
				demand[j] = rng.IntN(demand[j] + 1)
			}
			m.setDemand(context.Background(), demand)
		}
	}
}

// fewestOfKinds is the fewest bins of a plain problem with few different weights, by
// trying every pattern of a bin.
func fewestOfKinds(in *Problem) int {
	k := newKinds(in.Weights)
	known := map[string]int{}
	var fewest func(left []int) int
	fewest = func(left []int) int {
		key := fmt.Sprint(left)
		if n, ok := known[key]; ok {
			return n
		}
		best := 0
		var pattern func(j int, room int64, rest []int)
		pattern = func(j int, room int64, rest []int) {
			if j == len(rest) {
				if !slices.Equal(rest, left) {
					if n := 1 + fewest(slices.Clone(rest)); best == 0 || n < best {
						best = n
					}
				}
				return
			}
			for n := 0; n <= left[j] && int64(n)*k.w[j] <= room; n++ {
				rest[j] = left[j] - n
				pattern(j+1, room-int64(n)*k.w[j], rest)
			}
			rest[j] = left[j]
		}
		pattern(0, in.Capacities[0], slices.Clone(left))
		known[key] = best
		return best
	}
	return fewest(k.count)
}

// The exact knapsack, by both methods, against all subsets.
func TestKnapsackAgainstBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		c := rapid.Int64Range(0, 60).Draw(t, "c")
		w := rapid.SliceOfN(rapid.Int64Range(0, 30), n, n).Draw(t, "w")
		v := rapid.SliceOfN(rapid.Int64Range(0, 50), n, n).Draw(t, "v")
		want := int64(0)
		for set := range 1 << n {
			var sw, sv int64
			for i := range n {
				if set>>i&1 == 1 {
					sw += w[i]
					sv += v[i]
				}
			}
			if sw <= c {
				want = max(want, sv)
			}
		}
		gw, gv, count := group(w, v, nil)
		got, ok := bestKnapsack(gw, gv, count, c, 0, denseLimit, nil)
		require.True(t, ok)
		require.Equal(t, want, got)
		const big = 1 << 40 // too many capacities for the table
		for j := range gw {
			gw[j] *= big
		}
		got, ok = bestKnapsack(gw, gv, count, c*big, 0, denseLimit, nil)
		require.True(t, ok)
		require.Equal(t, want, got)
	})
}

// newKinds groups items by their weights.
func newKinds(w []int64) kinds {
	k, _ := kindsOf(Decreasing(w), nil)
	return k
}
