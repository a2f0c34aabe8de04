package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// votes returns the sum of the votes of the prior.
func (f *RateFilter) votes(t require.TestingT) (sum float64) {
	e := codec.NewEncoder("census", 1)
	f.census.Encode(e)
	d := must(codec.NewDecoder(must(e.Finish()), "census", 1))
	for range belief.Classes {
		for _, votes := range d.Float64sIn(belief.Cells, 0, math.MaxFloat64) {
			sum += votes
		}
		d.Float64sIn(belief.Cells, 0, math.MaxFloat64)
	}
	require.NoError(t, d.Err())
	return sum
}

// sampling returns a filter of n pages that takes few for enough to tell of all.
func sampling(n, few int, o Objective) *RateFilter {
	f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
	f.census.Few = few
	return f
}

// What pages vote as is what those of the slots in use do, however they come, go and are learnt
// from.
func TestVotesComeAndGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(200, 600).Draw(t, "pages")
		f := sampling(n, 64, Freshness)
		sum := func() (sum int) {
			for slot := range f.polled {
				if f.ids.Live(slot) {
					sum += f.census.Votes(uint32(slot))
				}
			}
			return sum
		}
		off, now := f.votes(t)-float64(sum()), 0.0
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var pages []int
		for page := range f.All() {
			pages = append(pages, page)
		}
		for range 20 {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				for range 40 {
					pages = append(pages, f.Add())
				}
			case 1:
				for range min(len(pages)/2, 40) {
					i := rng.IntN(len(pages))
					require.NoError(t, f.Remove(pages[i]))
					pages[i] = pages[len(pages)-1]
					pages = pages[:len(pages)-1]
				}
			default:
				for range min(len(pages), 40) {
					page := must(f.Next(now))
					now++
					require.NoError(t, f.Observe(page, now, rng.IntN(4) == 0))
				}
			}
		}
		// But for what keeps a hypothesis from dying out, as pages take back what they are thought to
		// have come with. A page that is forgotten in one step of 20 is 40 off or more.
		require.InDelta(t, float64(sum())+off, f.votes(t), 12)
	})
}

// simulate polls pages of rates from 1/8 to 8 per cycle for some cycles, and returns the changes
// found.
func simulate(t require.TestingT, f *RateFilter, cycles int, seed uint64) (found int) {
	n := f.Len()
	rng, last := rand.New(rand.NewPCG(seed, 1)), make([]float64, n)
	for k := range cycles * n {
		now := float64(k)
		page := must(f.Next(now))
		rate := math.Exp2(float64(mix64(uint64(page)^seed<<32)%7)-3) / float64(n)
		changed := rng.ExpFloat64() < rate*(now-last[page])
		if last[page] = now; changed {
			found++
		}
		require.NoError(t, f.Observe(page, now, changed))
	}
	return found
}

// A filter that samples finds as much as one that does not, but for what seeds make (1 to 2 % under
// Detections), expects what it finds, and computes fewer indices.
func TestSampleTellsOfAll(t *testing.T) {
	t.Parallel()
	for _, o := range []Objective{Freshness, Detections} {
		var found, looks [2]float64
		for seed := range uint64(2) {
			for i, few := range []int{1 << 20, 512} {
				f := sampling(8000, few, o)
				found[i] += float64(simulate(t, f, 4, seed))
				looks[i] += float64(f.looks)
				s := f.Stats()
				require.InEpsilon(t, s.Found, s.Expected, 0.1)
				require.InEpsilon(t, s.Changes, s.Found, 0.1)
			}
		}
		t.Logf("%v: found %.0f, indices %.0f", o, found, looks)
		require.InEpsilon(t, found[0], found[1], 0.03)
		require.Less(t, looks[1], [objectives]float64{Freshness: 0.98, Detections: 0.97}[o]*looks[0])
	}
}

// A filter that samples goes on bit for bit after it was saved.
func TestSampleIsRestored(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range []Objective{Freshness, Detections} {
		f := sampling(500, 32, o)
		simulate(t, f, 3, 1)
		var g RateFilter
		require.NoError(t, g.UnmarshalBinary(must(f.MarshalBinary())))
		g.census.Few = f.census.Few
		for k := range 1500 {
			now := f.now + 1
			page := must(f.Next(now))
			require.Equal(t, page, must(g.Next(now)))
			require.NoError(t, f.Observe(page, now, k%3 == 0))
			require.NoError(t, g.Observe(page, now, k%3 == 0))
		}
		require.Equal(t, must(f.MarshalBinary()), must(g.MarshalBinary()))
	}
}

