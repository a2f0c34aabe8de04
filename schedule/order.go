package schedule

import (
	"cmp"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
)

// An Order is an order of the list of sites.
type Order uint8

const (
	Given      Order = iota // as numbered
	Reversed                // as numbered, from the last to the first
	Ascending               // by duration, the shortest first
	Descending              // by duration, the longest first
)

// List returns the sites in this order. The duration of a site is the shortest that it has
// on any client. It panics if the order is none of the four.
//
// Time: O(n·m + n log n).
func (p *Problem) List(order Order) []int {
	if err := orderNames.Check(order); err != nil {
		panic(err)
	}
	list := make([]int, p.n)
	for z := range list {
		list[z] = z
	}
	switch order {
	case Reversed:
		slices.Reverse(list)
	case Ascending, Descending:
		key := p.grid.Shortest()
		slices.SortStableFunc(list, func(a, b int) int {
			if order == Descending {
				a, b = b, a
			}
			return cmp.Compare(key[a], key[b])
		})
	}
	return list
}

// RoundRobin deals the sites in the given order, one to each client in turn, whatever they
// take. A baseline: all other plans take durations into account.
func RoundRobin(p *Problem, order Order) Plan {
	plan := make(Plan, p.n)
	for k, z := range p.List(order) {
		plan[z] = k % p.m
	}
	return plan
}

// Pull returns the plan that comes about if each client takes the next site of the list as
// soon as it is free, without asking how long the site will take there: list scheduling. It
// is the round robin that agrees with Table 1 of Pechnikov et al. (2017).
// [NewPullDispatcher] does the same with real clients.
//
// Of clients that are free at the same time, as all may be at the start, the one numbered
// first comes first. With clients of different speed the plan therefore depends on the
// order in which they are given. In descending order of sites it is best if the fastest
// comes first.
//
// Time: O(n log m + n log n), on unrelated clients O(n·m + n log n).
func Pull(p *Problem, order Order) Plan {
	free := make(heap.Heap[freeClient], p.m)
	for j := range free {
		free[j] = freeClient{p.grid.Off[j], j}
	}
	free.Init()
	plan := make(Plan, p.n)
	for _, z := range p.List(order) {
		next := &free[0]
		plan[z] = next.client
		next.time += p.Duration(z, next.client)
		free.Fix(0)
	}
	return plan
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
