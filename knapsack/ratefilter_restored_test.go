package knapsack_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
)

// A filter that was restored after any of its first polls thinks of every page what the one that
// was saved does, to the last bit.
func TestRestoredFilterThinksTheSame(t *testing.T) {
	t.Parallel()
	for _, o := range []knapsack.Objective{
		knapsack.Freshness, knapsack.Detections, knapsack.Age, knapsack.Harmonic, knapsack.Delay,
	} {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			const pages = 7
			rng := rand.New(rand.NewPCG(uint64(o), 1))
			f, err := knapsack.NewRateFilter(pages, knapsack.RateFilterConfig{Objective: o})
			require.NoError(t, err)
			group, err := f.AddGroup(knapsack.GroupConfig{})
			require.NoError(t, err)
			for page := range 3 {
				require.NoError(t, f.SetGroup(page, group))
			}
			for k := range 150 {
				now := float64(k)
				page, err := f.Next(now)
				require.NoError(t, err)
				require.NoError(t, f.Observe(page, now+0.5, rng.IntN(pages) < page))
				if k%20 == 19 {
					require.NoError(t, f.Signal(rng.IntN(pages), k%2, now))
				}
				saved, err := f.MarshalBinary()
				require.NoError(t, err)
				var g knapsack.RateFilter
				require.NoError(t, g.UnmarshalBinary(saved))
				for page := range f.All() {
					want, err := f.Index(page, now+1)
					require.NoError(t, err)
					got, err := g.Index(page, now+1)
					require.NoError(t, err)
					require.Equal(t, want, got, "index of page %d after %d polls", page, k+1)
				}
			}
		})
	}
}

// Polls may be as close together or as far apart as numbers go: the state of a filter is accepted, and
// what was restored goes on bit for bit.
func TestRestoredFilterAtAnyTimeScale(t *testing.T) {
	t.Parallel()
	for _, apart := range []float64{5e-324, 1e-310, 1e-300, 1e-200, 1e-30, 1e30, 1e100, 1e200, 1e296} {
		for o := knapsack.Freshness; o <= knapsack.Delay; o++ {
			t.Run(fmt.Sprintf("%v %v", o, apart), func(t *testing.T) {
				t.Parallel()
				const pages = 40 // more than a list of the queue has
				rng := rand.New(rand.NewPCG(uint64(o), 2))
				f, err := knapsack.NewRateFilter(pages, knapsack.RateFilterConfig{Objective: o})
				require.NoError(t, err)
				for range 2 {
					group, err := f.AddGroup(knapsack.GroupConfig{MinGap: 2 * apart})
					require.NoError(t, err)
					for range 4 {
						require.NoError(t, f.SetGroup(f.Add(), group))
					}
				}
				g := f
				for k := range 400 {
					now := float64(k) * apart
					page, err := f.Next(now)
					require.NoError(t, err)
					changed := rng.IntN(pages) < page
					require.NoError(t, f.Observe(page, now+apart, changed))
					if g != f {
						again, err := g.Next(now)
						require.NoError(t, err)
						require.Equal(t, page, again, "poll %d", k)
						require.NoError(t, g.Observe(again, now+apart, changed))
					}
					if k%8 != 7 {
						continue
					}
					saved, err := f.MarshalBinary()
					require.NoError(t, err)
					same, err := g.MarshalBinary()
					require.NoError(t, err)
					require.Equal(t, saved, same, "after %d polls", k+1)
					g = new(knapsack.RateFilter)
					require.NoError(t, g.UnmarshalBinary(saved), "after %d polls", k+1)
				}
			})
		}
	}
}

// Of two filters that see the same, one is saved and restored now and then. They give the same pages, and
// what they save is the same: with groups that outgrow a list and shrink, pages that come and go, weights,
// costs, intervals, hints, records, polls that failed or are answered late, and times that stand still.
func TestRestoredTwin(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		crawlTwins(t, seed)
	}
}

