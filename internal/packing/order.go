package packing

import "github.com/recrawl/recrawl/internal/work"

// A Ranked is an item in its place in an order, with its weight at hand.
type Ranked struct {
	Weight int64
	Item   int32
}

// Decreasing returns the items in order of decreasing weight, equal ones in order
// of their number: a radix sort over the bytes that are in use, in O(n) for
// weights of a fixed number of bits.
func Decreasing(w []int64) []Ranked {
	order, _ := decreasing(w, nil)
	return order
}

// decreasing is Decreasing, until the watch ends.
func decreasing(w []int64, watch *work.Watch) (order []Ranked, ok bool) {
	n := len(w)
	if watch.Over() {
		return nil, false
	}
	a := make([]Ranked, n)
	var used int64
	if !watch.Chunks(n, 1, func(from, to int) {
		for i, x := range w[from:to] {
			a[from+i] = Ranked{x, int32(from + i)}
			used |= x
		}
	}) {
		return nil, false
	}
	b := make([]Ranked, n)
	const digit = 11
	for shift := 0; shift < 63 && used>>shift != 0; shift += digit {
		if used>>shift&(1<<digit-1) == 0 {
			continue
		}
		var start [1 << digit]int32
		if !watch.Chunks(n, 1, func(from, to int) {
			for i := range a[from:to] {
				start[a[from+i].Weight>>shift&(1<<digit-1)]++
			}
		}) {
			return nil, false
		}
		// The largest digit comes first.
		at := int32(0)
		for d := len(start) - 1; d >= 0; d-- {
			start[d], at = at, at+start[d]
		}
		if !watch.Chunks(n, 2, func(from, to int) {
			for i := range a[from:to] {
				d := a[from+i].Weight >> shift & (1<<digit - 1)
				b[start[d]] = a[from+i]
				start[d]++
			}
		}) {
			return nil, false
		}
		a, b = b, a
	}
	return a, true
}
