package packing

import (
	"math"
	"sort"

	"github.com/recrawl/recrawl/internal/subsetsum"
)

// pricer finds patterns whose duals sum to more than their cost of 1: a knapsack
// problem bounded by the demand.
type pricer struct {
	kinds []int32   // those with a demand and a positive dual, by decreasing weight
	table []float64 // table[k·(c+1)+r] is the most value of kinds k.. in room r
	order []int32   // by value per weight, for the search
	nodes int
}

// price returns patterns of value above 1, the best first, and the most value of
// any pattern; ok is false if it gave up, or the watch ended.
func (p *pricer) price(s *master) (patterns []pattern, best float64, ok bool) {
	p.kinds = p.kinds[:0]
	for j := range s.m {
		if s.demand[j] > 0 && s.dual[j] > tiny {
			p.kinds = append(p.kinds, int32(j))
		}
	}
	if len(p.kinds) == 0 {
		return nil, 0, true
	}
	if int64(len(p.kinds)+1) <= tableLimit/(s.c+1) {
		if !p.fill(s) {
			return nil, 0, false
		}
		patterns, best = p.read(s)
		return patterns, best, true
	}
	return p.search(s)
}

// fill computes the table, unless the watch ends. O(Σ_k c·min(d_k, c/w_k)).
func (p *pricer) fill(s *master) bool {
	n, c := len(p.kinds), int(s.c)
	size := c + 1
	if cap(p.table) < (n+1)*size {
		p.table = make([]float64, (n+1)*size)
	}
	p.table = p.table[:(n+1)*size]
	clear(p.table[n*size:])
	for k := n - 1; k >= 0; k-- {
		j := p.kinds[k]
		row, below := p.table[k*size:(k+1)*size], p.table[(k+1)*size:(k+2)*size]
		if s.watch.Spend(size * min(s.demand[j], c/int(s.w[j]))) {
			return false
		}
		subsetsum.AddCopies(row, below, s.w[j], s.dual[j], s.demand[j])
	}
	return true
}

// read takes the best pattern with each kind as its heaviest.
func (p *pricer) read(s *master) ([]pattern, float64) {
	size := int(s.c) + 1
	type start struct {
		k, t  int
		value float64
	}
	var starts []start
	for k, j := range p.kinds {
		w, v := int(s.w[j]), s.dual[j]
		b := start{k: k}
		for t := 1; t <= s.demand[j] && t*w <= int(s.c); t++ {
			if x := float64(float64(t)*v) + p.table[(k+1)*size+int(s.c)-t*w]; x > b.value {
				b.t, b.value = t, x
			}
		}
		if b.value > 1+epsilon/10 {
			starts = append(starts, b)
		}
	}
	sort.SliceStable(starts, func(a, b int) bool { return starts[a].value > starts[b].value })
	var patterns []pattern
	for _, b := range starts[:min(len(starts), s.columnsPerRound)] {
		patterns = append(patterns, p.trace(s, b.k, b.t))
	}
	return patterns, p.table[size-1]
}

// trace follows the table from t items of the kind at position k.
func (p *pricer) trace(s *master, k, t int) pattern {
	size := int(s.c) + 1
	room := int(s.c)
	var pat pattern
	for {
		j := p.kinds[k]
		if t > 0 {
			pat = append(pat, entry{j, int32(t)})
			room -= t * int(s.w[j])
		}
		if k++; k == len(p.kinds) {
			return pat
		}
		j = p.kinds[k]
		w, v := int(s.w[j]), s.dual[j]
		t = 0
		best := p.table[(k+1)*size+room]
		for n := 1; n <= s.demand[j] && n*w <= room; n++ {
			if x := float64(float64(n)*v) + p.table[(k+1)*size+room-n*w]; x > best {
				t, best = n, x
			}
		}
	}
}

// search is a depth-first branch and bound for capacities too large for a table.
func (p *pricer) search(s *master) (patterns []pattern, best float64, ok bool) {
	p.order = append(p.order[:0], p.kinds...)
	sort.SliceStable(p.order, func(a, b int) bool {
		i, j := p.order[a], p.order[b]
		return s.dual[i]*float64(s.w[j]) > s.dual[j]*float64(s.w[i])
	})
	p.nodes = pricingNodes
	best = 1
	var path, found pattern
	p.branch(s, 0, s.c, 0, path, func(value float64, path pattern) {
		best = value
		found = append(pattern(nil), path...)
		sort.Slice(found, func(a, b int) bool { return found[a].kind < found[b].kind })
		patterns = append([]pattern{found}, patterns...)
	}, &best)
	patterns = patterns[:min(len(patterns), s.columnsPerRound)]
	if p.nodes <= 0 { // the patterns serve, but there is no bound
		return patterns, math.Inf(1), len(patterns) > 0
	}
	return patterns, best, true
}

func (p *pricer) branch(s *master, k int, room int64, value float64, path pattern, found func(float64, pattern), best *float64) {
	if value > *best+epsilon/10 {
		found(value, path)
	}
	for ; k < len(p.order); k++ {
		j := p.order[k]
		if value+float64(room)*s.dual[j]/float64(s.w[j]) <= *best+epsilon/10 {
			return
		}
		if p.nodes--; p.nodes <= 0 || s.watch.Spend(8) {
			p.nodes = 0
			return
		}
		for t := min(int64(s.demand[j]), room/s.w[j]); t > 0; t-- {
			p.branch(s, k+1, room-t*s.w[j], value+float64(float64(t)*s.dual[j]), append(path, entry{j, int32(t)}), found, best)
		}
	}
}
