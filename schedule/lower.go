package schedule

import (
	"cmp"
	"math"
	"slices"
)

// LowerBound returns a time that no plan beats.
//
// On identical and uniform clients it is the least t at which the clients'
// integer capacities K_j (the sizes that client j can do by t), in descending
// order, pass three tests: all of them hold the total size W; for k < m the
// largest k hold the k largest sites; and for h up to 8m the h largest sites
// can be spread over the clients by number, each client being given the
// smallest of them. On identical clients these are max(p₁, ⌈W/m⌉) and the bound
// Σ_{i=0..k} p_{km+1−i}, on uniform ones max over k<m of Σ(k largest)/Σ(k
// fastest). It takes O(n log n + m log m).
//
// On unrelated clients it is the bound of the linear relaxation, found as the
// Lagrangian bound of its machine rows: with prices λ ≥ 0 of sum 1 for the clients, no
// plan is better than Σ_z min_j λ_j d_zj, and the best λ is that of a dual
// solution. The prices come from a simplex method in floating point; the bound
// is evaluated for them with a margin for rounding.
func LowerBound(p *Problem) float64 {
	lower := p.elementary()
	if p.kind == Unrelated {
		lower = max(lower, newRelaxation(p).root(lower, math.Inf(1)).bound)
	} else {
		lower = newBounder(p).bound(lower)
	}
	return max(0, lower-p.rounding)
}

// elementary is the bound that looks at each site alone and at the sum of the
// shortest durations, on the grid.
func (p *Problem) elementary() float64 {
	if p.kind != Unrelated {
		lower, largest := math.Inf(1), slices.Max(p.amount)
		for j := range p.m {
			lower = min(lower, p.finish(j, largest))
		}
		return lower
	}
	lower, sum, key := 0.0, 0.0, p.shortest()
	for z := range p.n {
		best := math.Inf(1)
		for j := range p.m {
			best = min(best, p.finish(j, p.at(z, j)))
		}
		lower = max(lower, best)
		sum += float64(key[z])
	}
	return max(lower, sum*p.grid/float64(p.m)*(1-0x1p-50*float64(p.n)))
}

// A bounder tests whether identical or uniform clients can finish by a time.
type bounder struct {
	p        *Problem
	prefix   []int64 // prefix[k] is the sum of the k largest amounts
	capacity []int64
}

func newBounder(p *Problem) *bounder {
	order := slices.Clone(p.amount)
	slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(b, a) })
	b := &bounder{p: p, prefix: make([]int64, p.n+1), capacity: make([]int64, p.m)}
	for k, w := range order {
		b.prefix[k+1] = b.prefix[k] + w
	}
	return b
}

// bound returns the least time at or above low that no test excludes.
func (b *bounder) bound(low float64) float64 {
	return leastTime(leastTime(low, b.areaExcludes), b.countExcludes)
}

// leastTime returns low if a test does not exclude it, and otherwise the least
// time above it that is not excluded.
func leastTime(low float64, excludes func(float64) bool) float64 {
	if !excludes(low) {
		return low
	}
	high := max(2*low, 0x1p-1000)
	for excludes(high) {
		low, high = high, 2*high
	}
	// Invariant: low is excluded, high is not.
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			return high
		}
		if excludes(mid) {
			low = mid
		} else {
			high = mid
		}
	}
}

func (b *bounder) capacities(t float64) {
	for j := range b.capacity {
		b.capacity[j] = b.p.capacity(j, t)
	}
	slices.SortFunc(b.capacity, func(x, y int64) int { return cmp.Compare(y, x) })
}

func (b *bounder) areaExcludes(t float64) bool {
	b.capacities(t)
	var held int64
	for k, c := range b.capacity {
		// A capacity is at most the total, so that m of them may overflow.
		held += min(c, b.p.total-held)
		if held < b.prefix[min(k+1, b.p.n)] {
			return true
		}
	}
	return held < b.p.total
}

func (b *bounder) countExcludes(t float64) bool {
	b.capacities(t)
	for h := 1; h <= min(b.p.n, 8*b.p.m); h++ {
		room := 0
		for _, c := range b.capacity {
			// The smallest k of the h largest: how many fit into c?
			low, high := 0, h-room
			for low < high {
				k := (low + high + 1) / 2
				if b.prefix[h]-b.prefix[h-k] <= c {
					low = k
				} else {
					high = k - 1
				}
			}
			room += low
			if room >= h || low == 0 {
				break
			}
		}
		if room < h {
			return true
		}
	}
	return false
}

// next returns the smallest time above t at which some client can finish with
// a sum of amounts that is reachable; reach may be nil.
func (p *Problem) next(t float64, reach *sums) float64 {
	best := math.Inf(1)
	for j := range p.m {
		s := p.capacity(j, t) + 1
		if reach != nil {
			s = reach.atLeast(s)
		}
		if s >= 0 && s <= p.total {
			best = min(best, p.finish(j, s))
		}
	}
	return best
}

// lift returns the least time at or above low at which the sums of sites that
// the clients can reach hold the total: subset-sum lifting.
func (p *Problem) lift(low float64, reach *sums) float64 {
	t := p.next(before(low), reach)
	for !math.IsInf(t, 1) {
		var held int64
		for j := range p.m {
			held += min(reach.atMost(p.capacity(j, t)), p.total-held)
		}
		if held == p.total {
			return t
		}
		t = p.next(t, reach)
	}
	return low
}
