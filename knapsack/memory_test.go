package knapsack

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// heapOf returns the memory that what make returns holds.
func heapOf(make func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(v)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// The bytes a page that the comments of the types state are those that are held. It runs alone, as
// it measures the heap.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const n = 100_000
	src := rand.NewPCG(1, 2)
	filter := func(prepare func(f *RateFilter)) func() any {
		return func() any {
			f := must(NewRateFilter(n, RateFilterConfig{}))
			spin(t, f, 0, 100)
			prepare(f)
			return f
		}
	}
	// grouped has polls of pages in groups of so many, until their evidence has all its knots.
	grouped := func(pages int) func() any {
		return filter(func(f *RateFilter) {
			groups := make([]int, n/pages)
			for g := range groups {
				groups[g] = must(f.AddGroup(GroupConfig{}))
			}
			for page := range n {
				require.NoError(t, f.SetGroup(page, groups[page%len(groups)]))
			}
			for k := range 4 * n {
				page := k % n
				require.NoError(t, f.Record(page, 100+float64(k), k%7 == 0))
			}
		})
	}
	alone := 0.0
	for _, c := range []struct {
		name  string
		bytes float64
		make  func() any
	}{
		{"RateFilter", 60, filter(func(*RateFilter) {})},
		{"RateFilter after two cycles", 61, filter(func(f *RateFilter) { spin(t, f, 100, 2*n) })},
		{"RateFilter for Detections after two cycles", 64, func() any {
			f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
			spin(t, f, 0, 2*n)
			return f
		}},
		{"RateFilter with weights", 60 + 8, filter(func(f *RateFilter) { _ = f.SetWeight(1, 2) })},
		{"RateFilter with intervals", 60 + 20, filter(func(f *RateFilter) { _ = f.SetInterval(1, 2, 3) })},
		{"RateFilter with groups", 60 + 6, filter(func(f *RateFilter) { _ = f.SetGroup(1, must(f.AddGroup(GroupConfig{}))) })},
		{"RateFilter with groups of 100", 60 + 16, grouped(100)},
		{"RateFilter with groups of 32", 60 + 16, grouped(32)},
		{"RateFilter with groups of 34", 60 + 33, grouped(34)},
		{"RateFilter with groups of 5", 60 + 69, grouped(5)},
		{"RateFilter, all pages deferred", 60 + 60 + 12, filter(func(f *RateFilter) {
			for page := range n {
				require.NoError(t, f.Defer(page, 1e9))
			}
			_, err := f.Next(200)
			require.ErrorIs(t, err, ErrNoPage)
		})},
		{"Fixed, even", 29, func() any { return must(NewFixed(make([]float64, n), Even, nil)) }},
		{"Fixed, random", 25, func() any { return must(NewFixed(make([]float64, n), Random, src)) }},
		{"Adaptive", 29, func() any { return must(NewAdaptive(n, AdaptiveConfig{})) }},
		{"LAKG, even", 31, func() any { return must(NewLAKG(n, LAKGConfig{Spacing: Even}, src)) }},
		{"LAKG, random", 10.3, func() any { return must(NewLAKG(n, LAKGConfig{}, src)) }},
		{"VLAKG, even", 33, func() any { return must(NewVLAKG(n, VLAKGConfig{}, nil)) }},
		{"HTRAA", 26.0 * (1 << 17) / n, func() any { return must(NewHTRAA(n, HTRAAConfig{}, src)) }},
		{"EstimateFirst", 29 + 24, func() any { return must(NewEstimateFirst(n, EstimateFirstConfig{}, nil)) }},
		{"Planner, gamma", 45 + 16, func() any { return must(NewPlanner(n, PlannerConfig{Method: Gamma}, nil)) }},
	} {
		perPage := heapOf(c.make) / n
		t.Logf("%s: %.1f bytes a page, stated %.0f", c.name, perPage, c.bytes)
		if perPage < c.bytes*0.8 || perPage > c.bytes*1.1+1 { // slices grow by steps
			t.Errorf("%s: %.1f bytes a page, stated %.0f", c.name, perPage, c.bytes)
		}
		switch c.name {
		case "RateFilter":
			alone = perPage
		case "RateFilter with groups of 100", "RateFilter with groups of 32":
			require.Less(t, perPage-alone, 16.5, "%s", c.name)
		}
	}
}
