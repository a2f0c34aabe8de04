package solver

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// LowerBound returns a time that no plan beats on the grid: [bounder.bound] on identical
// and uniform clients, the bound of the linear relaxation on unrelated ones.
func LowerBound(p *instance.Instance) float64 {
	if large(p) {
		x := newSearch(context.Background(), p, nil, Config{Steps: math.MaxInt64})
		x.value = math.MaxFloat64
		newPricing(x).bound(4*pricePasses, firstRate)
		return x.lower
	}
	lower := elementary(p)
	if p.PerPair {
		lower = leastTime(lower, newCounter(p).excludes)
		return max(lower, newRelaxation(p).root(lower, math.Inf(1)).bound)
	}
	return newBounder(p).bound(lower)
}

// elementary is the bound that looks at each site alone and at the sum of the shortest
// durations, on the grid.
func elementary(p *instance.Instance) float64 {
	if !p.PerPair {
		lower, largest := math.Inf(1), slices.Max(p.Amount)
		for j := range p.M {
			lower = min(lower, p.Finish(j, largest))
		}
		return lower
	}
	lower, sum, key := 0.0, 0.0, p.Shortest()
	for z := range p.N {
		best := math.Inf(1)
		for j := range p.M {
			best = min(best, p.Finish(j, p.At(z, j)))
		}
		lower = max(lower, best)
		sum += float64(key[z])
	}
	return max(lower, sum*p.Grid/float64(p.M)*(1-float64(0x1p-50*float64(p.N))))
}

// A bounder tests whether identical or uniform clients can finish by a time.
type bounder struct {
	p        *instance.Instance
	prefix   []int64 // prefix[k] is the sum of the k largest amounts
	capacity []int64
}

func newBounder(p *instance.Instance) *bounder {
	order := slices.Clone(p.Amount)
	slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(b, a) })
	b := &bounder{p: p, prefix: make([]int64, p.N+1), capacity: make([]int64, p.M)}
	for k, w := range order {
		b.prefix[k+1] = b.prefix[k] + w
	}
	return b
}

// bound returns the least time at or above low that no test excludes.
func (b *bounder) bound(low float64) float64 {
	low = leastTime(leastTime(low, b.areaExcludes), b.countExcludes)
	if identical(b.p) {
		low = leastTime(low, b.crowdExcludes)
	}
	return low
}

// identical reports whether all clients are alike.
func identical(p *instance.Instance) bool {
	for j := range p.M {
		if p.Unit[j] != p.Unit[0] || p.Off[j] != p.Off[0] {
			return false
		}
	}
	return !p.PerPair
}

// crowdLimit is the most sites of which the crowd test looks at the largest.
const crowdLimit = 4096

// crowdExcludes looks at the h largest sites, on identical clients. If a client holds at most c of
// them, at least k = h − m·(c−1) clients hold c, and these need the room of the k·c smallest.
func (b *bounder) crowdExcludes(t float64) bool {
	capacity, m := b.p.Capacity(0, t), b.p.M
	for h := m + 1; h <= min(b.p.N, crowdLimit); h++ {
		// The most of the smallest of the h largest that fit.
		c := sort.Search(h, func(n int) bool { return b.prefix[h]-b.prefix[h-n-1] > capacity })
		k := h - m*(c-1)
		if k <= 0 {
			continue
		}
		if k > m {
			return true // not all of them can be held
		}
		if need := b.prefix[h] - b.prefix[h-k*c]; capacity < (need+int64(k)-1)/int64(k) {
			return true
		}
	}
	return false
}

// leastTime returns low if a test does not exclude it, and otherwise the least time above
// it that is not excluded.
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
		mid := low + float64((high-low)/2)
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
		b.capacity[j] = b.p.Capacity(j, t)
	}
	slices.SortFunc(b.capacity, func(x, y int64) int { return cmp.Compare(y, x) })
}

func (b *bounder) areaExcludes(t float64) bool {
	b.capacities(t)
	var held int64
	for k, c := range b.capacity {
		// A capacity is at most the total, so that m of them may overflow.
		held += min(c, b.p.Total-held)
		if held < b.prefix[min(k+1, b.p.N)] {
			return true
		}
	}
	return held < b.p.Total
}

func (b *bounder) countExcludes(t float64) bool {
	b.capacities(t)
	for h := 1; h <= min(b.p.N, 8*b.p.M); h++ {
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

// next returns the smallest time above t at which some client can finish with a sum of
// amounts that is reachable; reach may be nil.
func next(p *instance.Instance, t float64, reach *subsetsum.Reach) float64 {
	best := math.Inf(1)
	for j := range p.M {
		s := p.Capacity(j, t) + 1
		if reach != nil {
			s = reach.AtLeast(s)
		}
		if s >= 0 && s <= p.Total {
			best = min(best, p.Finish(j, s))
		}
	}
	return best
}

// lift returns the least time at or above low at which the sums of sites that the clients
// can reach hold the total: subset-sum lifting.
func lift(p *instance.Instance, low float64, reach *subsetsum.Reach) float64 {
	t := next(p, instance.Before(low), reach)
	for !math.IsInf(t, 1) {
		var held int64
		for j := range p.M {
			held += min(reach.AtMost(p.Capacity(j, t)), p.Total-held)
		}
		if held == p.Total {
			return t
		}
		t = next(p, t, reach)
	}
	return low
}
