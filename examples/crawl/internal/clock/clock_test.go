package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine's clock that was set back by an hour is caught up with in ten, and the time never goes
// back on the way.
func TestSetBack(t *testing.T) {
	t.Parallel()
	r := NewReal()
	require.InDelta(t, time.Hour, r.NotBefore(time.Now().Add(time.Hour)), float64(time.Minute))
	before := r.at(0)
	for k := 1; k <= 24; k++ {
		elapsed := time.Duration(k) * time.Hour
		now := r.at(elapsed)
		require.True(t, now.After(before))
		require.InDelta(t, max(time.Hour-elapsed/10, 0), now.Sub(r.began.Add(elapsed)), float64(time.Minute))
		before = now
	}
	require.Zero(t, r.NotBefore(time.Now().Add(-time.Hour)))
	latest := r.Now().Add(time.Second)
	require.Positive(t, r.NotBefore(latest))
	require.False(t, r.Now().Before(latest))
}

// A clock that is set while it is looked at, or a machine that sleeps, which its monotonic clock does
// not count, is followed: forwards at once, back as after a restart.
func TestSetMeanwhile(t *testing.T) {
	t.Parallel()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	now, up := begin, time.Duration(0)
	r := newReal(func() (time.Time, time.Duration) { return now, up })
	pass := func(d time.Duration) { now, up = now.Add(d), up+d }
	pass(time.Hour)
	require.Equal(t, begin.Add(time.Hour), r.Now())
	now = now.Add(8 * time.Hour) // sleep
	require.Equal(t, begin.Add(9*time.Hour), r.Now())
	now = now.Add(-time.Hour)
	require.Equal(t, begin.Add(9*time.Hour), r.Now())
	pass(5 * time.Hour)
	require.Equal(t, 30*time.Minute, r.Now().Sub(now))
	now = now.Add(10 * time.Minute) // which is nearer to it than before
	require.Equal(t, 20*time.Minute, r.Now().Sub(now))
	before := r.Now()
	now = now.Add(-24 * time.Hour)
	for range 250 {
		pass(time.Hour)
		require.True(t, r.Now().After(before))
		before = r.Now()
	}
	require.Equal(t, now, r.Now())
	now = now.Add(24 * time.Hour)
	require.Equal(t, now, r.Now())
	now = now.Add(set / 2)
	require.Equal(t, set/2, now.Sub(r.Now()))
}

func TestFast(t *testing.T) {
	t.Parallel()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	f := NewFast(begin, 1e6)
	f.Sleep(t.Context(), time.Hour)
	require.GreaterOrEqual(t, f.Now(), begin.Add(time.Hour))
	f.Behind(true)
	from, real := f.Now(), f.real
	time.Sleep(10 * time.Millisecond)
	now := f.Now()
	require.InDelta(t, braked*1e6, float64(now.Sub(from))/float64(f.real.Sub(real)), 1)
}
