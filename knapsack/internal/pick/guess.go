package pick

import (
	"math"
	"math/bits"
)

// Guess sets index[j] to what At returns for u[j], which may be wrong where rounding decides. It
// goes down for four of them side by side, without a branch that depends on a number: the processor
// waits for the nodes of all four together, and mispredicts nothing.
func (t SumTree) Guess(u *[Ahead]uint64, index *[Ahead]uint32) {
	size, top := t.Size(), t.top()
	// The leaves lie in the last level, or in the last two.
	levels := bits.Len(uint(len(t)-1)) - bits.Len(uint(top))
	for j := 0; j < Ahead; j += 4 {
		k0, k1, k2, k3 := top, top, top, top
		r0, r1 := float64(unit(u[j])*t.Total()), float64(unit(u[j+1])*t.Total())
		r2, r3 := float64(unit(u[j+2])*t.Total()), float64(unit(u[j+3])*t.Total())
		for range levels - 1 {
			k0, r0 = t.step(k0, r0)
			k1, r1 = t.step(k1, r1)
			k2, r2 = t.step(k2, r2)
			k3, r3 = t.step(k3, r3)
		}
		for i, k := range [4]int{k0, k1, k2, k3} {
			if k < size {
				k, _ = t.step(k, [4]float64{r0, r1, r2, r3}[i])
			}
			index[j+i] = uint32(k - size)
		}
	}
}

// top returns the lowest node below which all numbers lie that are not 0, up to rounding: where they
// are few and side by side, most levels are above it.
func (t SumTree) top() int {
	k := 1
	for k < t.Size() {
		switch k *= 2; {
		case t[k] == t[1]:
		case t[k+1] == t[1] && t[k] == 0:
			k++
		default:
			return k / 2
		}
	}
	return k
}

// step goes from node k, which is no leaf, to the child in which point r of it lies.
func (t SumTree) step(k int, r float64) (child int, rest float64) {
	left, right := t[2*k], 0
	if r >= left {
		right = 1
	}
	return 2*k + right, r - math.Float64frombits(math.Float64bits(left)&-uint64(right))
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
