package limits

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/internal/ids"
)

func TestEarliest(t *testing.T) {
	t.Parallel()
	var l Limits
	require.True(t, math.IsInf(l.Earliest(1, 5), -1))
	require.True(t, math.IsInf(l.Longest(1), 1))
	l.SetInterval(1, 2, 9, 3)
	require.EqualValues(t, 7, l.Earliest(1, 5))
	require.EqualValues(t, 9, l.Longest(1))
	require.True(t, math.IsInf(l.Earliest(0, 5), -1), "another page")
	l.Defer(1, 8)
	require.EqualValues(t, 8, l.Earliest(1, 5))
	l.Defer(1, 6)
	require.EqualValues(t, 7, l.Earliest(1, 5), "the later of the two")
	l.Answered(1, 7)
	l.Defer(2, 6)
	require.EqualValues(t, 6, l.Earliest(2, 0))
	l.Forget(1)
	l.Forget(2)
	require.True(t, math.IsInf(l.Earliest(1, 5), -1))
	require.True(t, math.IsInf(l.Earliest(2, 5), -1))
	l.Grow()
	require.True(t, math.IsInf(l.Longest(3), 1))
}

// The wait doubles with each failure in a row, up to a bound, and is independent of a Defer.
func TestFail(t *testing.T) {
	t.Parallel()
	var l Limits
	now := 100.0
	for _, wait := range []float64{1, 2, 4, 8, 10, 10} {
		require.Equal(t, now > 100, l.Failing(1))
		l.Fail(1, now, 1, 10, 0, 1)
		require.Equal(t, 1, l.Failures())
		require.Equal(t, now+wait, l.Earliest(1, 0))
		now += wait
	}
	l.Defer(1, now+5)
	require.Equal(t, now+5, l.Earliest(1, 0))
	l.Answered(1, now)
	require.False(t, l.Failing(1))
	require.Zero(t, l.Failures())
	require.Equal(t, now+5, l.Earliest(1, 0), "it stays deferred")
	l.Fail(1, now, 1, 10, 0, 1)
	require.Equal(t, now+5, l.Earliest(1, 0))
	l.Fail(1, now+5, 3, 10, 0, 1)
	require.Equal(t, now+8, l.Earliest(1, 0), "at least the first wait")
	l.Answered(1, now+9)
	require.Empty(t, l.vetoes)
	now = 0
	for _, wait := range []float64{1, 2, 3, 6, 7.5, 7.5} { // spread from the third on
		l.Fail(1, now, 1, 10, 0, .75)
		require.Equal(t, now+wait, l.Earliest(1, 0))
		now += wait
	}
	require.Equal(t, 32., l.Delay(1), "as without a spread")
	l.Answered(1, now)
	l.Fail(1, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, 0, 1)
	require.False(t, math.IsInf(l.Earliest(1, 0), 1))
}

// Ordinary failures in a row do not make the wait longer.
func TestOrdinaryFailures(t *testing.T) {
	t.Parallel()
	for ordinary, waits := range [][]float64{{3, 6, 10, 10}, {3, 3, 6, 10}, {3, 3, 3, 6, 10}} {
		var l Limits
		for range 2 { // an answer ends the row
			now := 100.0
			for _, wait := range waits {
				l.Fail(1, now, 3, 10, ordinary, 1)
				require.Equal(t, now+wait, l.Earliest(1, 0), "%d ordinary", ordinary)
				now += wait
			}
			l.Answered(1, now)
		}
	}
}

