// Package pick chooses pages at given frequencies, evenly spaced or at random. It knows pages by
// their slots, 0, 1, 2, …, and holds those that are not in flight.
//
// [Roster] is what the schedulers of knapsack see. [Overdue] and [Lottery] implement it.
// [Buckets] and [SumTree] are the parts of a lottery among a few classes of pages.
package pick

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/source"
)

// None stands for no slot.
const None = math.MaxUint32

// MostFrequency bounds frequencies, so that the sum of those of 2^32 pages is finite.
const MostFrequency = 1e290

// MostTime bounds times, so that differences and multiples of them are finite.
const MostTime = 1e299

// A Roster picks pages at given frequencies.
type Roster interface {
	// Set gives a page its frequency, 0 to MostFrequency. A page of frequency 0 is never picked.
	Set(slot int, x float64)
	// Frequency returns what Set was given last.
	Frequency(slot int) float64
	// Pick takes a page out. It returns false if no page is in that has a frequency above 0.
	Pick(now float64) (slot int, ok bool)
	// Put brings a page in that was last polled at time at. The roster grows by a slot one past
	// its end.
	Put(slot int, at float64)
	// Drop takes a page out for good.
	Drop(slot int)
	// Encode writes the roster, for Decode to read.
	Encode(e *codec.Encoder)
}

// New returns a roster of n pages of frequency 0: a Lottery that draws from src if random is set,
// else an Overdue, for which src may be nil.
func New(n int, random bool, src rand.Source) Roster {
	if random {
		source.Require(src, "knapsack")
		return newLottery(n, src)
	}
	return NewOverdue(n)
}

// Decode reads a roster of so many slots. in reports which of them are in the roster.
func Decode(d *codec.Decoder, random bool, slots int, in func(slot int) bool) Roster {
	x, held := decodePages(d, slots, in)
	if random {
		return decodeLottery(d, x, held)
	}
	return decodeOverdue(d, x, held)
}

// DecodeOverdue is Decode of an Overdue.
func DecodeOverdue(d *codec.Decoder, slots int, in func(slot int) bool) *Overdue {
	x, held := decodePages(d, slots, in)
	return decodeOverdue(d, x, held)
}

// decodePages reads the frequencies with which every roster begins.
func decodePages(d *codec.Decoder, slots int, in func(slot int) bool) (x []float64, held []bool) {
	x = d.Float64sIn(slots, 0, MostFrequency)
	held = make([]bool, len(x))
	for i := range held {
		held[i] = in(i)
	}
	return x, held
}
