package knapsack

import "github.com/recrawl/recrawl/internal/codec"

// blockLen is how many slots lie together. A bucket wastes less than one block.
const blockLen = 64

// buckets keeps slots in numbered buckets, with insertion, removal and access by
// position in O(1): a bucket is a list of blocks taken from a common pool, and
// the last slot fills the gap that a removal leaves. 8 bytes a slot and 1/16 for
// the lists.
type buckets struct {
	pool  []uint32   // block b is pool[b·blockLen : (b+1)·blockLen]
	free  []uint32   // blocks not in use
	lists [][]uint32 // per bucket: its blocks
	count []uint32   // per bucket: its slots
	pos   []uint32   // per slot: its position in its bucket
}

func newBuckets(slots, n int) buckets {
	return buckets{
		pool:  make([]uint32, 0, (slots+blockLen-1)/blockLen*blockLen),
		lists: make([][]uint32, n),
		count: make([]uint32, n),
		pos:   make([]uint32, slots),
	}
}

// reserve makes room for a slot.
func (b *buckets) reserve(slot int) {
	if slot == len(b.pos) {
		b.pos = append(b.pos, 0)
	}
}

// cell returns where position i of bucket k is kept.
func (b *buckets) cell(k int, i uint32) *uint32 {
	return &b.pool[b.lists[k][i/blockLen]*blockLen+i%blockLen]
}

// at returns the slot at position i of bucket k.
func (b *buckets) at(k, i int) int { return int(*b.cell(k, uint32(i))) }

// insert puts a slot at the end of bucket k.
func (b *buckets) insert(k, slot int) {
	i := b.count[k]
	if int(i) == len(b.lists[k])*blockLen {
		b.lists[k] = append(b.lists[k], b.block())
	}
	b.count[k]++
	*b.cell(k, i) = uint32(slot)
	b.pos[slot] = i
}

func (b *buckets) block() uint32 {
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

// remove takes a slot out of bucket k, in which it is.
func (b *buckets) remove(k, slot int) {
	b.count[k]--
	last := *b.cell(k, b.count[k])
	*b.cell(k, b.pos[slot]) = last
	b.pos[last] = b.pos[slot]
	// An empty block goes back only when the one before is half empty too, so
	// that a bucket that breathes at a border takes and gives no blocks.
	if n := len(b.lists[k]); int(b.count[k])+blockLen+blockLen/2 <= n*blockLen {
		b.free = append(b.free, b.lists[k][n-1])
		b.lists[k] = b.lists[k][:n-1]
	}
}

// encode writes the slots of each bucket in order: draws depend on it.
func (b *buckets) encode(e *codec.Encoder) {
	for k, n := range b.count {
		e.Uint32(n)
		for i := range n {
			e.Uint32(*b.cell(k, i))
		}
	}
}

// decodeBuckets reads n buckets that hold exactly the pages not in flight, each
// in the bucket of its state.
func decodeBuckets(d *codec.Decoder, book *book, state []uint16, n int) buckets {
	b := newBuckets(len(state), n)
	seen := make([]bool, len(state))
	held := 0
	for k := range n {
		for range d.Uint32() {
			slot := int(d.Uint32())
			if d.Err() != nil {
				return b
			}
			if slot >= len(state) || int(state[slot]) != k+1 || seen[slot] || book.inFlight(slot) {
				d.Fail("slot %d in the bucket of state %d", slot, k+1)
				return b
			}
			seen[slot] = true
			held++
			b.insert(k, slot)
		}
	}
	if want := book.ids.Len() - len(book.asked); held != want {
		d.Fail("%d pages in buckets, want %d", held, want)
	}
	return b
}
