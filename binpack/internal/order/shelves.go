package order

import (
	"math"
	"math/bits"
	"sort"
)

const (
	// A class is an eighth of an octave of weights: a site next in class differs from the one that
	// is asked for by a tenth at most, which is little beside the change of a node's load.
	classBits = 3
	// samples is how many sites of a class are looked at. With all of a class alike one would do.
	samples = 8
	// refusals is how many sites are looked at that must not be taken, before Below and Above give
	// up.
	refusals = 256
)

// classOf is monotone; weights below 2^classBits have a class each.
func classOf(w int64) uint16 {
	if w < 1<<classBits {
		return uint16(w)
	}
	shift := bits.Len64(uint64(w)) - classBits - 1
	return uint16(shift<<classBits) + uint16(w>>shift)
}

// shelf is the sites of one class on one node: a circular list.
type shelf struct {
	class uint16
	head  int32
}

// Shelves keep the sites on each node by classes of their weight, so that to add, remove and find
// one takes O(log classes), whatever the number of sites. There are at most 8 classes for every
// factor of 2 between weights. Within a class the order is that of arrival.
type Shelves struct {
	next, prev []int32   // of each site slot
	node       [][]shelf // of each node slot, by class
	// Steps counts the sites and classes visited, for tests of the cost.
	Steps int
}

// GrowSites and GrowNodes make room for n slots.
func (x *Shelves) GrowSites(n int) {
	for len(x.next) < n {
		x.next, x.prev = append(x.next, 0), append(x.prev, 0)
	}
}

// GrowNodes makes room for n slots of nodes.
func (x *Shelves) GrowNodes(n int) {
	for len(x.node) < n {
		x.node = append(x.node, nil)
	}
}

// find returns the first position of a class of at least c.
func (x *Shelves) find(node int, c uint16) int {
	s := x.node[node]
	x.Steps += bits.Len(uint(len(s)))
	return sort.Search(len(s), func(k int) bool { return s[k].class >= c })
}

// Add puts a site of weight w on a node, behind all of its class.
func (x *Shelves) Add(node, site int, w int64) {
	c, s := classOf(w), int32(site)
	k := x.find(node, c)
	shelves := x.node[node]
	if k < len(shelves) && shelves[k].class == c {
		head := shelves[k].head
		last := x.prev[head]
		x.next[last], x.prev[s] = s, last
		x.next[s], x.prev[head] = head, s
		return
	}
	x.next[s], x.prev[s] = s, s
	shelves = append(shelves, shelf{})
	copy(shelves[k+1:], shelves[k:])
	shelves[k] = shelf{c, s}
	x.node[node] = shelves
}

// Remove takes a site of weight w off its node.
func (x *Shelves) Remove(node, site int, w int64) {
	s := int32(site)
	k := x.find(node, classOf(w))
	shelves := x.node[node]
	next, prev := x.next[s], x.prev[s]
	if next == s {
		x.node[node] = append(shelves[:k], shelves[k+1:]...)
		return
	}
	x.next[prev], x.prev[next] = next, prev
	if shelves[k].head == s {
		shelves[k].head = next
	}
}

// Change tells that the weight of a site changes. O(1) if its class stays.
func (x *Shelves) Change(node, site int, from, to int64) {
	if classOf(from) != classOf(to) {
		x.Remove(node, site, from)
		x.Add(node, site, to)
	}
}

// All yields the sites of a node by increasing class. O(1) a site.
func (x *Shelves) All(node int, yield func(site int) bool) {
	for _, s := range x.node[node] {
		if !x.shelf(s, math.MaxInt, yield) {
			return
		}
	}
}

// Some is All for at most a few of each class, so that its cost is that of the classes.
func (x *Shelves) Some(node int, yield func(site int) bool) {
	for _, s := range x.node[node] {
		if !x.shelf(s, samples, yield) {
			return
		}
	}
}

// shelf yields at most n sites of a shelf.
func (x *Shelves) shelf(s shelf, n int, yield func(site int) bool) bool {
	for k := s.head; n > 0; n-- {
		x.Steps++
		if !yield(int(k)) {
			return false
		}
		if k = x.next[k]; k == s.head {
			break
		}
	}
	return true
}

// Below returns the site of a node of the largest weight that is at most w, or −1, of those that
// may be taken; with may nil, of all. Weight has the weights of all site slots. Of a class of many
// sites only a few are looked at, so that the site may be one of a tenth less weight than the best.
func (x *Shelves) Below(node int, w int64, weight []int64, may func(site int) bool) int {
	shelves := x.node[node]
	left := refusals
	for k := x.find(node, classOf(w)+1) - 1; k >= 0; k-- {
		if s := x.nearest(shelves[k], weight, may, &left, func(v int64) bool { return v <= w }, true); s >= 0 || left <= 0 {
			return s
		}
	}
	return -1
}

// Above is Below for the least weight that is more than w.
func (x *Shelves) Above(node int, w int64, weight []int64, may func(site int) bool) int {
	shelves := x.node[node]
	left := refusals
	for k := x.find(node, classOf(w)); k < len(shelves); k++ {
		if s := x.nearest(shelves[k], weight, may, &left, func(v int64) bool { return v > w }, false); s >= 0 || left <= 0 {
			return s
		}
	}
	return -1
}

// nearest returns the heaviest or lightest of the sites looked at whose weight is in range. What
// may not be taken does not count as looked at, but is taken off left.
func (x *Shelves) nearest(s shelf, weight []int64, may func(int) bool, left *int, in func(int64) bool, heaviest bool) int {
	best, seen := -1, 0
	x.shelf(s, math.MaxInt, func(site int) bool {
		w := weight[site]
		switch {
		case !in(w):
			seen++
		case best >= 0 && (w == weight[best] || w < weight[best] == heaviest):
			seen++
		case may != nil && !may(site):
			*left--
		default:
			best = site
			seen++
		}
		return seen < samples && *left > 0
	})
	return best
}
