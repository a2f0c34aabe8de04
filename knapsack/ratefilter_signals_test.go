package knapsack

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A herald tells of changes: a share of them, a time late, and of other pages at some rate.
type herald struct {
	recall, late float64
	false        float64 // hints per change that are of any page
	turnsBad     bool    // half-way through, its hints become of any page
}

type news struct {
	at     float64
	page   int
	change bool
	source int
}

type newsHeap []news

func (h newsHeap) Len() int           { return len(h) }
func (h newsHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h newsHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *newsHeap) Push(x any)        { *h = append(*h, x.(news)) }
func (h *newsHeap) Pop() any          { x := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return x }

// heralded polls n pages, of which one changes at each poll on average, and returns how many polls
// found a change in either half of the run. A change shows that long after its time.
func heralded(t *testing.T, shows float64, heralds ...herald) (f *RateFilter, found [2]int) {
	const n, polls = 300, 20_000
	f = must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	rng := rand.New(rand.NewPCG(1, 1))
	others := rand.New(rand.NewPCG(1, 2)) // lest heralds alter the changes
	changed := make([]bool, n)
	var coming newsHeap
	next := rng.ExpFloat64()
	for k := 1; k <= polls; k++ {
		now := float64(k)
		for ; next <= now; next += rng.ExpFloat64() {
			page := rng.IntN(n)
			heap.Push(&coming, news{at: next + shows, page: page, change: true})
			for source, h := range heralds {
				if others.Float64() < h.recall {
					of, at := page, next+h.late
					if h.turnsBad && 2*k > polls {
						of = others.IntN(n)
					}
					heap.Push(&coming, news{at: at, page: of, source: source})
				}
				for left := h.false; others.Float64() < left; left-- {
					heap.Push(&coming, news{at: next, page: others.IntN(n), source: source})
				}
			}
		}
		for len(coming) > 0 && coming[0].at <= now {
			x := heap.Pop(&coming).(news)
			if x.change {
				changed[x.page] = true
			} else {
				require.NoError(t, f.Signal(x.page, x.source, x.at))
			}
		}
		page := must(f.Next(now))
		if changed[page] {
			found[2*(k-1)/polls]++
		}
		require.NoError(t, f.Observe(page, now, changed[page]))
		changed[page] = false
	}
	return f, found
}

// Sources are told apart: an honest one is followed, also beside liars, a late one as far as it is
// worth it, and one that turns bad is left. Under the null hypothesis that hints make no
// difference the counts of half a run, about 6,000 binomial answers of 10,000, have a standard
// deviation of 50 each, so their difference one of 70, and 280 are four of them. A liar may cost
// that much, 5 % of what is found, and no more.
func TestSignalsOfSeveralSources(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const margin = 280
	_, plain := heralded(t, 0)
	honest := herald{recall: 0.8, false: 0.2}
	liar := herald{false: 1}
	f, good := heralded(t, 0, honest)
	_, lied := heralded(t, 0, liar)
	both, mixed := heralded(t, 0, liar, honest)
	bad, turned := heralded(t, 0, herald{recall: 0.8, turnsBad: true})
	_, late := heralded(t, 0, herald{recall: 0.8, late: 150})
	_, early := heralded(t, 60, herald{recall: 0.8})
	t.Logf("found in the halves: none %v, honest %v, liar %v, both %v, turns bad %v, late %v, early %v",
		plain, good, lied, mixed, turned, late, early)
	for half := range 2 {
		require.Greater(t, good[half], plain[half]+margin)
		require.Greater(t, mixed[half], good[half]-margin, "a liar beside an honest source")
		require.Greater(t, lied[half], plain[half]-margin, "a liar alone")
		require.Greater(t, late[half], plain[half]-margin)
	}
	require.Greater(t, turned[0], plain[0]+margin)
	require.Greater(t, turned[1], plain[1]-margin, "disbelieved")
	require.Greater(t, late[1], plain[1], "half a cycle late is better than nothing")
	precision, recall := f.SignalQuality(0)
	require.InDelta(t, 0.8, precision, 0.1)
	require.Greater(t, recall, 0.75)
	again, _ := both.SignalQuality(1)
	require.InDelta(t, precision, again, 0.1)
	ofLiar, _ := both.SignalQuality(0)
	// It is of the last 500 answers or so, few of which are of pages with this hint alone.
	require.InDelta(t, float64(mixed[1])/10_000, ofLiar, 0.15, "what polls find anyway")
	ofBad, _ := bad.SignalQuality(0)
	require.Less(t, ofBad, 0.7)
	require.Greater(t, early[1], plain[1]+margin/2, "polled when the change shows")
	unknown, _ := f.SignalQuality(5)
	require.True(t, math.IsNaN(unknown))
}

