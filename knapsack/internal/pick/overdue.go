package pick

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// An Overdue is the roster with even spacing: it picks the page with the greatest (now − last)·x,
// the one that is latest in units of its own interval 1/x. Whatever the budget, all pages are
// polled when this product reaches a common level, so that gaps are even and frequencies
// proportional to x. (Earliest deadline first keeps the proportions where an interval is but a
// few polls long, at the price of uneven gaps: it makes late pages up for lost polls, and delays
// all pages by the same time rather than by the same part of their intervals.)
//
// The products are lines in time, and a kinetic tournament keeps the greatest: a binary tree
// whose nodes hold the winner of their subtree and the time at which some winner in it will be
// overtaken. Only those parts are looked at again that may have changed. It is exact, takes O(log
// n) for a change of a page, and O(log² n) amortised for time that passes. 29 bytes a page.
type Overdue struct {
	last []float64 // time of the last poll; −Inf until the first pick of all
	x    []float64
	in   []bool
	now  float64 // time at which winners were compared; −Inf before the first pick

	// Node k of 1..size−1 has the children 2k and 2k+1, and node size+i is page i.
	size   int
	winner []uint32  // None if no page below is in
	until  []float64 // no winner below is overtaken before
}

// NewOverdue returns a roster of n pages of frequency 0.
func NewOverdue(n int) *Overdue {
	o := &Overdue{now: math.Inf(-1)}
	for range n {
		o.last = append(o.last, o.now)
		o.in = append(o.in, true)
	}
	o.x = make([]float64, n)
	o.rebuild(n)
	return o
}

// rebuild lays out a tree for size pages, in O(size).
func (o *Overdue) rebuild(size int) {
	o.size = size
	o.winner = make([]uint32, size)
	o.until = make([]float64, size)
	for k := size - 1; k >= 1; k-- {
		o.play(k)
	}
}

// champion returns the winner at a node and the time until which the subtree stands.
func (o *Overdue) champion(k int) (uint32, float64) {
	if k < o.size {
		return o.winner[k], o.until[k]
	}
	if i := k - o.size; i < len(o.x) && o.in[i] && o.x[i] > 0 {
		return uint32(i), math.Inf(1)
	}
	return None, math.Inf(1)
}

// level is the quantity compared.
func (o *Overdue) level(i uint32) float64 {
	if math.IsInf(o.now, -1) {
		return 0
	}
	return float64((o.now - o.last[i]) * o.x[i])
}

// play lets the champions of a node's children meet at time o.now.
func (o *Overdue) play(k int) {
	a, ua := o.champion(2 * k)
	b, ub := o.champion(2*k + 1)
	until := min(ua, ub)
	switch {
	case b == None:
	case a == None:
		a = b
	default:
		la, lb, faster := o.level(a), o.level(b), o.x[b]-o.x[a]
		if most := max(math.Abs(la), math.Abs(lb)); !(most > leastLevel && most < mostLevel) {
			la, lb, faster = o.scaled(a, b)
		}
		// Of two that are equal the faster one leads from now on, then the first.
		if lb > la || lb == la && (faster > 0 || faster == 0 && b < a) {
			a, la, lb, faster = b, lb, la, -faster
		}
		if faster > 0 {
			until = min(until, o.now+(la-lb)/faster)
		}
	}
	o.winner[k], o.until[k] = a, until
}

// Levels between these have all their digits, and so has their difference. Others are scaled.
const (
	leastLevel = 1e-290
	mostLevel  = 1e300
)

// scaled returns the levels of two pages and how much faster b is, in units of the frequency of
// the faster one: no product overflows, and the greater one does not vanish.
func (o *Overdue) scaled(a, b uint32) (la, lb, faster float64) {
	unit := max(o.x[a], o.x[b])
	xa, xb := o.x[a]/unit, o.x[b]/unit
	if !math.IsInf(o.now, -1) {
		la, lb = float64((o.now-o.last[a])*xa), float64((o.now-o.last[b])*xb)
	}
	return la, lb, xb - xa
}

// advance brings the tree to time now.
func (o *Overdue) advance(now float64) {
	if math.IsInf(o.now, -1) { // the first pick: every page counts as polled just now
		o.now = now
		for i := range o.last {
			if math.IsInf(o.last[i], -1) {
				o.last[i] = now
			}
		}
		o.rebuild(o.size)
	}
	o.now = now
	o.replay(1)
}

func (o *Overdue) replay(k int) {
	// A node whose until has not come has no node below whose until has.
	if k < o.size && o.until[k] <= o.now {
		o.replay(2 * k)
		o.replay(2*k + 1)
		o.play(k)
	}
}

// climb replays all matches of a page.
func (o *Overdue) climb(slot int) {
	for k := (o.size + slot) / 2; k >= 1; k /= 2 {
		o.play(k)
	}
}

// Frequency implements Roster.
func (o *Overdue) Frequency(slot int) float64 { return o.x[slot] }

// Set implements Roster.
func (o *Overdue) Set(slot int, x float64) {
	o.x[slot] = x
	o.climb(slot)
}

// Pick implements Roster.
func (o *Overdue) Pick(now float64) (int, bool) {
	if w, _ := o.champion(1); w == None {
		return 0, false
	}
	o.advance(now)
	w, _ := o.champion(1)
	o.in[w] = false
	o.climb(int(w))
	return int(w), true
}

// Put implements Roster.
func (o *Overdue) Put(slot int, at float64) {
	if slot == len(o.x) {
		o.last, o.x, o.in = append(o.last, at), append(o.x, 0), append(o.in, true)
		if slot >= o.size {
			o.rebuild(slot + 1 + slot/4)
		}
	}
	o.last[slot], o.in[slot] = at, true
	o.climb(slot)
}

// Drop implements Roster.
func (o *Overdue) Drop(slot int) {
	o.in[slot], o.x[slot] = false, 0
	o.climb(slot)
}

// Encode writes the tree too: matches played again later could round to the other side.
func (o *Overdue) Encode(e *codec.Encoder) {
	e.Float64s(o.x)
	e.Float64s(o.last)
	e.Float64(o.now)
	e.Uint32s(o.winner)
	e.Float64s(o.until)
}

func decodeOverdue(d *codec.Decoder, x []float64, in []bool) *Overdue {
	o := &Overdue{x: x, in: in, last: d.Float64sIn(len(x), math.Inf(-1), MostTime)}
	o.now = d.Float64In(math.Inf(-1), MostTime)
	for slot, at := range append(o.last, o.now) {
		d.Require(at >= -MostTime || math.IsInf(o.now, -1), "slot %d was polled at %v, now it is %v", slot, at, o.now)
	}
	o.winner = d.Uint32sIn(codec.AnyLen, None)
	o.size = len(o.winner)
	o.until = d.Float64sIn(o.size, math.Inf(-1), math.Inf(1))
	d.Require(o.size >= len(x), "a tree of %d nodes for %d pages", o.size, len(x))
	if d.Err() != nil {
		return o
	}
	for k := o.size - 1; k >= 1; k-- {
		a, _ := o.champion(2 * k)
		b, _ := o.champion(2*k + 1)
		w := o.winner[k]
		d.Require((w == a || w == b) && (w != None || a == b), "page %d wins at node %d, over %d and %d", w, k, a, b)
	}
	return o
}
