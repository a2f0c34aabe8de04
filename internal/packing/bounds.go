package packing

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/work"
)

// Bounds are lower bounds on the number of bins. L1 and L2 ignore conflicts and pins, and L2 takes all
// bins for as large as the largest.
type Bounds struct {
	L1  int // the sum of the weights
	L2  int // of Martello & Toth (1990)
	DFF int // by the certificate, at least L2
	Certificate
}

// Best returns the largest of the bounds.
func (b Bounds) Best() int { return max(b.L1, b.L2, b.DFF) }

const (
	// functionsTried is the most breakpoints k for which f1 and f2 are tried, and functionsWork the
	// most of them times the different weights: a second or two.
	functionsTried = 512
	functionsWork  = 1 << 24
	// breakpointKinds is the most different weights that breakpoints are taken from.
	breakpointKinds = 1 << 13
)

// Bounds returns bounds on the number of bins, in O(n + bins + conflicts + m·k·log m), where m is the
// number of different weights and k that of the functions tried, at most 2·functionsTried, and some
// millions of steps. The functions are described in package binpack.
func (in *Problem) Bounds() Bounds {
	return in.hastyBounds(nil)
}

// hastyBounds is Bounds, or fewer of them once the watch ends.
func (in *Problem) hastyBounds(watch *work.Watch) Bounds {
	k, ok := kinds{}, false
	if order, sorted := decreasing(in.low(), watch); sorted {
		k, ok = kindsOf(order, watch)
	}
	if !ok {
		c := in.bySum()
		return Bounds{L1: c.Bound(), L2: c.Bound(), DFF: in.needs(c, watch), Certificate: c}
	}
	b := newBounder(in, k, watch)
	b.quick()
	b.functions()
	all := b.bounds()
	all.raise(in, watch)
	return all
}

// bounder tries functions and keeps the best. When its watch ends, it has tried fewer.
type bounder struct {
	in *Problem
	dff
	best  int
	byL2  int     // what quick found
	value []int64 // of the best function, by kind
	most  int64   // that a bin can have of it
	next  []int64 // of the present one
	watch *work.Watch
}

func newBounder(in *Problem, low kinds, watch *work.Watch) *bounder {
	b := &bounder{in: in, dff: dff{kinds: low, c: slices.Max(in.high())}, next: make([]int64, len(low.w)), watch: watch}
	b.sums()
	return b
}

// try takes the present function if it is the best.
func (b *bounder) try(most int64) {
	sum := int64(0)
	for j, v := range b.next {
		sum += v * int64(b.count[j])
	}
	if bound := ceilDiv(sum, most); b.value == nil || bound > b.best {
		b.best, b.value, b.most = bound, append(b.value[:0], b.next...), most
	}
}

// quick tries the functions of L2. O(m log m).
func (b *bounder) quick() {
	k := b.l2(b.watch)
	if b.c > MaxTotal/int64(len(b.in.Weights)) {
		k = 0 // the value of a large item would be c, and their sum overflow
	}
	b.f0(k, b.next)
	b.try(b.c)
	if !b.watch.Over() {
		b.half(b.next)
		b.try(1)
	}
	b.byL2 = b.lower()
}

// functionSteps is what a kind costs f1, in steps of a watch.
func functionSteps(kinds int) int { return 2 + bits.Len(uint(kinds)) }

// cheap reports whether functions takes no longer than a heuristic, as it does where many items are
// of few kinds.
func (b *bounder) cheap() bool {
	m := len(b.w)
	return min(functionsTried, 6*m)*m*(functionSteps(m)+4) <= bestFitSteps*len(b.in.Weights)
}

// functions tries f1 and f2 at the breakpoints.
func (b *bounder) functions() {
	if b.watch.Over() {
		return
	}
	steps := functionSteps(len(b.w))
	for _, k := range b.breakpoints() {
		if b.watch.Spend(len(b.w)) {
			return
		}
		if most, ok := b.f1(k, b.next, b.watch, steps); !ok {
			return
		} else if most > 0 {
			b.try(most)
		}
		most, ok := b.f2(k, b.next, b.watch)
		if !ok {
			return
		}
		b.try(most)
	}
}

