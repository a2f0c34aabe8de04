// Package order keeps the nodes of a fleet and the sites on them in an order that is cheap to
// change: [Tree] finds the node of the least key, [Shelves] the site on a node whose weight is next
// to a given one.
package order

import (
	"math"
	"math/bits"

	"github.com/recrawl/recrawl/internal/heap"
)

// A Tree finds the least of many keys: a tournament tree over the slots 0, 1, 2, … in which a node
// holds the least key below it. A slot without a key has +Inf. Of equal keys the lower slot comes
// first, so that the answers depend on the keys alone. The zero value is empty.
type Tree struct {
	key  []float64 // node 1 is the root, node size+slot the leaf of a slot
	size int       // a power of two, or 0
	heap heap.Heap[subtree]
	// Steps counts the nodes visited, for tests of the cost.
	Steps int
}

// subtree is a node of the tree in the queue of Ascend.
type subtree struct {
	key float64
	at  int
}

// Before orders by key. Of equal keys the subtree further left comes first; its nodes have the
// smaller numbers once both are taken down to the leaves.
func (a subtree) Before(b subtree) bool {
	return a.key < b.key || a.key == b.key && a.left() < b.left()
}

// left returns the leftmost leaf below the node in a tree of 2^62 leaves at most.
func (a subtree) left() uint64 {
	at := uint64(a.at)
	return at << (63 - bits.Len64(at))
}

// Grow makes room for n slots. O(n) where the tree grows, which it does by doubling.
func (t *Tree) Grow(n int) {
	if n <= t.size {
		return
	}
	size := max(t.size, 1)
	for size < n {
		size *= 2
	}
	old, had := t.key, t.size
	t.key, t.size = make([]float64, 2*size), size
	for i := range t.key {
		t.key[i] = math.Inf(1)
	}
	copy(t.key[size:], old[had:])
	for k := size - 1; k >= 1; k-- {
		t.key[k] = min(t.key[2*k], t.key[2*k+1])
	}
}

// Set gives a slot a key, +Inf to take it out. O(log n).
func (t *Tree) Set(slot int, key float64) {
	k := slot + t.size
	if t.key[k] == key {
		return
	}
	t.key[k] = key
	for k >>= 1; k >= 1; k >>= 1 {
		t.Steps++
		least := min(t.key[2*k], t.key[2*k+1])
		if least == t.key[k] {
			break // nothing changes above
		}
		t.key[k] = least
	}
}

// Key returns the key of a slot.
func (t *Tree) Key(slot int) float64 { return t.key[slot+t.size] }

// Least returns the slot of the least key, or −1 if none has one. O(log n).
func (t *Tree) Least() (slot int, key float64) {
	if t.size == 0 || math.IsInf(t.key[1], 1) {
		return -1, math.Inf(1)
	}
	return t.First(t.key[1]), t.key[1]
}

// First returns the lowest slot whose key is at most the given one, or −1. O(log n).
func (t *Tree) First(most float64) int {
	most = min(most, math.MaxFloat64)
	if t.size == 0 || !(t.key[1] <= most) {
		return -1
	}
	k := 1
	for k < t.size {
		t.Steps++
		k *= 2
		if t.key[k] > most {
			k++
		}
	}
	return k - t.size
}

// Ascend yields the slots by increasing key. Keys must not change meanwhile. O(log n) a slot.
func (t *Tree) Ascend(yield func(slot int) bool) {
	if t.size == 0 {
		return
	}
	q := t.heap[:0]
	t.heap = nil // one that runs inside this one takes a queue of its own
	q.Push(subtree{t.key[1], 1})
	for len(q) > 0 {
		t.Steps++
		x := q.Pop()
		if math.IsInf(x.key, 1) {
			break
		}
		if x.at >= t.size {
			if !yield(x.at - t.size) {
				break
			}
			continue
		}
		q.Push(subtree{t.key[2*x.at], 2 * x.at})
		q.Push(subtree{t.key[2*x.at+1], 2*x.at + 1})
	}
	t.heap = q
}
