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

// HTRAAConfig holds the settings of HTRAA.
type HTRAAConfig struct {
	// States is N, the resolution of each automaton: 2 to 65534, default 500.
	States int
	// Spacing is that of a page's polls; default Even, as in the paper.
	Spacing Spacing
}

func (c HTRAAConfig) check() error {
	if c.States < 2 || c.States > math.MaxUint16-1 {
		return fmt.Errorf("%w: %d states", ErrConfig, c.States)
	}
	return spacingNames.Check(c.Spacing)
}

// HTRAA is the hierarchy of twofold resource allocation automata of Granmo and Oommen 2010. Next
// gives the page to poll, Observe learns. Take it for fast learning from nothing: like LAKG it
// comes to the amounts at which all pages are equally likely to have changed when polled, but in
// a number of polls that grows with the logarithm of the number of pages. It is less exact where
// pages of very different rates are neighbours, as no side of a node gets less than 1/(N+1).
//
// # Cost
//
// Time: O(log n) for Next and Observe. Memory: 26 bytes for each of as many pages as the next power
// of two. Polls allocate nothing.
//
// # How it works
//
// The pages are the leaves of a binary tree. Each inner node is an automaton with a state s in
// 1..N that gives the share q = s/(N+1) of the polls it gets to its left side and r = 1 − q to
// its right. A poll that found a change moves all automata above its page,
//
//	s ← s + 1   with probability r if the page is on the left and s < N
//	s ← s − 1   with probability q if the page is on the right and s > 1
//
// and one that found none, or got no answer, moves nothing. A node stands still where both sides
// find changes equally often per poll.
type HTRAA struct{ rostered[*htraaTree] }

// htraaTree holds the automata of an HTRAA, and is its roster.
type htraaTree struct {
	cfg  HTRAAConfig
	src  rand.Source
	size int // leaves, a power of two; leaf of slot i is node size+i

	// Of nodes 1..size−1, the children of k being 2k and 2k+1:
	state []uint16
	turn  []float64 // with Even spacing: what the left side is owed, in polls of this node, in [0, 1)
	// Of all nodes:
	pages []uint32 // valid pages at the leaves below
	idle  []uint32 // of those, not in flight
}

var _ Learner = (*HTRAA)(nil)

// htraaStates is a compromise of speed and resolution: in 40,000 polls of 500 pages 125 to 250
// states find up to 9 % more, 1000 states up to 13 % less (go test ./knapsack -v -run Sweep
// -sweep).
const htraaStates = 500

// NewHTRAA returns an HTRAA of the pages 0..n−1, all polled equally often at first.
func NewHTRAA(n int, cfg HTRAAConfig, src rand.Source) (*HTRAA, error) {
	source.Require(src, "knapsack")
	if cfg.States == 0 {
		cfg.States = htraaStates
	}
	cfg.Spacing = cfg.Spacing.or(Even)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	book := newBook(n)
	h := &htraaTree{cfg: cfg, src: src, size: 1 << bits.Len(uint(max(n, 2)-1))}
	h.allocate()
	h.fill(&book)
	return &HTRAA{rostered[*htraaTree]{book, h}}, nil
}

// fill counts the pages of the book at all nodes and starts all automata.
func (h *htraaTree) fill(b *book) {
	for slot := range b.ids.Slots() {
		if b.ids.Live(slot) {
			h.pages[h.size+slot] = 1
			if !b.inFlight(slot) {
				h.idle[h.size+slot] = 1
			}
		}
	}
	for k := h.size - 1; k >= 1; k-- {
		h.join(k)
	}
}

func (h *htraaTree) allocate() {
	h.state, h.turn = make([]uint16, h.size), make([]float64, h.size)
	h.pages, h.idle = make([]uint32, 2*h.size), make([]uint32, 2*h.size)
	for k := range h.turn {
		h.state[k], h.turn[k] = 1, 0.5
	}
}

// join counts the pages at node k and starts its automaton.
func (h *htraaTree) join(k int) {
	h.pages[k], h.idle[k] = h.pages[2*k]+h.pages[2*k+1], h.idle[2*k]+h.idle[2*k+1]
	h.start(k)
}

