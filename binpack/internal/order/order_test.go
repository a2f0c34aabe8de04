package order

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A tree against sorting, keys with many ties.
func TestTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree
		var keys []float64
		slot, key := tree.Least()
		require.Equal(t, -1, slot)
		require.Equal(t, math.Inf(1), key)
		tree.Ascend(func(int) bool { t.Fatal("an empty tree yields"); return false })
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			k := rapid.IntRange(0, len(keys)).Draw(t, "slot")
			if k == len(keys) {
				keys = append(keys, math.Inf(1))
				tree.Grow(len(keys))
			}
			keys[k] = rapid.SampledFrom([]float64{-2, 0, 1, 1.5, math.Inf(1)}).Draw(t, "key")
			tree.Set(k, keys[k])
			require.Equal(t, keys[k], tree.Key(k))

			var want []int
			for s, key := range keys {
				if !math.IsInf(key, 1) {
					want = append(want, s)
				}
			}
			slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
			var got []int
			tree.Ascend(func(s int) bool {
				inner := 0
				tree.Ascend(func(int) bool { inner++; return true })
				require.Equal(t, len(want), inner)
				got = append(got, s)
				return true
			})
			require.Equal(t, want, got)
			least, at := tree.Least()
			first, lowest := -1, math.Inf(1)
			if len(want) > 0 {
				first, lowest = want[0], keys[want[0]]
			}
			require.Equal(t, first, least)
			require.Equal(t, lowest, at)
			for _, most := range []float64{-3, 0, 1.2, math.Inf(1)} {
				lowest := slices.IndexFunc(keys, func(x float64) bool { return x <= most && !math.IsInf(x, 1) })
				require.Equal(t, lowest, tree.First(most))
			}
		}
	})
}

func TestClasses(t *testing.T) {
	t.Parallel()
	last := uint16(0)
	for w := int64(0); w < 1<<14; w++ {
		c := classOf(w)
		require.True(t, c == last || c == last+1, w)
		last = c
	}
	for e := 13; e < 62; e++ {
		w := int64(1) << e
		require.Equal(t, classOf(w-1)+1, classOf(w))
		require.Equal(t, classOf(w), classOf(w+w/8-1))
		require.Equal(t, classOf(w)+1, classOf(w+w/8))
	}
}

// Shelves against a plain list. With at most `samples` sites of a class the answers are exact.
func TestShelves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var x Shelves
		x.GrowNodes(2)
		x.GrowSites(12)
		weight := make([]int64, 12)
		home := slices.Repeat([]int{-1}, 12)
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			s := rapid.IntRange(0, 7).Draw(t, "site")
			w := rapid.Int64Range(0, 300).Draw(t, "w")
			n := rapid.IntRange(-1, 1).Draw(t, "node")
			switch {
			case home[s] >= 0 && home[s] == n:
				x.Change(n, s, weight[s], w)
			default:
				if home[s] >= 0 {
					x.Remove(home[s], s, weight[s])
				}
				if n >= 0 {
					x.Add(n, s, w)
				}
			}
			weight[s], home[s] = w, n
			for n := range 2 {
				var want, got []int
				for s, h := range home {
					if h == n {
						want = append(want, s)
					}
				}
				class := uint16(0)
				x.All(n, func(s int) bool {
					require.GreaterOrEqual(t, classOf(weight[s]), class)
					class = classOf(weight[s])
					got = append(got, s)
					return true
				})
				require.ElementsMatch(t, want, got)
				var some []int
				x.Some(n, func(s int) bool { some = append(some, s); return true })
				require.Equal(t, got, some)
				at := rapid.Int64Range(0, 300).Draw(t, "at")
				odd := func(s int) bool { return s%2 == 1 }
				for _, may := range []func(int) bool{nil, odd} {
					below, above := int64(-1), int64(math.MaxInt64)
					for _, s := range want {
						if may != nil && !may(s) {
							continue
						}
						if weight[s] <= at {
							below = max(below, weight[s])
						} else {
							above = min(above, weight[s])
						}
					}
					b, a := x.Below(n, at, weight, may), x.Above(n, at, weight, may)
					require.Equal(t, below < 0, b < 0)
					require.Equal(t, above == math.MaxInt64, a < 0)
					if b >= 0 {
						require.Equal(t, below, weight[b])
					}
					if a >= 0 {
						require.Equal(t, above, weight[a])
					}
				}
			}
		}
	})
}

// What a call visits does not grow with the number of sites, and with that of nodes as its
// logarithm.
func TestSteps(t *testing.T) {
	t.Parallel()
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 1))
	var x Shelves
	x.GrowNodes(1)
	x.GrowSites(n)
	weight := make([]int64, n)
	var tree Tree
	tree.Grow(n)
	for s := range weight {
		weight[s] = int64(1e9 * math.Exp(rng.NormFloat64()))
		x.Add(0, s, weight[s])
		tree.Set(s, rng.Float64())
	}
	x.Steps, tree.Steps = 0, 0
	for s := range 1000 {
		x.Change(0, s, weight[s], 2*weight[s])
		weight[s] *= 2
		x.Below(0, weight[s+1], weight, nil)
		x.Above(0, weight[s+1], weight, nil)
		tree.Set(s, rng.Float64())
		tree.Least()
	}
	require.LessOrEqual(t, x.Steps, 1000*(2*samples+4*8))
	require.LessOrEqual(t, tree.Steps, 1000*2*(bits.Len(n)+1))
}

