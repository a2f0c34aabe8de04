package binpack

import "sort"

// Bounds are lower bounds on the number of bins. With bins of different
// capacities L2 and DFF take all for as large as the largest. Conflicts and pins
// are ignored.
type Bounds struct {
	// L1 = ⌈Σw/C⌉; with different capacities, the fewest bins that could hold the
	// sum.
	L1 int
	// L2 of Martello & Toth (1990): large items fill bins alone, the rest is
	// bounded by its sum; L2 ≥ L1 for bins of one capacity, and at least 2/3·OPT.
	L2 int
	// DFF is the best bound by the dual feasible functions of Fekete & Schepers
	// (2001) and Carlier, Clautiaux & Moukrim (2007), at least L2.
	DFF int
	// Certificate proves DFF to anyone; see CheckBound.
	Certificate Certificate
}

// Best returns the largest of the bounds.
func (b Bounds) Best() int { return max(b.L1, b.L2, b.DFF) }

// A Certificate proves that at least Bound() bins are needed: no set of items
// that fits a bin has more than Max of value in sum, so every bin takes at most
// that much of the total.
type Certificate struct {
	Value []int64 // of each item, u_i ≥ 0
	Max   int64   // U > 0
}

// Bound returns ⌈Σu_i/U⌉, without asking whether the certificate holds.
func (c Certificate) Bound() int {
	sum := int64(0)
	for _, u := range c.Value {
		sum += u
	}
	return ceilDiv(sum, c.Max)
}

func ceilDiv(a, b int64) int {
	q := a / b
	if a%b > 0 {
		q++
	}
	return int(q)
}

// LowerBounds returns bounds on the number of bins, in O(n + m·k) where m is the
// number of different weights and k that of the functions tried, at most 3·512.
//
// For k ≤ C/2 the functions are
//
//	f0(x) = C if x > C−k, 0 if x < k, else x                       U = C
//	h(x)  = 1 if x > C/2, else 0                                   U = 1
//	f1(x) = M(C)−M(C−x) if x > C/2, 1 if k ≤ x ≤ C/2, else 0       U = M(C)
//	f2(x) = 2(⌊C/k⌋−⌊(C−x)/k⌋) if x > C/2, ⌊C/k⌋ if x = C/2,
//	        2⌊x/k⌋ else                                            U = 2⌊C/k⌋
//
// where M(y) is the largest number of items of weight in [k, C/2] that fit y, and
// each gives the bound ⌈Σf(w)/U⌉. Errors are those of the problem.
func LowerBounds[W Weight](p Problem[W]) (Bounds, error) {
	in, err := newInstance(p)
	if err != nil {
		return Bounds{}, err
	}
	return in.bounds(), nil
}

// functionsTried is the most breakpoints k for which f1 and f2 are tried.
const functionsTried = 512

func (in *instance) bounds() Bounds {
	_, c := in.largest()
	d := dff{kinds: newKinds(in.low), c: c}
	b := Bounds{L1: in.l1()}
	d.sums()
	best, bestValue, bestMax := 0, []int64(nil), int64(0)
	try := func(value []int64, most int64) {
		sum := int64(0)
		for j, v := range value {
			sum += v * int64(d.count[j])
		}
		if bound := ceilDiv(sum, most); bestValue == nil || bound > best {
			best, bestValue, bestMax = bound, append(bestValue[:0], value...), most
		}
	}
	value := make([]int64, len(d.w))
	k := d.l2()
	if c > maxTotal/int64(in.n) {
		k = 0 // the value of a large item would be c, and their sum overflow
	}
	d.f0(k, value)
	try(value, c)
	d.half(value)
	try(value, 1)
	b.L2 = max(best, 1)
	ks := d.breakpoints()
	for _, k := range ks {
		if most := d.f1(k, value); most > 0 {
			try(value, most)
		}
		try(value, d.f2(k, value))
	}
	if best < 1 { // all weights are 0: each item has a value of 1, and all fit a bin
		best, bestMax = 1, int64(in.n)
		for j := range bestValue {
			bestValue[j] = 1
		}
	}
	b.DFF = best
	b.Certificate = d.certificate(bestValue, bestMax, in.n)
	return b
}

// certificate hands the value of each kind to its items.
func (k *kinds) certificate(value []int64, most int64, n int) Certificate {
	c := Certificate{Value: make([]int64, n), Max: most}
	for j, items := range k.items {
		for _, i := range items {
			c.Value[i] = value[j]
		}
	}
	return c
}

