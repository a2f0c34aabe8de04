package pairs

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fits reports whether items fit into the bins, by trying every assignment.
func fits(p *Problem) bool {
	load := make([]int64, p.Bins)
	var place func(i int) bool
	place = func(i int) bool {
		if i == len(p.Weights) {
			return true
		}
		for b := range load {
			if load[b]+p.Weights[i] <= p.Capacity {
				load[b] += p.Weights[i]
				if place(i + 1) {
					return true
				}
				load[b] -= p.Weights[i]
			}
			if load[b] == 0 {
				break
			}
		}
		return false
	}
	return place(0)
}

// check requires that an answer is right and its packing one.
func check(t require.TestingT, p *Problem, a Answer, want bool) {
	require.Equal(t, map[bool]Verdict{true: Packed, false: Impossible}[want], a.Verdict)
	if !want {
		require.NotEmpty(t, a.Proof.Nodes)
		return
	}
	require.LessOrEqual(t, len(a.Packing), p.Bins)
	seen := make([]bool, len(p.Weights))
	for _, bin := range a.Packing {
		load := int64(0)
		for _, i := range bin {
			require.False(t, seen[i])
			seen[i] = true
			load += p.Weights[i]
		}
		require.LessOrEqual(t, load, p.Capacity)
	}
	require.NotContains(t, seen, false)
}

// The answer is that of trying every assignment, with and without cuts.
func decideProperty(t *rapid.T) {
	c := rapid.Int64Range(10, 80).Draw(t, "capacity")
	p := &Problem{Weights: rapid.SliceOfN(rapid.Int64Range(1, c), 1, 11).Draw(t, "weights"), Capacity: c}
	sum := int64(0)
	for _, w := range p.Weights {
		sum += w
	}
	p.Bins = int(sum/c) + rapid.IntRange(0, 2).Draw(t, "more")
	if p.Bins == 0 {
		p.Bins = 1
	}
	for _, cuts := range []int{0, -1} {
		check(t, p, Decide(context.Background(), p, Config{Cuts: cuts}), fits(p))
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, decideProperty)
}

func FuzzDecide(f *testing.F) { f.Fuzz(rapid.MakeFuzz(decideProperty)) }

// Triples that fill their bins leave no waste, so that every pattern must be exact.
func TestDecideTriples(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		p := &Problem{Capacity: 1000, Bins: 30}
		for range p.Bins {
			a := 380 + rng.Int64N(111)
			b := 250 + rng.Int64N((1000-a)/2-250+1)
			p.Weights = append(p.Weights, a, b, 1000-a-b)
		}
		check(t, p, Decide(context.Background(), p, Config{}), true)
		p.Bins--
		check(t, p, Decide(context.Background(), p, Config{}), false)
	}
}

// A linear programme that failed proves nothing.
func TestFailedProgramme(t *testing.T) {
	t.Parallel()
	p := &Problem{Weights: []int64{5, 5, 5, 3}, Capacity: 9, Bins: 2}
	check(t, p, Decide(context.Background(), p, Config{}), false)
	s := newSearch(context.Background(), p, Config{})
	s.lp.failed = true
	require.Equal(t, Undecided, s.verdict(s.node()))

	// A basis that holds one column twice is singular.
	p.Bins = 3
	s = newSearch(context.Background(), p, Config{})
	s.apply()
	require.Equal(t, feasible, s.generate())
	s.lp.basis[1] = s.lp.basis[0]
	s.lp.refactor()
	require.True(t, s.lp.failed)
	require.Equal(t, unknown, s.generate())
}

// The context and the limit end a search without an answer.
func TestDecideEnds(t *testing.T) {
	t.Parallel()
	p := &Problem{Weights: []int64{5, 5, 4, 4, 3, 3}, Capacity: 12, Bins: 2}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, Undecided, Decide(ctx, p, Config{}).Verdict)
	require.Equal(t, Packed, Decide(context.Background(), p, Config{Nodes: 1}).Verdict)
}
