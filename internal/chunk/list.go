// Package chunk has a list that grows without a pause: what it holds never moves.
package chunk

import "iter"

// size is how many elements a chunk has: few, so that a short list takes little, and so that chunks of the
// structs kept in them fill the sizes that Go allocates.
const size = 16

// A List holds elements by their numbers 0, 1, 2, … in chunks of 16. The zero value is empty.
//
// Time: O(1), but for one pointer of each chunk that is copied when these outgrow their room. Memory: half a byte
// an element besides, and room for 15 elements at most.
type List[T any] struct {
	chunks []*[size]T
	n      uint32
}

// Len returns the number of elements.
func (l *List[T]) Len() int { return int(l.n) }

// At returns an element, which stays where it is.
func (l *List[T]) At(i uint32) *T { return &l.chunks[i/size][i%size] }

// Add appends an element and returns its number.
func (l *List[T]) Add(x T) (i uint32) {
	i = l.n
	if i%size == 0 {
		l.chunks = append(l.chunks, new([size]T))
	}
	l.n++
	*l.At(i) = x
	return i
}

// Chunks yields the elements in order, chunk by chunk, each with the number of its first one.
func (l *List[T]) Chunks() iter.Seq2[uint32, []T] {
	return func(yield func(first uint32, chunk []T) bool) {
		for first := uint32(0); first < l.n; first += size {
			if !yield(first, l.chunks[first/size][:min(size, l.n-first)]) {
				return
			}
		}
	}
}

// Cap returns the number of elements that there is room for.
func (l *List[T]) Cap() int { return size * len(l.chunks) }
