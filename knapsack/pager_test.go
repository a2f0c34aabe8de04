package knapsack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/lately"
)

// moved imports what one filter knows of a page into a page of another one.
func moved(t *testing.T, from *RateFilter, page int, to *RateFilter, into int) {
	t.Helper()
	row := must(from.pageFormat().Save(func(e *codec.Encoder) { from.encodePage(Slot(page), e) }))
	var set func(slot int)
	require.NoError(t, codec.Load(&set, to.pageFormat(), row, func(set *func(int), d *codec.Decoder) { *set = to.decodePage(d) }))
	set(Slot(into))
}

// polled returns a filter that has polled 60 pages 50 times each in the mean, of which the first ten change by chance
// 3 times in a poll of each page, and the others never.
func polled(t *testing.T, o Objective) *RateFilter {
	t.Helper()
	f := must(NewRateFilter(60, RateFilterConfig{Objective: o}))
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range 3000 {
		now := float64(k)
		page := must(f.Next(now))
		changes := 3. / 60 * (now - f.last(uint32(page)))
		require.NoError(t, f.Observe(page, now, page < 10 && rng.ExpFloat64() < changes))
	}
	return f
}

// A poll of a page that was imported is worth what it was worth before: as a new page, and in place of one of
// which something else was known.
func TestImportedPageIsWorthTheSame(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for o := range objectives {
		for _, page := range []int{3, 40} {
			f := polled(t, o)
			changed := 40 // for page 3
			if page == 40 {
				changed = 4
			}
			if o == Detections {
				f.trails[changed] = 1
			}
			for _, into := range []int{f.Add(), changed} {
				moved(t, f, page, f, into)
				require.True(t, o != Detections || f.trails[Slot(into)] == 0, "no find is followed")
				for _, now := range []float64{3000, 3010, 3060, 3200} {
					require.Equal(t, must(f.Index(page, now)), must(f.Index(into, now)), "%v, page %d into %d at %v", o, page, into, now)
				}
			}
		}
	}
}

// A page that comes to Detections from another objective begins with a rate of late in line with what is
// believed of it, and one from a filter with another cycle with the same rate, as far as that is known.
func TestImportedRateOfLate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	from, f := polled(t, Freshness), polled(t, Detections)
	for _, page := range []int{3, 40} {
		own := f.rate(uint32(page))
		into := f.Add()
		moved(t, from, page, f, into)
		require.InDelta(t, own, f.rate(uint32(Slot(into))), 1, "page %d", page)
	}
	slower := must(NewRateFilter(1, RateFilterConfig{Objective: Detections}))
	slower.begin(5 * f.model.Cycle())
	moved(t, f, 40, slower, 0)
	more := slower.rate(0) - f.rate(40)
	require.Positive(t, more, "a rate is that of a cycle")
	require.LessOrEqual(t, more, math.Log(5)+.1)
	moved(t, must(NewRateFilter(1, RateFilterConfig{})), 0, slower, 0)
	require.Zero(t, slower.rate(0), "nothing was known")
}

// What is imported takes the place of changes that were told before there was a time scale.
func TestImportReplacesWhatWasTold(t *testing.T) {
	t.Parallel()
	from := polled(t, Freshness)
	var rates [2]RateEstimate
	for told := range rates {
		f := must(NewRateFilter(1, RateFilterConfig{}))
		if told > 0 {
			require.NoError(t, f.RecordChanges(0, 0, 2900, []float64{100, 200, 300, 2800}))
		}
		moved(t, from, 40, f, 0)
		rates[told] = must(f.Rate(0))
	}
	require.Equal(t, rates[0], rates[1])
}

// Pages that come with a time scale may be told of before the first Next: hints are taken, and answers teach of
// their pages, also of one of which nothing is known.
func TestImportedPagesAreToldOf(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for o := range objectives {
		from, f := polled(t, o), must(NewRateFilter(61, RateFilterConfig{Objective: o}))
		for page := range 60 {
			moved(t, from, page, f, page)
		}
		hintless := must(f.Index(40, 3010))
		require.NoError(t, f.Signal(40, 0, 3005))
		require.Greater(t, must(f.Index(40, 3010)), hintless, "%v", o)
		before, common := must(f.Rate(41)).Median, f.common
		require.NoError(t, f.Record(41, 3005, true))
		require.Greater(t, must(f.Rate(41)).Median, before)
		require.Equal(t, common, f.common, "the time may be in another unit")
		require.NoError(t, f.Record(60, 3005, true))
		require.EqualValues(t, 3005, f.last(60))
		require.True(t, f.beliefs[60].Blank() && (o != Detections || f.rates[60] == lately.Rate{}), "%v: known since when?", o)
		require.NoError(t, new(RateFilter).UnmarshalBinary(saved(t, f)))
		must(f.Next(3010))
		require.NoError(t, f.Signal(42, 0, 3010))
		require.ErrorIs(t, f.Signal(42, 1, 3010*1000), ErrTime)
	}
}
