// Package codec writes and reads the saved state of the learners: a magic
// string and a version, fixed-width little-endian fields, and a CRC-32C of all of
// it at the end, so that a truncated or corrupted file is found before a single
// field of the receiver changes. A type saves and loads itself with a [Format].
package codec

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	// ErrCorrupt reports data that is truncated, altered, of another type or version,
	// or whose values contradict each other. The packages that save state export it
	// under their own names.
	ErrCorrupt = errors.New("corrupt saved state")
	// ErrVersion is the ErrCorrupt of data of another version.
	ErrVersion = fmt.Errorf("%w: of another version", ErrCorrupt)
	// ErrSource reports a source of randomness whose state cannot be saved: it
	// is neither *rand.PCG nor *rand.ChaCha8.
	ErrSource = errors.New("the source of randomness cannot be saved")
)

// An Encoder appends fields to a byte slice.
type Encoder struct {
	b   []byte
	err error
}

// NewEncoder starts a record with its magic string and version.
func NewEncoder(magic string, version byte) *Encoder {
	return &Encoder{b: append([]byte(magic), version)}
}

// Finish appends the checksum and returns the record.
func (e *Encoder) Finish() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	return binary.LittleEndian.AppendUint32(e.b, crc32.Checksum(e.b, castagnoli)), nil
}

func (e *Encoder) Byte(v byte)     { e.b = append(e.b, v) }
func (e *Encoder) Uint16(v uint16) { e.b = binary.LittleEndian.AppendUint16(e.b, v) }
func (e *Encoder) Uint32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }
func (e *Encoder) Uint64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }

// Int writes an int as 64 bits.
func (e *Encoder) Int(v int) { e.Uint64(uint64(int64(v))) }

// Float64 writes the bits of v, so that it is read back exactly.
func (e *Encoder) Float64(v float64) { e.Uint64(math.Float64bits(v)) }

func (e *Encoder) Bool(v bool) {
	if v {
		e.Byte(1)
	} else {
		e.Byte(0)
	}
}

// Bytes, Uint16s, … write a length and then the elements.

func (e *Encoder) Bytes(v []byte) { e.Int(len(v)); e.b = append(e.b, v...) }

func (e *Encoder) Uint16s(v []uint16)   { each(e, v, 2, e.Uint16) }
func (e *Encoder) Uint32s(v []uint32)   { each(e, v, 4, e.Uint32) }
func (e *Encoder) Uint64s(v []uint64)   { each(e, v, 8, e.Uint64) }
func (e *Encoder) Ints(v []int)         { each(e, v, 8, e.Int) }
func (e *Encoder) Float64s(v []float64) { each(e, v, 8, e.Float64) }
func (e *Encoder) Float32s(v []float32) {
	each(e, v, 4, func(x float32) { e.Uint32(math.Float32bits(x)) })
}

// each writes a length and that many elements of size bytes.
func each[T any](e *Encoder, v []T, size int, write func(T)) {
	e.Int(len(v))
	e.b = slices.Grow(e.b, size*len(v))
	for _, x := range v {
		write(x)
	}
}

// Kinds of source that can be saved.
const (
	sourceNone byte = iota
	sourcePCG
	sourceChaCha8
)

// Source writes the state of a source of randomness, so that Decoder.Source
// gives one that continues with the same numbers. A nil source is allowed. A
// source other than *rand.PCG and *rand.ChaCha8 makes Finish return ErrSource.
func (e *Encoder) Source(src rand.Source) {
	var kind byte
	switch src.(type) {
	case nil:
		e.Byte(sourceNone)
		return
	case *rand.PCG:
		kind = sourcePCG
	case *rand.ChaCha8:
		kind = sourceChaCha8
	default:
		e.fail(fmt.Errorf("%w: it is a %T; use *rand.PCG or *rand.ChaCha8", ErrSource, src))
		return
	}
	state, err := src.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		e.fail(err)
		return
	}
	e.Byte(kind)
	e.Bytes(state)
}

// Check records an error, if it is one and the first: Finish returns it.
func (e *Encoder) Check(err error) {
	if err != nil {
		e.fail(err)
	}
}

func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// A Decoder reads the fields back in the order in which they were written. Its
// errors stick: after the first one every read gives zero, and Done reports it.
type Decoder struct {
	b    []byte // what is left
	size int    // of the body
	err  error
}

