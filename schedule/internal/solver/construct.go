package solver

import (
	"cmp"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// EarliestCompletion gives the sites, in the order listed (nil means as numbered), each to
// the client that would finish it first. It takes O(n·m).
func EarliestCompletion(p *instance.Instance, list []int) []int {
	return earliestCompletion(p, list, nil)
}

// earliestCompletion returns nil if the watch ends.
func earliestCompletion(p *instance.Instance, list []int, watch *work.Watch) []int {
	plan := make([]int, p.N)
	load := make([]int64, p.M)
	for k := range p.N {
		z := k
		if list != nil {
			z = list[k]
		}
		if watch.Spend(p.M) {
			return nil
		}
		plan[z] = p.Earliest(z, load)
		load[plan[z]] += p.At(z, plan[z])
	}
	return plan
}

// LPT is longest processing time first (Graham 1969): earliest completion in descending
// order. On identical clients that are all free at 0 its makespan is at most 4/3 − 1/(3m)
// times the optimum, on uniform ones 1.5773 times (Kovács 2010). It takes O(n log n + n·m).
func LPT(p *instance.Instance) []int {
	plan, _ := lpt(p, longestFirst(p, nil))
	return plan
}

// lpt returns the plan of LPT, and an instance that tells plans apart that end as late: on unrelated
// clients it may end after Most. Most grows at least twofold in each round, so it ends.
func lpt(p *instance.Instance, list []int) ([]int, *instance.Instance) {
	for {
		plan := EarliestCompletion(p, list)
		t := p.Makespan(plan)
		if p.Tells(t) {
			return plan, p
		}
		p = p.Reaching(t)
	}
}

// longestFirst returns the sites in descending order of their shortest amount, equal ones in
// ascending order of number; nil if the watch ends.
func longestFirst(p *instance.Instance, watch *work.Watch) []int {
	type site struct {
		amount int64
		number int
	}
	sites := make([]site, p.N)
	for z := range sites {
		if watch.Spend(1 + p.N*p.M/len(sites)) {
			return nil
		}
		sites[z] = site{p.Least(z), z}
	}
	sites, ok := work.Sorted(sites, func(a, b site) int { return cmp.Compare(b.amount, a.amount) }, watch)
	if !ok {
		return nil
	}
	order := make([]int, p.N)
	for k, s := range sites {
		order[k] = s.number
	}
	return order
}

// Multifit (Coffman, Garey and Johnson 1978) looks by bisection for the smallest makespan
// at which first-fit-decreasing packs all sites into the clients' capacities, the client of
// the smallest capacity first. On identical clients that are all free at 0 its makespan is
// at most 13/11 times the optimum (Yue 1990). It never returns a plan worse than that of
// LPT, from which it starts. It takes O(n log n + R·n·m) for at most R = 40 bisections. On
// unrelated clients the sites are taken in descending order of their shortest duration, and
// the plan has no guarantee.
func Multifit(p *instance.Instance) []int {
	list := longestFirst(p, nil)
	best, p := lpt(p, list)
	return multifit(p, list, best, nil)
}

// multifit starts from the plan of LPT, and returns the best so far if the watch ends.
func multifit(p *instance.Instance, list, best []int, watch *work.Watch) []int {
	high, low := p.Makespan(best), elementary(p)
	clients, capacity := make([]int, p.M), make([]int64, p.M)
	for j := range clients {
		clients[j] = j
	}
	plan := make([]int, p.N)
	// Invariant: best has makespan high; first fit failed at low, or low is a lower bound.
	for round := 0; round < multifitRounds && low < high*(1-multifitGap) && !watch.Over(); round++ {
		t := low + float64((high-low)/2)
		if round == 0 {
			t = low
		}
		for j := range capacity {
			capacity[j] = p.Capacity(j, t)
		}
		slices.SortStableFunc(clients, func(a, b int) int { return cmp.Compare(capacity[a], capacity[b]) })
		if !firstFit(p, list, clients, capacity, plan, watch) {
			low = t
			continue
		}
		best, plan = plan, best
		high = p.Makespan(best)
	}
	return best
}

// firstFit puts each site on the first client with room, and reports whether all found one before
// the watch ended. It uses up the capacities.
func firstFit(p *instance.Instance, list, clients []int, capacity []int64, plan []int, watch *work.Watch) bool {
next:
	for _, z := range list {
		for k, j := range clients {
			if a := p.At(z, j); a <= capacity[j] {
				capacity[j] -= a
				plan[z] = j
				if watch.Spend(1 + k) {
					return false
				}
				continue next
			}
		}
		return false
	}
	return true
}
