package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// LongestFirst returns the sites in descending order of duration, for [Pull] and
// [NewPullDispatcher]. The duration of a site is the shortest that it has on any client.
//
// Time: O(n·m + n log n).
func (p *Problem) LongestFirst() []int {
	key, list := p.made().grid.Shortest(), p.numbered()
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(key[b], key[a]) })
	return list
}

// numbered returns the sites in the order of their numbers.
func (p *Problem) numbered() []int {
	list := make([]int, p.n)
	for z := range list {
		list[z] = z
	}
	return list
}

// checkList returns the list, or for nil the sites in the order of their numbers.
func (p *Problem) checkList(list []int) ([]int, error) {
	p.made()
	if list == nil {
		return p.numbered(), nil
	}
	if len(list) != p.n {
		return nil, fmt.Errorf("%w: a list of %d sites, want %d", ErrPlan, len(list), p.n)
	}
	seen := make([]bool, p.n)
	for k, z := range list {
		if z < 0 || z >= p.n || seen[z] {
			return nil, fmt.Errorf("%w: entry %d of the list is site %d", ErrPlan, k, z)
		}
		seen[z] = true
	}
	return list, nil
}

// RoundRobin deals the sites of a list, one to each client in turn, whatever they take. It is a
// baseline: all other plans take durations into account. The list must name every site once; nil
// stands for the sites in the order of their numbers. The error is ErrPlan for another list, and
// also if a site comes to a client that cannot do it.
func RoundRobin(p *Problem, list []int) (Plan, error) {
	list, err := p.checkList(list)
	if err != nil {
		return nil, err
	}
	plan := make(Plan, p.n)
	for k, z := range list {
		plan[z] = k % p.m
	}
	if err := p.Check(plan); err != nil {
		return nil, err
	}
	return plan, nil
}

// Pull returns the plan of list scheduling: each client takes the next site of the list as soon as
// it is free, without asking how long the site will take there. Pechnikov et al. (2017) must mean
// this by round robin, and not [RoundRobin]: in their Table 1 a reversed list takes 1.8 times as
// long, and their clients differ by less. [NewPullDispatcher] does the same with real clients. The
// list is as for [RoundRobin].
//
// If several clients are free at the same time, as at the start, the one with the lowest number
// comes first. So with clients of different speed the plan depends on their order. With
// [Problem.LongestFirst] it is best to number the fastest client first.
//
// Time: O(log m) for each site. O(m) for a site that the first free client cannot do.
func Pull(p *Problem, list []int) (Plan, error) {
	list, err := p.checkList(list)
	if err != nil {
		return nil, err
	}
	free := make(heap.Heap[freeClient], p.m)
	for j := range free {
		free[j] = freeClient{p.grid.Off[j], j}
	}
	free.Init()
	plan := make(Plan, p.n)
	for _, z := range list {
		at := 0
		if math.IsInf(p.Duration(z, free[0].client), 1) { // take the first client that can do it
			at = -1
			for k := range free {
				if !math.IsInf(p.Duration(z, free[k].client), 1) && (at < 0 || free[k].Before(free[at])) {
					at = k
				}
			}
		}
		next := &free[at]
		plan[z] = next.client
		next.time += p.Duration(z, next.client)
		free.Fix(at)
	}
	return plan, nil
}

// A freeClient is a client and the time at which it is free.
type freeClient struct {
	time   float64
	client int
}

// Before orders clients by that time, equal ones by number.
func (c freeClient) Before(o freeClient) bool {
	return cmp.Or(cmp.Compare(c.time, o.time), cmp.Compare(c.client, o.client)) < 0
}