// Where there are many pages, 99 of 100 are due when their index reaches the level, to an eighth of the
// time or a little more, and each to a fifth or a little more.
func TestDueOfMany(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	f := sampling(2000, 256, Freshness)
	simulate(t, f, 5, 1)
	require.True(t, f.many())
	level := f.queue.Level()
	var looks [2]uint64
	var off []float64
	for slot := range uint32(2000) {
		guess := f.now - f.last(slot)
		before := f.looks
		exact := f.crossing(slot, guess, 1, level, 4)
		looks[0] += f.looks - before
		before = f.looks
		off = append(off, math.Abs(f.crossing(slot, guess, 1, level, 0)/exact-1))
		looks[1] += f.looks - before
	}
	slices.Sort(off)
	require.Less(t, off[len(off)*99/100], 0.14)
	require.Less(t, off[len(off)-1], 0.21)
	require.Less(t, looks[1], looks[0]/3)
}

// In the first half of the first cycle of many pages those that are behind the ones that were never polled
// are left alone until as long before its end, by the queue and by the sweep, and what is polled is worth
// nearly as much as the best page.
func TestOutdonePagesAreLeftAlone(t *testing.T) {
	t.Parallel()
	const n = 60_000
	f := sampling(n, 1024, Freshness)
	rng, last := rand.New(rand.NewPCG(1, 1)), make([]float64, n)
	got, want, outdone, looks := 0.0, 0.0, []uint32{}, uint64(0)
	const polls = n * 9 / 20
	for k := range polls {
		now, best := float64(k), 0.0
		if k%300 == 0 && k > n/20 {
			for slot := range uint32(n) {
				if f.queue.Waits(slot) {
					best = max(best, f.index(slot, f.gap(slot, now)))
				}
			}
		}
		before := f.looks
		page := must(f.Next(now))
		looks += f.looks - before
		slot := uint32(Slot(page))
		if best > 0 {
			want += best
			got += f.index(slot, f.gap(slot, now))
		}
		rate := math.Exp2(float64(mix64(uint64(page))%7)-5) / n
		changed := rng.ExpFloat64() < rate*(now-last[page])
		last[page] = now
		require.NoError(t, f.Observe(page, now, changed))
		if left := f.spared(); left > 0 && f.outdone(slot, 0, 1) {
			outdone = append(outdone, slot)
			require.InDelta(t, n-2*now, left, 0.05*n)
			// A little sooner, as a lot's multiplier may fall.
			require.Greater(t, f.queue.Due(slot, forQueue{f}), now+0.8*left)
			due := f.queue.Due(slot, forQueue{f})
			f.sweepPage(slot)
			require.Equal(t, due, f.queue.Due(slot, forQueue{f}))
		}
	}
	t.Logf("choices worth %.3f, %.1f indices a Next, %d outdone", got/want, float64(looks)/polls, len(outdone))
	require.Greater(t, got/want, 0.95)
	require.Greater(t, len(outdone), polls*3/4)
	require.Less(t, looks, uint64(11*polls))

	slot := outdone[len(outdone)/2] // the first ones may have reached the level by now
	require.Positive(t, f.spared())
	require.True(t, f.outdone(slot, 0, 1))
	require.False(t, f.outdone(slot, f.threshold, 1), "its index has reached the price")
	now := f.now
	var as tempo
	as.tell(f, slot)
	require.Equal(t, now+f.spared(), f.reaches(slot, now, f.index(slot, f.gap(slot, now)), f.queue.Level(), &as))
	f.now = 0.51 * n
	require.Zero(t, f.spared(), "in the second half")
	f.now = now
	g := new(RateFilter)
	require.NoError(t, g.UnmarshalBinary(saved(t, f)))
	g.census.Few = f.census.Few
	require.Positive(t, g.spared())
	require.NoError(t, g.SetGroup(int(slot), must(g.AddGroup(GroupConfig{}))))
	require.False(t, g.outdone(slot, 0, 1), "in a group")
	for slot := range uint32(n) {
		if g.alike(slot) {
			g.queue.Take(slot)
		}
	}
	require.Zero(t, g.spared(), "with no page that was never polled")
	require.NoError(t, f.SetWeight(0, 2))
	require.Zero(t, f.spared(), "with weights")
}

// No answer of a page that is not in the sample allocates, and none that is.
func TestSampleDoesNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	f := sampling(4000, 128, Detections)
	simulate(t, f, 3, 1)
	k := 0
	require.Zero(t, testing.AllocsPerRun(2000, func() {
		now := f.now + 1
		page, err := f.Next(now)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Observe(page, now, k%5 == 0); err != nil {
			t.Fatal(err)
		}
		k++
	}))
}