// A page that is tried again before its time waits as long as before if that fails, too, from then on, and goes on
// from there. Pages that did not fail, or wait no longer, are left as they are. Beyond the bound the wait stays the
// same, and the delay tells how many failures there were.
func TestHasten(t *testing.T) {
	t.Parallel()
	var l Limits
	require.Zero(t, l.Delay(1))
	l.Hasten(1, 5)
	l.Defer(2, 9)
	before := l.vetoes[2]
	l.Hasten(2, 5)
	require.Equal(t, before, l.vetoes[2])
	require.Zero(t, l.Delay(2))
	now := 100.0
	for k, wait := range []float64{1, 2, 4, 8, 10, 10} {
		l.Fail(1, now, 1, 10, 0, 1)
		require.Equal(t, math.Ldexp(1, k), l.Delay(1))
		require.Equal(t, now+wait, l.Earliest(1, 0))
		now += wait / 4
		before := l.vetoes[1]
		l.Hasten(1, math.Inf(-1))
		l.Hasten(1, now+wait)
		require.Equal(t, before, l.vetoes[1])
		l.Hasten(1, now)
		require.Equal(t, now, l.Earliest(1, 0))
		require.Equal(t, 1, l.Failures())
		l.Fail(1, now, 1, 10, 0, 1)
		require.Equal(t, now+wait, l.Earliest(1, 0))
		require.Equal(t, math.Ldexp(1, k), l.Delay(1))
		now += wait
	}
	l.Hasten(1, now-5)
	l.Answered(1, now)
	require.Zero(t, l.Delay(1))
	for range 2000 { // no delay is infinite
		l.Fail(1, 0, 1, 10, 0, 1)
	}
	require.False(t, math.IsInf(l.Delay(1), 1))
}

// In a time in which the budget pays for k polls at most k·MaxShare + 2 go to the group.
func TestPace(t *testing.T) {
	t.Parallel()
	gap := NewPace(3, 0, 0)
	require.True(t, math.IsInf(gap.Ready(), -1))
	gap.Spend(10, 1)
	require.EqualValues(t, 13, gap.Ready())
	gap.Limit(NewPace(0, 0, 0))
	require.True(t, math.IsInf(gap.Ready(), -1))
	gap.Limit(NewPace(7, 0, 0))
	require.EqualValues(t, 17, gap.Ready(), "a limit counts from the last poll")
	gap.Defer(20)
	require.EqualValues(t, 20, gap.Ready())
	gap.Defer(11)
	require.EqualValues(t, 17, gap.Ready())
	share := NewPace(0, 0.25, 0)
	polls := 0
	for now := 0.0; now < 400; now++ {
		if now >= share.Ready() {
			share.Spend(now, 1)
			polls++
		}
	}
	require.InDelta(t, 100, polls, 2)
	require.Equal(t, share.Ready(), share.Turn())
	require.True(t, math.IsInf(gap.Turn(), -1))
	share.Limit(NewPace(1, 0, 0))
	require.LessOrEqual(t, share.Ready(), 400.0)
	both := NewPace(8, 0.25, 0)
	both.Spend(0, 1)
	require.EqualValues(t, 8, both.Ready())
	full := NewPace(0, 0, 2)
	full.Spend(1, 1)
	require.Less(t, full.Ready(), 2.0)
	full.Spend(1, 1)
	require.EqualValues(t, Full, full.Ready())
	full.Land()
	require.Less(t, full.Ready(), 2.0)
	for _, bad := range []Pace{NewPace(-1, 0, 0), NewPace(math.NaN(), 0, 0), NewPace(math.Inf(1), 0, 0), NewPace(0, -1, 0),
		NewPace(0, 1.1, 0), NewPace(0, math.NaN(), 0), NewPace(0, 0, -1)} {
		require.False(t, bad.Valid(), "%v", bad)
	}
	tiny := NewPace(0, 5e-324, 0)
	tiny.Spend(1, 1e300)
	require.False(t, math.IsInf(tiny.Ready(), 1))
	for _, now := range []float64{1, -9e298} { // the cost of a poll times the period is too great for a number
		dear := NewPace(0, 0.25, 0)
		dear.Spend(now, math.Inf(1))
		require.Greater(t, dear.Ready(), 1e299)
	}
}