func (in *instance) l1() int {
	sum := int64(0)
	for _, w := range in.low {
		sum += w
	}
	if in.uniform {
		return max(ceilDiv(sum, in.high[0]), 1)
	}
	caps := append([]int64(nil), in.high...)
	sort.Slice(caps, func(a, b int) bool { return caps[a] > caps[b] })
	bins := 0
	for bins < len(caps) && (sum > 0 || bins == 0) {
		sum -= caps[bins]
		bins++
	}
	return bins
}

// dff evaluates dual feasible functions on kinds of items, by decreasing weight.
type dff struct {
	kinds
	c      int64
	number []int64 // number[j] is the number of items of kinds 0..j−1
	sum    []int64 // and their weight
}

func (d *dff) sums() {
	d.number, d.sum = make([]int64, len(d.w)+1), make([]int64, len(d.w)+1)
	for j := range d.w {
		d.number[j+1] = d.number[j] + int64(d.count[j])
		d.sum[j+1] = d.sum[j] + int64(d.count[j])*d.w[j]
	}
}

// above returns the number of kinds heavier than x.
func (d *dff) above(x int64) int {
	return sort.Search(len(d.w), func(j int) bool { return d.w[j] <= x })
}

// l2 returns the k for which f0 gives the best bound. O(m log m).
func (d *dff) l2() (k int64) {
	bound := 0
	try := func(x int64) {
		large, end := d.above(d.c-x), d.above(x-1)
		if b := int(d.number[large]) + ceilDiv(d.sum[end]-d.sum[large], d.c); b > bound {
			k, bound = x, b
		}
	}
	try(0)
	for j := d.above(d.c / 2); j < len(d.w) && d.w[j] > 0; j++ {
		try(d.w[j])
	}
	return k
}

// half counts the items of which no two share a bin.
func (d *dff) half(value []int64) {
	for j, x := range d.w {
		value[j] = 0
		if x > d.c-x {
			value[j] = 1
		}
	}
}

func (d *dff) f0(k int64, value []int64) {
	for j, x := range d.w {
		switch {
		case x > d.c-k:
			value[j] = d.c
		case x < k:
			value[j] = 0
		default:
			value[j] = x
		}
	}
}

// breakpoints returns the k at which f1 or f2 may change, at most functionsTried
// of them, evenly chosen.
func (d *dff) breakpoints() []int64 {
	var ks []int64
	for _, w := range d.w {
		for _, x := range [...]int64{w, d.c - w} {
			for k := x - 1; k <= x+1; k++ {
				if k > 0 && k <= d.c/2 {
					ks = append(ks, k)
				}
			}
		}
	}
	sort.Slice(ks, func(a, b int) bool { return ks[a] < ks[b] })
	distinct := ks[:0]
	for i, k := range ks {
		if i == 0 || k != ks[i-1] {
			distinct = append(distinct, k)
		}
	}
	if len(distinct) <= functionsTried {
		return distinct
	}
	some := make([]int64, functionsTried)
	for i := range some {
		some[i] = distinct[i*len(distinct)/functionsTried]
	}
	return some
}

// f1 returns U = M(c), 0 if there is no item in [k, c/2].
func (d *dff) f1(k int64, value []int64) int64 {
	from, to := d.above(d.c/2), d.above(k-1)
	// most counts items from the lightest kind in the range upwards.
	most := func(room int64) int64 {
		if room < 0 {
			return 0
		}
		// Kinds j..to−1 fit altogether.
		j := from + sort.Search(to-from, func(x int) bool { return d.sum[to]-d.sum[from+x] <= room })
		n := d.number[to] - d.number[j]
		if j > from {
			n += min((room-(d.sum[to]-d.sum[j]))/d.w[j-1], int64(d.count[j-1]))
		}
		return n
	}
	all := most(d.c)
	for j, x := range d.w {
		switch {
		case j < from:
			value[j] = all - most(d.c-x)
		case j < to:
			value[j] = 1
		default:
			value[j] = 0
		}
	}
	return all
}

// f2 returns U = 2⌊c/k⌋. Values are at most that; where their sum could overflow
// they are all 0.
func (d *dff) f2(k int64, value []int64) int64 {
	q := d.c / k
	if q > maxTotal/2/d.number[len(d.w)] {
		for j := range value {
			value[j] = 0
		}
		return 1
	}
	for j, x := range d.w {
		switch {
		case x > d.c-x:
			value[j] = 2 * (q - (d.c-x)/k)
		case x == d.c-x:
			value[j] = q
		default:
			value[j] = 2 * (x / k)
		}
	}
	return 2 * q
}
