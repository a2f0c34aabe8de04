package knapsack

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/budget"
)

// warm returns a filter of n pages in full swing: of 64 kinds, with the
// threshold at which they ask for one poll per unit of time, and each somewhere in
// its interval.
func warm(n int) *RateFilter {
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	cycle := float64(n)
	f.model.Begin(cycle)
	f.now = 0
	e := codec.NewEncoder("meter", 1) // a meter after 4n polls
	e.Float64(-patience * cycle)
	e.Uint64(uint64(4 * n))
	e.Float64(0)
	e.Uint64(uint64(4 * n))
	e.Float64(0)
	f.meter = budget.Decode(must(codec.NewDecoder(must(e.Finish()), "meter", 1)), f.now)
	for k := range belief.Cells { // evidence that pages differ, so that it stays so
		time := cycle * cycle
		f.census.Hedge.Add(k, time*f.model.Rate(float64(k)), time)
	}
	var kinds [64]belief.Packed
	for i := range kinds {
		kinds[i] = f.model.Fresh()
		var b belief.Belief
		f.model.Unpack(&kinds[i], &b)
		for k := range 10 {
			f.model.Learn(&b, cycle*0.3, cycle*0.3, k*7%64 < i)
		}
		f.model.Pack(&b, &kinds[i], uint64(i))
		for !(f.census.Hedge.Gain() > worthwhile) {
			f.census.Count(&b, &b, 1, cycle)
		}
	}
	var gaps [64]float64
	lo, hi := -20.0, 0.0 // log threshold
	for range 40 {
		f.threshold = math.Exp((lo + hi) / 2)
		rate := 0.0
		for i := range kinds {
			f.beliefs[0] = kinds[i]
			gaps[i] = f.crossing(0, cycle, 1, f.threshold, 2)
			rate += cycle / 64 / gaps[i]
		}
		if rate > 1 {
			lo = math.Log(f.threshold)
		} else {
			hi = math.Log(f.threshold)
		}
	}
	f.queue.Begin(cycle, cycle, f.threshold, f.meter.Start(), false)
	for i := range f.polled {
		h := mix64(uint64(i))
		f.beliefs[i] = kinds[h%64]
		f.polled[i] = -gaps[h%64] * float64(h>>40) / (1 << 24)
		f.queue.Rekey(uint32(i), f.polled[i]+gaps[h%64], f.now, forQueue{f})
	}
	return f
}

// mix64 is the finaliser of SplitMix64: a number without pattern for each page.
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

var large = flag.Bool("large", false, "benchmark the rate filter with many pages, up to ten million")

// BenchmarkRateFilter measures an ask and its answer, by number of pages.
func BenchmarkRateFilter(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6, 1e7} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if !*large && n > 1e5 {
				b.Skip("takes minutes, and up to 620 MB: -large")
			}
			f := warm(n)
			now := 0.0
			b.ReportAllocs()
			found, polls := 0, 0
			for b.Loop() {
				for range 10_000 {
					now++
					page, err := f.Next(now)
					if err != nil {
						b.Fatal(err)
					}
					// Rates from 1/8 to 8 per cycle.
					rate := math.Exp2(float64(mix64(uint64(page))%7)-3) / float64(n)
					luck := float64(mix64(uint64(page)^uint64(now)<<32)>>11) * 0x1p-53
					changed := luck < -math.Expm1(-rate*(now-f.polled[page]))
					if err := f.Observe(page, now, changed); err != nil {
						b.Fatal(err)
					}
					if changed {
						found++
					}
					polls++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(polls), "ns/poll")
			b.ReportMetric(f.bytesPerPage(), "B/page")
		})
	}
}

// BenchmarkRateFilterLongestNext measures each Next of the first three cycles, by number of pages: the
// longest beside the median and the mean, and the indices that they computed. The aim is 100 times the
// median. What counts for a call is the shortest of its times in three runs that are the same: nothing
// is allocated, and no other part of a time is the filter's.
func BenchmarkRateFilterLongestNext(b *testing.B) {
	for _, n := range []int{1e4, 1e5, 1e6} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if !*large && n > 1e4 {
				b.Skip("takes half a minute, and minutes: -large")
			}
			for b.Loop() {
				times, looks := nexts(b, n)
				median, longest := times[len(times)/2], times[len(times)-1]
				sum := 0.0
				for _, t := range times {
					sum += t
				}
				b.ReportMetric(median, "median-ns")
				b.ReportMetric(sum/float64(len(times)), "mean-ns")
				b.ReportMetric(times[len(times)-len(times)/100_000-1], "99.999%-ns")
				b.ReportMetric(longest, "longest-ns")
				b.ReportMetric(longest/median, "longest/median")
				b.ReportMetric(float64(looks[len(looks)/2]), "median-looks")
				b.ReportMetric(float64(looks[len(looks)-1]), "most-looks")
			}
		})
	}
}

// nexts returns how long each Next of the first three cycles took, the shortest of three equal runs, and
// how many indices it computed, both in order of size.
func nexts(b *testing.B, n int) (times []float64, looks []uint64) {
	times, looks = slices.Repeat([]float64{math.Inf(1)}, 3*n), make([]uint64, 3*n)
	for range 3 {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		for k := range 3 * n {
			now, looked := float64(k), f.looks
			start := time.Now()
			page, err := f.Next(now)
			times[k] = min(times[k], float64(time.Since(start).Nanoseconds()))
			looks[k] = f.looks - looked
			if err != nil {
				b.Fatal(err)
			}
			rate := math.Exp2(float64(mix64(uint64(page))%7)-3) / float64(n)
			luck := float64(mix64(uint64(page)^uint64(k)<<32)>>11) * 0x1p-53
			if err := f.Observe(page, now, luck < -math.Expm1(-rate*(now-f.last(uint32(page))))); err != nil {
				b.Fatal(err)
			}
		}
	}
	slices.Sort(times)
	slices.Sort(looks)
	return times, looks
}
