// Package heap has the two priority queues of the library. [Heap] holds values, the first
// one in front. [Slots] holds small integers with float64 keys, and knows where each of
// them is, so that one can be moved or taken out. Neither allocates but to grow.
package heap

// A Heap is a binary heap: h[0] comes before all others, nothing before its parent. The
// zero value is empty. Push, Pop and Fix take O(log n), Init O(n).
//
// Of elements neither of which is before the other, the order is that of container/heap.
type Heap[T interface{ Before(T) bool }] []T

// Init makes a heap of a slice in any order.
func (h Heap[T]) Init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// Push adds x.
func (h *Heap[T]) Push(x T) {
	*h = append(*h, x)
	h.up(len(*h) - 1)
}

// Pop removes the first element and returns it. It panics if the heap is empty.
func (h *Heap[T]) Pop() T {
	s := *h
	last := len(s) - 1
	first := s[0]
	s[0] = s[last]
	clear(s[last:]) // so that it keeps nothing alive
	*h = s[:last]
	if last > 0 {
		h.down(0)
	}
	return first
}

// Fix restores the order after h[i] was changed.
func (h Heap[T]) Fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

// up and down move the element at i to its place. Instead of exchanges they move a hole.

func (h Heap[T]) up(i int) {
	x := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !x.Before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
}

func (h Heap[T]) down(i int) (moved bool) {
	x := h[i]
	start := i
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && h[right].Before(h[child]) {
			child = right
		}
		if !h[child].Before(x) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
	return i > start
}
