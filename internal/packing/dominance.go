package packing

import (
	"cmp"
	"slices"

	"github.com/recrawl/recrawl/internal/work"
)

// dominate drops copies that a best choice does without. Take the items in order of weight, of equal
// ones the most valuable first. If those before an item that have its value or more do not fit
// together with it, a choice that holds the item lacks one of them and may take that instead. This
// ends, because every exchange goes forward in the order. O(m log m) for m kinds, which is what makes
// certificates of 10⁵ items quick to check: of the items above half a bin, few are left.
func (k *knapsack) dominate(c int64) {
	m := len(k.w)
	byValue := make([]int, m)
	for j := range byValue {
		byValue[j] = j
	}
	byValue, ok := work.Sorted(byValue, func(a, b int) int { return cmp.Compare(k.value[b], k.value[a]) }, k.watch)
	if !ok {
		return
	}
	order, ok := work.Sorted(slices.Clone(byValue), func(a, b int) int { return cmp.Compare(k.w[a], k.w[b]) }, k.watch)
	if !ok {
		return
	}
	// rank[j] is the number of kinds of at least the value of kind j.
	rank := make([]int, m)
	for at := m - 1; at >= 0; at-- {
		if k.watch.Spend(4) {
			return
		}
		rank[byValue[at]] = at + 1
		if at < m-1 && k.value[byValue[at]] == k.value[byValue[at+1]] {
			rank[byValue[at]] = rank[byValue[at+1]]
		}
	}
	weight := make([]int64, m+1) // a Fenwick tree over the ranks
	for _, j := range order {
		if k.watch.Spend(16) {
			return
		}
		before := int64(0)
		for at := rank[j]; at > 0; at -= at & -at {
			before += weight[at]
		}
		for at, w := rank[j], k.w[j]*k.count[j]; at <= m; at += at & -at {
			weight[at] += w
		}
		k.count[j] = max(min(k.count[j], (c-before)/k.w[j]), 0)
	}
	n := 0
	for j, count := range k.count {
		if count > 0 {
			k.w[n], k.value[n], k.count[n] = k.w[j], k.value[j], count
			n++
		}
	}
	k.w, k.value, k.count = k.w[:n], k.value[:n], k.count[:n]
}
