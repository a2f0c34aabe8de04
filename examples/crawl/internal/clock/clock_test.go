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
		require.InDelta(t, max(time.Hour-elapsed/10, 0), now.Sub(r.began.Round(0).Add(elapsed)), float64(time.Minute))
		before = now
	}
	require.Zero(t, r.NotBefore(time.Now().Add(-time.Hour)))
	latest := r.Now().Add(time.Second)
	require.Positive(t, r.NotBefore(latest))
	require.False(t, r.Now().Before(latest))
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
