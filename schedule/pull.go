package schedule

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
)

// Order is an order of the list of sites.
type Order int

const (
	Given      Order = iota // as numbered
	Reversed                // as numbered, from the last to the first
	Ascending               // by duration, the shortest first
	Descending              // by duration, the longest first
)

func (o Order) String() string {
	return name("Order", int(o), "given", "reversed", "ascending", "descending")
}

// List returns the sites in this order. The duration of a site is the shortest
// that it has on any client. It takes O(n·m + n log n).
func (p *Problem) List(order Order) []int {
	if order < Given || order > Descending {
		panic(fmt.Sprintf("schedule: unknown order %d", order))
	}
	list := make([]int, p.n)
	for z := range list {
		list[z] = z
	}
	switch order {
	case Reversed:
		slices.Reverse(list)
	case Ascending, Descending:
		key := p.shortest()
		slices.SortStableFunc(list, func(a, b int) int {
			if order == Descending {
				a, b = b, a
			}
			return cmp.Compare(key[a], key[b])
		})
	}
	return list
}

// shortest returns for each site the smallest of its amounts.
func (p *Problem) shortest() []int64 {
	if p.kind != Unrelated {
		return p.amount
	}
	key := make([]int64, p.n)
	for z := range key {
		key[z] = slices.Min(p.amounts(z))
	}
	return key
}

// RoundRobin deals the sites in the given order, one to each client in turn,
// whatever they take: the cyclic reading of round robin.
func RoundRobin(p *Problem, order Order) Plan {
	plan := make(Plan, p.n)
	for k, z := range p.List(order) {
		plan[z] = k % p.m
	}
	return plan
}

// Pull lets each client take the next site of the list as soon as it is free,
// without asking how long the site will take there: the reading of round robin
// that agrees with Table 1 of Pechnikov et al. (2017), in scheduling list
// scheduling. Of clients that are free at the same time, as all may be at the
// start, the one numbered first comes first: with clients of different speed
// the plan depends on the order in which they are given, and in descending
// order of sites is best if the fastest comes first. It takes O(n log m + n log n),
// on unrelated clients O(n·m + n log n).
func Pull(p *Problem, order Order) Plan {
	free := make(freeClients, p.m)
	for j := range free {
		free[j] = freeClient{p.off[j], j}
	}
	heap.Init(&free)
	plan := make(Plan, p.n)
	for _, z := range p.List(order) {
		next := &free[0]
		plan[z] = next.client
		next.time += p.Duration(z, next.client)
		heap.Fix(&free, 0)
	}
	return plan
}

// freeClients is a heap of clients by the time at which they are free.
type freeClients []freeClient

type freeClient struct {
	time   float64
	client int
}

func (h freeClients) Len() int      { return len(h) }
func (h freeClients) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h freeClients) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(h[a].time, h[b].time), cmp.Compare(h[a].client, h[b].client)) < 0
}
func (h *freeClients) Push(x any) { *h = append(*h, x.(freeClient)) }
func (h *freeClients) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
