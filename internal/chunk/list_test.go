package chunk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Elements keep their numbers and their places as the list grows, which has room for less than a chunk more.
func TestList(t *testing.T) {
	t.Parallel()
	var l List[int]
	require.Zero(t, l.Len())
	require.Zero(t, l.Cap())
	var at []*int
	for i := range 100 {
		require.Equal(t, uint32(i), l.Add(i*i))
		require.Equal(t, i+1, l.Len())
		require.GreaterOrEqual(t, l.Cap(), l.Len())
		require.Less(t, l.Cap(), l.Len()+Size)
		at = append(at, l.At(uint32(i)))
		n := 0
		for k := range l.Chunks() {
			n += len(l.Chunk(k))
		}
		require.Equal(t, i+1, n)
	}
	*at[7] = 1
	next := uint32(0)
	for k := range l.Chunks() {
		chunk := l.Chunk(k)
		require.Equal(t, uint32(k*Size), next)
		for i := range chunk {
			require.Same(t, at[next+uint32(i)], &chunk[i])
		}
		next += uint32(len(chunk))
	}
	require.Equal(t, uint32(100), next)
	for i, p := range at {
		require.Same(t, p, l.At(uint32(i)))
		want := i * i
		if i == 7 {
			want = 1
		}
		require.Equal(t, want, *l.At(uint32(i)))
	}
}
