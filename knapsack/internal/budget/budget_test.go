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

// Runs of fewer than window blocks count with the pauses between them, but a pause for as much as window blocks,
// in any units of time and cost.
func TestRuns(t *testing.T) {
	t.Parallel()
	for _, unit := range []float64{1e-9, 1, 1e9} {
		for _, cost := range []float64{1e-9, 2, 1e9} {
			m := New()
			now, last := 0.0, 0.0
			for run := range 200 {
				for k := range 64 {
					if period, ok := m.Poll(now*unit, cost, 16); ok {
						last = period
						if run >= 20 {
							require.InEpsilon(t, 1000*unit/(64*cost), period, 0.25)
						}
					}
					if now++; k == 63 {
						now += 1000 - 64
					}
				}
			}
			now += 1e9
			period, ok := m.Poll(now*unit, cost, 16)
			for ; !ok; period, ok = m.Poll(now*unit, cost, 16) {
				now++
			}
			require.Less(t, period, 3*last)
		}
	}
}

// Runs as long as the window count with the pauses between them, too.
func TestLongRuns(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{11, 13, 16} {
		m := New()
		for run := range 200 {
			for k := range blocks * 16 {
				if period, ok := m.Poll(1e5*float64(run)+float64(k), 2, 16); ok && run >= 20 {
					budget := 1e5 / float64(2*16*blocks)
					require.Less(t, period, 2*budget)
					require.Greater(t, period, budget/3.5)
				}
			}
		}
	}
}

// What is too much for a number, and costs of nothing, spoil no later estimate.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	for _, cost := range []float64{0, math.MaxFloat64} {
		m := New()
		for k := range 2000 {
			paid := 1.0
			if k >= 500 && k < 550 {
				paid = cost
			}
			if period, ok := m.Poll(float64(k), paid, 16); ok && k > 1500 {
				require.InEpsilon(t, 1, period, 0.05, "after costs of %v", cost)
			}
		}
	}
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
		"start":  {start: math.NaN(), polls: 20, block: 16, blockPolls: 16, spent: 1},
		"begun":  {start: 0, polls: 0, block: 0, blockPolls: 0, spent: 1},
		"late":   {start: 0, polls: 20, block: 25, blockPolls: 16, spent: 1},
		"before": {start: 5, polls: 20, block: 4, blockPolls: 16, spent: 1},
		"block":  {start: 0, polls: 20, block: 16, blockPolls: 21, spent: 1},
		"period": {start: 0, polls: 20, block: 16, blockPolls: 16, spent: 1, period: math.Inf(1), cost: 1},
		"long":   {start: 0, polls: 20, block: 16, blockPolls: 16, spent: 1, period: 1, cost: 1, long: math.NaN()},
		"cost":   {start: 0, polls: 20, block: 16, blockPolls: 16, spent: 1, period: 1},
	} {
		_, err := load(bad, 19)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}
