package packing

import (
	"cmp"
	"slices"
	"sort"
)

// Bounds are lower bounds on the number of bins. With bins of different capacities L2 and
// DFF take all for as large as the largest. Conflicts and pins are ignored.
type Bounds struct {
	L1  int // the sum of the weights
	L2  int // of Martello & Toth (1990)
	DFF int // the best dual feasible function, at least L2
	Certificate
}

// Best returns the largest of the bounds.
func (b Bounds) Best() int { return max(b.L1, b.L2, b.DFF) }

// functionsTried is the most breakpoints k for which f1 and f2 are tried.
const functionsTried = 512

// Bounds returns bounds on the number of bins, in O(n + m·k) where m is the number of
// different weights and k that of the functions tried, at most 3·512. The functions are
// described in package binpack.
func (in *Problem) Bounds() Bounds {
	c := slices.Max(in.high())
	d := dff{kinds: newKinds(in.low()), c: c}
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
	if c > MaxTotal/int64(len(in.Weights)) {
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
		best, bestMax = 1, int64(len(in.Weights))
		for j := range bestValue {
			bestValue[j] = 1
		}
	}
	b.DFF = best
	b.Certificate = d.certificate(bestValue, bestMax, len(in.Weights))
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

func (in *Problem) l1() int {
	sum := int64(0)
	for _, w := range in.low() {
		sum += w
	}
	if in.Uniform {
		return max(ceilDiv(sum, in.high()[0]), 1)
	}
	caps := slices.Clone(in.high())
	slices.SortFunc(caps, func(a, b int64) int { return cmp.Compare(b, a) })
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
	slices.Sort(ks)
	distinct := slices.Compact(ks)
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
	if q > MaxTotal/2/d.number[len(d.w)] {
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
