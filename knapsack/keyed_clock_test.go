package knapsack

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One reading of a clock that is a year ahead, and the crawl goes on a minute later, also after a
// restart: pages are polled, failures wait for as long as ever, and all times are those of the clock.
func TestKeyedClockSetBack(t *testing.T) {
	t.Parallel()
	const n, year = 20, 365 * 86400.
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), n)
	at, polls, waits := 0., 0, 0
	poll := func() error {
		at += 60
		u, err := k.Next(after(at))
		if err != nil {
			return err
		}
		polls++
		if polls%30 == 0 {
			return k.GiveBack(u, after(at))
		}
		return k.Observe(u, after(at), polls%3 == 0)
	}
	for range 50 * n {
		require.NoError(t, poll())
	}
	u := must(k.Next(after(at + year)))
	require.NoError(t, k.Observe(u, after(at+year), true))
	for i := range 50 * n {
		err := poll()
		if none := (*NoPageError)(nil); errors.As(err, &none) {
			waits++
			require.Less(t, none.Time().Sub(after(at)), time.Hour*24)
		} else {
			require.NoError(t, err)
		}
		if i == 0 || i == 2 || i == 500 {
			again := NewKeyed[string](must(NewRateFilter(0, RateFilterConfig{})))
			require.NoError(t, again.UnmarshalBinary(must(k.MarshalBinary())))
			require.Equal(t, must(k.MarshalBinary()), must(again.MarshalBinary()))
			k = again
		}
	}
	require.Less(t, waits, n)
	for u := range k.All() {
		require.Less(t, must(k.Due(u)).Sub(after(at)).Abs(), time.Hour*24)
	}
	require.InDelta(t, year, k.skew.settled, 120)
	u = must(k.Next(after(at)))
	for v, asked := range k.InFlight() {
		require.Equal(t, u, v)
		require.WithinDuration(t, after(at), asked, time.Millisecond)
	}

	require.NoError(t, k.Defer(url(1), after(at+5000)))
	require.WithinDuration(t, after(at+5000), must(k.Due(url(1))), time.Millisecond)
}

// Clocks that are hours apart, in turns, do not make the learner's time run, nor do those that are behind move
// what the right one says.
func TestKeyedClocksApart(t *testing.T) {
	t.Parallel()
	for _, behind := range [][]float64{{0, 3600}, {0, 7200, 3600}, {0, 0, 3600, 0}} {
		k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 20)
		at, right := 0., 0.
		for i := range 2000 {
			at += 7
			now := at - behind[i%len(behind)]
			right = max(right, now)
			u, err := k.Next(after(now))
			require.NoError(t, err)
			for _, asked := range k.InFlight() {
				require.WithinDuration(t, after(right), asked, time.Millisecond)
			}
			require.NoError(t, k.Observe(u, after(right), i%3 == 0))
			due := right + 100000
			require.NoError(t, k.Defer(url(3), after(due)))
			require.WithinDuration(t, after(due), must(k.Due(url(3))), time.Millisecond)
			require.NoError(t, k.Defer(url(3), time.Time{}))
		}
		require.Zero(t, k.skew.settled)
		require.Equal(t, float64(after(right).Unix()), k.latest)
	}
}

// A clock that asks seldom: no time is lost from the first Next after it was set back. Once it has caught up, the
// learner's time is its own again.
func TestKeyedClockSetBackAndOnce(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 5)
	ask := func(at float64) {
		t.Helper()
		u, err := k.Next(after(at))
		if !errors.Is(err, ErrNoPage) {
			require.NoError(t, err)
			require.NoError(t, k.GiveBack(u, after(at)))
		}
	}
	for hour := range 10 {
		ask(3600 * float64(hour))
	}
	before := k.latest
	for hour := range 10 {
		ask(3600 * (float64(hour) - 100))
	}
	require.InDelta(t, 109*3600, k.skew.settled, 1e-3)
	require.InDelta(t, before+9*3600, k.latest, 1e-3)
	require.InDelta(t, k.latest, k.Seconds(after(-91*3600)), 1e-3)
	require.NoError(t, With(k, func(*RateFilter, func(string) (int, error)) error {
		require.InDelta(t, before, k.Seconds(after(-100*3600)), 1e-3)
		return nil
	}))
	ask(1e6)
	require.Zero(t, k.skew.settled)
	require.Equal(t, float64(after(1e6).Unix()), k.latest)
	require.Equal(t, k.latest, k.Seconds(after(1e6)))

	_, err := k.Next(time.Unix(noon.UnixNano(), 0))
	require.ErrorIs(t, err, ErrTime)
	require.Equal(t, float64(after(1e6).Unix()), k.latest)
}