// A change of the share moves the turn of a group to where the new share would have put it; without a share there is none.
func TestLimit(t *testing.T) {
	t.Parallel()
	never := math.Inf(-1)
	for _, c := range []struct{ last, from, to, turn float64 }{
		{3, 0.5, 0.25, 11}, {3, 1e-6, 0.25, 3 + 16e-6}, {3, 1, 1, 7}, {3, 1, 5e-324, math.MaxFloat64},
		{3, 0.5, 0, never}, {3, 0, 0.5, never}, {3, 0, 0, never}, {never, 0.5, 0.25, 7},
	} {
		p := NewPace(1, c.from, 2)
		p.last, p.limit.turn = c.last, 7
		p.Limit(NewPace(3, c.to, 4))
		require.Equal(t, []float64{3, c.to, 4}, []float64{p.limit.gap, p.limit.share, float64(p.limit.flying)})
		if c.turn == never {
			require.Equal(t, never, p.limit.turn)
		} else {
			require.InEpsilon(t, c.turn, p.limit.turn, 1e-12, "%+v", c)
		}
	}
}

// What restrains a group no longer is dropped.
func TestUnlimited(t *testing.T) {
	t.Parallel()
	p := NewPace(0, 0, 0)
	require.Nil(t, p.limit)
	p.Defer(7)
	require.Equal(t, 7., p.Ready())
	p.Limit(NewPace(2, 0, 0))
	p.Spend(8, 1)
	require.Equal(t, 10., p.Ready())
	p.Limit(NewPace(0, 0, 0))
	require.Equal(t, 7., p.Ready(), "it stays deferred")
	p.Defer(math.Inf(-1))
	require.Nil(t, p.limit)
	require.Equal(t, math.Inf(-1), p.Ready())
}

// A group that is removed restrains nothing; its slot is used again, with another id, when its last
// page has left.
func TestRemoveGroup(t *testing.T) {
	t.Parallel()
	var l Limits
	a, b := l.AddPace(NewPace(5, 0, 1)), l.AddPace(NewPace(6, 0, 0))
	require.Equal(t, []int{0, 1}, []int{a, b})
	l.Join(0, true)
	require.EqualValues(t, Full, l.Pace(0).Ready())
	l.RemoveGroup(0)
	require.True(t, math.IsInf(l.Pace(0).Ready(), -1))
	_, ok := l.Group(a)
	require.False(t, ok)
	require.Equal(t, 2, l.AddPace(NewPace(0, 0, 0)), "a page is still in the group at 0")
	l.Leave(0, true)
	c := l.AddPace(NewPace(7, 0, 0))
	require.NotContains(t, []int{0, 1, 2, 3}, c)
	slot, ok := l.Group(c)
	require.True(t, ok)
	require.Zero(t, slot)
	require.EqualValues(t, 7, l.Pace(0).limit.gap)
	_, ok = l.Group(a)
	require.False(t, ok)
	require.Equal(t, 3, l.Paces())
}

