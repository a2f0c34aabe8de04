// Package chunk has a list that grows without a pause: what it holds never moves.
package chunk

// Size is how many elements a chunk has: few, so that a short list takes little, and so that chunks of the
// structs kept in them fill the sizes that Go allocates.
const Size = 16

// A List holds elements by their numbers 0, 1, 2, … in chunks of 16. The zero value is empty.
//
// Time: O(1), but for one pointer of each chunk that is copied when these outgrow their room. Memory: half a byte
// an element besides, and room for 15 elements at most.
type List[T any] struct {
	chunks []*[Size]T
	n      uint32
}

// Len returns the number of elements.
func (l *List[T]) Len() int { return int(l.n) }

// At returns an element, which stays where it is.
func (l *List[T]) At(i uint32) *T { return &l.chunks[i/Size][i%Size] }

// Add appends an element and returns its number.
func (l *List[T]) Add(x T) (i uint32) {
	i = l.n
	if i%Size == 0 {
		l.chunks = append(l.chunks, new([Size]T))
	}
	l.n++
	*l.At(i) = x
	return i
}

// Chunks returns the number of chunks.
func (l *List[T]) Chunks() int { return len(l.chunks) }

// Chunk returns the elements of a chunk, of which the first one has the number k·Size.
func (l *List[T]) Chunk(k int) []T { return l.chunks[k][:min(Size, int(l.n)-k*Size)] }

// Cap returns the number of elements that there is room for.
func (l *List[T]) Cap() int { return Size * len(l.chunks) }