// start gives the sides of node k shares by their number of pages.
func (h *htraaTree) start(k int) {
	s := math.Round(float64(h.pages[2*k]) / float64(max(h.pages[k], 1)) * float64(h.cfg.States+1))
	h.state[k] = uint16(min(max(s, 1), float64(h.cfg.States)))
}

// share returns q of node k.
func (h *htraaTree) share(k int) float64 { return float64(h.state[k]) / float64(h.cfg.States+1) }

// Pick implements roster, in O(log n).
func (h *htraaTree) Pick(float64) (slot int, ok bool) {
	if h.idle[1] == 0 {
		return 0, false
	}
	k := 1
	// Invariant: an idle page is below k.
	for k < h.size {
		var left bool
		if h.cfg.Spacing == Random {
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
func (h *htraaTree) fly(leaf, by int) {
	for k := leaf; k >= 1; k /= 2 {
		h.idle[k] = uint32(int(h.idle[k]) + by)
	}
}

// Observe implements Scheduler.
func (h *HTRAA) Observe(page int, now float64, changed bool) error {
	slot, err := h.land(page, now)
	if err != nil || !changed {
		return err
	}
	for k := h.roster.size + slot; k > 1; k /= 2 {
		h.roster.feed(k/2, k%2 == 0)
	}
	return nil
}

// feed tells the automaton at node k that one of its sides found a change.
func (h *htraaTree) feed(k int, left bool) {
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

// Put implements roster. A new page gets an equal part of the first subtree with other pages
// above it, in O(log n), or O(n) when the tree doubles.
func (h *htraaTree) Put(slot int, _ float64) {
	if slot == h.size {
		h.double()
	}
	leaf := h.size + slot
	h.fly(leaf, +1)
	if h.pages[leaf] > 0 {
		return
	}
	for k := leaf; k >= 1; k /= 2 {
		h.pages[k]++
	}
	for k := leaf; k > 1; k /= 2 {
		if h.pages[k] == 1 {
			h.start(k / 2) // this side was empty
		}
	}
}

// double makes the tree the left side of one twice as large.
func (h *htraaTree) double() {
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

// Drop implements roster.
func (h *htraaTree) Drop(slot int) {
	leaf := h.size + slot
	if h.idle[leaf] > 0 {
		h.fly(leaf, -1)
	}
	for k := leaf; k >= 1; k /= 2 {
		h.pages[k]--
	}
}

// Frequency implements roster: the share of all polls that a page gets.
func (h *htraaTree) Frequency(slot int) float64 {
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

var formatHTRAA = codec.Format{Magic: "recrawl/knapsack.HTRAA", Version: 1}

// AppendBinary appends the state, source included.
func (h *HTRAA) AppendBinary(b []byte) ([]byte, error) { return formatHTRAA.Append(b, h.encode) }

// MarshalBinary returns the state, source included.
func (h *HTRAA) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (h *HTRAA) UnmarshalBinary(data []byte) error {
	return codec.Load(h, formatHTRAA, data, (*HTRAA).decode)
}

func (h *HTRAA) encode(e *codec.Encoder) {
	h.book.encode(e)
	e.Int(h.roster.cfg.States)
	e.Byte(byte(h.roster.cfg.Spacing))
	e.Source(h.roster.src)
	e.Uint16s(h.roster.state)
	e.Float64s(h.roster.turn)
}

func (h *HTRAA) decode(d *codec.Decoder) {
	h.book = decodeBook(d)
	r := &htraaTree{cfg: HTRAAConfig{d.Int(), Spacing(d.Byte())}}
	d.Check(r.cfg.check())
	r.src = d.NeedSource()
	state := d.Uint16sIn(codec.AnyLen, uint16(r.cfg.States))
	r.size = len(state)
	turn := d.Float64sIn(r.size, 0, math.Nextafter(1, 0))
	d.Require(r.size >= 2 && r.size&(r.size-1) == 0 && r.size >= h.ids.Slots(), "a tree of %d nodes for %d slots", r.size, h.ids.Slots())
	if d.Err() != nil {
		return
	}
	for k, s := range state {
		d.Require(k == 0 || s > 0, "node %d in state 0", k)
	}
	r.allocate()
	r.fill(&h.book)
	r.state, r.turn = state, turn
	h.roster = r
}
