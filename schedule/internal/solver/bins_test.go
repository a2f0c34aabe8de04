package solver

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// Few sites to a client: bin packing finds the optimum that all plans have.
func TestPackBinsMatchesBruteForce(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(2, 3).Draw(t, "clients")
		sizes := rapid.SliceOfN(rapid.Float64Range(1, 1000), m+1, 8).Draw(t, "sizes")
		for z := range sizes {
			sizes[z] = float64(int(sizes[z]))
		}
		p := build(t, false, sizes, slices.Repeat([]float64{1}, m), nil)
		want := optimum(p)
		x := newTestSearch(outer, p)
		x.offer(LPT(p))
		x.raise(elementary(p))
		x.packBins(unlimited, nil)
		require.Equal(t, want, x.value)
		require.Equal(t, want, x.lower)
	})
}

// Two or three sites to a client on 30 to 80 clients are proved in less than the default steps.
func TestFewSitesPerClient(t *testing.T) {
	t.Parallel()
	count := 6
	if testing.Short() {
		count = 2
	}
	for i := range count {
		rng := rand.New(rand.NewPCG(uint64(i), 61))
		m := []int{30, 50, 80}[i%3]
		var sizes []float64
		for range m*2 + rng.IntN(m+1) {
			sizes = append(sizes, float64(1+rng.IntN(1000)))
		}
		p := build(t, false, sizes, slices.Repeat([]float64{1}, m), nil)
		o := Solve(context.Background(), p, rng, Config{Steps: 100_000_000})
		require.Equal(t, GapClosed, o.End, "%d sites on %d clients: %v to %v", p.N, m, o.Lower, p.Makespan(o.Plan))
	}
}

// 49 large sites of like size and a small one on 5 clients: some client has ten of the large ones.
// Neither the sum nor the number of sites says so, but the sizes of four times ten do.
func TestCrowdBound(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		p := nearlyEqual(t, uint64(i), 9)
		o := Solve(context.Background(), p, rand.New(rand.NewPCG(1, 1)), Config{Steps: 1_000_000})
		require.Equal(t, GapClosed, o.End)
		b := newBounder(p, longestFirst(p, nil), nil)
		require.Greater(t, b.bound(elementary(p)), leastTime(leastTime(elementary(p), b.areaExcludes), b.countExcludes))
	}
}

// With many clients the count test takes steps in proportion to them at most, and its bound is that of
// all numbers of sites if the clients are alike, and hardly less if not.
func TestCountBoundOfManyClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	instanceOf := func(m int, ratio, slowest float64) *instance.Instance {
		rng := rand.New(rand.NewPCG(uint64(m), 78))
		sizes, units := make([]float64, int(ratio*float64(m))), make([]float64, m)
		for z := range sizes {
			sizes[z] = math.Ceil(1e6 * (1 - rng.Float64()/10))
		}
		for j := range units {
			units[j] = 1 + (slowest-1)*rng.Float64()
		}
		return build(t, false, sizes, units, nil)
	}
	for _, ratio := range []float64{2.1, 4.5} {
		for _, slowest := range []float64{1, 4} {
			p := instanceOf(500, ratio, slowest)
			b := newBounder(p, longestFirst(p, nil), nil)
			area := leastTime(elementary(p), b.areaExcludes)
			some, all := leastTime(area, b.countExcludes), leastTime(area, func(t float64) bool { return countExcludesAny(b, t) })
			require.Greater(t, all, area)
			if slowest == 1 {
				require.Equal(t, all, some)
			}
			require.LessOrEqual(t, some, all)
			require.Greater(t, some, .995*all)
			t.Logf("%.1f sites for each of 500 clients up to %v times slower: %.5f of the bound", ratio, slowest, some/all)
		}
	}
	const m = 5000
	p := instanceOf(m, countPerClient, 4)
	b := newBounder(p, longestFirst(p, nil), work.NewWatch(context.Background()))
	require.False(t, b.countExcludes(100*elementary(p)))
	require.LessOrEqual(t, b.watch.Spent, 2*countLimit*boundSteps)
	b.watch = work.NewWatch(context.Background())
	require.True(t, b.countExcludes(elementary(p)))
	require.LessOrEqual(t, b.watch.Spent, 2*countLimit*boundSteps)
}

// countExcludesAny is countExcludes that looks at all numbers of sites.
func countExcludesAny(b *bounder, t float64) bool {
	b.capacities(t)
	for h := 1; h <= min(b.p.N, countPerClient*b.p.M); h++ {
		room := 0
		for _, c := range b.capacity {
			fits := sort.Search(h-room, func(k int) bool { return b.prefix[h]-b.prefix[h-k-1] > c })
			if room += fits; fits == 0 || room == h {
				break
			}
		}
		if room < h {
			return true
		}
	}
	return false
}

// nearlyEqual returns 49 sites of 9000 to 9999 and one of 100 on 5 clients.
func nearlyEqual(t *testing.T, seed, stream uint64) *instance.Instance {
	rng, sizes := rand.New(rand.NewPCG(seed, stream)), []float64{100}
	for range 49 {
		sizes = append(sizes, float64(9000+rng.IntN(1000)))
	}
	return build(t, false, sizes, slices.Repeat([]float64{1}, 5), nil)
}

var (
	few     = flag.Bool("few", false, "print how many problems with few sites per client are proved")
	fewSeed = flag.Uint64("few-seed", 7, "seed of these problems")
)

// Prints, for sizes of five ranges and two to five sites per client on 30, 50 and 80 clients, how
// many problems are proved within the default steps, in how many steps, and in what time.
func TestFewSitesTable(t *testing.T) {
	if !*few {
		t.Skip("measures for minutes; run with -few")
	}
	proved := 0
	for i := range 17 {
		if o := Solve(context.Background(), nearlyEqual(t, uint64(i), *fewSeed), rand.New(rand.NewPCG(1, 1)), Config{Steps: 200_000_000}); o.End == GapClosed {
			proved++
		}
	}
	fmt.Printf("49 sites of 9000 to 9999 and one of 100 on 5 clients: %d of 17 proved\n", proved)
	for _, size := range [][2]int{{1, 100}, {20, 100}, {1, 1000}, {100, 800}, {1, 10_000}} {
		for _, perClient := range []float64{2, 2.25, 2.5, 2.75, 3, 4, 5} {
			proved, steps, start := 0, int64(0), time.Now()
			const runs = 6
			for i := range runs {
				rng := rand.New(rand.NewPCG(uint64(i), *fewSeed))
				m := []int{30, 50, 80}[i%3]
				var sizes []float64
				for range int(perClient * float64(m)) {
					sizes = append(sizes, float64(size[0]+rng.IntN(size[1]-size[0]+1)))
				}
				p := build(t, false, sizes, slices.Repeat([]float64{1}, m), nil)
				o := Solve(context.Background(), p, rng, Config{Steps: 200_000_000})
				steps += o.Steps
				if o.End == GapClosed {
					proved++
				}
			}
			fmt.Printf("sizes %5d to %5d, %.2f sites per client: %d of %d proved, %8d steps, %.3f s each\n",
				size[0], size[1], perClient, proved, runs, steps/runs, time.Since(start).Seconds()/runs)
		}
	}
}
