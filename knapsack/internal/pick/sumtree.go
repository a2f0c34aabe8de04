package pick

import "math/rand/v2"

// A SumTree holds numbers ≥ 0 and their sums over subtrees, always added in the same way, so that
// its content does not depend on the order of changes and no rounding error ever piles up.
type SumTree []float64 // node k of 1..n−1 is the sum of nodes 2k and 2k+1; node n+i is number i

// NewSumTree returns n zeros.
func NewSumTree(n int) SumTree { return make(SumTree, 2*max(n, 1)) }

// SumTreeOf returns the tree of some numbers and of zeros, in O(size).
func SumTreeOf(numbers []float64, size int) SumTree {
	t := NewSumTree(size)
	copy(t[t.Size():], numbers)
	for k := t.Size() - 1; k > 0; k-- {
		t[k] = t[2*k] + t[2*k+1]
	}
	return t
}

// Size returns how many numbers there are.
func (t SumTree) Size() int { return len(t) / 2 }

// Total returns the sum of all numbers.
func (t SumTree) Total() float64 { return t[1] }

// Set changes a number, in O(log n), or O(1) if it has this value already. It reports whether it
// had another.
func (t SumTree) Set(i int, x float64) (changed bool) {
	k := t.Size() + i
	if t[k] == x {
		return false
	}
	t[k] = x
	for k > 1 {
		x += t[k^1] // node k and its sibling
		k /= 2
		t[k] = x
	}
	return true
}

// Get returns a number.
func (t SumTree) Get(i int) float64 { return t[t.Size()+i] }

// Doubled returns a tree for twice as many numbers, of which the first ones are those of t and the others 0. The size
// of t is a power of two.
func (t SumTree) Doubled() SumTree {
	twice := make(SumTree, 2*len(t))
	twice[1] = t.Total()
	for row := 1; row < len(t); row *= 2 { // of a tree is the left half of the next one of the larger tree
		copy(twice[2*row:], t[row:2*row])
	}
	return twice
}

// Draw returns an index with probability proportional to its number, in O(log n); none, and
// nothing drawn from src, if all are 0.
func (t SumTree) Draw(src rand.Source) (int, bool) {
	if !(t.Total() > 0) {
		return 0, false
	}
	return t.At(src.Uint64()), true
}

// At returns the index that Draw gives for the random number u. The total is not 0.
func (t SumTree) At(u uint64) int { return t.below(1, float64(unit(u)*t.Total())) }

// below returns the index of the number under point r of node k.
func (t SumTree) below(k int, r float64) int {
	// Invariant: node k is positive. r is uniform in [0, node k), up to rounding.
	for k < t.Size() {
		k *= 2
		if r >= t[k] && t[k+1] > 0 || t[k] == 0 {
			r -= t[k]
			k++
		}
	}
	return k - t.Size()
}

// Float64 returns a number in [0, 1).
func Float64(src rand.Source) float64 { return unit(src.Uint64()) }

// unit returns a number in [0, 1) for a random number.
func unit(u uint64) float64 { return float64(u>>11) * 0x1p-53 }
