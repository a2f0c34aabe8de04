package knapsack

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// A roster picks pages at given frequencies. It knows slots only, and holds the
// pages that are not in flight.
type roster interface {
	// set gives a page its frequency ≥ 0; one of 0 is never picked.
	set(slot int, x float64)
	frequency(slot int) float64
	// pick takes a page out.
	pick(now float64) (slot int, ok bool)
	// put brings a page in, last polled at time at. A slot one past the end
	// makes the roster larger.
	put(slot int, at float64)
	// drop takes a page out for good.
	drop(slot int)
	encode(e *codec.Encoder)
}

// newRoster returns a roster of n pages of frequency 0. The random one draws
// from src.
func newRoster(n int, spacing Spacing, src rand.Source) roster {
	if spacing == Random {
		if src == nil {
			panic("knapsack: nil source of randomness")
		}
		return newLottery(n, src)
	}
	return newOverdue(n)
}

// decodeRoster reads a roster of the pages of a book.
func decodeRoster(d *codec.Decoder, spacing Spacing, b *book) roster {
	x := d.Float64s()
	if len(x) != b.ids.Slots() {
		d.Fail("%d frequencies for %d slots", len(x), b.ids.Slots())
	}
	in := make([]bool, len(x))
	for i := range x {
		if !(x[i] >= 0) || math.IsInf(x[i], 1) {
			d.Fail("slot %d has frequency %v", i, x[i])
		}
		in[i] = d.Err() == nil && b.ids.Live(i) && !b.inFlight(i)
	}
	if spacing == Random {
		return decodeLottery(d, x, in)
	}
	return decodeOverdue(d, x, in)
}

// A lottery is the roster with random spacing: each pick draws a page with
// probability proportional to its frequency, in O(log n). 17 to 25 bytes a page.
type lottery struct {
	src rand.Source
	x   []float64
	in  []bool
	sum sumTree
}

func newLottery(n int, src rand.Source) *lottery {
	l := &lottery{src: src, x: make([]float64, n), in: make([]bool, n), sum: newSumTree(n)}
	for i := range l.in {
		l.in[i] = true
	}
	return l
}

func (l *lottery) frequency(slot int) float64 { return l.x[slot] }

func (l *lottery) set(slot int, x float64) {
	l.x[slot] = x
	if l.in[slot] {
		l.sum.set(slot, x)
	}
}

func (l *lottery) pick(float64) (int, bool) {
	slot, ok := l.sum.draw(l.src)
	if ok {
		l.in[slot] = false
		l.sum.set(slot, 0)
	}
	return slot, ok
}

func (l *lottery) put(slot int, _ float64) {
	if slot == len(l.x) {
		l.x, l.in = append(l.x, 0), append(l.in, true)
		if slot >= l.sum.size() {
			sum := newSumTree(slot + 1 + slot/4)
			for i, x := range l.x {
				if l.in[i] {
					sum.set(i, x)
				}
			}
			l.sum = sum
		}
	}
	l.in[slot] = true
	l.sum.set(slot, l.x[slot])
}

func (l *lottery) drop(slot int) {
	l.in[slot], l.x[slot] = false, 0
	l.sum.set(slot, 0)
}

func (l *lottery) encode(e *codec.Encoder) {
	e.Float64s(l.x)
	e.Int(l.sum.size())
	e.Source(l.src)
}

func decodeLottery(d *codec.Decoder, x []float64, in []bool) *lottery {
	l := &lottery{x: x, in: in}
	size := d.Int()
	if size < len(l.x) || size > 2*len(l.x)+1 {
		d.Fail("a tree of %d for %d pages", size, len(l.x))
		return l
	}
	l.src = d.Source()
	if l.src == nil {
		d.Fail("no source of randomness")
	}
	if d.Err() != nil {
		return l
	}
	l.sum = newSumTree(size)
	for i, x := range l.x {
		if l.in[i] {
			l.sum.set(i, x)
		}
	}
	return l
}

// A sumTree holds numbers ≥ 0 and their sums over subtrees, always added in the
// same way, so that its content does not depend on the order of changes and no
// rounding error ever piles up.
type sumTree []float64 // node k of 1..n−1 is the sum of nodes 2k and 2k+1; node n+i is number i

func newSumTree(n int) sumTree { return make(sumTree, 2*max(n, 1)) }

func (t sumTree) size() int { return len(t) / 2 }

// total returns the sum of all numbers.
func (t sumTree) total() float64 { return t[1] }

// set changes a number, in O(log n).
func (t sumTree) set(i int, x float64) {
	k := t.size() + i
	t[k] = x
	for k /= 2; k >= 1; k /= 2 {
		t[k] = t[2*k] + t[2*k+1]
	}
}

// draw returns an index with probability proportional to its number, in
// O(log n); none, and nothing drawn from src, if all are 0.
func (t sumTree) draw(src rand.Source) (int, bool) {
	if !(t.total() > 0) {
		return 0, false
	}
	r := float64(uniform(src) * t.total())
	k := 1
	// Invariant: node k is positive. r is uniform in [0, node k), up to rounding.
	for k < t.size() {
		k *= 2
		if r >= t[k] && t[k+1] > 0 || t[k] == 0 {
			r -= t[k]
			k++
		}
	}
	return k - t.size(), true
}

// uniform returns a number in [0, 1).
func uniform(src rand.Source) float64 { return float64(src.Uint64()>>11) * 0x1p-53 }
