package packing

import (
	"cmp"
	"math/bits"

	"github.com/recrawl/recrawl/internal/subsetsum"
	"github.com/recrawl/recrawl/internal/work"
)

// bestKnapsack returns the most value that fits into capacity c, given count[j]
// copies of weight w[j] and value value[j] ≥ 0: exactly, or ok is false because
// it would take more than about so many steps or the watch ended. It does not search below the
// value known, and returns that if there is nothing better. To sort the kinds is not counted.
func bestKnapsack(w, value []int64, count []int, c, known int64, steps int, watch *work.Watch) (best int64, ok bool) {
	k := knapsack{w: make([]int64, 0, len(w)), value: make([]int64, 0, len(w)), count: make([]int64, 0, len(w)),
		best: known, nodes: steps / knapsackNode, watch: watch}
	var free int64 // value of what weighs nothing
	for j := range w {
		switch {
		case value[j] == 0 || w[j] > c:
		case w[j] == 0:
			free += value[j] * int64(count[j])
		default:
			k.w, k.value = append(k.w, w[j]), append(k.value, value[j])
			k.count = append(k.count, min(int64(count[j]), c/w[j]))
		}
	}
	k.best -= free
	if k.best < 0 {
		k.best = 0
	}
	pieces := int64(0)
	for _, n := range k.count {
		pieces += int64(bits.Len64(uint64(n)))
	}
	if pieces == 0 {
		return max(known, free), true
	}
	if c < int64(steps)/pieces {
		return max(known, free+k.dense(c)), !watch.Over()
	}
	if k.dominate(c); !k.sort() {
		return max(known, free), false
	}
	k.branch(0, c, 0)
	return max(known, free+k.best), k.nodes >= 0
}

// knapsackNode is what a node of the search costs, in steps of a watch.
const knapsackNode = 8

// sortKnapsack is what bestKnapsack takes to sort kinds, in steps of a watch.
func sortKnapsack(kinds int) int {
	return kinds * (3*work.Comparison*bits.Len(uint(kinds)) + 20)
}

// knapsack is a bounded knapsack problem.
type knapsack struct {
	w, value, count []int64
	best            int64
	nodes           int // left
	watch           *work.Watch
}

// dense is the dynamic programme over all capacities; copies are split into
// powers of two.
func (k *knapsack) dense(c int64) int64 {
	table := make([]int64, c+1)
	for j := range k.w {
		left := k.count[j]
		for piece := int64(1); left > 0; piece *= 2 {
			n := min(piece, left)
			left -= n
			if k.watch.Spend(int(c)) {
				return 0
			}
			subsetsum.AddItem(table, n*k.w[j], n*k.value[j])
		}
	}
	return table[c]
}

// sort sorts by value per weight, unless the watch ends.
func (k *knapsack) sort() bool {
	order := make([]int, len(k.w))
	for j := range order {
		order[j] = j
	}
	order, ok := work.Sorted(order, func(i, j int) int {
		ih, il := bits.Mul64(uint64(k.value[i]), uint64(k.w[j]))
		jh, jl := bits.Mul64(uint64(k.value[j]), uint64(k.w[i]))
		return cmp.Or(cmp.Compare(jh, ih), cmp.Compare(jl, il))
	}, k.watch)
	if !ok {
		return false
	}
	w, value, count := make([]int64, len(k.w)), make([]int64, len(k.w)), make([]int64, len(k.w))
	for a, j := range order {
		w[a], value[a], count[a] = k.w[j], k.value[j], k.count[j]
	}
	k.w, k.value, k.count = w, value, count
	return true
}

// branch searches depth first in order of value per weight. Invariant: got is the
// value of what was taken before position j, and c is the room left. It reports whether it took a
// node: if it did not, fewer copies of what was taken last lead to nothing better either.
func (k *knapsack) branch(j int, c, got int64) (searched bool) {
	k.best = max(k.best, got)
	for ; j < len(k.w); j++ {
		// All the room at the best rate left.
		if got+mulDiv(c, k.value[j], k.w[j]) <= k.best {
			return searched
		}
		if k.nodes--; k.nodes < 0 || k.watch.Spend(knapsackNode) {
			k.nodes = -1
			return false
		}
		searched = true
		for n := min(k.count[j], c/k.w[j]); n > 0; n-- {
			if !k.branch(j+1, c-n*k.w[j], got+n*k.value[j]) {
				break
			}
		}
	}
	return searched
}

// mulDiv returns ⌊a·b/d⌋, or MaxTotal−1 if it is more: no sum of values is above
// MaxTotal, so that serves as a bound, and adding such a sum does not overflow.
func mulDiv(a, b, d int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(d) {
		return MaxTotal - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return int64(min(q, MaxTotal-1))
}
