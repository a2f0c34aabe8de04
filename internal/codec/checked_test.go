package codec

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var demo = Format{Magic: "recrawl/codec.demo", Version: 4}

// load reads what encode wrote with read; the error is that of the decoder.
func load[T any](t *testing.T, encode func(*Encoder), read func(*Decoder) T) (T, error) {
	t.Helper()
	b, err := demo.Save(encode)
	require.NoError(t, err)
	var v T
	err = Load(&v, demo, b, func(to *T, d *Decoder) { *to = read(d) })
	return v, err
}

// accept and refuse read one value that was written by encode.
func accept[T any](t *testing.T, want T, encode func(*Encoder), read func(*Decoder) T) {
	t.Helper()
	v, err := load(t, encode, read)
	require.NoError(t, err)
	require.Equal(t, want, v)
}

func refuse[T any](t *testing.T, encode func(*Encoder), read func(*Decoder) T) {
	t.Helper()
	_, err := load(t, encode, func(d *Decoder) T {
		v := read(d)
		require.Zero(t, v, "a refused value was returned")
		require.Error(t, d.Err())
		require.Zero(t, d.Float64())
		return v
	})
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestRanges(t *testing.T) {
	t.Parallel()
	type kind uint8
	for v := range 7 {
		encode := func(e *Encoder) { e.Byte(byte(v)) }
		ranged := func(d *Decoder) byte { return d.ByteIn(2, 4) }
		enum := func(d *Decoder) kind { return Enum[kind](d, 5) }
		ints := func(d *Decoder) int { return d.IntIn(-4, -2) }
		signed := func(d *Decoder) int64 { return d.Int64In(-4, -2) }
		unsigned := func(d *Decoder) uint64 { return d.Uint64In(4) }
		writeInt := func(e *Encoder) { e.Int(-v) }
		writeUint := func(e *Encoder) { e.Uint64(uint64(v)) }
		if v >= 2 && v <= 4 {
			accept(t, byte(v), encode, ranged)
			accept(t, -v, writeInt, ints)
			accept(t, int64(-v), writeInt, signed)
		} else {
			refuse(t, encode, ranged)
			refuse(t, writeInt, ints)
			refuse(t, writeInt, signed)
		}
		if v <= 4 {
			accept(t, kind(v), encode, enum)
			accept(t, uint64(v), writeUint, unsigned)
		} else {
			refuse(t, encode, enum)
			refuse(t, writeUint, unsigned)
		}
	}
}

func TestFloats(t *testing.T) {
	t.Parallel()
	tiny, huge, inf := math.SmallestNonzeroFloat64, math.MaxFloat64, math.Inf(1)
	for _, c := range []struct {
		v                   float64
		finite, nonNegative bool
	}{{1, true, true}, {tiny, true, true}, {huge, true, true}, {0, true, true},
		{-tiny, true, false}, {-huge, true, false}, {inf, false, false},
		{-inf, false, false}, {math.NaN(), false, false}} {
		encode := func(e *Encoder) { e.Float64(c.v) }
		for _, r := range []struct {
			ok   bool
			read func(*Decoder) float64
		}{{c.finite, (*Decoder).Finite}, {c.nonNegative, (*Decoder).NonNegative},
			{c.v == c.v, func(d *Decoder) float64 { return d.Float64In(-inf, inf) }}} {
			if r.ok {
				accept(t, c.v, encode, r.read)
			} else {
				refuse(t, encode, r.read)
			}
		}
	}
}

func TestSlices(t *testing.T) {
	t.Parallel()
	encode := func(e *Encoder) {
		e.Bytes([]byte{1, 2, 3})
		e.Uint64s([]uint64{1, 2, 3})
		e.Uint16s([]uint16{1, 2, 3})
		e.Uint32s([]uint32{1, 2, 3})
		e.Ints([]int{1, 2, 3})
		e.Float32s([]float32{1, 2, 3})
		e.Float64s([]float64{1, 2, 3})
		e.Bool(true)
		e.Bool(false)
	}
	for n := -1; n <= 4; n++ {
		for low := range 3 {
			for high := 2; high < 5; high++ {
				for reader := range 7 {
					bad := n != AnyLen && n != 3
					_, err := load(t, encode, func(d *Decoder) int {
						at := func(k int) (int, int, int) { // the limits under test for reader k, any for the others
							if k == reader {
								bad = bad || k > 1 && high < 3 || k > 3 && low > 1
								return n, low, high
							}
							return AnyLen, 0, 9
						}
						l, _, _ := at(0)
						d.BytesLen(l)
						l, _, _ = at(1)
						d.Uint64sLen(l)
						l, _, h := at(2)
						d.Uint16sIn(l, uint16(h))
						l, _, h = at(3)
						d.Uint32sIn(l, uint32(h))
						d.IntsIn(at(4))
						l, lo, h := at(5)
						d.Float32sIn(l, float32(lo), float32(h))
						l, lo, h = at(6)
						d.Float64sIn(l, float64(lo), float64(h))
						d.Bools(2)
						return 0
					})
					if bad {
						require.ErrorIs(t, err, ErrCorrupt, "reader %d: %d of %d to %d", reader, n, low, high)
					} else {
						require.NoError(t, err, "reader %d: %d of %d to %d", reader, n, low, high)
					}
				}
			}
		}
	}
	refuse(t, func(e *Encoder) { e.Float64s([]float64{math.NaN()}) },
		func(d *Decoder) []float64 { return d.Float64sIn(AnyLen, math.Inf(-1), math.Inf(1)) })
	accept(t, []uint16{0, 9}, func(e *Encoder) { e.Uint16s([]uint16{0, 9}) },
		func(d *Decoder) []uint16 { return d.Uint16sIn(2, 9) })
	accept(t, []uint32{0, 9}, func(e *Encoder) { e.Uint32s([]uint32{0, 9}) },
		func(d *Decoder) []uint32 { return d.Uint32sIn(2, 9) })
	accept(t, []bool(nil), func(*Encoder) {}, func(d *Decoder) []bool { return d.Bools(0) })
	refuse(t, func(e *Encoder) { e.Bool(true) }, func(d *Decoder) []bool { return d.Bools(2) })
	refuse(t, func(e *Encoder) { e.Bool(true) }, func(d *Decoder) []bool { return d.Bools(-1) })
	accept(t, []bool{true, false}, func(e *Encoder) { e.Bool(true); e.Bool(false) },
		func(d *Decoder) []bool { return d.Bools(2) })
	for n, ok := range map[int]bool{-1: false, 0: false, 1: false, 2: true, 3: false} { // 16 bytes follow
		_, err := load(t, func(e *Encoder) { e.Int(n); e.Uint64(0); e.Uint64(0) }, func(d *Decoder) int {
			for range d.Count(8) {
				d.Uint64()
			}
			return 0
		})
		require.Equal(t, ok, err == nil, "%d: %v", n, err)
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	none := func(*Encoder) {}
	failed := errors.New("states 0 of 5")
	_, err := load(t, none, func(d *Decoder) int { d.Check(nil); d.Check(failed); d.Require(false, "later"); return 0 })
	require.EqualError(t, err, "corrupt saved state: states 0 of 5")
	_, err = load(t, none, func(d *Decoder) int { d.Require(true, "no"); d.Require(false, "%d pages", 3); return 0 })
	require.EqualError(t, err, "corrupt saved state: 3 pages")
	_, err = load(t, func(e *Encoder) { e.Bool(true); e.Int(7) }, func(d *Decoder) int { d.Bool(); return d.IntIn(1, 5) })
	require.EqualError(t, err, "corrupt saved state: 7 before byte 9: want 1 to 5")
	refuse(t, func(e *Encoder) { e.Source(nil) }, (*Decoder).NeedSource)
	pcg := rand.NewPCG(1, 2)
	src, err := load(t, func(e *Encoder) { e.Source(pcg) }, (*Decoder).NeedSource)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(pcg), fmt.Sprint(src))
}

// TestLoad requires that nothing is assigned before all is well.
func TestLoad(t *testing.T) {
	t.Parallel()
	data, err := demo.Save(func(e *Encoder) { e.Int(3) })
	require.NoError(t, err)
	v := 8
	read := func(to *int, d *Decoder) { *to = d.Int() }
	require.ErrorIs(t, Load(&v, Format{demo.Magic, 5}, data, read), ErrVersion)
	require.ErrorIs(t, Load(&v, Format{"recrawl/codec.demi", 4}, data, read), ErrCorrupt)
	require.ErrorIs(t, Load(&v, demo, data, func(to *int, d *Decoder) { *to = int(d.Byte()) }), ErrCorrupt, "bytes left")
	require.ErrorIs(t, Load(&v, demo, data, func(to *int, d *Decoder) { *to = d.Int(); d.Fail("no") }), ErrCorrupt)
	require.Equal(t, 8, v)
	require.NoError(t, Load(&v, demo, data, read))
	require.Equal(t, 3, v)
	_, err = demo.Save(func(e *Encoder) { e.Source(rand.New(rand.NewPCG(1, 2))) })
	require.ErrorIs(t, err, ErrSource)
}
