package schedule

import (
	"cmp"
	"math"
	"slices"
)

// EarliestCompletion gives the sites, in the order listed (nil means as
// numbered), each to the client that would finish it first. It takes O(n·m).
func EarliestCompletion(p *Problem, list []int) Plan {
	plan := make(Plan, p.n)
	load := make([]int64, p.m)
	for k := range p.n {
		z := k
		if list != nil {
			z = list[k]
		}
		plan[z] = p.earliest(z, load)
		load[plan[z]] += p.at(z, plan[z])
	}
	return plan
}

// earliest returns the client that finishes site z first.
func (p *Problem) earliest(z int, load []int64) int {
	best, soonest := 0, math.Inf(1)
	if p.kind != Unrelated { // the same without the calls: this is all that LPT does
		a := p.amount[z]
		for j, sum := range load {
			if t := p.off[j] + float64(p.unit[j]*(p.grid*float64(sum+a))); t < soonest {
				best, soonest = j, t
			}
		}
		return best
	}
	for j := range load {
		if t := p.finish(j, load[j]+p.at(z, j)); t < soonest {
			best, soonest = j, t
		}
	}
	return best
}

// LPT is longest processing time first (Graham 1969): earliest completion in
// descending order. On identical clients that are all free at 0 its makespan is at most
// 4/3 − 1/(3m) times the optimum, on uniform ones 1.5773 times (Kovács 2010).
// It takes O(n log n + n·m).
func LPT(p *Problem) Plan { return EarliestCompletion(p, p.List(Descending)) }

// multifitRounds is the number of bisections in Multifit.
const multifitRounds = 40

// Multifit (Coffman, Garey and Johnson 1978) looks by bisection for the
// smallest makespan at which first-fit-decreasing packs all sites into the
// clients' capacities, the client of the smallest capacity first. On identical
// clients that are all free at 0 its makespan is at most 13/11 times the optimum (Yue 1990). It
// never returns a plan worse than that of LPT, from which it starts. It takes
// O(n log n + R·n·m) for at most R = 40 bisections. On unrelated clients the sites are
// taken in descending order of their shortest duration, and the plan has no
// guarantee.
func Multifit(p *Problem) Plan {
	best := LPT(p)
	list := p.List(Descending)
	high, low := p.gridMakespan(best), p.elementary()
	clients, capacity := make([]int, p.m), make([]int64, p.m)
	for j := range clients {
		clients[j] = j
	}
	plan := make(Plan, p.n)
	// Invariant: best has makespan high; first fit failed at low, or low is a
	// lower bound.
	for round := 0; round < multifitRounds && low < high*(1-1e-12); round++ {
		t := low + (high-low)/2
		if round == 0 {
			t = low
		}
		for j := range capacity {
			capacity[j] = p.capacity(j, t)
		}
		slices.SortStableFunc(clients, func(a, b int) int { return cmp.Compare(capacity[a], capacity[b]) })
		if !p.firstFit(list, clients, capacity, plan) {
			low = t
			continue
		}
		best, plan = plan, best
		high = p.gridMakespan(best)
	}
	return best
}

// firstFit puts each site on the first client with room, and reports whether
// all found one. It uses up the capacities.
func (p *Problem) firstFit(list, clients []int, capacity []int64, plan Plan) bool {
next:
	for _, z := range list {
		for _, j := range clients {
			if a := p.at(z, j); a <= capacity[j] {
				capacity[j] -= a
				plan[z] = j
				continue next
			}
		}
		return false
	}
	return true
}

// gridMakespan is the makespan on the solvers' grid.
func (p *Problem) gridMakespan(plan Plan) float64 {
	load := make([]int64, p.m)
	for z, j := range plan {
		load[j] += p.at(z, j)
	}
	last := 0.0
	for j, sum := range load {
		last = max(last, p.finish(j, sum))
	}
	return last
}
