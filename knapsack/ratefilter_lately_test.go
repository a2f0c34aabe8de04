package knapsack

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/lately"
)

// What a page did of late counts a quarter in the logarithm of the changes that are expected, once
// the first cycles are over: under Detections, and of no other objective.
func TestLately(t *testing.T) {
	t.Parallel()
	const n = 40
	for o := range objectives {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
		require.Equal(t, o == Detections, f.rates != nil)
		f.without = ablation.Calibration | ablation.Waking | ablation.Untouched
		fresh, view := f.model.Fresh(), belief.View{}
		spin(t, f, 0, 3)
		f.model.Begin(n)
		f.model.See(&view, &fresh, belief.Level())
		mean := func(rate float64) float64 {
			const gap = n / 2
			mean, _ := f.mean(&view, gap, gap, past{rate: math.Log(rate)})
			return mean
		}
		require.InEpsilon(t, mean(1), mean(5), 1e-3, "%v: the first cycles", o)
		spin(t, f, 3, 60*n)
		f.model.See(&view, &fresh, belief.Level())
		gap := f.model.Cycle() / 2
		plain, _ := f.model.Value(&view, gap, gap, 1, 0, 0)
		for _, rate := range []float64{.2, 1, 8} {
			got, _ := f.mean(&view, gap, gap, past{rate: math.Log(rate)})
			if o != Detections {
				require.InEpsilon(t, plain, got, 1e-6, "%v", o)
				continue
			}
			weight := lateWeight * (1 - f.fade())
			require.Greater(t, weight, .9*lateWeight)
			want := math.Pow(-math.Log1p(-plain), 1-weight) * math.Pow(rate/2, weight)
			require.InEpsilon(t, -math.Expm1(-want), got, 1e-6)
		}
	}
}

// What is known of late comes from polls, asked for or not, and from changes whose times are known;
// a new page in the slot of one that was removed begins with nothing.
func TestLatelyIsLearnt(t *testing.T) {
	t.Parallel()
	const n = 20
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
	early := []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9}
	require.NoError(t, f.RecordChanges(3, 0, 1, early))
	require.Equal(t, lately.Rate{}, f.rates[3], "there is no scale yet")
	for k := range 4 * n { // page 5 is found changed, and no other
		now := 1 + float64(k)
		page := must(f.Next(now))
		require.NoError(t, f.Observe(page, now, page == 5))
	}
	require.Greater(t, f.rates[5].Log(), f.rates[6].Log()+.5)
	require.Less(t, f.rates[6].Log(), -.5)
	at := 1 + float64(4*n)
	before := f.rates[7].Log()
	require.NoError(t, f.Record(7, at, true))
	require.Greater(t, f.rates[7].Log(), before+.3)
	from := f.last(8)
	times := []float64{}
	for k := range 30 {
		times = append(times, from+(at-from)*float64(k+1)/31)
	}
	require.NoError(t, f.RecordChanges(8, math.Inf(-1), at, times))
	want := math.Log(30 / (at - from) * f.model.Cycle())
	require.InDelta(t, want, f.rates[8].Log(), .5, "a known history of 30 changes")
	require.NoError(t, f.Remove(8))
	page := f.Add()
	require.Equal(t, 8, Slot(page))
	require.Equal(t, lately.Rate{}, f.rates[8])
}

// What is told of a page before there is a time scale has been forgotten by as much as what is told
// after.
func TestLatelyOfEarlyHistories(t *testing.T) {
	t.Parallel()
	const n = 20
	told := func(first bool) float64 {
		f := must(NewRateFilter(n, RateFilterConfig{Objective: Detections}))
		times := []float64{}
		for k := range 30 {
			times = append(times, -1000+float64(k))
		}
		history := func() { require.NoError(t, f.RecordChanges(3, -1001, -970, times)) }
		if first {
			history()
		}
		for k := range 2 * n {
			page := must(f.Next(float64(k)))
			if !first && f.model.Known() && f.beliefs[3].Blank() {
				history()
			}
			require.NoError(t, f.Observe(page, float64(k), false))
		}
		return f.rates[3].Log()
	}
	require.InDelta(t, told(true), told(false), .3)
}
