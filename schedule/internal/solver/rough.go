package solver

import (
	"math"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// rough makes a plan in O(n + m), for a search that has no time for a better one.
//
// On identical and uniform clients, one client after the other is given sites in the order of their
// numbers, up to twice a lower bound on the makespan: the mean over the clients, or the largest site
// on its own. The client that would do all sites first comes last and does what is left. On identical
// clients that are free at 0 nothing is: a client has no room for the next site only if more than half
// of that time is used, and the sites do not fill half of it on every client. On unrelated clients
// it is the plan that comes with the instance, where every site is where it ends first.
func rough(p *instance.Instance) []int {
	if p.PerPair {
		return p.Greedy()
	}
	last, soonest, speed := 0, math.Inf(1), 0.0
	for j, u := range p.Unit {
		if t := p.Finish(j, p.Total); t < soonest {
			last, soonest = j, t
		}
		speed += 1 / (u * p.Grid)
	}
	until := 2 * max(elementary(p), float64(p.Total)/speed)
	plan := make([]int, p.N)
	j := -1
	room := int64(-1)
	for z, a := range p.Amount {
		for room < a {
			if j++; j == last {
				j++
			}
			if j >= p.M {
				j, room = last, math.MaxInt64
				break
			}
			room = p.Capacity(j, until)
		}
		room -= a
		plan[z] = j
	}
	return plan
}