// A hint may be ahead of its time, but not of another unit of time.
func TestSignalAhead(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(10, RateFilterConfig{Objective: Detections}))
	require.NoError(t, f.Signal(1, 0, 1e12), "there is no scale yet")
	for now := 0.0; now < 40; now++ {
		require.NoError(t, f.Observe(must(f.Next(now)), now, false))
	}
	require.InEpsilon(t, 10, f.model.Cycle(), 0.01)
	require.NoError(t, f.Signal(1, 0, 39+farAhead*9.9))
	require.ErrorIs(t, f.Signal(1, 0, 39+farAhead*10.1), ErrTime)
	require.ErrorIs(t, f.Signal(1, -1, 39), ErrConfig)
	require.ErrorIs(t, f.Signal(1, 64, 39), ErrConfig)
}

// A hint in another unit that came before there was a scale does not keep out those that come after it,
// and is gone with the page's next answer.
func TestSignalInAnotherUnit(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(10, RateFilterConfig{}))
	for page := range 2 {
		require.NoError(t, f.Signal(page, 0, 1e12))
	}
	require.NoError(t, f.Signal(2, 0, 20))
	now := 0.0
	for ; !f.model.Known(); now++ {
		require.NoError(t, f.Observe(must(f.Next(now)), now, false))
	}
	index := func(page int) float64 { return must(f.Index(page, now+100)) }
	before := index(0)
	require.NoError(t, f.Signal(0, 0, now))
	require.Greater(t, index(0), 1.1*before)
	require.True(t, f.hints.Led(1))
	require.NoError(t, f.Record(1, now, false))
	require.False(t, f.hints.Led(1))
	require.True(t, f.hints.Led(2), "it is of soon")
}

// The page of which a signal comes is the next one polled, or soon, whatever the objective: of 100
// pages that change alike, and nearly as soon if it changes a tenth as often as the others.
func TestSignalComesFirst(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const seeds = 6
	for _, o := range tried() {
		var usual, slow []int
		for seed := range uint64(seeds) {
			u, s := waitsAfterSignals(t, o, seed)
			usual, slow = append(usual, u...), append(slow, s...)
		}
		slices.Sort(usual)
		slices.Sort(slow)
		tenth := len(usual) * 9 / 10
		t.Logf("%v: polls from a signal to its page: median %d, the slowest tenth from %d; of a slow page %d, %d",
			o, usual[len(usual)/2], usual[tenth], slow[len(slow)/2], slow[tenth])
		require.Equal(t, 1, usual[len(usual)/2])
		require.LessOrEqual(t, usual[tenth], 5)
		require.Equal(t, 1, slow[len(slow)/2])
		require.LessOrEqual(t, slow[tenth], 5)
	}
}

// waitsAfterSignals returns how many polls a page of which a signal comes waits, and a slow one.
func waitsAfterSignals(t *testing.T, o Objective, seed uint64) (usual, slow []int) {
	t.Helper()
	const n = 100
	f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
	rng := rand.New(rand.NewPCG(seed, 4))
	last, now, told := make([]float64, n), 0.0, -1
	poll := func() int {
		now++
		page := must(f.Next(now))
		rate := 0.7 / n
		if page < n/10 {
			rate /= 10
		}
		changed := page == told || rng.Float64() < -math.Expm1(-rate*(now-last[page]))
		require.NoError(t, f.Observe(page, now, changed))
		last[page] = now
		return page
	}
	waits := func(page int) (polls int) {
		for now-last[page] < n/5 { // it may have been polled just now
			poll()
		}
		require.NoError(t, f.Signal(page, 0, now))
		told = page
		for polls = 1; poll() != page; polls++ {
		}
		told = -1
		return polls
	}
	for range 20 * n {
		poll()
	}
	for k := range 10 {
		usual = append(usual, waits(50+k))
		slow = append(slow, waits(k))
	}
	return usual, slow
}