// NewDecoder checks the checksum, the magic string and the version of data.
func NewDecoder(data []byte, magic string, version byte) (*Decoder, error) {
	switch name := name(data); {
	case name == "" || name == magic && len(data) < len(magic)+1+4:
		return nil, fmt.Errorf("%w: %d bytes, not those of a %s", ErrCorrupt, len(data), magic)
	case name != magic:
		return nil, fmt.Errorf("%w: it is a %s, not a %s", ErrCorrupt, name, magic)
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(data)-4:]) {
		return nil, fmt.Errorf("%w: %d bytes with a wrong checksum", ErrCorrupt, len(data))
	}
	if v := data[len(magic)]; v != version {
		return nil, fmt.Errorf("%w: %d, want %d", ErrVersion, v, version)
	}
	body = body[len(magic)+1:]
	return &Decoder{b: body, size: len(body)}, nil
}

// name returns the magic string that data begin with, up to the version: "" if there is none.
func name(data []byte) string {
	for i, c := range data[:min(len(data), longestName)] {
		if c < ' ' {
			return string(data[:i])
		}
		if c > '~' {
			break
		}
	}
	return ""
}

// longestName bounds what is looked at for a magic string.
const longestName = 64

// Done returns the first error, or one if there are bytes left.
func (d *Decoder) Done() error {
	if d.err == nil && len(d.b) != 0 {
		d.err = fmt.Errorf("%w: %d bytes too many", ErrCorrupt, len(d.b))
	}
	return d.err
}

// Err returns the first error so far.
func (d *Decoder) Err() error { return d.err }

// Fail records that values contradict each other, unless an error came first.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
	}
}

func (d *Decoder) take(n int) []byte {
	if d.err == nil && n > len(d.b) {
		d.Fail("%d bytes wanted, %d left", n, len(d.b))
	}
	if d.err != nil {
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *Decoder) Byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *Decoder) Uint16() uint16 {
	if b := d.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *Decoder) Uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *Decoder) Uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *Decoder) Int() int {
	v := int64(d.Uint64())
	if int64(int(v)) != v {
		d.Fail("%d does not fit an int", v)
		return 0
	}
	return int(v)
}

func (d *Decoder) Float64() float64 { return math.Float64frombits(d.Uint64()) }

func (d *Decoder) Bool() bool {
	switch v := d.Byte(); v {
	case 0:
		return false
	case 1:
		return true
	default:
		d.Fail("%d is not a boolean", v)
		return false
	}
}

// length reads the length of a slice and checks it against what is left, so
// that corrupt data cannot ask for more memory than it has itself.
func (d *Decoder) length(size int) int {
	n := d.Int()
	if d.err == nil && (n < 0 || n > len(d.b)/size) {
		d.Fail("a slice of %d elements in %d bytes", n, len(d.b))
	}
	if d.err != nil {
		return 0
	}
	return n
}

// slice reads a length and that many elements of size bytes. An empty slice
// is read as nil.
func slice[T any](d *Decoder, size int, read func() T) []T {
	n := d.length(size)
	if n == 0 {
		return nil
	}
	v := make([]T, n)
	for i := range v {
		v[i] = read()
	}
	return v
}

func (d *Decoder) Bytes() []byte       { return append([]byte(nil), d.take(d.length(1))...) }
func (d *Decoder) Uint16s() []uint16   { return slice(d, 2, d.Uint16) }
func (d *Decoder) Uint32s() []uint32   { return slice(d, 4, d.Uint32) }
func (d *Decoder) Uint64s() []uint64   { return slice(d, 8, d.Uint64) }
func (d *Decoder) Ints() []int         { return slice(d, 8, d.Int) }
func (d *Decoder) Float64s() []float64 { return slice(d, 8, d.Float64) }
func (d *Decoder) Float32s() []float32 {
	return slice(d, 4, func() float32 { return math.Float32frombits(d.Uint32()) })
}

// Source reads what Encoder.Source wrote; nil if that was nil.
func (d *Decoder) Source() rand.Source {
	var src rand.Source
	switch kind := d.Byte(); kind {
	case sourceNone:
		return nil
	case sourcePCG:
		src = new(rand.PCG)
	case sourceChaCha8:
		src = new(rand.ChaCha8)
	default:
		d.Fail("source of randomness of unknown kind %d", kind)
		return nil
	}
	state := d.Bytes()
	if d.err != nil {
		return nil
	}
	if err := src.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		d.Fail("source of randomness: %v", err)
		return nil
	}
	return src
}
