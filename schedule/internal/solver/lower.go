package solver

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/internal/work"
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
	return lowerBound(p, longestFirst(p, nil), nil)
}

// lowerBound is LowerBound where the sites are in descending order and the problem is not large, or
// less than that if the watch ends.
func lowerBound(p *instance.Instance, order []int, watch *work.Watch) float64 {
	lower := elementary(p)
	if p.PerPair {
		lower = leastTime(lower, newCounter(p, watch).excludes)
		return max(lower, newRelaxation(p, watch).root(order, lower, math.Inf(1)).bound)
	}
	return newBounder(p, order, watch).bound(lower)
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
	lower, sum, key := 0.0, int64(0), p.Shortest()
	for z := range p.N {
		best := math.Inf(1)
		for j := range p.M {
			best = min(best, p.Finish(j, p.At(z, j)))
		}
		lower = max(lower, best)
		sum += key[z]
	}
	most := (sum + int64(p.M) - 1) / int64(p.M) // some client has as much or more
	return max(lower, float64(most)*p.Grid)
}

// A bounder tests whether identical or uniform clients can finish by a time. When its watch ends it
// excludes nothing more.
type bounder struct {
	p        *instance.Instance
	watch    *work.Watch
	prefix   []int64 // prefix[k] is the sum of the k largest amounts
	capacity []int64
}

// newBounder takes the sites in descending order of amount.
func newBounder(p *instance.Instance, order []int, watch *work.Watch) *bounder {
	b := &bounder{p: p, watch: watch, prefix: make([]int64, p.N+1), capacity: make([]int64, p.M)}
	watch.Spend(4 * p.N)
	for k, z := range order {
		b.prefix[k+1] = b.prefix[k] + p.Amount[z]
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
		if b.watch.Spend(boundSteps) {
			return false
		}
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
	high := max(twice(low), 0x1p-1000)
	for high < math.MaxFloat64 && excludes(high) { // no test excludes MaxFloat64: all sums are finite
		low, high = high, twice(high)
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

// twice doubles a time, to at most the largest number.
func twice(t float64) float64 { return min(2*t, math.MaxFloat64) }

// boundSteps is what a search among the sites costs, or a capacity, in steps of a watch.
const boundSteps = 16

// capacities computes the capacities in descending order. It is not ok if the watch ends.
func (b *bounder) capacities(t float64) (ok bool) {
	for j := range b.capacity {
		if b.watch.Spend(boundSteps) {
			return false
		}
		b.capacity[j] = b.p.Capacity(j, t)
	}
	b.capacity, ok = work.Sorted(b.capacity, func(x, y int64) int { return cmp.Compare(y, x) }, b.watch)
	return ok
}

func (b *bounder) areaExcludes(t float64) bool {
	if !b.capacities(t) {
		return false
	}
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

// countPerClient is up to how many sites per client the count test looks at, countLimit how many
// clients it looks at over all numbers of sites. TestCountBoundOfManyClients measures what it loses.
const countPerClient, countLimit = 8, 1 << 20

// countExcludes asks whether the h largest sites fit by their number, if every client took the
// smallest of them. It looks at all h up to countPerClient for each client; with more than 362
// clients at some, evenly spaced, c·m + 1 among them: then one client holds c + 1.
func (b *bounder) countExcludes(t float64) bool {
	if !b.capacities(t) {
		return false
	}
	m := b.p.M
	parts := max(1, min(m, countLimit/(countPerClient*m)))
	for i := 0; ; i++ {
		h, room := 1+i*m/parts, 0
		if h > min(b.p.N, countPerClient*m) {
			return false
		}
		for _, c := range b.capacity {
			if b.watch.Spend(boundSteps) {
				return false
			}
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
// can reach hold the total, or low if the watch ends: subset-sum lifting.
func lift(p *instance.Instance, low float64, reach *subsetsum.Reach, watch *work.Watch) float64 {
	t := next(p, instance.Before(low), reach)
	for !math.IsInf(t, 1) && !watch.Spend(2*boundSteps*p.M) {
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
