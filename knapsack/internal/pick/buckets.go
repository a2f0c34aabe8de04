package pick

import (
	"math"
	"math/bits"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// leastShift is the binary logarithm of the length of the shortest blocks. A bucket wastes less than
// one and a half blocks.
const leastShift = 6

// Buckets keeps slots in numbered buckets, with insertion, removal and access by position in O(1):
// a bucket is a list of blocks taken from a common pool, and the last slot fills the gap that a
// removal leaves. A slot has a home, the bucket in which it is or will be. 10 bytes a slot, at most
// 1/16 for the lists, and 1/4 for blocks that are not full.
type Buckets struct {
	shift uint8      // a block has 1<<shift slots
	pool  []uint32   // block b is pool[b<<shift : (b+1)<<shift]
	free  []uint32   // blocks not in use
	lists [][]uint32 // per bucket: its blocks
	count []uint32   // per bucket: its slots
	place []place    // per slot
}

// A place is where a slot is. Its 6 bytes lie together, as a poll needs all of them.
type place struct {
	low, high uint16 // halves of the position in its bucket
	home      uint16 // the bucket, plus 1; 0 for none
}

func (p *place) position() uint32 { return uint32(p.high)<<16 | uint32(p.low) }

func (p *place) move(i uint32) { p.low, p.high = uint16(i), uint16(i>>16) }

// NewBuckets returns n empty buckets with room for so many slots.
func NewBuckets(slots, n int) Buckets {
	// With many slots to a bucket the blocks are longer, so that the lists of blocks stay in a cache,
	// but for all buckets together one and a half are less than a 16th of the slots. The pool has
	// room for these, so that it need not be copied when slots spread over more buckets.
	shift := max(leastShift, bits.Len(uint(slots/(24*n)))-1)
	room := slots + slots/16
	return Buckets{
		shift: uint8(shift),
		pool:  make([]uint32, 0, (room>>shift+1)<<shift),
		lists: make([][]uint32, n),
		count: make([]uint32, n),
		place: make([]place, slots),
	}
}

// Reserve makes room for one more slot.
func (b *Buckets) Reserve() { b.place = append(b.place, place{}) }

// Slots returns for how many slots there is room.
func (b *Buckets) Slots() int { return len(b.place) }

// Home returns the bucket of a slot, −1 if it has none.
func (b *Buckets) Home(slot int) int { return int(b.place[slot].home) - 1 }

// SetHome gives a slot that is in no bucket another home, −1 for none.
func (b *Buckets) SetHome(slot, k int) { b.place[slot].home = uint16(k + 1) }

// cell returns where position i of bucket k is in the pool.
func (b *Buckets) cell(k int, i uint32) uint32 {
	shift := b.shift & 31 // so that the compiler knows
	return b.lists[k][i>>shift]<<shift | i&(1<<shift-1)
}

// Len returns the number of slots in bucket k.
func (b *Buckets) Len(k int) int { return int(b.count[k]) }

// Has reports whether a slot is in its bucket.
func (b *Buckets) Has(slot int) bool {
	p := &b.place[slot]
	k, i := int(p.home)-1, p.position()
	return k >= 0 && i < b.count[k] && b.pool[b.cell(k, i)] == uint32(slot)
}

// Bytes returns the memory that the buckets hold.
func (b *Buckets) Bytes() int {
	n := 4*(cap(b.pool)+cap(b.free)+cap(b.count)) + 6*cap(b.place)
	for _, list := range b.lists {
		n += 24 + 4*cap(list)
	}
	return n
}

// At returns the slot at position i of bucket k.
func (b *Buckets) At(k, i int) int { return int(b.pool[b.cell(k, uint32(i))]) }

// many is the length from which a bucket changes with so many polls that what Draw returns must not
// depend on its exact length.
const many = 1 << 16

// Draw returns a position in bucket k, which is not empty, by a random number. All are equally
// likely, up to one part in 2³². In a bucket of many slots it stays where it is if the bucket loses
// or gains some, nearly always.
func (b *Buckets) Draw(k int, u uint64) int {
	n := uint64(b.count[k])
	if n >= many {
		// The length is rounded up by at most a 32nd.
		step := uint64(1) << (bits.Len64(n) - 6)
		if i, _ := bits.Mul64(u, (n+step-1)&^(step-1)); i < n {
			return int(i)
		}
	}
	return int(u % n)
}

// Touch reads what removals of the slots that Draw gives for u[j] in buckets k[j] will read and
// write. It reads for all of them what names the next thing to read, and then that, so that the
// processor waits for all of them together. It returns a sum of what it read, which means nothing.
// At least one slot is in a bucket.
func (b *Buckets) Touch(k *[Ahead]uint32, u *[Ahead]uint64) (sum uint32) {
	var at, last [Ahead]uint32
	end, of := uint32(0), uint32(math.MaxUint32) // where the last slot of bucket of is: often all are of one
	for j, k := range k {
		n := b.Len(int(k))
		if n == 0 {
			continue
		}
		if k != of {
			end, of = b.cell(int(k), uint32(n-1)), k
		}
		at[j], last[j] = b.cell(int(k), uint32(b.Draw(int(k), u[j]))), end
	}
	for j := range at {
		at[j], last[j] = b.pool[at[j]], b.pool[last[j]]
	}
	for j := range at {
		sum += uint32(b.place[at[j]].low) + uint32(b.place[last[j]].low)
	}
	return sum
}

// Insert puts a slot at the end of its bucket.
func (b *Buckets) Insert(slot int) {
	p := &b.place[slot]
	k := int(p.home) - 1
	i := b.count[k]
	if int(i) == len(b.lists[k])<<b.shift {
		b.lists[k] = append(b.lists[k], b.block())
	}
	b.count[k]++
	b.pool[b.cell(k, i)] = uint32(slot)
	p.move(i)
}

func (b *Buckets) block() uint32 {
	if n := len(b.free); n > 0 {
		block := b.free[n-1]
		b.free = b.free[:n-1]
		return block
	}
	n := len(b.pool)
	b.pool = slices.Grow(b.pool, 1<<b.shift)[:n+1<<b.shift]
	return uint32(n >> b.shift)
}

// Remove takes a slot out of its bucket, in which it is.
func (b *Buckets) Remove(slot int) {
	p := &b.place[slot]
	k, i := int(p.home)-1, p.position()
	b.count[k]--
	last := b.pool[b.cell(k, b.count[k])]
	b.pool[b.cell(k, i)] = last
	b.place[last].move(i)
	// An empty block goes back only when the one before is half empty too, so that a bucket that
	// breathes at a border takes and gives no blocks.
	if n := len(b.lists[k]); int(b.count[k])+3<<b.shift>>1 <= n<<b.shift {
		b.free = append(b.free, b.lists[k][n-1])
		b.lists[k] = b.lists[k][:n-1]
	}
}

// Encode writes the homes, and the slots of each bucket in order: draws depend on it.
func (b *Buckets) Encode(e *codec.Encoder) {
	e.Int(len(b.place))
	for _, p := range b.place {
		e.Uint16(p.home)
	}
	for k, n := range b.count {
		e.Uint32(n)
		for i := range n {
			e.Uint32(b.pool[b.cell(k, i)])
		}
	}
}

// DecodeBuckets reads n buckets of so many slots, which hold exactly those that are in.
func DecodeBuckets(d *codec.Decoder, slots, n int, in func(slot int) bool) Buckets {
	homes := d.Uint16sIn(slots, uint16(n))
	b := NewBuckets(len(homes), n)
	missing := make([]bool, len(homes))
	left := 0
	for slot, home := range homes {
		b.place[slot].home = home
		if missing[slot] = in(slot); missing[slot] {
			left++
		}
	}
	for k := range n {
		for range d.Uint32() {
			slot := int(d.Uint32())
			good := slot < len(homes) && missing[slot] && b.Home(slot) == k
			if d.Require(good, "slot %d in bucket %d", slot, k); d.Err() != nil {
				return b
			}
			missing[slot] = false
			left--
			b.Insert(slot)
		}
	}
	d.Require(left == 0, "%d pages are in no bucket", left)
	return b
}
