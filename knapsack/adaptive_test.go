package knapsack

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// interval polls the only page once and returns its new interval.
func (a *Adaptive) interval(t *testing.T, now float64, changed bool) float64 {
	require.NoError(t, a.Observe(must(a.Next(now)), now, changed))
	return 1 / must(a.Frequency(0))
}

// The rule as its comment has it, from the settings of each crawler.
func TestAdaptiveRules(t *testing.T) {
	t.Parallel()
	const hour = 3600.0
	for _, c := range []struct {
		name               string
		cfg                AdaptiveConfig
		changed, unchanged float64 // the interval after one of ten hours
		least, most        float64
	}{
		{"nutch", Nutch(1), 8 * hour, 14 * hour, 60, 365 * 24 * hour},
		{"stormcrawler", StormCrawler(1), 5.5 * hour, 15 * hour, hour, 14 * 24 * hour},
		{"newscrawl", NewsCrawl(1), 8.3 * hour, 15 * hour, 1.5 * hour, 90 * 24 * hour},
		{"default", AdaptiveConfig{}, 8 * hour, 14 * hour, 36, 10_000 * hour},
		{"none", AdaptiveConfig{Shrink: -1, Grow: -1}, 10 * hour, 10 * hour, 10 * hour, 10 * hour},
		{"above Max", AdaptiveConfig{Max: 5 * hour}, 4 * hour, 5 * hour, 18, 5 * hour},
		{"below Min", AdaptiveConfig{Min: 20 * hour}, 20 * hour, 28 * hour, 20 * hour, 20_000 * hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Start = 10 * hour
			changed, unchanged := must(NewAdaptive(1, c.cfg)), must(NewAdaptive(1, c.cfg))
			require.InEpsilon(t, c.changed, changed.interval(t, 0, true), 1e-12)
			require.InEpsilon(t, c.unchanged, unchanged.interval(t, 0, false), 1e-12)
			for now := range 200 {
				changed.interval(t, float64(now+1), true)
				unchanged.interval(t, float64(now+1), false)
			}
			require.InEpsilon(t, c.least, changed.interval(t, 300, true), 1e-6)
			require.InEpsilon(t, c.most, unchanged.interval(t, 300, false), 1e-6)
		})
	}
	require.InEpsilon(t, 0.8, must(NewAdaptive(1, AdaptiveConfig{})).interval(t, 0, true), 1e-12)
}

// No interval is so short or so long that all pages are overdue without end, or not at all, and some
// never polled. An error names the setting that was given. A saved state is held to the same.
func TestAdaptiveExtremes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  AdaptiveConfig
		says string
	}{
		{AdaptiveConfig{Min: math.SmallestNonzeroFloat64}, "Min is"},
		{AdaptiveConfig{Min: 6e-309, Start: 1}, "Min is 6e-309"},
		{AdaptiveConfig{Start: 1e-306}, "Start is 1e-306"},
		{AdaptiveConfig{Start: math.MaxFloat64, Max: 1}, "Start is"},
		{AdaptiveConfig{Start: math.NaN()}, "Start is NaN"},
		{AdaptiveConfig{Max: 1e101}, "Max is 1e+101"},
		{AdaptiveConfig{Max: math.Inf(1)}, "Max is +Inf"},
		{AdaptiveConfig{Max: 1, Min: 2}, "Max is 1 and Min 2"},
	} {
		_, err := NewAdaptive(1, c.cfg)
		require.ErrorIs(t, err, ErrConfig, "%+v", c.cfg)
		require.ErrorContains(t, err, c.says)
	}
	for _, c := range []AdaptiveConfig{{Min: 1e-100}, {Start: 1e-100}, {Start: 1e100}, {Start: 1e-100, Max: 1e100}} {
		c.Shrink, c.Grow = -1, -1 // so that all pages stay alike
		for _, unit := range []float64{1e-20, 1, 1e20} {
			a, polls := must(NewAdaptive(4, c)), make([]int, 4)
			for k := range 2000 {
				now := unit * float64(k)
				page, err := a.Next(now)
				require.NoError(t, err)
				require.NoError(t, a.Observe(page, now, k < 1000))
				polls[page]++
			}
			require.InDelta(t, 500, slices.Min(polls), 5, "%+v: %v", c, polls)
		}
		a := must(NewAdaptive(2, c))
		require.NoError(t, new(Adaptive).UnmarshalBinary(saved(t, a)))
		for _, start := range []float64{a.cfg.Min / 2, 2 * a.cfg.Max} {
			bad := *a
			bad.cfg.Start = start
			require.ErrorIs(t, new(Adaptive).UnmarshalBinary(saved(t, &bad)), ErrCorrupt, "%+v: Start is %v", c, start)
		}
	}
}
