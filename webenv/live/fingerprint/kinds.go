package fingerprint

import (
	"cmp"
	"slices"
)

// A kind is what the blocks of one template have in common: the tags before and in them, the column in a table,
// and whether they have a number. A list has one kind of block for the counters of all items, and another for
// the titles. One of 127 pairs of different tags has the same kind by chance. 0 is no kind.
type kind uint8

const numberOfKinds = 1 << 8

// kindOf returns the kind of a block with a hash of the tags before and in it.
func kindOf(tags uint64, number bool) kind {
	k := kind(mix(tags)%(numberOfKinds/2-1)+1) << 1
	if number {
		k++
	}
	return k
}

// fewNoisy is the fewest blocks that come and go, in two places or more, with which a kind is noisy. Two may
// be clocks that have nothing to do with each other.
const fewNoisy = 3

// kinds are the kinds of which most blocks come and go.
type kinds struct {
	noisy [numberOfKinds]bool
	// quiet has the noisy kinds of which no more blocks came than left: their changes are masked in any place.
	quiet [numberOfKinds]bool
	moves []move
}

// A move counts the blocks of a kind that came to a place in this copy, less those that left it.
type move struct {
	place uint32
	kind  kind
	by    int
}

// findKinds finds the noisy kinds: those of which at least half of the blocks of this copy come and go. A
// block that is new counts if its place is noisy, and one that has stayed for long counts as content.
func (p *Page) findKinds(s *changes) {
	var all, noisy [numberOfKinds]int
	var first [numberOfKinds]uint32 // the place of the first noisy block
	var several [numberOfKinds]bool // there is another place
	count := func(e entry) {
		if k := e.kind; noisy[k] == 0 {
			first[k] = e.place
		} else {
			several[k] = several[k] || first[k] != e.place
		}
		all[e.kind]++
		noisy[e.kind]++
	}
	for _, e := range p.entries {
		switch {
		case e.flags&here == 0 || e.run == 0:
		case e.flags&(masked|noise) != 0 && !e.stays():
			count(e)
		default:
			all[e.kind]++
		}
	}
	for _, e := range s.fresh {
		if p.noisy(e.place, 1) {
			count(e)
		}
	}
	for k := range s.noisy {
		s.noisy[k] = k > 0 && noisy[k] >= fewNoisy && several[k] && 2*noisy[k] >= all[k]
	}
}

// findQuiet finds the noisy kinds of which as many blocks that come and go left a place without another as
// came to places that are not noisy.
func (p *Page) findQuiet(s *changes) {
	s.moves = s.moves[:0]
	add := func(e entry, by int) {
		if s.noisy[e.kind] {
			s.moves = append(s.moves, move{e.place, e.kind, by})
		}
	}
	for _, e := range p.entries {
		if e.returns() {
			add(e, 1)
		}
	}
	for _, e := range s.fresh {
		add(e, 1)
	}
	for _, e := range s.gone {
		if p.passing(e) {
			add(e, -1)
		}
	}
	slices.SortFunc(s.moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.kind, b.kind))
	})
	var came, left [numberOfKinds]int
	for i, j := 0, 0; i < len(s.moves); i = j {
		at, by := s.moves[i], 0
		for ; j < len(s.moves) && s.moves[j].place == at.place && s.moves[j].kind == at.kind; j++ {
			by += s.moves[j].by
		}
		if by < 0 {
			left[at.kind] -= by
		} else if !p.noisy(at.place, 1) {
			came[at.kind] += by
		}
	}
	for k := range s.quiet {
		s.quiet[k] = s.noisy[k] && came[k] <= left[k]
	}
}

// passing reports whether a block of a noisy kind that is gone was one that comes and goes. If others have
// its text, such as "3 hours ago", nobody knows for how many copies it was there, nor if it was there from
// the first copy on.
func (p *Page) passing(e entry) bool {
	passed := e.flags&(masked|noise) != 0 || e.run < min(lateAfter, p.copies-1)
	if e.flags&repeated != 0 || e.flags&lasted == 0 && passed {
		return true
	}
	_, more := p.entry(nth(e.hash, 1))
	return more
}
