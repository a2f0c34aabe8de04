package automata

import (
	"math"
	"math/bits"

	"github.com/recrawl/recrawl/internal/codec"
)

// An HSSL searches for a point on [0, 1] in a binary tree of intervals (hierarchical stochastic
// searching on the line). The children of a node are the two halves of its interval. Points
// proposes the ends and the middle of an interval, Learn is told whether the wanted point lies to
// the right of each, and Point returns the best guess. Take it if answers are right with a
// probability above 0.618: it needs about as many steps as the tree is deep, where [SPL] walks over
// all points in between.
//
// # How it works
//
// Learn moves from the present node:
//
//	right of the left end, left of the middle    to the left child
//	right of the middle, left of the right end   to the right child
//	otherwise                                    to the parent
//
// A leaf is its own child, and the root is its own parent.
//
// If each answer is right with probability p, the walk goes from a node whose interval contains the
// point to the child that contains it with probability p², and to the parent with probability 1−p.
// So it settles near the point if p² > 1−p, that is p > 0.618.
//
// # Cost
//
// Time: O(1) for all methods. Memory: two numbers.
//
// # Source
//
// Yazidi, Granmo, Oommen & Goodwin 2014.
type HSSL struct {
	depth int
	node  uint64 // 1 is the root, 2k and 2k+1 are the children of k
}

// maxDepth is the greatest depth at which the ends of an interval are exact.
const maxDepth = 52

var hsslFormat = codec.Format{Magic: "recrawl/automata.HSSL", Version: 1}

// NewHSSL returns a search over 2^depth intervals, depth in 1..52, that starts at the root.
func NewHSSL(depth int) (*HSSL, error) {
	if err := checkInt("depth", depth, 1, maxDepth); err != nil {
		return nil, err
	}
	return &HSSL{depth, 1}, nil
}

// level returns the depth of the node, 0 for the root.
func (a *HSSL) level() int {
	if a.node == 0 {
		panic("automata: an HSSL that is a zero value: make it with NewHSSL")
	}
	return bits.Len64(a.node) - 1
}

// Points returns the three points to ask about: the ends and the middle of the interval.
func (a *HSSL) Points() (left, middle, right float64) {
	level := a.level()
	i := float64(a.node - 1<<level)
	return math.Ldexp(i, -level), math.Ldexp(2*i+1, -level-1), math.Ldexp(i+1, -level)
}

// Point returns the middle of the interval, the best guess of the point.
func (a *HSSL) Point() float64 {
	_, middle, _ := a.Points()
	return middle
}

// Learn is told whether the wanted point is to the right of each of the three points, and moves.
func (a *HSSL) Learn(ofLeft, ofMiddle, ofRight bool) {
	leaf := a.level() == a.depth
	switch {
	case ofLeft && !ofMiddle:
		if !leaf {
			a.node = 2 * a.node
		}
	case ofMiddle && !ofRight:
		if !leaf {
			a.node = 2*a.node + 1
		}
	default:
		a.node = max(a.node/2, 1)
	}
}

// MarshalBinary returns the saved state.
func (a *HSSL) MarshalBinary() ([]byte, error) { return hsslFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state; after an error the search is as it was.
func (a *HSSL) UnmarshalBinary(data []byte) error {
	return codec.Load(a, hsslFormat, data, (*HSSL).decode)
}

func (a *HSSL) encode(e *codec.Encoder) {
	e.Int(a.depth)
	e.Uint64(a.node)
}

func (a *HSSL) decode(d *codec.Decoder) {
	a.depth = d.IntIn(1, maxDepth)
	a.node = d.Uint64In(1<<(a.depth+1) - 1)
	d.Require(a.node >= 1, "node %d", a.node)
}
