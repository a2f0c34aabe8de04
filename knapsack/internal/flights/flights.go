// Package flights notes which pages are in flight, by their slots, and since when.
package flights

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// A Table holds the slots in flight, each with the time of its Next: a hash table with linear
// probing, at most half full, in which a poll costs a fraction of what it does in a map. Put, Get
// and Delete take O(1) in the mean. It takes 32 to 64 bytes for each of the most flights that there
// were.
type Table struct {
	cells []cell // a power of two of them
	n     int    // that are full
}

type cell struct {
	at   float64
	slot uint32
	full bool
}

// smallest is the number of cells of an empty table.
const smallest = 8

// Make returns an empty table.
func Make() Table { return Table{cells: make([]cell, smallest)} }

// Zero reports whether t is a zero value, which only Zero may be called of.
func (t *Table) Zero() bool { return t.cells == nil }

// Len returns the number of flights.
func (t *Table) Len() int { return t.n }

// home returns the cell at which the search for a slot begins.
func (t *Table) home(slot uint32) int {
	return int(slot * 0x9e3779b1 >> (32 - bits.Len32(uint32(len(t.cells)-1)))) // 2³² over the golden ratio
}

// find returns the cell of a slot, or the one where it would be.
func (t *Table) find(slot uint32) int {
	k := t.home(slot)
	for t.cells[k].full && t.cells[k].slot != slot {
		k = (k + 1) & (len(t.cells) - 1)
	}
	return k
}

// Get returns since when a slot is in flight.
func (t *Table) Get(slot int) (at float64, ok bool) {
	c := &t.cells[t.find(uint32(slot))]
	return c.at, c.full
}

// Put notes that a slot is in flight.
func (t *Table) Put(slot int, at float64) {
	if 2*t.n >= len(t.cells) {
		t.grow()
	}
	c := &t.cells[t.find(uint32(slot))]
	if !c.full {
		t.n++
	}
	*c = cell{at, uint32(slot), true}
}

func (t *Table) grow() {
	old := t.cells
	t.cells = make([]cell, 2*len(old))
	for _, c := range old {
		if c.full {
			t.cells[t.find(c.slot)] = c
		}
	}
}

// Delete ends the flight of a slot, and reports whether it was in flight.
func (t *Table) Delete(slot int) bool {
	gap := t.find(uint32(slot))
	if !t.cells[gap].full {
		return false
	}
	// Invariant: of the cells up to k, all but the gap are found from their homes.
	mask := len(t.cells) - 1
	for k := (gap + 1) & mask; t.cells[k].full; k = (k + 1) & mask {
		if (k-t.home(t.cells[k].slot))&mask >= (k-gap)&mask {
			t.cells[gap] = t.cells[k]
			gap = k
		}
	}
	t.cells[gap] = cell{}
	t.n--
	return true
}

// All returns the flights, in the order of their slots.
func (t *Table) All() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		all := make([]cell, 0, t.n)
		for _, c := range t.cells {
			if c.full {
				all = append(all, c)
			}
		}
		slices.SortFunc(all, func(a, b cell) int { return cmp.Compare(a.slot, b.slot) })
		for _, c := range all {
			if !yield(int(c.slot), c.at) {
				return
			}
		}
	}
}
