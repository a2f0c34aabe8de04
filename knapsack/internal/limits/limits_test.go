package limits

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func decoder(l *Limits) *codec.Decoder {
	e := codec.NewEncoder(nil, "l", 1)
	l.Encode(e)
	return must(codec.NewDecoder(must(e.Finish()), "l", 1))
}

func TestEarliest(t *testing.T) {
	t.Parallel()
	var l Limits
	require.False(t, l.On())
	require.True(t, math.IsInf(l.Earliest(1, 5), -1))
	require.True(t, math.IsInf(l.Longest(1), 1))
	l.SetInterval(1, 2, 9, 5, 3)
	require.True(t, l.On())
	require.EqualValues(t, 7, l.Earliest(1, 5))
	require.EqualValues(t, 9, l.Longest(1))
	require.True(t, math.IsInf(l.Earliest(0, 5), -1), "another page")
	l.Delay(1, 8)
	require.EqualValues(t, 8, l.Earliest(1, 5))
	l.Delay(1, 6)
	require.EqualValues(t, 7, l.Earliest(1, 5), "the later of the two")
	l.Clear(1)
	l.Delay(2, 6)
	require.EqualValues(t, 6, l.Earliest(2, 0))
	l.Forget(1)
	l.Forget(2)
	require.True(t, math.IsInf(l.Earliest(1, 5), -1))
	require.True(t, math.IsInf(l.Earliest(2, 5), -1))
	l.Grow()
	require.True(t, math.IsInf(l.Longest(3), 1))
}

// Deadlines come up in their order, one per page, and void entries do not.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	var l Limits
	l.SetInterval(0, 0, 10, 0, 3)
	l.SetInterval(1, 0, 5, 1, 3)
	l.SetInterval(2, 0, 4, math.Inf(-1), 3)
	expired := func(now float64) []uint32 {
		var all []uint32
		for {
			slot, ok := l.Expired(now)
			if !ok {
				return all
			}
			all = append(all, slot)
		}
	}
	require.Empty(t, expired(5.9), "page 2 was never polled")
	require.Equal(t, []uint32{1, 0}, expired(10))
	require.Empty(t, expired(100), "each once")
	l.Enter(0, 50)
	l.Enter(0, 70)
	l.Postpone(1, 55)
	l.SetInterval(0, 0, 2, 50, 3) // sooner: the entry at 60 is void
	require.Equal(t, []uint32{0}, expired(53))
	require.Equal(t, []uint32{1}, expired(60))
	l.Enter(0, 60)
	l.SetInterval(0, 0, math.Inf(1), 60, 3)
	require.Equal(t, []uint32{0}, expired(100), "an entry that is too early is the caller's to judge")
	require.Zero(t, l.Deadlines())
}

// In a time in which the budget pays for k polls at most k·MaxShare + 2 go to the group.
func TestPace(t *testing.T) {
	t.Parallel()
	gap := NewPace(3, 0)
	require.EqualValues(t, 13, gap.Spend(10, 1))
	share := NewPace(0, 0.25)
	ready, polls := 0.0, 0
	for now := 0.0; now < 400; now++ {
		if now >= ready {
			ready = share.Spend(now, 1)
			polls++
		}
	}
	require.InDelta(t, 100, polls, 2)
	both := NewPace(8, 0.25)
	require.EqualValues(t, 8, both.Spend(0, 1))
	for _, bad := range [][2]float64{{-1, 0}, {math.NaN(), 0}, {math.Inf(1), 0}, {0, -1}, {0, 1.1}, {0, math.NaN()}} {
		p := NewPace(bad[0], bad[1])
		require.False(t, p.Valid(), "%v", bad)
	}
	tiny := NewPace(0, 5e-324)
	require.False(t, math.IsInf(tiny.Spend(1, 1e300), 1))
}

func TestDecode(t *testing.T) {
	t.Parallel()
	good := func() *Limits {
		l := new(Limits)
		l.SetInterval(1, 2, 9, 5, 3)
		l.Delay(2, 4)
		l.AddPace(NewPace(1, 0.5))
		l.Pace(0).Spend(3, 1)
		return l
	}
	l := new(Limits)
	d := decoder(good())
	l.Decode(d, 3)
	require.NoError(t, d.Done())
	require.Equal(t, good(), l)
	for name, spoil := range map[string]func(l *Limits){
		"slots":    func(l *Limits) { l.Grow() },
		"shortest": func(l *Limits) { l.interval[0].shortest = math.NaN() },
		"longest":  func(l *Limits) { l.interval[0].longest = 0 },
		"crossed":  func(l *Limits) { l.interval[1].longest = 1 },
		"entry":    func(l *Limits) { l.interval[1].entry = math.NaN() },
		"delay":    func(l *Limits) { l.Delay(3, 1) },
		"until":    func(l *Limits) { l.Delay(1, math.Inf(1)) },
		"deadline": func(l *Limits) { l.deadlines.Slot[0] = 3 },
		"NaN":      func(l *Limits) { l.deadlines.Key[0] = math.NaN() },
		"share":    func(l *Limits) { l.paces[0].MaxShare = 2 },
		"turn":     func(l *Limits) { l.paces[0].turn = math.Inf(1) },
	} {
		l := good()
		spoil(l)
		d := decoder(l)
		new(Limits).Decode(d, 3)
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}
