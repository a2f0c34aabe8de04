package knapsack_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/internal/golden"
	"github.com/recrawl/recrawl/knapsack"
)

// A web is a small synthetic world with known change times, and how a filter is driven
// through it. What is nil or 0 is left out.
type web struct {
	name      string
	pages     int
	objective knapsack.Objective
	spread    float64 // standard deviation of log rate
	mean      float64 // changes per page and cycle, about
	cycles    int
	unit      float64
	massEdits bool // every tenth cycle a third of all pages change at once
	bursts    bool // the budget comes in bursts of 37 polls
	complete  bool // every change is told
	latency   int  // polls in flight
	prepare   func(f *knapsack.RateFilter)
	hints     float64 // share of changes that are told by a signal
	restore   bool    // saved and restored now and then
	churn     bool    // pages come and go, polls fail
}

func webs() []web {
	var all []web
	for o := knapsack.Objective(0); o <= knapsack.Delay; o++ {
		all = append(all,
			web{name: "mixed-" + o.String(), pages: 150, objective: o, spread: 1.7, mean: 0.5, cycles: 40},
			web{name: "busy-" + o.String(), pages: 60, objective: o, spread: 1, mean: 6, cycles: 40, unit: 3600},
		)
	}
	groups := func(f *knapsack.RateFilter) {
		a, _ := f.AddGroup(knapsack.GroupConfig{MinGap: 0.05})
		b, _ := f.AddGroup(knapsack.GroupConfig{MaxShare: 0.1})
		c, _ := f.AddGroup(knapsack.GroupConfig{MinGap: 0.02, MaxShare: 0.3})
		for page := range 120 {
			_ = f.SetGroup(page, []int{a, b, c, -1}[page%4])
		}
	}
	intervals := func(f *knapsack.RateFilter) {
		for page := range 60 {
			_ = f.SetInterval(page, 0.1*float64(page%7), []float64{2, 9, math.Inf(1)}[page%3]+1)
		}
	}
	weights := func(f *knapsack.RateFilter) {
		for page := range 100 {
			_ = f.SetWeight(page, []float64{0, 0.2, 1, 5, 40}[page%5])
		}
	}
	everything := func(f *knapsack.RateFilter) { groups(f); intervals(f); weights(f) }
	return append(all,
		web{name: "equal", pages: 100, objective: knapsack.Detections, mean: 0.3, cycles: 60},
		web{name: "mass", pages: 200, objective: knapsack.Detections, spread: 1, mean: 0.2, cycles: 60, massEdits: true},
		web{name: "large", pages: 3000, objective: knapsack.Detections, spread: 2, mean: 0.3, cycles: 8},
		web{name: "one", pages: 1, objective: knapsack.Detections, mean: 1, cycles: 900, unit: 1e-9},
		web{name: "bursts", pages: 130, objective: knapsack.Detections, spread: 1.5, mean: 0.4, cycles: 30, bursts: true, unit: 86400},
		web{name: "complete", pages: 120, objective: knapsack.Detections, spread: 1.5, mean: 1, cycles: 30, complete: true},
		web{name: "complete-age", pages: 120, objective: knapsack.Age, spread: 1.5, mean: 1, cycles: 30, complete: true},
		web{name: "flight", pages: 150, objective: knapsack.Detections, spread: 1.7, mean: 0.5, cycles: 30, latency: 20},
		web{name: "churn", pages: 150, objective: knapsack.Detections, spread: 1.7, mean: 0.5, cycles: 30, latency: 7, churn: true, restore: true},
		web{name: "weights", pages: 150, objective: knapsack.Detections, spread: 1.5, mean: 0.5, cycles: 30, prepare: weights},
		web{name: "groups", pages: 150, objective: knapsack.Detections, spread: 1.5, mean: 0.5, cycles: 30, prepare: groups},
		web{name: "intervals", pages: 150, objective: knapsack.Detections, spread: 1.5, mean: 0.5, cycles: 30, prepare: intervals},
		web{name: "signals", pages: 150, objective: knapsack.Detections, spread: 1.5, mean: 0.5, cycles: 30, hints: 0.7},
		web{name: "signals-freshness", pages: 150, objective: knapsack.Freshness, spread: 1.5, mean: 0.5, cycles: 30, hints: 0.7},
		web{name: "all", pages: 150, objective: knapsack.Detections, spread: 1.5, mean: 0.5, cycles: 40, hints: 0.5, prepare: everything, latency: 5, churn: true, restore: true},
		web{name: "all-harmonic", pages: 150, objective: knapsack.Harmonic, spread: 1.5, mean: 0.5, cycles: 40, hints: 0.5, prepare: everything, latency: 5, churn: true, restore: true},
	)
}