func crawlTwins(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 77))
	pick := func(of []int) int { return of[rng.IntN(len(of))] }
	n, every := pick([]int{5, 33, 120, 400}), pick([]int{1, 3, 17, 101})
	var twins [2]*knapsack.RateFilter
	for i := range twins {
		f, err := knapsack.NewRateFilter(n, knapsack.RateFilterConfig{Objective: knapsack.Objective(seed % 5)})
		require.NoError(t, err)
		twins[i] = f
	}
	// both does the same to both, which returns a number, or the same error.
	both := func(do func(f *knapsack.RateFilter) (int, error)) (int, error) {
		want, refused := do(twins[0])
		got, err := do(twins[1])
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, refused, err, "seed %d", seed)
		return got, err
	}
	try := func(do func(f *knapsack.RateFilter) error) {
		_, _ = both(func(f *knapsack.RateFilter) (int, error) { return 0, do(f) })
	}
	pages := slices.Collect(twins[0].All())
	var groups, asked []int
	now, still := 0.0, rng.IntN(2) == 0
	disturb := func() {
		page, much := pick(pages), math.Exp(rng.NormFloat64())
		switch rng.IntN(11) {
		case 0:
			_, _ = both(func(f *knapsack.RateFilter) (int, error) { return f.Add(), nil })
		case 1:
			if len(pages) > 1 {
				try(func(f *knapsack.RateFilter) error { return f.Remove(page) })
				asked = slices.DeleteFunc(asked, func(p int) bool { return p == page })
			}
		case 2:
			cfg := knapsack.GroupConfig{MinGap: float64(rng.IntN(2)) * much, MaxInFlight: rng.IntN(3)}
			group, err := both(func(f *knapsack.RateFilter) (int, error) { return f.AddGroup(cfg) })
			require.NoError(t, err)
			groups = append(groups, group)
		case 3, 4:
			group := -1
			if len(groups) > 0 && rng.IntN(8) > 0 {
				group = pick(groups)
			}
			for range 1 + rng.IntN(60) {
				page := pick(pages)
				try(func(f *knapsack.RateFilter) error { return f.SetGroup(page, group) })
			}
		case 5:
			if len(groups) > 0 {
				group := pick(groups)
				try(func(f *knapsack.RateFilter) error { return f.DeferGroup(group, now+much) })
			}
		case 6:
			try(func(f *knapsack.RateFilter) error { return f.Defer(page, now+20*much) })
		case 7:
			if seed%3 == 0 {
				try(func(f *knapsack.RateFilter) error { return f.Signal(page, 0, now) })
			}
		case 8:
			try(func(f *knapsack.RateFilter) error { return f.SetWeight(page, much) })
		case 9:
			try(func(f *knapsack.RateFilter) error { return f.SetInterval(page, much, 100*much) })
		case 10:
			try(func(f *knapsack.RateFilter) error { return f.Record(page, now, page%2 == 0) })
		}
		pages = slices.Collect(twins[0].All())
	}
	for range 200 + 4*n {
		if now += rng.ExpFloat64(); still {
			now = math.Floor(now)
		}
		if rng.IntN(3) == 0 {
			disturb()
		}
		if page, err := both(func(f *knapsack.RateFilter) (int, error) { return f.Next(now) }); err == nil {
			asked = append(asked, page)
		}
		for len(asked) > 0 && (len(asked) > 3 || rng.IntN(2) == 0) {
			i := rng.IntN(len(asked))
			page, changed := asked[i], rng.IntN(7) < asked[i]%7
			asked = slices.Delete(asked, i, i+1)
			if rng.IntN(12) == 0 {
				try(func(f *knapsack.RateFilter) error { return f.GiveBack(page, now) })
			} else {
				try(func(f *knapsack.RateFilter) error { return f.Observe(page, now, changed) })
			}
		}
		if rng.IntN(every) == 0 {
			want, err := twins[0].MarshalBinary()
			require.NoError(t, err)
			got, err := twins[1].MarshalBinary()
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "seed %d: other bytes", seed)
			twins[1] = new(knapsack.RateFilter)
			require.NoError(t, twins[1].UnmarshalBinary(got), "seed %d", seed)
		}
	}
}
