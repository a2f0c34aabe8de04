package webenv

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCalendar(t *testing.T) {
	t.Parallel()
	day := Calendar{Epoch: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC), Unit: 24 * time.Hour}
	require.Equal(t, "2001-01-03T12:00:00Z", day.Date(2.5).Format(time.RFC3339))
	require.Equal(t, 2.5, day.Time(day.Date(2.5)))
	require.Equal(t, "2000-12-31T12:00:00Z", day.Date(-0.5).Format(time.RFC3339))
	require.Equal(t, -0.5, day.Time(day.Date(-0.5)))
	require.Equal(t, int64(1784161805), Calendar{}.Date(1784161805.25).Unix())
	require.InDelta(t, 1784161805.25, Calendar{}.Time(Calendar{}.Date(1784161805.25)), 1e-6)
	for _, far := range []float64{1e12, -1e12, 1 << 40, -(1 << 40), 1e300, math.Inf(1), math.NaN()} {
		require.True(t, Calendar{}.Date(far).IsZero(), "%v", far)
	}
	// The first and the last second that there are dates for, and those beside them.
	first, last := float64(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()), float64(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix())
	for _, x := range []float64{first + 1, last} {
		require.Equal(t, x, Calendar{}.Time(Calendar{}.Date(x)))
	}
	for _, x := range []float64{first - 1, last + 1} {
		require.True(t, Calendar{}.Date(x).IsZero(), "%v", x)
	}
	// An epoch between two seconds, in another zone.
	odd := Calendar{Epoch: time.Date(2001, 1, 1, 2, 0, 0, 5e8, time.FixedZone("", 7200)), Unit: time.Minute}
	require.Equal(t, "2001-01-01T00:01:15.5Z", odd.Date(1.25).Format(time.RFC3339Nano))
	require.Equal(t, 1.25, odd.Time(odd.Date(1.25)))
}
