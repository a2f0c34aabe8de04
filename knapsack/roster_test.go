package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The kinetic tournament against a search over all pages.
func tournament(t *rapid.T) {
	n := rapid.IntRange(0, 9).Draw(t, "n")
	o := newOverdue(n)
	now := 0.0
	started := false
	var out []int
	idle := func() (best float64, any bool) {
		best = math.Inf(-1)
		for i := range o.x {
			if o.in[i] && o.x[i] > 0 {
				any = true
				if started {
					best = max(best, (now-o.last[i])*o.x[i])
				}
			}
		}
		return best, any
	}
	frequency := rapid.OneOf(rapid.Float64Range(0, 3), rapid.SampledFrom([]float64{0, 1, 1, 2, 1e-6, 1e6}))
	t.Repeat(map[string]func(*rapid.T){
		"pick": func(t *rapid.T) {
			now += rapid.OneOf(rapid.Float64Range(0, 2), rapid.Just(0.0), rapid.Just(1000.0)).Draw(t, "dt")
			best, want := idle()
			slot, ok := o.pick(now)
			require.Equal(t, want, ok)
			if ok {
				if started {
					level := (now - o.last[slot]) * o.x[slot]
					require.GreaterOrEqual(t, level, best-1e-9*(1+math.Abs(best)))
				}
				out = append(out, slot)
				started = true
			}
		},
		"put": func(t *rapid.T) {
			if len(out) == 0 {
				return
			}
			i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
			o.put(out[i], now+rapid.SampledFrom([]float64{0, 0.5, -0.25}).Draw(t, "off"))
			out = append(out[:i], out[i+1:]...)
		},
		"set": func(t *rapid.T) {
			if len(o.x) > 0 {
				o.set(rapid.IntRange(0, len(o.x)-1).Draw(t, "slot"), frequency.Draw(t, "x"))
			}
		},
		"add": func(t *rapid.T) {
			if started {
				o.put(len(o.x), now)
				o.set(len(o.x)-1, frequency.Draw(t, "x"))
			}
		},
	})
}

func TestTournament(t *testing.T) { rapid.Check(t, tournament) }
func FuzzTournament(f *testing.F) { f.Fuzz(rapid.MakeFuzz(tournament)) }

// Matches replayed per poll grow with the logarithm of the number of pages.
func TestTournamentCost(t *testing.T) {
	perPoll := func(n int) float64 {
		rng := rand.New(rand.NewPCG(1, 2))
		f := newOverdue(n)
		for i := range n {
			f.set(i, math.Exp(rng.NormFloat64()))
		}
		played := 0
		polls := 20 * n
		for k := range polls {
			now := float64(k)
			f.advance(now)
			played += f.due(1, now+1)
			slot, _ := f.pick(now)
			f.put(slot, now)
		}
		return float64(played) / float64(polls)
	}
	small, large := perPoll(64), perPoll(4096)
	// log² n has grown by (12/6)² = 4.
	require.Less(t, large, 6*small+6, "matches overtaken between polls: %v and %v", small, large)
}

// due counts the nodes that advance(now) would replay.
func (o *overdue) due(k int, now float64) int {
	if k >= o.size || o.until[k] > now {
		return 0
	}
	return 1 + o.due(2*k, now) + o.due(2*k+1, now)
}

// Even spacing: over any window a page gets its share of polls to within a few,
// and its gaps are even.
func TestEvenSpacing(t *testing.T) {
	x := []float64{5, 3, 1, 0.5, 0.5, 0}
	f, err := NewFixed(x, Even, nil)
	require.NoError(t, err)
	last := make([]int, len(x))
	count := make([]int, len(x))
	for k := 1; k <= 10000; k++ {
		page, err := f.Next(float64(k))
		require.NoError(t, err)
		require.NoError(t, f.Observe(page, float64(k), false))
		if count[page] > 1 {
			gap := float64(k - last[page])
			// Its turn comes with those of the four others at worst.
			require.InDelta(t, 10/x[page], gap, 4, "page %d", page)
		}
		last[page] = k
		count[page]++
	}
	for i, c := range count {
		require.InDelta(t, 10000*x[i]/10, float64(c), 25, "page %d", i)
	}
}

// Random spacing: the counts of draws follow a multinomial law.
func TestRandomSpacing(t *testing.T) {
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

func TestSumTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		tree, fresh := newSumTree(n), newSumTree(n)
		x := make([]float64, n)
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			x[i] = rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 10)).Draw(t, "x")
			tree.set(i, x[i])
		}
		total := 0.0
		for i, v := range x {
			fresh.set(i, v)
			total += v
		}
		require.Equal(t, fresh, tree, "the tree depends on its numbers only")
		require.InDelta(t, total, tree.total(), 1e-12*total)
		src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
		for range 20 {
			i, ok := tree.draw(src)
			require.Equal(t, total > 0, ok)
			if ok {
				require.Positive(t, x[i])
			}
		}
	})
}