// run drives a filter through a web and returns a line of hashes of what was chosen, one
// for each 500 polls. It is long because every field of a web is one more thing that may
// happen at each poll.
func (w *web) run(t *testing.T) string {
	f, err := knapsack.NewRateFilter(w.pages, knapsack.RateFilterConfig{Objective: w.objective})
	require.NoError(t, err)
	if w.prepare != nil {
		w.prepare(f)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	unit := 1.0
	if w.unit > 0 {
		unit = w.unit
	}
	step := 1 / float64(w.pages) // a cycle takes 1 unit
	type page struct {
		rate, seen float64
		next       float64
	}
	newPage := func(now float64) page {
		rate := w.mean * math.Exp(w.spread*(2*rng.Float64()-1))
		return page{rate, now, now + rng.ExpFloat64()/rate}
	}
	pages := map[int]*page{}
	var order []int
	for id := range w.pages {
		p := newPage(0)
		pages[id], order = &p, append(order, id)
	}
	hash := fnv.New64a()
	var line strings.Builder
	found := 0
	var flight []int
	answer := func(id int, now float64) {
		p := pages[id]
		var times []float64
		if w.massEdits && id%3 == 0 && math.Floor(now/10) > math.Floor(p.seen/10) {
			times = append(times, 10*math.Floor(now/10)*unit)
		}
		for p.next <= now {
			times = append(times, p.next*unit)
			p.next += rng.ExpFloat64() / p.rate
		}
		p.seen = now
		if len(times) > 0 {
			found++
		}
		if w.complete {
			require.NoError(t, f.RecordChanges(id, math.Inf(-1), now*unit, times))
		}
		require.NoError(t, f.Observe(id, now*unit, len(times) > 0))
	}
	polls := w.cycles * w.pages
	for k := range polls {
		now := step * float64(k)
		if w.bursts {
			now = step * float64(k/37*37)
		}
		if w.hints > 0 && rng.Float64() < 0.5 {
			id := order[rng.IntN(len(order))]
			if p := pages[id]; p.next <= now && rng.Float64() < w.hints || rng.Float64() < 0.02 {
				require.NoError(t, f.Signal(id, 0, now*unit))
			}
		}
		if w.churn && k%29 == 0 {
			at := rng.IntN(len(order))
			id := order[at]
			require.NoError(t, f.Remove(id))
			delete(pages, id)
			for i, other := range flight {
				if other == id {
					flight = append(flight[:i], flight[i+1:]...)
					break
				}
			}
			p := newPage(now)
			order[at] = f.Add()
			pages[order[at]] = &p
		}
		if w.restore && k%333 == 0 {
			data, err := f.MarshalBinary()
			require.NoError(t, err)
			f = new(knapsack.RateFilter)
			require.NoError(t, f.UnmarshalBinary(data))
		}
		id, err := f.Next(now * unit)
		if err != nil {
			require.ErrorIs(t, err, knapsack.ErrNoPage)
			id = -1
		} else {
			flight = append(flight, id)
		}
		_ = binary.Write(hash, binary.LittleEndian, int64(id))
		for len(flight) > w.latency {
			id := flight[0]
			flight = flight[1:]
			if w.churn && k%11 == 0 {
				require.NoError(t, f.GiveBack(id, now*unit))
				continue
			}
			answer(id, now)
		}
		if k%500 == 499 || k == polls-1 {
			fmt.Fprintf(&line, " %08x", uint32(hash.Sum64()))
		}
	}
	return fmt.Sprintf("%s found %d:%s\n", w.name, found, line.String())
}

// What Next gives, on webs of all kinds: hashes of the pages chosen, one for each 500
// polls. A change of decisions must be meant.
func TestRateFilterChoicesAreGolden(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, w := range webs() {
		got.WriteString(w.run(t))
	}
	golden.Check(t, "choices/ratefilter-webs.golden", got.String())
}

// A filter that is saved and loaded now and then polls the same pages as one that never is.
func TestRateFilterRestoredChoices(t *testing.T) {
	t.Parallel()
	for _, w := range webs() {
		if w.cycles*w.pages > 6000 || w.complete || w.churn {
			continue // what takes long, or has nothing else of its own
		}
		w.restore = false
		want := w.run(t)
		w.restore = true
		require.Equal(t, want, w.run(t))
	}
}

// A filter with everything in use is saved and restored: see codectest.Run.
func TestRateFilterSaved(t *testing.T) {
	t.Parallel()
	for _, o := range []knapsack.Objective{knapsack.Detections, knapsack.Age, knapsack.Delay} {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && o != knapsack.Detections {
				t.Skip("long")
			}
			codectest.Run(t, "rate-filter-"+o.String(), savedFilter(t, o))
		})
	}
}

