// Package codectest tests the saving of a type: a [Case] of each type, for [Run] and [Fuzz],
// replaces tests of its own. Values that contradict each other are made by saving a value that a
// test has spoiled, or with [Forge].
package codectest

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/golden"
)

// Saved is a type that can be saved.
type Saved interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// allBits is the length up to which every bit of a saved state is flipped; of a longer
// one, a bit of every byte is.
const allBits = 256

// mostForged is the most forged states that are tried.
const mostForged = 4000

// Run tests the saving of the value v of a case:
//
//   - its bytes are those of the file testdata/saved/name.golden (-update writes it);
//   - saving does not change it;
//   - loaded into empty(), it is saved as the same bytes, and use gives the same result
//     for both, and leaves both the same;
//   - data cut off anywhere, with a bit flipped, of another version or another type are
//     refused with the right error, and nothing changes;
//   - with bytes changed, or numbers, or several of them exchanged, and the checksum right again,
//     data are refused with ErrCorrupt, or give a value that is saved as they are, with which use
//     neither panics nor hangs, and which can be loaded after that.
func Run(t *testing.T, name string, c *Case) {
	t.Helper()
	v, data := c.value, c.data
	golden.Check(t, "saved/"+name+".golden", dump(data))
	require.Equal(t, data, save(t, v), "saving changed it")

	twin := c.empty()
	require.NoError(t, twin.UnmarshalBinary(data))
	if !c.has(Partial) {
		require.Equal(t, data, save(t, twin), "loading changed it")
	}
	refusals(t, data, twin)
	if c.use != nil {
		require.Equal(t, c.use(v), c.use(twin), "the loaded value goes on in another way")
		require.Equal(t, save(t, v), save(t, twin), "the loaded value goes on in another way")
	}
	Forged(t, c)
}

// A Trait of a type allows it what other types must not do with forged data.
type Trait int

const (
	// Partial may save something else than it has accepted: what it does not know is left out.
	Partial Trait = iota
	// Drifts may refuse what it becomes in use: it has running sums and products, and those of data
	// at the edge of what is accepted drift over it.
	Drifts
)

// A Case is a value in the middle of a run, and how to go on.
type Case struct {
	value  Saved
	data   []byte
	empty  func() Saved
	use    func(Saved) any
	traits []Trait
}

// Of returns the case of a value v. empty returns something to load into: a zero value, or one with
// other state. use, unless nil, does with a value what callers do, for a while, and returns
// something to compare, or nil; it must allow for values with other settings than those of v.
func Of[P Saved](v P, empty func() P, use func(P) any, traits ...Trait) *Case {
	data, err := v.MarshalBinary()
	if err != nil {
		panic(err)
	}
	c := &Case{value: v, data: data, empty: func() Saved { return empty() }, traits: traits}
	if use != nil {
		c.use = func(v Saved) any { return use(v.(P)) }
	}
	return c
}

func (c *Case) has(trait Trait) bool { return slices.Contains(c.traits, trait) }

func save(t testing.TB, v Saved) []byte {
	t.Helper()
	data, err := v.MarshalBinary()
	require.NoError(t, err)
	return data
}

// dump returns the bytes in hexadecimal, 32 to a line, after the magic string in words.
func dump(data []byte) string {
	n := header(data)
	var b strings.Builder
	fmt.Fprintf(&b, "%s version %d\n", data[:n], data[n])
	for line := range slices.Chunk(data[n+1:], 32) {
		fmt.Fprintln(&b, hex.EncodeToString(line))
	}
	return b.String()
}

// header returns the length of the magic string, which the version follows: a byte below
// ' '.
func header(data []byte) int {
	return bytes.IndexFunc(data, func(r rune) bool { return r < ' ' })
}

