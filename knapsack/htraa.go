package knapsack

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/source"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// HTRAAConfig holds the settings of HTRAA. A zero field means its default.
type HTRAAConfig struct {
	// States is N, the resolution of each automaton: 2 to 65534, default 500.
	States int
	// Random draws each poll's page, instead of spacing the polls of a page
	// evenly as the paper does.
	Random bool
}

// HTRAA is the hierarchy of twofold resource allocation automata of Granmo and
// Oommen 2010. It learns the same thing as LAKG, the amounts at which all pages
// are equally likely to have changed when polled, in a number of polls that grows
// with the depth of a binary tree instead of the number of pages.
//
// The pages are the leaves. Each inner node is an automaton with a state s in
// 1..N that gives the share q = s/(N+1) of what it gets to its left side and
// r = 1 − q to its right. A poll that found a change moves all automata above its
// page,
//
//	s ← s + 1   with probability r if the page is on the left and s < N
//	s ← s − 1   with probability q if the page is on the right and s > 1
//
// and one that found none moves nothing. A node stands still where both sides
// find changes equally often per poll.
//
// Good at: fast learning from nothing, sublinear in the number of pages. Bad at:
// pages of very different rates under one node (a share cannot fall below
// 1/(N+1)), and polls that find nothing teach it nothing.
//
// Next and Observe take O(log n) and do not allocate; at most 28 bytes a page.
// A poll given back counts as made.
type HTRAA struct {
	book
	cfg  HTRAAConfig
	src  rand.Source
	size int // leaves, a power of two; leaf of slot i is node size+i

	// Of nodes 1..size−1, the children of k being 2k and 2k+1:
	state []uint16
	turn  []float64 // Even: what the left side is owed, in polls of this node, in [0, 1)
	// Of all nodes:
	pages []uint32 // valid pages at the leaves below
	idle  []uint32 // of those, not in flight
}

var _ Learner = (*HTRAA)(nil)