// Forged states of a filter with too many pages to look at all, half of them in a group that an edit of many
// pages has changed.
func TestRateFilterForged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, o := range []knapsack.Objective{knapsack.Freshness, knapsack.Detections, knapsack.Delay} {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			forgedFilter(t, o)
		})
	}
}

func forgedFilter(t *testing.T, o knapsack.Objective) {
	const n = 104
	f, err := knapsack.NewRateFilter(n, knapsack.RateFilterConfig{Objective: o})
	require.NoError(t, err)
	group, err := f.AddGroup(knapsack.GroupConfig{})
	require.NoError(t, err)
	for page := range n / 2 {
		require.NoError(t, f.SetGroup(page, group))
	}
	for k := range 6 * n {
		page, err := f.Next(float64(k))
		require.NoError(t, err)
		require.NoError(t, f.Observe(page, float64(k), k%7 < page%7 || k > 11*n/2 && page < n/2))
	}
	codectest.Forged(t, codectest.Of(f, func() *knapsack.RateFilter { return new(knapsack.RateFilter) },
		func(f *knapsack.RateFilter) any {
			for k := range 12 {
				now := 7*n + float64(k)
				page, err := f.Next(now)
				if err != nil {
					continue
				}
				require.False(t, math.IsNaN(f.Price()))
				require.NoError(t, f.Observe(page, now, k%2 == 0))
				f.Add()
			}
			return nil
		}, codectest.Drifts))
}

func FuzzSavedRateFilter(f *testing.F) {
	codectest.Fuzz(f, savedFilter(f, knapsack.Detections), savedFilter(f, knapsack.Age),
		savedFilter(f, knapsack.Delay))
}

func savedFilter(t testing.TB, o knapsack.Objective) *codectest.Case {
	f, err := knapsack.NewRateFilter(4, knapsack.RateFilterConfig{Objective: o})
	require.NoError(t, err)
	group, err := f.AddGroup(knapsack.GroupConfig{MinGap: 2, MaxShare: 0.75})
	require.NoError(t, err)
	for page := range 2 {
		require.NoError(t, f.SetGroup(page, group))
		require.NoError(t, f.SetInterval(page, 1, 64))
	}
	require.NoError(t, f.SetWeight(2, 0.5))
	for k := range 60 {
		page, err := f.Next(float64(k))
		require.NoError(t, err)
		if k == 57 {
			require.NoError(t, f.GiveBack(page, float64(k)))
		} else if k < 59 {
			require.NoError(t, f.Observe(page, float64(k), page == 1))
		}
	}
	require.NoError(t, f.Signal(3, 0, 70))
	require.NoError(t, f.Remove(2))
	return codectest.Of(f, func() *knapsack.RateFilter { return new(knapsack.RateFilter) }, useFilter, codectest.Drifts)
}

// useFilter does with a filter what a crawler does, whatever its state.
func useFilter(f *knapsack.RateFilter) any {
	var did []any
	asks := 25
	if testing.Short() {
		asks = 9 // thousands of forged states are used so
	}
	for k := range asks {
		now := 400 + float64(k)
		page, err := f.Next(now)
		did = append(did, page, err, f.Price())
		switch k % 5 {
		case 0:
			did = append(did, f.GiveBack(page, now))
		case 1:
			did = append(did, f.RecordChanges(page, math.Inf(-1), now, []float64{now}), f.Observe(page, now, true))
		case 2:
			did = append(did, f.Observe(page, now, true), f.Signal(page, 0, now), f.SetInterval(page, 1, 9))
		case 3:
			did = append(did, f.Add(), f.Remove(page))
		}
	}
	polls, err := f.PollsFor(knapsack.Freshness, 0.5)
	return fmt.Sprint(did, f.Len(), polls, err)
}