// refusals tries data that the checksum and the header give away; v must not change.
func refusals(t *testing.T, data []byte, v Saved) {
	t.Helper()
	before := save(t, v)
	for n := range data {
		require.ErrorIs(t, v.UnmarshalBinary(data[:n]), codec.ErrCorrupt, "cut off after %d bytes", n)
	}
	require.ErrorIs(t, v.UnmarshalBinary(append(slices.Clone(data), 0)), codec.ErrCorrupt)
	bad := slices.Clone(data)
	for i := range bad {
		for bit := range 8 {
			if len(data) > allBits && bit != i%8 {
				continue
			}
			bad[i] ^= 1 << bit
			require.ErrorIs(t, v.UnmarshalBinary(bad), codec.ErrCorrupt, "bit %d of byte %d flipped", bit, i)
			bad[i] ^= 1 << bit
		}
	}
	n := header(data)
	later := Forge(data, func(body []byte) []byte { body[n]++; return body })
	require.ErrorIs(t, v.UnmarshalBinary(later), codec.ErrVersion)
	require.ErrorIs(t, v.UnmarshalBinary(later), codec.ErrCorrupt)
	other := Forge(data, func(body []byte) []byte { body[n-1]++; return body })
	require.ErrorIs(t, v.UnmarshalBinary(other), codec.ErrCorrupt, "another type")
	longer := Forge(data, func(body []byte) []byte { return append(body, 0) })
	require.ErrorIs(t, v.UnmarshalBinary(longer), codec.ErrCorrupt, "a byte too many")
	shorter := Forge(data, func(body []byte) []byte { return body[:len(body)-1] })
	if len(data) > n+1+4 {
		require.ErrorIs(t, v.UnmarshalBinary(shorter), codec.ErrCorrupt, "a byte is missing")
	}
	require.Equal(t, before, save(t, v), "a refused load changed it")
}

// Forged changes bytes behind the header of a case and seals the data again: the last of what Run
// tests.
func Forged(t *testing.T, c *Case) {
	t.Helper()
	data := c.data
	rng := rand.New(rand.NewPCG(1, uint64(len(data))))
	start, end := header(data)+1, len(data)-4
	for k := 0; start < end && k < min(mostForged, 4*(end-start)); k++ {
		forged := Forge(data, func(body []byte) []byte {
			at := start + k/4
			if 4*(end-start) > mostForged {
				at = start + rng.IntN(end-start)
			}
			switch k % 4 {
			case 0:
				body[at] ^= 1
			case 1:
				body[at] = ^body[at]
			case 2: // the sign of a number, or its exponent
				body[at] ^= 0x80
			default:
				body[at] += byte(1 + rng.IntN(255))
			}
			return body
		})
		c.try(t, forged)
	}
	most := mostForged / 2
	if testing.Short() {
		most /= 4
	}
	for k := 0; end-start >= 8 && k < min(most, len(outlandish)*(end-start-7)); k++ {
		at := start + k/len(outlandish)
		if len(outlandish)*(end-start-7) > most {
			at = start + rng.IntN(end-start-7)
		}
		forged := Forge(data, func(body []byte) []byte {
			binary.LittleEndian.PutUint64(body[at:], outlandish[k%len(outlandish)])
			return body
		})
		c.try(t, forged)
	}
	for k := 0; end-start >= 8 && k < most/2; k++ {
		c.try(t, Forge(data, func(body []byte) []byte {
			for range 1 + rng.IntN(3) {
				mix(body[start:end], rng)
			}
			return body
		}))
	}
}

// mix changes a number of a body into another that is there, exchanges the two, moves one by a little,
// or scales it: what is forged so is in range more often than what is drawn from nowhere, and
// contradicts the rest all the same.
func mix(body []byte, rng *rand.Rand) {
	places := len(body) - 7
	a, b := body[rng.IntN(places):][:8], body[rng.IntN(places):][:8]
	x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
	switch rng.IntN(4) {
	case 0:
		binary.LittleEndian.PutUint64(a, y)
	case 1:
		binary.LittleEndian.PutUint64(a, y)
		binary.LittleEndian.PutUint64(b, x)
	case 2:
		binary.LittleEndian.PutUint64(a, x+uint64(rng.IntN(5))-2)
	default:
		scaled := math.Float64frombits(x) * math.Exp2(float64(rng.IntN(2000)-1000))
		binary.LittleEndian.PutUint64(a, math.Float64bits(scaled))
	}
}

