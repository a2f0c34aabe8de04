package packing

// A Ranked is an item in its place in an order, with its weight at hand.
type Ranked struct {
	Weight int64
	Item   int32
}

// Decreasing returns the items in order of decreasing weight, equal ones in order
// of their number: a radix sort over the bytes that are in use, in O(n) for
// weights of a fixed number of bits.
func Decreasing(w []int64) []Ranked {
	n := len(w)
	a, b := make([]Ranked, n), make([]Ranked, n)
	var used int64
	for i, x := range w {
		a[i] = Ranked{x, int32(i)}
		used |= x
	}
	const digit = 11
	for shift := 0; shift < 63 && used>>shift != 0; shift += digit {
		if used>>shift&(1<<digit-1) == 0 {
			continue
		}
		var start [1 << digit]int32
		for i := range a {
			start[a[i].Weight>>shift&(1<<digit-1)]++
		}
		// The largest digit comes first.
		at := int32(0)
		for d := len(start) - 1; d >= 0; d-- {
			start[d], at = at, at+start[d]
		}
		for i := range a {
			d := a[i].Weight >> shift & (1<<digit - 1)
			b[start[d]] = a[i]
			start[d]++
		}
		a, b = b, a
	}
	return a
}
