package packing

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/subsetsum"
)

// The dynamic programme by itself, the approximation and the whole against the bit set of all sums.
func TestSubset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int64{3, 30, 1000}).Draw(t, "size")
		w := rapid.SliceOfN(rapid.Int64Range(0, size), 0, 12).Draw(t, "w")
		c := rapid.Int64Range(1, size*5).Draw(t, "c")
		want := subsetsum.Reachable(w, c).AtMost(c)
		sum := func(s Subset) (sum int64) {
			require.True(t, slices.IsSorted(s.Items))
			require.Len(t, slices.Compact(slices.Clone(s.Items)), len(s.Items))
			for _, i := range s.Items {
				sum += w[i]
			}
			require.LessOrEqual(t, sum, c)
			require.LessOrEqual(t, want, sum+s.Gap)
			require.Equal(t, s.Proved, s.Gap == 0)
			return sum
		}
		require.Equal(t, want, sum(MaxSubset(context.Background(), w, c)))
		s := newSubset(w, c)
		if !s.proved {
			require.True(t, s.balance(1<<20))
			require.Equal(t, want, sum(s.result()))
		}
		require.GreaterOrEqual(t, float64(sum(ApproxSubset(w, c, .1))), .9*float64(want))
	})
}

// Items so heavy that nothing better can leave them out are put in before the rest is searched.
func TestSubsetReduces(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		w, total := make([]int64, 36+rng.IntN(20)), int64(0)
		for i := range w {
			// Most leave the same remainder, so that few sums are the capacity.
			w[i] = 40 * (1 + rng.Int64N(3))
			if i%4 == 0 {
				w[i] = 40 * (50 + rng.Int64N(50))
			}
			total += w[i]
		}
		w[0]++ // so that there is no common divisor
		c := total - 2 - rng.Int64N(150)
		want := subsetsum.Reachable(w, c).AtMost(c)
		s := newSubset(w, c)
		s.solve(context.Background(), thorough)
		if want < c {
			require.NotEmpty(t, s.always)
		}
		r := s.result()
		require.True(t, r.Proved)
		sum := int64(0)
		for _, i := range r.Items {
			sum += w[i]
		}
		require.Equal(t, want, sum)
		require.Len(t, slices.Compact(slices.Clone(r.Items)), len(r.Items))
	}
}

// Of items of almost equal weights, the heaviest ones are no filling: no subset of a few others would
// bring their sum to that of as many of mean weight.
func TestSubsetOfAlmostEqualItems(t *testing.T) {
	t.Parallel()
	for _, spread := range []float64{.001, .03} {
		rng := rand.New(rand.NewPCG(200, 3))
		w, c := make([]int64, 200), int64(0)
		for i := range w {
			w[i] = int64(1 << 44 * (1 + spread*rng.Float64()))
			if i < len(w)/2 {
				c += w[i]
			}
		}
		for name, s := range map[string]Subset{"brief": BriefSubset(w, c), "thorough": MaxSubset(context.Background(), w, c)} {
			sum := int64(0)
			for _, i := range s.Items {
				sum += w[i]
			}
			require.LessOrEqual(t, sum, c, name)
			require.Greater(t, sum, c-1<<20, "%s, a spread of %v", name, spread)
		}
	}
}

// Numbers that no search fills: multiples of 3 but one, and a capacity that is none. With
// weights up to 5·10⁷, which is 54 sites of up to 50 at a quantum of 1e-6, the dynamic programme
// took 3 GB. The limits bound what is allocated in all, and so what is in use at a time.
func TestSubsetLimits(t *testing.T) {
	for _, c := range []struct {
		n      int
		bits   int
		proved bool // thoroughly
		slow   bool
	}{{54, 24, false, true}, {54, 20, true, true}, {54, 15, true, false}, {300, 17, true, false}, {42, 40, true, false}} {
		if c.slow && testing.Short() {
			continue
		}
		rng := rand.New(rand.NewPCG(7, 7))
		w, total := make([]int64, c.n), int64(1)
		for i := range w {
			w[i] = 3 * (1 + rng.Int64N(1<<c.bits))
			total += w[i]
		}
		w[0]++ // so that there is no common divisor
		room := total/6*3 + 2
		for name, search := range map[string]func() Subset{
			"brief":    func() Subset { return BriefSubset(w, room) },
			"thorough": func() Subset { return MaxSubset(context.Background(), w, room) },
		} {
			most, proved := uint64(800<<20), c.proved
			if name == "brief" {
				most, proved = 200<<20, c.proved && c.bits == 15
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := search()
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, most, "%s of %v", name, c)
			require.Equal(t, proved, s.Proved, "%s of %v", name, c)
			sum := int64(0)
			for _, i := range s.Items {
				sum += w[i]
			}
			require.LessOrEqual(t, sum, room)
			require.GreaterOrEqual(t, sum, room-3-room>>30, "%s of %v", name, c)
		}
	}
}
