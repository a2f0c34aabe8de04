package codec

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, f func(*Encoder)) []byte {
	t.Helper()
	e := NewEncoder("test", 3)
	f(e)
	b, err := e.Finish()
	require.NoError(t, err)
	return b
}

func TestRoundTrip(t *testing.T) {
	pcg, cha := rand.NewPCG(1, 2), rand.NewChaCha8([32]byte{5})
	cha.Uint64()
	b := write(t, func(e *Encoder) {
		e.Byte(7)
		e.Bool(true)
		e.Uint16(65535)
		e.Uint32(1 << 31)
		e.Uint64(1 << 63)
		e.Int(-5)
		e.Float64(math.Inf(-1))
		e.Bytes([]byte{1, 2})
		e.Uint16s([]uint16{3})
		e.Uint32s(nil)
		e.Uint64s([]uint64{9})
		e.Ints([]int{-1, 1})
		e.Float32s([]float32{1.5})
		e.Float64s([]float64{math.Copysign(0, -1)})
		e.Source(pcg)
		e.Source(cha)
		e.Source(nil)
	})
	d, err := NewDecoder(b, "test", 3)
	require.NoError(t, err)
	require.Equal(t, byte(7), d.Byte())
	require.True(t, d.Bool())
	require.Equal(t, uint16(65535), d.Uint16())
	require.Equal(t, uint32(1<<31), d.Uint32())
	require.Equal(t, uint64(1<<63), d.Uint64())
	require.Equal(t, -5, d.Int())
	require.Equal(t, math.Inf(-1), d.Float64())
	require.Equal(t, []byte{1, 2}, d.Bytes())
	require.Equal(t, []uint16{3}, d.Uint16s())
	require.Empty(t, d.Uint32s())
	require.Equal(t, []uint64{9}, d.Uint64s())
	require.Equal(t, []int{-1, 1}, d.Ints())
	require.Equal(t, []float32{1.5}, d.Float32s())
	zero := d.Float64s()
	require.True(t, math.Signbit(zero[0]))
	for _, want := range []rand.Source{pcg, cha} {
		got := d.Source()
		require.IsType(t, want, got)
		require.Equal(t, want.Uint64(), got.Uint64())
	}
	require.Nil(t, d.Source())
	require.NoError(t, d.Done())
}

// A slice may fill what is left of the data to the last byte.
func TestSliceAtTheEnd(t *testing.T) {
	t.Parallel()
	v := []int{1, 2, 3}
	accept(t, v, func(e *Encoder) { e.Ints(v) }, (*Decoder).Ints)
	accept(t, []byte{1, 2}, func(e *Encoder) { e.Bytes([]byte{1, 2}) }, (*Decoder).Bytes)
	accept(t, []uint16{1, 2}, func(e *Encoder) { e.Uint16s([]uint16{1, 2}) }, (*Decoder).Uint16s)
	accept(t, []uint32{1, 2}, func(e *Encoder) { e.Uint32s([]uint32{1, 2}) }, (*Decoder).Uint32s)
	accept(t, []uint64{1, 2}, func(e *Encoder) { e.Uint64s([]uint64{1, 2}) }, (*Decoder).Uint64s)
	accept(t, []float32{1, 2}, func(e *Encoder) { e.Float32s([]float32{1, 2}) }, (*Decoder).Float32s)
	accept(t, []float64{1, 2}, func(e *Encoder) { e.Float64s([]float64{1, 2}) }, (*Decoder).Float64s)
}

func TestEveryDamageIsFound(t *testing.T) {
	b := write(t, func(e *Encoder) { e.Float64s([]float64{1, 2}); e.Source(rand.NewPCG(1, 2)) })
	for n := range b {
		_, err := NewDecoder(b[:n], "test", 3)
		require.ErrorIs(t, err, ErrCorrupt, "truncated to %d bytes", n)
		bad := append([]byte(nil), b...)
		bad[n] ^= 0x20
		_, err = NewDecoder(bad, "test", 3)
		require.ErrorIs(t, err, ErrCorrupt, "byte %d altered", n)
	}
	_, err := NewDecoder(b, "test", 2)
	require.ErrorIs(t, err, ErrVersion)
	require.ErrorIs(t, err, ErrCorrupt)
	_, err = NewDecoder(b, "tost", 3)
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestContradictions(t *testing.T) {
	b := write(t, func(e *Encoder) { e.Uint64(1 << 40); e.Byte(2) })
	d, _ := NewDecoder(b, "test", 3)
	require.Empty(t, d.Float64s(), "a length beyond the data must not be believed")
	require.ErrorIs(t, d.Done(), ErrCorrupt)

	d, _ = NewDecoder(b, "test", 3)
	d.Int()
	require.False(t, d.Bool())
	require.ErrorIs(t, d.Done(), ErrCorrupt)

	d, _ = NewDecoder(b, "test", 3)
	require.ErrorIs(t, d.Done(), ErrCorrupt, "bytes left")

	b = write(t, func(e *Encoder) { e.Byte(9) })
	d, _ = NewDecoder(b, "test", 3)
	require.Nil(t, d.Source())
	require.ErrorIs(t, d.Done(), ErrCorrupt)
}

func TestUnknownSource(t *testing.T) {
	e := NewEncoder("test", 3)
	e.Source(rand.New(rand.NewPCG(1, 2)))
	_, err := e.Finish()
	require.ErrorIs(t, err, ErrSource)
}

// The first error that was noted while a state was written is that of Finish, and a source whose
// state is none is refused.
func TestErrorsOfParts(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	e := NewEncoder("test", 3)
	e.Check(nil)
	e.Check(first)
	e.Check(second)
	_, err := e.Finish()
	require.ErrorIs(t, err, first)
	for _, kind := range []byte{sourcePCG, sourceChaCha8} {
		refuse(t, func(e *Encoder) { e.Byte(kind); e.Bytes([]byte("no such state")) }, (*Decoder).Source)
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, body []byte) {
		e := NewEncoder("test", 3)
		e.b = append(e.b, body...)
		b, err := e.Finish()
		require.NoError(t, err)
		d, err := NewDecoder(b, "test", 3)
		require.NoError(t, err)
		d.Source()
		d.Uint16s()
		d.Float64s()
		d.Bool()
		d.Int()
		if err := d.Done(); err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
		}
	})
}

// A state of another type is told by its name.
func TestAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	data, err := Format{"recrawl/demo.Ring", 1}.Save(func(e *Encoder) { e.Int(1) })
	require.NoError(t, err)
	for _, magic := range []string{"recrawl/demo.Rin", "recrawl/demo.Rings", "recrawl/other.Thing"} {
		_, err := NewDecoder(data, magic, 1)
		require.ErrorIs(t, err, ErrCorrupt)
		require.EqualError(t, err, "corrupt saved state: it is a recrawl/demo.Ring, not a "+magic)
	}
	for _, data := range [][]byte{nil, []byte("recrawl/demo.Ring"), []byte("recrawl/demo.Ring\x01abc"), []byte("\x80abc\x01"), make([]byte, 80)} {
		_, err := NewDecoder(data, "recrawl/demo.Ring", 1)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "not those of a recrawl/demo.Ring")
	}
}
