package knapsack

import (
	"math"
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

// No interval is so short that its frequency is infinite, nor so long that it is 0, in a state that
// was saved neither.
func TestAdaptiveExtremes(t *testing.T) {
	t.Parallel()
	const least = 6e-309
	for _, c := range []AdaptiveConfig{
		{Min: math.SmallestNonzeroFloat64}, {Min: 5e-309}, {Start: 1e-306}, {Max: math.Inf(1)}, {Start: math.NaN()},
	} {
		_, err := NewAdaptive(1, c)
		require.ErrorIs(t, err, ErrConfig, "%+v", c)
	}
	for _, c := range []AdaptiveConfig{{Min: least}, {Start: least, Min: least}, {Start: math.MaxFloat64, Max: math.MaxFloat64}} {
		a := must(NewAdaptive(2, c))
		for k := range 2000 {
			page, err := a.Next(float64(k))
			require.NoError(t, err)
			require.NoError(t, a.Observe(page, float64(k), k < 1000))
			f := must(a.Frequency(page))
			require.True(t, f > 0 && f <= math.MaxFloat64, "%+v: %v", c, f)
		}
		require.NoError(t, new(Adaptive).UnmarshalBinary(saved(t, a)))
		for _, start := range []float64{a.cfg.Min / 2, 2 * a.cfg.Max} {
			bad := *a
			bad.cfg.Start = start
			require.ErrorIs(t, new(Adaptive).UnmarshalBinary(saved(t, &bad)), ErrCorrupt, "%+v: Start is %v", c, start)
		}
	}
}
