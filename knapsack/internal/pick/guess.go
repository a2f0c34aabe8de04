package pick

import (
	"math"
	"math/bits"
)

// Guess sets index[j] to what At returns for u[j], which may be wrong where rounding decides. It
// goes down for all of them side by side, without a branch that depends on a number: the processor
// waits for all nodes of a level together, and mispredicts nothing.
func (t SumTree) Guess(u *[Ahead]uint64, index *[Ahead]uint32) {
	var r [Ahead]float64
	for j, u := range u {
		r[j], index[j] = float64(unit(u)*t.Total()), 1
	}
	// The leaves lie in one level or in two.
	size := t.Size()
	for range bits.Len(uint(2*size-1)) - 1 {
		for j := range r {
			k := int(index[j])
			if k >= size {
				continue
			}
			left, right := t[2*k], uint64(0)
			if r[j] >= left {
				right = 1
			}
			r[j] -= math.Float64frombits(math.Float64bits(left) & -right)
			index[j] = uint32(2*k) + uint32(right)
		}
	}
	for j := range index {
		index[j] -= uint32(size)
	}
}

// Near returns what At returns, in less time if it is the guess, and in O(1) if that is of the tree
// as it is: same reports that no number has changed since.
func (t SumTree) Near(u uint64, guess int, same bool) int {
	leaf := t.Size() + guess
	if same && t[leaf] > 0 { // a guess that is wrong by rounding is that of a 0
		return guess
	}
	r := float64(unit(u) * t.Total())
	// Invariant: At would go through the node above k, with this r.
	for level := bits.Len(uint(leaf)) - 2; level >= 0; level-- {
		k := leaf >> level
		left, right := t[k&^1], 0
		if r >= left {
			right = 1
		}
		if right != k&1 || t[k] == 0 {
			return t.below(k/2, r)
		}
		r -= math.Float64frombits(math.Float64bits(left) & -uint64(k&1))
	}
	return guess
}