// lower returns the bound so far.
func (b *bounder) lower() int { return max(b.best, 1) }

// proof returns a certificate of that bound: that of the sum where it is one and the watch has ended,
// as to hand out values takes longer.
func (b *bounder) proof() Certificate {
	n := len(b.in.Weights)
	if b.watch.Over() {
		if c := b.in.bySum(); c.Bound() >= b.lower() {
			return c
		}
	}
	if b.best < 1 { // all weights are 0: each item has a value of 1, and all fit a bin
		b.most = int64(n)
		for j := range b.value {
			b.value[j] = 1
		}
	}
	return b.certificate(b.value, b.most, n)
}

// bounds tries nothing more and returns what there is.
func (b *bounder) bounds() Bounds {
	return Bounds{L1: b.in.l1(b.watch), L2: b.byL2, DFF: b.lower(), Certificate: b.proof()}
}

// certificate hands the value of each kind to its items.
func (k *kinds) certificate(value []int64, most int64, n int) Certificate {
	c := Certificate{Value: make([]int64, n), Max: most}
	for j := range k.w {
		for _, i := range k.items(j) {
			c.Value[i] = value[j]
		}
	}
	return c
}

// l1 is the bound by the sum of the weights, 1 if the watch ends before.
func (in *Problem) l1(watch *work.Watch) int {
	sum := int64(0)
	for _, w := range in.low() {
		sum += w
	}
	if in.Uniform {
		return max(ceilDiv(sum, in.high()[0]), 1)
	}
	caps, ok := decreasing(in.high(), watch)
	if !ok {
		return 1
	}
	bins := 0
	for bins < len(caps) && (sum > 0 || bins == 0) {
		sum -= caps[bins].Weight
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

// l2 returns the k for which f0 gives the best bound, of those tried before the watch ends.
// O(m log m).
func (d *dff) l2(watch *work.Watch) (k int64) {
	bound := 0
	try := func(x int64) {
		large, end := d.above(d.c-x), d.above(x-1)
		if b := int(d.number[large]) + ceilDiv(d.sum[end]-d.sum[large], d.c); b > bound {
			k, bound = x, b
		}
	}
	try(0)
	steps := 2 * bits.Len(uint(len(d.w)))
	for j := d.above(d.c / 2); j < len(d.w) && d.w[j] > 0 && !watch.Spend(steps); j++ {
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
	every := (len(d.w)-1)/breakpointKinds + 1
	for j := 0; j < len(d.w); j += every {
		w := d.w[j]
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
	tried := min(functionsTried, functionsWork/len(d.w))
	if len(distinct) <= tried {
		return distinct
	}
	some := make([]int64, tried)
	for i := range some {
		some[i] = distinct[i*len(distinct)/tried]
	}
	return some
}

// f1 returns U = M(c), 0 if there is no item in [k, c/2]. It is not ok if the watch ends; a kind
// takes so many steps.
func (d *dff) f1(k int64, value []int64, watch *work.Watch, steps int) (u int64, ok bool) {
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
	ok = watch.Chunks(len(d.w), steps, func(a, b int) {
		for j := a; j < b; j++ {
			switch {
			case j < from:
				value[j] = all - most(d.c-d.w[j])
			case j < to:
				value[j] = 1
			default:
				value[j] = 0
			}
		}
	})
	return all, ok
}

// f2 returns U = 2⌊c/k⌋. Values are at most that; where their sum could overflow
// they are all 0. It is not ok if the watch ends.
func (d *dff) f2(k int64, value []int64, watch *work.Watch) (u int64, ok bool) {
	q := d.c / k
	if q > MaxTotal/2/d.number[len(d.w)] {
		for j := range value {
			value[j] = 0
		}
		return 1, true
	}
	ok = watch.Chunks(len(d.w), 4, func(from, to int) {
		for j := from; j < to; j++ {
			switch x := d.w[j]; {
			case x > d.c-x:
				value[j] = 2 * (q - (d.c-x)/k)
			case x == d.c-x:
				value[j] = q
			default:
				value[j] = 2 * (x / k)
			}
		}
	})
	return 2 * q, ok
}
