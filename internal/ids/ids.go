// Package ids gives out the ids of pages, sites and nodes that come and go
// while a learner runs.
//
// An id is an int: the slot of the thing in the learner's parallel arrays in the
// low bits, and above it how often that slot was given out before. The first ids
// are therefore 0, 1, 2, …, a slot freed by a removal is used again, and an id
// is never given out twice: one that was removed stays invalid for ever, so
// that a late answer cannot reach the wrong page.
package ids

import (
	"iter"

	"github.com/recrawl/recrawl/internal/codec"
)

const (
	// SlotBits is the width of the slot within an id.
	SlotBits = 32
	// MaxSlots is the most slots that a registry holds.
	MaxSlots = 1<<SlotBits - 1

	slotMask = 1<<SlotBits - 1
	// A slot is retired when it has been given out this often: the next
	// generation would not fit its two bytes.
	generations = 1 << 15
)

// Slot returns the slot in an id, without asking whether the id is valid.
func Slot(id int) int { return id & slotMask }

// A Registry tells which ids are valid. It takes no memory until the first
// removal, then 2 bytes a slot up to the highest one ever removed, and 4 more for
// each slot that waits to be used again. The zero value is empty.
type Registry struct {
	gen   []uint16 // twice the generation of the slot, plus 1 while it is free; 0 for the slots beyond
	free  []uint32 // free slots, without those retired
	slots int      // slots ever used
	n     int      // valid ids
}

// Make returns a registry of the n ids 0..n-1.
func Make(n int) Registry {
	if n < 0 || n > MaxSlots {
		panic("ids: the number of slots is out of range")
	}
	return Registry{slots: n, n: n}
}

// generation returns the slot's entry of gen.
func (r *Registry) generation(slot int) uint16 {
	if slot < len(r.gen) {
		return r.gen[slot]
	}
	return 0
}

// Len returns the number of valid ids.
func (r *Registry) Len() int { return r.n }

// Slots returns the number of slots ever used: the length that the learner's
// arrays must have.
func (r *Registry) Slots() int { return r.slots }

// Full reports whether Add would need a slot beyond a number of them.
func (r *Registry) Full(slots int) bool { return len(r.free) == 0 && r.slots >= slots }

// Add gives out an id, in O(1). Its slot is a free one, or Slots() as it was
// before the call.
func (r *Registry) Add() int {
	var slot int
	if k := len(r.free); k > 0 {
		slot = int(r.free[k-1])
		r.free = r.free[:k-1]
		r.gen[slot]++
	} else {
		slot = r.slots
		if slot >= MaxSlots {
			panic("ids: no slot left")
		}
		r.slots++
	}
	r.n++
	return r.ID(slot)
}

// ID returns the id that is valid for a slot, or was last.
func (r *Registry) ID(slot int) int { return int(r.generation(slot)>>1)<<SlotBits | slot }

// Slot returns the slot of a valid id, in O(1).
func (r *Registry) Slot(id int) (slot int, ok bool) {
	slot = id & slotMask
	if id < 0 || slot >= r.slots || r.generation(slot) != uint16(id>>SlotBits)<<1 || id>>SlotBits >= generations {
		return 0, false
	}
	return slot, true
}

// Live says whether a slot holds a valid id.
func (r *Registry) Live(slot int) bool { return r.generation(slot)&1 == 0 }

// All returns the valid ids, in the order of their slots.
func (r *Registry) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for slot := range r.slots {
			if r.Live(slot) && !yield(r.ID(slot)) {
				return
			}
		}
	}
}

// Remove makes an id invalid, in O(1), and says whether it was valid.
func (r *Registry) Remove(id int) bool {
	slot, ok := r.Slot(id)
	if !ok {
		return false
	}
	if missing := slot + 1 - len(r.gen); missing > 0 {
		r.gen = append(r.gen, make([]uint16, missing)...)
	}
	r.gen[slot]++
	r.n--
	if id>>SlotBits < generations-1 {
		r.free = append(r.free, uint32(slot))
	}
	return true
}

// Encode writes the registry.
func (r *Registry) Encode(e *codec.Encoder) {
	e.Int(r.slots)
	e.Uint16s(r.gen)
	e.Uint32s(r.free)
}

// Decode reads a registry; the decoder's error says whether it could.
func Decode(d *codec.Decoder) Registry {
	r := Registry{slots: d.Int(), gen: d.Uint16s(), free: d.Uint32s()}
	if r.slots < len(r.gen) || r.slots > MaxSlots {
		d.Fail("%d slots", r.slots)
	}
	free := 0
	r.n = r.slots - len(r.gen)
	for _, g := range r.gen {
		switch {
		case g&1 == 0:
			r.n++
		case int(g>>1) < generations-1:
			free++
		}
	}
	if len(r.free) != free {
		d.Fail("%d free slots listed, %d found", len(r.free), free)
	}
	listed := make(map[uint32]bool, len(r.free))
	for _, s := range r.free {
		if int(s) >= len(r.gen) || r.gen[s]&1 == 0 || int(r.gen[s]>>1) >= generations-1 || listed[s] {
			d.Fail("slot %d is listed as free", s)
			break
		}
		listed[s] = true
	}
	if d.Err() != nil {
		return Registry{}
	}
	return r
}
