package pick

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// Buckets against lists of slots.
func TestBuckets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const buckets, slots = 3, 400
		b := NewBuckets(slots, buckets)
		var lists [buckets][]int
		in := map[int]int{} // slot → bucket
		for range rapid.IntRange(0, 2000).Draw(t, "moves") {
			slot, to := rapid.IntRange(0, slots-1).Draw(t, "slot"), rapid.IntRange(0, buckets-1).Draw(t, "to")
			if k, ok := in[slot]; ok {
				b.Remove(k, slot)
				i := slices.Index(lists[k], slot)
				last := len(lists[k]) - 1
				lists[k][i] = lists[k][last]
				lists[k] = lists[k][:last]
			}
			b.Insert(to, slot)
			lists[to] = append(lists[to], slot)
			in[slot] = to
		}
		for k, list := range lists {
			require.Equal(t, len(list), b.Len(k))
			for i, slot := range list {
				require.Equal(t, slot, b.At(k, i))
			}
		}
	})
}

// A move from bucket to bucket writes the slot, the one that fills its gap, their places and two
// counts, and allocates nothing once the buckets have grown; the pool stays as large as the slots
// need.
func TestBucketsCost(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1000, 50_000} {
		const buckets = 20
		b := NewBuckets(slots, buckets)
		rng := rand.New(rand.NewPCG(1, 1))
		in := make([]int, slots)
		for slot := range slots {
			in[slot] = rng.IntN(buckets)
			b.Insert(in[slot], slot)
		}
		move := func() {
			slot, to := rng.IntN(slots), rng.IntN(buckets)
			b.Remove(in[slot], slot)
			b.Insert(to, slot)
			in[slot] = to
		}
		for range 20 * slots {
			move()
		}
		words := func() []uint32 { return slices.Concat(b.pool, b.pos, b.count) }
		for range 50 {
			before := words()
			move()
			written := 0
			for i, w := range words() {
				if i >= len(before) || w != before[i] {
					written++
				}
			}
			require.LessOrEqual(t, written, 6, "%d slots", slots)
		}
		require.LessOrEqual(t, len(b.pool), slots+2*buckets*blockLen, "blocks are not used again")
	}
}

// A block goes back when the one before is half empty, and not before.
func TestBlocksGoBack(t *testing.T) {
	t.Parallel()
	b := NewBuckets(2*blockLen, 1)
	for slot := range 2 * blockLen {
		b.Insert(0, slot)
	}
	require.Len(t, b.lists[0], 2)
	for slot := 2*blockLen - 1; slot >= 0; slot-- {
		b.Remove(0, slot)
		blocks := 1
		if b.Len(0) > blockLen/2 {
			blocks = 2
		}
		require.Len(t, b.lists[0], blocks, "%d slots", b.Len(0))
		require.Len(t, b.free, 2-blocks)
	}
}

// What is in a bucket is saved in order; a slot that is in none, in two, in another one than it says or
// unknown is refused.
func TestBucketsSaved(t *testing.T) {
	t.Parallel()
	state := []uint16{1, 2, 0, 1, 2, 2} // the bucket after the slot's
	in := func(slot int) bool { return slot != 2 }
	b := NewBuckets(0, 2)
	for slot := range state {
		b.Reserve(slot)
	}
	for _, slot := range []int{5, 1, 3, 4, 0} {
		b.Insert(int(state[slot])-1, slot)
	}
	require.True(t, b.Has(1, 1))
	require.False(t, b.Has(0, 1))
	require.False(t, b.Has(0, 2))
	require.False(t, b.Has(1, 2))
	b.Remove(1, 4)
	require.False(t, b.Has(1, 4), "though its number is still there")
	b.Insert(1, 4)
	require.Equal(t, 4*(cap(b.pool)+cap(b.pos)+cap(b.free)+cap(b.count))+2*24+4*(cap(b.lists[0])+cap(b.lists[1])), b.Bytes())
	d := codectest.Decoder(t, b.Encode)
	back := DecodeBuckets(d, state, 2, in)
	require.NoError(t, d.Done())
	for k := range 2 {
		require.Equal(t, b.Len(k), back.Len(k))
		for i := range b.Len(k) {
			require.Equal(t, b.At(k, i), back.At(k, i))
		}
	}
	for name, lists := range map[string][2][]uint32{
		"in none": {{0, 3}, {1, 4}}, "twice": {{0, 3, 3}, {1, 4, 5}}, "in another": {{0, 3, 4}, {1, 5}},
		"unknown": {{0, 3}, {1, 4, 5, 6}}, "not in": {{0, 2, 3}, {1, 4, 5}},
	} {
		d := codectest.Decoder(t, func(e *codec.Encoder) {
			for _, list := range lists {
				e.Uint32(uint32(len(list)))
				for _, slot := range list {
					e.Uint32(slot)
				}
			}
		})
		DecodeBuckets(d, state, 2, in)
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}
