package heap

import "math"

// None stands in a table of places for a slot that is in no heap.
const None = math.MaxUint32

// Slots is a 4-ary heap of slots with the least key first: Key[i] is the key of Slot[i],
// whose parent is at (i−1)/4. The four children of a node lie in one cache line. The zero
// value is empty. No key is NaN.
//
// The methods are handed a table of places, indexed by slot, and keep place[slot] = Tag |
// position up to date there, or None for a slot that is in no heap. Several heaps with
// different tags, in bits above the positions, can share a table, in which each slot is
// in one of them at most. With a nil table the heap keeps no places, and may hold a slot
// twice.
//
// Push, Remove and Move take O(log n).
type Slots struct {
	Tag  uint32
	Key  []float64
	Slot []uint32
}

// Len returns the number of slots in the heap.
func (h *Slots) Len() int { return len(h.Slot) }

// Push adds a slot.
func (h *Slots) Push(place []uint32, slot uint32, key float64) {
	h.Key, h.Slot = append(h.Key, key), append(h.Slot, slot)
	h.up(place, len(h.Slot)-1)
}

// Remove takes out the slot at a position.
func (h *Slots) Remove(place []uint32, at int) {
	last := len(h.Slot) - 1
	if place != nil {
		place[h.Slot[at]] = None
	}
	key, slot := h.Key[last], h.Slot[last]
	h.Key, h.Slot = h.Key[:last], h.Slot[:last]
	if at < last {
		h.Key[at], h.Slot[at] = key, slot
		h.settle(place, at)
	}
}

// Move changes the key of the slot at a position.
func (h *Slots) Move(place []uint32, at int, key float64) {
	h.Key[at] = key
	h.settle(place, at)
}

// Ordered reports whether the keys are in heap order, none is NaN and there is one for
// each slot.
func (h *Slots) Ordered() bool {
	if len(h.Key) != len(h.Slot) {
		return false
	}
	for i, key := range h.Key {
		if !(h.Key[max(i-1, 0)/4] <= key) {
			return false
		}
	}
	return true
}

func (h *Slots) settle(place []uint32, at int) {
	if at > 0 && h.Key[at] < h.Key[(at-1)/4] {
		h.up(place, at)
	} else {
		h.down(place, at)
	}
}

func (h *Slots) up(place []uint32, at int) {
	key, slot := h.Key[at], h.Slot[at]
	for at > 0 {
		parent := (at - 1) / 4
		if h.Key[parent] <= key {
			break
		}
		h.set(place, at, h.Key[parent], h.Slot[parent])
		at = parent
	}
	h.set(place, at, key, slot)
}

func (h *Slots) down(place []uint32, at int) {
	key, slot := h.Key[at], h.Slot[at]
	for {
		least := 4*at + 1
		if least >= len(h.Key) {
			break
		}
		for child := least + 1; child < min(4*at+5, len(h.Key)); child++ {
			if h.Key[child] < h.Key[least] {
				least = child
			}
		}
		if key <= h.Key[least] {
			break
		}
		h.set(place, at, h.Key[least], h.Slot[least])
		at = least
	}
	h.set(place, at, key, slot)
}

func (h *Slots) set(place []uint32, at int, key float64, slot uint32) {
	h.Key[at], h.Slot[at] = key, slot
	if place != nil {
		place[slot] = h.Tag | uint32(at)
	}
}
