package game

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// A Hierarchy holds the automata of an HTRAA, and which pages are not in flight. See
// knapsack.HTRAA.
type Hierarchy struct {
	states int
	random bool // spacing
	src    rand.Source
	size   int // leaves, a power of two; leaf of slot i is node size+i

	// Of nodes 1..size−1, the children of k being 2k and 2k+1:
	state []uint16
	turn  []float64 // with even spacing: what the left side is owed, in polls of this node, in [0, 1)
	// Of all nodes:
	pages []uint32 // valid pages at the leaves below
	idle  []uint32 // of those, not in flight
}

// NewHierarchy returns a hierarchy with pages in the slots from 0 to n−1, all polled equally often.
func NewHierarchy(n, states int, random bool, src rand.Source) *Hierarchy {
	h := &Hierarchy{states: states, random: random, src: src, size: 1 << bits.Len(uint(max(n, 2)-1))}
	h.allocate()
	there := func(slot int) bool { return slot < n }
	h.fill(n, there, there)
	return h
}

// fill counts the pages at all nodes and starts all automata. live reports which slots hold a page,
// in which of these are not in flight.
func (h *Hierarchy) fill(slots int, live, in func(slot int) bool) {
	for slot := range slots {
		if live(slot) {
			h.pages[h.size+slot] = 1
			if in(slot) {
				h.idle[h.size+slot] = 1
			}
		}
	}
	for k := h.size - 1; k >= 1; k-- {
		h.join(k)
	}
}

func (h *Hierarchy) allocate() {
	h.state, h.turn = make([]uint16, h.size), make([]float64, h.size)
	h.pages, h.idle = make([]uint32, 2*h.size), make([]uint32, 2*h.size)
	for k := range h.turn {
		h.state[k], h.turn[k] = 1, 0.5
	}
}

// join counts the pages at node k and starts its automaton.
func (h *Hierarchy) join(k int) {
	h.pages[k], h.idle[k] = h.pages[2*k]+h.pages[2*k+1], h.idle[2*k]+h.idle[2*k+1]
	h.state[k] = h.start(k)
}

// start returns the state that gives the sides of node k shares by their number of pages.
func (h *Hierarchy) start(k int) uint16 {
	left, right := h.pages[2*k], h.pages[2*k+1]
	s := math.Round(float64(left) / float64(max(left+right, 1)) * float64(h.states+1))
	return uint16(min(max(s, 1), float64(h.states)))
}

// count changes the number of pages at a leaf. The shares of nodes where they are by the number of pages, as
// of all that have learnt nothing yet, stay so.
func (h *Hierarchy) count(leaf, by int) {
	h.pages[1] = uint32(int(h.pages[1]) + by)
	for d := bits.Len(uint(leaf)) - 2; d >= 0; d-- {
		k, side := leaf>>(d+1), &h.pages[leaf>>d]
		anew := *side == 0 || h.state[k] == h.start(k)
		if *side = uint32(int(*side) + by); anew {
			h.state[k] = h.start(k)
		}
	}
}

// share returns q of node k.
func (h *Hierarchy) share(k int) float64 { return float64(h.state[k]) / float64(h.states+1) }

// Pick takes a page out, in O(log n).
func (h *Hierarchy) Pick(float64) (slot int, ok bool) {
	if h.idle[1] == 0 {
		return 0, false
	}
	k := 1
	// Invariant: an idle page is below k.
	for k < h.size {
		var left bool
		if h.random {
			left = pick.Float64(h.src) < h.share(k)
		} else if h.pages[2*k] > 0 && h.pages[2*k+1] > 0 {
			// The left side is due whenever it is owed a whole poll: of any m polls in a row it
			// gets ⌊mq⌋ or ⌈mq⌉.
			h.turn[k] += h.share(k)
			if left = h.turn[k] >= 1; left {
				h.turn[k]--
			}
		}
		switch k *= 2; {
		case h.idle[k] == 0:
			k++
		case h.idle[k+1] > 0 && !left:
			k++
		}
	}
	h.fly(k, -1)
	return k - h.size, true
}

