package heap

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A pair is ordered by key only, so that ties show which way they go.
type pair struct{ key, id int }

func (p pair) Before(q pair) bool { return p.key < q.key }

// reference is a heap of container/heap.
type reference []pair

func (h reference) Len() int           { return len(h) }
func (h reference) Less(a, b int) bool { return h[a].key < h[b].key }
func (h reference) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *reference) Push(x any)        { *h = append(*h, x.(pair)) }
func (h *reference) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// TestHeap requires the arrangement of container/heap after every call.
func TestHeap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[pair]
		for id, key := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 20).Draw(t, "start") {
			h = append(h, pair{key, id})
		}
		ref := append(reference(nil), h...)
		h.Init()
		heap.Init(&ref)
		next := 100
		key := rapid.IntRange(0, 9)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				x := pair{key.Draw(t, "key"), next}
				next++
				h.Push(x)
				heap.Push(&ref, x)
			},
			"pop": func(t *rapid.T) {
				if len(h) == 0 {
					t.Skip("empty")
				}
				require.Equal(t, heap.Pop(&ref), h.Pop())
				require.Zero(t, h[:len(h)+1][len(h)], "it keeps what was popped")
			},
			"fix": func(t *rapid.T) {
				if len(h) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(h)-1).Draw(t, "i")
				h[i].key = key.Draw(t, "key")
				ref[i].key = h[i].key
				h.Fix(i)
				heap.Fix(&ref, i)
			},
			"": func(t *rapid.T) { require.True(t, slices.Equal(ref, reference(h)), "%v, want %v", h, ref) },
		})
	})
}

func TestHeapDoesNotAllocate(t *testing.T) {
	h := make(Heap[pair], 0, 8)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for k := range 8 {
			h.Push(pair{-k, k})
		}
		for range 8 {
			h.Pop()
		}
	}))
}

// TestSlots compares two heaps that share a table of places with maps from slot to key.
func TestSlots(t *testing.T) {
	t.Parallel()
	const tag = 1 << 30
	rapid.Check(t, func(t *rapid.T) {
		heaps := [2]Slots{{}, {Tag: tag}}
		keys := [2]map[uint32]float64{{}, {}}
		place := make([]uint32, 40)
		for i := range place {
			place[i] = None
		}
		slots := rapid.Uint32Range(0, uint32(len(place)-1))
		key := rapid.OneOf(rapid.Float64Range(-5, 5), rapid.Just(1.), rapid.Just(math.Inf(1)))
		find := func(slot uint32) (which, at int) {
			return int(place[slot] / tag), int(place[slot] % tag)
		}
		for slot := range rapid.Uint32Range(0, 30).Draw(t, "start") { // several levels
			k := key.Draw(t, "key")
			heaps[1].Push(place, slot, k)
			keys[1][slot] = k
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				slot, k := slots.Draw(t, "slot"), key.Draw(t, "key")
				if place[slot] != None {
					t.Skip("is in a heap")
				}
				which := rapid.IntRange(0, 1).Draw(t, "heap")
				heaps[which].Push(place, slot, k)
				keys[which][slot] = k
			},
			"remove": func(t *rapid.T) {
				slot := slots.Draw(t, "slot")
				if place[slot] == None {
					t.Skip("is in no heap")
				}
				which, at := find(slot)
				heaps[which].Remove(place, at)
				delete(keys[which], slot)
				require.EqualValues(t, uint32(None), place[slot])
			},
			"move": func(t *rapid.T) {
				slot, k := slots.Draw(t, "slot"), key.Draw(t, "key")
				if place[slot] == None {
					t.Skip("is in no heap")
				}
				which, at := find(slot)
				heaps[which].Move(place, at, k)
				keys[which][slot] = k
			},
			"": func(t *rapid.T) {
				for which := range heaps {
					h := &heaps[which]
					require.True(t, h.Ordered())
					require.Equal(t, len(keys[which]), h.Len())
					for i, slot := range h.Slot {
						require.Equal(t, keys[which][slot], h.Key[i])
						require.Equal(t, h.Tag|uint32(i), place[slot])
					}
				}
			},
		})
	})
}

// TestSlotsDeep moves and removes at random in a heap of five levels.
func TestSlotsDeep(t *testing.T) {
	t.Parallel()
	const n = 600
	rng := rand.New(rand.NewPCG(1, 2))
	var h Slots
	place := make([]uint32, n)
	for slot := range uint32(n) {
		h.Push(place, slot, rng.Float64())
	}
	for h.Len() > 0 {
		at := int(place[rng.IntN(n)])
		switch {
		case at == None: // removed
		case rng.IntN(40) == 0:
			h.Remove(place, at)
		default:
			h.Move(place, at, rng.Float64())
		}
		require.True(t, h.Ordered())
	}
}

func TestSlotsWithoutPlaces(t *testing.T) {
	t.Parallel()
	var h Slots
	for _, k := range []float64{3, 1, 2, 1} {
		h.Push(nil, 7, k)
	}
	var got []float64
	for h.Len() > 0 {
		got = append(got, h.Key[0])
		h.Remove(nil, 0)
	}
	require.Equal(t, []float64{1, 1, 2, 3}, got)
	require.False(t, (&Slots{Key: []float64{2, 1}, Slot: []uint32{0, 1}}).Ordered())
	require.False(t, (&Slots{Key: []float64{math.NaN()}, Slot: []uint32{0}}).Ordered())
	require.False(t, (&Slots{Key: []float64{1}}).Ordered())
}