// What comes in the minute until a clock is known to be set back counts as of then, three quick calls do not settle
// it, and afterwards times are those of the clock.
func TestKeyedWhileSetBack(t *testing.T) {
	t.Parallel()
	inside := must(NewRateFilter(0, RateFilterConfig{}))
	k := keyed(inside, 5)
	ask := func(at float64) {
		t.Helper()
		u, err := k.Next(after(at))
		require.NoError(t, err)
		require.NoError(t, k.Observe(u, after(at), false))
	}
	for i := range 51 {
		ask(60 * float64(i)) // the last one at 3000
	}
	for _, at := range []float64{-4200, -4190, -4180} {
		ask(at)
	}
	require.Zero(t, k.skew.settled)
	require.NoError(t, k.Defer(url(1), after(800)))
	ask(-4130)
	require.Equal(t, 7200., k.skew.settled)
	require.WithinDuration(t, after(800), must(k.Due(url(1))), time.Millisecond)

	bare := must(NewRateFilter(0, RateFilterConfig{}))
	require.NoError(t, bare.UnmarshalBinary(must(inside.MarshalBinary())))
	start, page := float64(noon.Unix()), k.pages[url(2)]
	require.NoError(t, bare.RecordChanges(page, start+7200-3100, start+7200-3000, []float64{start + 7200 - 3050}))
	require.NoError(t, k.RecordChanges(url(2), after(-3100), after(-3000), []time.Time{after(-3050)}))
	require.Equal(t, must(bare.MarshalBinary()), must(inside.MarshalBinary()))

	// Early calls count where they are in a row.
	for _, at := range []float64{-2000, -2500, -1999, -2400, -1998, -2390} {
		ask(at)
	}
	require.Equal(t, 7200., k.skew.settled)

	for u := range k.All() {
		require.NoError(t, k.Defer(u, after(-1900)))
	}
	var none *NoPageError
	_, err := k.Next(after(-1997))
	require.ErrorAs(t, err, &none)
	require.WithinDuration(t, after(-1900), none.Time(), time.Millisecond)
	_, err = k.Next(after(-5997)) // set back once more, by 4001 since the latest that gave a page
	require.ErrorAs(t, err, &none)
	require.WithinDuration(t, after(-5997+98), none.Time(), time.Millisecond)
}

// A skew that no clock leads to is refused.
func TestKeyedForgedSkew(t *testing.T) {
	t.Parallel()
	for _, bad := range []skew{
		{-1, math.Inf(1), 0}, {math.NaN(), math.Inf(1), 0}, {1e16, math.Inf(1), 0}, {0, 5, 0}, {0, math.Inf(1), 2},
		{0, math.NaN(), 1}, {0, math.Inf(-1), 1}, {0, 5, -1},
	} {
		k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 2)
		k.skew = bad
		again := NewKeyed[string](must(NewRateFilter(0, RateFilterConfig{})))
		require.ErrorIs(t, again.UnmarshalBinary(must(k.MarshalBinary())), ErrCorrupt, "%v", bad)
	}
}

// The text of a NoPageError of a Keyed has the time of day. That of a learner has its number.
func TestKeyedNoPageText(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 1)
	require.NoError(t, k.Defer(url(0), time.Date(2033, 5, 18, 3, 33, 20, 0, time.UTC)))
	_, err := k.Next(time.Date(2033, 5, 17, 0, 0, 0, 0, time.UTC))
	require.EqualError(t, err, "knapsack: no page may be polled now: not before 2033-05-18T03:33:20Z")
	require.ErrorIs(t, err, ErrNoPage)
	var none *NoPageError
	require.ErrorAs(t, err, &none)
	require.EqualError(t, none, "knapsack: no page may be polled now: not before 2e+09")

	empty := keyed(must(NewRateFilter(0, RateFilterConfig{})), 0)
	_, err = empty.Next(time.Now())
	require.EqualError(t, err, "knapsack: no page may be polled now")
}

// A Next at a time too far from 1970, on either side, is refused and changes nothing: with the time of one long before,
// a Keyed could be saved but not loaded.
func TestKeyedNextFarFrom1970(t *testing.T) {
	t.Parallel()
	for _, far := range []int64{1e12, -1e12, -1e15, -1e18, math.MinInt64} {
		k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 3)
		must(k.Next(noon))
		before := must(k.MarshalBinary())
		for range setBackCalls {
			_, err := k.Next(time.Unix(far, 0))
			require.ErrorIs(t, err, ErrTime)
		}
		require.Equal(t, before, must(k.MarshalBinary()))
		require.NoError(t, keyed(new(RateFilter), 0).UnmarshalBinary(before))
	}
}

// The time that a NoPageError says is not a nanosecond too early, also where a float tells less than that apart, as
// near 1970: a simulation that goes on to it would not end.
func TestKeyedAskedAgainInTime(t *testing.T) {
	t.Parallel()
	for _, start := range []int64{5, -5, 1000, 1.7e9} {
		k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 2)
		require.NoError(t, With(k, func(f *RateFilter, _ func(string) (int, error)) error {
			group := must(f.AddGroup(GroupConfig{MinGap: .1}))
			return errors.Join(f.SetGroup(0, group), f.SetGroup(1, group))
		}))
		now := time.Unix(start, 0)
		for range 50 {
			u, err := k.Next(now)
			require.NoError(t, err)
			require.NoError(t, k.Observe(u, now, true))
			_, err = k.Next(now)
			var none *NoPageError
			require.ErrorAs(t, err, &none)
			now = none.Time()
		}
	}
}
