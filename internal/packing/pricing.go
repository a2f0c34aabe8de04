package packing

import (
	"sort"

	"github.com/recrawl/recrawl/internal/subsetsum"
)

// pricer finds patterns whose duals sum to more than their cost of 1: a knapsack
// problem bounded by the demand.
type pricer struct {
	kinds   []int32   // those with a demand and a positive dual, by decreasing weight
	shift   int       // weights and rooms are rounded down to multiples of 2^shift
	finer   int       // by how many bits less than usual, because a search gave up
	size    int       // rooms in a row of the table, that of none included
	table   []float64 // table[k·size+r] is the most value of kinds k.. in room r
	couples couples
}

// price returns patterns of value above 1 and the most value of any pattern, or a bound on that;
// ok is false if it found none and gave up, or the watch ended.
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
	p.shift = 0
	if s.c >= tableRooms || !p.affords(s.c) {
		for s.c>>p.shift >= guideRooms<<p.finer || !p.affords(s.c>>p.shift) {
			p.shift++
		}
	}
	if !p.fill(s) {
		return nil, 0, false
	}
	if p.shift > 0 {
		patterns, best, ok = p.search(s)
		if !ok && len(patterns) < s.columnsPerRound {
			patterns = append(patterns, p.couples.find(s, p.kinds, s.rng)...)
		}
		return patterns, best, ok || len(patterns) > 0
	}
	patterns, best = p.read(s)
	return patterns, best, true
}

// refine makes the table tell more rooms apart than where a search gave up, if it may.
func (p *pricer) refine(s *master) bool {
	if p.shift == 0 || !p.affords(s.c>>p.shift<<finerBy) {
		return false
	}
	p.finer += finerBy
	return true
}

// affords reports whether a table of such a capacity is not too large.
func (p *pricer) affords(c int64) bool { return int64(len(p.kinds)+1) <= tableLimit/(c+1) }

// fill computes the table, unless the watch ends. O(Σ_k c·min(d_k, c/w_k)/2^shift).
func (p *pricer) fill(s *master) bool {
	n, c := len(p.kinds), int(s.c>>p.shift)
	size := c + 1
	p.size = size
	if cap(p.table) < (n+1)*size {
		p.table = make([]float64, (n+1)*size)
	}
	p.table = p.table[:(n+1)*size]
	clear(p.table[n*size:])
	for k := n - 1; k >= 0; k-- {
		j := p.kinds[k]
		row, below := p.table[k*size:(k+1)*size], p.table[(k+1)*size:(k+2)*size]
		w, most := s.w[j]>>p.shift, min(s.demand[j], int(s.c/s.w[j]))
		if s.watch.Spend(size * most) {
			return false
		}
		if w > 0 {
			subsetsum.AddCopies(row, below, w, s.dual[j], most)
			continue
		}
		for r, v := range below {
			row[r] = v + float64(float64(most)*s.dual[j])
		}
	}
	return true
}

// more bounds the value of the kinds from position k on in some room. Without rounding it is that value.
func (p *pricer) more(k int, room int64) float64 { return p.table[k*p.size+int(room>>p.shift)] }

// read takes the best pattern with each kind as its heaviest.
func (p *pricer) read(s *master) ([]pattern, float64) {
	size := p.size
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
	size := p.size
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