// Steps count every node and site visited, so that TestSteps means something; a change that reaches no
// further up ends there.
func TestCounts(t *testing.T) {
	t.Parallel()
	var tree Tree
	tree.Grow(8)
	for s := range 8 {
		tree.Set(s, float64(s))
	}
	steps := func(do func()) int {
		tree.Steps = 0
		do()
		return tree.Steps
	}
	require.Equal(t, 3, steps(func() { tree.Least() }))
	require.Equal(t, 3, steps(func() { tree.Set(0, -1) }))
	require.Equal(t, 1, steps(func() { tree.Set(7, 9) }), "slot 6 stays before it")
	require.Equal(t, 0, steps(func() { tree.Set(7, 9) }))
	require.Equal(t, 15, steps(func() { tree.Ascend(func(int) bool { return true }) }))

	var x Shelves
	x.GrowNodes(1)
	x.GrowSites(4)
	x.Add(0, 0, 1)
	x.Add(0, 1, 3)
	x.Steps = 0
	x.find(0, 3)
	require.Equal(t, 2, x.Steps)
	x.All(0, func(int) bool { return true })
	require.Equal(t, 4, x.Steps)
}

// Of a class of many sites a few are looked at; those that may not be taken do not count as such, but
// there is an end to them, too.
func TestFew(t *testing.T) {
	t.Parallel()
	const n, base = 600, 1 << 20 // 200 of each of three classes
	var x Shelves
	x.GrowNodes(1)
	x.GrowSites(n)
	weight := make([]int64, n)
	for s := range weight {
		weight[s] = int64(base+s) << (s / 200)
		x.Add(0, s, weight[s])
	}
	count := func(f func(int, func(int) bool), until int) (k int) {
		f(0, func(int) bool { k++; return k < until })
		return k
	}
	require.Equal(t, 3*samples, count(x.Some, n))
	require.Equal(t, n, count(x.All, n))
	require.Equal(t, 1, count(x.Some, 1), "told to stop")
	require.Equal(t, 3, count(x.All, 3))
	require.Equal(t, samples-1, x.Below(0, base+n, weight, nil))
	require.Equal(t, 200, x.Above(0, base+n, weight, nil))
	for _, find := range []func(int, int64, []int64, func(int) bool) int{x.Below, x.Above} {
		w, asked := int64(math.MaxInt64/4), 0
		if find(0, w, weight, nil) < 0 {
			w = 0
		}
		require.Equal(t, -1, find(0, w, weight, func(int) bool { asked++; return false }))
		require.Equal(t, refusals, asked)
	}
}

// To go through a tree allocates nothing once it has been done.
func TestAscendAllocates(t *testing.T) {
	var tree Tree
	tree.Grow(100)
	for s := range 100 {
		tree.Set(s, float64(s*37%100))
	}
	all := func() { tree.Ascend(func(int) bool { return true }) }
	all()
	require.Zero(t, testing.AllocsPerRun(10, all))
	tree.Grow(100)
	require.Len(t, tree.key, 256, "128 leaves are enough")
}

// Of a class no more than a few sites are looked at: those that are out of range count, and so do
// those that are no better than the best so far, of which the first to arrive is taken.
func TestNearest(t *testing.T) {
	t.Parallel()
	const n, base = 3 * samples, 1 << 20
	var x Shelves
	x.GrowNodes(1)
	x.GrowSites(n)
	weight := make([]int64, n)
	fill := func(w func(s int) int64) {
		for s := range weight {
			if weight[s] > 0 {
				x.Remove(0, s, weight[s])
			}
		}
		for s := range weight {
			weight[s] = w(s)
			x.Add(0, s, weight[s])
		}
	}
	looks := func(find func(int, int64, []int64, func(int) bool) int, w int64) (site, looks int) {
		x.find(0, 0)
		x.Steps = 0
		site = find(0, w, weight, nil)
		return site, x.Steps - 1 // one to find the class
	}
	fill(func(s int) int64 { return base + int64(s) })
	site, k := looks(x.Above, base-1)
	require.Equal(t, 0, site)
	require.Equal(t, samples, k, "all others are heavier")
	site, k = looks(x.Below, base+100)
	require.Equal(t, samples-1, site)
	require.Equal(t, samples, k)
	site, k = looks(x.Above, base+samples-1)
	require.Equal(t, -1, site, "those that are looked at are too light")
	require.Equal(t, samples, k)
	site, _ = looks(x.Above, base+samples-2)
	require.Equal(t, samples-1, site)
	fill(func(int) int64 { return base })
	for _, find := range []func(int, int64, []int64, func(int) bool) int{x.Above, x.Below} {
		w := int64(base)
		if find(0, w, weight, nil) < 0 {
			w--
		}
		site, k = looks(find, w)
		require.Equal(t, 0, site)
		require.Equal(t, samples, k)
	}
	// A weight that stays in its class leaves the site where it is, for nothing.
	x.Steps = 0
	x.Change(0, 5, base, base+9)
	require.Zero(t, x.Steps)
	next := 0
	x.All(0, func(site int) bool { require.Equal(t, next, site); next++; return true })
	require.Equal(t, n, next)
	x.Change(0, 5, base+9, 2*base)
	weight[5] = 2 * base
	site, _ = looks(x.Above, base)
	require.Equal(t, 5, site)
}
