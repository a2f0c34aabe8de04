package queue

import (
	"math"
	"math/bits"
)

// Shelves keep the pages of a large lot in many small trees, each of pages whose numbers in nodes
// are within 1 to 2 % of each other. To meld these takes fewer steps than one tree of thousands, and
// each step is a miss of the cache. Pages leave in the order of one tree.
type shelves struct {
	tree [shelfCount]uint32      // None for an empty one
	used [shelfCount / 64]uint64 // bits: trees that are not empty
	rest uint32                  // pages that belong on no shelf, or came before there were shelves
	// shelfOf of tree[0], as when the lot was empty: after a large change of the budget or the level
	// new pages belong into rest until it is empty again, which is slower.
	low int
}

const (
	shelfCount = 1024
	// shelfBits is how many bits of a number in a node tell pages of one shelf apart: 64 shelves are a
	// factor of 2, and all of them one of 65,000.
	shelfBits = 17
	// below is how many shelves are for pages that are due within a cycle: those from 1/128 of one.
	below = 7 << (23 - shelfBits)
	// sooner is how many there are at least for pages due sooner than the first one of a lot: from
	// 1/16 of its time. In the beginning of a crawl pages are due within a small part of a cycle.
	sooner = 4 << (23 - shelfBits)
	// A set has shelves from shelvedFrom times pagesPerShelves pages on. No more lots have them than
	// there are pages over pagesPerShelves, so that they take a byte a page. Choices and saved states do
	// not depend on any of these numbers, which were chosen by the time of a poll with 10⁶ pages.
	shelvedFrom, pagesPerShelves = 4, 4800
)

// shelfOf numbers what nodes say.
func shelfOf(x float32) int { return int(math.Float32bits(x) >> shelfBits) }

// furnish gives a lot shelves, if its set is large and there is room, for pages about as far as that
// of which a node says x.
func (q *Queue) furnish(s uint32, l *lot, x float32) {
	each := pagesPerShelves
	if q.crowd > 0 {
		each = q.crowd
	}
	if l.shelves > 0 || l.alike || int(q.sets.At(s).count) < shelvedFrom*each {
		return
	}
	if k := len(q.bare); k > 0 {
		l.shelves, q.bare = q.bare[k-1], q.bare[:k-1]
	} else if k = len(q.shelves); k < min(math.MaxUint16, len(q.place)/each) {
		q.shelves = append(q.shelves, new(shelves))
		l.shelves = uint16(k + 1)
	} else {
		return
	}
	on := q.shelves[l.shelves-1]
	on.used, on.rest = [shelfCount / 64]uint64{}, l.root
	on.low = max(0, min(shelfOf(q.span(q.width*q.lotsPerCycle()))-below, shelfOf(x)-sooner))
	for k := range on.tree {
		on.tree[k] = None
	}
}

// strip takes the shelves of an empty lot.
func (q *Queue) strip(l *lot) {
	if l.shelves > 0 {
		q.bare = append(q.bare, l.shelves)
		l.shelves = 0
	}
}

// add puts a tree into lot number at and follows which page is first. All pages of the tree have the
// shelfOf k, or k is −1.
func (q *Queue) add(at, tree uint32, k int) {
	l := q.lots.At(at)
	if l.shelves == 0 {
		l.root = q.meld(l.root, tree)
		q.place[l.root] = inLot | at
		return
	}
	on := q.shelves[l.shelves-1]
	to := &on.rest
	if shelf := k - on.low; shelf >= 0 && shelf < shelfCount {
		to = &on.tree[shelf]
		on.used[shelf/64] |= 1 << (shelf % 64)
	}
	*to = q.meld(*to, tree)
	q.place[*to] = inLot | at
	if l.root == None || q.before(*to, l.root) {
		l.root = *to
	}
}

// replace puts what is left of a tree of a lot in its place, as its root was taken out, and reports
// whether that was the first page of the lot.
func (q *Queue) replace(at, root, left uint32) (first bool) {
	l := q.lots.At(at)
	if left != None {
		q.place[left] = inLot | at
	}
	if first = l.root == root; l.shelves == 0 {
		l.root = left
		return first
	}
	on := q.shelves[l.shelves-1]
	if on.rest == root {
		on.rest = left
	} else {
		k := shelfOf(q.nodes[root].x) - on.low
		if on.tree[k] = left; left == None {
			on.used[k/64] &^= 1 << (k % 64)
		}
	}
	if !first {
		return false
	}
	l.root = on.rest
	for i, used := range on.used {
		if used != 0 {
			if tree := on.tree[64*i+bits.TrailingZeros64(used)]; l.root == None || q.before(tree, l.root) {
				l.root = tree
			}
			break
		}
	}
	return true
}

// trees yields the trees of a lot, each with the shelfOf of all of its pages, or −1.
func (q *Queue) trees(l *lot) func(yield func(tree uint32, k int) bool) {
	return func(yield func(tree uint32, k int) bool) {
		if l.shelves == 0 {
			if l.root != None {
				yield(l.root, -1)
			}
			return
		}
		on := q.shelves[l.shelves-1]
		if on.rest != None && !yield(on.rest, -1) {
			return
		}
		for i, used := range on.used {
			for ; used != 0; used &= used - 1 {
				k := 64*i + bits.TrailingZeros64(used)
				if !yield(on.tree[k], on.low+k) {
					return
				}
			}
		}
	}
}
