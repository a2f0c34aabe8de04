package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/census"
	"github.com/recrawl/recrawl/webenv"
)

// Where pages wake for some days of many changes, more is detected for what finds are learnt to lead to.
//
//	go test ./knapsack -v -run TestSequelOf -exact
func TestSequelOfPagesThatWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := partWorth(t, webs(8), Detections, ablation.Sequel, stories, detectedOf)
	require.Greater(t, mean-3*sd, 0.0)
}

// stories are a web of pages that are written some day, change often for some days, and then rest.
func stories(seed uint64) webenv.Env {
	return must(webenv.NewReplay(wakingWeb(500, 50, 0.2, 1.5, rand.New(rand.NewPCG(seed, 7))), 0))
}

// Where none do, nothing is lost.
func TestSequelOfPagesThatDoNotWake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	mean, sd := partWorth(t, webs(8), Detections, ablation.Sequel, steady, detectedOf)
	require.Greater(t, mean-3*sd, -0.005)
}

// lead lets a filter have learnt that all finds lead to ten a cycle.
func lead(f *RateFilter) {
	const many = 1 << 30 // pages, so that nothing is forgotten
	s := &f.census.Sequel
	for k := range 300 {
		gap := math.Exp2(float64(k%12 - 6))
		trail := s.Learn(0, gap, true, func() float64 { return 0.02 }, false, 0.02, many, 0)
		for k := range uint64(40) {
			trail = s.Learn(trail, 0.1, true, func() float64 { return 1 }, true, 0, many, k)
		}
	}
	for !s.Led() {
		s.Learn(0, 1, false, nil, true, 0, 16, 0)
	}
}

// The index counts what a poll teaches or what a find leads to, whichever is more, and that fades in; only
// Detections does.
func TestIndexOfSequels(t *testing.T) {
	t.Parallel()
	for o := range objectives {
		f := must(NewRateFilter(50, RateFilterConfig{Objective: o}))
		spin(t, f, 0, 50*20)
		fresh, view := f.model.Fresh(), belief.View{}
		f.model.See(&view, &fresh, belief.Level())
		index := func(gap float64) float64 {
			value, sequel := f.value(&view, gap, gap, past{})
			return f.model.Slope(value) + sequel
		}
		more := false
		for _, cycles := range []float64{0.001, 0.1, 1, 30} {
			gap := cycles * f.model.Cycle()
			f.census.Sequel = census.Sequel{}
			before := index(gap)
			lead(f)
			mean, _ := f.mean(&view, gap, gap, past{})
			worth := (1 - f.fade()) * f.census.Sequel.Worth(mean, cycles, false)
			want := before
			if o == Detections {
				want = max(before, f.model.Slope(mean)+worth)
			}
			require.Equal(t, want, index(gap), "%v after %v cycles", o, cycles)
			more = more || want > before
		}
		require.Equal(t, o == Detections, more)
	}
}

// What finds lead to is learnt of polls that are due to the index: not of pages that hints lead to, nor of
// those without weight. A page that is followed is followed no more when it is removed.
func TestWhatSequelsAreLearntFrom(t *testing.T) {
	t.Parallel()
	const n = 40
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	spin(t, f, 0, 10*n)
	learns := func(page int, weight float64) bool {
		require.NoError(t, f.SetWeight(page, weight))
		slot := uint32(Slot(page))
		f.trails[slot] = 3
		before := f.census.Sequel
		f.follow(slot, 0.01*f.model.Cycle(), true)
		require.Equal(t, f.trails[slot] != 0, before != f.census.Sequel)
		return f.trails[slot] != 0
	}
	require.True(t, learns(7, 1))
	require.False(t, learns(7, 0))
	require.True(t, learns(7, 1e-300))
	require.NoError(t, f.SetWeight(7, 2))
	require.NoError(t, f.SetCost(7, 3))
	slot, gap := uint32(Slot(7)), 0.01*f.model.Cycle()
	f.touched.set(slot, true)
	for _, trail := range []census.Trail{0, 3} { // what is learnt is by the price of this page, and its chance
		var tempo tempo
		tempo.tell(f, slot)
		chance, _ := f.mean(&tempo.view, gap, gap*tempo.multiplier, f.past(slot, f.last(slot), gap))
		want := f.census.Sequel
		after := want.Learn(trail, gap/f.model.Cycle(), true, func() float64 { return chance }, true, f.threshold*3/2, n, f.answers)
		require.Less(t, f.threshold*3/2, 1.0)
		f.trails[slot] = trail
		f.follow(slot, gap, true)
		require.Equal(t, want, f.census.Sequel)
		require.Equal(t, after, f.trails[slot])
	}
	require.NoError(t, f.Signal(7, 0, f.now))
	require.False(t, learns(7, 1))
	require.True(t, learns(8, 1))
	require.NoError(t, f.RecordChanges(8, f.now, f.now+1, nil))
	require.Zero(t, f.trails[8])
	require.True(t, learns(8, 1))
	require.NoError(t, f.Remove(8))
	page := f.Add()
	require.Zero(t, f.trails[Slot(page)])
}
