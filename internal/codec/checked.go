package codec

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The readers of this file refuse values outside a range: the decoder then fails with
// ErrCorrupt, names the value and where it is, and they return 0 (or nil), as all readers
// do from there on.

// Check records an error, if it is one and the first: what a setting's own check says.
func (d *Decoder) Check(err error) {
	if err != nil {
		d.Fail("%v", err)
	}
}

// Require fails unless ok, unless an error came first.
func (d *Decoder) Require(ok bool, format string, args ...any) {
	if !ok {
		d.Fail(format, args...)
	}
}

// refuse fails because of a value that was just read.
func (d *Decoder) refuse(v any, want string, args ...any) {
	if d.err == nil {
		d.Fail("%v before byte %d: want %s", v, d.size-len(d.b), fmt.Sprintf(want, args...))
	}
}

// ByteIn reads a byte of low to high.
func (d *Decoder) ByteIn(low, high byte) byte {
	v := d.Byte()
	if d.err == nil && (v < low || v > high) {
		d.refuse(v, "%d to %d", low, high)
		return 0
	}
	return v
}

// Enum reads an enumeration of n values from 0.
func Enum[E ~uint8](d *Decoder, n int) E {
	v := d.Byte()
	if int(v) >= n {
		d.refuse(v, "less than %d", n)
		return 0
	}
	return E(v)
}

// IntIn reads an int of low to high.
func (d *Decoder) IntIn(low, high int) int {
	v := d.Int()
	if d.err == nil && (v < low || v > high) {
		d.refuse(v, "%d to %d", low, high)
		return 0
	}
	return v
}

// Uint64In reads a uint64 of at most high.
func (d *Decoder) Uint64In(high uint64) uint64 {
	v := d.Uint64()
	if v > high {
		d.refuse(v, "at most %d", high)
		return 0
	}
	return v
}

// MostCount bounds what is read as a count of something that happens now and then: nobody lives to
// see that many, and those that come after do not overflow.
const MostCount = 1 << 60

// Int64In reads, from where Encoder.Uint64 wrote its bits, an int64 of low to high.
func (d *Decoder) Int64In(low, high int64) int64 {
	v := int64(d.Uint64())
	if d.err == nil && (v < low || v > high) {
		d.refuse(v, "%d to %d", low, high)
		return 0
	}
	return v
}

// Float64In reads a float of low to high; NaN is none.
func (d *Decoder) Float64In(low, high float64) float64 {
	v := d.Float64()
	if d.err == nil && !(v >= low && v <= high) {
		d.refuse(v, "%v to %v", low, high)
		return 0
	}
	return v
}

// Finite reads a float that is neither NaN nor infinite.
func (d *Decoder) Finite() float64 { return d.Float64In(-math.MaxFloat64, math.MaxFloat64) }

// NonNegative reads a finite float that is not negative.
func (d *Decoder) NonNegative() float64 { return d.Float64In(0, math.MaxFloat64) }

// AnyLen stands for any length that the data has room for.
const AnyLen = -1

// Count reads the number of elements that follow, of at least size > 0 bytes each. It
// refuses more than there are bytes for, so that corrupt data cannot ask for more memory
// than it has itself.
func (d *Decoder) Count(size int) int { return d.length(size) }

// exactly checks the length of a slice.
func exactly[T any](d *Decoder, v []T, n int) []T {
	if d.err == nil && n != AnyLen && len(v) != n {
		d.refuse(len(v), "%d elements", n)
	}
	if d.err != nil {
		return nil
	}
	return v
}

// The readers of slices want n elements, or [AnyLen]. Like the others they return nil for
// none.

// BytesLen reads n bytes, written by Encoder.Bytes.
func (d *Decoder) BytesLen(n int) []byte { return exactly(d, d.Bytes(), n) }

// Uint64sLen reads n numbers.
func (d *Decoder) Uint64sLen(n int) []uint64 { return exactly(d, d.Uint64s(), n) }

// Bools reads n booleans, written one after the other without a length.
func (d *Decoder) Bools(n int) []bool {
	if d.err == nil && (n < 0 || n > len(d.b)) {
		d.Fail("%d booleans in %d bytes", n, len(d.b))
	}
	if d.err != nil || n == 0 {
		return nil
	}
	v := make([]bool, n)
	for i := range v {
		v[i] = d.Bool()
	}
	return v
}

// Uint16sIn reads n numbers of at most high.
func (d *Decoder) Uint16sIn(n int, high uint16) []uint16 {
	return within(d, exactly(d, d.Uint16s(), n), 0, high)
}

// Uint32sIn reads n numbers of at most high.
func (d *Decoder) Uint32sIn(n int, high uint32) []uint32 {
	return within(d, exactly(d, d.Uint32s(), n), 0, high)
}

// IntsIn reads n ints of low to high.
func (d *Decoder) IntsIn(n, low, high int) []int {
	return within(d, exactly(d, d.Ints(), n), low, high)
}

// Float32sIn reads n floats of low to high.
func (d *Decoder) Float32sIn(n int, low, high float32) []float32 {
	return within(d, exactly(d, d.Float32s(), n), low, high)
}

// Float64sIn reads n floats of low to high.
func (d *Decoder) Float64sIn(n int, low, high float64) []float64 {
	return within(d, exactly(d, d.Float64s(), n), low, high)
}

// within checks the elements of a slice; NaN is never within.
func within[T uint16 | uint32 | int | float32 | float64](d *Decoder, v []T, low, high T) []T {
	for i, x := range v {
		if !(x >= low && x <= high) {
			d.refuse(x, "%v to %v at %d of the %d elements", low, high, i, len(v))
			return nil
		}
	}
	return v
}

// NeedSource reads a source of randomness and refuses none.
func (d *Decoder) NeedSource() rand.Source {
	src := d.Source()
	if src == nil {
		d.Fail("no source of randomness")
	}
	return src
}