// outlandish are numbers that decoders may overlook, as floats or as integers.
var outlandish = [...]uint64{
	math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)),
	math.Float64bits(math.MaxFloat64), math.Float64bits(-math.MaxFloat64), math.Float64bits(1e300),
	math.Float64bits(math.SmallestNonzeroFloat64), math.Float64bits(-1), math.Float64bits(1e9),
	0, 1, 3, math.MaxUint32, math.MaxInt64, math.MaxUint64,
}

// try loads forged data over good data, which stay if they are refused, and uses what it
// gives.
func (c *Case) try(t testing.TB, forged []byte) {
	t.Helper()
	v := c.empty()
	require.NoError(t, v.UnmarshalBinary(c.data))
	before := c.data
	if c.has(Partial) {
		before = save(t, v)
	}
	hung := time.AfterFunc(hang, func() { panic(fmt.Sprintf("hangs with forged data %x", forged)) })
	defer hung.Stop()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("panic with forged data %x: %v\n%s", forged, r, debug.Stack())
		}
	}()
	if err := v.UnmarshalBinary(forged); err != nil {
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("forged data %x: %v", forged, err)
		}
		if after := save(t, v); !bytes.Equal(before, after) {
			t.Fatalf("forged data %x are refused but leave %x", forged, after)
		}
		return
	}
	if same := save(t, v); !bytes.Equal(same, forged) && !c.has(Partial) {
		at := 0
		for at < min(len(same), len(forged)) && same[at] == forged[at] {
			at++
		}
		t.Fatalf("of %d forged bytes, from byte %d on, %x is accepted and saved as %x; all: %x",
			len(forged), at, forged[at:min(at+32, len(forged))], same[at:min(at+32, len(same))], forged)
	}
	if c.use != nil {
		c.use(v)
	}
	used := save(t, v)
	if err := c.empty().UnmarshalBinary(used); err != nil && !c.has(Drifts) {
		t.Fatalf("forged data %x are accepted, but what they become is refused: %v", forged, err)
	}
}

// Decoder returns a decoder of what encode writes: for tests of a type whose Encode and Decode are
// part of another type's saving.
func Decoder(t require.TestingT, encode func(*codec.Encoder)) *codec.Decoder {
	e := codec.NewEncoder("test", 1)
	encode(e)
	data, err := e.Finish()
	require.NoError(t, err)
	d, err := codec.NewDecoder(data, "test", 1)
	require.NoError(t, err)
	return d
}

// hang is the time after which a call counts as one that never returns: thousands of times what use
// takes on a machine that does nothing else.
const hang = 2 * time.Minute

// Forge returns data with its body, that is everything but the checksum, replaced by what
// edit makes of a copy, and with the right checksum of that.
func Forge(data []byte, edit func(body []byte) []byte) []byte {
	return codec.Seal(edit(slices.Clone(data[:len(data)-4])))
}

// Fuzz fuzzes the decoders of a package: with bodies of any content behind the header of a case,
// checksum right, they refuse and leave everything as it was, or they accept. What they accept is
// saved as the same bytes; used, it neither panics nor hangs, and what it becomes can be loaded.
func Fuzz(f *testing.F, cases ...*Case) {
	for k, c := range cases {
		f.Add(k, c.data[header(c.data)+1:len(c.data)-4])
	}
	f.Fuzz(func(t *testing.T, k int, body []byte) {
		if k < 0 || k >= len(cases) {
			return
		}
		c := cases[k]
		c.try(t, Forge(c.data, func(old []byte) []byte { return append(old[:header(old)+1], body...) }))
	})
}
