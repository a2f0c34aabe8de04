package pick

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// Pages are drawn in proportion to their frequencies, of those that are in: with 3 degrees of
// freedom chi-squared is above 16.3 once in 1000 times.
func TestLottery(t *testing.T) {
	t.Parallel()
	r := New(3, true, rand.NewPCG(1, 2))
	l := r.(*Lottery)
	_, ok := l.Pick(0)
	require.False(t, ok, "no page has a frequency")
	x := []float64{1, 2, 0, 4, 5, 0}
	for slot := 3; slot < 6; slot++ {
		l.Put(slot, 0)
		require.Zero(t, l.Frequency(slot))
		require.Zero(t, l.sum.Total())
	}
	require.Equal(t, 6, l.sum.Size(), "room for a quarter more")
	for slot, x := range x {
		l.Set(slot, x)
		require.Equal(t, x, l.Frequency(slot))
	}
	const draws = 12_000
	count := make([]float64, 6)
	for range draws {
		slot, ok := l.Pick(0)
		require.True(t, ok)
		require.False(t, l.in[slot])
		count[slot]++
		l.Put(slot, 0)
	}
	chi := 0.0
	for slot, x := range x {
		if x == 0 {
			require.Zero(t, count[slot])
			continue
		}
		e := draws * x / 12
		chi += (count[slot] - e) * (count[slot] - e) / e
	}
	require.Less(t, chi, 16.3)
	// Who is out is not drawn, whatever frequency it is given meanwhile, nor who is dropped.
	for range 3 {
		_, ok := l.Pick(0)
		require.True(t, ok)
	}
	for slot, in := range l.in {
		if in {
			l.Drop(slot)
			require.Zero(t, l.Frequency(slot))
		} else {
			l.Set(slot, 9)
		}
	}
	_, ok = l.Pick(0)
	require.False(t, ok)
	require.Panics(t, func() { New(3, true, nil) })
}

// A roster of either kind is saved as it is, and goes on alike.
func TestRosterSaved(t *testing.T) {
	t.Parallel()
	for _, random := range []bool{true, false} {
		r := New(5, random, rand.NewPCG(1, 2))
		for slot := range 5 {
			r.Set(slot, float64(slot))
		}
		out, ok := r.Pick(1)
		require.True(t, ok)
		r.Put(5, 1)
		r.Set(5, 2)
		in := func(slot int) bool { return slot != out }
		d := codectest.Decoder(t, r.Encode)
		twin := Decode(d, random, 6, in)
		require.NoError(t, d.Done())
		require.Equal(t, r, twin)
		for k := range 4 {
			want, ok := r.Pick(float64(2 + k))
			require.True(t, ok)
			got, ok := twin.Pick(float64(2 + k))
			require.True(t, ok)
			require.Equal(t, want, got)
		}
		for _, slots := range []int{5, 7} {
			d := codectest.Decoder(t, r.Encode)
			Decode(d, random, slots, in)
			require.ErrorIs(t, d.Done(), codec.ErrCorrupt)
		}
	}
	// The room of a lottery is that of its pages, or what it grew to.
	for size, want := range map[int]error{4: codec.ErrCorrupt, 5: nil, 11: nil, 12: codec.ErrCorrupt} {
		d := codectest.Decoder(t, func(e *codec.Encoder) {
			e.Float64s([]float64{1, 1, 1, 1, 1})
			e.Int(size)
			e.Source(rand.NewPCG(1, 2))
		})
		Decode(d, true, 5, func(int) bool { return true })
		require.ErrorIs(t, d.Done(), want, "%d", size)
	}
	for _, x := range []float64{-1, math.Inf(1), math.NaN()} {
		l := newLottery(2, rand.NewPCG(1, 2))
		l.x[1] = x
		d := codectest.Decoder(t, l.Encode)
		Decode(d, true, 2, func(int) bool { return true })
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt)
	}
}
