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
		b.shift = uint8(rapid.IntRange(1, 10).Draw(t, "shift"))
		var lists [buckets][]int
		in := map[int]int{} // slot → bucket
		for range rapid.IntRange(0, 2000).Draw(t, "moves") {
			slot, to := rapid.IntRange(0, slots-1).Draw(t, "slot"), rapid.IntRange(0, buckets-1).Draw(t, "to")
			require.Equal(t, len(lists[0])+len(lists[1])+len(lists[2]), len(in))
			k, ok := in[slot]
			require.Equal(t, ok, b.Has(slot))
			if ok {
				require.Equal(t, k, b.Home(slot))
				b.Remove(slot)
				i := slices.Index(lists[k], slot)
				last := len(lists[k]) - 1
				lists[k][i] = lists[k][last]
				lists[k] = lists[k][:last]
			}
			b.SetHome(slot, to)
			b.Insert(slot)
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

// A move from bucket to bucket writes the slot, the one that fills its gap, their places, a home
// and two counts, and allocates nothing once the buckets have grown; the pool stays as large as the
// slots need.
func TestBucketsCost(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1000, 50_000} {
		const buckets = 20
		b := NewBuckets(slots, buckets)
		rng := rand.New(rand.NewPCG(1, 1))
		for slot := range slots {
			b.SetHome(slot, rng.IntN(buckets))
			b.Insert(slot)
		}
		move := func() {
			slot, to := rng.IntN(slots), rng.IntN(buckets)
			b.Remove(slot)
			b.SetHome(slot, to)
			b.Insert(slot)
		}
		for range 20 * slots {
			move()
		}
		words := func() []uint32 {
			all := slices.Concat(b.pool, b.count)
			for _, p := range b.place {
				all = append(all, p.position(), uint32(p.home))
			}
			return all
		}
		for range 50 {
			before := words()
			move()
			written := 0
			for i, w := range words() {
				if i >= len(before) || w != before[i] {
					written++
				}
			}
			require.LessOrEqual(t, written, 7, "%d slots", slots)
		}
		require.LessOrEqual(t, len(b.pool), slots+2*buckets*64, "blocks are not used again")
	}
}

// A block goes back when the one before is half empty, and not before.
func TestBlocksGoBack(t *testing.T) {
	t.Parallel()
	for _, shift := range []uint8{1, 6, 9} {
		length := 1 << shift
		b := NewBuckets(2*length, 1)
		b.shift = shift
		for slot := range 2 * length {
			b.SetHome(slot, 0)
			b.Insert(slot)
		}
		require.Len(t, b.lists[0], 2)
		for slot := 2*length - 1; slot >= 0; slot-- {
			b.Remove(slot)
			blocks := 1
			if b.Len(0) > length/2 {
				blocks = 2
			}
			require.Len(t, b.lists[0], blocks, "%d slots", b.Len(0))
			require.Len(t, b.free, 2-blocks)
		}
	}
}

// Blocks are long enough for short lists. Slots that spread over all buckets, each of which holds
// as many blocks as it can, find room in the pool as it was made.
func TestBlockLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots, buckets int
		shift          uint8
	}{{0, 1, 6}, {1000, 1, 6}, {24 * 128, 1, 7}, {24*128 - 1, 1, 6}, {500_000, 20, 10}, {500_000, 1500, 6}, {1 << 20, 10, 12}} {
		b := NewBuckets(c.slots, c.buckets)
		require.Equal(t, c.shift, b.shift, "%+v", c)
		if c.shift == leastShift {
			continue
		}
		room := cap(b.pool)
		require.LessOrEqual(t, room, c.slots+c.slots/16+1<<c.shift)
		length, to := 1<<c.shift, 0
		put := func(slot, k int) {
			if b.Home(slot) >= 0 {
				b.Remove(slot)
			}
			b.SetHome(slot, k)
			b.Insert(slot)
		}
		for slot := range c.slots {
			put(slot, 0)
		}
		for k := 1; k < c.buckets; k++ {
			from := to
			for ; to <= from+length; to++ {
				put(to, k)
			}
			for to > from+length/2+1 { // so that the second block is empty, and stays
				to--
				put(to, 0)
			}
			require.Len(t, b.lists[k], 2)
		}
		require.Equal(t, room, cap(b.pool), "%+v: the pool was copied", c)
	}
}

