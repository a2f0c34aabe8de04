package pick

import "github.com/recrawl/recrawl/internal/codec"

// blockLen is how many slots lie together. A bucket wastes less than one block.
const blockLen = 64

// Buckets keeps slots in numbered buckets, with insertion, removal and access by position in
// O(1): a bucket is a list of blocks taken from a common pool, and the last slot fills the gap
// that a removal leaves. 8 bytes a slot and 1/16 for the lists.
type Buckets struct {
	pool  []uint32   // block b is pool[b·blockLen : (b+1)·blockLen]
	free  []uint32   // blocks not in use
	lists [][]uint32 // per bucket: its blocks
	count []uint32   // per bucket: its slots
	pos   []uint32   // per slot: its position in its bucket
}

// NewBuckets returns n empty buckets with room for so many slots.
func NewBuckets(slots, n int) Buckets {
	return Buckets{
		pool:  make([]uint32, 0, (slots+blockLen-1)/blockLen*blockLen),
		lists: make([][]uint32, n),
		count: make([]uint32, n),
		pos:   make([]uint32, slots),
	}
}

// Reserve makes room for a slot.
func (b *Buckets) Reserve(slot int) {
	if slot == len(b.pos) {
		b.pos = append(b.pos, 0)
	}
}

// cell returns where position i of bucket k is kept.
func (b *Buckets) cell(k int, i uint32) *uint32 {
	return &b.pool[b.lists[k][i/blockLen]*blockLen+i%blockLen]
}

// Len returns the number of slots in bucket k.
func (b *Buckets) Len(k int) int { return int(b.count[k]) }

// Has reports whether a slot is in bucket k.
func (b *Buckets) Has(k, slot int) bool {
	i := b.pos[slot]
	return i < b.count[k] && *b.cell(k, i) == uint32(slot)
}

// Bytes returns the memory that the buckets hold.
func (b *Buckets) Bytes() int {
	n := 4 * (cap(b.pool) + cap(b.pos) + cap(b.free) + cap(b.count))
	for _, list := range b.lists {
		n += 24 + 4*cap(list)
	}
	return n
}

// At returns the slot at position i of bucket k.
func (b *Buckets) At(k, i int) int { return int(*b.cell(k, uint32(i))) }

// Insert puts a slot at the end of bucket k.
func (b *Buckets) Insert(k, slot int) {
	i := b.count[k]
	if int(i) == len(b.lists[k])*blockLen {
		b.lists[k] = append(b.lists[k], b.block())
	}
	b.count[k]++
	*b.cell(k, i) = uint32(slot)
	b.pos[slot] = i
}

func (b *Buckets) block() uint32 {
	if n := len(b.free); n > 0 {
		block := b.free[n-1]
		b.free = b.free[:n-1]
		return block
	}
	block := uint32(len(b.pool) / blockLen)
	var empty [blockLen]uint32
	b.pool = append(b.pool, empty[:]...)
	return block
}

// Remove takes a slot out of bucket k, in which it is.
func (b *Buckets) Remove(k, slot int) {
	b.count[k]--
	last := *b.cell(k, b.count[k])
	*b.cell(k, b.pos[slot]) = last
	b.pos[last] = b.pos[slot]
	// An empty block goes back only when the one before is half empty too, so that a bucket that
	// breathes at a border takes and gives no blocks.
	if n := len(b.lists[k]); int(b.count[k])+blockLen+blockLen/2 <= n*blockLen {
		b.free = append(b.free, b.lists[k][n-1])
		b.lists[k] = b.lists[k][:n-1]
	}
}

// Encode writes the slots of each bucket in order: draws depend on it.
func (b *Buckets) Encode(e *codec.Encoder) {
	for k, n := range b.count {
		e.Uint32(n)
		for i := range n {
			e.Uint32(*b.cell(k, i))
		}
	}
}

// DecodeBuckets reads n buckets that hold exactly the slots that are in, each in the bucket
// before that of its state.
func DecodeBuckets(d *codec.Decoder, state []uint16, n int, in func(slot int) bool) Buckets {
	b := NewBuckets(len(state), n)
	missing := make([]bool, len(state))
	left := 0
	for slot := range state {
		if missing[slot] = in(slot); missing[slot] {
			left++
		}
	}
	for k := range n {
		for range d.Uint32() {
			slot := int(d.Uint32())
			good := slot < len(state) && missing[slot] && int(state[slot]) == k+1
			if d.Require(good, "slot %d in the bucket of state %d", slot, k+1); d.Err() != nil {
				return b
			}
			missing[slot] = false
			left--
			b.Insert(k, slot)
		}
	}
	d.Require(left == 0, "%d pages are in no bucket", left)
	return b
}
