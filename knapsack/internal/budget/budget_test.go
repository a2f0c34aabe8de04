package budget

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// Every 16 polls there is an estimate, which bursts at one time do not spoil.
func TestMeter(t *testing.T) {
	t.Parallel()
	m := New()
	require.True(t, math.IsInf(m.Start(), -1))
	estimates := 0
	for k := range 1000 {
		now := 40 + 3*float64(k/8*8) // eight polls at a time, one per 3 on average
		if period, ok := m.Poll(now, 1, 16); ok {
			estimates++
			require.EqualValues(t, 3, period)
		}
	}
	require.EqualValues(t, 40, m.Start())
	require.EqualValues(t, 1000, m.Polls())
	require.Equal(t, 999/16, estimates)
}

// The start is the time of the first poll, not of a later one.
func TestStart(t *testing.T) {
	t.Parallel()
	m := New()
	for now := range 3 {
		m.Poll(float64(5+now), 1, 16)
		require.EqualValues(t, 5, m.Start())
	}
}

// Polls at one time give no estimate.
func TestMeterWithoutTime(t *testing.T) {
	t.Parallel()
	m := New()
	for range 100 {
		_, ok := m.Poll(1, 1, 16)
		require.False(t, ok)
	}
	period, ok := m.Poll(201, 1, 16)
	require.True(t, ok)
	require.EqualValues(t, 2, period)
}

// Time that is left out counts in no estimate.
func TestSkip(t *testing.T) {
	t.Parallel()
	m := New()
	now, estimates := 0.0, 0
	for k := range 100 {
		if now += 3; k%10 == 5 {
			now += 1000
			m.Skip(1000, now)
		}
		if period, ok := m.Poll(now, 1, 16); ok {
			estimates++
			require.EqualValues(t, 3, period)
		}
	}
	require.Equal(t, 99/16, estimates)
	m.Skip(1e9, now)
	require.Equal(t, now, m.block, "not after now")
}

func TestDecode(t *testing.T) {
	t.Parallel()
	load := func(m Meter, now float64) (Meter, error) {
		d := codectest.Decoder(t, m.Encode)
		got := Decode(d, now)
		return got, d.Done()
	}
	m := New()
	got, err := load(m, math.Inf(-1))
	require.NoError(t, err)
	require.Equal(t, m, got)
	for k := range 20 {
		m.Poll(float64(k), 1, 16)
	}
	got, err = load(m, 19)
	require.NoError(t, err)
	require.Equal(t, m, got)
	for name, bad := range map[string]Meter{
		"start":  {math.NaN(), 20, 16, 16, 1},
		"begun":  {0, 0, 0, 0, 1},
		"late":   {0, 20, 25, 16, 1},
		"before": {5, 20, 4, 16, 1},
		"block":  {0, 20, 16, 21, 1},
	} {
		_, err := load(bad, 19)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}