func TestDecode(t *testing.T) {
	t.Parallel()
	good := func() *Limits {
		l := new(Limits)
		l.SetInterval(1, 2, 9, 3)
		l.Defer(2, 4)
		l.Fail(0, 3, 1, 8, 0, 1)
		l.AddPace(NewPace(1, 0.5, 3))
		l.Pace(0).Spend(3, 1)
		l.Pace(0).Land()
		l.RemoveGroup(uint32(l.AddPace(NewPace(1, 0, 0))))
		return l
	}
	l := new(Limits)
	d := codectest.Decoder(t, good().Encode)
	l.Decode(d, 3)
	l.Counted(d)
	require.NoError(t, d.Done())
	require.Equal(t, good(), l)
	for name, spoil := range map[string]func(l *Limits){
		"slots":      func(l *Limits) { l.Grow() },
		"shortest":   func(l *Limits) { l.interval[0].shortest = math.NaN() },
		"longest":    func(l *Limits) { l.interval[0].longest = 0 },
		"crossed":    func(l *Limits) { l.interval[1].longest = 1 },
		"veto":       func(l *Limits) { l.Defer(3, 1) },
		"until":      func(l *Limits) { l.Defer(1, math.Inf(1)) },
		"for ever":   func(l *Limits) { l.vetoes[2] = veto{retry: math.Inf(1)} },
		"retry":      func(l *Limits) { l.Fail(1, math.NaN(), 1, 2, 0, 1) },
		"delay":      func(l *Limits) { l.vetoes[2] = veto{delay: -1} },
		"no failure": func(l *Limits) { l.vetoes[2] = veto{until: 4, retry: math.Inf(-1), delay: 1} },
		"flights":    func(l *Limits) { l.paces.At(0).limit.flying = -1 },
		"last":       func(l *Limits) { l.paces.At(0).last = math.NaN() },
		"deferred":   func(l *Limits) { l.paces.At(0).limit.until = math.Inf(1) },
		"gone":       func(l *Limits) { l.paces.At(0).limit = gone },
		"share":      func(l *Limits) { l.paces.At(0).limit.share = 2 },
		"turn":       func(l *Limits) { l.paces.At(0).limit.turn = math.Inf(1) },
		// It would be saved as 0 again.
		"gap of −0":   func(l *Limits) { own := unlimited; own.gap = math.Copysign(0, -1); l.paces.At(0).limit = &own },
		"share of −0": func(l *Limits) { own := unlimited; own.share = math.Copysign(0, -1); l.paces.At(0).limit = &own },
	} {
		l := good()
		spoil(l)
		d := codectest.Decoder(t, l.Encode)
		got := new(Limits)
		if got.Decode(d, 3); d.Err() == nil {
			got.Counted(d)
		}
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}

// A page whose last poll failed stands there once, and pages stand in order: every state is saved in
// one way.
func TestDecodeOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots []uint32
		want  error
	}{{[]uint32{0, 2}, nil}, {[]uint32{1, 2}, nil}, {[]uint32{1, 1}, codec.ErrCorrupt}, {[]uint32{2, 1}, codec.ErrCorrupt}} {
		d := codectest.Decoder(t, func(e *codec.Encoder) {
			e.Int(0)
			e.Int(len(c.slots))
			for _, slot := range c.slots {
				e.Uint32(slot)
				e.Float64(math.Inf(-1))
				e.Float64(9)
				e.Float64(1)
			}
			new(ids.Registry).Encode(e)
		})
		l := new(Limits)
		l.Decode(d, 3)
		require.ErrorIs(t, d.Done(), c.want, c.slots)
	}
}

// A group that has been removed is restrained by nothing, also in a saved state.
func TestDecodeRemoved(t *testing.T) {
	t.Parallel()
	for gap, want := range map[float64]error{0: nil, 1: codec.ErrCorrupt} {
		d := codectest.Decoder(t, func(e *codec.Encoder) {
			e.Int(0)
			e.Int(0)
			groups := ids.Make(1)
			groups.Encode(e)
			e.Float64(gap)
			e.Float64(0)
			e.Int(0)
			for range 3 {
				e.Float64(math.Inf(-1))
			}
			e.Bool(true)
		})
		var l Limits
		if l.Decode(d, 1); d.Err() == nil {
			l.Join(0, false)
			l.Counted(d)
		}
		require.ErrorIs(t, d.Done(), want)
	}
}

// A share that is not used is kept for one period, so that one poll more comes early.
func TestShareIsKeptForOnePeriod(t *testing.T) {
	t.Parallel()
	p := NewPace(0, 0.5, 0)
	for range 2 {
		p.Spend(100, 1)
	}
	require.EqualValues(t, 103, p.Ready())
	p.Spend(1000, 1)
	require.EqualValues(t, 1001, p.Ready())
}
