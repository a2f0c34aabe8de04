package automata

import (
	"math"
	"math/bits"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicHSSL = "recrawl/automata.HSSL"

// An HSSL searches a point on [0, 1] on a binary tree of intervals, each node
// having the halves of its interval for children. At a node it proposes the two
// ends of the interval and its middle, is told for each whether the point wanted
// is to its right, and moves:
//
//	right of the left end, left of the middle    to the left child
//	right of the middle, left of the right end   to the right child
//	otherwise                                    to the parent
//
// where a leaf is its own child and the root its own parent. If each answer is
// right with probability p, the walk leaves a node above the point for the child
// above it with p² and for the parent with 1−p, so it settles near the point if
// p² > 1−p, that is p > 0.618. The way there is as long as the tree is deep, where
// [SPL] has to walk all points between. All methods take O(1).
//
// Source: Yazidi, Granmo, Oommen & Goodwin 2014 (hierarchical stochastic searching
// on the line).
type HSSL struct {
	depth int
	node  uint64 // 1 is the root, 2k and 2k+1 are the children of k
}

// maxDepth is how deep the ends of an interval are still exact.
const maxDepth = 52

// NewHSSL returns a search over 2^depth intervals, depth in 1..52, that starts at
// the root.
func NewHSSL(depth int) (*HSSL, error) {
	if err := checkInt("depth", depth, 1, maxDepth); err != nil {
		return nil, err
	}
	return &HSSL{depth, 1}, nil
}

// level returns the depth of the node, 0 for the root.
func (a *HSSL) level() int { return bits.Len64(a.node) - 1 }

// Points returns the three points to ask about: the ends and the middle of the
// interval.
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

// Learn moves to another node, told whether the wanted point is to the right of
// each of the three points.
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

// AppendBinary appends the saved state to b.
func (a *HSSL) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicHSSL, 1)
	e.Int(a.depth)
	e.Uint64(a.node)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (a *HSSL) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the search is as it was.
func (a *HSSL) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicHSSL, 1)
	if err != nil {
		return err
	}
	v := HSSL{depth: d.Int(), node: d.Uint64()}
	if checkInt("depth", v.depth, 1, maxDepth) != nil || v.node < 1 || v.level() > v.depth {
		d.Fail("node %d in a tree of depth %d", v.node, v.depth)
	}
	if err := d.Done(); err != nil {
		return err
	}
	*a = v
	return nil
}
