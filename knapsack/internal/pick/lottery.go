package pick

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Lottery is the roster with random spacing: each pick draws a page with probability
// proportional to its frequency, in O(log n). 17 to 25 bytes a page.
type Lottery struct {
	src rand.Source
	x   []float64
	in  []bool
	sum SumTree
}

func newLottery(n int, src rand.Source) *Lottery {
	l := &Lottery{src: src, x: make([]float64, n), in: make([]bool, n), sum: NewSumTree(n)}
	for i := range l.in {
		l.in[i] = true
	}
	return l
}

// Frequency implements Roster.
func (l *Lottery) Frequency(slot int) float64 { return l.x[slot] }

// Set implements Roster.
func (l *Lottery) Set(slot int, x float64) {
	l.x[slot] = x
	if l.in[slot] {
		l.sum.Set(slot, x)
	}
}

// Pick implements Roster.
func (l *Lottery) Pick(float64) (int, bool) {
	slot, ok := l.sum.Draw(l.src)
	if ok {
		l.in[slot] = false
		l.sum.Set(slot, 0)
	}
	return slot, ok
}

// Put implements Roster.
func (l *Lottery) Put(slot int, _ float64) {
	if slot == len(l.x) {
		l.x, l.in = append(l.x, 0), append(l.in, true)
		if slot >= l.sum.Size() {
			sum := NewSumTree(slot + 1 + slot/4)
			for i, x := range l.x {
				if l.in[i] {
					sum.Set(i, x)
				}
			}
			l.sum = sum
		}
	}
	l.in[slot] = true
	l.sum.Set(slot, l.x[slot])
}

// Drop implements Roster.
func (l *Lottery) Drop(slot int) {
	l.in[slot], l.x[slot] = false, 0
	l.sum.Set(slot, 0)
}

// Encode implements Roster.
func (l *Lottery) Encode(e *codec.Encoder) {
	e.Float64s(l.x)
	e.Int(l.sum.Size())
	e.Source(l.src)
}

func decodeLottery(d *codec.Decoder, x []float64, in []bool) *Lottery {
	l := &Lottery{x: x, in: in, sum: NewSumTree(d.IntIn(len(x), 2*len(x)+1)), src: d.NeedSource()}
	for i, x := range l.x {
		if l.in[i] && d.Err() == nil {
			l.sum.Set(i, x)
		}
	}
	return l
}