// NewHTRAA returns an HTRAA of n pages 0..n−1, all polled equally often at first.
// It returns ErrConfig for a setting out of range, and panics if src is nil or n
// negative.
func NewHTRAA(n int, cfg HTRAAConfig, src rand.Source) (*HTRAA, error) {
	source.Require(src, "knapsack")
	if cfg.States == 0 {
		cfg.States = 500
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	h := &HTRAA{book: newBook(n), cfg: cfg, src: src}
	h.size = 1 << bits.Len(uint(max(n, 2)-1))
	h.allocate()
	for slot := range n {
		h.pages[h.size+slot], h.idle[h.size+slot] = 1, 1
	}
	for k := h.size - 1; k >= 1; k-- {
		h.join(k)
	}
	return h, nil
}

func (c HTRAAConfig) check() error {
	if c.States < 2 || c.States > math.MaxUint16-1 {
		return fmt.Errorf("%w: %d states", ErrConfig, c.States)
	}
	return nil
}

func (h *HTRAA) allocate() {
	h.state, h.turn = make([]uint16, h.size), make([]float64, h.size)
	h.pages, h.idle = make([]uint32, 2*h.size), make([]uint32, 2*h.size)
	for k := range h.turn {
		h.state[k], h.turn[k] = 1, 0.5
	}
}

// join counts the pages at node k and starts its automaton.
func (h *HTRAA) join(k int) {
	h.pages[k], h.idle[k] = h.pages[2*k]+h.pages[2*k+1], h.idle[2*k]+h.idle[2*k+1]
	h.start(k)
}

// start gives the sides of node k shares by their number of pages.
func (h *HTRAA) start(k int) {
	s := math.Round(float64(h.pages[2*k]) / float64(max(h.pages[k], 1)) * float64(h.cfg.States+1))
	h.state[k] = uint16(min(max(s, 1), float64(h.cfg.States)))
}

// share returns q of node k.
func (h *HTRAA) share(k int) float64 { return float64(h.state[k]) / float64(h.cfg.States+1) }

// Next implements Scheduler.
func (h *HTRAA) Next(now float64) (page int, err error) {
	if err := h.clock(now); err != nil {
		return 0, err
	}
	if h.idle[1] == 0 {
		return 0, ErrNoPage
	}
	k := 1
	// Invariant: an idle page is below k.
	for k < h.size {
		var left bool
		if h.cfg.Random {
			left = pick.Float64(h.src) < h.share(k)
		} else if h.pages[2*k] > 0 && h.pages[2*k+1] > 0 {
			// The left side is due whenever it is owed a whole poll: of any m
			// polls in a row it gets ⌊mq⌋ or ⌈mq⌉.
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
	return h.ask(k-h.size, now), nil
}

// fly changes the idle pages at a leaf.
func (h *HTRAA) fly(leaf, by int) {
	for k := leaf; k >= 1; k /= 2 {
		h.idle[k] = uint32(int(h.idle[k]) + by)
	}
}

// Observe implements Scheduler.
func (h *HTRAA) Observe(page int, now float64, changed bool) error {
	slot, err := h.answer(page, now)
	if err != nil {
		return err
	}
	leaf := h.size + slot
	h.fly(leaf, +1)
	if !changed {
		return nil
	}
	for k := leaf; k > 1; k /= 2 {
		h.feed(k/2, k%2 == 0)
	}
	return nil
}

// feed tells the automaton at node k that one of its sides found a change.
func (h *HTRAA) feed(k int, left bool) {
	if h.pages[2*k] == 0 || h.pages[2*k+1] == 0 {
		return // nothing to share
	}
	q := h.share(k)
	switch u := pick.Float64(h.src); {
	case left && u < 1-q && int(h.state[k]) < h.cfg.States:
		h.state[k]++
	case !left && u < q && h.state[k] > 1:
		h.state[k]--
	}
}

// GiveBack implements Scheduler.
func (h *HTRAA) GiveBack(page int, now float64) error {
	slot, err := h.answer(page, now)
	if err == nil {
		h.fly(h.size+slot, +1)
	}
	return err
}

// Add implements Learner, in O(log n), or O(n) when the tree doubles. The page
// gets an equal part of the first subtree with other pages above it.
func (h *HTRAA) Add() (page int) {
	page = h.ids.Add()
	slot := Slot(page)
	if slot == h.size {
		h.double()
	}
	for k := h.size + slot; k >= 1; k /= 2 {
		h.pages[k]++
		h.idle[k]++
	}
	for k := h.size + slot; k >= 1; k /= 2 {
		if k > 1 && h.pages[k] == 1 {
			h.start(k / 2) // this side was empty
		}
	}
	return page
}

// double makes the tree the left side of one twice as large.
func (h *HTRAA) double() {
	old := *h
	h.size *= 2
	h.allocate()
	copyLevels(h.pages, old.pages, 2*old.size)
	copyLevels(h.idle, old.idle, 2*old.size)
	copyLevels(h.state, old.state, old.size)
	copyLevels(h.turn, old.turn, old.size)
	h.join(1)
}

// copyLevels copies the levels of a tree of nodes 1..n−1 to the left side of
// another: node k of level d, 2^d ≤ k < 2^(d+1), becomes node k + 2^d.
func copyLevels[T any](to, from []T, n int) {
	for first := 1; first < n; first *= 2 {
		copy(to[2*first:3*first], from[first:2*first])
	}
}

// Remove implements Learner.
func (h *HTRAA) Remove(page int) error {
	slot, flying, err := h.remove(page)
	if err != nil {
		return err
	}
	leaf := h.size + slot
	if !flying {
		h.fly(leaf, -1)
	}
	for k := leaf; k >= 1; k /= 2 {
		h.pages[k]--
	}
	return nil
}

// Share returns the share of all polls that a page gets.
func (h *HTRAA) Share(page int) (float64, error) {
	slot, err := h.slot(page)
	if err != nil {
		return 0, err
	}
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
	return share, nil
}

const htraaMagic = "recrawl/htraa"

// AppendBinary appends the state, source included.
func (h *HTRAA) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, htraaMagic, 1)
	h.book.encode(e)
	e.Int(h.cfg.States)
	e.Bool(h.cfg.Random)
	e.Source(h.src)
	e.Uint16s(h.state)
	e.Float64s(h.turn)
	return e.Finish()
}

// MarshalBinary returns the state, source included.
func (h *HTRAA) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; h may be the zero value.
func (h *HTRAA) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, htraaMagic, 1)
	if err != nil {
		return err
	}
	r := HTRAA{book: decodeBook(d), cfg: HTRAAConfig{States: d.Int(), Random: d.Bool()}, src: d.Source()}
	state, turn := d.Uint16s(), d.Float64s()
	if err := r.cfg.check(); err != nil || r.src == nil {
		d.Fail("settings %+v, source %v", r.cfg, r.src)
	}
	r.size = len(state)
	if r.size < 2 || r.size&(r.size-1) != 0 || r.size < r.ids.Slots() || len(turn) != r.size {
		d.Fail("a tree of %d and %d nodes for %d slots", r.size, len(turn), r.ids.Slots())
	}
	if d.Err() != nil {
		return d.Err()
	}
	r.allocate()
	for slot := range r.ids.Slots() {
		if r.ids.Live(slot) {
			r.pages[r.size+slot] = 1
			if !r.inFlight(slot) {
				r.idle[r.size+slot] = 1
			}
		}
	}
	for k := r.size - 1; k >= 1; k-- {
		r.join(k)
		if s := int(state[k]); s < 1 || s > r.cfg.States || !(turn[k] >= 0 && turn[k] < 1) {
			d.Fail("node %d in state %d, turn %v", k, s, turn[k])
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	r.state, r.turn = state, turn
	*h = r
	return nil
}
