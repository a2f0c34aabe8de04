package pick

import (
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// Ahead is how many draws a roster looks ahead. With 10⁷ pages a poll of LAKG took as long with 8, 32
// and 64, within the scatter.
const Ahead = 16

// An Advance draws random numbers in advance, and gives them out in the order in which its source
// gave them. Whoever sees the next ones knows which pages they will most likely choose, and can
// read what that takes from memory for all of them at once.
type Advance struct {
	src     rand.Source
	numbers []uint64 // those left are numbers[next:]
	next    int
}

// NewAdvance returns one that draws from src.
func NewAdvance(src rand.Source) Advance { return Advance{src: src} }

// Left returns how many numbers were drawn and not given out yet.
func (a *Advance) Left() int { return len(a.numbers) - a.next }

// Uint64 gives out a number.
func (a *Advance) Uint64() uint64 {
	if a.next == len(a.numbers) {
		return a.src.Uint64()
	}
	a.next++
	return a.numbers[a.next-1]
}

// Draw draws n numbers when none is left.
func (a *Advance) Draw(n int) []uint64 {
	numbers := slices.Grow(a.numbers[:0], n)[:n]
	for i := range numbers {
		numbers[i] = a.src.Uint64()
	}
	a.numbers, a.next = numbers, 0
	return numbers
}

// Encode writes the source and the numbers left.
func (a *Advance) Encode(e *codec.Encoder) {
	e.Source(a.src)
	e.Uint64s(a.numbers[a.next:])
}

// DecodeAdvance reads what Encode wrote, with at most Ahead times as many numbers as a draw takes.
func DecodeAdvance(d *codec.Decoder, each int) Advance {
	a := Advance{src: d.NeedSource(), numbers: d.Uint64s()}
	n := len(a.numbers)
	d.Require(n < Ahead*each && n%each == 0, "%d numbers drawn in advance", n)
	return a
}