// What is in a bucket is saved in order; a slot that is in none, in two, in another one than it
// says or unknown is refused.
func TestBucketsSaved(t *testing.T) {
	t.Parallel()
	homes := []uint16{1, 2, 0, 1, 2, 2} // plus 1
	in := func(slot int) bool { return slot != 2 }
	b := NewBuckets(0, 2)
	for slot, home := range homes {
		require.Equal(t, slot, b.Slots())
		b.Reserve()
		require.Equal(t, -1, b.Home(slot))
		require.False(t, b.Has(slot))
		b.SetHome(slot, int(home)-1)
		require.Equal(t, int(home)-1, b.Home(slot))
	}
	for _, slot := range []int{5, 1, 3, 4, 0} {
		b.Insert(slot)
	}
	require.True(t, b.Has(1))
	require.False(t, b.Has(2))
	b.Remove(4)
	require.False(t, b.Has(4), "though its number is still there")
	b.SetHome(4, 0)
	require.False(t, b.Has(4), "position 2 of another bucket")
	b.SetHome(4, 1)
	b.Insert(4)
	require.Equal(t, 4*(cap(b.pool)+cap(b.free)+cap(b.count))+6*cap(b.place)+2*24+4*(cap(b.lists[0])+cap(b.lists[1])), b.Bytes())
	d := codectest.Decoder(t, b.Encode)
	back := DecodeBuckets(d, len(homes), 2, in)
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
			e.Uint16s(homes)
			for _, list := range lists {
				e.Uint32(uint32(len(list)))
				for _, slot := range list {
					e.Uint32(slot)
				}
			}
		})
		DecodeBuckets(d, len(homes), 2, in)
		require.ErrorIs(t, d.Done(), codec.ErrCorrupt, name)
	}
}

// All positions of a bucket are equally likely, and they stay where they are when a large one loses
// or gains some.
func TestBucketsDraw(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 1))
	bucket := func(n int) Buckets { return Buckets{count: []uint32{uint32(n)}} }
	for _, n := range []int{1, 10, many - 1, many, many + 1, 3 * many / 2, 2*many - 1, 5_000_000} {
		b := bucket(n)
		const parts, draws = 10, 20_000
		var count [parts]int
		for range draws {
			i := b.Draw(0, rng.Uint64())
			require.True(t, i >= 0 && i < n)
			count[i*parts/n]++
		}
		chi2 := 0.0
		for part, c := range count {
			// Positions i with i·parts/n = part.
			first := func(part int) int { return (part*n + parts - 1) / parts }
			if want := draws * float64(first(part+1)-first(part)) / float64(n); want > 0 {
				chi2 += (float64(c) - want) * (float64(c) - want) / want
			}
		}
		// χ² with 9 degrees of freedom exceeds 27.9 with probability 0.001.
		require.Less(t, chi2, 27.9, "%d of %d", count, n)
		require.Equal(t, 0, b.Draw(0, 0))
		if n < many {
			require.Equal(t, min(6, n-1), b.Draw(0, uint64(n+min(6, n-1))), "modulo")
		}
	}
	same := 0
	const draws = 2000
	for range draws {
		u, n := rng.Uint64(), many+rng.IntN(10*many)
		one, other := bucket(n), bucket(n-rng.IntN(30))
		if one.Draw(0, u) == other.Draw(0, u) {
			same++
		}
	}
	require.Greater(t, same, draws*9/10)
}

// What is touched are the slots that are drawn and those that fill their gaps.
func TestTouch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 1))
	b := NewBuckets(1000, 3)
	for slot := range 1000 { // bucket 2 is empty
		b.SetHome(slot, rng.IntN(2))
		b.Insert(slot)
	}
	var k [Ahead]uint32
	var u [Ahead]uint64
	want := uint32(0)
	for j := range k {
		k[j], u[j] = uint32(j%2), rng.Uint64()
		want += b.place[b.At(j%2, b.Draw(j%2, u[j]))].position() + uint32(b.Len(j%2)-1)
	}
	require.Equal(t, want, b.Touch(&k, &u))
	for j := range k {
		k[j] = 1 // all of one bucket
	}
	want = 0
	for _, u := range u {
		want += b.place[b.At(1, b.Draw(1, u))].position() + uint32(b.Len(1)-1)
	}
	require.Equal(t, want, b.Touch(&k, &u))
	k[0] = 2
	require.NotPanics(t, func() { b.Touch(&k, &u) })
}