// fly changes the idle pages at a leaf.
func (h *Hierarchy) fly(leaf, by int) {
	for k := leaf; k >= 1; k /= 2 {
		h.idle[k] = uint32(int(h.idle[k]) + by)
	}
}

// Reward tells the automata above a page that a poll of it found a change.
func (h *Hierarchy) Reward(slot int) {
	for k := h.size + slot; k > 1; k /= 2 {
		h.feed(k/2, k%2 == 0)
	}
}

// feed tells the automaton at node k that one of its sides found a change.
func (h *Hierarchy) feed(k int, left bool) {
	if h.pages[2*k] == 0 || h.pages[2*k+1] == 0 {
		return // nothing to share
	}
	q := h.share(k)
	switch u := pick.Float64(h.src); {
	case left && u < 1-q && int(h.state[k]) < h.states:
		h.state[k]++
	case !left && u < q && h.state[k] > 1:
		h.state[k]--
	}
}

// Put brings a page in. A new page gets an equal part of the first subtree with other pages
// above it, and of those above whose shares are by the number of pages, in O(log n), or O(n) when the
// tree doubles.
func (h *Hierarchy) Put(slot int, _ float64) {
	if slot == h.size {
		h.double()
	}
	leaf := h.size + slot
	h.fly(leaf, +1)
	if h.pages[leaf] > 0 {
		return
	}
	h.count(leaf, +1)
}

// double makes the tree the left side of one twice as large.
func (h *Hierarchy) double() {
	old := *h
	h.size *= 2
	h.allocate()
	copyLevels(h.pages, old.pages, 2*old.size)
	copyLevels(h.idle, old.idle, 2*old.size)
	copyLevels(h.state, old.state, old.size)
	copyLevels(h.turn, old.turn, old.size)
	h.join(1)
}

// copyLevels copies the levels of a tree of nodes 1..n−1 to the left side of another: node k of
// level d, 2^d ≤ k < 2^(d+1), becomes node k + 2^d.
func copyLevels[T any](to, from []T, n int) {
	for first := 1; first < n; first *= 2 {
		copy(to[2*first:3*first], from[first:2*first])
	}
}

// Drop forgets a page, in or out.
func (h *Hierarchy) Drop(slot int) {
	leaf := h.size + slot
	if h.idle[leaf] > 0 {
		h.fly(leaf, -1)
	}
	h.count(leaf, -1)
}

// Frequency returns the share of all polls that a page gets.
func (h *Hierarchy) Frequency(slot int) float64 {
	share := 1.0
	for k := h.size + slot; k > 1; k /= 2 {
		switch q := h.share(k / 2); {
		case h.pages[k^1] == 0: // no one to share with
		case k%2 == 0:
			share *= q
		default:
			share *= 1 - q
		}
	}
	return share
}

// Encode writes what does not follow from the settings.
func (h *Hierarchy) Encode(e *codec.Encoder) {
	e.Source(h.src)
	e.Uint16s(h.state)
	e.Float64s(h.turn)
}

// DecodeHierarchy reads what Encode wrote of so many slots. live reports which of them hold a page,
// in which of these are not in flight.
func DecodeHierarchy(d *codec.Decoder, states int, random bool, slots int, live, in func(slot int) bool) *Hierarchy {
	src := d.NeedSource()
	state := d.Uint16sIn(codec.AnyLen, uint16(states))
	h := &Hierarchy{states: states, random: random, src: src, size: len(state)}
	turn := d.Float64sIn(h.size, 0, math.Nextafter(1, 0))
	d.Require(h.size >= 2 && h.size&(h.size-1) == 0 && h.size >= slots, "a tree of %d nodes for %d slots", h.size, slots)
	if d.Err() != nil {
		return nil
	}
	for k, s := range state {
		d.Require(k == 0 || s > 0, "node %d in state 0", k)
	}
	h.allocate()
	h.fill(slots, live, in)
	h.state, h.turn = state, turn
	return h
}
