package solver

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// KarmarkarKarp is the largest differencing method (Karmarkar and Karp 1982) in its form
// for m sets: two partial partitions whose spreads are largest are merged so that the
// largest set of one joins the smallest of the other, until one is left. On uniform
// clients, or with start times, the set with the largest sum goes to the client that could
// have done most, and so on. It takes O(n log n + n·m log m) and returns ErrKind for
// unrelated clients.
func KarmarkarKarp(p *instance.Instance) []int { return differencing(p, nil) }

// differencing is KarmarkarKarp, or nil if the watch ends.
func differencing(p *instance.Instance, watch *work.Watch) []int {
	next := make([]int32, p.N) // sites of one set are a linked list
	parts := make(heap.Heap[partition], p.N)
	for z := range parts {
		next[z] = -1
		parts[z] = []part{{p.Amount[z], int32(z), int32(z)}}
	}
	parts.Init()
	for len(parts) > 1 {
		if watch.Spend(partSteps * (len(parts[0]) + bits.Len(uint(len(parts))))) {
			return nil
		}
		a := parts.Pop()
		parts[0] = merge(a, parts[0], p.M, next)
		parts.Fix(0)
	}
	// The set sums of the last partition lack what was subtracted; count again.
	sets := parts[0]
	for k := range sets {
		sets[k].sum = 0
		for z := sets[k].first; z >= 0; z = next[z] {
			sets[k].sum += p.Amount[z]
		}
	}
	slices.SortStableFunc(sets, func(a, b part) int { return cmp.Compare(b.sum, a.sum) })
	room := make([]int64, p.M)
	for j := range room {
		room[j] = p.Capacity(j, elementary(p))
	}
	plan := make([]int, p.N)
	for k, j := range instance.Descending(room) {
		if k == len(sets) {
			break
		}
		for z := sets[k].first; z >= 0; z = next[z] {
			plan[z] = j
		}
	}
	return plan
}

// partSteps is what a part costs in a merge, in steps of a watch.
const partSteps = 16

// A part is a set of sites, and its sum above the smallest of its partition.
type part struct {
	sum         int64
	first, last int32
}

// A partition has at most m parts in descending order of sum; the missing ones are empty,
// and so are their sums.
type partition []part

// merge joins the k-th largest part of a with the k-th smallest of b.
func merge(a, b partition, m int, next []int32) partition {
	out := slices.Grow(a[:len(a):len(a)], len(b))
	for k, part := range b {
		at := m - 1 - k
		if at >= len(a) {
			out = append(out, part)
			continue
		}
		out[at].sum += part.sum
		next[out[at].last] = part.first
		out[at].last = part.last
	}
	slices.SortStableFunc(out, func(x, y part) int { return cmp.Compare(y.sum, x.sum) })
	if len(out) == m {
		for k := range out {
			out[k].sum -= out[m-1].sum
		}
	}
	return out
}

// Before orders partitions by spread, the largest first.
func (a partition) Before(b partition) bool { return a[0].sum > b[0].sum }
